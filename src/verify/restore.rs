//! Restores unreadable documents and records from the last commit with a readable version. The
//! current files are saved first.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::both_sides::unreadable_records;
use super::readable::{Broken, Unreadable, unreadable_artifacts, unreadable_json};
use crate::artifact::{Artifact, document_of};
use crate::error::Error;
use crate::git::{self, Git, Store};
use crate::record::{self, Recorded, Recorder};
use crate::session::{CommittedFiles, RefNames, Session, Verdict, from_top};

/// Restores files that have a readable version in a commit. Files that are unreadable at the tip
/// are restored with a commit on the checked-out branch. Returns a description of each change. If
/// the process is killed, the command can be run again.
///
/// # Errors
/// Exit 5: the session is not checked out here, a merge is in progress, or a hook rejects the
/// commit.
pub fn restore_unreadable(
    git: &Git,
    session: &Session,
    recorder: &Recorder<'_>,
) -> Result<Vec<String>> {
    let name = &session.name;
    if git.head()?.oid() != Some(&session.tip) {
        let branch = recorder.refs.short_branch(name);
        return Err(Error::repository(format!("'{name}' is not checked out here"))
            .hint(format!("git switch {branch} && git cowork verify {name} --fix"))
            .into());
    }
    if let Some(operation) = git::state::operation_in_progress(git)? {
        let then = format!("then: git cowork verify {name} --fix");
        return Err(operation.refusal().hint(then).into());
    }
    let mut found = unreadable_artifacts(git, session, Some(git.top()))?;
    found.retain(|one| one.recipe().is_some());
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let mut told = Vec::new();
    for one in found.iter().filter(|one| one.folder) {
        let moved = move_folder(git, recorder, one)?;
        told.push(format!("the folder {} was moved to {}", one.path, moved.display()));
    }
    let (restored, right): (Vec<&Unreadable>, Vec<&Unreadable>) =
        found.iter().partition(|one| one.broken != Broken::TipOnly);
    if is_only_there(git, session, &restored)? {
        let reason = "before git cowork verify --fix restored files";
        let number = record::attempt::keep(recorder, &session.tip, reason, Verdict::Aborted)?;
        let kept = RefNames::attempt(name, number);
        told.push(format!("the working tree's version is saved: git show {kept}"));
    }
    for one in &restored {
        let Some(good) = &one.good else { continue };
        git::put_back::restore_paths(git, good, &[&one.path])?;
        let mut line = format!("{} was restored from {}", one.path, good.short());
        if one.broken == Broken::Committed {
            let (tip, path) = (session.tip.short(), &one.path);
            line += &format!("; the broken version: git show {tip}:{path}");
        }
        told.push(line);
    }
    crate::record::point("restore.after-files");
    let at_tip: Vec<&Unreadable> =
        restored.into_iter().filter(|one| one.broken == Broken::Committed).chain(right).collect();
    if at_tip.is_empty() {
        return Ok(told);
    }
    let lines: Vec<String> = at_tip.iter().map(|one| line(one)).collect();
    let paths: Vec<String> = at_tip.iter().map(|one| one.path.clone()).collect();
    match record::repair::commit_restored(recorder, &session.tip, &paths, &lines)? {
        Recorded::Done(commit) => told.push(format!("committed as {}", commit.short())),
        Recorded::Refused(why) => {
            let paths: Vec<String> = paths.iter().map(|path| from_top(path)).collect();
            let commit = format!("git commit -m \"Restore records\" -- {}", paths.join(" "));
            return Err(Error::repository(why.to_string())
                .hint(format!("the files are restored; commit them yourself: {commit}"))
                .into());
        }
    }
    Ok(told)
}

/// Regenerates JSON that is unreadable only in the working tree, also that of a draft which waits,
/// if its document is readable: the document is the version that people and models edit. The old
/// file is saved. Returns a description of each change.
///
/// # Errors
/// Git fails.
pub fn rewrite_json(git: &Git, session: &Session, recorder: &Recorder<'_>) -> Result<Vec<String>> {
    let busy = git::state::operation_in_progress(git)?.is_some();
    if busy || git.head()?.oid() != Some(&session.tip) {
        return Ok(Vec::new());
    }
    let is_plain = |one: &Unreadable| {
        let there = std::fs::symlink_metadata(git.top().join(&one.path));
        !one.folder && there.map_or(true, |meta| meta.is_file())
    };
    let mut found = unreadable_json(git, session)?;
    found.retain(is_plain);
    if found.is_empty() || !unreadable_records(git, session)?.is_empty() {
        return Ok(Vec::new());
    }
    let mut kept = None;
    if is_only_there(git, session, &found.iter().collect::<Vec<_>>())? {
        let reason = "before unreadable records were regenerated";
        kept = Some(record::attempt::keep(recorder, &session.tip, reason, Verdict::Aborted)?);
    }
    let mut told = Vec::new();
    let files = CommittedFiles::new(git, &session.name, &session.tip);
    for one in &found {
        git::put_back::restore_paths(git, &session.tip, &[&one.path])?;
        let document = document_of(&files, one.artifact)?;
        let document = document.map_or("its document", Artifact::file_name);
        let mut line =
            format!("{} {} and was regenerated from {document}", one.artifact.file_name(), one.why);
        if let Some(number) = kept {
            let kept = RefNames::attempt(&session.name, number);
            line += &format!("; the old version: git show {kept}:{}", one.path);
        }
        told.push(line);
    }
    Ok(told)
}

/// A line of the commit message: `prd.md from 1a2b3c4: in the newest commit it is empty`.
fn line(one: &Unreadable) -> String {
    let file = one.artifact.file_name();
    match &one.good {
        Some(good) => format!("{file} from {}: in the newest commit it {}", good.short(), one.why),
        None => format!("{file} from the working tree: in the newest commit it {}", one.why),
    }
}

/// True if the working tree has other versions of these files than the tip.
fn is_only_there(git: &Git, session: &Session, files: &[&Unreadable]) -> Result<bool> {
    let paths: Vec<&str> = files.iter().map(|one| one.path.as_str()).collect();
    let there = git::blobs::hash_files(git, &paths, Store::No)?;
    let at_tip = git::snapshot::blob_ids(git, &session.tip, &paths)?;
    Ok(there.iter().zip(&at_tip).any(|(there, at_tip)| there.is_some() && there != at_tip))
}

/// Moves a folder that is found in place of a file to the session's state directory.
fn move_folder(git: &Git, recorder: &Recorder<'_>, one: &Unreadable) -> Result<PathBuf> {
    let aside = recorder.state.path().join("set-aside");
    std::fs::create_dir_all(&aside).with_context(|| format!("creating {}", aside.display()))?;
    let free = (1_u32..).map(|n| aside.join(format!("{}-{n}", one.artifact.file_name())));
    let free = free.into_iter().find(|path| path.symlink_metadata().is_err());
    let to = free.unwrap_or(aside);
    let from = git.top().join(&one.path);
    std::fs::rename(&from, &to).map_err(|error| {
        let failed = format!("{} cannot be moved to {}: {error}", one.path, to.display());
        Error::repository(failed).hint(format!("move it yourself: mv {0} {0}.moved", one.path))
    })?;
    Ok(to)
}
