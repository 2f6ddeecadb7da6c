//! Checks that the documents and records of finished stages are readable, at the tip and in the
//! working tree, and finds the last commit with a readable version.

use std::fs::{Metadata, symlink_metadata};
use std::path::Path;

use super::both_sides::{self, Finished};
use super::problem::Problem;
use crate::artifact::{Artifact, Flaw, RECORDS, unreadable};
use crate::error::Error;
use crate::git::{Git, Object, Oid};
use crate::session::{Session, artifact_path, from_top, last_good};

/// Where an artifact is unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// In the working tree; it is readable at the tip.
    Uncommitted,
    /// At the tip; it is readable in the working tree.
    TipOnly,
    /// At the tip, and in the working tree if the session is checked out.
    Committed,
}

/// An unreadable artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The artifact.
    pub artifact: Artifact,
    /// Path relative to the top of the working tree.
    pub path: String,
    /// The reason.
    pub why: Flaw,
    /// Where it is unreadable.
    pub broken: Broken,
    /// True if there is a folder in its place in the working tree.
    pub folder: bool,
    /// True if it belongs to a finished stage, or if the session always needs it.
    pub finished: bool,
    /// The last commit with a readable version.
    pub good: Option<Oid>,
}

impl Unreadable {
    /// Describes the problem, starting with the file's path.
    pub fn details(&self) -> String {
        let place = match self.broken {
            Broken::Uncommitted => " (in the working tree)",
            Broken::TipOnly => " in the newest commit, but readable in the working tree",
            Broken::Committed => "",
        };
        format!("{} {}{place}", self.path, self.why)
    }

    /// The commands that restore it, if a commit or the working tree has a readable version.
    pub fn recipe(&self) -> Option<String> {
        let path = from_top(&self.path);
        let file = self.artifact.file_name();
        let commit = format!("git commit -m \"Restore {file}\" -- {path}");
        if self.broken == Broken::TipOnly {
            return Some(commit);
        }
        let good = self.good.as_ref()?;
        // Git does not replace a folder with a file.
        let aside = match self.folder {
            true => format!("mv {0} {0}.moved && ", self.path),
            false => String::new(),
        };
        let back = format!("{aside}git checkout {} -- {path}", good.short());
        Some(match self.broken {
            Broken::Uncommitted => back,
            _ => format!("{back} && {commit}"),
        })
    }

    /// The problem for `verify`; `there` is a command prefix that changes to the session's working
    /// tree.
    pub(super) fn problem(&self, session: &Session, there: &str) -> Problem {
        let [missing, conflict, schema, document] = UNREADABLE;
        let code = match self.why {
            Flaw::Missing => missing,
            Flaw::Conflict(_) => conflict,
            Flaw::Other(_) if self.artifact.is_json() => schema,
            Flaw::Other(_) => document,
        };
        let problem = Problem::new(session, code, &self.path, self.details());
        match self.recipe() {
            Some(recipe) => {
                let fix = format!("{there}git cowork verify {} --fix", session.name);
                Problem { fixable: true, ..problem.fix(format!("{fix}; or: {there}{recipe}")) }
            }
            None => problem.fix(format!(
                "no commit has a readable version: correct {} by hand, then commit it",
                self.path
            )),
        }
    }
}

/// The codes of problems that [`unreadable_artifacts`] finds.
pub const UNREADABLE: [&str; 4] =
    ["missing-document", "conflict-marker", "schema", "unreadable-document"];

/// The unreadable artifacts of a session: all at its tip, and those of finished stages in the
/// working tree `top` that has it checked out (the stage in progress checks its own draft).
///
/// # Errors
/// Git cannot be read.
pub fn unreadable_artifacts(
    git: &Git,
    session: &Session,
    top: Option<&Path>,
) -> anyhow::Result<Vec<Unreadable>> {
    let reader = git.reader();
    let finished = Finished::find(git, session, reader.as_ref())?;
    let mut found = Vec::new();
    for artifact in Artifact::ALL {
        let path = artifact_path(&session.name, artifact);
        let must = finished.leaves(artifact);
        let at_tip = reader.blob(Object::At(&session.tip, &path))?;
        let tip = match &at_tip {
            Some(bytes) => unreadable(artifact, bytes),
            None => must.then_some(Flaw::Missing),
        };
        let always = must || finished.always(artifact, at_tip.is_some());
        let top = top.filter(|_| always);
        let there = top.and_then(|top| in_tree(top, artifact, &path, (at_tip.as_deref(), &tip)));
        let folder = there.as_ref().is_some_and(|(_, folder)| *folder);
        let (why, broken) = match (tip, there) {
            (None, None) => continue,
            (None, Some((why, _))) => (why, Broken::Uncommitted),
            (Some(why), None) if top.is_some() => (why, Broken::TipOnly),
            (Some(why), _) => (why, Broken::Committed),
        };
        if broken == Broken::Committed && both_sides::is_derivable(git, session, artifact) {
            continue;
        }
        let good = match broken {
            Broken::Uncommitted => Some(session.tip.clone()),
            Broken::TipOnly => None,
            Broken::Committed => last_good(git, &session.tip, artifact, &path)?,
        };
        found.push(Unreadable { artifact, path, why, broken, folder, finished: always, good });
    }
    Ok(found)
}

/// The JSON that is readable at the tip and unreadable in the working tree.
///
/// # Errors
/// Git cannot be read.
pub(super) fn unreadable_json(git: &Git, session: &Session) -> anyhow::Result<Vec<Unreadable>> {
    let reader = git.reader();
    let mut found = Vec::new();
    for artifact in RECORDS {
        let path = artifact_path(&session.name, artifact);
        let at_tip = reader.blob(Object::At(&session.tip, &path))?;
        let Some(bytes) = at_tip.filter(|bytes| unreadable(artifact, bytes).is_none()) else {
            continue;
        };
        let Some((why, folder)) = in_tree(git.top(), artifact, &path, (Some(&bytes), &None)) else {
            continue;
        };
        let (broken, good) = (Broken::Uncommitted, Some(session.tip.clone()));
        found.push(Unreadable { artifact, path, why, broken, folder, finished: true, good });
    }
    Ok(found)
}

/// Fails if a document or record of a finished stage is unreadable, at the tip or in this working
/// tree, if it has the session checked out.
///
/// # Errors
/// Exit 5 with each file and the command that restores it.
pub fn require_readable(git: &Git, session: &Session) -> anyhow::Result<()> {
    let mut found = unreadable_artifacts(git, session, Some(git.top()))?;
    found.retain(|one| one.finished);
    if found.is_empty() {
        return require_read(git, session);
    }
    let details: Vec<String> = found.iter().map(Unreadable::details).collect();
    let mut error = Error::repository(details.join("\n"));
    for one in &found {
        error = match one.recipe() {
            Some(recipe) => error.hint(recipe),
            None => error.hint(format!(
                "no commit has a readable version of {}; correct it by hand and commit it, or rewind: git cowork revert {} --to STAGE",
                one.path, session.name
            )),
        };
    }
    if found.iter().any(|one| one.recipe().is_some()) {
        error = error.hint(format!(
            "or let git-cowork back up and restore the files: git cowork verify {} --fix",
            session.name
        ));
    }
    Err(error.into())
}

/// Fails if records of a committed document are unreadable.
fn require_read(git: &Git, session: &Session) -> anyhow::Result<()> {
    let lines = both_sides::unreadable_records(git, session)?;
    if lines.is_empty() {
        return Ok(());
    }
    let name = &session.name;
    Err(Error::repository(lines.join("\n"))
        .hint("correct the records by hand, then commit")
        .hint(format!("or let git-cowork fix what it can: git cowork verify {name} --fix"))
        .into())
}

/// The reason why a file in the working tree is unreadable, and true if there is a folder in its
/// place. `at_tip`: the bytes at the tip, and the reason why those are unreadable.
fn in_tree(
    top: &Path,
    artifact: Artifact,
    path: &str,
    at_tip: (Option<&[u8]>, &Option<Flaw>),
) -> Option<(Flaw, bool)> {
    let full = top.join(path);
    let found = symlink_metadata(&full).ok();
    let other = |meta: &Metadata| match meta {
        meta if meta.is_dir() => "is a folder",
        meta if meta.is_symlink() => "is a symbolic link",
        _ => "is not a regular file",
    };
    match found {
        None => Some((Flaw::Missing, false)),
        // Opening a named pipe would block.
        Some(meta) if !meta.is_file() => {
            Some((Flaw::Other(other(&meta).to_owned()), meta.is_dir()))
        }
        Some(_) => match std::fs::read(&full) {
            Ok(bytes) if Some(&bytes[..]) == at_tip.0 => at_tip.1.clone().map(|why| (why, false)),
            Ok(bytes) => unreadable(artifact, &bytes).map(|why| (why, false)),
            Err(error) => Some((Flaw::Other(format!("cannot be read: {error}")), false)),
        },
    }
}
