//! Checks of documents without records (idea, check report, delivery report) and of the change
//! request.

use super::code::{CodeChanges, something_changed};
use super::{Finding, Report};
use crate::artifact::{Artifact, Store};

/// A document with fewer words is nearly empty.
const LEAST_WORDS: usize = 8;

/// Longest pull-request title, in characters.
pub const LONGEST_TITLE: usize = 100;

/// The sections of `idea.md`, as the prompt names them, in order. A document has its headings in
/// the language of its idea, so the check counts the sections; the names are for messages about
/// missing sections.
pub const IDEA_SECTIONS: [&str; 6] =
    ["Problem", "Users", "Goals", "Thoughts", "Technical considerations", "Next steps"];

/// Minimum number of sections of an `idea.md` that is no longer being drafted: documents recorded
/// before all six were required have fewer.
const LEAST_SECTIONS: usize = 3;

/// Checks `idea.md`: it needs a title and, while it is drafted, text in every section.
pub fn idea(store: &Store<'_>, drafting: bool) -> Report {
    let mut report = Report::default();
    let Some(text) = report.document(store, Artifact::Idea) else { return report };
    let shape = Shape::measure(&text);
    report.rule("idea.md has a title and its sections", |report| {
        if !shape.title {
            report.find(
                Finding::missing("idea-title", "idea.md does not begin with a title")
                    .fix("begin it with '# Title'"),
            );
        }
        let least = if drafting { IDEA_SECTIONS.len() } else { LEAST_SECTIONS };
        if shape.sections.len() < least {
            report.find(Finding::missing("idea-sections", lacking(&shape.sections)).fix(format!(
                "send all of it again with all sections, in the language of the idea ({}): {} \
                 replaces the whole document",
                IDEA_SECTIONS.join(", "),
                Artifact::Idea.save_tool()
            )));
        }
        for section in shape.sections.iter().filter(|section| drafting && section.words == 0) {
            let details = format!("the section '{}' of idea.md is empty", section.heading);
            report.find(Finding::missing("idea-sections", details).fix("write something in it"));
        }
        trivial(report, Artifact::Idea, shape.words);
    });
    report
}

/// Describes the missing sections: by name if the headings are those of the prompt, otherwise with
/// all names and the headings that were found.
fn lacking(found: &[Section]) -> String {
    let is_there = |name: &&str| {
        let word = name.split(' ').next().unwrap_or(name).to_lowercase();
        found.iter().any(|section| section.heading.to_lowercase().starts_with(&word))
    };
    let missing: Vec<&str> = IDEA_SECTIONS.into_iter().filter(|name| !is_there(name)).collect();
    if missing.len() + found.len() == IDEA_SECTIONS.len() {
        return format!("idea.md lacks {}", missing.join(", "));
    }
    let headings: Vec<&str> = found.iter().map(|section| section.heading.as_str()).collect();
    let headings = if headings.is_empty() { "none".to_owned() } else { headings.join(", ") };
    format!(
        "idea.md has {} of its {} sections ({}); found: {headings}",
        found.len(),
        IDEA_SECTIONS.len(),
        IDEA_SECTIONS.join(", ")
    )
}

/// Checks that `check_report.md` exists and is not nearly empty.
pub fn check_report(store: &Store<'_>) -> Report {
    let mut report = Report::default();
    if let Some(text) = report.document(store, Artifact::CheckReport) {
        report.rule("check_report.md is there", |report| {
            trivial(report, Artifact::CheckReport, Shape::measure(&text).words);
        });
    }
    report
}

/// Checks that there is something to deliver, and that the report starts with a title for the pull
/// request and a summary. The coding stage checks whether the plan was carried out; delivery does
/// not, because no code can be written in that stage.
pub fn delivery(store: &Store<'_>, code: &CodeChanges) -> Report {
    let mut report = Report::default();
    something_changed(&mut report, code);
    if let Some(text) = report.document(store, Artifact::DeliveryReport) {
        report.rule("the report's first line is a title", |report| {
            if pr_title(&text).is_none() {
                let details = format!(
                            "the first line of delivery_report.md is not a usable pull-request title (words without markup, at most {LONGEST_TITLE} characters)"
                        );
                report.find(Finding::wrong("delivery-title", details)
                    .fix(format!("begin with one line that says what is delivered{}", own_example(store))));
            }
        });
        report.rule("the report has a summary", |report| {
            if !has_summary(&text) {
                let details = "delivery_report.md has no summary right after its title, where a reviewer starts";
                report.find(Finding::missing("delivery-summary", details)
                    .fix("after the title, say in the language of the idea what a user can do now and how to try it"));
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
                let details = format!("the change request names {id}, which does not exist");
                report.find(Finding::wrong("unknown-component", details).about(id));
            }
        }
    });
    report
}

/// True if text follows the title, with or without a heading of its own. The heading's words are
/// not checked, because they depend on the language.
fn has_summary(report: &str) -> bool {
    let bold = |line: &str| line.starts_with("**") && line.trim_end_matches(':').ends_with("**");
    let is_heading = |line: &str| line.starts_with('#') || bold(line);
    let lines = report.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut after = lines.skip(1).peekable();
    after.next_if(|line| is_heading(line));
    after.next().is_some_and(|line| !is_heading(line))
}

/// Returns the pull-request title at the start of a report, without Markdown; `None` if the first
/// line is not a usable title.
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

/// An example of a title, from the session itself: `, such as '# Todos im Terminal'`. Empty if the
/// session has no title of its own yet.
pub fn own_example(store: &Store<'_>) -> String {
    let idea = store.text(Artifact::Idea).ok().flatten();
    let title = idea
        .as_deref()
        .and_then(pr_title)
        .or_else(|| store.session().ok().flatten().and_then(|session| pr_title(&session.title)));
    title.map(|title| format!(", such as '# {title}'")).unwrap_or_default()
}

fn trivial(report: &mut Report, artifact: Artifact, words: usize) {
    if words < LEAST_WORDS {
        let name = artifact.file_name();
        report.find(Finding::missing("trivial-document", format!("{name} is nearly empty")));
    }
}

/// The structure of a Markdown document; headings in code blocks do not count.
struct Shape {
    title: bool,
    /// The sections of the highest level below the title.
    sections: Vec<Section>,
    words: usize,
}

/// A heading and the number of words below it.
struct Section {
    level: usize,
    heading: String,
    words: usize,
}

impl Shape {
    fn measure(text: &str) -> Self {
        /// The level of bold text like "**Problem**" that models use as a heading.
        const BOLD: usize = 7;
        let mut shape = Self { title: false, sections: Vec::new(), words: 0 };
        let mut fenced = false;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line.starts_with("```") || line.starts_with("~~~") {
                fenced = !fenced;
                continue;
            }
            let hashes = line.bytes().take_while(|b| *b == b'#').count();
            let heading = !fenced && hashes > 0 && line[hashes..].starts_with(' ');
            let bold = !fenced
                && line.len() > 4
                && line.starts_with("**")
                && (line.ends_with("**") || line.ends_with("**:"));
            if heading && hashes == 1 && !shape.title && shape.sections.is_empty() {
                shape.title = true;
            } else if heading || bold {
                let heading = line.trim_matches(['#', '*', ':', ' ']).to_owned();
                let level = if bold { BOLD } else { hashes };
                shape.sections.push(Section { level, heading, words: 0 });
            } else {
                let words = line.split_whitespace().count();
                shape.words += words;
                if let Some(section) = shape.sections.last_mut() {
                    section.words += words;
                }
            }
        }
        shape.join_levels();
        shape
    }

    /// Merges sections of deeper levels into the section above.
    fn join_levels(&mut self) {
        let top = self.sections.iter().map(|section| section.level).min().unwrap_or(0);
        let mut joined: Vec<Section> = Vec::new();
        for section in self.sections.drain(..) {
            match joined.last_mut().filter(|_| section.level > top) {
                Some(above) => above.words += section.words,
                None => joined.push(section),
            }
        }
        self.sections = joined;
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
        assert!(idea(&Store::new(&files), true).is_ok());
        files.put(Artifact::Idea, "Todo.\n```\n# no title\n## nor this\n```\n");
        let report = idea(&Store::new(&files), true);
        assert_eq!(codes(&report), ["idea-title", "idea-sections", "trivial-document"]);
        files.put(Artifact::Idea, " \n");
        assert_eq!(codes(&idea(&Store::new(&files), true)), ["missing-document"]);
    }

    fn idea_of(headings: &[&str]) -> String {
        let section = |name: &&str| format!("## {name}\n\n### More\n\nwords and words\n\n");
        format!("# Title\n\n{}", headings.iter().map(section).collect::<String>())
    }

    fn found(text: &str, drafting: bool) -> Vec<String> {
        let files = Memory::valid();
        files.put(Artifact::Idea, text);
        let report = idea(&Store::new(&files), drafting);
        report.findings.into_iter().map(|finding| finding.details).collect()
    }

    #[test]
    fn a_missing_section_of_the_idea_is_named_and_the_headings_may_be_in_any_language() {
        let german = ["Problem", "Nutzer", "Ziele", "Gedanken", "Technisches", "Nächste Schritte"];
        let japanese = ["課題", "利用者", "目標", "考え", "技術", "次の一歩"];
        for complete in [IDEA_SECTIONS, german, japanese] {
            assert_eq!(found(&idea_of(&complete), true), Vec::<String>::new());
            assert_eq!(found(&idea_of(&complete).replace("## ", "# "), true), Vec::<String>::new());
        }
        let some = ["Problem", "Goals", "Thoughts", "Next"];
        assert_eq!(found(&idea_of(&some), true), ["idea.md lacks Users, Technical considerations"]);
        assert_eq!(
            found(&idea_of(&german[..5]), true),
            ["idea.md has 5 of its 6 sections (Problem, Users, Goals, Thoughts, Technical \
              considerations, Next steps); found: Problem, Nutzer, Ziele, Gedanken, Technisches"]
        );
        let empty = idea_of(&german).replacen("words and words", "", 2);
        assert_eq!(
            found(&empty, true),
            [
                "the section 'Problem' of idea.md is empty",
                "the section 'Nutzer' of idea.md is empty"
            ]
        );
        // Documents recorded before this rule stay valid.
        assert_eq!(found(&idea_of(&some), false), Vec::<String>::new());
        assert_eq!(found(&empty, false), Vec::<String>::new());
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
        // Delivery does not check the plan.
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
