//! The delivery report: the actor's title, summary and how to try it, followed by verified facts:
//! the changes, criteria with the evidence for each, check results, rejected work. These are
//! written from records and commits, so that readers need not trust a model, and shortened to what
//! a reviewer reads (`fit.rs`). `git cowork log -v` shows token usage and every draft.
//!
//! The report names no commit ids, because a rebase or a squash would make them wrong. Commits can
//! be found by the names of their tasks.
//!
//! All text here comes from models or people, so it is escaped in the lines that git-cowork writes.

mod change;
mod criteria;
mod delivered;
mod fit;
mod knowledge;
mod markdown;
mod story;

use crate::artifact::check::pr_title;
use crate::artifact::knowledge::take_proposals;
use crate::artifact::{Store, TaskStatus};
use crate::pipeline::knowledge::{acceptable, proposed_by_code};
use crate::pipeline::protected_files::LEFT;
use crate::pipeline::run::Run;
use fit::{Section, fitted, room};
use knowledge::PROPOSED;
use markdown::{REASON, TITLE, one_line_item, own_words, paths};
use story::{Story, delivery_story};

pub(crate) use criteria::criterion_line;
pub(crate) use delivered::delivered;
pub(crate) use knowledge::listed as proposals_listed;
pub(crate) use markdown::cell;
pub(crate) use story::{judged, said_of_the_code};

/// Maximum number of refusals that are listed.
const REFUSALS: usize = 3;

/// The heading of what the actor says about its corrections.
const CORRECTIONS: &str = "## Corrections";

/// git-cowork's headings: if an actor writes text below one of them, the text is replaced.
const OURS: [&str; 13] = [
    "## Scope of the change",
    "## Changes",
    "## Acceptance criteria",
    "## Checks",
    "## Weakened tests",
    LEFT,
    CORRECTIONS,
    "## Rejected on the way",
    PROPOSED,
    "## Records before and after",
    // Headings of older reports.
    "## Traceability",
    "## Checks run by the program",
    "## Usage",
];

/// The report with the text its actor wrote.
pub(crate) fn delivery_report(
    run: &Run<'_>,
    store: &Store<'_>,
    own: &str,
) -> anyhow::Result<String> {
    let (own, proposed) = take_proposals(own);
    let mut proposals = knowledge::listed(&own);
    proposals.extend(proposed);
    let mut story = delivery_story(run, store)?;
    story.proposed = acceptable(run, proposals)?;
    Ok(story.around(&own))
}

/// The start of a report whose summary no model writes: the session's title, and the words of the
/// last task's actor, else the purpose of the change or of the features.
pub(crate) fn summary_of(run: &Run<'_>, store: &Store<'_>) -> anyhow::Result<String> {
    let title = format!("# {}", run.session.file.title);
    let title = match pr_title(&title) {
        Some(_) => title,
        None => format!("# Deliver {}", run.session.name),
    };
    let facts: String =
        proposed_by_code(run).iter().map(|one| format!("\n{}\n", one.line())).collect();
    let words = said_of_the_code(run, store)?;
    if !words.is_empty() {
        return Ok(format!("{title}\n\n{words}\n{facts}"));
    }
    if let Some(change) = store.change_request()? {
        return Ok(format!("{title}\n\n{}\n{facts}", change.summary.trim()));
    }
    let features = store.features()?.features;
    let lines = features.iter().map(|feature| match feature.description.trim() {
        "" => feature.name.clone(),
        description => description.to_owned(),
    });
    Ok(format!("{title}\n\n{}\n{facts}", lines.collect::<Vec<_>>().join("\n\n")))
}

impl Story {
    fn around(&self, own: &str) -> String {
        let lines = self.size.added.saturating_add(self.size.removed);
        fitted(&own_words(own, &OURS), self.sections(), room(lines))
    }

    /// The command that shows a document.
    fn show(&self, document: &str) -> String {
        format!("`git cowork show {} {document}`", self.session)
    }

    /// All sections in order; those without content are empty.
    fn sections(&self) -> Vec<Section> {
        let change = self.change.as_ref();
        let tests: Vec<String> =
            self.weakened.iter().map(|test| one_line_item("- ", test)).collect();
        let diff = format!("`git cowork diff {} --stat --without-artifacts`", self.session);
        let all = [
            Some(self.criteria(&self.show("prd"))),
            change.map(|change| change.scope(&diff)),
            Some(self.changes(&diff)),
            Some(Section::new("## Checks", &self.checks())),
            Some(Section::new("## Weakened tests", "").list(&tests, &self.show("check"))),
            Some(Section::new(LEFT, &self.left)),
            Some(self.corrections()),
            Some(self.rejected()),
            Some(knowledge::section(&self.proposed, &self.session)),
            change.map(|change| {
                change.before_and_after(&format!("`git cowork diff {}`", self.session))
            }),
        ];
        all.into_iter().flatten().collect()
    }

    /// The files that each task changed.
    fn changes(&self, all: &str) -> Section {
        let mut items = Vec::new();
        for task in &self.tasks {
            let name = format!("- {}: ", cell(&format!("{} {}", task.id, task.title), TITLE));
            let files = match self.done.get(&task.id) {
                Some(files) if !files.is_empty() => paths(files, name.len()),
                _ if self.unchanged.contains(&task.id) => "(no change needed)".to_owned(),
                _ if task.status == TaskStatus::Completed => "(with others)".to_owned(),
                _ => "(not done)".to_owned(),
            };
            items.push(name + &files);
        }
        if !self.beside.is_empty() {
            let name = if self.tasks.is_empty() { "- " } else { "- beside tasks: " };
            items.push(format!("{name}{}", paths(&self.beside, name.len())));
        }
        let mut size = self.size.words();
        // A file's name ends with a backtick.
        if items.iter().any(|item| item.ends_with(" more")) {
            size += &format!(" All files: {all}.");
        }
        Section::new("## Changes", &size).files(&items, all)
    }

    /// The check results of the last commit, on one line.
    fn checks(&self) -> String {
        let Some((last, before)) = self.checks.split_last().filter(|(last, _)| *last != "none")
        else {
            return "No test command is known, so nothing was run.".to_owned();
        };
        let others = before.iter().filter(|found| *found != last).count();
        let others = match others {
            0 => String::new(),
            count => {
                format!("; the result was different on {count} of {} earlier commits", before.len())
            }
        };
        let result = cell(last, REASON);
        format!("{result}, run by git-cowork on the files as committed{others}.")
    }

    /// What the actor says about each correction of the code, on one line.
    fn corrections(&self) -> Section {
        let items = self
            .corrected
            .iter()
            .map(|(whose, said)| one_line_item(&format!("- {}: ", cell(whose, TITLE)), said));
        let all = format!("`git cowork log {}`", self.session);
        Section::new(CORRECTIONS, "").list(&items.collect::<Vec<_>>(), &all)
    }

    /// The refusals that changed the delivered work, each on one line.
    fn rejected(&self) -> Section {
        let refusals = self.refused.iter().map(|said| {
            let by = match said.from.name() {
                "human" => "a person",
                "critic" => "the critic",
                "challenger" => "the second opinion",
                other => other,
            };
            let why = said.details.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
            one_line_item(&format!("- {}, by {by}: ", said.stage), why)
        });
        let attempts = self.attempts.iter();
        let attempts = attempts.map(|why| one_line_item("- a whole attempt was abandoned: ", why));
        let mut items: Vec<String> = refusals.chain(attempts).collect();
        let more = items.len().saturating_sub(REFUSALS);
        items.truncate(REFUSALS);
        let all = format!("`git cowork log {}`", self.session);
        Section::new("## Rejected on the way", "").list(&items, &all).without(more)
    }
}

#[cfg(test)]
mod tests {
    use super::story::{Size, changed_the_outcome};
    use super::*;
    use crate::artifact::{Criterion, Feature, FeatureStatus, Feedback, Requirement, Task};

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
            checks: vec!["passed (cargo test)".into()],
            session: "todo".into(),
            proofs: "`git cowork show todo check`".into(),
            size: Size { files: 2, added: 90, removed: 10 },
            ..Story::default()
        }
    }

    #[test]
    fn the_actors_text_comes_first_and_the_rest_is_generated() {
        let own = "Add a todo\n\n## Summary\n\nIt adds.\n\n## Changes\n\nInvented.\n\n## How to try it\n\n`todo add x`\n\n## Usage\n\nNothing.";
        let mut story = story("Add a todo");
        story.judged = Some("Judged in review by Ana.".into());
        let text = story.around(own);
        let expected = "Add a todo\n\n## Summary\n\nIt adds.\n\n## How to try it\n\n`todo add x`\n\n\
            ## Acceptance criteria\n\nJudged in review by Ana.\n\n\
            - **REQ-001 Add a todo**: FEAT-001 verified by the check: TASK-001\n  - Add a todo (by review)\n\n\
            ## Changes\n\n2 files: 90 lines added, 10 removed.\n\n\
            - TASK-001 Add a todo: `Add a todo`, `b.rs`\n- TASK-002 Add a todo: (not done)\n\n\
            ## Checks\n\npassed (cargo test), run by git-cowork on the files as committed.\n";
        assert_eq!(text, expected);
        assert_eq!(story.around(&text), text, "written again it is the same");
    }

    #[test]
    fn a_criterion_names_its_evidence() {
        let mut story = story("Add");
        let criterion = |test: &str| Criterion {
            text: "it <adds>".into(),
            test: Some(test.into()),
            fails_before: true,
        };
        let criteria = vec!["by hand".into(), criterion("t/a.rs::adds"), criterion("t/a.rs::more")];
        story.requirements[0].acceptance_criteria = criteria;
        let became = "passed, failed on the base".to_owned();
        story.became = [("t/a.rs::adds".to_owned(), became)].into();
        let text = story.around("T");
        for line in [
            "  - by hand (by review)\n",
            "  - it &lt;adds> (`t/a.rs::adds` passed, failed on the base)\n",
            "  - it &lt;adds> (`t/a.rs::more` not run)\n",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }

    #[test]
    fn different_results_of_earlier_checks_are_counted() {
        let mut story = Story::default();
        assert_eq!(story.checks(), "No test command is known, so nothing was run.");
        story.checks =
            ["failed (cargo test, exit 1)", "passed (cargo test)", "passed (cargo test)"]
                .map(str::to_owned)
                .into();
        assert_eq!(
            story.checks(),
            "passed (cargo test), run by git-cowork on the files as committed; \
             the result was different on 1 of 2 earlier commits."
        );
    }

    #[test]
    fn a_report_on_a_large_change_is_limited() {
        let long = "a long criterion ".repeat(20);
        let mut story = story(&long);
        story.size = Size { files: 400, added: 9_000, removed: 0 };
        let task = story.tasks[0].clone();
        story.tasks = vec![task; 100];
        let files: Vec<String> = (0..400).map(|n| format!("src/some/module{n}.rs")).collect();
        story.done = [("TASK-001".to_owned(), files)].into();
        story.weakened = vec![long.clone(); 50];
        let own = format!("T\n\n## Summary\n\n{}\n\n{}", long.repeat(9), "- point\n".repeat(90));
        let text = story.around(&own);
        assert_eq!(text.lines().count(), room(9_000), "{text}");
        let wide = text.lines().find(|line| console::measure_text_width(line) > 100);
        assert_eq!(wide, None, "{text}");
        let diff = "more: `git cowork diff todo --stat --without-artifacts`";
        for part in [diff, "more: `git cowork show todo check`", "All files:"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn text_of_others_cannot_break_out_of_its_line() {
        let mut story = story(HOSTILE);
        story.weakened = vec![HOSTILE.to_owned()];
        story.judged = Some(format!("by {}", cell(HOSTILE, TITLE)));
        let text = story.around("T");
        assert!(
            !text.lines().any(|line| line.starts_with("```") || line.starts_with('|')),
            "{text}"
        );
        let text = text.replace("\\`", "").replace('\n', " ");
        let outside: Vec<&str> = text.split('`').step_by(2).collect();
        let outside = outside.join("");
        assert!(!outside.contains("<img") && !outside.contains("@ana"), "{text}");
    }

    #[test]
    fn refusals_that_changed_the_delivered_work_are_listed() {
        let said = |from: &str, severity: &str, details: &str| -> Feedback {
            let value = serde_json::json!({
                "at": "", "stage": "prd", "iteration": 1, "from": from,
                "severity": severity, "details": details,
            });
            serde_json::from_value(value).unwrap()
        };
        let mut story = story("x");
        assert!(!story.around("T").contains("## Rejected"));
        let all = [
            said("critic", "major", "\nREQ-002 is vague <b>\nand long"),
            said("critic", "minor", "a taste"),
            said("validator", "critical", "no REQ-003"),
            said("human", "major", "no colours"),
        ];
        story.refused = all.into_iter().filter(changed_the_outcome).collect();
        story.attempts = vec!["back to design".into(), "back to prd".into()];
        let text = story.around("T");
        let section = text.split("## Rejected on the way\n\n").nth(1).unwrap();
        assert_eq!(
            section,
            "- prd, by the critic: REQ-002 is vague &lt;b>\n- prd, by a person: no colours\n\
             - a whole attempt was abandoned: back to design\n- … and 1 more: `git cowork log todo`\n"
        );
    }
}
