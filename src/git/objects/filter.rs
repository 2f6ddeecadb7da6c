//! The filters that attributes put on the files of sessions (gitattributes(5)): which one applies,
//! and what content was before one changed it.

use std::path::Path;

use anyhow::Result;

use crate::error::Error;
use crate::git::Git;
use crate::git::output::nul_texts;
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

/// Content that a filter made.
struct Made {
    /// How it begins.
    start: &'static [u8],
    /// The usual name of the filter.
    filter: &'static str,
    /// The command that brings the original; empty if it depends.
    command: &'static str,
}

const fn made_by(start: &'static [u8], filter: &'static str, command: &'static str) -> Made {
    Made { start, filter, command }
}

const MADE: [Made; 7] = [
    made_by(b"\0GITCRYPT\0", "git-crypt", "git-crypt unlock"),
    made_by(b"version https://git-lfs.github.com/spec/", "lfs", "git lfs pull"),
    // `openssl enc -a`, which transcrypt runs.
    made_by(b"U2FsdGVkX1", "crypt", "transcrypt"),
    made_by(b"age-encryption.org/", "", ""),
    made_by(b"-----BEGIN AGE ENCRYPTED FILE-----", "", ""),
    made_by(b"-----BEGIN PGP MESSAGE-----", "", ""),
    made_by(b"$ANSIBLE_VAULT;", "", ""),
];

/// A clone's `.lfsconfig` may name any server: what is only read fetches nothing.
const NOTHING_FETCHED: [&str; 4] =
    ["-c", "lfs.url=file:///nothing-is-fetched", "-c", "lfs.transfer.maxretries=1"];

/// A document to try a filter with.
const TEXT: &str = "# A trial of this filter\n";

/// The filters that apply to these paths, each once, with the first path that has it.
///
/// # Errors
/// Git fails.
pub fn of_paths(git: &Git, paths: &[&str]) -> Result<Vec<Filter>> {
    if let Some(sources) = plain::plain_sources(git)
        && paths.iter().all(|path| !sources.may_filter(path))
    {
        return Ok(Vec::new());
    }
    let ask = git.read(["check-attr", "-z", "filter", "--"]).args(paths).checked()?;
    let fields: Vec<String> = nul_texts(&ask.stdout).collect();
    let mut filters: Vec<Filter> = Vec::new();
    for field in fields.chunks_exact(3) {
        let (path, name) = (&field[0], &field[2]);
        if ["unspecified", "unset"].contains(&&**name) || filters.iter().any(|f| f.name == *name) {
            continue;
        }
        // git prefers the process, which does both ways.
        let setting = |way| settings::get(git, &format!("filter.{name}.{way}"));
        let command = setting("process")?.or(setting("clean")?);
        let command = command.filter(|text| !text.is_empty());
        filters.push(Filter { name: name.clone(), path: path.clone(), command });
    }
    Ok(filters)
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
        let tool = MADE.iter().find(|made| made.filter == self.name)?;
        Some(if self.name == "lfs" { "git lfs install" } else { tool.command })
    }

    /// The attributes file that names the filter, relative to the top: the nearest to the path, as
    /// git reads them. `None` if it is not in the repository.
    pub fn named_in(&self, git: &Git) -> Option<String> {
        let common = git.common_dir().join("info/attributes");
        let names = |file: &Path| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            text.contains(&format!("filter={}", self.name))
        };
        if names(&common) {
            return Some(common.display().to_string());
        }
        let folders = self.path.rmatch_indices('/').map(|(at, _)| &self.path[..=at]);
        let mut files = folders.chain([""]).map(|folder| format!("{folder}.gitattributes"));
        files.find(|file| names(&git.top().join(file)))
    }

    /// True if the filter changes a text that is committed. Some only look on, or change other files.
    ///
    /// # Errors
    /// Git cannot be started.
    pub fn changes_text(&self, git: &Git) -> Result<bool> {
        let path = format!("--path={}", self.path);
        let hash = |how: &str| git.write(["hash-object", "--stdin", how]).stdin(TEXT).output();
        let (filtered, plain) = (hash(&path)?, hash("--no-filters")?);
        Ok(!filtered.success() || filtered.stdout != plain.stdout)
    }

    /// Tries the filter with a text: what is wrong, if it leaves the text as it is, does not give
    /// it back, or makes something that is not known as its work.
    ///
    /// # Errors
    /// Git cannot be started.
    pub fn trial(&self, git: &Git) -> Result<Option<String>> {
        let path = format!("--path={}", self.path);
        let hash = git.write(["hash-object", "-w", "--stdin", &path]).stdin(TEXT).output()?;
        if !hash.success() {
            return Ok(Some(hash.complaint()));
        }
        let id: Oid = hash.text().trim().parse()?;
        let bytes_in_tree = git.read(["cat-file", "blob", id.as_str()]).checked()?.stdout;
        if bytes_in_tree == TEXT.as_bytes() {
            return Ok(Some("it commits a text as it is".to_owned()));
        }
        if !made(&bytes_in_tree) {
            return Ok(Some("what it commits cannot be told from a text".to_owned()));
        }
        let back = git.read(["cat-file", "--filters", &path, id.as_str()]).output()?;
        let is_same = back.success() && back.stdout == TEXT.as_bytes();
        Ok((!is_same).then(|| "it does not give back what it committed".to_owned()))
    }
}

/// True if a filter made these bytes from a document's text.
pub(crate) fn made(bytes: &[u8]) -> bool {
    MADE.iter().any(|made| bytes.starts_with(made.start)) || std::str::from_utf8(bytes).is_err()
}

/// The text of the document at `path` from bytes that a filter made of it. The attributes of
/// `commit` count, otherwise those of the working tree.
///
/// # Errors
/// Exit 5: its content is not here, or not readable.
pub(crate) fn undone(
    git: &Git,
    blob: &Oid,
    commit: &Oid,
    path: &str,
    bytes: Vec<u8>,
) -> Result<Vec<u8>> {
    let through = |source: Option<String>| {
        let path = format!("--path={path}");
        let options = NOTHING_FETCHED.into_iter().chain(source.as_deref());
        let output = git
            .read(options.chain(["cat-file", "--filters", &path]))
            .arg(blob.as_str())
            .output()
            .ok()?;
        (output.success() && !made(&output.stdout)).then_some(output.stdout)
    };
    let tool = MADE.iter().find(|made| bytes.starts_with(made.start));
    // Since git 2.41. Attributes may have changed since this commit, or before it.
    let then = || through(Some(format!("--attr-source={commit}")));
    let usual = || {
        let name = tool.map(|made| made.filter).filter(|name| !name.is_empty())?;
        let tree = attributes_tree(git, name).ok()?;
        through(Some(format!("--attr-source={tree}")))
    };
    if let Some(text) = then().or_else(|| through(None)).or_else(usual) {
        return Ok(text);
    }
    // Not every file that is no text was made by a filter.
    if tool.is_none() && of_paths(git, &[path])?.is_empty() {
        return Ok(bytes);
    }
    let error = Error::repository(format!(
        "{path} is committed through a filter that cannot be undone here"
    ));
    Err(match tool {
        Some(made) if !made.command.is_empty() => error.hint(made.command),
        _ => error.hint(format!("git check-attr filter -- {path}")),
    }
    .into())
}

/// A tree whose attributes put this filter on every file.
fn attributes_tree(git: &Git, name: &str) -> Result<Oid> {
    let line = format!("* filter={name}\n");
    let blob = git.write(["hash-object", "-w", "--stdin"]).stdin(line).capture()?;
    let entry = format!("100644 blob {}\t.gitattributes\n", blob.trim());
    Ok(git.write(["mktree"]).stdin(entry).capture()?.trim().parse()?)
}
