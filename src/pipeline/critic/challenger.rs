//! The challenger: a second opinion, by the model that `[roles] challenger` names, on a draft the
//! critic has approved. It may ask for another draft or reject the work
//! altogether, after which a person decides (`pipeline/limits`).

use crate::agent::WithWords;
use crate::artifact::{Origin, Severity};
use crate::event::Event;
use crate::markers::{Marker, challenge_verdict, without_challenge_verdict};
use crate::pipeline::brief::conversation;
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::reader;
use crate::pipeline::brief::sections::section;
use crate::pipeline::critic::second_reading;
use crate::pipeline::critic::{edited_while_read, reader_part};
use crate::pipeline::draft::keep;
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::{BlockReason, StepOutcome};
use crate::pipeline::progress::{Next, Progress};
use crate::pipeline::run::Run;
use crate::pipeline::usage;
use crate::stage::Role;
use crate::stages::{CHALLENGER, StageSpec};

/// Maximum characters of its answer that are recorded.
const MOST_SAID: usize = 4_000;
/// Maximum bytes of its earlier feedback when it reads the whole draft again.
const SAID_BEFORE: usize = 6_000;

/// Asks the challenger if the stage has one, unless it has already approved these very bytes.
pub(crate) async fn ask_challenger(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    if !run.env.config.challenged(spec.stage) {
        return Ok(StepOutcome::Next);
    }
    let bytes = approved_content::content_now(run, spec)?;
    if let Some((approved, _)) = &progress.verdicts.challenger
        && approved.same(run.env.git, &run.session, &bytes)?
    {
        return Ok(StepOutcome::Next);
    }
    // However this run ends, the next one must know what the critic said about the draft.
    keep::keep(run, spec, progress)?;
    let part = brief(run, spec, progress)?;
    let mut conversation =
        conversation::converse(run, &part, progress.refusals, &mut WithWords).await?;
    progress.note_run(&mut conversation);
    progress.newest.credit.merge(usage::take_credit(run));
    let said = without_challenge_verdict(&conversation.text);
    let said: String = said.chars().take(MOST_SAID).collect();
    let Some(verdict) = challenge_verdict(&conversation.text) else {
        return match conversation.outcome.astray {
            Some(why) => {
                let why = format!("the challenger: {why}");
                Ok(StepOutcome::Blocked(BlockReason::Astray(why)))
            }
            None => {
                let model = run.env.config.roles.challenger.as_deref().unwrap_or_default();
                let who = format!("the challenger ('{model}')");
                Ok(StepOutcome::Blocked(BlockReason::no_verdict(Origin::Challenger, &who, &said)))
            }
        };
    };
    progress.readings.challenger.clone_from(&progress.newest.commit);
    let edited = edited_while_read(run, spec, progress, &bytes)?;
    if verdict == Marker::Pass {
        let words = if said.is_empty() { String::new() } else { format!(": {said}") };
        let text = format!("{}: the challenger approved{words}", spec.stage);
        run.env.sink.emit(Event::Note { text });
        progress.verdicts.challenger = Some((bytes, said));
        keep::keep(run, spec, progress)?;
        // The challenger approved a version that has changed in the meantime.
        return Ok(if edited { StepOutcome::Again } else { StepOutcome::Next });
    }
    let words = match said.is_empty() {
        true => "the challenger refused the draft without a reason".to_owned(),
        false => said,
    };
    let mut entry = run.feedback(spec.stage, progress.iteration, Origin::Challenger, &words);
    entry.severity = Severity::Major;
    if verdict == Marker::Rejected {
        entry.severity = Severity::Critical;
        entry = entry.as_rejection();
    }
    run.give_feedback(vec![entry])?;
    progress.next = Next::Draft;
    Ok(StepOutcome::Again)
}

/// Its input; on a second reading the changes and its earlier feedback.
fn brief<'a>(run: &Run<'_>, spec: &'a StageSpec, progress: &Progress) -> anyhow::Result<Part<'a>> {
    let mut variables = conversation::brief_variables(run, spec, progress)?;
    let by = Origin::Challenger;
    let read = progress.readings.challenger.as_ref();
    let again = second_reading::changes_since_reading(run, spec, by, read, progress)?;
    let (opening, extra) = match again {
        Some(again) => {
            variables.delta = again.changes;
            (Some(again.opening), String::new())
        }
        None => {
            let mut extra = reader::draft_for_reader(run, spec)?;
            let before = second_reading::own_words(run, spec, by, progress)?;
            section(&mut extra, "Your feedback so far", &before, SAID_BEFORE);
            (None, extra)
        }
    };
    let part = reader_part(run, spec, progress, (Role::Challenger, &CHALLENGER), variables)?;
    let extra = extra + &second_reading::author_words(progress);
    Ok(Part { opening, extra, ..part })
}
