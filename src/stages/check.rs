//! The check stage: verifies the whole session, mostly mechanically.

use super::common_subjects::{count, runs};
use super::row::{READ_FILES, READ_SESSION, Rendered, RoleSpec, StageSpec, USUAL};
use crate::artifact::{Artifact, FeatureStatus, check};
use crate::stage::Stage;

/// The report if all checks passed mechanically.
const ALL_HOLDS: &str = "# Check

Nothing failed, and every criterion has its evidence: a test that passed, or the review of the \
code. Therefore, no model was asked.

## Findings

None.
";

pub(super) const CHECK: StageSpec = StageSpec {
    stage: Stage::Check,
    actor: RoleSpec {
        prompt: prompt!("check.md"),
        tools: &[
            &["save_check_report"],
            READ_FILES,
            READ_SESSION,
            &[
                "check_data_format",
                "check_feature_coverage",
                "check_task_dependencies",
                "request_replanning",
                "goto_stage",
                "request_human_review",
            ],
        ],
    },
    closing: &["save_check_report"],
    context: &[Artifact::Prd, Artifact::Design, Artifact::Plan],
    artifacts: &[Artifact::CheckReport],
    judges: true,
    rechecks: true,
    runs_checks: true,
    check: |input| check::check_report(&input.store),
    subject: |facts| {
        let features = facts.store.features()?.features;
        let held = features.iter().filter(|f| f.status >= FeatureStatus::Implemented).count();
        let tests = facts.tests.as_deref().unwrap_or("no tests to run");
        Ok(format!("{} covered, {tests}", count(held, "feature")))
    },
    names: runs,
    finish: Some(|report, known| known.with_checked(report)),
    rendered: Some(Rendered {
        text: |_| Ok(ALL_HOLDS.to_owned()),
        suffices: |known| known.all_is_shown(),
    }),
    feature_status: |status, verified| match status {
        FeatureStatus::Implemented if verified => FeatureStatus::Verified,
        status => status,
    },
    ..USUAL
};
