//! Review by a person, on a terminal and in an editor.
//!
//! The gate shows a draft and returns a [`Decision`]. It never commits and depends neither on git
//! nor on a model: its caller supplies the texts and acts on the decision. Two rules hold
//! everywhere: only a deliberate key approves a draft, and the approved bytes are those shown or
//! those the person saved.

mod broken;
pub mod clean;
pub mod comments;
mod decide;
pub mod editor;
mod edits;
mod elsewhere;
mod guide;
mod hunks;
mod knowledge;
pub mod limit;
mod line_edit;
mod menu;
mod menu_lines;
pub mod notify;
mod pager;
mod paint;
pub mod question;
mod records;
mod screen;
mod since;
pub mod terminal;
pub mod tty;
mod untold;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::Error;
use crate::spent::Spent;
use crate::stage::{Depth, Stage};

pub use broken::{AfterEdit, Broken};
pub use decide::{Decided, command_name, decide};
pub use editor::{EditResult, Editor};
pub use elsewhere::{Elsewhere, NobodyElse};
pub use guide::Guide;
pub use hunks::comments_file;
pub use knowledge::{Learned, LearnedDecision};
pub use limit::{LimitDecision, Stuck};
pub use menu::{Back, earlier_stage};
pub use notify::notify;
pub use pager::{Pagers, is_pager, page_output, show as page};
pub use question::{NobodyThere, TerminalPerson, choose, confirm, yes_or_no};
pub use records::{Record, Records};
pub use terminal::Terminal;
pub use tty::Tty;
pub use untold::{NothingTyped, Untold};

/// How a draft is reviewed (`--review`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By a person at this terminal.
    Ask,
    /// Later: the draft is committed, and the run ends.
    Wait,
    /// Approved without a review, as a person has requested beforehand.
    Auto,
}

impl Mode {
    /// The mode to use: by default [`Mode::Ask`] at a terminal, and [`Mode::Wait`] without one.
    ///
    /// # Errors
    /// Usage error if [`Mode::Ask`] was requested without a terminal.
    pub fn resolve(asked: Option<Self>, attended: bool) -> anyhow::Result<Self> {
        match (asked, attended) {
            (Some(Self::Ask), false) => Err(Error::usage("--review ask needs a terminal")
                .hint("use --review wait and answer with 'git cowork review'")
                .into()),
            (Some(mode), _) => Ok(mode),
            (None, true) => Ok(Self::Ask),
            (None, false) => Ok(Self::Wait),
        }
    }
}

impl Mode {
    /// The modes' names.
    pub const NAMES: [&str; 3] = ["ask", "wait", "auto"];
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match s {
            "ask" => Ok(Self::Ask),
            "wait" => Ok(Self::Wait),
            "auto" => Ok(Self::Auto),
            _ => Err(format!("unknown review mode '{s}' (one of: ask, wait, auto)")),
        }
    }
}

/// True if a person can be asked: stdin and stderr are a terminal, and git's pager does not own it.
pub const fn attended(stdin_is_tty: bool, stderr_is_tty: bool, pager_in_use: bool) -> bool {
    stdin_is_tty && stderr_is_tty && !pager_in_use
}

/// A person's decision about a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The draft is approved as shown.
    Pass,
    /// Approved at another terminal, which did not show changes made to the files since the gate
    /// opened.
    PassedElsewhere,
    /// The person edited the files and left comments for the actor in them.
    Commented,
    /// Changes are requested.
    Feedback(String),
    /// The person edited the files: they are checked and shown again.
    Look,
    /// The person's edit, which fails the checks, goes to the actor as it is.
    HandOver,
    /// The person's edit of this draft is undone, after it was saved.
    TakeBack,
    /// The actor answers a question about the draft.
    Question(String),
    /// Choose another model for the next draft.
    OtherModel,
    /// Go back to an earlier stage.
    GoBack(Stage),
    /// Raise the session's depth.
    Raise(Depth),
    /// End the session as failed; everything is kept.
    Abort,
    /// Later: the draft is kept as a waiting review.
    Stop,
}

/// A file under review.
#[derive(Clone, Debug)]
pub struct Document {
    /// Short name, `design.md`.
    pub name: String,
    /// Its absolute path in the working tree.
    pub path: PathBuf,
    /// The text under review, not cleaned.
    pub text: String,
    /// A readable form to show, if the file itself is not meant for reading.
    pub readable: Option<String>,
}

impl Document {
    /// The text to show, not cleaned.
    pub fn shown(&self) -> &str {
        self.readable.as_deref().unwrap_or(&self.text)
    }
}

/// Whether the actor can answer questions about its draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// It can.
    Answers,
    /// It cannot: it is an agent program, which has no read-only tools.
    Agent(String),
    /// The command that opened the gate has no model to ask.
    Absent,
}

/// The result of a key after which the gate opens again.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The text above the menu; cleaned when shown.
    pub text: String,
    /// True if the draft has changed and is shown again.
    pub redraws: bool,
    /// True if the result took time, so the person may have left and is notified.
    pub calls: bool,
}

impl Reply {
    /// The result of a key that took no time and did not change the draft.
    pub fn at_once(text: impl Into<String>) -> Self {
        Self { text: text.into(), redraws: false, calls: false }
    }
}

/// Changes since the person last looked.
#[derive(Clone, Debug)]
pub struct Since {
    /// The heading, which says what the draft is compared with: `Since you last looked`.
    pub heading: &'static str,
    /// One line: `1 component removed, 6 lines changed`.
    pub summary: String,
    /// A unified diff.
    pub diff: String,
}

/// A person's earlier feedback.
#[derive(Clone, Debug)]
pub struct Said {
    /// The feedback.
    pub text: String,
    /// How the draft addressed it, if known: `done: COMP-003 removed`, `no change there`.
    pub outcome: Option<String>,
}

/// Everything a gate shows. Texts may come from a model: they are cleaned when shown.
pub struct Draft<'a> {
    /// Stage under review.
    pub stage: Stage,
    /// Draft number, from 1.
    pub iteration: u32,
    /// Maximum number of drafts; 0 if unlimited.
    pub limit: u32,
    /// The stage's position in the session, and the number of stages.
    pub place: (usize, usize),
    /// Usage of the stage so far.
    pub spent: Spent,
    /// False if the stage's document is missing: there is nothing to pass.
    pub can_pass: bool,
    /// The files; the first Markdown one is the main document.
    pub documents: Vec<Document>,
    /// The records as a table, if the stage has some.
    pub records: Option<Records>,
    /// The changed files, if the draft is code.
    pub code: Vec<PathBuf>,
    /// Changes since the last look; `None` on the first look, which shows the document's beginning.
    pub since: Option<Since>,
    /// Passed checks, a few words each.
    pub passed: Vec<String>,
    /// Failed checks, a line each.
    pub findings: Vec<String>,
    /// Warnings to review, a line each.
    pub warnings: Vec<String>,
    /// What tests have shown, each line with its label; in coding.
    pub tried: Vec<(&'static str, String)>,
    /// The person's earlier feedback.
    pub said: Vec<Said>,
    /// Problems that the actor's self-review of this draft could not fix.
    pub unfixed: Vec<String>,
    /// The actor's closing message, on a second look.
    pub actor_said: Option<String>,
    /// The critic's comment, if the critic reads first.
    pub critic_said: Option<String>,
    /// The challenger's comment, if the critic reads first.
    pub challenger_said: Option<String>,
    /// True if the critic reads the draft after an approval.
    pub critic_next: bool,
    /// `git diff --stat`, in coding.
    pub diffstat: Option<String>,
    /// Returns the whole diff, in git's colours if the argument is true.
    pub full_diff: &'a dyn Fn(bool) -> anyhow::Result<String>,
    /// Returns the problems of the documents on disk, with failed checks if the argument is true.
    pub broken: &'a dyn Fn(bool) -> anyhow::Result<Broken>,
    /// Names of the documents the person has edited, if known: `prd.md`.
    pub edited: Option<String>,
    /// Whether the actor can answer questions.
    pub actor: Actor,
    /// True if another model can be chosen for the next draft.
    pub other_models: bool,
    /// The model for the next draft, if a person has chosen another one.
    pub next_by: Option<String>,
    /// The result of the last key, if the gate opens again after it.
    pub reply: Option<Reply>,
    /// Stages that the session can go back to.
    pub earlier: &'a [Stage],
    /// The depth the session can be raised to.
    pub more: Option<Depth>,
    /// Why the gate is open, if for an unusual reason.
    pub note: Option<String>,
}

impl Draft<'_> {
    /// The document to read: the first Markdown file, else the first file.
    pub(crate) fn main(&self) -> Option<&Document> {
        self.documents
            .iter()
            .find(|document| document.path.extension().is_some_and(|ext| ext == "md"))
            .or_else(|| self.documents.first())
    }
}

/// The environment of a gate.
pub struct Gate<'a> {
    /// The person's terminal.
    pub terminal: &'a dyn Terminal,
    /// The person's editor; its `cwd` is the top of the working tree.
    pub editor: &'a Editor,
    /// The person's pagers.
    pub pagers: &'a Pagers,
    /// The prefix of comment lines in an edited document.
    pub comment_prefix: &'a str,
    /// Folder outside the working tree for texts being written.
    pub scratch: &'a Path,
    /// Notifies a person who may have left (`[review] notify`), once for each question.
    pub call: &'a dyn Fn(&str),
    /// Other terminals that may answer.
    pub elsewhere: &'a dyn Elsewhere,
    /// Explains each gate before it is shown.
    pub guide: Option<&'a Guide>,
    /// Notes typed during the run; a feedback text starts with them.
    pub untold: &'a dyn Untold,
}

impl Gate<'_> {
    /// Shows the draft and asks until there is a decision. A closed terminal is [`Decision::Stop`].
    ///
    /// # Errors
    /// Interrupted by Ctrl-C, or the terminal cannot be written.
    pub fn ask(&self, draft: &Draft<'_>) -> anyhow::Result<Decision> {
        if draft.reply.as_ref().is_none_or(|reply| reply.calls) {
            (self.call)(&format!("{} waits for you", draft.stage));
            if let Some(guide) = self.guide
                && !guide.explain(self, draft)?
            {
                return Ok(Decision::Stop);
            }
        }
        menu::run(self, draft)
    }

    /// Asks what to do when a stage cannot continue by itself. A closed terminal is
    /// [`LimitDecision::Stop`].
    ///
    /// # Errors
    /// Like [`Gate::ask`].
    pub fn stuck(&self, what: &Stuck<'_>) -> anyhow::Result<LimitDecision> {
        (self.call)(&format!("{} cannot continue and waits for you", what.stage));
        limit::run(self.terminal, self.elsewhere, self.untold, what)
    }

    /// Shows the problems of a person's edit and asks what to do. The edit can be handed over only
    /// if the actor continues with the draft (`to_actor`).
    ///
    /// # Errors
    /// Like [`Gate::ask`].
    pub fn broken(&self, what: &Broken, to_actor: bool) -> anyhow::Result<AfterEdit> {
        broken::ask(self, what, to_actor)
    }

    /// Asks for a decision on proposed facts. A closed terminal is [`LearnedDecision::Later`].
    ///
    /// # Errors
    /// Like [`Gate::ask`].
    pub fn learned(&self, what: &Learned<'_>) -> anyhow::Result<LearnedDecision> {
        knowledge::run(self.terminal, self.elsewhere, what)
    }

    /// Asks for a yes or a no; any other key, and a closed terminal, is a no.
    ///
    /// # Errors
    /// Like [`Gate::ask`].
    pub fn allow(&self, question: &str) -> anyhow::Result<bool> {
        question::allow(self.terminal, self.elsewhere, question)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Kind, kind_of};

    #[test]
    fn modes_parse_and_resolve() {
        assert_eq!("wait".parse(), Ok(Mode::Wait));
        assert!("yes".parse::<Mode>().is_err_and(|e| e.contains("ask, wait, auto")));
        assert_eq!(Mode::resolve(None, true).unwrap(), Mode::Ask);
        assert_eq!(Mode::resolve(None, false).unwrap(), Mode::Wait);
        assert_eq!(Mode::resolve(Some(Mode::Auto), false).unwrap(), Mode::Auto);
        let error = Mode::resolve(Some(Mode::Ask), false).unwrap_err();
        assert_eq!(kind_of(&error), Kind::Usage);
    }

    #[test]
    fn a_pager_or_a_pipe_is_not_attended() {
        assert!(attended(true, true, false));
        assert!(!attended(true, true, true));
        assert!(!attended(false, true, false));
        assert!(!attended(true, false, false));
    }
}
