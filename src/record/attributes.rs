//! `.cowork/.gitattributes`, and what the project's own attributes do to the files of sessions.

use crate::artifact::Artifact;
use crate::artifact::knowledge::KNOWLEDGE;
use crate::config::Project;
use crate::error::Error;
use crate::git::filter::{self, Filter};
use crate::git::{self, Git, Object, Oid};
use crate::session::{SessionName, artifact_path};
use crate::shell_quote::quoted;

/// The attributes file for the files of git-cowork.
pub const ATTRIBUTES: &str = ".cowork/.gitattributes";
/// Its first line: the line ends of the project's other files are not those of documents. With
/// `core.safecrlf`, git would refuse them.
const PLAIN: &str = "* -text\n";
/// Its first line where a filter stores content elsewhere: a pointer is no document.
const UNFILTERED: &str = "* -filter -text !diff !merge\n";
/// Its other lines from the first session on.
const LINES: &str = "*.json linguist-generated\nknowledge.md merge=union\n";
/// Facts that two sessions add are both kept.
const MERGE: &str = "knowledge.md merge=union";

/// The file at a commit; `None` if there is none, or it is not UTF-8.
///
/// # Errors
/// Git fails.
pub fn at_tip(git: &Git, tip: &Oid) -> anyhow::Result<Option<String>> {
    let bytes = git.reader().blob(Object::At(tip, ATTRIBUTES))?;
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// The file with the line for facts added; `None` if it has that line.
pub fn with_union_merge(text: Option<String>) -> Option<String> {
    let Some(mut text) = text else { return Some(format!("{PLAIN}{LINES}")) };
    if text.lines().any(|line| line.trim_start().starts_with("knowledge.md ")) {
        return None;
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Some(format!("{text}{MERGE}\n"))
}

/// The text that the file needs, so that git commits a session's documents as they are; `None` if
/// that of `base` is enough. The attributes of the working tree count.
///
/// # Errors
/// As for [`require_readable`].
pub fn wanted(
    git: &Git,
    project: &Project,
    name: &SessionName,
    base: Option<&str>,
) -> anyhow::Result<Option<String>> {
    // A start that was killed has written the file.
    let now = std::fs::read_to_string(git.top().join(ATTRIBUTES)).unwrap_or_default();
    let is_filtered =
        require_readable(git, project, name)?.is_some() || now.starts_with(UNFILTERED);
    let first = if is_filtered { UNFILTERED } else { PLAIN };
    let lines = base.map_or(LINES, |base| base.strip_prefix(PLAIN).unwrap_or(base));
    let is_enough = match base {
        Some(base) if is_filtered => base.starts_with(UNFILTERED),
        // Of a session before this line was written; it matters only here.
        Some(base) => base.starts_with("* ") || git::settings::get(git, "core.safecrlf")?.is_none(),
        None => false,
    };
    Ok((!is_enough).then(|| format!("{first}{lines}")))
}

/// Makes sure that the documents of a session can be read after they are committed. Returns the
/// filter that is to be left out for them.
///
/// # Errors
/// Exit 5: a filter changes the documents, and the project does not say that this is meant
/// (`filters`), or the filter does not work in this clone.
pub fn require_readable(
    git: &Git,
    project: &Project,
    name: &SessionName,
) -> anyhow::Result<Option<Filter>> {
    let paths = Artifact::ALL.map(|artifact| artifact_path(name, artifact));
    let paths: Vec<&str> = paths.iter().map(String::as_str).chain([KNOWLEDGE]).collect();
    let filters = filter::of_paths(git, &paths)?;
    if project.filters {
        for filter in &filters {
            require_working(git, filter)?;
        }
        return Ok(None);
    }
    let mut elsewhere = None;
    let mut other = None;
    for filter in filters {
        if filter.stores_elsewhere() {
            elsewhere = Some(filter);
        } else if filter.command.is_none() || filter.changes_text(git)? {
            other = Some(filter);
        }
    }
    let Some(filter) = other else { return Ok(elsewhere) };
    let (name, path) = (&filter.name, &filter.path);
    let error = match &filter.command {
        Some(_) => {
            Error::repository(format!("the filter '{name}' changes {path} when it is committed"))
        }
        None => not_set_up(&filter),
    };
    Err(exempting(git, error, &filter)
        .hint("or read and write them through it: git config cowork.project.filters true")
        .into())
}

/// Tries a filter that documents should go through. If it failed, git would commit plain text.
fn require_working(git: &Git, filter: &Filter) -> anyhow::Result<()> {
    if filter.command.is_none() {
        return Err(not_set_up(filter).into());
    }
    let (name, path) = (&filter.name, &filter.path);
    let Some(why) = filter.trial(git)? else { return Ok(()) };
    Err(Error::repository(format!("the filter '{name}' does not work for {path}: {why}"))
        .hint(format!(
            "look at it: git config --get-regexp {}",
            quoted(&format!("^filter.{name}."))
        ))
        .into())
}

fn not_set_up(filter: &Filter) -> Error {
    let Filter { name, path, .. } = filter;
    let error = Error::repository(format!(
        "the filter '{name}' applies to {path} and is not set up in this clone"
    ));
    // A clone may bring any name.
    let key = quoted(&format!("filter.{name}.clean"));
    match filter.set_up() {
        Some(command) => error.hint(format!("set it up: {command}")),
        None => error.hint(format!("set it up: git config {key} COMMAND")),
    }
}

/// Adds the command, or the file, that exempts the files of sessions from a filter.
pub fn exempting(git: &Git, error: Error, filter: &Filter) -> Error {
    let named = filter.named_in(git);
    match named.as_deref() {
        None | Some(".gitattributes") => error.hint(
            "commit them as they are: printf '\\n.cowork/** -filter\\n' \
             >>\"$(git rev-parse --show-cdup).gitattributes\" && git add :/.gitattributes && \
             git commit -m 'Leave .cowork unfiltered' :/.gitattributes",
        ),
        Some(file) => error.hint(format!(
            "to commit them as they are, take 'filter={}' for .cowork out of {file}",
            filter.name
        )),
    }
}

/// The error for documents that a filter would still store elsewhere: another attributes file wins,
/// or the attributes came after the session's start.
pub fn not_exempted(git: &Git, filter: &Filter) -> Error {
    let Filter { name, path, .. } = filter;
    let what = format!("the filter '{name}' would commit a pointer instead of {path}");
    exempting(git, Error::repository(what), filter)
}
