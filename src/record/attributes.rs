//! `.cowork/.gitattributes`, and what the project's own attributes do to the files of sessions.

use crate::artifact::Artifact;
use crate::artifact::knowledge::KNOWLEDGE;
use crate::config::Project;
use crate::error::Error;
use crate::git::filter::{self, Filter};
use crate::git::{Git, Object, Oid};
use crate::session::{SessionName, artifact_path};

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
    Ok(match (is_filtered, base) {
        (false, Some(_)) => None,
        (false, None) => Some(format!("{PLAIN}{LINES}")),
        (true, base) => {
            let lines = base.map_or(LINES, |base| base.strip_prefix(PLAIN).unwrap_or(base));
            let text = format!("{UNFILTERED}{lines}");
            (!lines.starts_with(UNFILTERED)).then_some(text)
        }
    })
}

/// Makes sure that the documents of a session can be read after they are committed. Returns the
/// filter that is to be left out for them.
///
/// # Errors
/// Exit 5: a filter changes the documents, and the project does not say that this is meant
/// (`filters`), or the filter is not set up in this clone.
pub fn require_readable(
    git: &Git,
    project: &Project,
    name: &SessionName,
) -> anyhow::Result<Option<Filter>> {
    let [record, document] =
        [Artifact::Session, Artifact::Prd].map(|artifact| artifact_path(name, artifact));
    let Some(filter) = filter::of_paths(git, &[&record, &document, KNOWLEDGE])? else {
        return Ok(None);
    };
    let Filter { name, path, command } = &filter;
    if filter.stores_elsewhere() && !project.filters {
        return Ok(Some(filter));
    }
    if project.filters && command.is_some() {
        return Ok(None);
    }
    if project.filters {
        let error = Error::repository(format!(
            "the filter '{name}' applies to {path} and is not set up in this clone"
        ));
        let command = filter
            .set_up()
            .map_or_else(|| format!("git config filter.{name}.clean COMMAND"), str::to_owned);
        return Err(error.hint(command).into());
    }
    Err(left_out(Error::repository(format!(
        "the filter '{name}' changes {path} when it is committed"
    )))
    .hint("or read and write them through it: git config cowork.project.filters true")
    .into())
}

/// Adds the command that exempts the files of sessions from filters.
pub fn left_out(error: Error) -> Error {
    error.hint("commit them as they are: echo '.cowork/** -filter' >>.gitattributes && git commit -m 'Leave .cowork unfiltered' .gitattributes")
}
