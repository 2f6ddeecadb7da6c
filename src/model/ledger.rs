//! The ledger: every request of a session on this machine, as JSON lines in the state directory. A
//! request is recorded before it is sent and again when it is answered, so that a killed process
//! loses no costs.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::Position;
use crate::clock;
use crate::spent::Spent;
use crate::stage::{Role, Stage};

/// The purpose of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestPlace {
    /// Tip of the session's branch when the request was sent.
    pub on: String,
    /// Stage; none in the first request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Role.
    pub role: Role,
    /// Draft number.
    pub iteration: u32,
    /// Task id, in coding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Turn of the conversation.
    pub turn: u32,
    /// Which try of that turn, from 1.
    pub attempt: u32,
}

impl RequestPlace {
    /// The place of a try, on top of the commit `on`.
    pub(super) fn new(on: &str, at: &Position, attempt: u32) -> Self {
        Self {
            on: on.to_owned(),
            stage: at.stage,
            role: at.role,
            iteration: at.iteration,
            task: at.task.clone(),
            turn: at.turn,
            attempt,
        }
    }

    /// True if the first try at `self` replaces an earlier one at `other`: a killed process made
    /// the same request, or the draft was started again.
    fn replaces(&self, other: &Self) -> bool {
        let first_turn = self.role == Role::Actor && self.turn == 1;
        let same = self.iteration == other.iteration
            && (self.role == other.role && self.turn == other.turn || first_turn);
        self.attempt == 1
            && (self.stage, &self.task) == (other.stage, &other.task)
            && (same || first_turn && other.iteration > self.iteration)
    }
}

/// A request that ended, successfully or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredRequest {
    /// The purpose of the request.
    pub place: RequestPlace,
    /// The model that answered.
    pub model: String,
    /// Usage and cost of the request.
    pub spent: Spent,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum LedgerLine {
    /// The sum so far. It may be more than the sum of the ledger's own requests, because history
    /// also records work on other machines.
    Total {
        at: String,
        spent: Spent,
    },
    Sent {
        at: String,
        #[serde(flatten)]
        place: RequestPlace,
        model: String,
        guess: Spent,
    },
    Got {
        at: String,
        model: String,
        spent: Spent,
    },
    /// The budget forbade a request that would have used at least this.
    Refused {
        at: String,
        model: String,
        next: Spent,
    },
}

/// A line as it is parsed, with the fields of all kinds. Parsing into a tagged [`Line`] would take
/// several times as long, since serde parses it twice.
#[derive(Deserialize)]
struct ParsedLine {
    #[serde(rename = "type")]
    kind: LineKind,
    at: String,
    on: Option<String>,
    stage: Option<Stage>,
    role: Option<Role>,
    iteration: Option<u32>,
    task: Option<String>,
    turn: Option<u32>,
    attempt: Option<u32>,
    model: Option<String>,
    spent: Option<Spent>,
    guess: Option<Spent>,
    next: Option<Spent>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum LineKind {
    Total,
    Sent,
    Got,
    Refused,
}

impl ParsedLine {
    /// `None` if a field is missing.
    fn line(self) -> Option<LedgerLine> {
        let Self { kind, at, .. } = self;
        Some(match kind {
            LineKind::Total => LedgerLine::Total { at, spent: self.spent? },
            LineKind::Sent => {
                let place = RequestPlace {
                    on: self.on?,
                    stage: self.stage,
                    role: self.role?,
                    iteration: self.iteration?,
                    task: self.task,
                    turn: self.turn?,
                    attempt: self.attempt?,
                };
                LedgerLine::Sent { at, place, model: self.model?, guess: self.guess? }
            }
            LineKind::Got => LedgerLine::Got { at, model: self.model?, spent: self.spent? },
            LineKind::Refused => LedgerLine::Refused { at, model: self.model?, next: self.next? },
        })
    }
}

/// See the module documentation. Without a path, the ledger is kept in memory only.
#[derive(Debug, Default)]
pub struct RequestLedger {
    path: Option<PathBuf>,
    file: Option<File>,
    total: Spent,
    answered: Vec<AnsweredRequest>,
    open: Option<(RequestPlace, String, Spent)>,
    share: Option<f64>,
    refused: Option<(String, Spent)>,
}

impl RequestLedger {
    /// Reads the ledger of a session; empty if there is no file yet.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let mut text = String::new();
        match File::open(path) {
            Ok(mut file) => {
                let mut bytes = Vec::new();
                let result = file.read_to_end(&mut bytes);
                result.with_context(|| format!("reading {}", path.display()))?;
                text = String::from_utf8_lossy(&bytes).into_owned();
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("opening {}", path.display())),
        }
        let mut ledger = Self { path: Some(path.to_owned()), ..Self::default() };
        // A killed process leaves a half-written line; nothing was sent after it.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<ParsedLine>(line).ok());
        lines.filter_map(ParsedLine::line).for_each(|line| ledger.take_in(line));
        Ok(ledger)
    }

    /// Everything so far; a request without a recorded end counts with its estimate.
    pub fn total(&self) -> Spent {
        let mut total = self.total;
        if let Some((_, _, guess)) = &self.open {
            total += *guess;
        }
        total
    }

    /// The requests that ended, except those that were repeated.
    pub fn answered(&self) -> &[AnsweredRequest] {
        &self.answered
    }

    /// Raises the total to at least this much.
    pub(super) fn raise(&mut self, at_least: Spent) {
        self.total = self.total().max(at_least);
        self.open = None;
    }

    /// Adds the requests of a ledger kept in memory, as work on top of the commit `on`: they were
    /// made before there was a session to record them for. A ledger with a file is already
    /// recorded.
    pub(super) fn take_over(&mut self, earlier: Self, on: &str) -> anyhow::Result<()> {
        if earlier.path.is_some() {
            return Ok(());
        }
        for AnsweredRequest { place, model, spent } in earlier.answered {
            let place = RequestPlace { on: on.to_owned(), ..place };
            self.sent(place, &model, Spent::default())?;
            self.got(&model, spent)?;
        }
        self.share = self.share.or(earlier.share);
        Ok(())
    }

    /// Records a request before it is sent.
    pub(super) fn sent(
        &mut self,
        place: RequestPlace,
        model: &str,
        guess: Spent,
    ) -> anyhow::Result<()> {
        self.write(LedgerLine::Sent { at: now(), place, model: model.to_owned(), guess })
    }

    /// Records what the last request used.
    pub(super) fn got(&mut self, model: &str, spent: Spent) -> anyhow::Result<()> {
        self.write(LedgerLine::Got { at: now(), model: model.to_owned(), spent })
    }

    /// Records that the budget forbade a request.
    pub(super) fn refuse(&mut self, model: &str, next: Spent) -> anyhow::Result<()> {
        if self.refused.as_ref() == Some(&(model.to_owned(), next)) {
            return Ok(());
        }
        self.write(LedgerLine::Refused { at: now(), model: model.to_owned(), next })
    }

    /// The request that the budget forbade, unless another one has been sent after it: its model,
    /// and the minimum it would have used.
    pub fn refused(&self) -> Option<&(String, Spent)> {
        self.refused.as_ref()
    }

    /// The total without the request in progress.
    pub(super) fn settled(&self) -> Spent {
        self.total
    }

    /// Ratio of prompt tokens counted by servers to those estimated: the smallest one seen.
    pub(super) fn share(&self) -> Option<f64> {
        self.share
    }

    fn write(&mut self, line: LedgerLine) -> anyhow::Result<()> {
        if let Some(path) = &self.path {
            let mut text = String::new();
            if self.file.is_none() {
                let file = OpenOptions::new().create(true).append(true).open(path);
                self.file = Some(file.with_context(|| format!("opening {}", path.display()))?);
                // Start on a new line: the last one may be incomplete.
                let total = LedgerLine::Total { at: now(), spent: self.total() };
                text = format!("\n{}\n", serde_json::to_string(&total)?);
            }
            text += &serde_json::to_string(&line)?;
            text.push('\n');
            if let Some(file) = &mut self.file {
                let result = file.write_all(text.as_bytes());
                result.with_context(|| format!("writing {}", path.display()))?;
            }
        }
        self.take_in(line);
        Ok(())
    }

    fn take_in(&mut self, line: LedgerLine) {
        match line {
            LedgerLine::Total { spent, .. } => self.raise(spent),
            LedgerLine::Refused { model, next, .. } => self.refused = Some((model, next)),
            LedgerLine::Sent { place, model, guess, .. } => {
                self.total = self.total();
                self.open = Some((place, model, guess));
                self.refused = None;
            }
            LedgerLine::Got { model, spent, .. } => {
                self.total += spent;
                if let Some((place, _, guess)) = self.open.take() {
                    let (input, estimate) = (spent.usage.input, guess.usage.input);
                    if spent.guessed == 0 && input > 0 && estimate > 0 {
                        let share = input as f64 / estimate as f64;
                        self.share = Some(self.share.map_or(share, |least| least.min(share)));
                    }
                    self.answered.retain(|other| !place.replaces(&other.place));
                    self.answered.push(AnsweredRequest { place, model, spent });
                }
            }
        }
    }
}

fn now() -> String {
    clock::rfc3339(clock::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(role: Role, iteration: u32, turn: u32, attempt: u32) -> RequestPlace {
        let (on, task) = ("a".to_owned(), None);
        RequestPlace { on, stage: Some(Stage::Prd), role, iteration, task, turn, attempt }
    }

    fn of(requests: u64) -> Spent {
        Spent { requests, ..Spent::default() }
    }

    #[test]
    fn a_killed_request_counts_and_a_partial_line_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spent.jsonl");
        let mut ledger = RequestLedger::read(&path).unwrap();
        ledger.raise(of(10));
        ledger.sent(place(Role::Actor, 1, 1, 1), "m", of(1)).unwrap();
        ledger.got("m", of(2)).unwrap();
        ledger.sent(place(Role::Actor, 1, 2, 1), "m", of(1)).unwrap();
        drop(ledger);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"type\":\"got\",\"at\"").unwrap();
        let mut again = RequestLedger::read(&path).unwrap();
        assert_eq!(again.total(), of(13));
        assert_eq!(again.answered().len(), 1);
        // The history records less usage than the ledger: the total stays.
        again.raise(of(5));
        again.sent(place(Role::Actor, 1, 2, 1), "m", of(1)).unwrap();
        again.got("m", of(1)).unwrap();
        assert_eq!(RequestLedger::read(&path).unwrap().total(), of(14));
        let mut elsewhere = RequestLedger::read(&path).unwrap();
        elsewhere.raise(of(40));
        assert_eq!(elsewhere.total(), of(40));
    }

    #[test]
    fn a_repeated_request_counts_once_for_its_commit() {
        let mut ledger = RequestLedger::default();
        let mut ask = |place: RequestPlace| {
            ledger.sent(place, "m", of(1)).unwrap();
            ledger.got("m", of(1)).unwrap();
            ledger.answered().len()
        };
        assert_eq!(ask(place(Role::Actor, 1, 1, 1)), 1);
        assert_eq!(ask(place(Role::Actor, 1, 2, 1)), 2);
        // A second try is the same turn, but costs extra.
        assert_eq!(ask(place(Role::Actor, 1, 2, 2)), 3);
        assert_eq!(ask(place(Role::Critic, 1, 1, 1)), 4);
        assert_eq!(ask(place(Role::Critic, 1, 1, 1)), 4);
        assert_eq!(ask(place(Role::Actor, 2, 1, 1)), 5);
        // The stage was started again.
        assert_eq!(ask(place(Role::Actor, 1, 1, 1)), 1);
        assert_eq!(ledger.total(), of(7));
    }
}
