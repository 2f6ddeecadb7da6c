//! The prd stage: requirements and features.

use super::common_subjects::{count, list, signs};
use super::row::{ESCALATE, READ_FILES, RoleSpec, Selected, StageSpec, USUAL, VERDICT};
use crate::artifact::{Artifact, check};
use crate::stage::Stage;

const WRITE: &[&str] = &[
    "save_prd_doc",
    "load_prd_doc",
    "edit_file",
    "create_requirement",
    "update_requirement",
    "delete_requirement",
    "add_feature",
    "update_feature",
    "delete_feature",
    "get_requirements",
];

/// Tools with which the actor asks for a person.
const ASK: &[&str] = &["ask_user", "request_human_review"];

pub(super) const PRD: StageSpec = StageSpec {
    with_earlier: Some((Stage::Idea, &PRD_WITH_IDEA)),
    ..prd(&[WRITE, READ_FILES, ASK], &[Artifact::Prd, Artifact::Requirements, Artifact::Features])
};

/// The row if idea.md is reviewed together with the PRD. A change request keeps its parent's
/// idea.md up to date.
const PRD_WITH_IDEA: StageSpec = StageSpec {
    check: |input| {
        let mut report = check::prd(&input.store, &input.sizes, input.baseline);
        if input.baseline.is_none() {
            report.merge(check::idea(&input.store, input.drafting));
        }
        report
    },
    ..prd(
        &[WRITE, &["save_idea", "load_idea"], READ_FILES, ASK],
        &[Artifact::Prd, Artifact::Requirements, Artifact::Features, Artifact::Idea],
    )
};

const fn prd(
    tools: &'static [&'static [&'static str]],
    artifacts: &'static [Artifact],
) -> StageSpec {
    StageSpec {
        stage: Stage::Prd,
        selected: Selected::Scoped(|scope| scope.prd),
        actor: RoleSpec { prompt: prompt!("prd-actor.md"), tools },
        closing: &["save_prd_doc"],
        critic: Some(RoleSpec {
            prompt: prompt!("prd-critic.md"),
            tools: &[
                &["load_prd_doc", "get_requirements", "read_file", "search_files"],
                VERDICT,
                ESCALATE,
            ],
        }),
        context: &[Artifact::Idea],
        artifacts,
        check: |input| check::prd(&input.store, &input.sizes, input.baseline),
        check_lasts: true,
        subject: |facts| {
            let (requirements, features) = (facts.store.requirements()?, facts.store.features()?);
            Ok(signs(facts).unwrap_or_else(|| {
                let requirements = count(requirements.requirements.len(), "requirement");
                format!("{requirements}, {}", count(features.features.len(), "feature"))
            }))
        },
        names: |facts| {
            let (requirements, features) = (facts.store.requirements()?, facts.store.features()?);
            let requirements = requirements.requirements.iter();
            let requirements = requirements.map(|item| (item.id.as_str(), item.title.as_str()));
            let features = features.features.iter();
            let features = features.map(|item| (item.id.as_str(), item.name.as_str()));
            Ok(list(facts, requirements.chain(features)))
        },
        called: "prd",
        issues: &["requirement_mismatch"],
        ..USUAL
    }
}
