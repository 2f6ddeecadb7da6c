//! The documents that have no records of their own: idea, check report, delivery report; and the
//! change request.

use super::code::{CodeChanges, something_changed};
use super::{Finding, Report};
use crate::artifact::{Artifact, Store};

/// Words below which a document says nothing.
const LEAST_WORDS: usize = 8;

/// Longest pull-request title, in characters.
pub const LONGEST_TITLE: usize = 100;

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

/// Checks that there is something to deliver, and that the report begins with a title for the pull
/// request and a summary. What the plan promised is coding's business: here nothing can be written.
pub fn delivery(store: &Store<'_>, code: &CodeChanges) -> Report {
    let mut report = Report::default();
    something_changed(&mut report, code);
    if let Some(text) = report.document(store, Artifact::DeliveryReport) {
        report.rule("the report's first line is a title", |report| {
            if pr_title(&text).is_none() {
                report.find(
                    Finding::wrong(
                        "delivery-title",
                        format!(
                            "the first line of delivery_report.md is not a usable pull-request title (words without markup, at most {LONGEST_TITLE} characters)"
                        ),
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
                        "delivery_report.md does not begin with a summary after its title: a reviewer begins there",
                    )
                    .fix("after the title, a section '## Summary' with text in it: what a user can do now, how to try it"),
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

/// Whether text follows the title, under a heading of its own or none. What the heading says depends
/// on the language.
fn has_summary(report: &str) -> bool {
    let bold = |line: &str| line.starts_with("**") && line.trim_end_matches(':').ends_with("**");
    let is_heading = |line: &str| line.starts_with('#') || bold(line);
    let lines = report.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut after = lines.skip(1).peekable();
    after.next_if(|line| is_heading(line));
    after.next().is_some_and(|line| !is_heading(line))
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
    use crate::artifact::Severity;
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
    fn delivery_needs_a_change_and_a_report_in_any_language() {
        let files = Memory::valid();
        let store = Store::new(&files);
        let changed = ["calc.rs".to_owned()];
        let code = CodeChanges { now: changed.into(), ..CodeChanges::default() };
        for (text, missing) in [
            ("# Add a todo list\n\n## Summary\n", true),
            ("# Add a todo list\n\n## Summary\n\n## Changes\n- one\n", true),
            ("# Add a todo list\n", true),
            ("# Add a todo list\n\n**Summary:**\nIt lists.\n", false),
            ("# Aufgaben hinzufügen\n\n## Zusammenfassung\nEs listet.\n", false),
            ("Add a todo list\n\nIt lists.\n\n## Changes\n", false),
        ] {
            files.put(Artifact::DeliveryReport, text);
            let expected: &[&str] = if missing { &["delivery-summary"] } else { &[] };
            assert_eq!(codes(&delivery(&store, &code)), expected, "{text}");
        }
        // What the plan promised is not looked at here.
        files.put(Artifact::ImplementationPlan, "{}");
        assert!(delivery(&store, &code).is_ok());
        let report = delivery(&store, &CodeChanges::default());
        assert_eq!(codes(&report), ["nothing-changed"]);
        assert_eq!(report.findings[0].severity, Severity::Critical);
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
