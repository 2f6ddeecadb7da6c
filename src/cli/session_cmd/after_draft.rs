//! What stands on a branch after a waiting draft. A person who passes the draft has seen the draft;
//! commits on top of it are passed only if the person is shown them, or names the tip.

use crate::artifact::Artifact;
use crate::cli::context::Context;
use crate::error::{Error, Kind};
use crate::gate::{self, Tty};
use crate::git::{self, Commit, DiffStyle, Git, Oid};
use crate::session::{Session, Waiting, artifact_path};
use crate::ui::one_line;

/// The shortest abbreviation of a commit that names what was seen.
const SHORTEST: usize = 7;

/// The number of commits, and of files, that are listed.
const LISTED: usize = 10;

/// The columns of a listed commit.
const WIDTH: usize = 100;

/// Makes sure that `at` names the tip of the session.
///
/// # Errors
/// Exit 5: it names another commit.
pub(crate) fn require_tip(session: &Session, at: &str) -> anyhow::Result<()> {
    let (tip, at) = (session.tip.as_str(), at.to_ascii_lowercase());
    if at.len() >= SHORTEST && tip.starts_with(&at) {
        return Ok(());
    }
    let name = &session.name;
    let newest = session.tip.abbreviated();
    Err(Error::repository(format!(
        "--at {at} does not name the tip of '{name}', which is {newest}"
    ))
    .hint(format!("look at what is there now: git show {newest}"))
    .into())
}

/// Makes sure that a person who passes a waiting draft has seen the commits on top of it: shows them,
/// and asks a person who passes it with this option; without an option the gate asks next.
///
/// # Errors
/// Exit 3: there is no terminal to ask on. Interrupted: the person does not pass them.
pub(crate) fn require_seen(
    context: &Context,
    git: &Git,
    session: &Session,
    waiting: &Waiting,
    option: Option<&str>,
) -> anyhow::Result<()> {
    let (draft, tip) = (&waiting.draft.commit, &session.tip);
    // A commit that raises the depth changes this file alone, and nothing that was shown.
    let settings = artifact_path(&session.name, Artifact::Session);
    if git::paths::changed(git, draft, tip)?.iter().all(|path| *path == settings) {
        return Ok(());
    }
    let commits = git.reader().walk(std::slice::from_ref(tip), std::slice::from_ref(draft))?;
    for text in lines(git, &commits, draft, tip)? {
        context.note(text);
    }
    let Some(option) = option else { return Ok(()) };
    let number = waiting.draft.iterations();
    let count = match commits.len() {
        1 => "1 commit".to_owned(),
        more => format!("{more} commits"),
    };
    let subject = format!("{count} on top of draft {number} of {}", waiting.stage);
    if context.attended() {
        context.ui.clear();
        let question = format!("Pass the draft with the {subject}?");
        if gate::confirm(&Tty::new(context.color), &question)? {
            return Ok(());
        }
        return Err(Error::new(Kind::Interrupted, "cancelled; the draft still waits").into());
    }
    let (name, newest) = (&session.name, tip.abbreviated());
    Err(Error::waiting(format!(
        "a pass would include {subject}, and nobody has said they were seen"
    ))
    .hint(format!("see all: git diff {} {newest}", draft.abbreviated()))
    .hint(format!("pass what is there: git cowork review {name} {option} --at {newest}"))
    .into())
}

/// The commits, newest first, with their committers, then the files that they changed.
fn lines(git: &Git, commits: &[Commit], draft: &Oid, tip: &Oid) -> anyhow::Result<Vec<String>> {
    let line = |commit: &Commit| {
        let committer = commit.committer.split(" <").next().unwrap_or_default();
        let text = format!("{} {committer}: {}", commit.id.abbreviated(), commit.subject());
        one_line(&text, WIDTH)
    };
    let mut lines: Vec<String> = commits.iter().take(LISTED).map(line).collect();
    if let Some(more @ 1..) = commits.len().checked_sub(LISTED) {
        lines.push(format!("and {more} more"));
    }
    let stat = git::diff::text::<&str>(git, draft, tip, &[], DiffStyle::Stat, false)?;
    let files: Vec<&str> = stat.lines().map(str::trim).collect();
    if let Some((total, files)) = files.split_last() {
        lines.extend(files.iter().take(LISTED).map(|file| one_line(file, WIDTH)));
        lines.push((*total).to_owned());
    }
    Ok(lines)
}
