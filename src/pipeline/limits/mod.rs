//! Situations in which a person must decide: a role has a request, the drafts are used up, a stage
//! repeats itself, a role asks for a person or makes no progress. Without a person the session
//! waits or fails, and all work is saved.

pub(crate) mod answers;
pub(crate) mod blocked;
pub(crate) mod repetition;

use crate::artifact::{Feedback, Origin};
use crate::clean;
use crate::event::Event;
use crate::gate::{LimitDecision, Mode, Stuck};
use crate::pipeline::draft::keep;
use crate::pipeline::draft_count;
use crate::pipeline::draft_state::Next;
use crate::pipeline::files::approved_content;
use crate::pipeline::limits::answers::{failure, said_of};
use crate::pipeline::limits::blocked::other_way;
use crate::pipeline::limits::repetition::STRIKES;
use crate::pipeline::outcome::{self, BlockReason, Request, StageEnd, WayBack};
use crate::pipeline::review::{self, shown, waiting};
use crate::pipeline::run::Run;
use crate::pipeline::step::{Step, StepResult, Stop};
use crate::record::{self, DraftEnding};
use crate::session::{Asks, RefNames};
use crate::stage::Stage;
use crate::stages::{Approves, StageSpec};

/// Maximum characters of the actor's words that are shown where it saved nothing.
const SAID: usize = 200;

/// Decides whether there may be another draft; a person may allow more.
pub(crate) fn may_draft(step: &Step<'_, '_>) -> StepResult {
    if step.draft.next == Next::RestOfDraft {
        // The draft was allowed when it was started.
        return Ok(());
    }
    let feedback = step.run.feedback_so_far()?;
    if is_rejected(step, &feedback) {
        let why = "the challenger rejected the draft".to_owned();
        return Err(Stop::Blocked(BlockReason::Rejected(why)));
    }
    let circle = repetition::repetition(step, &feedback)?;
    if let Some(circle) = circle {
        let text = format!("{} {}", number(circle.strikes), circle.what);
        if circle.strikes >= STRIKES {
            return Err(Stop::Blocked(BlockReason::Repetition(text)));
        }
        step.run.warn(format!("{}: {text}", step.spec.stage));
    }
    if draft_count::counted(step)? < draft_count::limit(step)? {
        return Ok(());
    }
    Err(Stop::Blocked(BlockReason::Drafts))
}

/// True if the newest draft was rejected for good, and no person has given feedback since.
fn is_rejected(step: &Step<'_, '_>, feedback: &[Feedback]) -> bool {
    let mut newest = feedback.iter().rev().filter(|entry| {
        (entry.stage, entry.iteration) == (step.spec.stage, step.draft.iteration)
            && (entry.is_rejection() || entry.is_persons_word())
    });
    newest.next().is_some_and(Feedback::is_rejection)
}

/// Handles a role's question or its request to go back. On a terminal a person decides, at the gate
/// because the present draft may be the answer. With `wait` the draft waits for a person; with
/// `auto` it waits if the role has a question, and the session goes back if the role requests it.
pub(crate) async fn request(step: &mut Step<'_, '_>, wish: Request) -> StepResult {
    match wish {
        Request::Answer(question) => ask_about(step, question).await,
        Request::GoBack(asked) if step.run.env.mode == Mode::Auto => {
            if record::attempt::replans(&step.run.recorder())?
                >= step.run.env.config.limits.max_replans
            {
                return Err(Stop::Blocked(BlockReason::Replans(asked)));
            }
            Err(Stop::go_back(WayBack::followed(asked)))
        }
        Request::GoBack(asked) => ask_about(step, asked.words()).await,
    }
}

/// Asks a person to answer a model's question, or to look at the draft for the given reason.
async fn ask_about(step: &mut Step<'_, '_>, why: String) -> StepResult {
    if step.run.env.mode == Mode::Ask {
        return read_draft(step, why).await;
    }
    leave_blocked(step, &BlockReason::Asked(why.clone()), &why)
}

/// Lets the draft wait on the branch for an answer without which the stage cannot go on.
fn leave_blocked(step: &mut Step<'_, '_>, why: &BlockReason, words: &str) -> StepResult {
    step.draft.next = Next::Review;
    let used = draft_count::counted(step)?;
    step.draft.gate.blocked = Some(why.render(used, words));
    match waiting::leave_waiting(step, Some(words.to_owned())) {
        Err(Stop::Ends(StageEnd::Waiting(_))) => {
            Err(Stop::Ends(answers::end_of_waiting(step.run, step.spec)?))
        }
        result => result,
    }
}

/// True if a person who passes the draft decides in a judge's place, because one has refused it.
fn is_refused_by_judge(step: &Step<'_, '_>) -> anyhow::Result<bool> {
    let refused_by =
        |judge| draft_count::has_refused(step.run, step.spec, step.draft.iteration, judge);
    Ok(refused_by(Origin::Critic)? || refused_by(Origin::Challenger)?)
}

/// Asks a person how to continue, or ends the run if there is nobody to ask.
pub(crate) async fn stuck(step: &mut Step<'_, '_>, why: BlockReason) -> StepResult {
    let limit = draft_count::limit(step)?;
    let used = draft_count::counted(step)?;
    let words = why.words(used, step.run.env.config.limits.max_replans);
    if matches!(why, BlockReason::Replans(_)) && step.draft.gate.critic_asks {
        step.draft.gate.asks = Some(words.clone());
        keep::mark(step, step.draft.iteration, DraftEnding::Whole);
    }
    // The configured limit, so that `status` can tell whether it was raised since.
    let note = why.render(used.max(step.run.env.config.iterations(step.spec.stage)), &words);
    if let Some(current) = step.run.current_draft.borrow_mut().as_mut() {
        current.notes.stuck = Some(note.clone());
    }
    let mut reasons = said_of(&step.run.feedback_so_far()?, step.spec.stage, step.draft.iteration);
    reasons.extend(without_document(step)?);
    let title = why.title(used, limit);
    if matches!(why, BlockReason::NoVerdict(..)) && step.run.env.gate.is_some() {
        // The draft is not at fault: who reads it decides in the critic's place.
        step.draft.gate.ask_again(&note);
        return read_draft(step, words).await;
    }
    if why != BlockReason::Drafts {
        alert(step.run, step.spec.stage, &title, &words);
    }
    let has_draft = step.draft.iteration > step.draft.offset;
    let Some(decision) = ask_what_now(step.run, step.spec, &title, &reasons, has_draft)? else {
        return nobody_there(step, &why, &words, &reasons);
    };
    let words = match (decision, &why) {
        (LimitDecision::Retry, BlockReason::Replans(_)) => "do not go back: do it here".to_owned(),
        (LimitDecision::Retry, _) => outcome::TRY_AGAIN.to_owned(),
        (LimitDecision::Guide(text), _) => text,
        (LimitDecision::Review, _) => {
            // If a person reviews a draft that a judge refused, the person's decision replaces
            // the judge's.
            step.draft.gate.critic_asks |= is_refused_by_judge(step)?;
            if !matches!(why, BlockReason::Replans(_)) {
                step.draft.gate.blocked = Some(note);
            }
            return read_draft(step, words).await;
        }
        (LimitDecision::GoBack(stage), _) => {
            let request = match why {
                BlockReason::Replans(asked) => Some(asked),
                _ => None,
            };
            return Err(Stop::go_back(WayBack::decided(step.spec.stage, stage, &words, request)));
        }
        (LimitDecision::Abort, _) => {
            waiting::drop_draft(step)?;
            return Err(outcome::aborted(step.spec).into());
        }
        (LimitDecision::Stop, _) => return Err(outcome::undecided(step.spec.stage).into()),
    };
    // A person's feedback restarts the count.
    step.run.give_feedback(vec![step.feedback(Origin::Human, &words)])?;
    step.draft.gate.asks = None;
    step.draft.refusals = 0;
    if has_draft {
        keep::keep(step)?;
    }
    step.draft.next = Next::Draft;
    Err(Stop::Again)
}

/// Opens the gate on the present draft: a person's review, after all automatic ones.
pub(crate) async fn read_draft(step: &mut Step<'_, '_>, note: String) -> StepResult {
    step.draft.next = Next::Review;
    // If the run ends before the person has answered, for whatever reason, the next one must
    // ask again: the person, or the judge that gave no verdict.
    step.draft.gate.asks = (!step.draft.gate.asks_again).then(|| note.clone());
    let question = || BlockReason::Asked(note.clone()).render(0, &note);
    step.draft.gate.blocked.get_or_insert_with(question);
    step.draft.gate.note = Some(note);
    keep::keep(step)?;
    review::open_gate(step).await?;
    Err(Stop::Again)
}

/// True if a role asks a person: `the critic says: …`, `the actor asks: …`. A person is asked about
/// a role that wants to go back, too, but that is not a question.
fn is_question(why: &BlockReason) -> bool {
    let BlockReason::Asked(words) = why else { return false };
    let role = words.split_once(": ").map_or("", |(who, _)| who);
    role.ends_with(" says") || role.ends_with(" asks")
}

/// Without a terminal: the draft waits for an answer if reviews wait, or if a role asks for a
/// person. Such a question is no failure (exit code 3); everything else is (exit code 1).
fn nobody_there(
    step: &mut Step<'_, '_>,
    why: &BlockReason,
    words: &str,
    said: &[String],
) -> StepResult {
    // A task without a change is asked about again by `resume`, and needs no answer.
    let needs_none = matches!(why, BlockReason::Unchanged(_));
    let waits = step.run.env.mode == Mode::Wait || is_question(why);
    if waits && !needs_none {
        step.draft.gate.critic_asks |=
            matches!(why, BlockReason::NoVerdict(..)) || is_refused_by_judge(step)?;
        return leave_blocked(step, why, words);
    }
    let (stage, name) = (step.spec.stage, &step.run.session.name);
    let resume = match why {
        BlockReason::NoVerdict(..) | BlockReason::Unchanged(_) => {
            "nothing is lost; ask again: git cowork resume"
        }
        _ => "nothing is lost; on a terminal, choose how to continue: git cowork resume",
    };
    let kind = why.render(0, "");
    let other = other_way(kind.trim_end(), stage, step.run.env.config, name);
    let wait = other_way("", stage, step.run.env.config, name);
    let mut error = failure(stage, words, said).hint(resume);
    if other != wait && !needs_none {
        error = error.hint(wait);
    }
    error = error.hint(other).hint(match step.spec.approves {
        _ if needs_none => format!(
            "or write it yourself and commit it (git commit), then: git cowork resume {name}"
        ),
        Approves::Tree => format!("or edit the code yourself, then: git cowork resume {name}"),
        Approves::Artifacts => format!(
            "or, to edit the draft yourself before you resume: git restore --source={} -- {}",
            RefNames::draft(name, stage),
            step.run.session.name.artifact_dir()
        ),
    });
    Err(error.into())
}

/// Asks what to do; `None` if nobody can be asked.
pub(crate) fn ask_what_now(
    run: &Run<'_>,
    spec: &StageSpec,
    title: &str,
    said: &[String],
    has_draft: bool,
) -> anyhow::Result<Option<LimitDecision>> {
    let Some(gate) = &run.env.gate else { return Ok(None) };
    let iteration = run.current_draft.borrow().as_ref().map_or(0, |draft| draft.iteration);
    let earlier = run.session.earlier(spec.stage);
    let more = run.env.config.iterations(spec.stage);
    let stage = spec.stage;
    let lacks = shown::missing(run, spec)?;
    let question =
        Stuck { stage, title, reasons: said, more, has_draft, lacks: &lacks, earlier: &earlier };
    let menu = Asks::Menu { title: title.to_owned(), keys: question.choices() };
    let tree = run.tree()?;
    approved_content::open_gate(run, spec, &tree, iteration, (menu, said.to_vec()))?;
    let decision = gate.stuck(&question);
    run.env.gates.close(None);
    decision.map(Some)
}

/// What the actor did instead of saving its document, if the draft has none: many small models
/// write the document as their answer and call no tool.
fn without_document(step: &Step<'_, '_>) -> anyhow::Result<Option<String>> {
    let missing = shown::missing(step.run, step.spec)?.first().copied();
    let (Some(missing), Some(document)) = (missing, step.spec.document()) else {
        return Ok(None);
    };
    let tool = document.save_tool();
    Ok(Some(match clean::one_line(&step.draft.words, SAID).as_str() {
        "" => format!("the actor did not call {tool}, and said nothing: there is no {missing}"),
        said => {
            format!("the actor did not call {tool}, so there is no {missing}; it only said: {said}")
        }
    }))
}

/// Shows a boxed warning.
pub(crate) fn alert(run: &Run<'_>, stage: Stage, title: &str, words: &str) {
    let title = format!("{stage}: {title}");
    run.env.sink.emit(Event::Alert { title, text: words.to_owned() });
}

fn number(count: u32) -> String {
    match count {
        2 => "two".to_owned(),
        3 => "three".to_owned(),
        4 => "four".to_owned(),
        5 => "five".to_owned(),
        more => more.to_string(),
    }
}
