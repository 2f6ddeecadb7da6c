//! The section on code changes, listed by commit: changes by tasks, by corrections and by people.

use serde_json::{Value, json};

use super::overview::{checks, subject};
use super::room::{FILES, PATCH, Room, more};
use super::source::{CodeCommit, Source, commit_id, file_id};
use crate::git::patches::{FilePatch, patches};
use crate::session::adopted;
use crate::shell_quote::quoted;

pub(super) fn read(source: &Source<'_>, room: &mut Room) -> anyhow::Result<Value> {
    let (commits, earlier) = source.code_commits()?;
    room.left_out += usize::from(earlier > 0);
    let adopted = adopted(source.git, source.session())?;
    let mut all = Vec::new();
    for (n, commit) in commits.iter().enumerate() {
        let task = adopted.iter().find(|(_, one)| one.id == commit.commit.id);
        all.push(of_commit(source, room, n, commit, task.map(|(task, _)| task.as_str()))?);
    }
    Ok(json!({"commits": all, "earlier": more(earlier, "earlier commits", "git log")}))
}

fn of_commit(
    source: &Source<'_>,
    room: &mut Room,
    n: usize,
    of: &CodeCommit,
    adopted_as: Option<&str>,
) -> anyhow::Result<Value> {
    let CodeCommit { commit, parent, files, entry } = of;
    let title = subject(entry.as_ref().map(|entry| &entry.kind), commit.subject());
    let show = format!("git show {}", commit.id.short());
    let (shown, rest) = room.first(files, FILES);
    let found = patches(source.git, parent, &commit.id, shown)?;
    let mut files = Vec::new();
    for (k, path) in shown.iter().enumerate() {
        let command = format!("{show} -- {}", quoted(path));
        // A file that became a link has two patches: a deletion and an addition.
        let all = found.iter().filter(|one| one.path == *path);
        let all: Vec<Value> = all.map(|one| patch(source, room, one, &command)).collect();
        files.push(json!({"id": file_id(n, k), "path": path, "patches": all}));
    }
    Ok(json!({
        "id": commit_id(n),
        "title": adopted_as.map_or(title.clone(), |task| format!("{task} {title}")),
        "short": commit.id.short(),
        "author": commit.author.split(" <").next(),
        "checks": entry.as_ref().and_then(checks),
        "files": files,
        "more": more(rest, "more files", &show),
    }))
}

/// The diff of a file: git's notes on it, then its hunks. If the hunks are cut, the page names
/// `command`, which shows all of them.
pub(super) fn patch(
    source: &Source<'_>,
    room: &mut Room,
    patch: &FilePatch,
    command: &str,
) -> Value {
    let hunks = source.clean(&patch.hunks);
    let (shown, cut) = room.take(&hunks, PATCH, command);
    let counts = format!("+{} −{}", patch.added, patch.removed);
    json!({"notes": patch.notes, "hunks": shown, "cut": cut, "counts": counts})
}
