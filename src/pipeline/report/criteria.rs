//! The report's section about acceptance criteria: what is new and changed comes first, each with the
//! evidence that it is met.

use super::change::ChangeStory;
use super::fit::Section;
use super::markdown::{REASON, TITLE, WHOLE, cell, paths};
use super::story::Story;
use crate::artifact::record_diff::{Became, count};
use crate::artifact::{Criterion, Feature, FeatureStatus, Requirement, Task};
use crate::pipeline::evidence::named_tests::FAILED_ON_BASE;

/// A criterion with the evidence that it is met: its test and the result, or a review; `uncovered`
/// is the reason why there was nothing to review.
pub(crate) fn criterion_line(
    criterion: &Criterion,
    uncovered: Option<&String>,
    became: impl Fn(&str) -> Option<String>,
) -> String {
    let text = cell(&criterion.text, WHOLE);
    match &criterion.test {
        Some(test) => {
            let became = became(test).unwrap_or_else(|| "not run".to_owned());
            let became = cell(&became, REASON);
            format!("{text} ({} {became})", paths(std::slice::from_ref(test), 0))
        }
        None => match uncovered {
            Some(why) => format!("{text} (not covered: {})", cell(why, REASON)),
            None => format!("{text} (by review)"),
        },
    }
}

impl Story {
    fn features_of<'a>(&'a self, requirement: &'a str) -> impl Iterator<Item = &'a Feature> {
        self.features.iter().filter(move |f| f.requirement_ids.iter().any(|id| id == requirement))
    }

    fn tasks_of<'a>(&'a self, feature: &'a str) -> impl Iterator<Item = &'a Task> {
        self.tasks.iter().filter(move |task| self.works_on(task).iter().any(|id| id == feature))
    }

    /// New and changed criteria first, then those that are as they were, which `all` shows, too.
    pub(super) fn criteria(&self, all: &str) -> Section {
        let mut section = Section::new("## Acceptance criteria", "");
        if let Some(change) = &self.change
            && !change.asked.acceptance_criteria.is_empty()
        {
            section.push("- **The change**");
            for text in &change.asked.acceptance_criteria {
                self.push_criterion(&mut section, &Criterion::from(text.clone()), None);
            }
        }
        let became = |one: &Requirement| match &self.change {
            Some(change) => change.became(&one.id),
            None => Some(Became::Added),
        };
        let heading = |one: &Requirement, label: &str| {
            let title = cell(&format!("{} {}", one.id, one.title), TITLE);
            format!("- **{title}**{label}: {}", self.evidence(one))
        };
        let mut same = Vec::new();
        let (mut requirements, mut criteria) = self.untouched;
        for one in &self.requirements {
            let how = became(one);
            let is_old = |criterion: &&Criterion| {
                let change = self.change.as_ref();
                how.is_none() || change.is_some_and(|change| !change.is_new(&one.id, criterion))
            };
            let (old, new): (Vec<_>, Vec<_>) = one.acceptance_criteria.iter().partition(is_old);
            match how {
                Some(how) => {
                    let label = match (&self.change, how) {
                        (None, _) => "",
                        (_, Became::Added) => " (new)",
                        _ => " (changed)",
                    };
                    section.push(&heading(one, label));
                    for criterion in new {
                        self.push_criterion(&mut section, criterion, Some(one));
                    }
                    if !old.is_empty() {
                        same.push(format!("- **{}**, unchanged:", cell(&one.id, TITLE)));
                    }
                }
                None => {
                    requirements += 1;
                    same.push(heading(one, " (unchanged)"));
                }
            }
            criteria += old.len();
            same.extend(old.into_iter().map(|one| format!("  - {}", self.met(one, None))));
        }
        for gone in self.change.iter().flat_map(ChangeStory::removed_requirements) {
            section.push(&format!("- **{}** (removed)", cell(&gone, TITLE)));
        }
        if self.untouched.0 > 0 {
            let other = if self.requirements.is_empty() { "" } else { "other " };
            let others = count(self.untouched.0, &format!("{other}requirement"));
            same.push(format!("- {others} unchanged: {all}"));
        }
        same.iter().for_each(|item| section.push_unchanged(item));
        let of_requirements = match requirements {
            0 => String::new(),
            number => format!("{}, ", count(number, "requirement")),
        };
        let criteria =
            if criteria == 1 { "1 criterion".to_owned() } else { format!("{criteria} criteria") };
        let summary = format!("- Unchanged: {of_requirements}{criteria}: {all}");
        let proofs = format!("- The proof of each criterion: {}", self.proofs);
        section.lead(self.judged.as_deref()).instead_of(summary, proofs)
    }

    /// Adds a criterion of the change with its evidence, which may be left out only if it shows
    /// that the criterion is met.
    fn push_criterion(&self, section: &mut Section, one: &Criterion, of: Option<&Requirement>) {
        let gap = of.and_then(|of| self.uncovered.get(&of.id));
        let is_met = self.is_shown(one) || one.test.is_none() && gap.is_none();
        let short = is_met.then(|| format!("  - {}", cell(&one.text, WHOLE)));
        section.push_proven(&format!("  - {}", self.met(one, gap)), short.as_ref());
    }

    /// True if the criterion's test passed, and failed on the base if it must.
    pub(super) fn is_shown(&self, criterion: &Criterion) -> bool {
        let became = criterion.test.as_ref().and_then(|test| self.became.get(test));
        became.is_some_and(|how| {
            how == "passed" || (how.starts_with("passed") && how.contains(FAILED_ON_BASE))
        })
    }

    /// A criterion with the evidence that it is met.
    fn met(&self, criterion: &Criterion, uncovered: Option<&String>) -> String {
        criterion_line(criterion, uncovered, |test| self.became.get(test).cloned())
    }

    /// The evidence for a requirement: the state of its features, and the tasks that implemented
    /// them.
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
            let by = match (tasks.is_empty(), state) {
                (true, _) => String::new(),
                (false, "delivered before") => format!(", changed by {}", tasks.join(", ")),
                (false, _) => format!(": {}", tasks.join(", ")),
            };
            parts.push(format!("{} {state}{by}", cell(&feature.id, TITLE)));
        }
        if parts.is_empty() { "no feature meets it".to_owned() } else { parts.join("; ") }
    }
}
