//! Drafts that were dropped by going back: when the stage runs again, its feedback contains the
//! reason. The reason is read from the attempts, so that it is not lost if a run is killed between
//! the reset and the first draft.

use crate::artifact::{DROPPED, Origin};
use crate::pipeline::history::rewind::before;
use crate::pipeline::run::Run;
use crate::record;
use crate::session::{Attempt, Back, Kind, Verdict, attempts};
use crate::stage::Stage;

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
                let mut entry = run.feedback(stage, offset, by, &words(back));
                entry.extra.insert(DROPPED.to_owned(), attempt.number.into());
                entry
            } else {
                // The role's own words about the draft it looked at.
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
    let left = all.iter().rev().filter(|attempt| attempt.can_be_undone());
    left.map_while(|attempt| Some((attempt, attempt.back.as_ref()?)))
}

/// The feedback text that says that a person went back, and why.
fn words(back: &Back) -> String {
    let Back { to, from, reason, .. } = back;
    let what = match to == from {
        true => format!("a person dropped the earlier draft of {to}"),
        false => {
            format!("a person went back to {to} from {from}, and its earlier draft was dropped")
        }
    };
    match reason.as_str() {
        "" => format!("{what} without a reason: do it differently"),
        reason => format!("{what}: {reason}"),
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
            words(&back(Stage::Plan, "too many parts")),
            "a person went back to design from plan, and its earlier draft was dropped: too many parts"
        );
        assert_eq!(
            words(&back(Stage::Design, "")),
            "a person dropped the earlier draft of design without a reason: do it differently"
        );
    }
}
