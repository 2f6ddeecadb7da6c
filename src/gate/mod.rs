//! Review by a person: on a terminal and in an editor.
//!
//! The gate shows a draft and brings back a [`Decision`]. It never commits, and it knows neither
//! git nor a model: whoever opens it supplies the texts and acts on the answer. Two rules hold
//! in every corner: nothing but a deliberate key passes a draft, and what was passed is what
//! was shown or what the person saved.

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

/// How a review is held (`--review`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// At this terminal.
    Ask,
    /// The draft is left in history and the program ends.
    Wait,
    /// Passed unseen, because a person said so beforehand.
    Auto,
}

impl Mode {
    /// What applies: a terminal is asked, without one the draft waits.
    ///
    /// # Errors
    /// Usage, when [`Mode::Ask`] was asked for and nobody sits there.
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
    /// Their names.
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

/// Whether a person can be asked: both ends are a terminal, and git's pager does not own it.
pub const fn attended(stdin_is_tty: bool, stderr_is_tty: bool, pager_in_use: bool) -> bool {
    stdin_is_tty && stderr_is_tty && !pager_in_use
}

/// What a person decided about a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The bytes shown pass.
    Pass,
    /// The same, said at another terminal: what the files hold by now nobody there has seen.
    PassedElsewhere,
    /// The person changed the files; the bytes on disk pass, or carry comments to the actor.
    Edited,
    /// The actor is to change something.
    Feedback(String),
    /// The person edited code: it is looked at again.
    Look,
    /// The person's edit, which the checks refuse, goes to the actor as it is.
    HandOver,
    /// The person's own edit of this draft is taken back, once it is kept.
    TakeBack,
    /// The actor answers a question about the draft.
    Question(String),
    /// Another model makes the next draft.
    OtherModel,
    /// Back to an earlier stage.
    GoBack(Stage),
    /// More process from here on.
    Raise(Depth),
    /// The session ends as failed; everything is kept.
    Abort,
    /// Later: the draft is kept as a waiting review.
    Stop,
}

/// A file under review.
#[derive(Clone, Debug)]
pub struct Document {
    /// Short name, `design.md`.
    pub name: String,
    /// The real file in the working tree, absolute.
    pub path: PathBuf,
    /// The text this review is about, uncleaned.
    pub text: String,
    /// What is shown of it, where the file is not made for reading.
    pub readable: Option<String>,
}

impl Document {
    /// What a person is shown, uncleaned.
    pub fn shown(&self) -> &str {
        self.readable.as_deref().unwrap_or(&self.text)
    }
}

/// Whether the actor can be asked about its draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// It answers.
    Answers,
    /// It is an agent program, which has no tools that only read.
    Agent(String),
    /// No model is asked here.
    Absent,
}

/// What came of a key after which the gate opens again.
#[derive(Clone, Debug)]
pub struct Reply {
    /// What is said above the menu, cleaned here.
    pub text: String,
    /// The draft is another one now, and is shown again.
    pub redraws: bool,
    /// The person may have gone away while they waited for it.
    pub calls: bool,
}

impl Reply {
    /// Of a key that was answered at once, and left the draft as it is.
    pub fn at_once(text: impl Into<String>) -> Self {
        Self { text: text.into(), redraws: false, calls: false }
    }
}

/// What changed since the person last looked.
#[derive(Clone, Debug)]
pub struct Since {
    /// What it is compared with: `Since you last looked`.
    pub heading: &'static str,
    /// One line: `1 component removed, 6 lines changed`.
    pub summary: String,
    /// A unified diff.
    pub diff: String,
}

/// Something the person said last time.
#[derive(Clone, Debug)]
pub struct Said {
    /// The person's words.
    pub text: String,
    /// What came of it, as far as the draft shows: `done: COMP-003 removed`, `no change there`.
    pub outcome: Option<String>,
}

/// Everything the screen of a gate shows. Texts may come from a model: they are cleaned here.
pub struct Draft<'a> {
    /// Stage under review.
    pub stage: Stage,
    /// Draft number, from 1.
    pub iteration: u32,
    /// How many drafts there may be; 0 when there is no limit.
    pub limit: u32,
    /// Which of the session's stages it is, and of how many.
    pub place: (usize, usize),
    /// What the stage took so far.
    pub spent: Spent,
    /// The files; the first Markdown one is the main document.
    pub documents: Vec<Document>,
    /// The records as a table, where the stage has some.
    pub records: Option<Records>,
    /// The changed files, where the draft is code.
    pub code: Vec<PathBuf>,
    /// Since the last look; `None` on the first one, which shows the document's beginning.
    pub since: Option<Since>,
    /// Checks that hold, a few words each.
    pub passed: Vec<String>,
    /// Checks that do not, a line each.
    pub findings: Vec<String>,
    /// What is allowed and yet to be looked at, a line each.
    pub warnings: Vec<String>,
    /// What the person said last time.
    pub said: Vec<Said>,
    /// What the actor's self-review of this draft could not fix.
    pub unfixed: Vec<String>,
    /// The actor's closing words, on a second look.
    pub actor_said: Option<String>,
    /// What the critic said, where it reads first.
    pub critic_said: Option<String>,
    /// What the challenger said, likewise.
    pub challenger_said: Option<String>,
    /// Whether the critic reads after a pass.
    pub critic_next: bool,
    /// `git diff --stat`, in coding.
    pub diffstat: Option<String>,
    /// The whole diff, made only when asked for; the argument asks for git's colours.
    pub full_diff: &'a dyn Fn(bool) -> anyhow::Result<String>,
    /// What is wrong with the documents as they are on disk; the argument asks for the checks, too.
    pub broken: &'a dyn Fn(bool) -> anyhow::Result<Broken>,
    /// What the person has edited of this draft, as far as it is known: `prd.md`.
    pub edited: Option<String>,
    /// Whether the actor can be asked about the draft.
    pub actor: Actor,
    /// Whether another model can be taken for the next draft.
    pub other_models: bool,
    /// Who makes the next draft, where a person has chosen another model.
    pub next_by: Option<String>,
    /// What came of the last key, where the gate opens again because of it.
    pub reply: Option<Reply>,
    /// Stages one can go back to.
    pub earlier: &'a [Stage],
    /// The depth the session can be raised to.
    pub more: Option<Depth>,
    /// Why the gate is open, when it is not the usual reason.
    pub note: Option<String>,
}

impl Draft<'_> {
    /// The document a person reads: the first Markdown file, else the first.
    pub(crate) fn main(&self) -> Option<&Document> {
        self.documents
            .iter()
            .find(|document| document.path.extension().is_some_and(|ext| ext == "md"))
            .or_else(|| self.documents.first())
    }
}

/// What a gate works with.
pub struct Gate<'a> {
    /// Where the person sits.
    pub terminal: &'a dyn Terminal,
    /// The person's editor; its `cwd` is the top of the working tree.
    pub editor: &'a Editor,
    /// The person's pagers.
    pub pagers: &'a Pagers,
    /// What begins a comment line in an edited document.
    pub comment_prefix: &'a str,
    /// A folder outside the working tree for texts being written.
    pub scratch: &'a Path,
    /// Calls a person who may be elsewhere (`[review] notify`), once for each thing that is asked.
    pub call: &'a dyn Fn(&str),
    /// Who else may answer.
    pub elsewhere: &'a dyn Elsewhere,
    /// Explains each gate before it is shown.
    pub guide: Option<&'a Guide>,
    /// What feedback begins with.
    pub untold: &'a dyn Untold,
}

impl Gate<'_> {
    /// Shows the draft and asks until there is a decision. A closed terminal is [`Decision::Stop`].
    ///
    /// # Errors
    /// Interrupted on Ctrl-C; otherwise only when the terminal cannot be written.
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

    /// Asks what to do when a stage cannot go on by itself. A closed terminal is
    /// [`LimitDecision::Stop`].
    ///
    /// # Errors
    /// As [`Gate::ask`].
    pub fn stuck(&self, what: &Stuck<'_>) -> anyhow::Result<LimitDecision> {
        (self.call)(&format!("{} cannot continue and waits for you", what.stage));
        limit::run(self.terminal, self.elsewhere, self.untold, what)
    }

    /// Says what is wrong with what a person saved, and asks what comes of it. The actor can get it only
    /// where it goes on (`to_actor`).
    ///
    /// # Errors
    /// As [`Gate::ask`].
    pub fn broken(&self, what: &Broken, to_actor: bool) -> anyhow::Result<AfterEdit> {
        broken::ask(self, what, to_actor)
    }

    /// Asks what becomes of facts that are proposed. A closed terminal is [`LearnedDecision::Later`].
    ///
    /// # Errors
    /// As [`Gate::ask`].
    pub fn learned(&self, what: &Learned<'_>) -> anyhow::Result<LearnedDecision> {
        knowledge::run(self.terminal, self.elsewhere, what)
    }

    /// Asks for a yes or a no, by these keys; anything else, and a closed terminal, is a no.
    ///
    /// # Errors
    /// As [`Gate::ask`].
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
    fn a_pager_or_a_pipe_means_nobody_is_there() {
        assert!(attended(true, true, false));
        assert!(!attended(true, true, true));
        assert!(!attended(false, true, false));
        assert!(!attended(true, false, false));
    }
}
