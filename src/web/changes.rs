//! The section on code changes, listed by commit: changes by tasks, by corrections and by people.

use serde_json::{Value, json};

use super::overview::{checks, subject};
use super::room::{FILES, PATCH, PageRoom, more};
use super::source::{CodeCommit, PageSource, commit_id, file_id};
use crate::git::patches::{FilePatch, patches};
use crate::session::adopted;
use crate::shell_quote::quoted;

pub(super) fn read(source: &PageSource<'_>, room: &mut PageRoom) -> anyhow::Result<Value> {
    let (commits, earlier) = source.code_commits()?;
    room.left_out += usize::from(earlier > 0);
    let adoptions = adopted(source.git, source.session())?;
    let mut all = Vec::new();
    for (n, commit) in commits.iter().enumerate() {
        let task = adoptions.iter().find(|(_, one)| one.id == commit.commit.id);
        all.push(of_commit(source, room, n, commit, task.map(|(task, _)| task.as_str()))?);
    }
    Ok(json!({"commits": all, "earlier": more(earlier, "earlier commits", "git log")}))
}

fn of_commit(
    source: &PageSource<'_>,
    room: &mut PageRoom,
    n: usize,
    code_commit: &CodeCommit,
    adopted_as: Option<&str>,
) -> anyhow::Result<Value> {
    let CodeCommit { commit, parent, files, entry } = code_commit;
    let title = subject(entry.as_ref().map(|entry| &entry.kind), commit.subject());
    let show = format!("git show {}", commit.id.short());
    let (paths, rest) = room.first(files, FILES);
    let file_patches = patches(source.git, parent, &commit.id, paths)?;
    let mut files = Vec::new();
    for (k, path) in paths.iter().enumerate() {
        let command = format!("{show} -- {}", quoted(path));
        // A file that became a link has two patches: a deletion and an addition.
        let all = file_patches.iter().filter(|one| one.path == *path);
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
    source: &PageSource<'_>,
    room: &mut PageRoom,
    patch: &FilePatch,
    command: &str,
) -> Value {
    let hunks = source.clean(&patch.hunks);
    let (hunks_part, cut) = room.take(&hunks, PATCH, command);
    let counts = format!("+{} −{}", patch.added, patch.removed);
    json!({"notes": patch.notes, "hunks": hunks_part, "cut": cut, "counts": counts})
}
