//! What a role is sent before its brief, ordered by how rarely it changes: the repository's
//! conventions, the approved artifacts, the draft in hand. Every piece has a byte budget and says
//! when it was cut. Nothing volatile stands in here (no times, no random ids, no temp paths), so
//! that a provider's prefix cache hits.

use std::fmt::Write as _;
use std::path::Path;

use crate::artifact::{Artifact, Store};
use crate::git::Git;
use crate::session::{SessionName, artifact_path};

/// Bytes of the list of files.
const TREE: usize = 2_500;
/// Bytes of each convention file.
const CONVENTION: usize = 4_000;
/// Bytes of the README's beginning.
const README: usize = 1_200;
/// Bytes of each artifact.
const ARTIFACT: usize = 24_000;
/// Bytes of a diff.
pub const DIFF: usize = 40_000;

/// Files that say how people work here.
pub const CONVENTIONS: [&str; 2] = ["AGENTS.md", "CONTRIBUTING.md"];

/// Adds a section, cut to `budget` bytes.
pub fn section(out: &mut String, title: &str, text: &str, budget: usize) {
    let text = text.trim_end();
    if !text.is_empty() {
        let _ = write!(out, "## {title}\n\n{}\n\n", cut(text, budget));
    }
}

/// At most `budget` bytes of a text; a cut is said.
pub fn cut(text: &str, budget: usize) -> String {
    let mut end = text.len().min(budget);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end == text.len() {
        return text.to_owned();
    }
    format!("{}\n[cut here: {end} of {} bytes shown]", &text[..end], text.len())
}

/// The repository: what is in it and how its people work.
pub fn repository(git: &Git) -> anyhow::Result<String> {
    let mut out = String::new();
    let files = git.ls_files()?;
    let ours: Vec<&str> =
        files.iter().map(String::as_str).filter(|path| !path.starts_with(".cowork/")).collect();
    let list = if ours.is_empty() { "(none yet)".to_owned() } else { ours.join("\n") };
    section(&mut out, "Files in the repository", &list, TREE);
    for name in CONVENTIONS {
        section(&mut out, name, &head(&git.top().join(name), CONVENTION), CONVENTION);
    }
    section(
        &mut out,
        "README.md (its beginning)",
        &head(&git.top().join("README.md"), README),
        README,
    );
    Ok(out)
}

/// At most a little more than `budget` bytes of a file; empty when it cannot be read.
fn head(path: &Path, budget: usize) -> String {
    use std::io::Read as _;
    let Ok(file) = std::fs::File::open(path) else { return String::new() };
    let mut bytes = Vec::new();
    let limit = u64::try_from(budget + 4).unwrap_or(u64::MAX);
    if file.take(limit).read_to_end(&mut bytes).is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Artifacts of the session as sections under their paths; missing ones are left out.
pub fn artifacts(
    store: &Store<'_>,
    name: &SessionName,
    which: &[Artifact],
) -> anyhow::Result<String> {
    let mut out = String::new();
    for artifact in which {
        if let Some(text) = store.text(*artifact)? {
            let text = if artifact.file_name().ends_with(".json") { compact(&text) } else { text };
            section(&mut out, &artifact_path(name, *artifact), &text, ARTIFACT);
        }
    }
    Ok(out)
}

/// JSON without its indentation: a model reads it as well, and it is a third shorter.
fn compact(text: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) => value.to_string(),
        Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_said_and_never_splits_a_character() {
        let mut out = String::new();
        section(&mut out, "T", "ääää", 3);
        assert_eq!(out, "## T\n\nä\n[cut here: 2 of 8 bytes shown]\n\n");
        let mut out = String::new();
        section(&mut out, "T", "  \n", 3);
        assert_eq!(out, "");
    }
}
