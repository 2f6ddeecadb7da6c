//! Situations in which a person must decide: a role has a request, the drafts are used up, a stage
//! repeats itself, a role asks for a person or makes no progress. Without a person the session
//! waits or fails, and all work is saved.

pub(crate) mod blocked;
pub(crate) mod repetition;

use crate::artifact::{Feedback, Origin};
use crate::error::Error;
use crate::event::Event;
use crate::gate::{LimitDecision, Mode, Stuck};
use crate::markers::without_markers;
use crate::pipeline::draft::keep;
use crate::pipeline::files::open_gate;
use crate::pipeline::limits::blocked::other_way;
use crate::pipeline::limits::repetition::STRIKES;
use crate::pipeline::outcome::{self, BlockReason, Request, StageEnd, StepOutcome, WayBack};
use crate::pipeline::progress::{self, Next, Progress};
use crate::pipeline::review::{self, waiting};
use crate::pipeline::run::Run;
use crate::record::{self, DraftEnding};
use crate::session::{Asks, RefNames};
use crate::stage::Stage;
use crate::stages::{Approves, StageSpec};

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
    if progress::counted(run, spec, progress)? < run.env.config.iterations(spec.stage) {
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
    progress.next = Next::Review;
    waiting::leave_waiting(run, spec, progress, Some(why))
}

/// Asks a person how to continue, or ends the run if there is nobody to ask.
pub(crate) async fn stuck(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    why: BlockReason,
) -> anyhow::Result<StepOutcome> {
    let limit = run.env.config.iterations(spec.stage);
    let used = progress::counted(run, spec, progress)?;
    let words = why.words(used, run.env.config.limits.max_replans);
    if matches!(why, BlockReason::Replans(_)) && progress.gate.critic_asks {
        progress.gate.asks = Some(words.clone());
        keep::mark(run, progress, progress.iteration, DraftEnding::Whole);
    }
    if let Some(current) = run.current_draft.borrow_mut().as_mut() {
        current.stuck = Some(why.render(used, &words));
    }
    let said = said_of(&run.feedback_so_far()?, spec.stage, progress.iteration);
    let title = why.title(used, limit);
    if matches!(why, BlockReason::NoVerdict(..)) && run.env.gate.is_some() {
        // The draft is not at fault: who reads it decides in the critic's place.
        progress.gate.critic_asks = true;
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
        (LimitDecision::Retry, _) => "try again".to_owned(),
        (LimitDecision::Guide(text), _) => text,
        (LimitDecision::Review, _) => {
            // If a person reviews a draft that a judge refused, the person's decision replaces
            // the judge's.
            progress.gate.critic_asks |=
                progress::has_refused(run, spec, progress, Origin::Critic)?
                    || progress::has_refused(run, spec, progress, Origin::Challenger)?;
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
    // ask again.
    progress.gate.asks = Some(note.clone());
    progress.gate.note = Some(note);
    keep::keep(run, spec, progress)?;
    Ok(match review::open_gate(run, spec, progress).await? {
        StepOutcome::Next => StepOutcome::Again,
        other => other,
    })
}

/// Without a terminal: a request for a person waits if reviews wait (exit code 3); everything else
/// fails (exit code 1).
fn nobody_there(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    why: &BlockReason,
    words: &str,
    said: &[String],
) -> anyhow::Result<StepOutcome> {
    let asks = matches!(why, BlockReason::Asked(_) | BlockReason::Astray(_));
    if asks && run.env.mode == Mode::Wait {
        progress.next = Next::Review;
        return waiting::leave_waiting(run, spec, progress, Some(words.to_owned()));
    }
    let (stage, name) = (spec.stage, &run.session.name);
    let mut message = format!("{stage}: {words}");
    if !said.is_empty() {
        message = format!("{message}; the last feedback:\n{}", said.join("\n"));
    }
    let resume = match why {
        BlockReason::NoVerdict(..) | BlockReason::Unchanged(_) => {
            "nothing is lost; ask again: git cowork resume"
        }
        _ => "nothing is lost; on a terminal, choose how to continue: git cowork resume",
    };
    let mut error = Error::failed(message).hint(resume);
    let noted = why.render(0, "");
    let kind = noted.trim_end();
    error = error.hint(other_way(kind, stage, run.env.config, name));
    error = error.hint(match spec.approves {
        _ if matches!(why, BlockReason::Unchanged(_)) => format!(
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
    let asked = Stuck { stage, title, reasons: said, more, has_draft, earlier: &earlier };
    let menu = Asks::Menu { title: title.to_owned(), keys: asked.choices() };
    let tree = run.recorder().tree(&run.session.tip)?;
    open_gate::open(run, spec, &tree, iteration, (menu, said.to_vec()))?;
    let decision = gate.stuck(&asked);
    run.env.gates.close(None);
    decision.map(Some)
}

/// Shows a boxed warning.
pub(crate) fn alert(run: &Run<'_>, stage: Stage, title: &str, words: &str) {
    let title = format!("{stage}: {title}");
    run.env.sink.emit(Event::Alert { title, text: words.to_owned() });
}

/// The feedback on a draft, one or more lines for each entry.
pub(crate) fn said_of(feedback: &[Feedback], stage: Stage, iteration: u32) -> Vec<String> {
    let of_draft = |entry: &&Feedback| {
        entry.stage == stage && entry.iteration == iteration && !entry.is_note()
    };
    let line = |entry: &Feedback| {
        format!("[{}] {}", entry.from.name(), without_markers(&entry.details).trim())
    };
    feedback.iter().filter(of_draft).map(line).collect()
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
