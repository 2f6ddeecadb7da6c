//! The critic: reads a draft with read-only tools and gives its verdict. The challenger may then
//! read what the critic approved.

pub(crate) mod challenger;
pub(crate) mod second_reading;

use crate::agent::{Conversation, WithWords};
use crate::artifact::{Feedback, Origin, Severity};
use crate::event::Event;
use crate::gate::Mode;
use crate::markers::{Marker, review_verdict, without_markers};
use crate::pipeline::brief::conversation;
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::reader;
use crate::pipeline::draft::checks::check_report;
use crate::pipeline::draft::{keep, self_review};
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::{Asked, BlockReason, CRITIC_ASTRAY, Request, StepOutcome};
use crate::pipeline::progress::{Next, Progress};
use crate::pipeline::prompts::Variables;
use crate::pipeline::review::feedback;
use crate::pipeline::run::Run;
use crate::pipeline::{edits, test_changes, usage};
use crate::record::{Approval, ApprovedContent, DraftEnding};
use crate::session::Verdict;
use crate::stage::Role;
use crate::stages::{Approves, RoleSpec, StageSpec};

/// Maximum characters of its text that are recorded.
const MOST_TEXT: usize = 4_000;

/// Asks the stage's critic, unless it has already approved these very bytes.
pub(crate) async fn ask_critic(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    let Some(critic) = run.critic(spec) else { return Ok(StepOutcome::Next) };
    let bytes = approved_content::content_now(run, spec)?;
    if let Some((approved, _)) = &progress.verdicts.critic
        && approved.same(run.env.git, &run.session, &bytes)?
    {
        return Ok(StepOutcome::Next);
    }
    let mut variables = conversation::brief_variables(run, spec, progress)?;
    if spec.approves == Approves::Artifacts {
        variables.words = check_report(run, spec, progress)?.notes.join("; ");
    }
    let read = progress.readings.critic.as_ref();
    let again = second_reading::changes_since_reading(run, spec, Origin::Critic, read, progress)?;
    let notes = self_review::unfixed_section(run, spec, progress)?
        + &second_reading::author_words(progress);
    let (opening, extra) = match again {
        Some(again) => {
            variables.delta = again.changes;
            (Some(again.opening + &notes), String::new())
        }
        None => (None, reader::draft_for_reader(run, spec)? + &notes),
    };
    let part = reader_part(run, spec, progress, (Role::Critic, critic), variables)?;
    let part = Part { opening, extra, ..part };
    let mut conversation =
        conversation::converse(run, &part, progress.refusals, &mut WithWords).await?;
    progress.note_run(&mut conversation);
    progress.newest.credit.merge(usage::take_credit(run));
    let outcome = &conversation.outcome;
    if outcome.approved.is_some()
        || !outcome.feedback.is_empty()
        || review_verdict(&conversation.text).is_some()
    {
        // A critic that gave no verdict has not judged the whole draft: its reading does not count.
        progress.readings.critic.clone_from(&progress.newest.commit);
    }
    let edited = edited_while_read(run, spec, progress, &bytes)?;
    Ok(match take_verdict(run, spec, progress, conversation, bytes)? {
        // The critic approved a version that has changed in the meantime.
        StepOutcome::Next if edited => StepOutcome::Again,
        turned => turned,
    })
}

/// The input of a critic or challenger, with the changed tests if the draft is code.
fn reader_part<'a>(
    run: &Run<'_>,
    spec: &'a StageSpec,
    progress: &Progress,
    (role, row): (Role, &RoleSpec),
    mut variables: Variables,
) -> anyhow::Result<Part<'a>> {
    if spec.approves == Approves::Tree {
        let draft = progress.newest.commit.as_ref().unwrap_or(&run.session.tip);
        variables.evidence += &test_changes::tests_for_readers(run, draft)?;
    }
    Ok(Part {
        spec,
        role,
        prompt: row.prompt,
        again: None,
        tools: row.tools(),
        closing: Vec::new(),
        iteration: progress.iteration,
        task: None,
        question: None,
        opening: None,
        extra: String::new(),
        variables,
    })
}

/// Adds to the draft the edits that a person made while the critic read `bytes`. If nobody is asked
/// at a gate, the draft then passes as edited. Returns true if there were any edits.
fn edited_while_read(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    bytes: &ApprovedContent,
) -> anyhow::Result<bool> {
    let now = approved_content::content_now(run, spec)?;
    if bytes.same(run.env.git, &run.session, &now)? {
        return Ok(false);
    }
    if let Some(read) = progress.newest.commit.clone() {
        edits::note_edit(run, spec, progress, &read)?;
    }
    let why = format!("the {} draft was edited while the critic read it", spec.stage);
    run.env.sink.emit(Event::Note { text: why.clone() });
    progress.verdicts.person = if run.env.mode != Mode::Auto && run.gated(spec.stage) {
        progress.gate.note = Some(why);
        None
    } else {
        Some(Approval { bytes: now, verdict: Verdict::Edited, by: None })
    };
    keep::keep(run, spec, progress)?;
    feedback::take_up_comments(run, spec, progress)?;
    Ok(true)
}

fn take_verdict(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    conversation: Conversation,
    bytes: ApprovedContent,
) -> anyhow::Result<StepOutcome> {
    let outcome = conversation.outcome;
    if let Some(wish) = outcome.go_back {
        // The critic's feedback on the draft counts in addition to its request to go back.
        run.give_feedback(outcome.feedback)?;
        progress.gate.critic_asks = true;
        let (by, stage, iteration) = (Origin::Critic, spec.stage, progress.iteration);
        return Ok(StepOutcome::Asks(Request::GoBack(Asked { by, stage, iteration, wish })));
    }
    let verdict = outcome.approved.is_some() || !outcome.feedback.is_empty();
    let asked = outcome.human_review.map(|why| format!("the critic says: {why}"));
    let astray = outcome.astray.filter(|_| !verdict).map(|why| format!("{CRITIC_ASTRAY}{why}"));
    if let Some(why) = asked.or(astray) {
        progress.gate.critic_asks = true;
        progress.gate.asks = Some(why.clone());
        keep::mark(run, progress, progress.iteration, DraftEnding::Whole);
        return Ok(StepOutcome::Blocked(BlockReason::of_words(why)));
    }
    let text: String = without_markers(&conversation.text).trim().chars().take(MOST_TEXT).collect();
    let feedback = match (outcome.feedback, outcome.approved, review_verdict(&conversation.text)) {
        (feedback, _, _) if !feedback.is_empty() => feedback,
        (_, Some(summary), _) => {
            // The call is the verdict; models repeat it in its summary.
            let words = summary.replace("<review>PASS</review>", "").trim().to_owned();
            return Ok(approved(run, progress, bytes, words));
        }
        (_, None, Some(Marker::Pass)) => return Ok(approved(run, progress, bytes, text)),
        (_, None, Some(_)) => vec![refusal(run, spec, progress, text)],
        (_, None, None) => {
            return Ok(StepOutcome::Blocked(BlockReason::no_verdict(
                Origin::Critic,
                "the critic",
                &text,
            )));
        }
    };
    run.give_feedback(feedback)?;
    progress.next = Next::Draft;
    Ok(StepOutcome::Again)
}

fn approved(
    run: &Run<'_>,
    progress: &mut Progress,
    bytes: ApprovedContent,
    words: String,
) -> StepOutcome {
    progress.verdicts.critic = Some((bytes, words));
    keep::mark(run, progress, progress.iteration, DraftEnding::Whole);
    StepOutcome::Next
}

/// The feedback of a critic that refused the draft in prose.
fn refusal(run: &Run<'_>, spec: &StageSpec, progress: &Progress, mut words: String) -> Feedback {
    if words.is_empty() {
        words = "the critic refused the draft without a reason".to_owned();
    }
    let mut entry = run.feedback(spec.stage, progress.iteration, Origin::Critic, &words);
    entry.severity = Severity::Major;
    entry
}
