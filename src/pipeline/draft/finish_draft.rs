//! What follows from a draft without asking anybody: feature statuses, and the program's own
//! sections of the reports.

use std::fmt::Write as _;

use crate::artifact::check::{derive_feature_status, has_code};
use crate::artifact::{Artifact, FeatureStatus, Store, Task};
use crate::pipeline::Pipeline;
use crate::pipeline::checks::{CheckInput, whole_session};
use crate::pipeline::evidence::Evidence;
use crate::pipeline::progress::Progress;
use crate::pipeline::protected_files::LEFT;
use crate::pipeline::report::{cell, with_sections};
use crate::pipeline::table::StageSpec;
use crate::pipeline::usage::USAGE;
use crate::session::artifact_path;
use crate::stage::Stage;

/// Characters of a line that tells what was run or found.
const LINE: usize = 1_000;

/// The heading of the part of `check_report.md` the program writes itself.
const MECHANICAL: &str = "## What the program checked itself";

impl Pipeline<'_> {
    /// What follows from a draft by itself: feature statuses, and the check report's own section.
    /// `task` is the one whose commit comes next.
    pub(crate) fn settle(
        &self,
        spec: &StageSpec,
        progress: &Progress,
        task: Option<&Task>,
    ) -> anyhow::Result<()> {
        self.put_back_others(spec)?;
        let files = self.files();
        let store = Store::new(&files);
        if spec.stage == Stage::Check
            && let Some(report) = store.text(Artifact::CheckReport)?
        {
            let found = self.mechanical_section(&store, progress.evidence.as_ref())?;
            let report = with_section(&report, MECHANICAL, &found);
            store.save_text(Artifact::CheckReport, &report)?;
        }
        if spec.stage == Stage::Delivery
            && let Some(report) = store.text(Artifact::DeliveryReport)?
            && !report.trim().is_empty()
        {
            let mut sections = self.story(&store)?.sections();
            sections.push((USAGE, self.usage_section(progress)));
            sections.extend(self.left_to_a_person().map(|section| (LEFT, section)));
            store.save_text(Artifact::DeliveryReport, &with_sections(&report, &sections))?;
        }
        self.settle_features(spec, progress, task)?;
        Ok(())
    }

    /// Sets how far features are, from their tasks, the code behind them and what was run. True when
    /// that changed the file.
    pub(crate) fn settle_features(
        &self,
        spec: &StageSpec,
        progress: &Progress,
        task: Option<&Task>,
    ) -> anyhow::Result<bool> {
        if spec.stage < Stage::Coding {
            return Ok(false);
        }
        let files = self.files();
        let store = Store::new(&files);
        let before = store.features()?;
        let mut features = before.clone();
        let (plan, code) = (store.plan()?, self.code_changes(task)?);
        let baseline = self.baseline_of_change()?;
        let has_code = has_code(&plan, &code, baseline.as_ref());
        derive_feature_status(&mut features, &plan, &has_code);
        let verified = self.verifies(progress.evidence.as_ref());
        for feature in &mut features.features {
            feature.status = match (spec.stage, feature.status) {
                (Stage::Check, FeatureStatus::Implemented) if verified => FeatureStatus::Verified,
                (Stage::Delivery, FeatureStatus::Implemented | FeatureStatus::Verified) => {
                    FeatureStatus::Delivered
                }
                (_, status) => status,
            };
        }
        // A file that says so already keeps its bytes, whoever laid it out.
        if features != before {
            store.save(Artifact::Features, &features)?;
        }
        Ok(features != before)
    }

    /// Puts documents of other stages back that changed while a command of the actor ran: its tools
    /// cannot write them. What they were is kept, for it may have been a person just then.
    fn put_back_others(&self, spec: &StageSpec) -> anyhow::Result<()> {
        let mut may_change = vec![Artifact::Feedback];
        may_change.extend(spec.artifacts);
        if spec.stage >= Stage::Coding {
            may_change.extend([Artifact::Features, Artifact::ImplementationPlan]);
        }
        let others = Artifact::ALL.into_iter().filter(|artifact| !may_change.contains(artifact));
        let mut others: Vec<String> =
            others.map(|artifact| artifact_path(&self.session.name, artifact)).collect();
        let by_commands = self.env.workspace.documents_changed_by_commands();
        others.retain(|path| by_commands.contains(path));
        if others.is_empty() {
            return Ok(());
        }
        let git = self.env.git;
        let changed: Vec<String> =
            git.status_of(&others)?.into_iter().map(|entry| entry.path).collect();
        let copies = git.hash_files(&changed, crate::git::Store::Write)?;
        git.restore_paths(&self.session.tip, &changed)?;
        for (path, copy) in changed.iter().zip(copies) {
            let copy = copy.map(|blob| format!("; what it was: git cat-file -p {blob}"));
            self.warn(format!(
                "{path} changed while a command ran, and is not {}'s to change: put back{}",
                spec.stage,
                copy.unwrap_or_default()
            ));
        }
        Ok(())
    }

    /// What the program checked, as a section of the check report.
    pub(crate) fn mechanical_section(
        &self,
        store: &Store<'_>,
        evidence: Option<&Evidence>,
    ) -> anyhow::Result<String> {
        let baseline = self.baseline_of_change()?;
        let project = self.project_files()?;
        let order = self.session.order();
        let report = whole_session(
            &order,
            &CheckInput {
                store: *store,
                limits: &self.env.config.limits,
                baseline: baseline.as_ref(),
                files: &project,
                evidence,
                drafting: false,
            },
        );
        let mut out = format!("{MECHANICAL}\n\n");
        let runs = evidence.map(Evidence::lines).unwrap_or_default();
        if runs.is_empty() {
            out += "- no build, test or lint command is known for this project: nothing was run\n";
        }
        for line in &runs {
            let _ = writeln!(out, "- {}", cell(line, LINE));
        }
        if !self.has_tests() {
            out += "- no tests to run: no test command is configured, and none was found\n";
        }
        if !self.verifies(evidence) {
            out += "- no feature is verified: the project's tests did not pass on this tree\n";
        }
        for line in &report.passed {
            let _ = writeln!(out, "- {}", cell(line, LINE));
        }
        for finding in &report.findings {
            let _ = writeln!(out, "- not met: {}", finding.details);
        }
        for line in &report.warnings {
            let _ = writeln!(out, "- {}", cell(line, LINE));
        }
        out += &self.test_items()?;
        for path in self.outside_scope(&self.code_since_start(&self.session.tip)?)? {
            let _ = writeln!(out, "- outside the scope of the change: {path}");
        }
        Ok(out)
    }

    /// The items of the check report about tests: those that were deleted, skipped or weakened, and
    /// new ones that nobody asked for.
    fn test_items(&self) -> anyhow::Result<String> {
        let changes = self.test_changes(&self.session.tip)?;
        let mut out = String::new();
        if changes.weakened.is_empty() {
            out += "- no test was deleted, skipped or weakened\n";
        } else {
            out += "- tests that were deleted, skipped or weakened:\n";
        }
        for weakened in &changes.weakened {
            let _ = writeln!(out, "  - {}", cell(&weakened.to_string(), LINE));
        }
        if let Some(unasked) = self.unasked_tests(&changes)? {
            let _ = writeln!(out, "- {}", cell(&unasked.words(&unasked.files), LINE));
        }
        Ok(out)
    }
}

/// `report` with our own section at its end; an earlier one under that heading goes.
fn with_section(report: &str, heading: &str, section: &str) -> String {
    let mut ours = false;
    let mut kept = String::new();
    for line in report.lines() {
        ours = line.trim_end() == heading
            || (ours && !line.starts_with("# ") && !line.starts_with("## "));
        if !ours {
            kept += line;
            kept.push('\n');
        }
    }
    format!("{}\n\n{section}", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_own_section_is_written_once() {
        let with = |report: &str, item: &str| {
            with_section(report, MECHANICAL, &format!("{MECHANICAL}\n\n- {item}\n"))
        };
        let once = with("# Report\n\nAll well.\n", "a");
        let twice = with(&format!("{once}\n## By the model\n\nMore.\n"), "b");
        assert_eq!(
            twice,
            format!("# Report\n\nAll well.\n\n## By the model\n\nMore.\n\n{MECHANICAL}\n\n- b\n")
        );
    }
}
