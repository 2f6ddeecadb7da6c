//! Checks the trailers of a session's commits, and their order.

use std::collections::BTreeSet;
use std::str::FromStr as _;

use super::problem::{Problem, short};
use crate::git::{Git, NOBODY};
use crate::session::{Entry, KNOWLEDGE_EVENT, Kind, Session, Trailers, Verdict, key};
use crate::stage::{Depth, Stage};
use crate::stages::row;

pub(super) fn problems(git: &Git, session: &Session) -> anyhow::Result<Vec<Problem>> {
    let mut problems = unread(git, session)?;
    for entry in &session.history {
        for details in malformed(session, entry) {
            problems.push(
                Problem::new(session, "trailer", short(&entry.commit), details).fix(
                    "amend or rebase the commit by hand; git-cowork does not rewrite messages",
                ),
            );
        }
    }
    order(session, &mut problems);
    Ok(problems)
}

/// Commits that name this session in a message without valid trailers.
fn unread(git: &Git, session: &Session) -> anyhow::Result<Vec<Problem>> {
    let hide = session.history.first().map(|start| start.parents.clone()).unwrap_or_default();
    let commits = git.reader().walk(std::slice::from_ref(&session.tip), &hide)?;
    let line = format!("{}: {}", key::SESSION_ID, session.file.id);
    let mut problems = Vec::new();
    for commit in commits {
        if [&commit.author, &commit.committer].iter().any(|who| *who == NOBODY) {
            let details = "its header has no author or committer that git can read";
            problems.push(
                Problem::new(session, "commit-header", short(&commit.id), details)
                    .fix(format!("look at it: git cat-file -p {}", short(&commit.id)))
                    .note(),
            );
        }
        let speaks = commit.message.lines().any(|l| l.trim_start().eq_ignore_ascii_case(&line));
        if speaks && Trailers::parse(&commit.message).get(key::SESSION_ID).is_none() {
            let details =
                "the trailers are not the last paragraph of the message, so the commit is ignored";
            problems.push(
                Problem::new(session, "trailer", short(&commit.id), details)
                    .fix("amend or rebase the commit by hand to move them there"),
            );
        }
    }
    Ok(problems)
}

/// Valid values of `Cowork-Event`.
const EVENTS: [&str; 7] =
    ["start", "draft", "review", "depth", "attempt", "merge", KNOWLEDGE_EVENT];

/// Errors in one commit's trailers.
fn malformed(session: &Session, entry: &Entry) -> Vec<String> {
    let mut wrong = Vec::new();
    let trailers = &entry.trailers;
    let mut known = |key: &str, ok: &dyn Fn(&str) -> bool| {
        if let Some(value) = trailers.get(key).filter(|value| !ok(value)) {
            wrong.push(format!("{key} has the invalid value '{value}'"));
        }
    };
    known(key::SESSION, &|name| name == session.name.as_str());
    known(key::EVENT, &|event| EVENTS.contains(&event));
    known(key::DEPTH, &|depth| Depth::from_str(depth).is_ok());
    known(key::STAGE, &|stage| Stage::from_str(stage).is_ok());
    known(key::ITERATIONS, &|number| number.parse::<u32>().is_ok());
    known(key::TOKENS, &|tokens| {
        tokens.split_whitespace().all(|pair| {
            pair.split_once('=').is_some_and(|(name, number)| {
                ["in", "out", "cached"].contains(&name) && number.parse::<u64>().is_ok()
            })
        })
    });
    if let Some(value) = trailers.words(key::APPROVED).find(|value| !is_bytes(value)) {
        wrong.push(format!("{} has the invalid value '{value}'", key::APPROVED));
    }
    if trailers.get(key::REVIEW).is_some() && entry.verdict().is_none() {
        wrong.push(format!(
            "{} has the invalid value '{}'",
            key::REVIEW,
            trailers.get(key::REVIEW).unwrap_or_default()
        ));
    }
    if entry.is_start()
        && let Kind::Stage(stage) = entry.kind
        && !(row(stage).is_in_new() && row(stage).is_before_code())
    {
        wrong.push(format!("a start commit must not complete {stage}"));
    }
    let event = trailers.get(key::EVENT);
    if matches!(event, Some("draft" | "review")) && trailers.get(key::STAGE).is_none() {
        wrong.push(format!("a {} without {}", event.unwrap_or_default(), key::STAGE));
    }
    wrong
}

/// `prd.md@1a2b3c4d5e6f`
fn is_bytes(item: &str) -> bool {
    item.split_once('@').is_some_and(|(name, id)| {
        !name.is_empty() && id.len() >= 7 && id.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// Checks the order of commits. A squash may leave stages out, but cannot put an early stage after
/// a late one.
fn order(session: &Session, problems: &mut Vec<Problem>) {
    let mut last: Option<Stage> = None;
    let mut drafts = BTreeSet::new();
    let mut tasks = BTreeSet::new();
    for (at, entry) in session.history.iter().enumerate() {
        let mut find = |details: String| {
            problems.push(Problem::new(session, "order", short(&entry.commit), details));
        };
        match &entry.kind {
            _ if at > 0 && entry.is_start() => find("the session starts twice".to_owned()),
            Kind::Stage(stage) => {
                if let Some(last) =
                    last.filter(|last| stage <= last && row(*stage).is_before_code())
                {
                    find(format!("{stage} was recorded after {last}"));
                }
                last = Some(*stage);
                drafts.clear();
            }
            Kind::Draft(stage) => {
                drafts.insert(*stage);
            }
            // Reviewers' comments on the delivery do not answer a draft.
            Kind::Review(stage, Verdict::Feedback)
                if row(*stage).writes_code() && last.is_some_and(|last| row(last).is_last()) => {}
            // A person approves a changed version of a completed stage.
            Kind::Review(stage, Verdict::Passed)
                if last.is_some_and(|last| *stage <= last)
                    && entry.trailers.get(key::APPROVED).is_some() => {}
            Kind::Review(stage, verdict) if !drafts.contains(stage) => {
                find(format!("a review ({}) of {stage} without a waiting draft", verdict.name()));
            }
            Kind::Task(task) if !tasks.insert(task.clone()) => {
                find(format!("{task} was completed twice"));
            }
            _ => {}
        }
    }
    let unanswered = session.waiting().is_some_and(|waiting| {
        waiting.answer.is_some_and(|answer| answer.verdict() == Some(Verdict::Auto))
    });
    if unanswered {
        let details = "a waiting draft was approved without a reviewer (auto)";
        problems.push(Problem::new(session, "order", short(&session.tip), details));
    }
}
