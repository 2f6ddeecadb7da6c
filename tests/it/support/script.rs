//! The script of a model server: rules that map positions to replies, the newest first.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::reply::Reply;
use super::server::Received;

/// A position in a session; parts that are not set match everything.
#[derive(Clone, Debug, Default)]
pub struct At {
    stage: Option<String>,
    role: Option<String>,
    iteration: Option<u32>,
    turn: Option<u32>,
    task: Option<String>,
}

/// The stage of the first request, which is made before there is a session.
pub const START: &str = "start";

/// Any turn of any draft of this stage and role.
pub fn at(stage: &str, role: &str) -> At {
    At { stage: Some(stage.to_owned()), role: Some(role.to_owned()), ..At::default() }
}

/// Any position.
pub fn anywhere() -> At {
    At::default()
}

impl At {
    /// Only this draft.
    #[must_use]
    pub fn iteration(mut self, iteration: u32) -> Self {
        self.iteration = Some(iteration);
        self
    }

    /// Only this turn, from 1.
    #[must_use]
    pub fn turn(mut self, turn: u32) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Only this task.
    #[must_use]
    pub fn task(mut self, task: &str) -> Self {
        self.task = Some(task.to_owned());
        self
    }

    fn fits(&self, received: &Received) -> bool {
        // A rule for any position does not match the first request, with which every session
        // begins.
        if received.stage == START && self.stage.is_none() {
            return false;
        }
        self.stage.as_ref().is_none_or(|stage| *stage == received.stage)
            && self.role.as_ref().is_none_or(|role| *role == received.role)
            && self.iteration.is_none_or(|iteration| iteration == received.iteration)
            && self.turn.is_none_or(|turn| turn == received.turn)
            && self.task.as_ref().is_none_or(|task| Some(task) == received.task.as_ref())
    }
}

/// A reply to the first request without names, so that they are made from the idea.
fn unnamed() -> Reply {
    let said = json!({"depth": "standard", "reason": "It is scripted so."});
    Reply::call("name_work", said)
}

type Answer = Box<dyn Fn(&Received) -> Option<Reply> + Send + Sync>;

/// Changes a rule's reply before it is sent.
type Manner = Box<dyn Fn(&Received, Reply) -> Reply + Send + Sync>;

/// The rules.
#[derive(Default)]
pub struct Script {
    rules: Vec<(At, Answer)>,
    manner: Option<Manner>,
}

impl Script {
    /// Always sends this reply at this position.
    pub fn on(&mut self, at: At, reply: Reply) {
        self.on_with(at, move |_| Some(reply.clone()));
    }

    /// Sends this reply to the first `n` matching requests; then older rules apply again.
    pub fn times(&mut self, n: usize, at: At, reply: Reply) {
        let used = AtomicUsize::new(0);
        self.on_with(at, move |_| {
            (used.fetch_add(1, Ordering::Relaxed) < n).then(|| reply.clone())
        });
    }

    /// Sends these replies at this position, one after the other; then older rules apply again.
    pub fn sequence(&mut self, at: At, replies: Vec<Reply>) {
        let used = AtomicUsize::new(0);
        self.on_with(at, move |_| replies.get(used.fetch_add(1, Ordering::Relaxed)).cloned());
    }

    /// A reply that depends on the request; `None` leaves it to older rules.
    pub fn on_with(
        &mut self,
        at: At,
        reply: impl Fn(&Received) -> Option<Reply> + Send + Sync + 'static,
    ) {
        self.rules.push((at, Box::new(reply)));
    }

    /// From now on every reply passes through this function.
    pub fn manner(&mut self, manner: impl Fn(&Received, Reply) -> Reply + Send + Sync + 'static) {
        self.manner = Some(Box::new(manner));
    }

    /// The reply to this request, if one is scripted.
    pub fn answer(&self, received: &Received) -> Option<Reply> {
        let fitting = self.rules.iter().rev().filter(|(at, _)| at.fits(received));
        let said = fitting.filter_map(|(_, answer)| answer(received)).next();
        if received.stage == START {
            return said.or_else(|| Some(unnamed()));
        }
        let reply = said?;
        Some(match &self.manner {
            Some(manner) => manner(received, reply),
            None => reply,
        })
    }
}
