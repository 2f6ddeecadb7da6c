//! Restores an attempt: makes it the tip, with its edits in the working tree.

use crate::git::{self, Oid, Store};
use crate::pipeline::history::present_stage;
use crate::pipeline::run::Run;
use crate::record::{self, in_session};
use crate::session::{Attempt, Entry, RefNames, Session, Verdict};
use crate::stage::Stage;

/// Makes an attempt the tip again; the present tip becomes an attempt.
///
/// # Errors
/// Exit 5 if changes of the user would be lost, or HEAD is elsewhere; nothing is changed then.
pub(crate) fn restore_attempt(run: &mut Run<'_>, attempt: &Attempt) -> anyhow::Result<()> {
    run.stage.set(present_stage::present_stage(run)?);
    let attempt = &before_answer(run, attempt)?;
    let recorder = run.recorder();
    let tip = run.session.tip.clone();
    record::attempt::check_rewind(&recorder, &tip, &attempt.tip)?;
    let kept = if attempt.tip != tip || record::attempt::would_lose(&recorder, &tip)? {
        let reason = format!("before attempt {} was restored", attempt.number);
        Some(record::attempt::keep(&recorder, &tip, &reason, Verdict::Aborted)?)
    } else {
        None
    };
    record::attempt::rewind(&recorder, &tip, &attempt.tip)?;
    run.session = Session::load(run.env.git, &run.session.name, &attempt.tip)?;
    let stage = present_stage::present_stage(run)?;
    run.stage.set(stage);
    let draft = revive_draft(run, stage)?;
    let left = unpack(run, attempt, draft.as_ref())?;
    record::tags::add_missing(&run.recorder(), &run.session)?;
    say_restored(run, attempt, kept, &left);
    Ok(())
}

/// The attempt with the draft as its tip on which a person chose to go back: that answer is undone
/// with what it did, or the next run would go back again.
fn before_answer(run: &Run<'_>, attempt: &Attempt) -> anyhow::Result<Attempt> {
    let left = Session::load(run.env.git, &attempt.session, &attempt.tip)?;
    let done = attempt.back.as_ref().map(|back| back.to);
    let waiting = left.waiting().filter(|waiting| done.is_some() && waiting.goes_back() == done);
    let answer = waiting.and_then(|waiting| waiting.answer);
    let answer = answer.filter(|answer| answer.commit == attempt.tip);
    let draft = answer.and_then(|answer| answer.parents.into_iter().next());
    Ok(Attempt { tip: draft.unwrap_or_else(|| attempt.tip.clone()), ..attempt.clone() })
}

/// Continues a draft that was ended when its tip was dropped; returns its commit.
fn revive_draft(run: &Run<'_>, stage: Stage) -> anyhow::Result<Option<Oid>> {
    let git = run.env.git;
    let Some(newest) = git.resolve(RefNames::draft(&run.session.name, stage).as_str())? else {
        return Ok(None);
    };
    let tip = &run.session.tip;
    let drafts = run.session.beside_tip(git, &newest)?;
    let live = |entry: &Entry| {
        entry.parents.first() == Some(tip) && entry.verdict() != Some(Verdict::Aborted)
    };
    let Some(draft) = drafts.into_iter().find(live) else { return Ok(None) };
    if draft.commit != newest {
        record::draft_refs::keep_again(&run.recorder(), &draft, stage)?;
    }
    Ok(Some(draft.commit))
}

/// Copies the attempt's edits into the working tree, except to paths with other changes. Returns
/// the paths whose present content differs from the attempt's.
fn unpack(run: &Run<'_>, attempt: &Attempt, draft: Option<&Oid>) -> anyhow::Result<Vec<String>> {
    let git = run.env.git;
    let edits = git::paths::changed(git, &attempt.tip, &attempt.commit)?;
    let dirty: Vec<String> = git.status()?.into_iter().map(|entry| entry.path).collect();
    let (there, free): (Vec<String>, Vec<String>) =
        edits.into_iter().partition(|path| dirty.contains(path) || lies_there(run, attempt, path));
    record::refused::restore_worktree(&run.recorder(), &attempt.commit, &free)?;
    let dirs = [run.session.name.artifact_dir(), run.session.name.record_dir()];
    let drafted = match draft {
        Some(draft) => git::paths::changed(git, &attempt.tip, draft)?,
        None => Vec::new(),
    };
    let ours = |path: &&String| in_session(path, &dirs) || drafted.contains(path);
    let mut ours: Vec<String> = free.iter().filter(ours).cloned().collect();
    if let Some(draft) = draft.filter(|_| attempt.holds_an_edit()) {
        // A person's edits of the draft count as theirs again.
        let theirs = git::snapshot::blob_ids(git, &attempt.commit, &ours)?;
        let drafted = git::snapshot::blob_ids(git, draft, &ours)?;
        let mut same = theirs.iter().zip(&drafted).map(|(theirs, drafted)| theirs == drafted);
        ours.retain(|_| same.next().unwrap_or_default());
    }
    run.env.workspace.written().adopt(&ours)?;
    let mut left = Vec::new();
    for (path, blob) in there.iter().zip(git::blobs::hash_files(git, &there, Store::No)?) {
        if git::snapshot::blob_id(git, &attempt.commit, path)? != blob {
            left.push(path.clone());
        }
    }
    Ok(left)
}

/// True if a file that git does not list (an ignored one) occupies an edit's path.
fn lies_there(run: &Run<'_>, attempt: &Attempt, path: &str) -> bool {
    let tracked =
        git::snapshot::blob_id(run.env.git, &attempt.tip, path).is_ok_and(|blob| blob.is_some());
    !tracked && run.env.git.top().join(path).symlink_metadata().is_ok()
}

fn say_restored(run: &Run<'_>, attempt: &Attempt, kept: Option<u32>, left: &[String]) {
    let (name, number) = (&run.session.name, attempt.number);
    run.note(format!("attempt {number} is the tip again ({})", attempt.reason));
    if let Some(kept) = kept {
        run.note(format!(
            "the previous tip is kept as attempt {kept}: git cowork restore {name} {kept}"
        ));
    }
    if !left.is_empty() {
        run.warn(format!(
            "not restored, because you have other changes there: {}; the attempt's version: git show {}:PATH",
            left.join(", "),
            attempt.ref_name()
        ));
    }
}
