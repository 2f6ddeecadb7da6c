//! The commits and edits that a rewind or restore drops from the branch: found and reported before
//! anything moves.

use crate::clean::few;
use crate::event::{Event, Sink};
use crate::gate::clean::clean;
use crate::gate::{Terminal, choose, page};
use crate::git::{self, DiffStyle, Git, Head, Oid, StatusKind};
use crate::record::in_session;
use crate::session::{RefNames, Session, Trailers, attempts, key};

/// How many commits or files a message names.
const NAMED: usize = 5;

/// The commits and edits a session's branch loses when it moves to another commit.
#[derive(Clone, Debug)]
pub struct Discarded {
    tip: Oid,
    target: Oid,
    branch: String,
    /// The number of the attempt that will contain them.
    attempt: u32,
    /// The number of commits that leave the branch.
    commits: usize,
    /// Of these commits, the ones that no session made.
    own: Vec<String>,
    /// Remote-tracking branches, each with the number of these commits it contains.
    pushed: Vec<(String, usize)>,
    /// Paths whose uncommitted edits the attempt will contain.
    edits: Vec<String>,
    /// What HEAD points to, if it is not the session's branch.
    elsewhere: Option<String>,
}

impl Discarded {
    /// What is dropped when the session's branch moves from its tip to `target`. Read-only.
    ///
    /// # Errors
    /// Git fails.
    pub fn find(
        git: &Git,
        refs: &RefNames,
        session: &Session,
        target: &Oid,
    ) -> anyhow::Result<Self> {
        let (name, tip) = (&session.name, &session.tip);
        let branch = refs.short_branch(name);
        let reader = git.reader();
        let base = git.resolve(&RefNames::local(&session.file.base.branch))?;
        let hidden: Vec<Oid> = std::iter::once(target.clone()).chain(base).collect();
        let leave = reader.walk(std::slice::from_ref(tip), &hidden)?;
        let foreign = leave
            .iter()
            .filter(|commit| commit.parents.len() < 2 && is_a_persons(&commit.message))
            .map(|commit| format!("{} {}", commit.id.short(), subject(&commit.message)))
            .collect();
        let mut remotes = Vec::new();
        for remote in git::refs::remote_branches(git, &branch)? {
            let Some(theirs) = git.resolve(remote.as_str())? else { continue };
            let hidden: Vec<Oid> = hidden.iter().cloned().chain([theirs]).collect();
            let count = reader.walk(std::slice::from_ref(tip), &hidden)?.len();
            if count < leave.len() {
                remotes.push((remote.short().to_owned(), leave.len() - count));
            }
        }
        let dirs = [name.artifact_dir(), name.record_dir()];
        let edits = git.status()?.into_iter().filter(|entry| {
            !entry.submodule
                && (entry.kind != StatusKind::Untracked || in_session(&entry.path, &dirs))
        });
        let elsewhere = match git.head()? {
            Head::Branch { name: on, .. } if on == refs.branch(name) => None,
            Head::Branch { name: on, .. } | Head::Unborn { branch: on } => {
                Some(on.short().to_owned())
            }
            Head::Detached { oid } => Some(format!("no branch (at {})", oid.short())),
        };
        let newest = attempts(git, Some(name))?.into_iter().map(|attempt| attempt.number).max();
        Ok(Self {
            tip: tip.clone(),
            target: target.clone(),
            branch,
            attempt: newest.unwrap_or(0).saturating_add(1),
            commits: leave.len(),
            own: foreign,
            pushed: remotes,
            edits: edits.map(|entry| entry.path).collect(),
            elsewhere,
        })
    }

    /// Reports what is dropped. `what` names the operation: `going back to before prd`.
    pub fn say(&self, sink: &dyn Sink, what: &str) {
        let note = |text: String| sink.emit(Event::Note { text });
        let warn = |text: String| sink.emit(Event::Warning { text });
        let Self { branch, .. } = self;
        let commits = format!("{} of {branch}", commits(self.commits));
        note(match (self.commits, self.edits.is_empty()) {
            (0, true) => format!("{what}: no commits of {branch} are dropped"),
            (1, true) => format!("{what}: {commits} is kept as an attempt"),
            (_, true) => format!("{what}: {commits} are kept as an attempt"),
            (0, false) => format!("{what}: uncommitted edits are kept as an attempt"),
            (_, false) => format!("{what}: {commits} and uncommitted edits are kept as an attempt"),
        });
        if let Some(on) = &self.elsewhere {
            note(format!("HEAD is on {on} and moves to {branch}"));
        }
        if !self.edits.is_empty() {
            note(format!("uncommitted edits in the attempt: {}", few(&self.edits, NAMED, ", ")));
        }
        if !self.own.is_empty() {
            warn(format!(
                "the attempt has commits that no session made: {}; \
                 to keep one on the branch: git cherry-pick",
                few(&self.own, NAMED, "; ")
            ));
        }
        for (remote, number) in &self.pushed {
            let are = if *number == 1 { "is" } else { "are" };
            warn(format!(
                "{number} of the attempt's commits {are} on {remote} already: others may have \
                 them, and a push needs --force-with-lease"
            ));
        }
    }

    /// True if the move has effects that a person may not expect.
    pub fn may_surprise(&self) -> bool {
        let Self { own, pushed, edits, elsewhere, .. } = self;
        elsewhere.is_some() || !(own.is_empty() && pushed.is_empty() && edits.is_empty())
    }

    /// Asks a person for confirmation, after [`say`](Self::say). False if they cancel.
    ///
    /// # Errors
    /// Interrupted on Ctrl-C; git fails.
    pub fn ask(&self, git: &Git, terminal: &dyn Terminal) -> anyhow::Result<bool> {
        #[derive(Clone, Copy)]
        enum Answer {
            GoOn,
            Show,
            Cancel,
        }
        let goes_on = format!("continue; everything is kept as attempt {}", self.attempt);
        let answers = [
            (Answer::GoOn, goes_on.as_str()),
            (Answer::Show, "see what would leave the branch"),
            (Answer::Cancel, "cancel"),
        ];
        loop {
            match choose(terminal, "Continue anyway?", &answers, Some(2))? {
                Some(Answer::GoOn) => return Ok(true),
                Some(Answer::Show) => {
                    let text = clean(&self.diff(git)?);
                    page(terminal, &git::settings::diff_pager(git)?, git.top(), &text)?;
                }
                Some(Answer::Cancel) | None => return Ok(false),
            }
        }
    }

    /// Diffs of the commits that leave the branch, and of the uncommitted edits.
    fn diff(&self, git: &Git) -> anyhow::Result<String> {
        let both = |from: &Oid, to: &Oid| -> anyhow::Result<String> {
            let all: [&str; 0] = [];
            let stat = git::diff::text(git, from, to, &all, DiffStyle::Stat, false)?;
            let patch = git::diff::text(git, from, to, &all, DiffStyle::Patch, false)?;
            Ok(format!("{stat}\n{patch}"))
        };
        let mut text = format!("In {} of {}:\n", commits(self.commits), self.branch);
        text.push_str(&both(&self.target, &self.tip)?);
        if !self.edits.is_empty()
            && let Some(head) = git.resolve("HEAD")?
        {
            let tree = git::snapshot::tree(git, &head, &self.edits)?;
            text.push_str("\nNot committed:\n");
            text.push_str(&both(&head, &tree)?);
        }
        Ok(text)
    }
}

fn commits(n: usize) -> String {
    if n == 1 { "1 commit".to_owned() } else { format!("{n} commits") }
}

/// True if the commit is not a step of a session. The session's name in its message is not enough:
/// a hook may have added it to a person's commit.
fn is_a_persons(message: &str) -> bool {
    let trailers = Trailers::parse(message);
    [key::EVENT, key::STAGE, key::TASK].iter().all(|key| trailers.get(key).is_none())
}

fn subject(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}
