//! The triage stage: the scope and risks of a change request, and the stages it needs.

use super::row::{READ_FILES, RoleSpec, Selected, StageSpec, USUAL};
use crate::artifact::{Artifact, check};
use crate::stage::Stage;

pub(super) const TRIAGE: StageSpec = StageSpec {
    stage: Stage::Triage,
    selected: Selected::ChangesOnly,
    actor: RoleSpec {
        prompt: prompt!("triage.md"),
        tools: &[
            &[
                "save_change_request",
                "load_change_request",
                "get_requirements",
                "get_design",
                "get_plan",
            ],
            READ_FILES,
            &["ask_user"],
        ],
    },
    closing: &["save_change_request"],
    context: &[Artifact::Prd, Artifact::Design, Artifact::Plan],
    artifacts: &[Artifact::ChangeRequest],
    check: |input| check::triage(&input.store),
    subject: |facts| Ok(facts.store.change_request()?.unwrap_or_default().headline()),
    names: |facts| Ok(facts.store.change_request()?.unwrap_or_default().describe()),
    called: "change",
    ..USUAL
};
