//! Whether the documents and records of finished stages can be read, at the tip and in the working
//! tree, and which commit holds them as they were when they could.

use std::fs::{Metadata, symlink_metadata};
use std::path::Path;

use super::both_sides;
use super::finished::Finished;
use super::problem::Problem;
use crate::artifact::{Artifact, unreadable};
use crate::error::Error;
use crate::git::{Git, Object, Oid};
use crate::session::{Session, artifact_path, from_top, last_good};

/// Where it is that an artifact cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// In the working tree; the tip has it right.
    Uncommitted,
    /// At the tip, while the working tree has it right.
    TipOnly,
    /// At the tip, and in the working tree where the session is checked out.
    Committed,
}

/// An artifact that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Which.
    pub artifact: Artifact,
    /// From the top of the working tree.
    pub path: String,
    /// What is wrong with it: `is empty`.
    pub why: String,
    /// Where.
    pub broken: Broken,
    /// In its place in the working tree is a folder.
    pub folder: bool,
    /// A stage that is finished has left it, or the session needs it all the time.
    pub finished: bool,
    /// The last commit that holds it as it can be read.
    pub good: Option<Oid>,
}

impl Unreadable {
    /// What is wrong, with the file's name.
    pub fn details(&self) -> String {
        let place = match self.broken {
            Broken::Uncommitted => " (in the working tree)",
            Broken::TipOnly => " in the newest commit; the working tree has it right",
            Broken::Committed => "",
        };
        format!("{} {}{place}", self.path, self.why)
    }

    /// The commands that restore it, where some commit or the working tree has it right.
    pub fn recipe(&self) -> Option<String> {
        let path = from_top(&self.path);
        let file = self.artifact.file_name();
        let commit = format!("git commit -m \"Restore {file}\" -- {path}");
        if self.broken == Broken::TipOnly {
            return Some(commit);
        }
        let good = self.good.as_ref()?;
        // Git takes no folder away for a file.
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

    /// For `verify`; `there` leads to where the session is checked out.
    pub(super) fn problem(&self, session: &Session, there: &str) -> Problem {
        let [missing, conflict, schema, document] = UNREADABLE;
        let code = match self.why.as_str() {
            MISSING => missing,
            why if why.starts_with("holds a conflict") => conflict,
            _ if self.artifact.is_json() => schema,
            _ => document,
        };
        let problem = Problem::new(session, code, &self.path, self.details());
        match self.recipe() {
            Some(recipe) => {
                let fix = format!("{there}git cowork verify {} --fix", session.name);
                Problem { fixable: true, ..problem.fix(format!("{fix}; or: {there}{recipe}")) }
            }
            None => problem.fix(format!(
                "no commit has it as it can be read: correct {} by hand, then commit it",
                self.path
            )),
        }
    }
}

/// The codes of what [`unreadable_artifacts`] finds.
pub const UNREADABLE: [&str; 4] =
    ["missing-document", "conflict-marker", "schema", "unreadable-document"];

/// Said of a file that is not there.
const MISSING: &str = "is missing";

/// The artifacts of a session that cannot be read: at its tip all, in the working tree `top`, where it
/// is checked out, those of finished stages (a draft in progress is its stage's business).
///
/// # Errors
/// Git cannot be read.
pub fn unreadable_artifacts(
    git: &Git,
    session: &Session,
    top: Option<&Path>,
) -> anyhow::Result<Vec<Unreadable>> {
    let reader = git.reader();
    let finished = Finished::of(git, session, reader.as_ref())?;
    let mut found = Vec::new();
    for artifact in Artifact::ALL {
        let path = artifact_path(&session.name, artifact);
        let must = finished.leaves(artifact);
        let at_tip = reader.blob(Object::At(&session.tip, &path))?;
        let tip = match &at_tip {
            Some(bytes) => unreadable(artifact, bytes),
            None => must.then(|| MISSING.to_owned()),
        };
        let always = must || finished.always(artifact, at_tip.is_some());
        let top = top.filter(|_| always);
        let there = top.and_then(|top| in_tree(top, artifact, &path));
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

/// Refuses to go on where a finished stage's document or record cannot be read, at the tip or in this
/// working tree, where the session is checked out.
///
/// # Errors
/// Exit 5 that names each file and the command that restores it.
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
                "no commit has {} as it can be read; correct it by hand and commit it, or go back: git cowork revert {} --to STAGE",
                one.path, session.name
            )),
        };
    }
    if found.iter().any(|one| one.recipe().is_some()) {
        error = error.hint(format!(
            "or let git-cowork restore it and keep what is there now: git cowork verify {} --fix",
            session.name
        ));
    }
    Err(error.into())
}

/// Refuses to go on where records of a committed document cannot be read.
fn require_read(git: &Git, session: &Session) -> anyhow::Result<()> {
    let lines = both_sides::unreadable_records(git, session)?;
    if lines.is_empty() {
        return Ok(());
    }
    let name = &session.name;
    Err(Error::repository(lines.join("\n"))
        .hint("correct it by hand and commit it")
        .hint(format!("what verify --fix can solve of it: git cowork verify {name} --fix"))
        .into())
}

/// Why the file in the working tree cannot be read, and whether a folder is in its place.
fn in_tree(top: &Path, artifact: Artifact, path: &str) -> Option<(String, bool)> {
    let full = top.join(path);
    let found = symlink_metadata(&full).ok();
    let other = |meta: &Metadata| match meta {
        meta if meta.is_dir() => "is a folder",
        meta if meta.is_symlink() => "is a symbolic link",
        _ => "is not a regular file",
    };
    match found {
        None => Some((MISSING.to_owned(), false)),
        // Opening a pipe would wait for whoever writes to it.
        Some(meta) if !meta.is_file() => Some((other(&meta).to_owned(), meta.is_dir())),
        Some(_) => match std::fs::read(&full) {
            Ok(bytes) => unreadable(artifact, &bytes).map(|why| (why, false)),
            Err(error) => Some((format!("cannot be read: {error}"), false)),
        },
    }
}
