//! The history of a session: each commit that carries the session's id becomes an [`Entry`].

use std::str::FromStr as _;

use super::key;
use super::message::without_edited;
use super::trailers::{SplitMessage, Trailers};
use crate::event::Usage;
use crate::git::{Commit, Oid};
use crate::spent::Spent;
use crate::stage::Stage;
use crate::stages::row;

/// Upper limit on the number of drafts a commit can claim, so that sums do not overflow.
const MAX_ITERATIONS: u32 = 10_000;

/// `Cowork-Event` of a start commit.
const START: &str = "start";

/// The reviewer's or the policy's verdict on a draft (`Cowork-Review`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Approved unchanged.
    Passed,
    /// Approved after the reviewer edited it.
    Edited,
    /// Approved without a reviewer.
    Auto,
    /// Changes requested.
    Feedback,
    /// Rejected: the stage starts again from scratch.
    Aborted,
}

impl Verdict {
    /// The trailer's value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Edited => "edited",
            Self::Auto => "auto",
            Self::Feedback => "feedback",
            Self::Aborted => "aborted",
        }
    }

    pub(super) fn parse(s: &str) -> Option<Self> {
        [Self::Passed, Self::Edited, Self::Auto, Self::Feedback, Self::Aborted]
            .into_iter()
            .find(|verdict| verdict.name() == s)
    }
}

/// The type of a session's commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The session started, without a completed stage.
    Start,
    /// A stage was completed, or the session started with it completed.
    Stage(Stage),
    /// A top-level task was completed.
    Task(String),
    /// A draft was left waiting for review.
    Draft(Stage),
    /// A waiting draft was answered.
    Review(Stage, Verdict),
    /// Any other commit with the session's id: an attempt, a merge, a person's commit.
    Other,
}

/// One commit of a session.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Commit id.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Parent ids.
    pub parents: Vec<Oid>,
    /// `Name <email>` of the author.
    pub author: String,
    /// Author date (Unix seconds).
    pub time: i64,
    /// `Name <email>` of the committer: a rebase or an amend keeps only the author.
    pub committer: String,
    /// Committer date (Unix seconds).
    pub committed: i64,
    /// First line.
    pub subject: String,
    /// The text between the subject and the trailers.
    pub body: String,
    /// Type of the commit.
    pub kind: Kind,
    /// Trailers.
    pub trailers: Trailers,
}

impl Entry {
    /// True for a commit that adds code: a task commit, or the commit of a stage that writes code.
    pub fn brings_code(&self) -> bool {
        match self.kind {
            Kind::Task(_) => true,
            Kind::Stage(stage) => row(stage).writes_code(),
            _ => false,
        }
    }

    /// The entry of a commit, if the commit belongs to the session with this id.
    pub fn from_commit(commit: &Commit, id: &str) -> Option<Self> {
        let message = SplitMessage::parse(&commit.message);
        if message.trailers.get(key::SESSION_ID) != Some(id) {
            return None;
        }
        let body = without_edited(&message.body()).to_owned();
        Some(Self {
            commit: commit.id.clone(),
            tree: commit.tree.clone(),
            parents: commit.parents.clone(),
            author: commit.author.clone(),
            time: commit.author_time,
            committer: commit.committer.clone(),
            committed: commit.committer_time,
            subject: commit.message.lines().next().unwrap_or_default().to_owned(),
            body,
            kind: kind(&message.trailers),
            trailers: message.trailers,
        })
    }

    /// The subject without its prefix: `3 requirements` of `prd: 3 requirements`.
    pub fn summary(&self) -> &str {
        self.subject.split_once(": ").map_or(&*self.subject, |(_, summary)| summary)
    }

    /// True for the session's first commit, even if it also completes a stage.
    pub fn is_start(&self) -> bool {
        self.trailers.get(key::EVENT) == Some(START)
    }

    /// The stage of another session that this session started from: `todo@prd`.
    pub fn from(&self) -> Option<&str> {
        self.trailers.get(key::FROM)?.split_whitespace().next()
    }

    /// `Cowork-Iterations`, or 1 if it is missing.
    pub fn iterations(&self) -> u32 {
        let number = self.trailers.get(key::ITERATIONS).and_then(|n| n.parse().ok());
        number.unwrap_or(1).min(MAX_ITERATIONS)
    }

    /// `Cowork-Review`, if its value is known.
    pub fn verdict(&self) -> Option<Verdict> {
        self.trailers.get(key::REVIEW).and_then(Verdict::parse)
    }

    /// `Cowork-Tokens` and `Cowork-Cost`.
    pub fn spent(&self) -> Spent {
        let mut spent = self.trailers.get(key::COST).map(parse_cost).unwrap_or_default();
        spent.usage = self.trailers.get(key::TOKENS).map(parse_usage).unwrap_or_default();
        spent
    }
}

fn kind(trailers: &Trailers) -> Kind {
    let stage = trailers.get(key::STAGE).and_then(|s| Stage::from_str(s).ok());
    match (trailers.get(key::EVENT), stage) {
        (Some(START), Some(stage)) => Kind::Stage(stage),
        (Some(START), None) => Kind::Start,
        (Some("draft"), Some(stage)) => Kind::Draft(stage),
        (Some("review"), Some(stage)) => match trailers.get(key::REVIEW).and_then(Verdict::parse) {
            Some(verdict) => Kind::Review(stage, verdict),
            None => Kind::Other,
        },
        (Some(_), _) => Kind::Other,
        (None, Some(stage)) => Kind::Stage(stage),
        (None, None) => match trailers.get(key::TASK) {
            Some(task) => Kind::Task(task.to_owned()),
            None => Kind::Other,
        },
    }
}

/// `in=1234 out=567 cached=0`
pub fn render_usage(usage: Usage) -> String {
    format!("in={} out={} cached={}", usage.input, usage.output, usage.cached)
}

/// Returns `requests=12 ms=41235 usd=0.031200`, and, unless they are zero, `guessed=1`
/// (requests with estimated tokens), `uncounted=1` (requests with unknown tokens) and `unpriced=2`
/// (requests with unknown cost). Empty if there were no requests.
pub fn render_cost(spent: &Spent) -> String {
    if spent.requests == 0 {
        return String::new();
    }
    let mut out = format!("requests={} ms={}", spent.requests, spent.millis);
    if spent.micros > 0 || spent.unpriced == 0 {
        out += &format!(" usd={}.{:06}", spent.micros / 1_000_000, spent.micros % 1_000_000);
    }
    let kinds =
        [("guessed", spent.guessed), ("uncounted", spent.uncounted), ("unpriced", spent.unpriced)];
    for (name, count) in kinds {
        if count > 0 {
            out += &format!(" {name}={count}");
        }
    }
    out
}

/// The `name=value` pairs of a trailer.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split_whitespace().filter_map(|pair| pair.split_once('='))
}

fn parse_usage(text: &str) -> Usage {
    let mut usage = Usage::default();
    for (name, value) in pairs(text) {
        let value = value.parse().unwrap_or(0);
        match name {
            "in" => usage.input = value,
            "out" => usage.output = value,
            "cached" => usage.cached = value,
            _ => {}
        }
    }
    usage
}

fn parse_cost(text: &str) -> Spent {
    let mut spent = Spent::default();
    for (name, value) in pairs(text) {
        let count = value.parse().unwrap_or(0);
        match name {
            "requests" => spent.requests = count,
            "ms" => spent.millis = count,
            "usd" => spent.micros = (value.parse::<f64>().unwrap_or(0.0) * 1e6).round() as u64,
            "guessed" => spent.guessed = count,
            "uncounted" => spent.uncounted = count,
            "unpriced" => spent.unpriced = count,
            _ => {}
        }
    }
    spent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trailers(pairs: &[(&str, &str)]) -> Trailers {
        let mut trailers = Trailers::default();
        for (key, value) in pairs {
            trailers.push(key, value);
        }
        trailers
    }

    #[test]
    fn the_kind_follows_from_event_stage_and_task() {
        let cases = [
            (vec![(key::EVENT, "start")], Kind::Start),
            (vec![(key::STAGE, "prd")], Kind::Stage(Stage::Prd)),
            (vec![(key::EVENT, "start"), (key::STAGE, "prd")], Kind::Stage(Stage::Prd)),
            (vec![(key::EVENT, "draft"), (key::STAGE, "prd")], Kind::Draft(Stage::Prd)),
            (
                vec![(key::EVENT, "review"), (key::STAGE, "prd"), (key::REVIEW, "passed")],
                Kind::Review(Stage::Prd, Verdict::Passed),
            ),
            (vec![(key::TASK, "TASK-001")], Kind::Task("TASK-001".into())),
            (vec![(key::EVENT, "attempt"), (key::STAGE, "prd")], Kind::Other),
            (vec![], Kind::Other),
        ];
        for (pairs, expected) in cases {
            assert_eq!(kind(&trailers(&pairs)), expected, "{pairs:?}");
        }
    }

    #[test]
    fn huge_numbers_in_a_foreign_commit_do_not_overflow() {
        let message = "s\n\nCowork-Session-Id: x\nCowork-Iterations: 4294967295\n\
                       Cowork-Tokens: in=18446744073709551615 out=18446744073709551615\n";
        let id: Oid = "0123456789012345678901234567890123456789".parse().unwrap();
        let commit = Commit {
            tree: id.clone(),
            id,
            parents: Vec::new(),
            author: String::new(),
            author_time: 0,
            committer: String::new(),
            committer_time: 0,
            message: message.into(),
        };
        let entry = Entry::from_commit(&commit, "x").unwrap();
        assert_eq!([entry.iterations(); 3].iter().sum::<u32>(), 3 * MAX_ITERATIONS);
        let mut spent = entry.spent();
        spent += entry.spent();
        assert_eq!(spent.tokens(), u64::MAX);
    }

    #[test]
    fn usage_reads_back() {
        let usage = Usage { input: 1234, output: 567, cached: 8 };
        assert_eq!(parse_usage(&render_usage(usage)), usage);
        assert_eq!(parse_usage("in=x nonsense"), Usage::default());
    }

    #[test]
    fn cost_reads_back_with_counts_of_unknown_requests() {
        let usage = Usage::default();
        let spent =
            Spent { usage, requests: 12, millis: 41_235, micros: 31_200, ..Spent::default() };
        assert_eq!(render_cost(&spent), "requests=12 ms=41235 usd=0.031200");
        assert_eq!(parse_cost(&render_cost(&spent)), spent);
        let spent = Spent { requests: 2, guessed: 1, unpriced: 2, ..Spent::default() };
        assert_eq!(render_cost(&spent), "requests=2 ms=0 guessed=1 unpriced=2");
        assert_eq!(parse_cost(&render_cost(&spent)), spent);
        assert_eq!(render_cost(&Spent::default()), "");
    }
}
