//! Goes back to an earlier stage, or to an attempt: saves the present tip as an attempt, then resets
//! the branch. When a stage runs again, its feedback says why its drafts were dropped: read from the
//! attempts, so that it is not lost if a run is killed between the reset and the first draft.

use crate::artifact::{DROPPED, Origin};
use crate::error::Error;
use crate::git::{self, Oid, Store};
use crate::pipeline::brief::continued;
use crate::pipeline::history;
use crate::pipeline::history::discarded::Discarded;
use crate::pipeline::outcome::WayBack;
use crate::pipeline::run::Run;
use crate::record::{self, in_session};
use crate::session::{
    Attempt, Back, Entry, KeptDraft, Kind, RefNames, Session, Verdict, attempts, kept_draft,
};
use crate::stage::Stage;
use crate::stages::{self, row};
use crate::tool::GoBack;

/// Goes back to before a stage. Its next draft gets the reason as feedback.
///
/// # Errors
/// Exit 5 if the reset would lose changes of the user.
pub(crate) fn go_back(run: &mut Run<'_>, way: &WayBack) -> anyhow::Result<()> {
    let target = before(&run.session, way.to.stage)?;
    Discarded::find(run.env.git, run.env.refs, &run.session, &target)?
        .say(run.env.sink, &format!("going back to before {}", way.to.stage));
    reset(run, way)
}

/// Goes back to before a stage at a person's request (`revert`, `resume --goto-stage`), after the
/// person was shown what the branch loses. The reason may be empty.
///
/// # Errors
/// Exit 5 if the stage was not reached, or changes of the user would be lost.
pub(crate) fn rewind(run: &mut Run<'_>, stage: Stage, reason: &str) -> anyhow::Result<()> {
    run.stage.set(history::present_stage(run)?);
    let (to, words) = (GoBack { stage, reason: reason.to_owned() }, reason.to_owned());
    reset(run, &WayBack { to, asked: None, words, verdict: Verdict::Aborted })
}

/// Resets the session to before `stage`: saves the old tip and uncommitted changes as an attempt
/// with the reason, ends the drafts of the dropped stages, then moves the branch.
fn reset(run: &mut Run<'_>, way: &WayBack) -> anyhow::Result<()> {
    let stage = way.to.stage;
    let target = before(&run.session, stage)?;
    let recorder = run.recorder();
    let tip = run.session.tip.clone();
    record::attempt::check_rewind(&recorder, &tip, &target)?;
    let mut back = way.back(&target, run.stage.get());
    if !drops_a_draft(run, stage, &target).unwrap_or(true) {
        back.by = None;
    }
    let subject = match way.to.reason.as_str() {
        "" => format!("back to {stage}"),
        reason => reason.to_owned(),
    };
    let attempt =
        record::attempt::keep_before_rewind(&recorder, &tip, &subject, way.verdict, Some(&back))?;
    let order = run.session.order();
    for later in order.into_iter().filter(|other| *other >= stage) {
        record::draft_refs::end(&recorder, &tip, later)?;
    }
    record::attempt::rewind(&recorder, &tip, &target)?;
    run.current_draft.replace(None);
    run.continues_transcript.set(false);
    continued::forget(run);
    let name = &run.session.name;
    let branch = recorder.refs.short_branch(name);
    let (from, to) = (tip.short(), target.short());
    run.note(format!("back to before {stage}: {branch} moves from {from} to {to}"));
    run.note(format!("kept as attempt {attempt}: git log refs/cowork/attempts/{name}/{attempt}"));
    run.note("undo it: git cowork undo".to_owned());
    run.note(format!("restore it at any time: git cowork restore {name} {attempt}"));
    run.advance(&target)
}

/// True if going back to `target` drops a draft of the stage, finished or not.
fn drops_a_draft(run: &Run<'_>, stage: Stage, target: &Oid) -> anyhow::Result<bool> {
    let tip = &run.session.tip;
    let draft = kept_draft(run.env.git, &run.session, stage)?;
    Ok(tip != target
        || matches!(draft, Some(KeptDraft::Live(_)))
        || record::attempt::would_lose(&run.recorder(), tip)?)
}

/// The commit on which `stage` was based: the newest one that completed an earlier stage, else the
/// start commit.
///
/// # Errors
/// Exit 5 if the session has not reached the stage.
pub fn before(session: &Session, stage: Stage) -> anyhow::Result<Oid> {
    let is_reached = session.done().contains(&stage) || session.next_stage() == Some(stage);
    if !is_reached || !session.order().contains(&stage) {
        return Err(Error::repository(format!(
            "'{}' has not reached {stage} yet, so there is nothing to go back to",
            session.name
        ))
        .hint("show its state: git cowork status")
        .into());
    }
    if let Some((last, start)) = session.inherited().filter(|(last, _)| stage <= *last) {
        return Err(began_with(session, stage, last, start).into());
    }
    let round = if row(stage).is_before_code() { &session.history } else { session.newest_round() };
    let first = round.iter().position(|entry| match entry.kind {
        Kind::Stage(done) => done >= stage,
        _ => false,
    });
    let history = &round[..first.unwrap_or(round.len())];
    let base =
        history.iter().rev().find(|entry| matches!(entry.kind, Kind::Stage(_) | Kind::Start));
    // A round of reviewers' comments starts with the commit of the comments.
    let base = base.or(history.first());
    base.map(|entry| entry.commit.clone()).ok_or_else(|| {
        Error::repository(format!("'{}' has no start commit in its history", session.name)).into()
    })
}

/// The error for a stage that the session inherited.
fn began_with(session: &Session, stage: Stage, last: Stage, start: &Entry) -> Error {
    let name = &session.name;
    let from = start.from().unwrap_or("another session");
    let mut error = Error::repository(format!(
        "'{name}' took its stages up to {last} from {from}, so it cannot go back to before {stage}"
    ));
    let next = session.order().into_iter().find(|other| *other > last);
    let is_reached =
        |next: &Stage| session.done().contains(next) || session.next_stage() == Some(*next);
    if let Some(next) = next.filter(is_reached) {
        error =
            error.hint(format!("do its own stages again: git cowork revert {name} --to {next}"));
    }
    let before =
        stages::order(session.depth(), false, None).take_while(|other| *other < stage).last();
    let other = from.split('@').next().unwrap_or_default();
    match before {
        Some(before) => error.hint(format!(
            "or start another session from an earlier stage: git cowork new --from {other}@{before}"
        )),
        None => error.hint("or start another session: git cowork new \"what you want built\""),
    }
}

/// Makes an attempt the tip again; the present tip becomes an attempt.
///
/// # Errors
/// Exit 5 if changes of the user would be lost, or HEAD is elsewhere; nothing is changed then.
pub(crate) fn restore_attempt(run: &mut Run<'_>, attempt: &Attempt) -> anyhow::Result<()> {
    run.stage.set(history::present_stage(run)?);
    let attempt = &before_answer(run, attempt)?;
    let recorder = run.recorder();
    let tip = run.session.tip.clone();
    record::attempt::check_rewind(&recorder, &tip, &attempt.tip)?;
    let copy = if attempt.tip != tip || record::attempt::would_lose(&recorder, &tip)? {
        let reason = format!("before attempt {} was restored", attempt.number);
        Some(record::attempt::keep(&recorder, &tip, &reason, Verdict::Aborted)?)
    } else {
        None
    };
    record::attempt::rewind(&recorder, &tip, &attempt.tip)?;
    run.session = Session::load(run.env.git, &run.session.name, &attempt.tip)?;
    let stage = history::present_stage(run)?;
    run.stage.set(stage);
    let draft = revive_draft(run, stage)?;
    let rest = unpack(run, attempt, draft.as_ref())?;
    record::tags::add_missing(&run.recorder(), &run.session)?;
    say_restored(run, attempt, copy, &rest);
    Ok(())
}

/// The attempt with the draft as its tip on which a person chose to go back: that answer is undone
/// with what it did, or the next run would go back again.
fn before_answer(run: &Run<'_>, attempt: &Attempt) -> anyhow::Result<Attempt> {
    let old = Session::load(run.env.git, &attempt.session, &attempt.tip)?;
    let until = attempt.back.as_ref().map(|back| back.to);
    let waiting = old.waiting().filter(|waiting| until.is_some() && waiting.goes_back() == until);
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
    let draft_paths = match draft {
        Some(draft) => git::paths::changed(git, &attempt.tip, draft)?,
        None => Vec::new(),
    };
    let is_own = |path: &&String| in_session(path, &dirs) || draft_paths.contains(path);
    let mut own_paths: Vec<String> = free.iter().filter(is_own).cloned().collect();
    if let Some(draft) = draft.filter(|_| attempt.holds_an_edit()) {
        // A person's edits of the draft count as theirs again.
        let versions = git::snapshot::blob_ids(git, &attempt.commit, &own_paths)?;
        let draft_paths = git::snapshot::blob_ids(git, draft, &own_paths)?;
        let mut same = versions
            .iter()
            .zip(&draft_paths)
            .map(|(versions, draft_paths)| versions == draft_paths);
        own_paths.retain(|_| same.next().unwrap_or_default());
    }
    run.env.workspace.written().adopt(&own_paths)?;
    let mut rest = Vec::new();
    for (path, blob) in there.iter().zip(git::blobs::hash_files(git, &there, Store::No)?) {
        if git::snapshot::blob_id(git, &attempt.commit, path)? != blob {
            rest.push(path.clone());
        }
    }
    Ok(rest)
}

/// True if a file that git does not list (an ignored one) occupies an edit's path.
fn lies_there(run: &Run<'_>, attempt: &Attempt, path: &str) -> bool {
    let is_tracked =
        git::snapshot::blob_id(run.env.git, &attempt.tip, path).is_ok_and(|blob| blob.is_some());
    !is_tracked && run.env.git.top().join(path).symlink_metadata().is_ok()
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

/// Records as feedback why earlier drafts of the stage were dropped. `offset` is the number of
/// drafts that earlier, completed runs of the stage used.
pub(crate) fn tell_why_again(run: &Run<'_>, stage: Stage, offset: u32) -> anyhow::Result<()> {
    // If history does not show where the stage began, none of its drafts was dropped here.
    let Ok(target) = before(&run.session, stage) else { return Ok(()) };
    let mut since = run.session.history.iter().skip_while(|entry| entry.commit != target);
    if since.any(|entry| entry.kind == Kind::Stage(stage)) {
        // The stage has been completed in the meantime; newer requests bring their own feedback.
        return Ok(());
    }
    let all = attempts(run.env.git, Some(&run.session.name))?;
    let mut entries = Vec::new();
    for (attempt, back) in dropped(&all) {
        if back.to != stage || back.target != target {
            break;
        }
        if let Some(by) = back.by {
            entries.push(if by == Origin::Human {
                let mut entry = run.feedback(stage, offset, by, &drop_words(back));
                entry.extra.insert(DROPPED.to_owned(), attempt.number.into());
                entry
            } else {
                // The role's own drop_words about the draft it looked at.
                run.feedback(back.from, back.iteration, by, &back.reason).to_go_back(stage)
            });
        }
        if back.from != stage {
            // A draft of the stage had passed, so older feedback was answered.
            break;
        }
    }
    entries.reverse();
    run.give_feedback(entries)
}

/// Saves a draft that a person aborts. The abort adds no feedback, but earlier feedback still
/// counts.
pub(crate) fn keep_aborted(run: &Run<'_>, stage: Stage) -> anyhow::Result<u32> {
    let target = before(&run.session, stage)?;
    let back =
        Back { to: stage, target, from: stage, by: None, iteration: 0, reason: String::new() };
    let subject = format!("{stage} aborted");
    let tip = &run.session.tip;
    record::attempt::keep_before_rewind(
        &run.recorder(),
        tip,
        &subject,
        Verdict::Aborted,
        Some(&back),
    )
}

/// The newest attempts that were made by going back, newest first. Attempts that are only copies
/// are skipped. The first attempt of another kind ends the list: after a restore, older attempts
/// do not belong to the present state.
fn dropped(all: &[Attempt]) -> impl Iterator<Item = (&Attempt, &Back)> {
    let newest = all.iter().rev().filter(|attempt| attempt.can_be_undone());
    newest.map_while(|attempt| Some((attempt, attempt.back.as_ref()?)))
}

/// The feedback text that says that a person went back, and why.
fn drop_words(back: &Back) -> String {
    let Back { to, from, reason, .. } = back;
    let event = match to == from {
        true => format!("a person dropped the earlier draft of {to}"),
        false => {
            format!("a person went back to {to} from {from}, and its earlier draft was dropped")
        }
    };
    match reason.as_str() {
        "" => format!("{event} without a reason: do it differently"),
        reason => format!("{event}: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_names_who_dropped_a_draft_and_why() {
        let back = |from, reason: &str| {
            let target = "abcdef7890123456789012345678901234567890".parse().unwrap();
            Back { to: Stage::Design, target, from, by: None, iteration: 0, reason: reason.into() }
        };
        assert_eq!(
            drop_words(&back(Stage::Plan, "too many parts")),
            "a person went back to design from plan, and its earlier draft was dropped: too many parts"
        );
        assert_eq!(
            drop_words(&back(Stage::Design, "")),
            "a person dropped the earlier draft of design without a reason: do it differently"
        );
    }
}
