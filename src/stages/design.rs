//! The design stage: components and architecture.

use super::common_subjects::{count, list, signs};
use super::row::{ESCALATE, READ_FILES, RoleSpec, Selected, StageSpec, USUAL, VERDICT};
use crate::artifact::{Artifact, check};
use crate::stage::Stage;

pub(super) const DESIGN: StageSpec = StageSpec {
    stage: Stage::Design,
    selected: Selected::Scoped(|scope| scope.design),
    actor: RoleSpec {
        prompt: prompt!("design-actor.md"),
        tools: &[
            &[
                "save_design_doc",
                "load_design_doc",
                "edit_file",
                "create_design_component",
                "update_design_component",
                "delete_design_component",
                "get_design",
                "check_feature_coverage",
            ],
            READ_FILES,
            &["ask_user", "goto_stage", "request_human_review", "review_with_feedback_content"],
        ],
    },
    closing: &["save_design_doc"],
    critic: Some(RoleSpec {
        prompt: prompt!("design-critic.md"),
        tools: &[
            &["load_design_doc", "get_design", "get_requirements", "check_feature_coverage"],
            READ_FILES,
            VERDICT,
            ESCALATE,
        ],
    }),
    context: &[Artifact::Idea, Artifact::Prd],
    artifacts: &[Artifact::Design, Artifact::DesignSpec],
    check: |input| check::design(&input.store, &input.sizes, input.baseline),
    check_lasts: true,
    subject: |facts| {
        let components = facts.store.design()?.components.len();
        Ok(signs(facts).unwrap_or_else(|| count(components, "component")))
    },
    names: |facts| {
        let components = facts.store.design()?.components;
        Ok(list(facts, components.iter().map(|item| (item.id.as_str(), item.name.as_str()))))
    },
    critic_temperature: 0.2,
    called: "design",
    issues: &["design_flaw", "architecture_conflict"],
    ..USUAL
};
