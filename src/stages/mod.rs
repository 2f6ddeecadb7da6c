//! The stage table: one file a stage, which holds its row with all its behaviour.
//!
//! Adding a stage is adding its file here with a line in [`TABLE`], its name to [`Stage`], and its
//! prompts. There is one loop (`pipeline::stage_loop`), one runner and one recorder for all rows.

mod check;
mod coding;
mod delivery;
mod design;
mod idea;
mod input;
mod plan;
mod prd;
mod row;
mod summary;
mod tools;
mod triage;

pub use input::{Changed, CheckInput, Facts, Known, TaskFiles};
pub use row::{Approves, Prompt, RoleSpec, Selected, StageSpec, Work};

use crate::artifact::check::Report;
use crate::artifact::{FeatureStatus, Scope};
use crate::stage::Stage;

/// The rows, in the order a session passes the stages.
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

/// The names of the stages a model may ask to go back to: those before the last whose actor judges.
pub const REWIND_NAMES: [&str; rewindable()] = {
    let mut names = [""; rewindable()];
    let mut at = 0;
    while at < names.len() {
        names[at] = TABLE[at].stage.name();
        at += 1;
    }
    names
};

/// How many rows come before the last whose actor judges.
const fn rewindable() -> usize {
    let mut last = TABLE.len() - 1;
    while last > 0 && !TABLE[last].judges {
        last -= 1;
    }
    last
}

/// What models call the drafts that a person can be asked to look at.
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

/// The row of a stage in a session of its own.
pub fn row(stage: Stage) -> &'static StageSpec {
    // `TABLE` is in the order of `Stage::ALL`; a test holds it to that.
    &TABLE[stage as usize]
}

/// The row of a stage in a session of this kind.
pub fn row_of(stage: Stage, is_patch: bool) -> &'static StageSpec {
    let row = row(stage);
    row.in_change.filter(|_| is_patch).unwrap_or(row)
}

/// The stages of a new session or, with the scope of its triage where that is known, of a change
/// request.
pub fn order(is_patch: bool, scope: Option<Scope>) -> impl Iterator<Item = Stage> {
    let passes = move |row: &&StageSpec| match (is_patch, row.selected) {
        (patch, Selected::ChangesOnly) => patch,
        (patch, Selected::NewOnly) => !patch,
        (false, _) | (_, Selected::Always) => true,
        (true, Selected::Scoped(names)) => scope.is_none_or(names),
    };
    TABLE.iter().filter(passes).map(|row| row.stage)
}

/// The stage that writes the code, task by task.
pub fn code_stage() -> Stage {
    found(StageSpec::writes_code)
}

/// The stage with whose commit a session is delivered.
pub const fn last() -> Stage {
    TABLE[TABLE.len() - 1].stage
}

/// The stage that finds features verified.
pub fn verifying() -> Stage {
    let verified = FeatureStatus::Verified;
    found(|row| (row.feature_status)(FeatureStatus::Implemented, true) == verified)
}

/// Where to go back to for an issue, as models name it; for one that no row names, to the row of
/// all others.
pub fn for_issue(issue: &str) -> Stage {
    let named = TABLE.iter().find(|row| row.issues.contains(&issue));
    named.map_or_else(|| found(|row| row.issues.contains(&row::OTHER_ISSUES)), |row| row.stage)
}

/// The first row with a property; a test holds the table to having one.
fn found(has: impl Fn(&StageSpec) -> bool) -> Stage {
    TABLE.iter().find(|row| has(row)).map_or(Stage::ALL[0], |row| row.stage)
}

/// What still has to hold of these stages when the whole is checked, with the stage each part
/// belongs to.
pub fn lasting_checks(stages: &[Stage], input: &CheckInput<'_>) -> Vec<(Stage, Report)> {
    let rows = TABLE.iter().filter(|row| row.check_lasts && stages.contains(&row.stage));
    rows.map(|row| (row.stage, (row.check)(input))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_its_row() {
        for stage in Stage::ALL {
            assert_eq!(row(stage).stage, stage);
        }
        assert_eq!(TABLE.len(), Stage::ALL.len());
    }

    #[test]
    fn rows_are_found_by_what_they_do() {
        assert!(row(code_stage()).writes_code());
        assert_eq!(TABLE.iter().filter(|row| row.writes_code()).count(), 1);
        assert_eq!(verifying(), Stage::Check);
        assert_eq!(for_issue("missing_dependency"), Stage::Plan);
        assert_eq!(for_issue("the weather"), Stage::Design);
    }

    #[test]
    fn a_scope_selects_stages() {
        let scope = Scope { prd: true, plan: true, code: true, ..Scope::default() };
        let order = |is_patch, scope| order(is_patch, scope).collect::<Vec<_>>();
        let (coding, check) = (Stage::Coding, Stage::Check);
        let expected = [Stage::Triage, Stage::Prd, Stage::Plan, coding, check, Stage::Delivery];
        assert_eq!(order(true, Some(scope)), expected);
        let least = order(true, Some(Scope::default()));
        assert_eq!(least, [Stage::Triage, coding, check, Stage::Delivery]);
        assert_eq!(order(true, None).len(), 7);
        assert_eq!(order(false, None), Stage::ALL[1..]);
    }
}
