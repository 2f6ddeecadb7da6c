//! What is read and written for a task: the same calls in a session and in a bare loop.

use std::path::Path;

use serde_json::{Value, json};

use crate::kind::Kind;

/// Lines around a passage that are read with it, and lines between two that are read in one.
const AROUND: usize = 12;
const BETWEEN: usize = 60;
/// Bytes of a file that is read whole.
const WHOLE: usize = 15_000;

/// A call: its tool and arguments.
pub type Call = (&'static str, Value);

/// The passages of a file of changes, before and after.
fn passages(text: &str) -> Vec<(&str, &str)> {
    let blocks = text.split("<<<<<<<\n").skip(1);
    blocks
        .map(|block| {
            let (old, rest) = block.split_once("=======\n").unwrap();
            (old, rest.split_once(">>>>>>>\n").unwrap().0)
        })
        .collect()
}

/// Reads what has to be known for these tasks and is not to be seen in `known`.
pub fn reads(kind: &Kind, tasks: &[String], repo: &Path, known: &str) -> Vec<Call> {
    let mut calls = needed(kind, repo, known);
    let mut read: Vec<String> = Vec::new();
    for (name, text) in tasks.iter().flat_map(|task| kind.files_of(task)) {
        let Some(path) = name.strip_suffix(".edits") else { continue };
        // What an earlier one of these tasks makes needs no reading.
        let Ok(now) = std::fs::read_to_string(repo.join(path)) else { continue };
        let missing: Vec<&str> = passages(&text)
            .iter()
            .map(|(old, _)| *old)
            .filter(|old| !known.contains(old))
            .collect();
        if missing.is_empty() || read.iter().any(|other| other == path) {
            continue;
        }
        read.push(path.to_owned());
        if now.len() <= WHOLE {
            calls.push(("read_file", json!({"path": path})));
            continue;
        }
        for (first, last) in windows(&now, &missing) {
            let part = json!({"path": path, "offset": first, "limit": last - first + 1});
            calls.push(("read_file", part));
        }
    }
    calls
}

/// Reads the files one has to know, as far as they are not to be seen.
pub fn needed(kind: &Kind, repo: &Path, known: &str) -> Vec<Call> {
    let unseen = |path: &&&str| {
        let text = std::fs::read_to_string(repo.join(path)).unwrap();
        !known.contains(text.trim_end())
    };
    let needs = kind.needs.iter().filter(unseen);
    needs.map(|path| ("read_file", json!({"path": path}))).collect()
}

/// The parts of a long file with these passages, from line to line.
fn windows(text: &str, passages: &[&str]) -> Vec<(usize, usize)> {
    let mut parts: Vec<(usize, usize)> = passages
        .iter()
        .map(|passage| {
            let at = text.find(passage).unwrap_or_else(|| panic!("not in the file: {passage}"));
            let line = text[..at].lines().count() + 1;
            (line.saturating_sub(AROUND).max(1), line + passage.lines().count() + AROUND)
        })
        .collect();
    parts.sort_unstable();
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for (first, last) in parts {
        match merged.last_mut() {
            Some(before) if first <= before.1 + BETWEEN => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

/// Writes a task's files.
pub fn writes(kind: &Kind, task: &str) -> Vec<Call> {
    let files = kind.files_of(task).into_iter();
    files
        .map(|(name, text)| match name.strip_suffix(".edits") {
            Some(path) => {
                let edit = |(old, new): (&str, &str)| json!({"old_text": old, "new_text": new});
                let edits: Vec<Value> = passages(&text).into_iter().map(edit).collect();
                ("edit_file", json!({"path": path, "edits": edits}))
            }
            None => ("write_file", json!({"path": name, "content": text})),
        })
        .collect()
}
