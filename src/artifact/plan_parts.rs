//! The parts of a plan that is a session's only document.

use super::IdKind;
use super::sections::{Document, Documents, Reading, Records, read_plainly};

/// Returns the sections of requirements and features as they are written.
pub fn requirement_sections(plan: &str) -> String {
    let reading = read(plan);
    let sections = reading.sections.iter().filter(|one| one.record.kind() != IdKind::Task);
    let texts: Vec<&str> = sections.map(|one| plan[one.range.clone()].trim()).collect();
    texts.join("\n\n")
}

/// Returns the text outside all records.
pub fn prose(plan: &str) -> String {
    read(plan).without(plan, |_| true).trim().to_owned()
}

/// Returns the plan without its sections of requirements and features.
pub fn without_requirements(plan: &str) -> String {
    read(plan).without(plan, |record| record.kind() != IdKind::Task)
}

fn read(plan: &str) -> Reading {
    let alone = Documents { plan: true, ..Documents::default() };
    read_plainly(plan, alone.kinds(Document::Plan), &Records::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "# Plan\n\nAssumed: one user.\n\n### REQ-001 Add\n\n`high` `functional`\n\n\
        Adds.\n\n- it adds\n\n### FEAT-001 Adding\n\n`REQ-001`\n\nAdds.\n\n\
        ### TASK-001 Add\n\n`FEAT-001` `REQ-001` `a.rs`\n\nWrite it.\n\n- it adds\n\n## Later\n\nNothing.\n";

    #[test]
    fn a_plan_is_split_into_parts() {
        let sections = requirement_sections(PLAN);
        assert!(sections.starts_with("### REQ-001 Add\n\n`high`"), "{sections}");
        assert!(sections.ends_with("### FEAT-001 Adding\n\n`REQ-001`\n\nAdds."), "{sections}");
        let tasks = without_requirements(PLAN);
        assert!(tasks.starts_with("# Plan\n\nAssumed: one user.\n\n### TASK-001 Add"), "{tasks}");
        assert_eq!(prose(PLAN), "# Plan\n\nAssumed: one user.\n\n## Later\n\nNothing.");
    }
}
