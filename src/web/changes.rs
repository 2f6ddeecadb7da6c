//! The code, commit by commit: those of tasks, of corrections, and a person's own.

use super::html::Html;
use super::overview::{checks, subject};
use super::patch::{counts, patch};
use super::room::{FILES, Room};
use super::source::{CodeCommit, Source, commit_id, file_id};
use crate::git::patches::patches;
use crate::shell_quote::quoted;

pub(super) fn write(
    source: &Source<'_>,
    room: &mut Room,
    html: &mut Html<'_>,
) -> anyhow::Result<()> {
    let commits = source.code_commits()?;
    if commits.is_empty() {
        html.raw("<p>No commit of the session changes code yet.</p>\n");
    }
    for (n, commit) in commits.iter().enumerate() {
        of_commit(source, room, html, (n, commit))?;
    }
    Ok(())
}

fn of_commit(
    source: &Source<'_>,
    room: &mut Room,
    html: &mut Html<'_>,
    (n, of): (usize, &CodeCommit),
) -> anyhow::Result<()> {
    let CodeCommit { commit, parent, files, entry } = of;
    let title = subject(entry.as_ref().map(|entry| &entry.kind), commit.subject());
    html.open("h3", &[("id", &commit_id(n))]).isolated(&title).raw("</h3>\n");
    html.raw("<p class=\"soft\">").element("code", &[], commit.id.short());
    let author = commit.author.split(" <").next().unwrap_or_default();
    html.raw(" · ").isolated(author);
    if let Some(checks) = entry.as_ref().and_then(checks) {
        html.raw(" · ").isolated(checks);
    }
    html.raw("</p>\n");
    let (shown, more) = room.first(files, FILES);
    // Of those that are read, each one is told; where git tells one twice, as a file and as a link,
    // both are.
    for one in patches(source.git, parent, &commit.id, shown)? {
        let place = files.iter().position(|path| *path == one.path);
        let command = format!("git show {} -- {}", commit.id.short(), quoted(&one.path));
        let mut inner = html.part();
        patch(&mut inner, room, &one, &command);
        if let Some(k) = place {
            html.open("div", &[("id", &file_id(n, k))]);
        } else {
            html.raw("<div>");
        }
        html.folded(&format!("{} {}", one.path, counts(&one)), inner).close("div");
    }
    if more > 0 {
        html.raw("<p class=\"note\">").text(&format!("{more} more files are left out here: "));
        html.element("code", &[], &format!("git show {}", commit.id.short())).raw("</p>\n");
    }
    Ok(())
}
