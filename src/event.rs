//! What happens in a run, as data: every room reports through [`Sink`], and only `ui` decides
//! how a terminal or a JSON-lines reader sees it.

use crate::activity::Activity;
use crate::spent::Spent;
use crate::stage::{Role, Stage};

/// One thing that happened.
///
/// The names of the variants that also exist in `--json` output are the contract's (section 5).
#[derive(Clone, Debug)]
pub enum Event {
    /// A session began or was taken up again.
    SessionStarted {
        /// Branch the session lives on, without `refs/heads/`.
        branch: String,
        /// True when it existed before.
        resumed: bool,
        /// What it is about.
        title: String,
    },
    /// A stage begins.
    StageStarted {
        /// Which.
        stage: Stage,
        /// Which of the session's stages, from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// All of them, in their order.
        order: Vec<Stage>,
    },
    /// A draft begins.
    DraftStarted {
        /// Which stage.
        stage: Stage,
        /// Counting from 1.
        iteration: u32,
        /// How many there may be.
        limit: u32,
        /// The task being worked on, with its title, in coding.
        task: Option<String>,
        /// Tasks that are done, and all there are; none where there is no task.
        tasks: (usize, usize),
    },
    /// A request was answered.
    ModelRequest {
        /// Stage it was for.
        stage: Stage,
        /// Role it was for.
        role: Role,
        /// Draft it belongs to.
        iteration: u32,
        /// Turn of the conversation, from 1.
        turn: u32,
        /// What the server counted.
        usage: Usage,
        /// Wall time in milliseconds.
        millis: u64,
    },
    /// A request is sent: text that comes next is this role's.
    Speaker {
        /// Stage it is for.
        stage: Stage,
        /// Who speaks.
        role: Role,
    },
    /// A piece of streamed answer text.
    Text {
        /// The piece, control characters not yet removed.
        text: String,
    },
    /// A tool was called and answered.
    ToolCall {
        /// Tool name.
        tool: String,
        /// A short form of the arguments, for people.
        brief: String,
        /// Whether it did what was asked.
        ok: bool,
        /// First line of the answer.
        answer: String,
    },
    /// What goes on at this moment.
    Now(Activity),
    /// Feedback was recorded.
    Feedback {
        /// Stage it is for.
        stage: Stage,
        /// Who said it (`critic`, `human`, `validator`, …).
        from: String,
        /// `critical`, `major` or `minor`.
        severity: String,
        /// What was said.
        details: String,
    },
    /// The actor has read its own draft.
    SelfReview {
        /// Which stage.
        stage: Stage,
        /// Draft number.
        iteration: u32,
        /// `revised` when files changed, else `passed`, or `needs_revision` where it could not fix
        /// what it found.
        outcome: &'static str,
        /// The files it changed, from the top of the working tree.
        files: Vec<String>,
        /// How many problems it could not fix; each is feedback, too.
        unfixed: usize,
    },
    /// A person is waited for.
    ReviewRequested {
        /// Stage that waits.
        stage: Stage,
        /// Draft number.
        iteration: u32,
        /// The commit that holds the draft, when it was left waiting.
        commit: Option<String>,
        /// What a model asks of the person, where it is more than a review.
        reason: Option<String>,
    },
    /// The actor has answered a person's question about its draft, which decides nothing.
    QuestionAnswered {
        /// Which stage.
        stage: Stage,
        /// Draft number.
        iteration: u32,
        /// What was asked.
        question: String,
        /// The answer, in Markdown.
        answer: String,
    },
    /// A stage's commit exists.
    StageCompleted {
        /// Which.
        stage: Stage,
        /// Full commit id.
        commit: String,
        /// Short tag name, when tags are on.
        tag: Option<String>,
        /// Subject of the commit.
        subject: String,
        /// What the stage took, its tasks included, as its commits tell.
        spent: Spent,
    },
    /// A task's commit exists.
    TaskCompleted {
        /// Task id.
        task: String,
        /// Full commit id.
        commit: String,
        /// Subject of the commit.
        subject: String,
        /// What came of the project's tests, as in the commit's trailer: `passed (cargo test)`;
        /// empty or `none` when they were not run.
        checks: String,
        /// Something of it fails that did not before the session.
        fails: bool,
        /// What it changed, in short: `store.py +42`.
        files: String,
        /// Its tests where they passed: `cargo test: 12 passed`; else empty.
        tests: String,
        /// Milliseconds that its models and tools worked.
        millis: u64,
    },
    /// The last stage is done.
    SessionCompleted {
        /// Tip of the session.
        commit: String,
        /// What the whole session used, earlier runs included.
        spent: Spent,
        /// What of it this run used.
        here: Spent,
        /// What it has delivered, where that can be read.
        delivered: Option<Box<Delivered>>,
    },
    /// Something a person should know that stops nothing.
    Warning {
        /// One line.
        text: String,
    },
    /// The run cannot go on as it was: a person is asked, or it ends.
    Alert {
        /// What it is about, a few words.
        title: String,
        /// Why, a line or more.
        text: String,
    },
    /// Something that helps a person follow along; not shown with `--quiet`.
    Note {
        /// One line.
        text: String,
    },
}

/// What a session has delivered, for the last lines of its run.
#[derive(Clone, Debug, Default)]
pub struct Delivered {
    /// The title of the delivery report.
    pub title: String,
    /// The id of each requirement, and whether it was found to be met.
    pub requirements: Vec<(String, bool)>,
    /// Files of the project that were changed.
    pub files: Vec<String>,
    /// Lines that came, and lines that went.
    pub lines: (u64, u64),
    /// How the project's own commands ended when they were run last.
    pub tests: Vec<String>,
    /// Drafts and attempts that were refused, in words; empty where there are none.
    pub rejected: String,
    /// A command that shows what was made, where one is known.
    pub try_it: Option<String>,
    /// There is a remote, so that a pull request can be opened.
    pub has_remote: bool,
}

/// What a server counted, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Prompt tokens, cached ones included.
    pub input: u64,
    /// Generated tokens.
    pub output: u64,
    /// Prompt tokens the provider had cached.
    pub cached: u64,
}

impl std::ops::AddAssign for Usage {
    // Saturating: what is added may come from the trailers of somebody else's commits.
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}

/// Whoever listens to a run.
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
