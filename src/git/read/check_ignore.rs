//! The rules of `.gitignore` and similar files, by `git check-ignore`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::git::Git;
use crate::git::output::nul_texts;

/// The paths among these that git ignores (untracked and matched by an ignore rule).
///
/// # Errors
/// Git fails.
pub fn ignored<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<BTreeSet<String>> {
    check_ignore(git, paths, &[])
}

/// The paths among these that an ignore rule matches, tracked or not.
///
/// # Errors
/// Git fails.
pub fn matched_by_ignore_rules<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<BTreeSet<String>> {
    check_ignore(git, paths, &["--no-index"])
}

fn check_ignore<S: AsRef<str>>(
    git: &Git,
    paths: &[S],
    options: &[&str],
) -> Result<BTreeSet<String>> {
    let paths = asked_check_ignore(git, paths, options)?;
    Ok(paths.iter().map(|path| undotted(path).to_owned()).collect())
}

/// The paths among these that git ignores, each with the rule: `/home/ana/.config/git/ignore, line
/// 3 (*.log)`.
///
/// # Errors
/// Git fails.
pub fn ignoring_rules<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<BTreeMap<String, String>> {
    let output = asked_check_ignore(git, paths, &["--verbose"])?;
    let rule = |fields: &[String]| match fields {
        // Git also reports a rule that re-includes a path.
        [_, _, pattern, _] if pattern.starts_with('!') => None,
        [file, line, pattern, path] => {
            Some((undotted(path).to_owned(), format!("{file}, line {line} ({pattern})")))
        }
        _ => None,
    };
    Ok(output.chunks(4).filter_map(rule).collect())
}

/// A path without the prefix that [`asked_check_ignore`] adds.
fn undotted(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

/// The fields that `git check-ignore` prints.
fn asked_check_ignore<S: AsRef<str>>(
    git: &Git,
    paths: &[S],
    options: &[&str],
) -> Result<Vec<String>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    // This command refuses literal pathspecs; `./` keeps a leading colon from being magic.
    let relative_paths: Vec<String> =
        paths.iter().map(|path| format!("./{}", path.as_ref())).collect();
    let check = git.read(["--no-literal-pathspecs", "check-ignore", "--stdin", "-z"]);
    let check = check.args(options).stdin_nul(&relative_paths);
    let output = check.output()?;
    match output.code {
        Some(0 | 1) => Ok(nul_texts(&output.stdout).collect()),
        _ => Err(check.failure(&output).into()),
    }
}
