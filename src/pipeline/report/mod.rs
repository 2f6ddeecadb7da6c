//! What the program adds to the delivery report because it knows it for certain: criteria and what
//! meets them, the way from requirement to file, what was run, what was refused. Written from
//! records and commits, so that no reader has to take a model's word for it.
//!
//! No commit is named by its id: a rebase or a squash would make a lie of it. Tasks are what commits
//! are found by.
//!
//! All words in here come from models or people: in a table cell or a graph they are text and
//! nothing else.

mod change;
mod markdown;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::artifact::{
    BY_HAND, Feature, FeatureStatus, Feedback, Plan, Requirement, Store, Task, TaskStatus,
};
use crate::pipeline::run::Run;
use crate::session::{Attempt, CommittedFiles, Kind, attempts, key};
use crate::stages;
use change::ChangeStory;
use markdown::{FILES, REASON, TITLE, label, paths, table};

pub(crate) use markdown::{cell, with_sections};

/// Refusals that are told one by one.
const REFUSALS: usize = 20;

/// What the sections are written from: of a change request only what it touched.
#[derive(Default)]
pub(crate) struct Story {
    requirements: Vec<Requirement>,
    features: Vec<Feature>,
    /// How far features were when the check had looked, by id.
    checked: BTreeMap<String, FeatureStatus>,
    tasks: Vec<Task>,
    /// The features each of them works on, itself or in a sub-task.
    works_on: BTreeMap<String, Vec<String>>,
    /// What the commits of tasks changed, outside `.cowork`.
    done: BTreeMap<String, Vec<String>>,
    /// What coding changed beside tasks.
    beside: Vec<String>,
    /// Of a change request.
    change: Option<ChangeStory>,
    refused: Vec<Feedback>,
    left: Vec<String>,
    /// Subjects of commits, and what was run on each.
    checks: Vec<(String, String)>,
}

/// Reads it from records and history.
pub(crate) fn delivery_story(run: &Run<'_>, store: &Store<'_>) -> anyhow::Result<Story> {
    let git = run.env.git;
    let mut story = Story {
        requirements: store.requirements()?.requirements,
        features: store.features()?.features,
        tasks: store.plan()?.tasks,
        ..Story::default()
    };
    let plan = Plan { tasks: std::mem::take(&mut story.tasks), ..Plan::default() };
    for task in plan.tasks.iter().filter(|task| task.is_top_level()) {
        let features = plan.features_of(&task.id).into_iter().map(str::to_owned).collect();
        story.works_on.insert(task.id.clone(), features);
        story.tasks.push(task.clone());
    }
    for entry in &run.session.history {
        if entry.brings_code()
            && let Some(parent) = entry.parents.first()
        {
            let mut files = git.changed_paths(parent, &entry.commit)?;
            files.retain(|path| !path.starts_with(".cowork/"));
            match &entry.kind {
                Kind::Task(id) => story.done.entry(id.clone()).or_default().append(&mut files),
                _ => story.beside.append(&mut files),
            }
        }
        if let Some(found) = entry.trailers.get(key::CHECKS) {
            story.checks.push((entry.subject.clone(), found.to_owned()));
        }
    }
    if let Some(entry) = run.session.stage_entry(stages::verifying()) {
        let then = CommittedFiles::new(git, &run.session.name, &entry.commit);
        let features = Store::new(&then).features()?.features.into_iter();
        story.checked = features.map(|feature| (feature.id, feature.status)).collect();
    }
    if run.session.is_patch() {
        story.change = Some(change::change_story(run, store)?);
        story.keep_what_is_done();
    }
    let refused = |said: &Feedback| !said.extra.contains_key(BY_HAND) && !said.is_reason();
    story.refused = store.feedback()?.into_iter().filter(refused).collect();
    let all = attempts(git, Some(&run.session.name))?.into_iter();
    story.left = all.filter(Attempt::can_be_undone).map(|attempt| attempt.reason).collect();
    Ok(story)
}

impl Story {
    fn keep_what_is_done(&mut self) {
        self.tasks.retain(|task| self.done.contains_key(&task.id));
        let on = |task| self.works_on(task).iter().cloned();
        let used: BTreeSet<String> = self.tasks.iter().flat_map(on).collect();
        self.features.retain(|feature| used.contains(&feature.id));
        let met: BTreeSet<&String> =
            self.features.iter().flat_map(|feature| &feature.requirement_ids).collect();
        self.requirements.retain(|requirement| met.contains(&requirement.id));
    }

    fn features_of<'a>(&'a self, requirement: &'a str) -> impl Iterator<Item = &'a Feature> {
        self.features.iter().filter(move |f| f.requirement_ids.iter().any(|id| id == requirement))
    }

    fn works_on(&self, task: &Task) -> &[String] {
        self.works_on.get(&task.id).map_or(&[], Vec::as_slice)
    }

    fn tasks_of<'a>(&'a self, feature: &'a str) -> impl Iterator<Item = &'a Task> {
        self.tasks.iter().filter(move |task| self.works_on(task).iter().any(|id| id == feature))
    }

    /// The sections, each under its heading, in their order.
    pub(crate) fn sections(&self) -> Vec<(&'static str, String)> {
        let change = self.change.iter().flat_map(|change| {
            [
                ("## Scope of the change", change.scope()),
                ("## Records before and after", change.before_and_after()),
            ]
        });
        let all = [
            ("## Acceptance criteria", self.criteria()),
            ("## Traceability", self.traceability()),
            ("## Checks run by the program", self.checks()),
            ("## Rejected on the way", self.rejected()),
        ];
        change.chain(all).collect()
    }

    fn criteria(&self) -> String {
        let run = self.checks.last().map(|(_, found)| found.as_str()).filter(|run| *run != "none");
        let run = cell(run.unwrap_or("no test command is known, so nothing was run"), REASON);
        let mut out = String::new();
        let mut block = |what: &str, evidence: &str, criteria: &[String]| {
            let _ = writeln!(out, "- **{what}**: {evidence}");
            for criterion in criteria {
                let _ = writeln!(out, "  - {}", cell(criterion, REASON));
            }
        };
        if let Some(change) = &self.change {
            block("The change", &run, &change.asked.acceptance_criteria);
        }
        for requirement in &self.requirements {
            let what = cell(&format!("{} {}", requirement.id, requirement.title), TITLE);
            block(&what, &self.evidence(requirement), &requirement.acceptance_criteria);
        }
        if out.is_empty() {
            return "No requirement is touched.\n".to_owned();
        }
        let _ = writeln!(out, "\nThe project's own tests, at the last look: {run}.");
        out
    }

    /// What stands for a requirement: how far its features are, and the tasks that brought them.
    fn evidence(&self, requirement: &Requirement) -> String {
        let mut parts = Vec::new();
        for feature in self.features_of(&requirement.id) {
            let state = match self.checked.get(&feature.id).copied().unwrap_or(feature.status) {
                FeatureStatus::Planned | FeatureStatus::InProgress => "not finished",
                FeatureStatus::Implemented => "implemented, not verified",
                FeatureStatus::Verified => "verified by the check",
                FeatureStatus::Delivered => "delivered before",
            };
            let tasks = self.tasks_of(&feature.id).filter(|task| self.done.contains_key(&task.id));
            let tasks: Vec<String> = tasks.map(|task| cell(&task.id, TITLE)).collect();
            let by =
                if tasks.is_empty() { String::new() } else { format!(": {}", tasks.join(", ")) };
            parts.push(format!("{} {state}{by}", cell(&feature.id, TITLE)));
        }
        if parts.is_empty() { "no feature meets it".to_owned() } else { parts.join("; ") }
    }

    fn traceability(&self) -> String {
        let beside = match self.beside.as_slice() {
            [] => String::new(),
            files => format!("\nChanged beside tasks: {}.\n", paths(files)),
        };
        if self.tasks.is_empty() {
            return format!("No requirement is touched, and no task was planned.\n{beside}");
        }
        let mut rows = Vec::new();
        for task in &self.tasks {
            let features = self.features.iter().filter(|f| self.works_on(task).contains(&f.id));
            let features: Vec<&Feature> = features.collect();
            let requirements: BTreeSet<&str> = features
                .iter()
                .flat_map(|feature| feature.requirement_ids.iter().map(String::as_str))
                .collect();
            let requirements = requirements.into_iter().collect::<Vec<_>>().join(", ");
            let names: Vec<String> =
                features.iter().map(|f| cell(&format!("{} {}", f.id, f.name), TITLE)).collect();
            let files = match self.done.get(&task.id) {
                Some(files) if !files.is_empty() => paths(files),
                _ if task.status == TaskStatus::Completed => "(with others)".to_owned(),
                _ => "(not done)".to_owned(),
            };
            rows.push([
                cell(&requirements, REASON),
                names.join(", "),
                cell(&format!("{} {}", task.id, task.title), TITLE),
                files,
            ]);
        }
        let table = table(["Requirement", "Feature", "Task", "Files"], &rows);
        format!(
            "Each task is a commit of the session: `git log --grep 'Cowork-Task: TASK-001'` finds it there.\n\n{table}{beside}\n```mermaid\n{}```\n",
            self.graph()
        )
    }

    /// Requirement to feature to task to file. Nodes have names of ours; what others wrote is only
    /// ever a label.
    fn graph(&self) -> String {
        let mut out = "graph LR\n".to_owned();
        let mut edges = String::new();
        let mut files: Vec<&str> = Vec::new();
        for (r, requirement) in self.requirements.iter().enumerate() {
            let title = label(&format!("{} {}", requirement.id, requirement.title));
            let _ = writeln!(out, "  R{r}[\"{title}\"]");
        }
        for (f, feature) in self.features.iter().enumerate() {
            let _ =
                writeln!(out, "  F{f}[\"{}\"]", label(&format!("{} {}", feature.id, feature.name)));
            for (r, requirement) in self.requirements.iter().enumerate() {
                if feature.requirement_ids.contains(&requirement.id) {
                    let _ = writeln!(edges, "  R{r} --> F{f}");
                }
            }
        }
        for (t, task) in self.tasks.iter().enumerate() {
            let _ = writeln!(out, "  T{t}[\"{}\"]", label(&format!("{} {}", task.id, task.title)));
            for (f, feature) in self.features.iter().enumerate() {
                if self.works_on(task).contains(&feature.id) {
                    let _ = writeln!(edges, "  F{f} --> T{t}");
                }
            }
            let Some(done) = self.done.get(&task.id) else { continue };
            for file in done.iter().take(FILES) {
                let p = files.iter().position(|known| known == file).unwrap_or(files.len());
                if p == files.len() {
                    files.push(file);
                    let _ = writeln!(out, "  P{p}[\"{}\"]", label(file));
                }
                let _ = writeln!(edges, "  T{t} --> P{p}");
            }
        }
        out + &edges
    }

    fn checks(&self) -> String {
        if self.checks.is_empty() {
            return "Nothing was run: no test command is known for this project.\n".to_owned();
        }
        let row = |(subject, found): &(String, String)| [cell(subject, TITLE), cell(found, REASON)];
        let rows: Vec<[String; 2]> = self.checks.iter().map(row).collect();
        format!(
            "git-cowork ran these itself, on the files as they were committed.\n\n{}",
            table(["Commit", "Result"], &rows)
        )
    }

    fn rejected(&self) -> String {
        let mut out = String::new();
        for said in self.refused.iter().take(REFUSALS) {
            let by = match said.from.name() {
                "human" => "a person",
                "validator" => "a mechanical check",
                "hook" => "a git hook",
                "critic" => "the critic",
                "self-review" => "the actor's self-review, which could not fix it",
                "actor" => "the actor, who asked to go back",
                other => other,
            };
            let why = said.details.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
            let _ = writeln!(
                out,
                "- {}, draft {}, by {by} ({}): {}",
                said.stage,
                said.iteration,
                said.severity.name(),
                cell(why, REASON)
            );
        }
        if let Some(more) = self.refused.len().checked_sub(REFUSALS).filter(|more| *more > 0) {
            let _ = writeln!(out, "- and {more} more: `feedback_history.json` has them all");
        }
        for reason in &self.left {
            let _ = writeln!(out, "- a whole attempt was left: {}", cell(reason, REASON));
        }
        if out.is_empty() {
            "Nothing: the first draft of each stage stood.\n".to_owned()
        } else {
            out
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "x\"] --> Y\n```\n%%{init: {}}%% | a `b` <img src=x> @ana [l](u) \\";

    fn story(title: &str) -> Story {
        let requirement = Requirement {
            id: "REQ-001".into(),
            title: title.into(),
            acceptance_criteria: vec![title.into()],
            ..Requirement::default()
        };
        let feature = Feature {
            id: "FEAT-001".into(),
            name: title.into(),
            requirement_ids: vec!["REQ-001".into()],
            status: FeatureStatus::Verified,
            ..Feature::default()
        };
        let task = |id: &str| Task {
            id: id.into(),
            title: title.into(),
            feature_id: "FEAT-001".into(),
            ..Task::default()
        };
        let files = vec![title.to_owned(), "b.rs".into()];
        let works_on = ["TASK-001", "TASK-002"].map(|id| (id.into(), vec!["FEAT-001".into()]));
        Story {
            works_on: works_on.into(),
            requirements: vec![requirement],
            features: vec![feature],
            tasks: vec![task("TASK-001"), task("TASK-002")],
            done: [("TASK-001".to_owned(), files)].into(),
            checks: vec![(title.into(), "passed (cargo test)".into())],
            ..Story::default()
        }
    }

    #[test]
    fn the_way_from_requirement_to_file_is_a_table_and_a_graph() {
        let text = story("Add a todo").traceability();
        assert!(
            text.contains(
                "| REQ-001 | FEAT-001 Add a todo | TASK-001 Add a todo | `Add a todo`, `b.rs` |"
            ),
            "{text}"
        );
        assert!(text.contains("| TASK-002 Add a todo | (not done) |"), "{text}");
        let graph = "graph LR\n  R0[\"REQ-001 Add a todo\"]\n  F0[\"FEAT-001 Add a todo\"]\n  T0[\"TASK-001 Add a todo\"]\n  P0[\"Add a todo\"]\n  P1[\"b.rs\"]\n  T1[\"TASK-002 Add a todo\"]\n  R0 --> F0\n  F0 --> T0\n  T0 --> P0\n  T0 --> P1\n  F0 --> T1\n";
        assert!(text.contains(&format!("```mermaid\n{graph}```")), "{text}");
        let criteria = story("Add a todo").criteria();
        let item =
            "- **REQ-001 Add a todo**: FEAT-001 verified by the check: TASK-001\n  - Add a todo\n";
        assert!(criteria.contains(item), "{criteria}");
    }

    #[test]
    fn no_words_leave_their_cell_or_label() {
        let story = story(HOSTILE);
        let graph = story.graph();
        for line in graph.lines().skip(1) {
            let node = line.ends_with("\"]") && line.matches('"').count() == 2;
            assert!(node || line.contains(" --> ") && !line.contains('"'), "{line}");
            assert!(!line.contains('`') && !line.contains("%%") && !line.contains('<'), "{line}");
        }
        for (_, section) in story.sections() {
            let text = section.split("```mermaid").next().unwrap();
            for line in text.lines() {
                let bars = line.replace("\\\\", "").replace("\\|", "").matches('|').count();
                assert!(!line.starts_with('|') || [3, 5].contains(&bars), "{line}");
                let line = line.replace("\\`", "");
                let outside: Vec<&str> = line.split('`').step_by(2).collect();
                let outside = outside.join("");
                assert!(!outside.contains("<img") && !outside.contains("@ana"), "{line}");
            }
        }
    }

    #[test]
    fn refusals_are_told_with_who_and_why() {
        let mut story = story("x");
        assert!(story.rejected().starts_with("Nothing"));
        story.refused = vec![
            serde_json::from_value(serde_json::json!({
                "at": "", "stage": "prd", "iteration": 1, "from": "critic",
                "severity": "major", "details": "\nREQ-002 is vague <b>\nand long",
            }))
            .unwrap(),
        ];
        story.left = vec!["back to design".into()];
        assert_eq!(
            story.rejected(),
            "- prd, draft 1, by the critic (major): REQ-002 is vague &lt;b>\n- a whole attempt was left: back to design\n"
        );
    }
}
