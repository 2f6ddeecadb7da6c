//! The tools a model may call: typed access to artifacts, files, commands and control.
//!
//! A tool's failure is an [`Answer`] the model can read, never the end of the run. A tool changes
//! the working tree and [`Outcome`] only: it never talks to a model and never touches git.

use std::collections::BTreeSet;

use serde_json::Value;

mod arguments;
mod change;
mod checks;
mod command_tool;
mod commands;
mod control;
mod data;
mod design_data;
mod documents;
mod files;
mod plain;
mod plan_data;
mod prd_data;
mod registry;
#[cfg(test)]
mod testing;

pub use arguments::{fit, parse};
pub use command_tool::CommandTool;
pub use registry::{all, call, changes_something, find, plain_name, specs};

use crate::artifact::{Feedback, IdFloors, Ledger, Plan, Store};
use crate::config::Limits;
use crate::model::{BoxFuture, ToolSpec};
use crate::stage::{Role, Stage};
use crate::workspace::{CommandResult, Workspace};

pub use crate::languages::ProjectCommands;

/// Whether a tool only looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A read-only role may have it (`[r]` in contract 7).
    Read,
    /// Changes artifacts, files, or runs commands.
    Write,
}

/// What a tool does beyond answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads the session's documents and records.
    ReadsArtifacts,
    /// Reads something else, or says something.
    Looks,
    /// Writes a document, the Markdown people read.
    WritesDocument,
    /// Writes records, the JSON programs read.
    WritesRecords,
    /// Writes files, runs commands or asks a person.
    Acts,
}

impl Effect {
    /// Which roles may have it.
    pub const fn access(self) -> Access {
        match self {
            Self::ReadsArtifacts | Self::Looks => Access::Read,
            Self::WritesDocument | Self::WritesRecords | Self::Acts => Access::Write,
        }
    }

    /// True for what changes artifacts of the session.
    pub const fn writes_artifacts(self) -> bool {
        matches!(self, Self::WritesDocument | Self::WritesRecords)
    }
}

/// What a tool says back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether it did what was asked.
    pub ok: bool,
    /// Short text for the model: what changed, and the next sensible step.
    pub text: String,
}

impl Answer {
    /// Done.
    pub fn ok(text: impl Into<String>) -> Self {
        Self { ok: true, text: text.into() }
    }

    /// Not done, and why.
    pub fn refused(text: impl Into<String>) -> Self {
        Self { ok: false, text: text.into() }
    }
}

/// A question to the person at the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub question: String,
    /// Suggested answers, possibly none.
    pub options: Vec<String>,
}

/// Whoever can be asked in the middle of a run.
pub trait Person {
    /// The answer, or `None` when nobody is there: the run then stops and waits.
    fn ask(&self, question: &Question) -> anyhow::Result<Option<String>>;
}

/// A wish to go back to an earlier stage; a person or `auto` decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoBack {
    /// Where to.
    pub stage: Stage,
    /// Why, with everything the model said about it.
    pub reason: String,
}

/// A run of one of the project's own commands, whole and as it is.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The command.
    pub command: String,
    /// What it ran on, as [`Context::code`] names it.
    pub code: String,
    /// How it ended.
    pub result: CommandResult,
}

/// What the tools of one agent run have said besides their effects.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Feedback given with `provide_feedback`, in order.
    pub feedback: Vec<Feedback>,
    /// Summary of `exit_loop`: the critic approves.
    pub approved: Option<String>,
    /// `request_replanning` or `goto_stage`.
    pub go_back: Option<GoBack>,
    /// `request_human_review`: why.
    pub human_review: Option<String>,
    /// An `ask_user` nobody could answer yet.
    pub question: Option<Question>,
    /// The actor wants the gate now.
    pub gate_requested: bool,
    /// Refusals by a guard (paths, permissions), which make a person look when they add up.
    pub guard_refusals: u32,
    /// Why the run gets nowhere by itself: calls that fail, are refused or repeat.
    pub astray: Option<String>,
    /// The project's own commands that were run.
    pub checked: Vec<Checked>,
}

impl Outcome {
    /// True when the run should end after this turn: a verdict was given, or a person is needed.
    pub fn ends_run(&self, role: Role) -> bool {
        let verdict = self.approved.is_some() || !self.feedback.is_empty();
        (matches!(role, Role::Critic | Role::Challenger) && verdict)
            || self.go_back.is_some()
            || self.human_review.is_some()
            || self.astray.is_some()
            || self.question.is_some()
            || self.gate_requested
    }
}

/// What a tool can see and change.
pub struct Context<'a> {
    /// Stage of the run.
    pub stage: Stage,
    /// Role of the run.
    pub role: Role,
    /// Draft number.
    pub iteration: u32,
    /// The task being worked on.
    pub task: Option<&'a str>,
    /// The session's artifacts in the working tree.
    pub store: Store<'a>,
    /// Its records, and the documents that hold them.
    pub ledger: Ledger<'a>,
    /// Files and commands.
    pub workspace: &'a Workspace,
    /// How much there may be.
    pub limits: &'a Limits,
    /// The project's own commands.
    pub commands: &'a ProjectCommands,
    /// Tools of the user's own that the role is told of.
    pub command_tools: &'a [CommandTool],
    /// Numbers used so far.
    pub ids: &'a mut IdFloors,
    /// The name of the code as it is in the working tree now, where there is one.
    pub code: &'a dyn Fn() -> Option<String>,
    /// The tasks of the plan that there is code of the session behind, by id.
    pub coded: &'a dyn Fn(&Plan) -> BTreeSet<String>,
    /// Who can be asked.
    pub person: &'a dyn Person,
    /// Stages before this one, which the model may want to go back to.
    pub earlier: &'a [Stage],
    /// The time for feedback entries, RFC 3339 in UTC.
    pub now: &'a str,
    /// What was said.
    pub outcome: Outcome,
}

/// A tool.
pub trait Tool: Sync {
    /// Name, unique.
    fn name(&self) -> &str;
    /// What it does, for the model.
    fn description(&self) -> &str;
    /// JSON schema of the arguments: an object with `additionalProperties: false`.
    fn parameters(&self) -> Value;
    /// What it does beyond answering.
    fn effect(&self) -> Effect;
    /// Whether it only looks.
    fn access(&self) -> Access {
        self.effect().access()
    }
    /// Does it. `arguments` is an object; wrong or missing fields are an [`Answer::refused`].
    fn call<'a>(&'a self, context: &'a mut Context<'_>, arguments: Value) -> BoxFuture<'a, Answer>;

    /// As offered to a model.
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            parameters: self.parameters(),
        }
    }
}
