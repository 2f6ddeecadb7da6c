//! Requirements, features and tasks as `git cowork status -v` shows them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use crate::artifact::check::derive_feature_status;
use crate::artifact::{Feature, FeatureStatus, Plan, Requirement, Store, Task, TaskStatus};
use crate::cli::terminal::paint::Paint;
use crate::clock;
use crate::git::Git;
use crate::session::{self, CommittedFiles, Session, code_changes};
use crate::ui::one_line;

/// Maximum length of a name.
const NAME: usize = 60;

/// Each requirement with its state, then each feature with its tasks; empty before the prd stage.
/// The records are those of the newest draft, but tasks that have a commit are shown as completed.
pub(crate) fn records(git: &Git, session: &Session, paint: &Paint) -> anyhow::Result<String> {
    let files = CommittedFiles::new(git, &session.name, &session.newest_records(git)?);
    let store = Store::new(&files);
    let requirements = store.requirements()?.requirements;
    let mut features = store.features()?;
    let mut plan = store.plan()?;
    let recorded = session.completed_tasks();
    // The commit of a task also completes its sub-tasks.
    for task in plan.tasks.iter_mut().filter(|task| recorded.contains(&top_level(&task.id))) {
        task.status = TaskStatus::Completed;
    }
    let code = code_changes(git, session, &session.tip)?;
    let has_code = |task: &Task| code.stands_behind(&plan, task);
    derive_feature_status(&mut features, &plan, &has_code);
    let times = times(git, session);
    let baseline = session::baseline(git, session)?.filter(|_| session.is_patch());
    let is_unbuilt = |id: &str| {
        let is_own = |task: &&Task| baseline.as_ref().is_some_and(|known| !known.has(&task.id));
        let mut own = plan.tasks.iter().filter(is_own);
        baseline.as_ref().is_some_and(|known| !known.has(id))
            && !session.is_completed()
            && !own.any(|task| task.status == TaskStatus::Completed)
    };
    let mut out = String::new();
    if !requirements.is_empty() {
        out += "Requirements\n";
        for requirement in &requirements {
            let line =
                line_of_requirement(requirement, &features.features, is_unbuilt(&requirement.id));
            let _ = writeln!(out, "{line}");
        }
    }
    if !features.features.is_empty() {
        out += "Features\n";
        for feature in &features.features {
            let when = times.iter().find(|(id, ..)| *id == feature.id);
            let when = when.map(|(_, made, changed)| dates(*made, *changed)).unwrap_or_default();
            let name = one_line(&feature.name, NAME);
            let state = feature_state(feature.status);
            let _ = writeln!(out, "  {} {state:<11} {name}{when}", feature.id);
            out += &tasks_of(&feature.id, &plan, paint);
        }
        for id in removed_features(&plan, &features.features) {
            let _ = writeln!(out, "  {id} removed");
            out += &tasks_of(id, &plan, paint);
        }
    }
    Ok(out)
}

/// A requirement has the state of the least advanced feature that serves it, but a new one of a
/// change is planned until the change has code.
fn line_of_requirement(
    requirement: &Requirement,
    features: &[Feature],
    is_unbuilt: bool,
) -> String {
    let serve = |feature: &&Feature| feature.requirement_ids.contains(&requirement.id);
    let serving: Vec<&Feature> = features.iter().filter(serve).collect();
    let title = one_line(&requirement.title, NAME);
    let Some(least) = serving.iter().map(|feature| feature.status).min() else {
        return format!("  {} {:<11} {title} (no feature)", requirement.id, "planned");
    };
    // If at least one feature has begun, the requirement is in progress.
    let begun = serving.iter().any(|feature| feature.status > FeatureStatus::Planned);
    let state = match begun {
        _ if is_unbuilt => FeatureStatus::Planned,
        true => least.max(FeatureStatus::InProgress),
        false => least,
    };
    let ids: Vec<&str> = serving.iter().map(|feature| feature.id.as_str()).collect();
    format!("  {} {:<11} {title} ({})", requirement.id, feature_state(state), ids.join(", "))
}

/// The features that tasks name and that were removed.
fn removed_features<'a>(plan: &'a Plan, features: &[Feature]) -> BTreeSet<&'a str> {
    let named = plan.tasks.iter().map(|task| task.feature_id.as_str());
    let is_removed = |id: &&str| !id.is_empty() && !features.iter().any(|one| one.id == **id);
    named.filter(is_removed).collect()
}

fn tasks_of(feature: &str, plan: &Plan, paint: &Paint) -> String {
    let tops: Vec<&str> = plan.tasks_of(feature).map(|task| task.id.as_str()).collect();
    let own = |task: &&Task| tops.contains(&top_level(&task.id));
    let mut out = String::new();
    for task in plan.tasks.iter().filter(own) {
        let (sign, more) = match task.status {
            TaskStatus::Completed => (paint.green("✓"), ""),
            TaskStatus::InProgress => (paint.yellow("●"), " (in progress)"),
            TaskStatus::Blocked => (paint.yellow("●"), " (blocked)"),
            TaskStatus::Pending => ("·".to_owned(), ""),
        };
        let depth = task.id.matches('.').count();
        let title = one_line(&task.title, NAME);
        let _ =
            writeln!(out, "    {:indent$}{sign} {} {title}{more}", "", task.id, indent = 2 * depth);
    }
    out
}

/// `TASK-001` for `TASK-001.2`.
fn top_level(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

const fn feature_state(status: FeatureStatus) -> &'static str {
    match status {
        FeatureStatus::Planned => "planned",
        FeatureStatus::InProgress => "in progress",
        FeatureStatus::Implemented => "implemented",
        FeatureStatus::Verified => "verified",
        FeatureStatus::Delivered => "delivered",
    }
}

/// When each feature was added, and when it was last changed (Unix seconds).
fn times(git: &Git, session: &Session) -> Vec<(String, i64, i64)> {
    let mut times: Vec<(String, i64, i64)> = Vec::new();
    let mut last: Vec<Feature> = Vec::new();
    for entry in &session.history {
        let files = CommittedFiles::new(git, &session.name, &entry.commit);
        // Skip versions that somebody broke by hand.
        let Ok(list) = Store::new(&files).features() else { continue };
        for feature in list.features.iter().filter(|feature| !last.contains(feature)) {
            match times.iter_mut().find(|(id, ..)| *id == feature.id) {
                Some((_, _, changed)) => *changed = entry.time,
                None => times.push((feature.id.clone(), entry.time, entry.time)),
            }
        }
        last = list.features;
    }
    times
}

/// ` · 2026-11-21, changed 2026-11-22`
fn dates(made: i64, changed: i64) -> String {
    let day = |time: i64| {
        let since = Duration::from_secs(u64::try_from(time).unwrap_or_default());
        clock::rfc3339(UNIX_EPOCH + since).chars().take(10).collect::<String>()
    };
    let (made, changed) = (day(made), day(changed));
    if made == changed { format!(" · {made}") } else { format!(" · {made}, changed {changed}") }
}
