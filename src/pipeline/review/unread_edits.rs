//! Before anybody looks at a draft its records follow its documents; what cannot be read goes back to
//! the person who wrote it.

use super::{open_gate, waiting};
use crate::artifact::Artifact;
use crate::gate::Mode;
use crate::pipeline::draft::keep;
use crate::pipeline::edits::records;
use crate::pipeline::outcome::StepOutcome;
use crate::pipeline::progress::Progress;
use crate::pipeline::run::Run;
use crate::stages::StageSpec;

/// Lets the records of the draft follow its documents before anybody looks at it. What a person
/// wrote and nobody can read goes back to the person.
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

/// On a terminal the gate says what cannot be read, and the person edits again; without one the
/// bytes wait.
async fn refused(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    refusals: &[String],
) -> anyhow::Result<StepOutcome> {
    progress.approval = None;
    let why = refusals.join("\n");
    if run.env.mode != Mode::Ask {
        return waiting::leave_waiting(run, spec, progress, Some(why));
    }
    progress.note = Some(why);
    Ok(match open_gate(run, spec, progress).await? {
        StepOutcome::Next => StepOutcome::Again,
        other => other,
    })
}
