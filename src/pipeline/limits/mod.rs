//! When a person has to say how it goes on: a role has a wish, drafts have run out, a stage goes round in
//! a circle, a role asks for a person or has gone astray. Without a person the session waits or fails,
//! and everything is kept.

pub(crate) mod blocked;
pub(crate) mod repetition;

use crate::artifact::{Feedback, Origin};
use crate::error::Error;
use crate::event::Event;
use crate::gate::{LimitDecision, Mode, Stuck};
use crate::markers::without_markers;
use crate::pipeline::Pipeline;
use crate::pipeline::history::rewind::{Asked, WayBack};
use crate::pipeline::limits::blocked::other_way;
use crate::pipeline::limits::repetition::STRIKES;
use crate::pipeline::progress::Progress;
use crate::pipeline::stage_loop::{StageEnd, Turned};
use crate::pipeline::table::{Approves, StageSpec};
use crate::record::DraftEnding;
use crate::session::RefNames;
use crate::stage::Stage;

/// Why a stage cannot go on by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Its drafts are used up.
    Drafts,
    /// It goes round in this circle.
    Circle(String),
    /// A role asks for a person, with these words.
    Asked(String),
    /// A role's run got nowhere: its calls fail, are refused or repeat.
    Astray(String),
    /// Roles want to go back more often than they may.
    Replans(Asked),
}

/// What a role wants beside its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Back to an earlier stage.
    GoBack(Asked),
    /// An answer to this question.
    Answer(String),
}

impl Why {
    /// One line for the box, the menu's header and the error.
    fn title(&self, used: u32, limit: u32) -> String {
        match self {
            Self::Drafts => format!("no drafts left ({used}/{limit})"),
            Self::Circle(_) => "going round in a circle".to_owned(),
            Self::Asked(_) => "a person is asked for".to_owned(),
            Self::Astray(_) => "getting nowhere".to_owned(),
            Self::Replans(_) => "going back again and again".to_owned(),
        }
    }

    fn words(&self, used: u32, max_replans: u32) -> String {
        match self {
            Self::Drafts if used == 1 => "the only draft was refused".to_owned(),
            Self::Drafts => format!("{used} drafts were refused"),
            Self::Circle(what) | Self::Asked(what) | Self::Astray(what) => what.clone(),
            Self::Replans(asked) => {
                format!("{} (once more, and {max_replans} times is the limit)", asked.words())
            }
        }
    }
}

impl Pipeline<'_> {
    /// Whether there may be another draft; a person may grant more.
    pub(crate) fn may_draft(
        &self,
        spec: &StageSpec,
        progress: &Progress,
    ) -> anyhow::Result<Turned> {
        if progress.unfinished {
            // It was allowed when it was begun.
            return Ok(Turned::On);
        }
        let feedback = self.feedback_so_far()?;
        let circle = self.circle(spec, progress, &feedback)?;
        if let Some(circle) = circle {
            let text = format!("{} {}", number(circle.strikes), circle.what);
            if circle.strikes >= STRIKES {
                return Ok(Turned::Stuck(Why::Circle(text)));
            }
            self.warn(format!("{}: {text}", spec.stage));
        }
        if self.counted(spec, progress)? < self.env.config.iterations(spec.stage) {
            return Ok(Turned::On);
        }
        Ok(Turned::Stuck(Why::Drafts))
    }

    /// A role's wish for an answer or for an earlier stage: people decide where they can be asked,
    /// `wait` leaves it to them, `auto` goes back by itself. The gate opens, for the draft as it is
    /// may be the answer.
    pub(crate) fn wish(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
        wish: Wish,
    ) -> anyhow::Result<Turned> {
        match wish {
            Wish::Answer(question) => self.ask_about(spec, progress, question),
            Wish::GoBack(asked) if self.env.mode == Mode::Auto => {
                if self.recorder().replans()? >= self.env.config.limits.max_replans {
                    return Ok(Turned::Stuck(Why::Replans(asked)));
                }
                Ok(Turned::Ends(StageEnd::GoBack(WayBack::followed(asked))))
            }
            Wish::GoBack(asked) => self.ask_about(spec, progress, asked.words()),
        }
    }

    /// Puts a question of a model, or a reason to look, before a person.
    fn ask_about(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
        why: String,
    ) -> anyhow::Result<Turned> {
        if self.env.mode == Mode::Ask {
            return self.read_draft(spec, progress, why);
        }
        progress.needs_draft = false;
        self.leave_waiting(spec, progress, Some(why))
    }

    /// Puts what to do before a person, or ends the run where there is none.
    pub(crate) fn stuck(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
        why: Why,
    ) -> anyhow::Result<Turned> {
        let limit = self.env.config.iterations(spec.stage);
        let used = self.counted(spec, progress)?;
        let words = why.words(used, self.env.config.limits.max_replans);
        if matches!(why, Why::Replans(_)) && progress.critic_asks {
            progress.asks = Some(words.clone());
            self.mark(progress, progress.iteration, DraftEnding::Whole);
        }
        if let Some(under_way) = self.under_way.borrow_mut().as_mut() {
            under_way.stuck = Some(why.render(used, &words));
        }
        let said = said_of(&self.feedback_so_far()?, spec.stage, progress.iteration);
        let title = why.title(used, limit);
        if why != Why::Drafts {
            self.alert(spec.stage, &title, &words);
        }
        let has_draft = progress.iteration > progress.offset;
        let Some(decision) = self.ask_what_now(spec, &title, &said, has_draft)? else {
            return self.nobody_there(spec, progress, &why, &words, &said);
        };
        let words = match (decision, &why) {
            (LimitDecision::Retry, Why::Replans(_)) => "do not go back: do it here".to_owned(),
            (LimitDecision::Retry, _) => "try again".to_owned(),
            (LimitDecision::Guide(text), _) => text,
            (LimitDecision::Review, _) => {
                let from_critic = |entry: &Feedback| {
                    entry.from == Origin::Critic
                        && entry.stage == spec.stage
                        && entry.iteration == progress.iteration
                };
                // Whoever reads the draft after the critic has refused it decides in its place.
                progress.critic_asks |= self.feedback_so_far()?.iter().any(from_critic);
                return self.read_draft(spec, progress, words);
            }
            (LimitDecision::GoBack(stage), _) => {
                let asked = match why {
                    Why::Replans(asked) => Some(asked),
                    _ => None,
                };
                let way = WayBack::decided(spec.stage, stage, &words, asked);
                return Ok(Turned::Ends(StageEnd::GoBack(way)));
            }
            (LimitDecision::Abort, _) => {
                self.drop_draft(spec, progress)?;
                return Err(self.aborted(spec).into());
            }
            (LimitDecision::Stop, _) => return Err(self.undecided(spec.stage).into()),
        };
        // A person's word starts the count anew.
        let entry = self.feedback(spec.stage, progress.iteration, Origin::Human, &words);
        self.give_feedback(vec![entry])?;
        progress.asks = None;
        progress.refusals = 0;
        if has_draft {
            self.keep(spec, progress)?;
        }
        progress.needs_draft = true;
        Ok(Turned::Again)
    }

    /// Opens the gate of the draft as it is: the person's tier behind all automatic ones (row K8).
    pub(crate) fn read_draft(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
        note: String,
    ) -> anyhow::Result<Turned> {
        progress.needs_draft = false;
        // Whatever ends the run before the person has answered, the next one must ask again.
        progress.asks = Some(note.clone());
        progress.note = Some(note);
        self.keep(spec, progress)?;
        Ok(match self.open_gate(spec, progress)? {
            Turned::On => Turned::Again,
            other => other,
        })
    }

    /// Without a terminal: what asks for a person waits for one where reviews wait; all else has
    /// failed (contract 4, exits 3 and 1).
    fn nobody_there(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
        why: &Why,
        words: &str,
        said: &[String],
    ) -> anyhow::Result<Turned> {
        let asks = matches!(why, Why::Asked(_) | Why::Astray(_));
        if asks && self.env.mode == Mode::Wait {
            progress.needs_draft = false;
            return self.leave_waiting(spec, progress, Some(words.to_owned()));
        }
        let (stage, name) = (spec.stage, &self.session.name);
        let mut message = format!("{stage}: {words}");
        if !said.is_empty() {
            message = format!("{message}; the last feedback:\n{}", said.join("\n"));
        }
        let resume = "everything is kept; say what to do: git cowork resume on a terminal";
        let mut error = Error::failed(message).hint(resume);
        let noted = why.render(0, "");
        let kind = noted.trim_end();
        error = error.hint(other_way(kind, stage, self.env.config, name));
        error = error.hint(match spec.approves {
            Approves::Tree => format!("or edit the code yourself, then: git cowork resume {name}"),
            Approves::Artifacts => format!(
                "or edit the draft yourself, then resume: git restore --source={} -- {}",
                RefNames::draft(name, stage),
                self.session.name.artifact_dir()
            ),
        });
        Err(error.into())
    }

    /// Asks what to do; `None` where nobody can be asked.
    pub(crate) fn ask_what_now(
        &self,
        spec: &StageSpec,
        title: &str,
        said: &[String],
        has_draft: bool,
    ) -> anyhow::Result<Option<LimitDecision>> {
        let Some(gate) = &self.env.gate else { return Ok(None) };
        let earlier = self.session.earlier(spec.stage);
        let more = self.env.config.iterations(spec.stage);
        let stage = spec.stage;
        let asked = Stuck { stage, title, reasons: said, more, has_draft, earlier: &earlier };
        gate.stuck(&asked).map(Some)
    }

    /// The boxed warning (row J6).
    pub(crate) fn alert(&self, stage: Stage, title: &str, words: &str) {
        let title = format!("{stage}: {title}");
        self.env.sink.emit(Event::Alert { title, text: words.to_owned() });
    }

    pub(crate) fn aborted(&self, spec: &StageSpec) -> Error {
        Error::failed(format!("{} was aborted; everything is kept", spec.stage))
            .hint(format!("git cowork resume {}", spec.stage.after_abort()))
    }

    /// A person has looked and decided nothing.
    pub(crate) fn undecided(&self, stage: Stage) -> Error {
        Error::waiting(format!("{stage} waits for your decision; everything is kept"))
            .hint("decide: git cowork resume")
    }
}

/// What was said about a draft, a line or more each.
pub(crate) fn said_of(feedback: &[Feedback], stage: Stage, iteration: u32) -> Vec<String> {
    let of_draft = |entry: &&Feedback| entry.stage == stage && entry.iteration == iteration;
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
