//! Updates the records of a draft from its documents before a review; edits that cannot be parsed
//! go back to the person who made them.

use super::{open_gate, waiting};
use crate::artifact::Artifact;
use crate::gate::Mode;
use crate::pipeline::draft::keep;
use crate::pipeline::edits::records;
use crate::pipeline::step::{Step, StepResult, Stop};

/// Updates the records of the draft from its documents before anybody reviews it. A person's edit
/// that cannot be parsed goes back to the person.
pub(crate) async fn follow(step: &mut Step<'_, '_>) -> StepResult {
    let settled = records::settle(step.run)?;
    if !settled.refusals.is_empty() {
        return refused(step, &settled.refusals).await;
    }
    let own = |artifact: &Artifact| step.spec.artifacts.contains(artifact);
    if settled.changed.iter().any(own) {
        keep::keep(step)?;
    }
    Ok(())
}

/// On a terminal the gate shows the errors, and the person edits again; without one the draft
/// waits.
async fn refused(step: &mut Step<'_, '_>, refusals: &[String]) -> StepResult {
    step.draft.approvals.person = None;
    let why = refusals.join("\n");
    if step.run.env.mode != Mode::Ask {
        return waiting::leave_waiting(step, Some(why));
    }
    step.draft.gate.note = Some(why);
    open_gate(step).await?;
    Err(Stop::Again)
}
