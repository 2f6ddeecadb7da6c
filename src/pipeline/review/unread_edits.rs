//! Updates the records of a draft from its documents before a review; edits that cannot be parsed
//! go back to the person who made them.

use super::{open_gate, waiting};
use crate::artifact::Artifact;
use crate::gate::Mode;
use crate::pipeline::draft::keep;
use crate::pipeline::edits::records;
use crate::pipeline::outcome::StepOutcome;
use crate::pipeline::progress::Progress;
use crate::pipeline::run::Run;
use crate::stages::StageSpec;

/// Updates the records of the draft from its documents before anybody reviews it. A person's edit
/// that cannot be parsed goes back to the person.
pub(crate) async fn follow(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    let settled = records::settle(run)?;
    if !settled.refusals.is_empty() {
        return refused(run, spec, progress, &settled.refusals).await;
    }
    let own = |artifact: &Artifact| spec.artifacts.contains(artifact);
    if settled.changed.iter().any(own) {
        keep::keep(run, spec, progress)?;
    }
    Ok(StepOutcome::Next)
}

/// On a terminal the gate shows the errors, and the person edits again; without one the draft
/// waits.
async fn refused(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    refusals: &[String],
) -> anyhow::Result<StepOutcome> {
    progress.verdicts.person = None;
    let why = refusals.join("\n");
    if run.env.mode != Mode::Ask {
        return waiting::leave_waiting(run, spec, progress, Some(why));
    }
    progress.gate.note = Some(why);
    Ok(match open_gate(run, spec, progress).await? {
        StepOutcome::Next => StepOutcome::Again,
        other => other,
    })
}
