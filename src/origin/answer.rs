//! What is told of lines: `git cowork why`, also as JSON.

use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;

use super::around::Around;
use super::records::Served;
use super::sessions::{Known, Sessions};
use super::source::{Certainty, Origins, Source, SourceKind, Unknown};
use crate::artifact::{BY_HAND, Criterion, Feedback, Origin, Severity};
use crate::clock;
use crate::git::blame::Blamed;
use crate::git::{Commit, Git};
use crate::session::{Entry, Kind, key};
use crate::stage::Stage;
use crate::stages::code_stage;

/// Rejections that are told in full.
const REJECTED: usize = 5;

/// Why lines are there.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The file, from the top of the working tree.
    pub file: String,
    /// First and last line, counted from 1.
    pub lines: [usize; 2],
    /// The lines.
    pub text: Vec<String>,
    /// `task`, `adopted`, `stage`, `squash`, `merge`, `hook`, `person`, `outside`, `before`,
    /// `shallow` (a shallow clone's history ends there) or `uncommitted`.
    pub origin: &'static str,
    /// How the task is known: `commit`, `plan`; `session` where only the session is; `nothing`.
    pub known_by: &'static str,
    /// The commit they came with.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Where>,
    /// The squash that brought that commit's lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squash: Option<String>,
    /// The hook that wrote them, where that is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// For a person's commit in a session that was in progress: the session, and its newest commit below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<During>,
    /// For lines from before any session: the first session of which there are records, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_session: Option<String>,
    /// The session that the commit names, where its records are not here.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Unknown>,
    /// What is known of the session.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub told: Option<Told>,
}

/// A commit, and where in it the lines are.
#[derive(Clone, Debug, Serialize)]
pub struct Where {
    /// Its id.
    pub commit: String,
    /// First line of its message.
    pub subject: String,
    /// `Name <email>`.
    pub author: String,
    /// When it was written, RFC 3339 in UTC.
    pub at: String,
    /// The file they were in there.
    pub path: String,
    /// Their first line there.
    pub line: usize,
}

/// See [`Answer::during`].
#[derive(Clone, Debug, Serialize)]
pub struct During {
    /// Its name.
    pub session: String,
    /// Subject of its newest commit below the person's.
    pub after: String,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// `TASK-003`
    pub id: String,
    /// Its title or name.
    pub title: String,
}

/// A requirement.
#[derive(Clone, Debug, Serialize)]
pub struct Wanted {
    /// `REQ-003`
    pub id: String,
    /// Its title.
    pub title: String,
    /// How one sees that it is met.
    pub criteria: Vec<Shown>,
}

/// A criterion.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// What must hold.
    pub text: String,
    /// The test that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// What became of that test when it was looked at last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub became: Option<String>,
}

/// How a stage was approved.
#[derive(Clone, Debug, Serialize)]
pub struct Passed {
    /// Which.
    pub stage: Stage,
    /// `passed by Ada`, `claimed by Ada`, `auto`.
    pub how: String,
    /// Why the bytes in the commit do not count as approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// A draft that was rejected.
#[derive(Clone, Debug, Serialize)]
pub struct Rejected {
    /// Of which stage.
    pub stage: Stage,
    /// Which draft.
    pub iteration: u32,
    /// By whom: `critic`, `human`, `challenger`.
    pub by: &'static str,
    /// In their words.
    pub reason: String,
}

/// What is known of the session.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// Its name.
    pub session: String,
    /// Its title.
    pub title: String,
    /// The idea as it was given.
    pub idea: String,
    /// The stage whose commit it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Its task.
    pub task: Option<Named>,
    /// Where there is none: the tasks whose files these lines may be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Named>,
    /// The features the task is for.
    pub features: Vec<Named>,
    /// The component it is done in.
    pub component: Option<Named>,
    /// The requirements it is for.
    pub requirements: Vec<Wanted>,
    /// In a change request, how one sees that it is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub change_criteria: Vec<String>,
    /// How the stages were approved.
    pub passed: Vec<Passed>,
    /// Drafts that were rejected, those of the code first; at most five.
    pub rejected: Vec<Rejected>,
    /// How many more.
    pub rejected_more: usize,
    /// What the program ran on the commit's tree, else on that of the whole code.
    pub checks: Option<String>,
    /// Each of these commands with its end, its log and its tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// Why the lines of a file are there, in pieces that have one answer.
///
/// # Errors
/// Git cannot be read.
pub fn answers(
    origins: &Origins<'_>,
    file: &str,
    blamed: &[Blamed],
) -> anyhow::Result<Vec<Answer>> {
    let mut out = Vec::new();
    for lines in blamed {
        for (lines, source) in origins.of(lines)? {
            out.push(answer(origins, file, lines, &source));
        }
    }
    Ok(out)
}

fn answer(origins: &Origins<'_>, file: &str, lines: Blamed, source: &Source) -> Answer {
    let (mut hook, mut during, mut first_session) = (None, None, None);
    let origin = match &source.kind {
        SourceKind::Uncommitted => "uncommitted",
        SourceKind::Task => "task",
        SourceKind::Adopted => "adopted",
        SourceKind::Stage => "stage",
        SourceKind::Squash => "squash",
        SourceKind::Merge => "merge",
        SourceKind::Shallow => "shallow",
        SourceKind::Hook(name) => {
            hook.clone_from(name);
            "hook"
        }
        SourceKind::Person(Around::During(session, after)) => {
            during = Some(During { session: session.to_string(), after: after.clone() });
            "person"
        }
        SourceKind::Person(Around::Outside) => "outside",
        SourceKind::Person(Around::Before(first)) => {
            first_session = first.as_ref().map(ToString::to_string);
            "before"
        }
    };
    let told = match &source.known {
        Some(known) if origin != "person" => Some(told(origins, known, source)),
        _ => None,
    };
    Answer {
        file: file.to_owned(),
        lines: [lines.first, lines.last()],
        origin,
        known_by: source.certainty.name(),
        commit: source.commit.as_ref().map(|commit| place(commit, &lines)),
        squash: source.squash.as_ref().map(|commit| commit.id.to_string()),
        hook,
        during,
        first_session,
        unknown: source.unknown.clone(),
        told,
        text: lines.texts,
    }
}

fn place(commit: &Commit, lines: &Blamed) -> Where {
    let time = Duration::from_secs(u64::try_from(commit.author_time).unwrap_or(0));
    Where {
        commit: commit.id.to_string(),
        subject: commit.subject().to_owned(),
        author: commit.author.clone(),
        at: clock::rfc3339(UNIX_EPOCH + time),
        path: lines.path.clone(),
        line: lines.line,
    }
}

fn told(origins: &Origins<'_>, known: &Known, source: &Source) -> Told {
    let (session, records) = (&known.session, &known.records);
    let named = |id: &String| Named {
        id: id.clone(),
        title: records.task(id).map(|task| task.title.clone()).unwrap_or_default(),
    };
    let is_known = source.certainty != Certainty::Session;
    let task = source.tasks.first().filter(|_| is_known);
    let served = task.map(|task| records.served(task)).unwrap_or_default();
    let stage = source.entry.as_ref().and_then(|entry| match entry.kind {
        Kind::Stage(stage) | Kind::Draft(stage) | Kind::Review(stage, _) => Some(stage),
        Kind::Task(_) => Some(code_stage()),
        _ => None,
    });
    let run_on = source.entry.as_ref().filter(|entry| entry.trailers.get(key::CHECKS).is_some());
    let run_on = run_on.or_else(|| known.code());
    let (rejected, rejected_more) = rejected(origins.git(), known, task, &served);
    Told {
        session: session.name.to_string(),
        title: session.file.title.clone(),
        idea: session.file.idea.clone(),
        stage,
        task: task.map(named),
        candidates: if is_known { Vec::new() } else { source.tasks.iter().map(named).collect() },
        features: served
            .features
            .iter()
            .map(|one| Named { id: one.id.clone(), title: one.name.clone() })
            .collect(),
        component: served
            .component
            .map(|one| Named { id: one.id.clone(), title: one.name.clone() }),
        requirements: wanted(known, &served),
        change_criteria: change_criteria(origins.git(), known, task.is_some()),
        passed: passed(known, &origins.sessions, source.entry.as_ref()),
        rejected,
        rejected_more,
        checks: run_on.and_then(|entry| entry.trailers.get(key::CHECKS)).map(str::to_owned),
        evidence: run_on
            .map(|entry| entry.trailers.all(key::EVIDENCE).map(str::to_owned).collect())
            .unwrap_or_default(),
    }
}

fn wanted(known: &Known, served: &Served<'_>) -> Vec<Wanted> {
    let looked = known.tests();
    let became = |test: &str| {
        let mut all = looked?.trailers.all(key::TESTS);
        all.find_map(|said| said.strip_prefix(test)?.strip_prefix(": ")).map(str::to_owned)
    };
    let criteria = |one: &Criterion| Shown {
        text: one.text.clone(),
        test: one.test.clone(),
        became: one.test.as_deref().and_then(became),
    };
    let wanted = served.requirements.iter().map(|one| Wanted {
        id: one.id.clone(),
        title: one.title.clone(),
        criteria: one.acceptance_criteria.iter().map(criteria).collect(),
    });
    wanted.collect()
}

/// What a change request that has no task for the lines was to show.
fn change_criteria(git: &Git, known: &Known, has_task: bool) -> Vec<String> {
    let change = known.change(git).filter(|_| !has_task && known.session.is_patch());
    change.map(|change| change.acceptance_criteria.clone()).unwrap_or_default()
}

/// The approvals of the code and of what is before it; of a document's line those up to its stage. What
/// answers for the line comes first.
fn passed(known: &Known, sessions: &Sessions<'_>, entry: Option<&Entry>) -> Vec<Passed> {
    let last = match entry.map(|entry| &entry.kind) {
        Some(Kind::Stage(stage) | Kind::Draft(stage) | Kind::Review(stage, _)) => *stage,
        _ => code_stage(),
    };
    let approvals = known.approvals(sessions).iter().rev().filter(|one| one.stage <= last);
    let passed = approvals.map(|one| Passed {
        stage: one.stage,
        how: one.how.clone(),
        missing: one.missing.clone(),
    });
    passed.collect()
}

/// Rejected drafts, what was said of the code first; and how many more.
fn rejected(
    git: &Git,
    known: &Known,
    task: Option<&String>,
    served: &Served<'_>,
) -> (Vec<Rejected>, usize) {
    let mut ids: Vec<&str> = task.map(String::as_str).into_iter().collect();
    ids.extend(served.features.iter().map(|one| one.id.as_str()));
    ids.extend(served.requirements.iter().map(|one| one.id.as_str()));
    // What was said of the code is nearest to a line of it, then what names a record of it.
    let distance = |said: &Feedback| match said.stage == code_stage() {
        true => 0,
        false if ids.iter().any(|id| said.details.contains(id)) => 1,
        false => 2,
    };
    let mut said: Vec<&Feedback> =
        known.feedback(git).iter().filter(|said| is_rejection(said)).collect();
    said.sort_by_key(|said| distance(said));
    let found = said.into_iter().map(|said| Rejected {
        stage: said.stage,
        iteration: said.iteration,
        by: said.from.name(),
        reason: said.details.clone(),
    });
    let mut found: Vec<Rejected> = found.collect();
    let more = found.len().saturating_sub(REJECTED);
    found.truncate(REJECTED);
    (found, more)
}

/// Whether somebody refused a draft with it: a check's findings are about the form.
fn is_rejection(said: &Feedback) -> bool {
    let judges = matches!(said.from, Origin::Human | Origin::Critic | Origin::Challenger);
    judges
        && said.severity >= Severity::Major
        && !said.extra.contains_key(BY_HAND)
        && !said.is_reason()
        && !said.is_of_dropped_draft()
}
