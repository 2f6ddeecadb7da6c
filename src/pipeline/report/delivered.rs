//! The summary of the delivery report that is printed when a run delivers.

use super::story::{Story, delivery_story};
use crate::artifact::check::pr_title;
use crate::artifact::{Artifact, Feature, FeatureStatus};
use crate::event::Delivered;
use crate::git;
use crate::pipeline::evidence::recorded;
use crate::pipeline::files::project_files::code_since_start;
use crate::pipeline::run::Run;
use crate::session::{Kind, merge_command};

/// True if the requirement has features, all of them work, and tasks were for what it asks.
fn is_met(story: &Story, requirement: &str) -> bool {
    let stands = |feature: &&Feature| feature.requirement_ids.iter().any(|id| id == requirement);
    let mut features = story.features.iter().filter(stands).peekable();
    let works = |feature: &Feature| {
        let status = story.checked.get(&feature.id).copied().unwrap_or(feature.status);
        matches!(status, FeatureStatus::Verified | FeatureStatus::Delivered)
    };
    let is_covered = !story.uncovered.contains_key(requirement);
    is_covered && features.peek().is_some() && features.all(works)
}

/// The delivered work, read from the session's records and history.
///
/// # Errors
/// The records or the history cannot be read.
pub(crate) fn delivered(run: &Run<'_>) -> anyhow::Result<Delivered> {
    let store = run.store();
    let story = delivery_story(run, &store)?;
    let report = store.text(Artifact::DeliveryReport)?.unwrap_or_default();
    let title = pr_title(&report).unwrap_or_else(|| run.session.file.title.clone());
    let requirements =
        story.requirements.iter().map(|one| (one.id.clone(), is_met(&story, &one.id))).collect();
    let criteria: Vec<_> =
        story.requirements.iter().flat_map(|one| &one.acceptance_criteria).collect();
    let shown = criteria.iter().filter(|one| story.is_shown(one)).count();
    let (git, session) = (run.env.git, &run.session);
    let command = format!("git cowork merge {}", session.name);
    // The run ends on the session's branch.
    let take_it = merge_command(git, run.env.refs, session)?
        .map(|merge| if merge == command { "git cowork merge".to_owned() } else { merge });
    Ok(Delivered {
        title,
        take_it,
        requirements,
        criteria: (shown, criteria.len() - shown),
        files: code_since_start(run, &run.session.tip)?,
        lines: (story.size.added, story.size.removed),
        tests: recorded::newest_runs(run)?,
        rejected: rejected(run, story.attempts.len()),
        try_it: command_to_try(&report),
        has_remote: !git::remote::all(run.env.git)?.is_empty(),
    })
}

/// `1 draft of prd, 1 attempt (kept)`; empty if nothing was rejected.
fn rejected(run: &Run<'_>, attempts: usize) -> String {
    let mut list = Vec::new();
    for entry in &run.session.history {
        if let Kind::Stage(stage) = entry.kind
            && !entry.is_start()
        {
            match entry.iterations().saturating_sub(1) {
                0 => {}
                1 => list.push(format!("1 draft of {stage}")),
                many => list.push(format!("{many} drafts of {stage}")),
            }
        }
    }
    match attempts {
        0 => {}
        1 => list.push("1 attempt (kept)".to_owned()),
        many => list.push(format!("{many} attempts (kept)")),
    }
    list.join(", ")
}

/// The first command in a report's section about trying it, if it is certain to be a command: a
/// line of a code block, or inline code with more than one word or starting with `./`.
fn command_to_try(report: &str) -> Option<String> {
    let is_heading = |line: &str| line.starts_with('#');
    let mut lines = report.lines().skip_while(|line| {
        !is_heading(line) || !line.to_lowercase().split_whitespace().any(|word| word == "try")
    });
    lines.next()?;
    let mut in_block = false;
    for line in lines {
        let text = line.trim();
        if text.starts_with("```") || text.starts_with("~~~") {
            in_block = !in_block;
            continue;
        }
        let code = match in_block {
            true if text.is_empty() || text.starts_with('#') => continue,
            true => text,
            false if line.starts_with("# ") || line.starts_with("## ") => return None,
            false => match text.split('`').nth(1) {
                Some(code) => code.trim(),
                None => continue,
            },
        };
        let command = code.strip_prefix("$ ").unwrap_or(code).trim();
        if in_block || command.contains(' ') || command.starts_with("./") {
            return (!command.is_empty()).then(|| command.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_evident_command_is_offered() {
        for (report, expected) in [
            ("# T\n\n## How to try it\n\n`todo add x` adds one.\n", Some("todo add x")),
            (
                "# T\n\n## How to try it\n\n```sh\n# first\n$ cargo run -- add\n```\n",
                Some("cargo run -- add"),
            ),
            ("# T\n\n## How to try it\n\nRun `./todo.sh`.\n", Some("./todo.sh")),
            ("# T\n\n## How to try it\n\nOpen `index.html` in a browser.\n", None),
            ("# T\n\n## How to try it\n\nBy hand.\n\n## Changes\n\n- `lib a`\n", None),
            ("# T\n\n`cargo test now`\n", None),
            ("", None),
        ] {
            assert_eq!(command_to_try(report).as_deref(), expected, "{report:?}");
        }
    }
}
