//! `session.json` at a session's tip: read, converted to the current format, and restored if
//! broken.
//!
//! Also the last commit with a readable version of an artifact, from which a broken one is restored.

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{SessionName, artifact_path};
use crate::artifact::{
    Artifact, Format, SCHEMA_VERSION, SessionFile, raise, read_json, unreadable,
};
use crate::error::{Error, ErrorSubject, hints_of};
use crate::git::{Git, Object, Oid, Reader};
use crate::shell_quote::quoted;

/// `session.json` at the tip, and the format version it was converted from.
pub(super) fn session_file(
    reader: &dyn Reader,
    name: &SessionName,
    tip: &Oid,
) -> Result<(SessionFile, Option<String>)> {
    parsed(name, &session_text(reader, name, tip)?)
}

/// The text of `session.json` at the tip.
pub(super) fn session_text(reader: &dyn Reader, name: &SessionName, tip: &Oid) -> Result<String> {
    let path = record_path(name);
    let Some(bytes) = reader.blob(Object::At(tip, &path))? else {
        let message = format!("session '{name}' has no {path} at its tip");
        let error = Error { about: ErrorSubject::NoSession, ..Error::repository(message) };
        return Err(error
            .hint("the branch does not hold a git-cowork session; git log shows what it holds")
            .into());
    };
    String::from_utf8(bytes).context("session.json is not UTF-8")
}

/// Parses the text; also returns the format version it was converted from.
pub(super) fn parsed(name: &SessionName, text: &str) -> Result<(SessionFile, Option<String>)> {
    if let Ok(file) = read_json::<SessionFile>(Artifact::Session, text)
        && file.schema_version == SCHEMA_VERSION
    {
        return Ok((checked(name, file)?, None));
    }
    let path = record_path(name);
    let written: Option<Written> = serde_json::from_str(text).ok();
    if written.is_some_and(|written| written.schema_version == SCHEMA_VERSION) {
        return Ok((checked(name, read_json(Artifact::Session, text)?)?, None));
    }
    // A newer format may lack our fields, so the version number is checked first.
    let mut raw: Map<String, Value> = read_json(Artifact::Session, text)?;
    let other = |written: String| {
        Error::repository(format!(
            "session '{name}' was written in format {written}; this git-cowork supports {SCHEMA_VERSION}"
        ))
    };
    let older = match raise(&mut raw) {
        Format::Present => return Ok((checked(name, read_json(Artifact::Session, text)?)?, None)),
        Format::Raised(from) => Some(from),
        Format::Unknown(written) => {
            return Err(other(written).hint("use a newer git-cowork").into());
        }
        Format::TooOld(written) => {
            return Err(other(written)
                .hint(format!("use the git-cowork that wrote it, or convert {path} to format {SCHEMA_VERSION} by hand and commit it"))
                .into());
        }
    };
    let file = read_json(Artifact::Session, &serde_json::to_string(&raw)?)?;
    Ok((checked(name, file)?, older))
}

/// Path of `session.json` in the session's trees.
fn record_path(name: &SessionName) -> String {
    format!("{}/{}", name.record_dir(), Artifact::Session.file_name())
}

/// The format version in a `session.json`.
#[derive(Deserialize)]
struct Written {
    schema_version: String,
}

/// Adds hints for restoring `session.json` from an earlier commit. If a newer git-cowork may have
/// written the file, that hint comes first.
pub(super) fn restorable(
    git: &Git,
    name: &SessionName,
    tip: &Oid,
    error: anyhow::Error,
) -> anyhow::Error {
    let path = artifact_path(name, Artifact::Session);
    let Ok(Some(good)) = last_good(git, tip, Artifact::Session, &path) else { return error };
    let mut said = Error::repository(format!("{error:#}"));
    said.hints = hints_of(&error).to_vec();
    said.hints.retain(|hint| hint.starts_with("use "));
    // On another branch, the restored file would be committed there.
    if git.head().is_ok_and(|head| head.oid() == Some(tip)) {
        let path = from_top(&path);
        said = said.hint(format!(
            "git checkout {} -- {path} && git commit -m \"Restore session.json\" -- {path}",
            good.short()
        ));
    }
    said.hint(format!("or let git-cowork restore it: git cowork verify {name} --fix")).into()
}

/// Rejects values that would become unintended paths, refs or arguments.
fn checked(name: &SessionName, file: SessionFile) -> Result<SessionFile> {
    match file.problem() {
        None => Ok(file),
        Some(problem) => Err(Error::repository(format!(
            "session '{name}' has a session.json that git-cowork did not write: {problem}"
        ))
        .hint("look at who committed it: git log -- .cowork/sessions")
        .into()),
    }
}

/// The newest ancestor of `tip` that changed the artifact at `path` and left it readable. Commits
/// on the branch itself come first, then commits merged into it.
///
/// # Errors
/// Git cannot be read.
pub fn last_good(git: &Git, tip: &Oid, artifact: Artifact, path: &str) -> Result<Option<Oid>> {
    let reader = git.reader();
    for which in ["--first-parent", "--full-history"] {
        let list = git.read(["rev-list", "--topo-order", which, tip.as_str(), "--", path]);
        for line in list.checked()?.text().lines() {
            let commit: Oid = line.parse()?;
            let bytes = reader.blob(Object::At(&commit, path))?;
            if bytes.is_some_and(|bytes| unreadable(artifact, &bytes).is_none()) {
                return Ok(Some(commit));
            }
        }
    }
    Ok(None)
}

/// Quotes a path relative to the top of the working tree, so that it works in any subdirectory.
pub fn from_top(path: &str) -> String {
    quoted(&format!(":/{path}"))
}
