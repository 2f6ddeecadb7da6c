//! Parts of commit messages that several rows use.

use std::fmt::Write as _;

use anyhow::Result;

use super::input::Facts;
pub(super) use crate::artifact::record_diff::count;
use crate::artifact::{Artifact, Store};

/// A change request's changes to the stage's records; `None` if the session is not a change
/// request.
pub(super) fn signs(facts: &Facts<'_>) -> Option<String> {
    let signs = &facts.changes.as_ref()?.signs;
    Some(if signs.is_empty() { "no record changed".to_owned() } else { signs.clone() })
}

/// `- REQ-001 Adding`, one line for each record that the message names.
pub(super) fn list<'a>(
    facts: &Facts<'_>,
    records: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut out = String::new();
    for (id, name) in records.filter(|(id, _)| facts.names(id)) {
        let _ = writeln!(out, "- {id} {name}");
    }
    out
}

/// One line for each command that was run.
pub(super) fn runs(facts: &Facts<'_>) -> Result<String> {
    Ok(facts.runs.iter().map(|line| format!("- {line}\n")).collect())
}

/// The first line of a document without Markdown markup and without a label such as `Idea:`.
pub(super) fn title_of(store: &Store<'_>, artifact: Artifact, fallback: &str) -> Result<String> {
    let text = store.text(artifact)?.unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.trim_start_matches(['#', ' ']).trim_matches(['*', '_', '`']);
    let line = ["Idea:", "Title:", "PR:"]
        .iter()
        .find_map(|label| line.strip_prefix(label))
        .unwrap_or(line)
        .trim();
    Ok(if line.is_empty() { fallback.to_owned() } else { line.to_owned() })
}
