//! The stage table: one file for each stage, with its row and all its behaviour.
//!
//! To add a stage, add its file here with a line in [`TABLE`], its name to [`Stage`], and its
//! prompts. If it writes a report of its own, also add a row to the artifacts (`artifact/files.rs`)
//! and one to the tools that save documents (`tool/documents.rs`). One loop
//! (`pipeline::stage_loop`), one runner and one recorder serve all rows.

/// A prompt file of the repository's `prompts/`.
macro_rules! prompt {
    ($file_name:literal) => {
        crate::stages::Prompt {
            file_name: $file_name,
            built_in: include_str!(concat!("../../prompts/", $file_name)),
        }
    };
}

mod check;
mod coding;
mod common_subjects;
mod delivery;
mod depth;
mod design;
mod idea;
mod input;
mod plan;
mod prd;
mod row;
mod triage;

pub use depth::{Cost, DepthChoice, DepthSpec, WrittenHere, depth, depth_for_idea};
pub use input::{Changed, CheckInput, Facts, Known, TaskFiles};
pub use row::{
    Approves, CHALLENGER, Prompt, Rendered, RoleSpec, Selected, StageSpec, VERDICT, Work,
};

use crate::artifact::check::Report;
use crate::artifact::{FeatureStatus, Scope};
use crate::stage::{Depth, Stage};

/// The rows, in the order of the stages.
pub const TABLE: &[StageSpec] = &[
    triage::TRIAGE,
    idea::IDEA,
    prd::PRD,
    design::DESIGN,
    plan::PLAN,
    coding::CODING,
    check::CHECK,
    delivery::DELIVERY,
];

/// The names of the stages a model may ask to go back to: the stages before the last stage whose
/// actor judges earlier stages.
pub const REWIND_NAMES: [&str; rewindable()] = {
    let mut names = [""; rewindable()];
    let mut at = 0;
    while at < names.len() {
        names[at] = TABLE[at].stage.name();
        at += 1;
    }
    names
};

/// The number of rows before the last row whose actor judges earlier stages.
const fn rewindable() -> usize {
    let mut last = TABLE.len() - 1;
    while last > 0 && !TABLE[last].judges {
        last -= 1;
    }
    last
}

/// The names models use for drafts that they can ask a person to review.
pub const DRAFT_NAMES: [&str; drafts_with_names()] = {
    let mut names = [""; drafts_with_names()];
    let (mut at, mut row) = (0, 0);
    while row < TABLE.len() {
        if !TABLE[row].called.is_empty() {
            names[at] = TABLE[row].called;
            at += 1;
        }
        row += 1;
    }
    names
};

const fn drafts_with_names() -> usize {
    let (mut count, mut row) = (0, 0);
    while row < TABLE.len() {
        count += if TABLE[row].called.is_empty() { 0 } else { 1 };
        row += 1;
    }
    count
}

/// The row of a stage in a session that is not a change request.
pub fn row(stage: Stage) -> &'static StageSpec {
    // `TABLE` is in the order of `Stage::ALL`, as a test checks.
    &TABLE[stage as usize]
}

/// The row of a stage in a session with the stages of `order`. `has_prd` says whether a document
/// before the plan contains the requirements; by default that follows from the depth.
pub fn row_of(
    stage: Stage,
    of: Depth,
    order: &[Stage],
    has_prd: Option<bool>,
) -> &'static StageSpec {
    let usual = row(stage);
    let has_prd = has_prd.unwrap_or(depth(of).has(Stage::Prd));
    if let Some(alone) = usual.alone.filter(|_| !has_prd) {
        return alone;
    }
    let is_patch = order.iter().any(|stage| !row(*stage).is_in_new());
    let together = |earlier: Stage| match row(earlier).selected {
        Selected::NewOnly if is_patch => true,
        _ => order.contains(&earlier) && depth(of).joins(earlier, stage),
    };
    let with_earlier = usual.with_earlier.filter(|(earlier, _)| together(*earlier));
    with_earlier.map_or(usual, |(_, row)| row)
}

/// True if there are sessions in which the actor of this stage has this tool.
pub fn offers(stage: Stage, tool: &str) -> bool {
    let usual = row(stage);
    let others = [usual.with_earlier.map(|(_, row)| row), usual.alone];
    usual.offers(tool) || others.into_iter().flatten().any(|row| row.offers(tool))
}

/// True if a role of some stage has a tool with this name, ignoring case.
pub fn has_tool(name: &str) -> bool {
    let has = |role: &RoleSpec| role.tools().iter().any(|tool| tool.eq_ignore_ascii_case(name));
    let forms = |row: &'static StageSpec| {
        let others = [row.with_earlier.map(|(_, row)| row), row.alone];
        std::iter::once(row).chain(others.into_iter().flatten())
    };
    let mut roles =
        TABLE.iter().flat_map(forms).flat_map(|row| std::iter::once(&row.actor).chain(&row.critic));
    has(&CHALLENGER) || roles.any(has)
}

/// The stages of a new session of this depth, or of a change request with the scope of its triage,
/// if known.
pub fn order(of: Depth, is_patch: bool, scope: Option<Scope>) -> impl Iterator<Item = Stage> {
    let selects = depth(of);
    // A change to a document that the depth lacks is a change to the plan.
    let scope = scope.map(|scope| Scope { plan: scope.plan || selects.plans_for(scope), ..scope });
    let passes = move |row: &&StageSpec| match (is_patch, row.selected) {
        (patch, Selected::ChangesOnly) => patch,
        (patch, Selected::NewOnly) => !patch,
        (false, _) | (_, Selected::Always) => true,
        (true, Selected::Scoped(names)) => scope.is_none_or(names),
    };
    TABLE.iter().filter(passes).map(|row| row.stage).filter(|stage| selects.has(*stage))
}

/// The stage that writes the code, task by task.
pub fn code_stage() -> Stage {
    found(StageSpec::writes_code)
}

/// The stage whose commit delivers a session.
pub const fn last() -> Stage {
    TABLE[TABLE.len() - 1].stage
}

/// The stage that marks features as verified.
pub fn verifying() -> Stage {
    let verified = FeatureStatus::Verified;
    found(|row| (row.feature_status)(FeatureStatus::Implemented, true) == verified)
}

/// The stage to go back to for an issue with this name.
pub fn for_issue(issue: &str) -> Option<Stage> {
    TABLE.iter().find(|row| row.issues.contains(&issue)).map(|row| row.stage)
}

/// The names of issues.
pub fn issues() -> Vec<&'static str> {
    TABLE.iter().flat_map(|row| row.issues).copied().collect()
}

/// The first row with a property; a test checks that there is one.
fn found(has: impl Fn(&StageSpec) -> bool) -> Stage {
    TABLE.iter().find(|row| has(row)).map_or(Stage::ALL[0], |row| row.stage)
}

/// The check results of all `stages` whose checks must still pass when later stages are done.
pub fn lasting_checks(stages: &[Stage], input: &CheckInput<'_>) -> Vec<(Stage, Report)> {
    let rows = TABLE.iter().filter(|row| row.check_lasts && stages.contains(&row.stage));
    rows.map(|row| (row.stage, (row.check)(input))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;

    #[test]
    fn every_stage_has_its_row() {
        for stage in Stage::ALL {
            assert_eq!(row(stage).stage, stage);
        }
        assert_eq!(TABLE.len(), Stage::ALL.len());
    }

    #[test]
    fn every_actor_has_closing_tools() {
        for row in TABLE {
            assert!(!row.closing.is_empty(), "{}", row.stage);
            assert!(row.closing.iter().all(|tool| row.offers(tool)), "{}", row.stage);
        }
    }

    #[test]
    fn rows_are_found_by_what_they_do() {
        assert!(row(code_stage()).writes_code());
        assert_eq!(TABLE.iter().filter(|row| row.writes_code()).count(), 1);
        assert_eq!(verifying(), Stage::Check);
        assert_eq!(for_issue("missing_dependency"), Some(Stage::Plan));
        assert_eq!(for_issue("the weather"), None);
    }

    #[test]
    fn a_scope_selects_stages() {
        let scope = Scope { prd: true, plan: true, code: true, ..Scope::default() };
        let order = |is_patch, scope| order(Depth::Thorough, is_patch, scope).collect::<Vec<_>>();
        let (coding, check) = (Stage::Coding, Stage::Check);
        let expected = [Stage::Triage, Stage::Prd, Stage::Plan, coding, check, Stage::Delivery];
        assert_eq!(order(true, Some(scope)), expected);
        let least = order(true, Some(Scope::default()));
        assert_eq!(least, [Stage::Triage, coding, check, Stage::Delivery]);
        assert_eq!(order(true, None).len(), 7);
        assert_eq!(order(false, None), Stage::ALL[1..]);
    }

    #[test]
    fn a_document_without_a_gate_is_passed_with_the_next() {
        let new = |of| order(of, false, None).collect::<Vec<_>>();
        let earlier = |stage, of, order: &[Stage]| {
            row_of(stage, of, order, Some(true)).earlier_document().map(Artifact::file_name)
        };
        let (standard, thorough) = (new(Depth::Standard), new(Depth::Thorough));
        assert_eq!(earlier(Stage::Prd, Depth::Standard, &standard), Some("idea.md"));
        assert_eq!(earlier(Stage::Plan, Depth::Standard, &standard), Some("design.md"));
        assert_eq!(earlier(Stage::Prd, Depth::Thorough, &thorough), None);
        let scope = Scope { prd: true, design: true, plan: true, ..Scope::default() };
        let change = |scope| order(Depth::Standard, true, Some(scope)).collect::<Vec<_>>();
        assert_eq!(earlier(Stage::Plan, Depth::Standard, &change(scope)), Some("design.md"));
        let alone = change(Scope { design: false, ..scope });
        assert_eq!(earlier(Stage::Plan, Depth::Standard, &alone), None);
        assert_eq!(earlier(Stage::Prd, Depth::Quick, &alone), Some("idea.md"));
        // If the plan does not follow it, the design has its own gate.
        let alone = change(Scope { plan: false, ..scope });
        assert!(depth(Depth::Standard).gate(Stage::Design, &alone));
        assert!(depth(Depth::Standard).critic(Stage::Design, &alone));
        assert!(!depth(Depth::Standard).gate(Stage::Design, &standard));
    }

    #[test]
    fn a_plan_without_requirements_before_it_holds_them() {
        let order = order(Depth::Quick, false, None).collect::<Vec<_>>();
        let plan = row_of(Stage::Plan, Depth::Quick, &order, None);
        assert!(plan.artifacts.contains(&Artifact::Requirements) && plan.context.is_empty());
        let scope = Scope { prd: true, ..Scope::default() };
        let change = super::order(Depth::Quick, true, Some(scope)).collect::<Vec<_>>();
        assert_eq!(change, [Stage::Triage, Stage::Plan, Stage::Coding, Stage::Delivery]);
    }

    #[test]
    fn a_depth_selects_stages() {
        let order = |of| super::order(of, false, None).collect::<Vec<_>>();
        assert_eq!(order(Depth::Quick), [Stage::Plan, Stage::Coding, Stage::Delivery]);
        assert_eq!(order(Depth::Standard), Stage::ALL[1..]);
    }
}
