//! The tools a model may call: typed access to artifacts, files, commands and control.
//!
//! A tool's failure is an [`Answer`] that the model can read; it never ends the run. A tool changes
//! only the working tree and [`Outcome`]: it never talks to a model and never touches git.

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
mod numbers;
mod plain;
mod plan_data;
mod prd_data;
#[cfg(test)]
mod random_tests;
mod registry;
#[cfg(test)]
mod testing;

pub use arguments::fit;
pub use checks::repeats_own_checks;
pub use command_tool::CommandTool;
pub use documents::saving_call;
pub use numbers::Numbers;
pub use registry::{all, call, changes_something, find, repeats_another, specs};

use crate::artifact::{Feedback, Ledger, Plan, Store};
use crate::config::LimitsConfig;
use crate::model::{BoxFuture, ToolSpec};
use crate::stage::{Role, Stage};
use crate::workspace::{CommandResult, Workspace};

pub use crate::languages::ProjectCommands;

/// Whether a tool only reads or also writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only reads: read-only roles may also have such a tool.
    Read,
    /// Changes artifacts or files, or runs commands.
    Write,
}

/// What a tool does, apart from returning its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads the session's documents and records.
    ReadsArtifacts,
    /// Reads files of the project, or reports something to git-cowork, such as a verdict on a draft
    /// or a request to go back.
    Looks,
    /// Writes a document: Markdown for people.
    WritesDocument,
    /// Writes records: JSON for programs.
    WritesRecords,
    /// Writes files, runs commands or asks a person.
    Acts,
}

impl Effect {
    /// The access that a tool with this effect needs, which decides which roles may have it.
    pub const fn access(self) -> Access {
        match self {
            Self::ReadsArtifacts | Self::Looks => Access::Read,
            Self::WritesDocument | Self::WritesRecords | Self::Acts => Access::Write,
        }
    }

    /// True if a tool with this effect changes artifacts of the session.
    pub const fn writes_artifacts(self) -> bool {
        matches!(self, Self::WritesDocument | Self::WritesRecords)
    }
}

/// A tool's answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// True if the call succeeded.
    pub ok: bool,
    /// True if a command was run and failed, which for the model is a result like any other.
    pub command_failed: bool,
    /// Short text for the model: the change, and the next sensible step.
    pub text: String,
}

impl Answer {
    /// A successful call.
    pub fn ok(text: impl Into<String>) -> Self {
        Self { ok: true, command_failed: false, text: text.into() }
    }

    /// A failed call, with the reason.
    pub fn refused(text: impl Into<String>) -> Self {
        Self { ok: false, command_failed: false, text: text.into() }
    }
}

/// A question to the person at the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The text of the question.
    pub question: String,
    /// Suggested answers, possibly none.
    pub options: Vec<String>,
}

/// A person who may answer questions during a run.
pub trait Person {
    /// Returns the answer, or `None` if nobody is available; the run then stops and waits.
    fn ask(&self, question: &Question) -> anyhow::Result<Option<String>>;
}

/// A request to go back to an earlier stage; a person or `auto` decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoBack {
    /// The stage to go back to.
    pub stage: Stage,
    /// The reason, with everything the model said about it.
    pub reason: String,
}

/// A run of one of the project's own commands, with its complete result.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The command.
    pub command: String,
    /// The code it ran on, as named by [`Context::code`].
    pub code: String,
    /// The result of the command.
    pub result: CommandResult,
}

/// Requests, verdicts and results that the tools of one agent run reported.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Feedback given with `provide_feedback`, in order.
    pub feedback: Vec<Feedback>,
    /// The summary that the critic passed to `exit_loop`, which means that it approves the draft.
    pub approved: Option<String>,
    /// `request_replanning` or `goto_stage`.
    pub go_back: Option<GoBack>,
    /// The reason given to `request_human_review`.
    pub human_review: Option<String>,
    /// A question from `ask_user` that nobody could answer yet.
    pub question: Option<Question>,
    /// The actor wants the gate now.
    pub gate_requested: bool,
    /// Number of refusals by a guard (paths, permissions); too many of them stop the run for a
    /// person to look.
    pub guard_refusals: u32,
    /// Reason why the run makes no progress: calls that fail, are refused or repeat.
    pub astray: Option<String>,
    /// Runs of the project's own commands.
    pub checked: Vec<Checked>,
}

impl Outcome {
    /// True if the run should end after this turn: there is a verdict, or a person is needed.
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
    /// The session's records, and the documents that contain them.
    pub ledger: Ledger<'a>,
    /// Files and commands.
    pub workspace: &'a Workspace,
    /// Limits on the number of records, and others.
    pub limits: &'a LimitsConfig,
    /// The project's own commands.
    pub commands: &'a ProjectCommands,
    /// The user's own tools that the role is offered.
    pub command_tools: &'a [CommandTool],
    /// The numbers of records used so far.
    pub numbers: Numbers<'a>,
    /// The id of the record that the call in progress creates.
    pub new_id: String,
    /// Returns the id of the tree that a commit would have now; `None` if git cannot write it.
    pub code: &'a dyn Fn() -> Option<String>,
    /// The ids of the plan's tasks that have code from this session.
    pub coded: &'a dyn Fn(&Plan) -> BTreeSet<String>,
    /// The person to ask.
    pub person: &'a dyn Person,
    /// Stages before this one, to which the model may ask to go back.
    pub earlier: &'a [Stage],
    /// The time for feedback entries, RFC 3339 in UTC.
    pub now: &'a str,
    /// Everything that tools have reported so far.
    pub outcome: Outcome,
}

/// A tool.
pub trait Tool: Sync {
    /// Name, unique.
    fn name(&self) -> &str;
    /// A description of the tool, for the model.
    fn description(&self) -> &str;
    /// JSON schema of the arguments: an object with `additionalProperties: false`.
    fn parameters(&self) -> Value;
    /// The tool's effect, besides its answer.
    fn effect(&self) -> Effect;
    /// Whether the tool only reads.
    fn access(&self) -> Access {
        self.effect().access()
    }
    /// Runs the tool. `arguments` is an object; if fields are wrong or missing, the answer is an
    /// [`Answer::refused`].
    fn call<'a>(&'a self, context: &'a mut Context<'_>, arguments: Value) -> BoxFuture<'a, Answer>;

    /// The tool's definition for a model.
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            parameters: self.parameters(),
        }
    }
}
