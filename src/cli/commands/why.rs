//! `git cowork why FILE[:LINE[,LINE]]`: prints the commit, task, feature, requirement and idea of
//! lines, and who passed them.

use std::fmt::Write as _;
use std::path::{Component, Path};

use anyhow::Context as _;
use clap::Args;

use crate::artifact::record_diff::count;
use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::find;
use crate::cli::terminal::origin::{LABEL, explained, summary};
use crate::cli::terminal::paint::Paint;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::blame::{blame, missing_ignored_revisions};
use crate::git::{EntryKind, Git, Oid};
use crate::origin::{Origins, answers};
use crate::shell_quote::quoted;
use crate::wrap::{below, within};

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// A file, a line of it, or a range of lines
    #[arg(value_name = "FILE[:LINE[,LINE]]")]
    place: String,
}

pub(crate) fn run(context: &Context, args: &WhyArgs) -> Answer {
    let git = context.git()?;
    // With --session, read the file at the session's tip, whatever is checked out.
    let (at, here) = match &context.global.session {
        Some(name) => (find::readable(context, Some(name))?.tip, false),
        None => (head(git)?, true),
    };
    let Place { path, lines } = Place::of(context, git, &args.place, &at)?;
    let committed = !here || !git.top().join(&path).exists();
    if let Some((first, _)) = lines {
        require_line(git, committed.then_some(&at), &path, first)?;
    }
    let (refs, config) = (context.refs()?, context.config()?);
    let origins = Origins::new(git, &refs, config, &at);
    if let Some(file) = missing_ignored_revisions(git)? {
        let text = format!(
            "blame.ignoreRevsFile names {file}, which is not there: no commit is passed over"
        );
        context.ui.emit(Event::Warning { text });
    }
    let blamed = blame(git, committed.then_some(&at), &path, lines, &|| origins.read_ahead())?;
    let told = answers(&origins, &path, &blamed)?;
    if context.global.json {
        let mut out = String::new();
        for answer in &told {
            let _ = writeln!(out, "{}", serde_json::to_string(answer)?);
        }
        return context.print(&out).map(|()| 0);
    }
    let paint = Paint { on: context.color_stdout() };
    let out = match lines {
        Some(_) => told.iter().map(|one| explained(one, &paint)).collect::<Vec<_>>().join("\n"),
        None => summary(&path, &told, &paint),
    };
    // Align wrapped lines with the text after the label; the summary of a file has no labels.
    let indent = |line: &str| if lines.is_some() { LABEL } else { below(line) };
    let out = within(&out, context.width(), &indent);
    context.page(&out).map(|()| 0)
}

/// Makes sure that the file has this line, in a commit or in the working tree.
fn require_line(git: &Git, at: Option<&Oid>, path: &str, line: usize) -> anyhow::Result<()> {
    let text = match at {
        Some(at) => git.read(["cat-file", "blob"]).arg(format!("{at}:{path}")).checked()?.stdout,
        None => std::fs::read(git.top().join(path)).with_context(|| format!("reading {path}"))?,
    };
    let lines = String::from_utf8_lossy(&text).lines().count();
    if line <= lines {
        return Ok(());
    }
    Err(Error::repository(format!("'{path}' has only {}", count(lines, "line")))
        .hint(format!("explain all its lines: git cowork why {}", quoted(path)))
        .into())
}

fn head(git: &Git) -> anyhow::Result<Oid> {
    let head = git.head()?.oid().cloned();
    let nothing = || {
        Error::repository("nothing is committed here yet")
            .hint("start a session: git cowork new \"what you want built\"")
    };
    Ok(head.ok_or_else(nothing)?)
}

/// The file to explain, and the lines of it.
struct Place {
    /// The path relative to the top of the working tree.
    path: String,
    /// The first and the last line, both inclusive, counted from 1.
    lines: Option<(usize, usize)>,
}

impl Place {
    /// A file name can contain a colon, so the whole argument is first tried as a file name.
    fn of(context: &Context, git: &Git, given: &str, at: &Oid) -> anyhow::Result<Self> {
        let whole = from_top(context, git, given)?;
        if kind(git, at, &whole)?.is_some_and(EntryKind::is_blob) {
            return Ok(Self { path: whole, lines: None });
        }
        let Some((file, lines)) = given.rsplit_once(':') else {
            return Err(not_there(git, given, &whole, at)?.into());
        };
        let path = from_top(context, git, file)?;
        if !kind(git, at, &path)?.is_some_and(EntryKind::is_blob) {
            return Err(not_there(git, file, &path, at)?.into());
        }
        let numbers = range(lines).ok_or_else(|| {
            let (text, example) = not_a_range(lines);
            Error::usage(text)
                .hint(format!("git cowork why {}", quoted(&format!("{file}:{example}"))))
        })?;
        Ok(Self { path, lines: Some(numbers) })
    }
}

/// `12` or `12,20`.
fn range(lines: &str) -> Option<(usize, usize)> {
    let (first, last) = lines.split_once(',').unwrap_or((lines, lines));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (1 <= first && first <= last).then_some((first, last))
}

/// The error for an invalid line or range, and a valid example.
fn not_a_range(lines: &str) -> (String, String) {
    if let Some((first, last)) = lines.split_once(',')
        && range(first).is_some()
        && range(last).is_some()
    {
        let (first, last) = (first.trim(), last.trim());
        let text = format!("'{lines}': the first line must not be after the second");
        return (text, format!("{last},{first}"));
    }
    (format!("'{lines}' is neither a line nor a range of lines"), "1,10".to_owned())
}

fn kind(git: &Git, at: &Oid, path: &str) -> anyhow::Result<Option<EntryKind>> {
    if path.is_empty() {
        return Ok(None);
    }
    Ok(git.reader().entries(at, &[path])?.pop().flatten().map(|entry| entry.kind))
}

fn not_there(git: &Git, given: &str, path: &str, at: &Oid) -> anyhow::Result<Error> {
    let tree = kind(git, at, path)? == Some(EntryKind::Tree) || path.is_empty();
    Ok(if tree {
        Error::repository(format!("'{given}' is a folder; git cowork why needs a file"))
            .hint(format!("list its files: git ls-files {}", quoted(given)))
    } else if git.top().join(path).exists() {
        Error::repository(format!("'{given}' is not committed, so its lines have no origin yet"))
            .hint("list uncommitted files: git status")
    } else {
        Error::repository(format!("there is no file '{given}' in {}", at.abbreviated()))
            .hint("list the files: git ls-files")
    })
}

/// Converts a path given in the current directory to a path relative to the top of the working
/// tree.
fn from_top(context: &Context, git: &Git, given: &str) -> anyhow::Result<String> {
    let top = git.top();
    let top = top.canonicalize().unwrap_or_else(|_| top.to_owned());
    let here = context.cwd.canonicalize().unwrap_or_else(|_| context.cwd.clone());
    let outside = || Error::repository(format!("'{given}' is outside of this repository"));
    let mut parts: Vec<String> = Vec::new();
    // If the current directory is outside the working tree (GIT_WORK_TREE), paths start at its top.
    let inside = here.strip_prefix(&top).unwrap_or(Path::new(""));
    let path = match Path::new(given).is_absolute() {
        true => Path::new(given).strip_prefix(&top).map_err(|_| outside())?.to_owned(),
        false => inside.join(given),
    };
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => drop(parts.pop().ok_or_else(outside)?),
            _ => {}
        }
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn a_place_is_a_line_or_two() {
        assert_eq!(range("12"), Some((12, 12)));
        assert_eq!(range("12,20"), Some((12, 20)));
        for wrong in ["", "0", "0,3", "5,3", "a", "1,", ",1", "1,2,3", "-1"] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }
}
