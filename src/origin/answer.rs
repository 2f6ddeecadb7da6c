//! The answer of `git cowork why` about lines of a file, also as JSON.

use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;

use super::around::Around;
use super::line_source::{Certainty, LineSource, SourceKind, Unknown};
use super::records::{REMOVED, Served};
use super::sessions::{SessionView, Sessions};
use super::source::Origins;
use crate::artifact::{BY_HAND, Criterion, Feedback, Origin, Severity};
use crate::clock;
use crate::git::blame::Blamed;
use crate::git::{Commit, Git};
use crate::session::{Entry, Kind, TestResults, key};
use crate::stage::Stage;
use crate::stages::code_stage;

/// Number of rejections to include.
const REJECTED: usize = 5;

/// Why lines exist.
#[derive(Clone, Debug, Serialize)]
pub struct LineOrigin {
    /// The file, relative to the top of the working tree.
    pub file: String,
    /// First and last line, counted from 1.
    pub lines: [usize; 2],
    /// The lines.
    pub text: Vec<String>,
    /// `task`, `adopted`, `stage`, `squash`, `merge`, `hook`, `person`, `outside`, `before`,
    /// `shallow` (the end of a shallow clone's history) or `uncommitted`.
    pub origin: &'static str,
    /// How the task was found: `commit`, `plan`; `session` if only the session is known; `nothing`.
    pub known_by: &'static str,
    /// The commit that added the lines.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitPosition>,
    /// The squash that brought the commit's lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squash: Option<String>,
    /// The hook that wrote the lines, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// For a person's commit during a session: the session, and its newest commit before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<During>,
    /// For lines older than all sessions: the first recorded session, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_session: Option<String>,
    /// The session named by the commit, if its records are not in this repository.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Unknown>,
    /// Details of the session.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub details: Option<SessionDetails>,
}

/// A commit, and the position of the lines in it.
#[derive(Clone, Debug, Serialize)]
pub struct CommitPosition {
    /// Its id.
    pub commit: String,
    /// First line of its message.
    pub subject: String,
    /// `Name <email>`.
    pub author: String,
    /// Author date, RFC 3339 in UTC.
    pub at: String,
    /// Path of the file in the commit.
    pub path: String,
    /// First line in the commit's file.
    pub line: usize,
}

/// See [`Answer::during`].
#[derive(Clone, Debug, Serialize)]
pub struct During {
    /// Its name.
    pub session: String,
    /// Subject of the session's newest commit before the person's.
    pub after: String,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordTitle {
    /// `TASK-003`
    pub id: String,
    /// Its title or name.
    pub title: String,
}

/// A requirement.
#[derive(Clone, Debug, Serialize)]
pub struct RequirementDetails {
    /// `REQ-003`
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its acceptance criteria.
    pub criteria: Vec<CriterionResult>,
}

/// A criterion.
#[derive(Clone, Debug, Serialize)]
pub struct CriterionResult {
    /// Text of the criterion.
    pub text: String,
    /// The test for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The result of the test's last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub became: Option<String>,
}

/// The approval of a stage.
#[derive(Clone, Debug, Serialize)]
pub struct ApprovalDetails {
    /// The approved stage.
    pub stage: Stage,
    /// `passed by Ada`, `claimed by Ada`, `auto`.
    pub how: String,
    /// Why the bytes in the commit do not count as approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// A rejected draft.
#[derive(Clone, Debug, Serialize)]
pub struct RejectedDraft {
    /// Stage of the draft.
    pub stage: Stage,
    /// Number of the draft.
    pub iteration: u32,
    /// Who rejected it: `critic`, `human`, `challenger`.
    pub by: &'static str,
    /// The reason.
    pub reason: String,
}

/// Details of a session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionDetails {
    /// Its name.
    pub session: String,
    /// Its title.
    pub title: String,
    /// The idea as the user entered it.
    pub idea: String,
    /// The stage of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Its task.
    pub task: Option<RecordTitle>,
    /// If the task is unknown: tasks that these lines may belong to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<RecordTitle>,
    /// The features of the task.
    pub features: Vec<RecordTitle>,
    /// The component of the task.
    pub component: Option<RecordTitle>,
    /// The requirements of the task.
    pub requirements: Vec<RequirementDetails>,
    /// In a change request: its acceptance criteria.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub change_criteria: Vec<String>,
    /// The approvals of stages.
    pub passed: Vec<ApprovalDetails>,
    /// Rejected drafts, those of the code first; at most five.
    pub rejected: Vec<RejectedDraft>,
    /// Number of further rejected drafts.
    pub rejected_more: usize,
    /// The checks that git-cowork ran on the commit's tree, else on the tree of the commit that
    /// completed the code.
    pub checks: Option<String>,
    /// Each check with its exit code, log and tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// Returns why the lines of a file exist: one answer for each range of lines that have the same
/// origin.
///
/// # Errors
/// Git cannot be read.
pub fn answers(
    origins: &Origins<'_>,
    file: &str,
    ranges: &[Blamed],
) -> anyhow::Result<Vec<LineOrigin>> {
    let mut out = Vec::new();
    for lines in ranges {
        for (lines, source) in origins.sources(lines)? {
            out.push(answer(origins, file, lines, &source));
        }
    }
    Ok(out)
}

fn answer(origins: &Origins<'_>, file: &str, lines: Blamed, source: &LineSource) -> LineOrigin {
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
    let details = match &source.session {
        Some(session) if origin != "person" => Some(session_details(origins, session, source)),
        _ => None,
    };
    LineOrigin {
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
        details,
        text: lines.texts,
    }
}

fn place(commit: &Commit, lines: &Blamed) -> CommitPosition {
    let time = Duration::from_secs(u64::try_from(commit.author_time).unwrap_or(0));
    CommitPosition {
        commit: commit.id.to_string(),
        subject: commit.subject().to_owned(),
        author: commit.author.clone(),
        at: clock::rfc3339(UNIX_EPOCH + time),
        path: lines.path.clone(),
        line: lines.line,
    }
}

fn session_details(
    origins: &Origins<'_>,
    view: &SessionView,
    source: &LineSource,
) -> SessionDetails {
    let (session, records) = (&view.session, &view.records);
    let title_of = |id: &String| RecordTitle {
        id: id.clone(),
        title: records.task(id).map(|task| task.title.clone()).unwrap_or_default(),
    };
    let is_known = source.certainty != Certainty::Session;
    let task = source.tasks.first().filter(|_| is_known);
    let belongings = task.map(|task| records.served(task)).unwrap_or_default();
    let (features, components) = task.map(|task| records.removed(task)).unwrap_or_default();
    let removed_title = |id: &str| RecordTitle { id: id.to_owned(), title: REMOVED.to_owned() };
    let stage = source.entry.as_ref().and_then(|entry| match entry.kind {
        Kind::Stage(stage) | Kind::Draft(stage) | Kind::Review(stage, _) => Some(stage),
        Kind::Task(_) => Some(code_stage()),
        _ => None,
    });
    let run_on = source.entry.as_ref().filter(|entry| entry.trailers.get(key::CHECKS).is_some());
    let run_on = run_on.or_else(|| view.code());
    let (rejections, rejected_more) = rejections(origins.git(), view, task, &belongings);
    SessionDetails {
        session: session.name.to_string(),
        title: session.file.title.clone(),
        idea: session.file.idea.clone(),
        stage,
        task: task.map(title_of),
        candidates: if is_known { Vec::new() } else { source.tasks.iter().map(title_of).collect() },
        features: belongings
            .features
            .iter()
            .map(|one| RecordTitle { id: one.id.clone(), title: one.name.clone() })
            .chain(features.into_iter().map(removed_title))
            .collect(),
        component: belongings
            .component
            .map(|one| RecordTitle { id: one.id.clone(), title: one.name.clone() })
            .or_else(|| components.first().map(|id| removed_title(id))),
        requirements: requirements(origins.git(), view, &belongings),
        change_criteria: change_criteria(origins.git(), view, task.is_some()),
        passed: approvals(view, &origins.sessions, source.entry.as_ref()),
        rejected: rejections,
        rejected_more,
        checks: run_on.and_then(|entry| entry.trailers.get(key::CHECKS)).map(str::to_owned),
        evidence: run_on
            .map(|entry| entry.trailers.all(key::EVIDENCE).map(str::to_owned).collect())
            .unwrap_or_default(),
    }
}

fn requirements(git: &Git, view: &SessionView, belongings: &Served<'_>) -> Vec<RequirementDetails> {
    let results = view.tests().and_then(|entry| TestResults::read(git, &entry.trailers).ok());
    let became = |test: &str| results.as_ref()?.became(test);
    let criteria = |one: &Criterion| CriterionResult {
        text: one.text.clone(),
        test: one.test.clone(),
        became: one.test.as_deref().and_then(became),
    };
    let details = belongings.requirements.iter().map(|one| RequirementDetails {
        id: one.id.clone(),
        title: one.title.clone(),
        criteria: one.acceptance_criteria.iter().map(criteria).collect(),
    });
    details.collect()
}

/// The acceptance criteria of a change request, if no task is known for the lines.
fn change_criteria(git: &Git, view: &SessionView, has_task: bool) -> Vec<String> {
    let change = view.change(git).filter(|_| !has_task && view.session.is_patch());
    change.map(|change| change.acceptance_criteria.clone()).unwrap_or_default()
}

/// The approvals of the code and of the stages before it; for a line of a document, those of the
/// document's stage and the stages before it. The line's own stage comes first.
fn approvals(
    view: &SessionView,
    sessions: &Sessions<'_>,
    entry: Option<&Entry>,
) -> Vec<ApprovalDetails> {
    let last = match entry.map(|entry| &entry.kind) {
        Some(Kind::Stage(stage) | Kind::Draft(stage) | Kind::Review(stage, _)) => *stage,
        _ => code_stage(),
    };
    let approvals = view.approvals(sessions).iter().rev().filter(|one| one.stage <= last);
    let details = approvals.map(|one| ApprovalDetails {
        stage: one.stage,
        how: one.how.clone(),
        missing: one.missing.clone(),
    });
    details.collect()
}

/// The rejections of drafts, those of code first, and the number of those left out.
fn rejections(
    git: &Git,
    view: &SessionView,
    task: Option<&String>,
    belongings: &Served<'_>,
) -> (Vec<RejectedDraft>, usize) {
    let mut ids: Vec<&str> = task.map(String::as_str).into_iter().collect();
    ids.extend(belongings.features.iter().map(|one| one.id.as_str()));
    ids.extend(belongings.requirements.iter().map(|one| one.id.as_str()));
    // Feedback on the code is most relevant for a line of code, then feedback that names the line's
    // task, features or requirements.
    let distance = |feedback: &Feedback| match feedback.stage == code_stage() {
        true => 0,
        false if ids.iter().any(|id| feedback.details.contains(id)) => 1,
        false => 2,
    };
    let mut rejections: Vec<&Feedback> =
        view.feedback(git).iter().filter(|feedback| is_rejection(feedback)).collect();
    rejections.sort_by_key(|feedback| distance(feedback));
    let chosen = rejections.into_iter().map(|feedback| RejectedDraft {
        stage: feedback.stage,
        iteration: feedback.iteration,
        by: feedback.from.name(),
        reason: feedback.details.clone(),
    });
    let mut list: Vec<RejectedDraft> = chosen.collect();
    let more = list.len().saturating_sub(REJECTED);
    list.truncate(REJECTED);
    (list, more)
}

/// True if the feedback rejected a draft. Findings of checks do not count: they are about form.
fn is_rejection(feedback: &Feedback) -> bool {
    let judges = matches!(feedback.from, Origin::Human | Origin::Critic | Origin::Challenger);
    judges
        && feedback.severity >= Severity::Major
        && !feedback.extra.contains_key(BY_HAND)
        && !feedback.is_reason()
        && !feedback.is_of_dropped_draft()
}
