//! Mechanical checks of artifacts, which run before any critic.
//!
//! Every check reads a [`Store`] and returns a [`Report`]. A file that cannot be read is a finding
//! like any other, because its author can fix it. Checks do not judge taste: the critic does, with
//! [`Report::notes`] as evidence.

use std::collections::{BTreeMap, BTreeSet};

use super::{Artifact, Criterion, Feedback, FeedbackType, IdKind, Origin, Severity, Store};
use crate::stage::Stage;

mod code;
mod coverage;
mod documents;
mod ids;
mod order;
mod planned_files;
mod records;
mod removed;
mod tasks;
mod words;

pub use code::{CodeChanges, nothing_changed};
pub use coverage::not_covered;
pub use documents::{
    IDEA_SECTIONS, LONGEST_TITLE, check_report, delivery, idea, own_example, pr_title, triage,
};
pub use ids::mentioned_ids;
pub use order::task_order;
pub use planned_files::{IGNORED, IgnoringRules, planned_files};
pub use records::{design, prd};
pub use tasks::{MAX_LEVELS, coding, derive_feature_status, has_code, plan};
pub use words::{Unasked, word_evidence};

pub(crate) use ids::{known_ids, name_of, same_id};
pub use records::UNPLANNED;
pub(crate) use records::{components_of, features_of, requirements_of, uncovered_features};
pub(crate) use tasks::{tasks_of, unworked_features};

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id: stable and kebab-case, for scripts and tests.
    pub code: &'static str,
    /// The feedback type of the finding.
    pub feedback_type: FeedbackType,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, for the author.
    pub details: String,
    /// How to fix it.
    pub suggested_fix: Option<String>,
    /// The id of the record with the problem.
    pub about: Option<String>,
}

impl Finding {
    /// Makes a major finding that something exists but is wrong.
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

    /// Makes a major finding that something is missing.
    pub fn missing(code: &'static str, details: impl Into<String>) -> Self {
        Self { feedback_type: FeedbackType::MissingRequirement, ..Self::wrong(code, details) }
    }

    /// Makes the finding critical.
    #[must_use]
    pub fn critical(mut self) -> Self {
        self.severity = Severity::Critical;
        self
    }

    /// Adds a suggested fix.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.suggested_fix = Some(fix.into());
        self
    }

    /// Adds the id of the record with the problem.
    #[must_use]
    pub fn about(mut self, id: impl Into<String>) -> Self {
        self.about = Some(id.into());
        self
    }

    /// True if the finding only says that a count is outside its limits. The limits may have been
    /// changed since the records were written.
    pub fn is_limit(&self) -> bool {
        LIMITS.contains(&self.code)
    }

    /// Converts the finding to an entry of the feedback history.
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

/// The codes of the findings of [`Report::count`].
const LIMITS: [&str; 4] = ["requirement-count", "feature-count", "component-count", "task-count"];

/// Numbers of records: the least that is usual, and the most that is allowed.
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

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rules that passed, in short lines such as "4 requirements (3–6)".
    pub passed: Vec<String>,
    /// Violations; any single one rejects the draft.
    pub findings: Vec<Finding>,
    /// Evidence for the critic; never rejects a draft.
    pub notes: Vec<String>,
    /// Warnings for a person; never reject a draft.
    pub warnings: Vec<String>,
}

impl Report {
    /// True if there are no findings.
    pub fn is_ok(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds the contents of another report.
    pub fn merge(&mut self, other: Self) {
        self.passed.extend(other.passed);
        self.findings.extend(other.findings);
        self.notes.extend(other.notes);
        self.warnings.extend(other.warnings);
    }

    pub(crate) fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Runs `check` and records `line` as passed if there are no new findings.
    pub(crate) fn rule(&mut self, line: &str, check: impl FnOnce(&mut Self)) {
        let before = self.findings.len();
        check(self);
        if self.findings.len() == before {
            self.passed.push(line.to_owned());
        }
    }

    /// Returns the loaded value; if it cannot be read, its default, with a finding.
    pub(crate) fn load<T: Default>(&mut self, loaded: anyhow::Result<T>) -> T {
        loaded.unwrap_or_else(|error| {
            self.find(Finding::wrong("unreadable-file", format!("{error:#}")).critical());
            T::default()
        })
    }

    /// Returns the text of a document, or adds a finding that it is missing.
    pub(crate) fn document(&mut self, store: &Store<'_>, artifact: Artifact) -> Option<String> {
        let text = self.load(store.text(artifact)).filter(|text| !text.trim().is_empty());
        if text.is_none() {
            let name = artifact.file_name();
            self.find(
                Finding::missing("missing-document", format!("{name} is missing or empty"))
                    .critical()
                    .fix(format!("write it and save it with {}", artifact.save_tool())),
            );
        }
        text
    }

    /// Checks a count against its limits. The lower limit is advice: only a kind without any record
    /// is a finding, because a one-line fix needs neither three requirements nor five tasks. In a
    /// patch session (`added`), only the upper limit applies, and only new records count.
    pub(crate) fn count(
        &mut self,
        kind: IdKind,
        ids: &[&str],
        [least, most]: [u32; 2],
        added: Option<&Baseline>,
    ) {
        let what = kind.plural();
        let old = |id: &&&str| added.is_some_and(|baseline| baseline.has(id));
        let count = ids.len() - ids.iter().filter(old).count();
        let (few, many) = (count < least as usize, count > most as usize);
        let (kind_name, range) = (kind.name(), format!("{least}–{most}"));
        let [requirements, features, components, tasks] = LIMITS;
        let code = match kind {
            IdKind::Requirement => requirements,
            IdKind::Feature => features,
            IdKind::Component => components,
            IdKind::Task => tasks,
        };
        let counted = if count == 1 { kind_name } else { what };
        let are = if most == 1 { "is" } else { "are" };
        match added {
            Some(_) if many => self.find(
                Finding::wrong(
                    code,
                    format!("{count} {counted} added; at most {most} {are} allowed"),
                )
                .fix(format!("keep only the {what} that the change needs")),
            ),
            Some(_) => self.passed.push(format!("{count} {counted} added (at most {most})")),
            None if few && count == 0 => self.find(Finding::missing(
                code,
                format!("no {kind_name}; at least one is needed ({range})"),
            )),
            None if few => {
                self.passed.push(format!("{count} {counted} ({range} are usual)"));
                self.notes.push(format!(
                    "{count} {counted} where {range} are usual: is one missing, or is the work this \
                     small?"
                ));
            }
            None if many => self.find(
                Finding::wrong(
                    code,
                    format!("{count} {counted}; at most {most} {are} allowed ({range})"),
                )
                .fix("merge or delete the less important ones; simplicity first"),
            ),
            None => self.passed.push(format!("{count} {counted} ({range})")),
        }
    }

    /// Finds duplicate ids.
    pub(crate) fn unique(&mut self, artifact: Artifact, ids: &[&str]) {
        let mut seen = BTreeSet::new();
        for id in ids {
            if !seen.insert(*id) {
                let details = format!("{id} is defined twice in {}", artifact.file_name());
                self.find(Finding::wrong("duplicate-id", details).about(*id));
            }
        }
    }

    /// Finds ids that do not have the form of their kind.
    pub(crate) fn well_formed(&mut self, kind: IdKind, ids: &[&str]) {
        for id in ids {
            if super::number_of(kind, id).is_none() {
                let details = format!("'{id}' is not an id like {}", kind.format(1));
                self.find(Finding::wrong("bad-id", details).about(*id));
            }
        }
    }
}

/// What a patch session started with; the session added all other records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// Ids of every kind.
    pub ids: BTreeSet<String>,
    /// The criteria of each requirement, by its id.
    pub criteria: BTreeMap<String, Vec<Criterion>>,
    /// True if the change has a plan. Without one, no task can refer to new records.
    pub plans: bool,
    /// The completed tasks that name a requirement, feature or component: they have code for it.
    pub code: Vec<CodeOf>,
}

/// A record, and a completed task that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeOf {
    /// Id of the requirement, feature or component.
    pub record: String,
    /// Id of the task.
    pub task: String,
    /// The files that the task and its sub-tasks name.
    pub files: Vec<String>,
}

impl Baseline {
    /// Collects the records in these files.
    pub fn in_store(store: &Store<'_>) -> anyhow::Result<Self> {
        let requirements = store.requirements()?.requirements.into_iter();
        let criteria: BTreeMap<String, Vec<Criterion>> =
            requirements.map(|one| (one.id, one.acceptance_criteria)).collect();
        let mut ids: BTreeSet<String> = criteria.keys().cloned().collect();
        ids.extend(store.features()?.features.into_iter().map(|f| f.id));
        ids.extend(store.design()?.components.into_iter().map(|c| c.id));
        let plan = store.plan()?;
        let code = removed::code_of(&plan);
        ids.extend(plan.tasks.into_iter().map(|t| t.id));
        Ok(Self { ids, criteria, plans: true, code })
    }

    /// True if the record existed before.
    pub fn has(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// True if the requirement had this criterion before.
    pub fn has_criterion(&self, requirement: &str, criterion: &Criterion) -> bool {
        self.criteria.get(requirement).is_some_and(|before| before.contains(criterion))
    }
}

/// Formats limits for prompts: `3 to 6`, or `at most 6` if only new records count, as in
/// [`Report::count`].
pub fn limit_words([least, most]: [u32; 2], only_added: bool) -> String {
    if only_added { format!("at most {most}") } else { format!("{least} to {most}") }
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_limit_is_advice_and_an_upper_one_binds() {
        let mut report = Report::default();
        report.count(IdKind::Feature, &["FEAT-001"], [1, 4], None);
        report.count(IdKind::Requirement, &["REQ-001"], [3, 6], None);
        assert_eq!(report.passed, ["1 feature (1–4)", "1 requirement (3–6 are usual)"]);
        assert!(report.is_ok() && report.notes[0].starts_with("1 requirement where 3–6 are usual"));
        report.count(IdKind::Task, &[], [5, 12], None);
        report.count(IdKind::Component, &["COMP-001", "COMP-002"], [1, 1], None);
        let found: Vec<&str> = report.findings.iter().map(|one| one.details.as_str()).collect();
        assert_eq!(
            found,
            ["no task; at least one is needed (5–12)", "2 components; at most 1 is allowed (1–1)"]
        );
    }
}
