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
use crate::pipeline::files::open_gate;
use crate::pipeline::limits::answers::{failure, said_of};
use crate::pipeline::limits::blocked::other_way;
use crate::pipeline::limits::repetition::STRIKES;
use crate::pipeline::outcome::{self, BlockReason, Request, StageEnd, StepOutcome, WayBack};
use crate::pipeline::progress::{self, Next, Progress};
use crate::pipeline::review::{self, shown, waiting};
use crate::pipeline::run::Run;
use crate::record::{self, DraftEnding};
use crate::session::{Asks, RefNames};
use crate::stage::Stage;
use crate::stages::{Approves, StageSpec};

/// Maximum characters of the actor's words that are shown where it saved nothing.
const SAID: usize = 200;

/// Decides whether there may be another draft; a person may allow more.
pub(crate) fn may_draft(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<StepOutcome> {
    if progress.next == Next::RestOfDraft {
        // The draft was allowed when it was started.
        return Ok(StepOutcome::Next);
    }
    let feedback = run.feedback_so_far()?;
    if rejection(&feedback, spec.stage, progress) {
        let why = "the challenger rejected the draft".to_owned();
        return Ok(StepOutcome::Blocked(BlockReason::Rejected(why)));
    }
    let circle = repetition::repetition(run, spec, progress, &feedback)?;
    if let Some(circle) = circle {
        let text = format!("{} {}", number(circle.strikes), circle.what);
        if circle.strikes >= STRIKES {
            return Ok(StepOutcome::Blocked(BlockReason::Repetition(text)));
        }
        run.warn(format!("{}: {text}", spec.stage));
    }
    if progress::counted(run, spec, progress)? < progress::limit(run, spec, progress)? {
        return Ok(StepOutcome::Next);
    }
    Ok(StepOutcome::Blocked(BlockReason::Drafts))
}

/// True if the newest draft was rejected for good, and no person has given feedback since.
fn rejection(feedback: &[Feedback], stage: Stage, progress: &Progress) -> bool {
    let mut newest = feedback.iter().rev().filter(|entry| {
        (entry.stage, entry.iteration) == (stage, progress.iteration)
            && (entry.is_rejection() || entry.is_persons_word())
    });
    newest.next().is_some_and(Feedback::is_rejection)
}

/// Handles a role's question or its request to go back. On a terminal a person decides, at the gate
/// because the present draft may be the answer. With `wait` the draft waits for a person; with
/// `auto` it waits if the role has a question, and the session goes back if the role requests it.
pub(crate) async fn request(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    wish: Request,
) -> anyhow::Result<StepOutcome> {
    match wish {
        Request::Answer(question) => ask_about(run, spec, progress, question).await,
        Request::GoBack(asked) if run.env.mode == Mode::Auto => {
            if record::attempt::replans(&run.recorder())? >= run.env.config.limits.max_replans {
                return Ok(StepOutcome::Blocked(BlockReason::Replans(asked)));
            }
            Ok(StepOutcome::Ends(StageEnd::GoBack(WayBack::followed(asked))))
        }
        Request::GoBack(asked) => ask_about(run, spec, progress, asked.words()).await,
    }
}

/// Asks a person to answer a model's question, or to look at the draft for the given reason.
async fn ask_about(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    why: String,
) -> anyhow::Result<StepOutcome> {
    if run.env.mode == Mode::Ask {
        return read_draft(run, spec, progress, why).await;
    }
    leave_blocked(run, spec, progress, &BlockReason::Asked(why.clone()), &why)
}

/// Lets the draft wait on the branch for an answer without which the stage cannot go on.
fn leave_blocked(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    why: &BlockReason,
    words: &str,
) -> anyhow::Result<StepOutcome> {
    progress.next = Next::Review;
    let used = progress::counted(run, spec, progress)?;
    progress.gate.blocked = Some(why.render(used, words));
    match waiting::leave_waiting(run, spec, progress, Some(words.to_owned()))? {
        StepOutcome::Ends(StageEnd::Waiting(_)) => {
            answers::end_of_waiting(run, spec).map(StepOutcome::Ends)
        }
        other => Ok(other),
    }
}

/// True if a person who passes the draft decides in a judge's place, because one has refused it.
fn is_refused_by_judge(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<bool> {
    Ok(progress::has_refused(run, spec, progress, Origin::Critic)?
        || progress::has_refused(run, spec, progress, Origin::Challenger)?)
}

/// Asks a person how to continue, or ends the run if there is nobody to ask.
pub(crate) async fn stuck(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    why: BlockReason,
) -> anyhow::Result<StepOutcome> {
    let limit = progress::limit(run, spec, progress)?;
    let used = progress::counted(run, spec, progress)?;
    let words = why.words(used, run.env.config.limits.max_replans);
    if matches!(why, BlockReason::Replans(_)) && progress.gate.critic_asks {
        progress.gate.asks = Some(words.clone());
        keep::mark(run, progress, progress.iteration, DraftEnding::Whole);
    }
    // The configured limit, so that `status` can tell whether it was raised since.
    let noted = why.render(used.max(run.env.config.iterations(spec.stage)), &words);
    if let Some(current) = run.current_draft.borrow_mut().as_mut() {
        current.notes.stuck = Some(noted.clone());
    }
    let mut said = said_of(&run.feedback_so_far()?, spec.stage, progress.iteration);
    said.extend(without_document(run, spec, progress)?);
    let title = why.title(used, limit);
    if matches!(why, BlockReason::NoVerdict(..)) && run.env.gate.is_some() {
        // The draft is not at fault: who reads it decides in the critic's place.
        progress.gate.ask_again(&noted);
        return read_draft(run, spec, progress, words).await;
    }
    if why != BlockReason::Drafts {
        alert(run, spec.stage, &title, &words);
    }
    let has_draft = progress.iteration > progress.offset;
    let Some(decision) = ask_what_now(run, spec, &title, &said, has_draft)? else {
        return nobody_there(run, spec, progress, &why, &words, &said);
    };
    let words = match (decision, &why) {
        (LimitDecision::Retry, BlockReason::Replans(_)) => "do not go back: do it here".to_owned(),
        (LimitDecision::Retry, _) => outcome::TRY_AGAIN.to_owned(),
        (LimitDecision::Guide(text), _) => text,
        (LimitDecision::Review, _) => {
            // If a person reviews a draft that a judge refused, the person's decision replaces
            // the judge's.
            progress.gate.critic_asks |= is_refused_by_judge(run, spec, progress)?;
            if !matches!(why, BlockReason::Replans(_)) {
                progress.gate.blocked = Some(noted);
            }
            return read_draft(run, spec, progress, words).await;
        }
        (LimitDecision::GoBack(stage), _) => {
            let asked = match why {
                BlockReason::Replans(asked) => Some(asked),
                _ => None,
            };
            let way = WayBack::decided(spec.stage, stage, &words, asked);
            return Ok(StepOutcome::Ends(StageEnd::GoBack(way)));
        }
        (LimitDecision::Abort, _) => {
            waiting::drop_draft(run, spec, progress)?;
            return Err(outcome::aborted(spec).into());
        }
        (LimitDecision::Stop, _) => return Err(outcome::undecided(spec.stage).into()),
    };
    // A person's feedback restarts the count.
    let entry = run.feedback(spec.stage, progress.iteration, Origin::Human, &words);
    run.give_feedback(vec![entry])?;
    progress.gate.asks = None;
    progress.refusals = 0;
    if has_draft {
        keep::keep(run, spec, progress)?;
    }
    progress.next = Next::Draft;
    Ok(StepOutcome::Again)
}

/// Opens the gate on the present draft: a person's review, after all automatic ones.
pub(crate) async fn read_draft(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    note: String,
) -> anyhow::Result<StepOutcome> {
    progress.next = Next::Review;
    // If the run ends before the person has answered, for whatever reason, the next one must
    // ask again: the person, or the judge that gave no verdict.
    progress.gate.asks = (!progress.gate.asks_again).then(|| note.clone());
    let asked = || BlockReason::Asked(note.clone()).render(0, &note);
    progress.gate.blocked.get_or_insert_with(asked);
    progress.gate.note = Some(note);
    keep::keep(run, spec, progress)?;
    Ok(match review::open_gate(run, spec, progress).await? {
        StepOutcome::Next => StepOutcome::Again,
        other => other,
    })
}

/// True if a role asks a person: `the critic says: …`, `the actor asks: …`. A person is asked about
/// a role that wants to go back, too, but that is not a question.
fn is_question(why: &BlockReason) -> bool {
    let BlockReason::Asked(words) = why else { return false };
    let who = words.split_once(": ").map_or("", |(who, _)| who);
    who.ends_with(" says") || who.ends_with(" asks")
}

/// Without a terminal: the draft waits for an answer if reviews wait, or if a role asks for a
/// person. Such a question is no failure (exit code 3); everything else is (exit code 1).
fn nobody_there(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    why: &BlockReason,
    words: &str,
    said: &[String],
) -> anyhow::Result<StepOutcome> {
    // A task without a change is asked about again by `resume`, and needs no answer.
    let needs_none = matches!(why, BlockReason::Unchanged(_));
    let waits = run.env.mode == Mode::Wait || is_question(why);
    if waits && !needs_none {
        progress.gate.critic_asks |=
            matches!(why, BlockReason::NoVerdict(..)) || is_refused_by_judge(run, spec, progress)?;
        return leave_blocked(run, spec, progress, why, words);
    }
    let (stage, name) = (spec.stage, &run.session.name);
    let resume = match why {
        BlockReason::NoVerdict(..) | BlockReason::Unchanged(_) => {
            "nothing is lost; ask again: git cowork resume"
        }
        _ => "nothing is lost; on a terminal, choose how to continue: git cowork resume",
    };
    let noted = why.render(0, "");
    let other = other_way(noted.trim_end(), stage, run.env.config, name);
    let wait = other_way("", stage, run.env.config, name);
    let mut error = failure(stage, words, said).hint(resume);
    if other != wait && !needs_none {
        error = error.hint(wait);
    }
    error = error.hint(other).hint(match spec.approves {
        _ if needs_none => format!(
            "or write it yourself and commit it (git commit), then: git cowork resume {name}"
        ),
        Approves::Tree => format!("or edit the code yourself, then: git cowork resume {name}"),
        Approves::Artifacts => format!(
            "or, to edit the draft yourself before you resume: git restore --source={} -- {}",
            RefNames::draft(name, stage),
            run.session.name.artifact_dir()
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
    let asked =
        Stuck { stage, title, reasons: said, more, has_draft, lacks: &lacks, earlier: &earlier };
    let menu = Asks::Menu { title: title.to_owned(), keys: asked.choices() };
    let tree = run.recorder().tree(&run.session.tip)?;
    open_gate::open(run, spec, &tree, iteration, (menu, said.to_vec()))?;
    let decision = gate.stuck(&asked);
    run.env.gates.close(None);
    decision.map(Some)
}

/// What the actor did instead of saving its document, if the draft has none: many small models
/// write the document as their answer and call no tool.
fn without_document(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<Option<String>> {
    let (Some(missing), Some(document)) =
        (shown::missing(run, spec)?.first().copied(), spec.document())
    else {
        return Ok(None);
    };
    let tool = document.save_tool();
    Ok(Some(match clean::one_line(&progress.newest.words, SAID).as_str() {
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
