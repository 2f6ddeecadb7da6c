//! The section on code changes, listed by commit: changes by tasks, by corrections and by people.

use super::html::Html;
use super::overview::{checks, subject};
use super::patch::{counts, patch};
use super::room::{FILES, Room};
use super::source::{CodeCommit, Source, commit_id, file_id};
use crate::git::patches::patches;
use crate::session::adopted;
use crate::shell_quote::quoted;

pub(super) fn write(
    source: &Source<'_>,
    room: &mut Room,
    html: &mut Html<'_>,
) -> anyhow::Result<()> {
    let (commits, earlier) = source.code_commits()?;
    if commits.is_empty() {
        html.raw("<p>No commit of the session changes code yet.</p>\n");
    }
    if earlier > 0 {
        room.left_out += 1;
        html.raw("<p class=\"note\">")
            .text(&format!("{earlier} earlier commits are left out here: "));
        html.element("code", &[], "git log").raw("</p>\n");
    }
    let adopted = adopted(source.git, source.session())?;
    for (n, commit) in commits.iter().enumerate() {
        let task = adopted.iter().find(|(_, one)| one.id == commit.commit.id);
        of_commit(source, room, html, (n, commit, task.map(|(task, _)| task.as_str())))?;
    }
    Ok(())
}

fn of_commit(
    source: &Source<'_>,
    room: &mut Room,
    html: &mut Html<'_>,
    (n, of, adopted_as): (usize, &CodeCommit, Option<&str>),
) -> anyhow::Result<()> {
    let CodeCommit { commit, parent, files, entry } = of;
    let title = subject(entry.as_ref().map(|entry| &entry.kind), commit.subject());
    let title = adopted_as.map_or(title.clone(), |task| format!("{task} {title}"));
    html.open("h3", &[("id", &commit_id(n))]).isolated(&title).raw("</h3>\n");
    html.raw("<p class=\"soft\">").element("code", &[], commit.id.short());
    let author = commit.author.split(" <").next().unwrap_or_default();
    html.raw(" · ").isolated(author);
    if let Some(checks) = entry.as_ref().and_then(checks) {
        html.raw(" · ").isolated(checks);
    }
    html.raw("</p>\n");
    let (shown, more) = room.first(files, FILES);
    let found = patches(source.git, parent, &commit.id, shown)?;
    for (k, path) in shown.iter().enumerate() {
        html.open("div", &[("id", &file_id(n, k))]);
        let command = format!("git show {} -- {}", commit.id.short(), quoted(path));
        // A file that became a link has two patches: a deletion and an addition.
        let mut all = found.iter().filter(|one| one.path == *path).peekable();
        if all.peek().is_none() {
            html.element("p", &[], path);
        }
        for one in all {
            let mut inner = html.part();
            patch(&mut inner, room, one, &command);
            html.folded(&format!("{path} {}", counts(one)), inner);
        }
        html.close("div");
    }
    if more > 0 {
        html.raw("<p class=\"note\">").text(&format!("{more} more files are left out here: "));
        html.element("code", &[], &format!("git show {}", commit.id.short())).raw("</p>\n");
    }
    Ok(())
}
