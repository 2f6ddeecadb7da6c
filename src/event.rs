//! Events of a run: all modules report through [`Sink`], and only `ui` decides how a terminal or a
//! JSON-lines reader shows an event.

use crate::activity::Activity;
use crate::spent::Spent;
use crate::stage::{Role, Stage};

/// An event of a run.
///
/// Variants that also exist in `--json` output have the same names there, in snake case.
#[derive(Clone, Debug)]
pub enum Event {
    /// A session started or was resumed.
    SessionStarted {
        /// The session's branch, without `refs/heads/`.
        branch: String,
        /// True if the session existed before.
        resumed: bool,
        /// The session's title.
        title: String,
    },
    /// A stage started.
    StageStarted {
        /// The stage.
        stage: Stage,
        /// Position among the session's stages, from 1.
        number: usize,
        /// Number of stages.
        of: usize,
        /// All stages, in order.
        order: Vec<Stage>,
    },
    /// A draft started.
    DraftStarted {
        /// Its stage.
        stage: Stage,
        /// Number of the draft, from 1.
        iteration: u32,
        /// Maximum number of drafts.
        limit: u32,
        /// Id and title of the current task, in coding.
        task: Option<String>,
        /// Number of completed tasks, and of all tasks; zero if there are no tasks.
        tasks: (usize, usize),
    },
    /// A model answered a request.
    ModelRequest {
        /// Stage of the request.
        stage: Stage,
        /// Role of the model.
        role: Role,
        /// Number of the draft.
        iteration: u32,
        /// Turn of the conversation, from 1.
        turn: u32,
        /// Tokens, as counted by the server.
        usage: Usage,
        /// Wall time in milliseconds.
        millis: u64,
    },
    /// A request is sent: the text that follows is from this role.
    Speaker {
        /// Stage of the request.
        stage: Stage,
        /// Role of the model.
        role: Role,
    },
    /// A piece of a streamed answer.
    Text {
        /// The text; control characters are not removed yet.
        text: String,
    },
    /// A tool was called and returned a result.
    ToolCall {
        /// Tool name.
        tool: String,
        /// Short form of the arguments, for display.
        brief: String,
        /// True if the call succeeded.
        ok: bool,
        /// True if a command was run and failed.
        command_failed: bool,
        /// First line of the result.
        answer: String,
    },
    /// The current activity.
    Now(Activity),
    /// Feedback was recorded.
    Feedback {
        /// Stage of the feedback.
        stage: Stage,
        /// Who gave it (`critic`, `human`, `validator`, …).
        from: String,
        /// `critical`, `major` or `minor`.
        severity: String,
        /// The text.
        details: String,
    },
    /// The actor reviewed its own draft.
    SelfReview {
        /// The stage.
        stage: Stage,
        /// Draft number.
        iteration: u32,
        /// `revised` if files changed; otherwise `needs_revision` if it could not fix its findings,
        /// else `passed`.
        outcome: &'static str,
        /// The files it changed, relative to the top of the working tree.
        files: Vec<String>,
        /// Number of problems it could not fix; each is also recorded as feedback.
        unfixed: usize,
    },
    /// A draft waits for a person's review.
    ReviewRequested {
        /// Stage of the draft.
        stage: Stage,
        /// Draft number.
        iteration: u32,
        /// The draft's commit, if the run ended and left the draft waiting.
        commit: Option<String>,
        /// The model's question to the reviewer; `None` if it only asks for a review.
        reason: Option<String>,
    },
    /// The actor answered a person's question about its draft; this decides nothing.
    QuestionAnswered {
        /// The stage.
        stage: Stage,
        /// Draft number.
        iteration: u32,
        /// The question.
        question: String,
        /// The answer, in Markdown.
        answer: String,
    },
    /// A stage was committed.
    StageCompleted {
        /// The stage.
        stage: Stage,
        /// Full commit id.
        commit: String,
        /// Short tag name, if tags are enabled.
        tag: Option<String>,
        /// Subject of the commit.
        subject: String,
        /// Usage of the stage and its tasks, from its commits.
        spent: Spent,
    },
    /// A task was committed.
    TaskCompleted {
        /// Task id.
        task: String,
        /// Full commit id.
        commit: String,
        /// Subject of the commit.
        subject: String,
        /// Result of the project's checks, as in the commit's trailer: `passed (cargo test)`; empty
        /// or `none` if they were not run.
        checks: String,
        /// True if a check fails that passed before the session.
        fails: bool,
        /// Summary of the changed files: `store.py +42`.
        files: String,
        /// Test summary if the tests passed: `cargo test: 12 passed`; else empty.
        tests: String,
        /// Working time of its models and tools in milliseconds.
        millis: u64,
    },
    /// The last stage was completed.
    SessionCompleted {
        /// Tip of the session.
        commit: String,
        /// Usage of the whole session, including earlier runs.
        spent: Spent,
        /// Usage of this run.
        here: Spent,
        /// The delivery, if it can be read.
        delivered: Option<Box<Delivered>>,
    },
    /// A warning; the run continues.
    Warning {
        /// One line.
        text: String,
    },
    /// The run is blocked: it asks a person or ends.
    Alert {
        /// The subject, in a few words.
        title: String,
        /// The reason, one line or more.
        text: String,
    },
    /// Progress information; not shown with `--quiet`.
    Note {
        /// One line.
        text: String,
    },
}

/// A session's delivery, for the last lines of its run.
#[derive(Clone, Debug, Default)]
pub struct Delivered {
    /// The title of the delivery report.
    pub title: String,
    /// The id of each requirement; true if it is met.
    pub requirements: Vec<(String, bool)>,
    /// The number of criteria that a test has shown, and of those that only a review has.
    pub criteria: (usize, usize),
    /// Changed files of the project.
    pub files: Vec<String>,
    /// Lines added and lines removed.
    pub lines: (u64, u64),
    /// Results of the last run of the project's own commands.
    pub tests: Vec<String>,
    /// Description of rejected drafts and attempts; empty if there are none.
    pub rejected: String,
    /// A command that runs the result, if one is known.
    pub try_it: Option<String>,
    /// The command that merges the session, if there is a branch to merge it into.
    pub take_it: Option<String>,
    /// True if there is a remote, so that a pull request can be opened.
    pub has_remote: bool,
}

/// Token counts from a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Prompt tokens, including cached ones.
    pub input: u64,
    /// Generated tokens.
    pub output: u64,
    /// Prompt tokens that were cached by the provider.
    pub cached: u64,
}

impl std::ops::AddAssign for Usage {
    // Saturating, because values may come from trailers in foreign commits.
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}

/// Receives the events of a run.
pub trait Sink {
    /// Called for each event, in order.
    fn emit(&self, event: Event);
}

/// Drops every event.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Sink for Silent {
    fn emit(&self, _event: Event) {}
}
