//! Going back to an earlier stage: saves the present tip as an attempt, then resets the branch.

use crate::error::Error;
use crate::git::Oid;
use crate::pipeline::brief::continued;
use crate::pipeline::history::discarded::Discarded;
use crate::pipeline::history::present_stage;
use crate::pipeline::outcome::WayBack;
use crate::pipeline::run::Run;
use crate::record;
use crate::session::{Entry, KeptDraft, Kind, Session, Verdict, kept_draft};
use crate::stage::Stage;
use crate::stages::{self, row};
use crate::tool::GoBack;

/// Goes back to before a stage. Its next draft gets the reason as feedback.
///
/// # Errors
/// Exit 5 if the reset would lose changes of the user.
pub(crate) fn go_back(run: &mut Run<'_>, way: &WayBack) -> anyhow::Result<()> {
    let target = before(&run.session, way.to.stage)?;
    Discarded::of(run.env.git, run.env.refs, &run.session, &target)?
        .say(run.env.sink, &format!("going back to before {}", way.to.stage));
    reset(run, way)
}

/// Goes back to before a stage at a person's request (`revert`, `resume --goto-stage`), after the
/// person was shown what the branch loses. The reason may be empty.
///
/// # Errors
/// Exit 5 if the stage was not reached, or changes of the user would be lost.
pub(crate) fn rewind(run: &mut Run<'_>, stage: Stage, reason: &str) -> anyhow::Result<()> {
    run.stage.set(present_stage::present_stage(run)?);
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
    let kept = kept_draft(run.env.git, &run.session, stage)?;
    Ok(tip != target
        || matches!(kept, Some(KeptDraft::Live(_)))
        || record::attempt::would_lose(&run.recorder(), tip)?)
}

/// The commit on which `stage` was based: the newest one that completed an earlier stage, else the
/// start commit.
///
/// # Errors
/// Exit 5 if the session has not reached the stage.
pub fn before(session: &Session, stage: Stage) -> anyhow::Result<Oid> {
    let reached = session.done().contains(&stage) || session.next_stage() == Some(stage);
    if !reached || !session.order().contains(&stage) {
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
    let found =
        history.iter().rev().find(|entry| matches!(entry.kind, Kind::Stage(_) | Kind::Start));
    // A round of reviewers' comments starts with the commit of the comments.
    let found = found.or(history.first());
    found.map(|entry| entry.commit.clone()).ok_or_else(|| {
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
    let reached =
        |next: &Stage| session.done().contains(next) || session.next_stage() == Some(*next);
    if let Some(next) = next.filter(reached) {
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
