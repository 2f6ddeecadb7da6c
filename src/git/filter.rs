//! The filters that attributes put on the files of sessions (gitattributes(5)): which one applies,
//! and what content was before one changed it.

use anyhow::Result;

use super::Git;
use super::output::nul_texts;
use crate::error::Error;
use crate::git::{Oid, plain, settings};

/// A filter that applies to a file.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Its name in the attributes.
    pub name: String,
    /// The file.
    pub path: String,
    /// The command that changes what is committed; `None` if it is not configured here, and git
    /// commits the file as it is.
    pub command: Option<String>,
}

/// Content that a filter made: how it begins, and the command that brings the original.
const MADE: [(&[u8], &str); 3] = [
    (b"\0GITCRYPT\0", "git-crypt unlock"),
    (b"version https://git-lfs.github.com/spec/", "git lfs pull"),
    // `openssl enc -a`, which transcrypt runs.
    (b"U2FsdGVkX1", "transcrypt"),
];

/// The filter that applies to the first of these paths that has one.
///
/// # Errors
/// Git fails.
pub fn of_paths(git: &Git, paths: &[&str]) -> Result<Option<Filter>> {
    if let Some(sources) = plain::plain_sources(git)
        && paths.iter().all(|path| !sources.may_filter(path))
    {
        return Ok(None);
    }
    let ask = git.read(["check-attr", "-z", "filter", "--"]).args(paths).checked()?;
    let fields: Vec<String> = nul_texts(&ask.stdout).collect();
    let is_set = |field: &&[String]| !["unspecified", "unset"].contains(&&*field[2]);
    let Some(field) = fields.chunks_exact(3).find(is_set) else { return Ok(None) };
    let (path, name) = (field[0].clone(), field[2].clone());
    // git prefers the process, which does both ways.
    let configured = |way| settings::get(git, &format!("filter.{name}.{way}"));
    let command = configured("process")?.or(configured("clean")?).filter(|text| !text.is_empty());
    Ok(Some(Filter { name, path, command }))
}

impl Filter {
    /// True if it only stores content elsewhere (git-lfs, git-annex): a document can do without it.
    pub fn stores_elsewhere(&self) -> bool {
        let command = self.command.as_deref().unwrap_or_default();
        let is_named = |tool: &str| command.contains(tool);
        ["lfs", "annex"].contains(&&*self.name)
            || ["git-lfs", "git lfs", "git-annex", "git annex"].into_iter().any(is_named)
    }

    /// The command that sets the filter up in this clone, if its tool is known.
    pub fn set_up(&self) -> Option<&'static str> {
        let tools = [("git-crypt", MADE[0].1), ("lfs", "git lfs install"), ("crypt", MADE[2].1)];
        tools.into_iter().find(|(name, _)| *name == self.name).map(|(_, command)| command)
    }
}

/// True if a filter made these bytes from a document's text.
pub(super) fn made(bytes: &[u8]) -> bool {
    MADE.iter().any(|(start, _)| bytes.starts_with(start)) || std::str::from_utf8(bytes).is_err()
}

/// The text of the document at `path` from bytes that a filter made of it. The attributes of
/// `commit` count, otherwise those of the working tree.
///
/// # Errors
/// Exit 5: its content is not here, or not readable.
pub(super) fn undone(
    git: &Git,
    blob: &Oid,
    commit: Option<&Oid>,
    path: &str,
    bytes: Vec<u8>,
) -> Result<Vec<u8>> {
    let through = |source: Option<String>| {
        let path = format!("--path={path}");
        let options = source.as_deref().into_iter().chain(["cat-file", "--filters", &path]);
        let output = git.read(options).arg(blob.as_str()).output().ok()?;
        (output.success() && !made(&output.stdout)).then_some(output.stdout)
    };
    // Since git 2.41. Attributes may have changed since this commit.
    let then = commit.map(|commit| format!("--attr-source={commit}"));
    if let Some(text) = then.and_then(|then| through(Some(then))).or_else(|| through(None)) {
        return Ok(text);
    }
    let known = MADE.iter().find(|(start, _)| bytes.starts_with(start));
    // Not every file that is no text was made by a filter.
    if known.is_none() && of_paths(git, &[path])?.is_none() {
        return Ok(bytes);
    }
    let error = Error::repository(format!(
        "{path} is committed through a filter that cannot be undone here"
    ));
    Err(match known {
        Some((_, command)) => error.hint(*command),
        None => error.hint(format!("git check-attr filter -- {path}")),
    }
    .into())
}
