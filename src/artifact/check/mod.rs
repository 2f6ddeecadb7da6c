//! What must hold of artifacts, checked mechanically before any critic is asked (contract 3).
//!
//! Every check reads a [`Store`] and gives a [`Report`]; a file that cannot be read is a finding
//! like any other, because its author is the one who can fix it. Nothing here judges taste:
//! that is the critic's part, for whom [`Report::notes`] is evidence.

use std::collections::BTreeSet;

use super::{Artifact, Feedback, FeedbackType, IdKind, Origin, Severity, Store};
use crate::stage::Stage;

mod code;
mod documents;
mod ids;
mod order;
mod planned_files;
mod records;
mod repeats;
mod tasks;
mod words;

pub use code::{CodeChanges, nothing_changed};
pub use documents::{IDEA_SECTIONS, LONGEST_TITLE, check_report, delivery, idea, pr_title, triage};
pub use ids::mentioned_ids;
pub use order::task_order;
pub use planned_files::{IgnoringRules, planned_files};
pub use records::{design, prd};
pub use repeats::{Alike, Circle, circle, made_before, similarity};
pub use tasks::{MAX_LEVELS, coding, derive_feature_status, has_code, plan};
pub use words::{Unasked, word_evidence};

pub(crate) use ids::{known_ids, same_id};
pub use records::UNPLANNED;
pub(crate) use records::{components_of, features_of, requirements_of, uncovered_features};
pub(crate) use tasks::{tasks_of, unworked_features};

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which rule: stable and kebab-case, for scripts and tests.
    pub code: &'static str,
    /// As what it is fed back.
    pub feedback_type: FeedbackType,
    /// How bad it is.
    pub severity: Severity,
    /// What does not hold, for whoever fixes it.
    pub details: String,
    /// How to fix it.
    pub suggested_fix: Option<String>,
    /// The id it is about.
    pub about: Option<String>,
}

impl Finding {
    /// A major finding that something is there but wrong.
    pub fn wrong(code: &'static str, details: impl Into<String>) -> Self {
        Self {
            code,
            feedback_type: FeedbackType::QualityIssue,
            severity: Severity::Major,
            details: details.into(),
            suggested_fix: None,
            about: None,
        }
    }

    /// A major finding that something is not there.
    pub fn missing(code: &'static str, details: impl Into<String>) -> Self {
        Self { feedback_type: FeedbackType::MissingRequirement, ..Self::wrong(code, details) }
    }

    /// Makes it critical.
    #[must_use]
    pub fn critical(mut self) -> Self {
        self.severity = Severity::Critical;
        self
    }

    /// Says how to fix it.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.suggested_fix = Some(fix.into());
        self
    }

    /// Says which record it is about.
    #[must_use]
    pub fn about(mut self, id: impl Into<String>) -> Self {
        self.about = Some(id.into());
        self
    }

    /// True where only a number is out of its limits: a setting may have changed since.
    pub fn is_limit(&self) -> bool {
        LIMITS.contains(&self.code)
    }

    /// As an entry of the feedback history.
    pub fn to_feedback(&self, at: &str, stage: Stage, iteration: u32) -> Feedback {
        Feedback {
            at: at.to_owned(),
            stage,
            iteration,
            from: Origin::Validator,
            feedback_type: self.feedback_type,
            severity: self.severity,
            details: self.details.clone(),
            suggested_fix: self.suggested_fix.clone(),
            extra: serde_json::Map::new(),
        }
    }
}

/// The findings of [`Report::count`].
const LIMITS: [&str; 4] = ["requirement-count", "feature-count", "component-count", "task-count"];

/// How many records there may be, fewest and most.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Requirements.
    pub requirements: [u32; 2],
    /// Features.
    pub features: [u32; 2],
    /// Components.
    pub components: [u32; 2],
    /// Top-level tasks.
    pub tasks: [u32; 2],
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What holds, in short lines such as "4 requirements (3–6)".
    pub passed: Vec<String>,
    /// What does not hold; any one refuses the draft.
    pub findings: Vec<Finding>,
    /// Evidence for the critic, never a refusal.
    pub notes: Vec<String>,
    /// What a person should know of it, never a refusal.
    pub warnings: Vec<String>,
}

impl Report {
    /// True when nothing was found.
    pub fn is_ok(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds another report.
    pub fn merge(&mut self, other: Self) {
        self.passed.extend(other.passed);
        self.findings.extend(other.findings);
        self.notes.extend(other.notes);
        self.warnings.extend(other.warnings);
    }

    pub(crate) fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Runs `check` and notes `line` if it found nothing.
    pub(crate) fn rule(&mut self, line: &str, check: impl FnOnce(&mut Self)) {
        let before = self.findings.len();
        check(self);
        if self.findings.len() == before {
            self.passed.push(line.to_owned());
        }
    }

    /// The value, or its default and a finding.
    pub(crate) fn load<T: Default>(&mut self, loaded: anyhow::Result<T>) -> T {
        loaded.unwrap_or_else(|error| {
            self.find(Finding::wrong("unreadable-file", format!("{error:#}")).critical());
            T::default()
        })
    }

    /// The text of a document, or a finding that it is not there.
    pub(crate) fn document(&mut self, store: &Store<'_>, artifact: Artifact) -> Option<String> {
        let text = self.load(store.text(artifact)).filter(|text| !text.trim().is_empty());
        if text.is_none() {
            let name = artifact.file_name();
            self.find(
                Finding::missing("missing-document", format!("{name} is missing or empty"))
                    .critical()
                    .fix(format!("write it and save it with {}", save_tool(artifact))),
            );
        }
        text
    }

    /// Checks a count against its limits. In a patch session (`added`) only the upper one holds,
    /// and only for what was added.
    pub(crate) fn count(
        &mut self,
        kind: IdKind,
        ids: &[&str],
        [least, most]: [u32; 2],
        added: Option<&Baseline>,
    ) {
        let what = plural_of(kind);
        let old = |id: &&&str| added.is_some_and(|baseline| baseline.has(id));
        let count = ids.len() - ids.iter().filter(old).count();
        let (few, many) = (count < least as usize, count > most as usize);
        let [requirements, features, components, tasks] = LIMITS;
        let code = match kind {
            IdKind::Requirement => requirements,
            IdKind::Feature => features,
            IdKind::Component => components,
            IdKind::Task => tasks,
        };
        let are = if least == 1 { "is" } else { "are" };
        let counted = if count == 1 { what.trim_end_matches('s') } else { what };
        match added {
            Some(_) if many => self.find(
                Finding::wrong(
                    code,
                    format!("{count} {counted} added; at most {most} are allowed"),
                )
                .fix(format!("keep the {what} the change cannot do without")),
            ),
            Some(_) => self.passed.push(format!("{count} {counted} added (at most {most})")),
            None if few => self.find(Finding::missing(
                code,
                format!("{count} {counted}; at least {least} {are} needed ({least}–{most})"),
            )),
            None if many => self.find(
                Finding::wrong(
                    code,
                    format!("{count} {counted}; at most {most} are allowed ({least}–{most})"),
                )
                .fix("merge or delete the less important ones; simplicity first"),
            ),
            None => self.passed.push(format!("{count} {counted} ({least}–{most})")),
        }
    }

    /// Finds ids used twice.
    pub(crate) fn unique(&mut self, artifact: Artifact, ids: &[&str]) {
        let mut seen = BTreeSet::new();
        for id in ids {
            if !seen.insert(*id) {
                self.find(
                    Finding::wrong(
                        "duplicate-id",
                        format!("{id} is defined twice in {}", artifact.file_name()),
                    )
                    .about(*id),
                );
            }
        }
    }

    /// Finds ids that do not have the form of their kind.
    pub(crate) fn well_formed(&mut self, kind: IdKind, ids: &[&str]) {
        for id in ids {
            if super::number_of(kind, id).is_none() {
                self.find(
                    Finding::wrong(
                        "bad-id",
                        format!("'{id}' is not an id like {}", kind.format(1)),
                    )
                    .about(*id),
                );
            }
        }
    }
}

/// The ids a patch session started with: what is not among them was added by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// Ids of every kind.
    pub ids: BTreeSet<String>,
    /// The change is to have tasks. Without a plan nothing new can be traced to one.
    pub plans: bool,
}

impl Baseline {
    /// The ids in these files.
    pub fn of(store: &Store<'_>) -> anyhow::Result<Self> {
        let mut ids = BTreeSet::new();
        ids.extend(store.requirements()?.requirements.into_iter().map(|r| r.id));
        ids.extend(store.features()?.features.into_iter().map(|f| f.id));
        ids.extend(store.design()?.components.into_iter().map(|c| c.id));
        ids.extend(store.plan()?.tasks.into_iter().map(|t| t.id));
        Ok(Self { ids, plans: true })
    }

    /// True when the record was there before.
    pub fn has(&self, id: &str) -> bool {
        self.ids.contains(id)
    }
}

/// How many there may be, for prompts: `3 to 6`; `at most 6` where only what is added counts, as in
/// [`Report::count`].
pub fn limit_words([least, most]: [u32; 2], only_added: bool) -> String {
    if only_added { format!("at most {most}") } else { format!("{least} to {most}") }
}

/// `requirements`, `features`, …
pub(crate) const fn plural_of(kind: IdKind) -> &'static str {
    match kind {
        IdKind::Requirement => "requirements",
        IdKind::Feature => "features",
        IdKind::Component => "components",
        IdKind::Task => "tasks",
    }
}

/// The tool that saves a document.
pub(crate) const fn save_tool(artifact: Artifact) -> &'static str {
    match artifact {
        Artifact::Idea => "save_idea",
        Artifact::Prd => "save_prd_doc",
        Artifact::Design => "save_design_doc",
        Artifact::Plan => "save_plan_doc",
        Artifact::CheckReport => "save_check_report",
        Artifact::DeliveryReport => "save_delivery_report",
        Artifact::ChangeRequest => "save_change_request",
        _ => "the record tools",
    }
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        let mut report = Report::default();
        report.count(IdKind::Feature, &["FEAT-001"], [1, 4], None);
        report.count(IdKind::Requirement, &["REQ-001", "REQ-002"], [1, 6], None);
        assert_eq!(report.passed, ["1 feature (1–4)", "2 requirements (1–6)"]);
    }
}
