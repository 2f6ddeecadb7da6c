//! What the program adds to the delivery report because it knows it for certain: criteria and what
//! meets them, the way from requirement to file, what was run, what was refused. Written from
//! records and commits, so that no reader has to take a model's word for it.
//!
//! No commit is named by its id: a rebase or a squash would make a lie of it. Tasks are what commits
//! are found by.
//!
//! All words in here come from models or people: in a table cell or a graph they are text and
//! nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::Pipeline;
use crate::artifact::{
    BY_HAND, Feature, FeatureStatus, Feedback, Requirement, Store, Task, TaskStatus,
};
use crate::session::{Attempt, CommittedFiles, Kind, attempts, key};
use crate::stage::Stage;

/// Characters of a title in a table or graph.
const TITLE: usize = 60;
/// Characters of a refusal.
const REASON: usize = 200;
/// Refusals that are told one by one.
const REFUSALS: usize = 20;
/// Files of a task that are named.
const FILES: usize = 8;

/// What the sections are written from: of a change request only what it touched.
#[derive(Default)]
pub(super) struct Story {
    requirements: Vec<Requirement>,
    features: Vec<Feature>,
    /// How far features were when the check had looked, by id.
    checked: BTreeMap<String, FeatureStatus>,
    tasks: Vec<Task>,
    /// What the commits of tasks changed, outside `.cowork`.
    done: BTreeMap<String, Vec<String>>,
    /// What coding changed beside tasks.
    beside: Vec<String>,
    /// Criteria of a change request.
    asked: Vec<String>,
    refused: Vec<Feedback>,
    left: Vec<String>,
    /// Subjects of commits, and what was run on each.
    checks: Vec<(String, String)>,
}

impl Pipeline<'_> {
    /// Reads it from records and history.
    pub(super) fn story(&self, store: &Store<'_>) -> anyhow::Result<Story> {
        let git = self.env.git;
        let mut story = Story {
            requirements: store.requirements()?.requirements,
            features: store.features()?.features,
            tasks: store.plan()?.tasks,
            ..Story::default()
        };
        story.tasks.retain(Task::is_top_level);
        for entry in &self.session.history {
            if let (Kind::Task(_) | Kind::Stage(Stage::Coding), Some(parent)) =
                (&entry.kind, entry.parents.first())
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
        if let Some(entry) = self.session.stage_entry(Stage::Check) {
            let then = CommittedFiles::new(git, &self.session.name, &entry.commit);
            let features = Store::new(&then).features()?.features.into_iter();
            story.checked = features.map(|feature| (feature.id, feature.status)).collect();
        }
        if self.session.is_patch() {
            story.asked = store.change_request()?.unwrap_or_default().acceptance_criteria;
            story.keep_what_is_done();
        }
        let refused = |said: &Feedback| !said.extra.contains_key(BY_HAND) && !said.is_reason();
        story.refused = store.feedback()?.into_iter().filter(refused).collect();
        let all = attempts(git, Some(&self.session.name))?.into_iter();
        story.left = all.filter(Attempt::can_be_undone).map(|attempt| attempt.reason).collect();
        Ok(story)
    }
}

impl Story {
    fn keep_what_is_done(&mut self) {
        self.tasks.retain(|task| self.done.contains_key(&task.id));
        let used: BTreeSet<&str> = self.tasks.iter().map(|task| task.feature_id.as_str()).collect();
        self.features.retain(|feature| used.contains(feature.id.as_str()));
        let met: BTreeSet<&String> =
            self.features.iter().flat_map(|feature| &feature.requirement_ids).collect();
        self.requirements.retain(|requirement| met.contains(&requirement.id));
    }

    fn features_of<'a>(&'a self, requirement: &'a str) -> impl Iterator<Item = &'a Feature> {
        self.features.iter().filter(move |f| f.requirement_ids.iter().any(|id| id == requirement))
    }

    fn tasks_of<'a>(&'a self, feature: &'a str) -> impl Iterator<Item = &'a Task> {
        self.tasks.iter().filter(move |task| task.feature_id == feature)
    }

    /// The sections, each under its heading, in their order.
    pub(super) fn sections(&self) -> Vec<(&'static str, String)> {
        vec![
            ("## Acceptance criteria", self.criteria()),
            ("## Traceability", self.traceability()),
            ("## Checks run by the program", self.checks()),
            ("## Rejected on the way", self.rejected()),
        ]
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
        if !self.asked.is_empty() {
            block("The change", &run, &self.asked);
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
            let feature = self.features.iter().find(|feature| feature.id == task.feature_id);
            let requirements = feature.map(|f| f.requirement_ids.join(", ")).unwrap_or_default();
            let files = match self.done.get(&task.id) {
                Some(files) if !files.is_empty() => paths(files),
                _ if task.status == TaskStatus::Completed => "(with others)".to_owned(),
                _ => "(not done)".to_owned(),
            };
            rows.push([
                cell(&requirements, REASON),
                cell(&feature.map_or_else(String::new, |f| format!("{} {}", f.id, f.name)), TITLE),
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
            if let Some(f) = self.features.iter().position(|feature| feature.id == task.feature_id)
            {
                let _ = writeln!(edges, "  F{f} --> T{t}");
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

/// A Markdown table. Cells are made by [`cell`] or [`paths`].
fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let rule: Vec<String> = head.iter().map(|_| "---".to_owned()).collect();
    let mut out = line(&head) + &line(&rule);
    rows.iter().for_each(|row| out += &line(row));
    out
}

/// Words on one line.
fn one_line(words: &str) -> String {
    let words = words.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn shortened(words: &str, most: usize) -> String {
    if words.chars().count() <= most {
        return words.to_owned();
    }
    let cut: String = words.chars().take(most.saturating_sub(1)).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(head, _)| head);
    format!("{cut}…")
}

/// Words as text in Markdown: no HTML, no link, nobody is called by `@`. Code stays code where its
/// backticks are in order.
fn text(words: &str) -> String {
    let words = one_line(words);
    let code = words.matches('`').count().is_multiple_of(2) && !words.contains("``");
    let mut inside = false;
    let mut out = String::new();
    for c in words.chars() {
        match c {
            '`' if code => {
                inside = !inside;
                out.push(c);
            }
            // A table ends its cells in code, too.
            '|' => out += "\\|",
            c if inside => out.push(c),
            '<' => out += "&lt;",
            '@' => out += "&#64;",
            '\\' | '[' | ']' | '`' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Words as a cell of a table, or on a line.
pub(super) fn cell(words: &str, most: usize) -> String {
    text(&shortened(&one_line(words), most))
}

/// Paths as a cell.
fn paths(files: &[String]) -> String {
    let name =
        |path: &String| format!("`{}`", one_line(path).replace('`', "'").replace('|', "\\|"));
    let mut names: Vec<String> = files.iter().take(FILES).map(name).collect();
    if files.len() > FILES {
        names.push(format!("and {} more", files.len() - FILES));
    }
    names.join(", ")
}

/// Words as a label of a Mermaid node, between double quotes: its own escapes for all that could
/// end the label, begin a directive, or be markup.
fn label(words: &str) -> String {
    let mut out = String::new();
    for c in shortened(&one_line(words), TITLE).chars() {
        match c {
            '"' | '#' | '<' | '>' | '&' | '`' | '%' | ';' | '\\' | '{' | '}' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// The report with our sections at its end, whatever stood under these headings before.
pub(super) fn with_sections(report: &str, sections: &[(&str, String)]) -> String {
    let mut ours = false;
    let mut fenced = false;
    let mut kept = String::new();
    for line in report.lines() {
        let heading = !fenced && (line.starts_with("# ") || line.starts_with("## "));
        if heading {
            ours = sections.iter().any(|(head, _)| line.trim_end().eq_ignore_ascii_case(head));
        }
        if !ours {
            fenced ^= is_fence(line);
            kept += line;
            kept.push('\n');
        } else if is_fence(line) {
            fenced = !fenced;
        }
    }
    let mut out = kept.trim_end().to_owned();
    if kept.lines().filter(|line| is_fence(line)).count() % 2 == 1 {
        // A code block nobody closed would take our sections in.
        out += "\n```";
    }
    for (heading, section) in sections {
        let _ = write!(out, "\n\n{heading}\n\n{}", section.trim());
    }
    out + "\n"
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
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
        Story {
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
    fn code_stays_code_and_all_else_is_text() {
        for (words, said) in [
            ("`add <text>` prints | the @id", "`add <text>` prints \\| the &#64;id"),
            ("`a|b`", "`a\\|b`"),
            ("one ` <b>", "one \\` &lt;b>"),
            ("``<b>``", "\\`\\`&lt;b>\\`\\`"),
            ("[l](u) \\", "\\[l\\](u) \\\\"),
        ] {
            assert_eq!(text(words), said);
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

    #[test]
    fn sections_are_written_once_and_after_the_models_words() {
        let ours = |item: &str| vec![("## A", item.to_owned()), ("## B", "b".to_owned())];
        let once = with_sections(
            "T\n\n## Own\n\n```\n## A\n```\n\n## a\n\nmodel's\n\n### part\n",
            &ours("1"),
        );
        assert_eq!(once, "T\n\n## Own\n\n```\n## A\n```\n\n## A\n\n1\n\n## B\n\nb\n");
        assert_eq!(with_sections(&once, &ours("2")), once.replace("\n1\n", "\n2\n"));
        let open = with_sections("T\n\n```sh\nnever closed", &ours("1"));
        assert!(open.contains("never closed\n```\n\n## A"), "{open}");
    }
}
