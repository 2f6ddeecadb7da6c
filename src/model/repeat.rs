//! Replays a recording even if the user decides differently than in the recorded session: where the
//! recording has no answer, the replay says so and repeats answers of the same stage.

use super::replay::{Replay, ReplayKey, shown};
use super::{BoxFuture, Model, ModelError, OnText, Position, Reply, Request, Turn};
use crate::stage::Role;

/// A recording that repeats answers if it has none for a position.
#[derive(Debug)]
pub struct Repeating(Replay);

impl Repeating {
    /// Wraps a recording so that it always answers in the stages that it contains.
    pub const fn new(replay: Replay) -> Self {
        Self(replay)
    }

    /// The recorded answer for a position. If there is none: a note and the answer of the newest
    /// draft that has one for this turn. If no draft has one: only the note, which ends a draft
    /// without changing it.
    fn answer(&self, position: &Position) -> Result<Reply, ModelError> {
        let missing = match self.0.answer(position) {
            Err(missing @ ModelError::Replay { .. }) => missing,
            answer => return answer,
        };
        let missing_key = ReplayKey::from(position);
        let same =
            |key: &&ReplayKey| key.stage == missing_key.stage && key.role == missing_key.role;
        if !self.0.keys().any(|key| same(&key)) {
            return Err(missing);
        }
        let of_turn =
            |key: &&ReplayKey| key.task == missing_key.task && key.turn == missing_key.turn;
        let newest = self.0.keys().filter(same).filter(of_turn).max_by_key(|key| key.iteration);
        match newest.and_then(|key| self.0.at(key)) {
            Some(reply) => {
                let content = format!("{}\n\n{}", word(missing_key.role, true), reply.content);
                Ok(Reply { content: content.trim_end().to_owned(), ..reply })
            }
            None => Ok(Reply {
                model: self.0.name().to_owned(),
                content: word(missing_key.role, false).to_owned(),
                ..Reply::default()
            }),
        }
    }
}

/// The note for a position without a recorded answer; `comes_again` is true if another answer is
/// repeated.
const fn word(role: Role, comes_again: bool) -> &'static str {
    match (role, comes_again) {
        (Role::Actor, true) => "(The recording has no answer to that: the same draft comes again.)",
        (Role::Actor, false) => "(The recording has no answer to that: the draft stays as it is.)",
        (_, true) => {
            "(The recording has no review of this draft: the review of another draft is repeated.)"
        }
        (_, false) => "(The recording has no more to say about this draft.)",
    }
}

impl Model for Repeating {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn turn<'a>(&'a self, request: &'a Request, on_text: OnText<'a>) -> Turn<'a> {
        Box::pin(async move { shown(self.answer(&request.position), on_text) })
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        self.0.probe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_server::request;
    use crate::stage::Stage;

    const RECORDING: &str = r#"{"cowork_replay":1,"model":"m"}
{"stage":"prd","role":"actor","iteration":1,"turn":1,"reply":{"content":"first","tool_calls":[{"name":"save","arguments":{"content":"1"}}]}}
{"stage":"prd","role":"actor","iteration":2,"turn":1,"reply":{"content":"second","tool_calls":[{"name":"save","arguments":{"content":"2"}}]}}
{"stage":"prd","role":"critic","iteration":1,"turn":1,"reply":{"content":"no"}}
{"stage":"prd","role":"critic","iteration":2,"turn":1,"reply":{"content":"yes"}}
{"stage":"coding","role":"actor","iteration":1,"task":"TASK-001","turn":1,"reply":{"content":"code"}}
"#;

    fn ask(change: impl Fn(&mut Position)) -> Result<Reply, String> {
        let repeating = Repeating::new(Replay::parse("r", RECORDING).unwrap());
        let mut position = request().position;
        change(&mut position);
        repeating.answer(&position).map_err(|error| error.to_string())
    }

    #[test]
    fn recorded_answers_are_returned_unchanged() {
        assert_eq!(ask(|_| ()).unwrap().content, "first");
        assert_eq!(ask(|p| p.iteration = 2).unwrap().content, "second");
    }

    #[test]
    fn an_unrecorded_draft_repeats_the_newest_one_with_a_note() {
        let reply = ask(|p| p.iteration = 7).unwrap();
        assert!(reply.content.starts_with("(The recording has no answer"), "{}", reply.content);
        assert!(reply.content.ends_with("\n\nsecond"), "{}", reply.content);
        assert_eq!(reply.tool_calls[0].arguments, r#"{"content":"2"}"#);
        assert_eq!(reply.model, "m");
        let judged = ask(|p| (p.role, p.iteration) = (Role::Critic, 3)).unwrap().content;
        assert!(judged.ends_with("\n\nyes"), "{judged}");
    }

    #[test]
    fn another_turn_changes_nothing() {
        let reply = ask(|p| (p.iteration, p.turn) = (3, 2)).unwrap();
        assert!(reply.tool_calls.is_empty() && reply.content.contains("stays as it is"));
        // A correction of the code belongs to no task.
        let reply = ask(|p| (p.stage, p.iteration) = (Some(Stage::Coding), 2)).unwrap();
        assert!(reply.tool_calls.is_empty() && reply.content.contains("stays as it is"));
    }

    #[test]
    fn a_stage_it_never_saw_is_still_an_error() {
        let error = ask(|p| p.stage = Some(Stage::Triage)).unwrap_err();
        assert!(error.contains("nothing for the actor of triage"), "{error}");
    }
}
