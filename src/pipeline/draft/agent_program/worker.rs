//! An agent program presented to the conversation as a model: its answers contain the calls that
//! save its work. Before each turn the program is shown the draft; after each turn its changes are
//! copied.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::bring_in::Brought;
use super::worktree::AgentWorktree;
use crate::artifact::Artifact;
use crate::model::prose::{TaskWord, document_between_tags, said_of_task};
use crate::model::{
    AgentNeeds, BoxFuture, Message, Model, ModelError, OnText, Reply, Request, ToolCall, Turn,
    made_up_id,
};
use crate::pipeline::brief::part::Part;
use crate::pipeline::run::Run;
use crate::stage::Role;
use crate::stages::Work;
use crate::tool;
use crate::workspace::ProgramProcesses;

/// The call that ends the work on a task.
const STATUS: &str = "update_task_status";

/// An agent program at work.
pub(super) struct Worker<'a> {
    model: &'a dyn Model,
    run: &'a Run<'a>,
    part: &'a Part<'a>,
    worktree: &'a AgentWorktree<'a>,
    /// Refused changes that have not been reported to the program yet.
    refused: &'a RefCell<Vec<String>>,
    told: RefCell<BTreeSet<(String, String)>>,
    /// True if the status of the task was set in this conversation.
    has_status: Cell<bool>,
    /// What a self-review said besides its changes: its final answer.
    said: RefCell<Option<String>>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        model: &'a dyn Model,
        run: &'a Run<'_>,
        part: &'a Part<'_>,
        worktree: &'a AgentWorktree<'a>,
        refused: &'a RefCell<Vec<String>>,
    ) -> Self {
        Self {
            model,
            run,
            part,
            worktree,
            refused,
            told: RefCell::default(),
            has_status: Cell::new(false),
            said: RefCell::default(),
        }
    }

    async fn work(&self, request: &Request, on_text: &dyn Fn(&str)) -> Result<Reply, ModelError> {
        if let Some(content) = self.said.take() {
            let finish_reason = Some("stop".to_owned());
            return Ok(Reply { content, finish_reason, ..Reply::default() });
        }
        self.worktree.show(self.part).await.map_err(|error| failed(&error))?;
        // Changes are copied however the turn ends, even by a signal: even an unfinished draft is
        // saved.
        let mut changes = Changes { worker: self, are_in: false };
        let request = Request {
            messages: without_answers(&request.messages),
            workplace: Some(self.worktree.place.clone()),
            ..request.clone()
        };
        let processes = ProgramProcesses::begin().await;
        let answer = self.model.turn(&request, on_text).await;
        drop(processes);
        let brought = changes.bring_in();
        let mut reply = answer?;
        let brought = brought.map_err(|error| {
            let title = &self.worktree.title;
            self.run.warn(format!("cannot copy the changes of {title}: {error:#}"));
            failed(&error)
        })?;
        let calls = self.calls(&brought, &reply.content);
        let turn = request.position.turn;
        reply.tool_calls = calls
            .into_iter()
            .enumerate()
            .map(|(at, (name, arguments))| ToolCall {
                id: made_up_id(turn, at),
                name: name.to_owned(),
                arguments: arguments.to_string(),
            })
            .collect();
        if self.part.role == Role::SelfReview && !reply.tool_calls.is_empty() {
            self.said.replace(Some(reply.content.clone()));
        }
        Ok(reply)
    }

    fn bring_in(&self) -> anyhow::Result<Brought> {
        // After a branch switch the changes would be copied to another branch.
        self.run.recorder().expect_tip(&self.run.session.tip)?;
        let brought = self.worktree.bring_in(self.part)?;
        let new =
            brought.refused.iter().filter(|one| self.told.borrow_mut().insert((*one).clone()));
        let new: Vec<String> = new.map(|(path, why)| format!("{path}: {why}")).collect();
        self.refused.borrow_mut().extend(new);
        Ok(brought)
    }

    /// The calls with which a model would have saved the same work.
    fn calls(&self, brought: &Brought, words: &str) -> Vec<(&'static str, Value)> {
        let mut calls: Vec<(&'static str, Value)> =
            brought.documents.iter().map(|(artifact, text)| save(*artifact, text, words)).collect();
        let in_words =
            || document_between_tags(words).map(|text| save(Artifact::ChangeRequest, text, words));
        if calls.is_empty() && self.part.tools.contains(&Artifact::ChangeRequest.save_tool()) {
            calls.extend(in_words());
        }
        if let Some((task, status)) = self.status(brought, words) {
            let reason = said_of_task(words).map_or("", |(_, why)| why);
            let call = json!({"task_id": task, "new_status": status, "reason": reason});
            calls.push((STATUS, call));
        }
        calls
    }

    /// The task whose status the program has decided, and the status; the task's checks run next.
    fn status(&self, brought: &Brought, words: &str) -> Option<(String, &'static str)> {
        let part = self.part;
        if part.role != Role::Actor || part.spec.work == Work::Whole {
            return None;
        }
        let Some(task) = part.task else {
            let last = &part.variables.last_task;
            let ends = !brought.files.is_empty() && !last.is_empty();
            return ends.then(|| (last.clone(), "completed"));
        };
        let status = match said_of_task(words) {
            Some((TaskWord::Blocked, _)) => "blocked",
            // If nothing was changed, the program is asked why.
            Some((TaskWord::Done, _)) | None => "completed",
        };
        // Once a status has been set, an answer without changes is the program's final answer.
        let is_new = !brought.files.is_empty() || said_of_task(words).is_some();
        let is_first = !self.has_status.replace(true);
        (is_new || is_first).then(|| (task.id.clone(), status))
    }
}

impl Model for Worker<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn turn<'a>(&'a self, request: &'a Request, on_text: OnText<'a>) -> Turn<'a> {
        Box::pin(self.work(request, on_text))
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        self.model.probe()
    }

    fn agent(&self) -> Option<AgentNeeds> {
        self.model.agent()
    }
}

/// Changes that have not been copied yet.
struct Changes<'w, 'a> {
    worker: &'w Worker<'a>,
    are_in: bool,
}

impl Changes<'_, '_> {
    fn bring_in(&mut self) -> anyhow::Result<Brought> {
        self.are_in = true;
        self.worker.bring_in()
    }
}

impl Drop for Changes<'_, '_> {
    fn drop(&mut self) {
        if !self.are_in
            && let Err(error) = self.bring_in()
        {
            let title = &self.worker.worktree.title;
            self.worker.run.warn(format!("the changes of {title} are lost: {error:#}"));
        }
    }
}

/// The call that saves a document; for a JSON document the arguments are its content.
fn save(artifact: Artifact, text: &str, words: &str) -> (&'static str, Value) {
    let arguments = match artifact.is_json() {
        true => serde_json::from_str(text).unwrap_or_else(|_| json!({"not JSON": true})),
        false => tool::saving_call(artifact.save_tool(), text, words),
    };
    (artifact.save_tool(), arguments)
}

/// The messages for the program. It did not make the tool calls, so their results are left out if a
/// user message follows them.
fn without_answers(messages: &[Message]) -> Vec<Message> {
    let ends_in_words = matches!(messages.last(), Some(Message::User { .. }));
    let is_answer = |message: &&Message| matches!(message, Message::Tool { .. });
    messages.iter().filter(|message| !(ends_in_words && is_answer(message))).cloned().collect()
}

fn failed(error: &anyhow::Error) -> ModelError {
    ModelError::Agent {
        message: format!("cannot use the working tree of the agent program: {error:#}"),
        hint: "fix the reported problem".to_owned(),
    }
}
