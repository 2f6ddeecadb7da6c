//! The critic, which reads a draft with read-only tools and gives its verdict, and the challenger: a
//! second opinion, by the model that `[roles] challenger` names, on what the critic has approved. It
//! may ask for another draft or reject the work altogether, after which a person decides.

use crate::agent::{Conversation, WithWords};
use crate::artifact::{Feedback, Origin, Severity};
use crate::gate::Mode;
use crate::markers::{
    Marker, challenge_verdict, review_verdict, without_challenge_verdict, without_markers,
};
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::sections::section;
use crate::pipeline::brief::{conversation, reader};
use crate::pipeline::checks::check_report;
use crate::pipeline::draft::{keep, self_review};
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::{BlockReason, CRITIC_ASTRAY, Request};
use crate::pipeline::prompts::Variables;
use crate::pipeline::review::feedback;
use crate::pipeline::step::{Step, StepResult, Stop};
use crate::pipeline::{edits, test_changes};
use crate::record::{Approval, ApprovedContent, DraftEnding};
use crate::session::Verdict;
use crate::stage::Role;
use crate::stages::{Approves, CHALLENGER, RoleSpec};

/// Maximum characters of its text that are recorded.
const MOST_TEXT: usize = 4_000;

/// Asks the stage's critic, unless it has already approved these very bytes.
pub(crate) async fn ask_critic(step: &mut Step<'_, '_>) -> StepResult {
    let Some(critic) = step.run.critic(step.spec) else { return Ok(()) };
    let bytes = approved_content::content_now(step.run, step.spec)?;
    if step.has_approved(step.draft.approvals.critic.as_ref(), &bytes)? {
        return Ok(());
    }
    let mut variables = conversation::brief_variables(step)?;
    if step.spec.approves == Approves::Artifacts {
        variables.words = check_report(step.run, step.spec, &step.draft)?.notes.join("; ");
    }
    let reading = step.draft.readings.critic.as_ref();
    let again = reader::changes_since_reading(step, Origin::Critic, reading)?;
    let notes = self_review::unfixed_section(step)? + &reader::author_words(&step.draft);
    let (opening, extra) = match again {
        Some(again) => {
            variables.delta = again.changes;
            (Some(again.opening + &notes), String::new())
        }
        None => (None, reader::draft_for_reader(step.run, step.spec)? + &notes),
    };
    let part = Part { opening, extra, ..reader_part(step, (Role::Critic, critic), variables)? };
    let mut conversation =
        conversation::converse(step.run, &part, step.draft.refusals, &mut WithWords).await?;
    step.account_for(&mut conversation);
    let outcome = &conversation.outcome;
    if outcome.approved.is_some()
        || !outcome.feedback.is_empty()
        || review_verdict(&conversation.text).is_some()
    {
        // A critic that gave no verdict has not judged the whole draft: its reading does not count.
        step.draft.readings.critic.clone_from(&step.draft.commit);
    }
    let has_edits = edited_while_read(step, &bytes)?;
    take_verdict(step, conversation, bytes)?;
    // The critic may have approved a version that has changed in the meantime.
    if has_edits { Err(Stop::Again) } else { Ok(()) }
}

/// The input of a critic or challenger, with the changed tests if the draft is code.
fn reader_part<'a>(
    step: &Step<'_, '_>,
    (role, row): (Role, &RoleSpec),
    mut variables: Variables,
) -> anyhow::Result<Part<'a>> {
    if step.spec.approves == Approves::Tree {
        let draft = step.draft.commit.as_ref().unwrap_or(&step.run.session.tip);
        variables.evidence += &test_changes::tests_for_readers(step.run, draft)?;
    }
    Ok(Part::new(step, role, row.prompt, row.tools(), variables))
}

/// Adds to the draft the edits that a person made while the critic read `bytes`. If nobody is asked
/// at a gate, the draft then passes as edited. Returns true if there were any edits.
fn edited_while_read(step: &mut Step<'_, '_>, bytes: &ApprovedContent) -> anyhow::Result<bool> {
    let now = approved_content::content_now(step.run, step.spec)?;
    if bytes.same(step.run.env.git, &step.run.session, &now)? {
        return Ok(false);
    }
    if let Some(read) = step.draft.commit.clone() {
        edits::note_edit(step, &read)?;
    }
    let why = format!("the {} draft was edited while the critic read it", step.spec.stage);
    step.run.note(why.clone());
    step.draft.approvals.person =
        if step.run.env.mode != Mode::Auto && step.run.gated(step.spec.stage) {
            step.draft.gate.note = Some(why);
            None
        } else {
            Some(Approval { bytes: now, verdict: Verdict::Edited, by: None })
        };
    keep::keep(step)?;
    feedback::take_up_comments(step)?;
    Ok(true)
}

fn take_verdict(
    step: &mut Step<'_, '_>,
    conversation: Conversation,
    bytes: ApprovedContent,
) -> StepResult {
    let outcome = conversation.outcome;
    if let Some(wish) = outcome.go_back {
        // The critic's feedback on the draft counts in addition to its request to go back.
        step.run.give_feedback(outcome.feedback)?;
        step.draft.gate.critic_asks = true;
        return Err(Stop::Asks(Request::GoBack(step.asked(Origin::Critic, wish))));
    }
    let verdict = outcome.approved.is_some() || !outcome.feedback.is_empty();
    let request = outcome.human_review.map(|why| format!("the critic says: {why}"));
    let astray = outcome.astray.filter(|_| !verdict).map(|why| format!("{CRITIC_ASTRAY}{why}"));
    if let Some(why) = request.or(astray) {
        step.draft.gate.critic_asks = true;
        step.draft.gate.asks = Some(why.clone());
        keep::mark(step, step.draft.iteration, DraftEnding::Whole);
        return Err(Stop::Blocked(BlockReason::of_words(why)));
    }
    let text: String = without_markers(&conversation.text).trim().chars().take(MOST_TEXT).collect();
    let feedback = match (outcome.feedback, outcome.approved, review_verdict(&conversation.text)) {
        (feedback, _, _) if !feedback.is_empty() => feedback,
        (_, Some(summary), _) => {
            // The call is the verdict; models repeat it in its summary.
            let words = summary.replace("<review>PASS</review>", "").trim().to_owned();
            return approved(step, bytes, words);
        }
        (_, None, Some(Marker::Pass)) => return approved(step, bytes, text),
        (_, None, Some(_)) => vec![refusal(step, text)],
        (_, None, None) => {
            return Err(Stop::Blocked(BlockReason::no_verdict(
                Origin::Critic,
                "the critic",
                &text,
            )));
        }
    };
    step.refuse(feedback)
}

fn approved(step: &mut Step<'_, '_>, bytes: ApprovedContent, words: String) -> StepResult {
    step.draft.approvals.critic = Some((bytes, words));
    keep::mark(step, step.draft.iteration, DraftEnding::Whole);
    Ok(())
}

/// The feedback of a critic that refused the draft in prose.
fn refusal(step: &Step<'_, '_>, mut words: String) -> Feedback {
    if words.is_empty() {
        words = "the critic refused the draft without a reason".to_owned();
    }
    let mut entry = step.feedback(Origin::Critic, &words);
    entry.severity = Severity::Major;
    entry
}

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
    let part = challenger_part(step)?;
    let mut conversation =
        conversation::converse(step.run, &part, step.draft.refusals, &mut WithWords).await?;
    step.account_for(&mut conversation);
    let answer = without_challenge_verdict(&conversation.text);
    let answer: String = answer.chars().take(MOST_SAID).collect();
    let Some(verdict) = challenge_verdict(&conversation.text) else {
        return Err(Stop::Blocked(match conversation.outcome.astray {
            Some(why) => BlockReason::Astray(format!("the challenger: {why}")),
            None => {
                let model = step.run.env.config.roles.challenger.as_deref().unwrap_or_default();
                let judge = format!("the challenger ('{model}')");
                BlockReason::no_verdict(Origin::Challenger, &judge, &answer)
            }
        }));
    };
    step.draft.readings.challenger.clone_from(&step.draft.commit);
    let has_edits = edited_while_read(step, &bytes)?;
    if verdict == Marker::Pass {
        let words = if answer.is_empty() { String::new() } else { format!(": {answer}") };
        let text = format!("{}: the challenger approved{words}", step.spec.stage);
        step.run.note(text);
        step.draft.approvals.challenger = Some((bytes, answer));
        keep::keep(step)?;
        // The challenger approved a version that has changed in the meantime.
        return if has_edits { Err(Stop::Again) } else { Ok(()) };
    }
    let words = match answer.is_empty() {
        true => "the challenger refused the draft without a reason".to_owned(),
        false => answer,
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
fn challenger_part<'a>(step: &Step<'_, '_>) -> anyhow::Result<Part<'a>> {
    let mut variables = conversation::brief_variables(step)?;
    let by = Origin::Challenger;
    let reading = step.draft.readings.challenger.as_ref();
    let again = reader::changes_since_reading(step, by, reading)?;
    let (opening, extra) = match again {
        Some(again) => {
            variables.delta = again.changes;
            (Some(again.opening), String::new())
        }
        None => {
            let mut extra = reader::draft_for_reader(step.run, step.spec)?;
            let before = reader::own_words(step, by)?;
            extra += &section("Your feedback so far", &before, SAID_BEFORE);
            (None, extra)
        }
    };
    let extra = extra + &reader::author_words(&step.draft);
    Ok(Part { opening, extra, ..reader_part(step, (Role::Challenger, &CHALLENGER), variables)? })
}
