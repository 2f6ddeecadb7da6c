//! The documents that have no records of their own: idea, check report, delivery report; and the
//! change request.

use super::tasks::{missing_file, promised};
use super::{Baseline, Finding, Report};
use crate::artifact::{Artifact, Store};

/// Words below which a document says nothing.
const LEAST_WORDS: usize = 8;

/// Longest pull-request title.
const LONGEST_TITLE: usize = 120;

/// Checks `idea.md`: a title, at least three sections, and something in them.
pub fn idea(store: &Store<'_>) -> Report {
    let mut report = Report::default();
    let Some(text) = report.document(store, Artifact::Idea) else { return report };
    let shape = Shape::of(&text);
    report.rule("idea.md has a title and sections", |report| {
        if !shape.title {
            report.find(
                Finding::missing("idea-title", "idea.md does not begin with a title")
                    .fix("begin it with '# Title'"),
            );
        }
        if shape.sections < 3 {
            let sections = shape.sections;
            report.find(
                Finding::missing(
                    "idea-sections",
                    format!("idea.md has {sections} sections; at least 3 are needed"),
                )
                .fix("use headings: Problem, Users, Goals, Technical considerations, Next steps"),
            );
        }
        trivial(report, Artifact::Idea, shape.words);
    });
    report
}

/// Checks that `check_report.md` is there and says something.
pub fn check_report(store: &Store<'_>) -> Report {
    let mut report = Report::default();
    if let Some(text) = report.document(store, Artifact::CheckReport) {
        report.rule("check_report.md is there", |report| {
            trivial(report, Artifact::CheckReport, Shape::of(&text).words);
        });
    }
    report
}

/// Checks that there is something to deliver: the files the plan promised exist (`exists` gets
/// their paths), and the report begins with a title for the pull request. In a patch session
/// (`added`) only what its own tasks promised must be there, since a change may remove files.
pub fn delivery(
    store: &Store<'_>,
    exists: &dyn Fn(&str) -> bool,
    added: Option<&Baseline>,
) -> Report {
    let mut report = Report::default();
    let plan = report.load(store.plan());
    let promised = promised(&plan, added);
    report.rule(&format!("{} planned files exist", promised.len()), |report| {
        for (task, path) in &promised {
            if !exists(path) {
                report.find(missing_file(task, path));
            }
        }
        if promised.is_empty() && added.is_none() {
            report.find(
                Finding::missing("nothing-to-deliver", "the plan promised no files at all")
                    .critical(),
            );
        }
    });
    if let Some(text) = report.document(store, Artifact::DeliveryReport) {
        report.rule("the report's first line is a title", |report| {
            if pr_title(&text).is_none() {
                report.find(
                    Finding::wrong(
                        "delivery-title",
                        "the first line of delivery_report.md is no usable pull-request title",
                    )
                    .fix("begin with one line that says what is delivered, such as '# Add a todo list for the terminal'"),
                );
            }
        });
        report.rule("the report has a summary", |report| {
            if !has_summary(&text) {
                report.find(
                    Finding::missing(
                        "delivery-summary",
                        "delivery_report.md has no summary: a reviewer begins there",
                    )
                    .fix("after the title, a section '## Summary': what a user can do now, how to try it"),
                );
            }
        });
    }
    report
}

/// Checks `change_request.json`.
pub fn triage(store: &Store<'_>) -> Report {
    let mut report = Report::default();
    let Some(change) = report.load(store.change_request()) else {
        if report.is_ok() {
            report.find(
                Finding::missing("missing-document", "change_request.json is missing")
                    .critical()
                    .fix("save it with save_change_request"),
            );
        }
        return report;
    };
    let design = report.load(store.design());
    report.rule("the change request is complete", |report| {
        let scope = change.scope;
        if change.summary.trim().is_empty() {
            report.find(Finding::missing("incomplete-change", "the change request has no summary"));
        }
        if change.acceptance_criteria.is_empty() {
            report.find(Finding::missing(
                "incomplete-change",
                "the change request has no acceptance_criteria",
            ));
        }
        if !(scope.prd || scope.design || scope.plan || scope.code) {
            report.find(Finding::missing("empty-scope", "the scope names nothing that changes"));
        }
        for id in &change.affected_components {
            if !design.components.iter().any(|component| &component.id == id) {
                report.find(
                    Finding::wrong(
                        "unknown-component",
                        format!("the change request names {id}, which does not exist"),
                    )
                    .about(id),
                );
            }
        }
    });
    report
}

/// Whether there is a heading `Summary` with something under it.
fn has_summary(report: &str) -> bool {
    let is_heading = |line: &str| line.starts_with('#') || line.starts_with("**");
    let name = |line: &str| line.trim_matches(['#', '*', ':', ' ']).to_lowercase();
    let mut lines = report.lines().map(str::trim).filter(|line| !line.is_empty());
    let found = lines.any(|line| is_heading(line) && name(line) == "summary");
    found && lines.next().is_some_and(|line| !line.starts_with('#'))
}

/// The pull-request title a report begins with, without Markdown; `None` when its first line is
/// no usable one.
pub fn pr_title(text: &str) -> Option<String> {
    let line = text.trim_start().lines().next()?;
    let title = line.trim_start_matches('#').trim().trim_matches('*').trim();
    let generic =
        ["delivery report", "report", "summary", "pull request", "title", "delivery", "pr"];
    let usable = title.chars().any(char::is_alphabetic)
        && title.chars().count() <= LONGEST_TITLE
        && !title.chars().any(char::is_control)
        && !line.trim_start().starts_with(['<', '|', '`', '-'])
        && !generic.contains(&title.trim_end_matches([':', '.']).to_lowercase().as_str());
    usable.then(|| title.to_owned())
}

fn trivial(report: &mut Report, artifact: Artifact, words: usize) {
    if words < LEAST_WORDS {
        let name = artifact.file_name();
        report.find(Finding::missing("trivial-document", format!("{name} says next to nothing")));
    }
}

/// What a Markdown document is made of, headings in code blocks aside.
struct Shape {
    title: bool,
    sections: usize,
    words: usize,
}

impl Shape {
    fn of(text: &str) -> Self {
        let mut shape = Self { title: false, sections: 0, words: 0 };
        let mut fenced = false;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line.starts_with("```") || line.starts_with("~~~") {
                fenced = !fenced;
                continue;
            }
            let level = line.bytes().take_while(|b| *b == b'#').count();
            let heading = !fenced && level > 0 && line[level..].starts_with(' ');
            // Models like "**Problem**" for a heading.
            let bold = !fenced
                && line.len() > 4
                && line.starts_with("**")
                && (line.ends_with("**") || line.ends_with("**:"));
            if heading && level == 1 && !shape.title && shape.sections == 0 {
                shape.title = true;
            } else if heading || bold {
                shape.sections += 1;
            } else {
                shape.words += line.split_whitespace().count();
            }
        }
        shape
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::artifact::check::testing::Memory;

    fn codes(report: &Report) -> Vec<&'static str> {
        report.findings.iter().map(|f| f.code).collect()
    }

    #[test]
    fn an_idea_needs_a_title_and_sections() {
        let files = Memory::valid();
        assert!(idea(&Store::new(&files)).is_ok());
        files.put(Artifact::Idea, "Todo.\n```\n# no title\n## nor this\n```\n");
        let report = idea(&Store::new(&files));
        assert_eq!(codes(&report), ["idea-title", "idea-sections", "trivial-document"]);
        files.put(Artifact::Idea, " \n");
        assert_eq!(codes(&idea(&Store::new(&files))), ["missing-document"]);
    }

    #[test]
    fn delivery_needs_every_planned_file() {
        let files = Memory::valid();
        let store = Store::new(&files);
        files.put(Artifact::DeliveryReport, "# Add a todo list\n\n## Summary\n");
        assert_eq!(codes(&delivery(&store, &|_| true, None)), ["delivery-summary"]);
        files.put(Artifact::DeliveryReport, "# Add a todo list\n\n**Summary:**\nIt lists.\n");
        assert!(delivery(&store, &|_| true, None).is_ok());
        let report = delivery(&store, &|path| path != "src/2.rs", None);
        assert_eq!(codes(&report), ["missing-file"]);
        assert_eq!(report.findings[0].about.as_deref(), Some("TASK-002"));
        let baseline = Baseline::of(&store).unwrap();
        assert!(delivery(&store, &|_| false, Some(&baseline)).is_ok());
        files.put(Artifact::ImplementationPlan, "{}");
        assert_eq!(codes(&delivery(&store, &|_| true, None)), ["nothing-to-deliver"]);
    }

    #[test]
    fn a_report_begins_with_a_title() {
        assert_eq!(pr_title("\n## **Add todos**\nmore"), Some("Add todos".to_owned()));
        for bad in ["", "# Delivery Report\nAdd todos", "---\n", "```\nx", "# 2026"] {
            assert_eq!(pr_title(bad), None, "{bad}");
        }
        assert_eq!(pr_title(&"a".repeat(200)), None);
    }

    #[test]
    fn a_change_request_must_be_complete() {
        let files = Memory::valid();
        let store = Store::new(&files);
        assert_eq!(codes(&triage(&store)), ["missing-document"]);
        let mut change =
            json!({"summary": "s", "scope": {"code": true}, "acceptance_criteria": ["a"]});
        files.put(Artifact::ChangeRequest, &change.to_string());
        assert!(triage(&store).is_ok());
        change["scope"] = json!({});
        change["affected_components"] = json!(["COMP-009"]);
        files.put(Artifact::ChangeRequest, &change.to_string());
        assert_eq!(codes(&triage(&store)), ["empty-scope", "unknown-component"]);
    }
}
