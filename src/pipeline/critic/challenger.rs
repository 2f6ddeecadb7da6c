//! The challenger: a second opinion, by the model that `[roles] challenger` names, on a draft the
//! critic has approved. It may ask for another draft or reject the work
//! altogether, after which a person decides (`pipeline/limits`).

use crate::agent::WithWords;
use crate::artifact::{Origin, Severity};
use crate::markers::{Marker, challenge_verdict, without_challenge_verdict};
use crate::pipeline::brief::conversation;
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::reader;
use crate::pipeline::brief::sections::section;
use crate::pipeline::critic::second_reading;
use crate::pipeline::critic::{edited_while_read, reader_part};
use crate::pipeline::draft::keep;
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::BlockReason;
use crate::pipeline::step::{Step, StepResult, Stop};
use crate::stage::Role;
use crate::stages::CHALLENGER;

/// Maximum characters of its answer that are recorded.
const MOST_SAID: usize = 4_000;
/// Maximum bytes of its earlier feedback when it reads the whole draft again.
const SAID_BEFORE: usize = 6_000;

/// Asks the challenger if the stage has one, unless it has already approved these very bytes.
pub(crate) async fn ask_challenger(step: &mut Step<'_, '_>) -> StepResult {
    if !step.run.env.config.challenged(step.spec.stage) {
        return Ok(());
    }
    let bytes = approved_content::content_now(step.run, step.spec)?;
    if step.has_approved(step.draft.approvals.challenger.as_ref(), &bytes)? {
        return Ok(());
    }
    // However this run ends, the next one must know what the critic said about the draft.
    keep::keep(step)?;
    let part = brief(step)?;
    let mut conversation =
        conversation::converse(step.run, &part, step.draft.refusals, &mut WithWords).await?;
    step.account_for(&mut conversation);
    let said = without_challenge_verdict(&conversation.text);
    let said: String = said.chars().take(MOST_SAID).collect();
    let Some(verdict) = challenge_verdict(&conversation.text) else {
        return Err(Stop::Blocked(match conversation.outcome.astray {
            Some(why) => BlockReason::Astray(format!("the challenger: {why}")),
            None => {
                let model = step.run.env.config.roles.challenger.as_deref().unwrap_or_default();
                let who = format!("the challenger ('{model}')");
                BlockReason::no_verdict(Origin::Challenger, &who, &said)
            }
        }));
    };
    step.draft.readings.challenger.clone_from(&step.draft.commit);
    let edited = edited_while_read(step, &bytes)?;
    if verdict == Marker::Pass {
        let words = if said.is_empty() { String::new() } else { format!(": {said}") };
        let text = format!("{}: the challenger approved{words}", step.spec.stage);
        step.run.note(text);
        step.draft.approvals.challenger = Some((bytes, said));
        keep::keep(step)?;
        // The challenger approved a version that has changed in the meantime.
        return if edited { Err(Stop::Again) } else { Ok(()) };
    }
    let words = match said.is_empty() {
        true => "the challenger refused the draft without a reason".to_owned(),
        false => said,
    };
    let mut entry = step.feedback(Origin::Challenger, &words);
    entry.severity = Severity::Major;
    if verdict == Marker::Rejected {
        entry.severity = Severity::Critical;
        entry = entry.as_rejection();
    }
    step.refuse(vec![entry])
}

/// Its input; on a second reading the changes and its earlier feedback.
fn brief<'a>(step: &Step<'_, '_>) -> anyhow::Result<Part<'a>> {
    let mut variables = conversation::brief_variables(step)?;
    let by = Origin::Challenger;
    let read = step.draft.readings.challenger.as_ref();
    let again = second_reading::changes_since_reading(step, by, read)?;
    let (opening, extra) = match again {
        Some(again) => {
            variables.delta = again.changes;
            (Some(again.opening), String::new())
        }
        None => {
            let mut extra = reader::draft_for_reader(step.run, step.spec)?;
            let before = second_reading::own_words(step, by)?;
            extra += &section("Your feedback so far", &before, SAID_BEFORE);
            (None, extra)
        }
    };
    let extra = extra + &second_reading::author_words(&step.draft);
    Ok(Part { opening, extra, ..reader_part(step, (Role::Challenger, &CHALLENGER), variables)? })
}
