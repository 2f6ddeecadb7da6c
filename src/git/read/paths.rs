//! Lists of paths: tracked ones, ignored ones, those that differ between two trees.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::git::index;
use crate::git::output::nul_texts;
use crate::git::{Git, Oid};

/// The paths git tracks, sorted.
///
/// # Errors
/// Git fails.
pub fn tracked(git: &Git) -> Result<Vec<String>> {
    Ok(index::facts(git)?.paths.clone())
}

/// The folders that are submodules in the index, checked out or not.
///
/// # Errors
/// Git fails.
pub fn submodules(git: &Git) -> Result<BTreeSet<String>> {
    Ok(index::facts(git)?.submodules.clone())
}

/// The names in a folder of a commit or tree, sorted; none if there is no such folder.
///
/// # Errors
/// Git fails, or there is no such commit.
pub fn names_in(git: &Git, commit: &Oid, folder: &str) -> Result<Vec<String>> {
    git.reader().names_in(commit, folder)
}

/// The paths that differ between two commits or trees; a rename counts as two.
///
/// # Errors
/// One of them is missing.
pub fn changed(git: &Git, from: &Oid, to: &Oid) -> Result<Vec<String>> {
    let changes = git.reader().diff(Some(from), to)?;
    Ok(changes.into_iter().map(|change| change.path).collect())
}

/// The renames in the commits of a branch since another commit, oldest first: old and new path.
///
/// # Errors
/// Git fails.
pub fn renames(git: &Git, since: Option<&Oid>, tip: &Oid) -> Result<Vec<(String, String)>> {
    let log = git.read(["log", "--no-show-signature", "--reverse", "--topo-order", "--no-merges"]);
    let log = log.args(["--format=", "-z", "-M", "--diff-filter=R", "--name-status"]);
    let since = since.map(|commit| format!("^{commit}"));
    let output = log.arg(tip.as_str()).args(since).arg("--").checked()?.stdout;
    let words: Vec<String> = nul_texts(&output).filter(|word| !word.trim().is_empty()).collect();
    let renames = words.chunks_exact(3).map(|words| (words[1].clone(), words[2].clone()));
    Ok(renames.collect())
}

/// The newest commit of a range that changed a file or folder: its short id and its subject.
///
/// # Errors
/// Git fails.
pub fn newest_commit(git: &Git, range: &str, path: &str) -> Result<Option<String>> {
    let log = git.read(["log", "-1", "--no-merges", "--no-show-signature", "--format=%h %s"]);
    let output = log.args([range, "--", path]).checked()?.text();
    Ok(output.lines().next().map(str::to_owned))
}

/// The authors of the commits of a range that changed these files, each once, sorted.
///
/// # Errors
/// Git fails.
pub fn authors(git: &Git, range: &str, files: &[String]) -> Result<Vec<String>> {
    let log = git.read(["log", "--no-show-signature", "--format=%an", range, "--"]).args(files);
    let names: BTreeSet<String> = log.checked()?.text().lines().map(str::to_owned).collect();
    Ok(names.into_iter().collect())
}
