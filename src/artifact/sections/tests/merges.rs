//! Merges of two sides that change one document.

use super::*;

const PRD: &str = include_str!("prd.md");
const PLAN: &str = include_str!("plan.md");

/// The edits of one side: text and replacement.
type Side<'a> = &'a [(&'a str, &'a str)];

fn side(edits: Side<'_>) -> Texts {
    let mut texts =
        Texts::from([(Document::Prd, PRD.to_owned()), (Document::Plan, PLAN.to_owned())]);
    for (from, to) in edits {
        let (_, text) = texts.iter_mut().find(|(_, text)| text.contains(from)).unwrap();
        *text = text.replacen(from, to, 1);
    }
    texts
}

fn merged(ours: Side<'_>, theirs: Side<'_>) -> Result<Merged, Vec<Conflict>> {
    // Without a design.md, the tasks name no component.
    let bare: Side<'_> = &[("`COMP-001` ", ""), ("`COMP-001` ", ""), ("`COMP-002` ", "")];
    let of = |edits: Side<'_>| side(&[bare, edits].concat());
    merge(&of(&[]), &of(ours), &of(theirs), &mut IdFloors::default(), &|_, _, _| None)
}

const AFTER_REQ_3: &str = "takes less than a second\n";
const NEW_A: &str =
    "takes less than a second\n\n### REQ-004 Export\n\n`low` `functional`\n\nAs csv.\n";
const NEW_B: &str =
    "takes less than a second\n\n### REQ-004 Import\n\n`low` `functional`\n\nFrom csv.\n";
const FEAT_2: &str =
    "### FEAT-002 Look back\n\n`REQ-002`\n\nSee what was used.\n\n- the list is sorted\n";
const REQ_2: &str = "### REQ-002 List readings\n\n`medium` `functional`\n\nAll readings, the newest first.\n\n- WHEN there are none THEN it prints `no readings`\n\n";

#[test]
fn a_merge_has_the_changes_of_both_sides() {
    let edits: &[(Side<'_>, Side<'_>, &[&str])] = &[
        // Two adjacent records.
        (
            &[("List readings", "List all")],
            &[("Small and fast", "Fast")],
            &["REQ-002 List all", "REQ-003 Fast"],
        ),
        // Two fields of one record.
        (
            &[("`high`", "`low`")],
            &[("Add a reading", "Add one")],
            &["REQ-001 Add one\n\n`low` `functional`"],
        ),
        // Two items of one record.
        (
            &[("THEN the exit code is 2", "THEN it fails")],
            &[("ends in `1523` `tests/add.rs::appends`", "ends so")],
            &["line ends so\n- WHEN the number is smaller than the last one THEN it fails\n"],
        ),
        // Items added at the same place, ours first.
        (
            &[("THEN the exit code is 2\n", "THEN the exit code is 2\n- ours\n")],
            &[("THEN the exit code is 2\n", "THEN the exit code is 2\n- theirs\n")],
            &["- ours\n- theirs\n"],
        ),
        // New records at the same place.
        (
            &[(AFTER_REQ_3, NEW_A)],
            &[(AFTER_REQ_3, NEW_B)],
            &["### REQ-004 Export", "### REQ-005 Import"],
        ),
        // The same change on both sides.
        (&[(AFTER_REQ_3, NEW_A)], &[(AFTER_REQ_3, NEW_A)], &["### REQ-004 Export"]),
        // References of one feature.
        (
            &[("`REQ-001` `REQ-003`", "`REQ-001` `REQ-003` `REQ-002`")],
            &[("`REQ-001` `REQ-003`", "`REQ-003`")],
            &["### FEAT-001 Keep readings\n\n`REQ-003` `REQ-002`\n"],
        ),
        // A record deleted on one side, with the references to it.
        (
            &[(FEAT_2, ""), ("`FEAT-002` `REQ-002`", "`FEAT-001` `REQ-002`")],
            &[("Add a reading", "Add one")],
            &["REQ-001 Add one"],
        ),
        // A record moved on one side and changed on the other.
        (
            &[
                (REQ_2, ""),
                (
                    "## Features",
                    "### REQ-002 List readings\n\n`medium` `functional`\n\nAll readings, the newest first.\n\n- WHEN there are none THEN it prints `no readings`\n\n## Features",
                ),
            ],
            &[("the newest first", "the oldest first")],
            &[
                "a second\n\n### REQ-002 List readings\n\n`medium` `functional`\n\nAll readings, the oldest first.",
            ],
        ),
        (
            &[("the newest first", "the oldest first")],
            &[
                (REQ_2, ""),
                (
                    "## Features",
                    "### REQ-002 List readings\n\n`medium` `functional`\n\nAll readings, the newest first.\n\n- WHEN there are none THEN it prints `no readings`\n\n## Features",
                ),
            ],
            &[
                "a second\n\n### REQ-002 List readings\n\n`medium` `functional`\n\nAll readings, the oldest first.",
            ],
        ),
        // Prose on one side, records on the other.
        (
            &[("kept in one file", "kept in a file")],
            &[("`high`", "`low`")],
            &["kept in a file", "`low` `functional`"],
        ),
        (
            &[("`high`", "`low`")],
            &[("kept in one file", "kept in a file")],
            &["kept in a file", "`low` `functional`"],
        ),
        // Paths of one task.
        (
            &[("`src/main.rs`", "`src/main.rs` `src/a.rs`")],
            &[("`src/main.rs`", "`src/main.rs` `src/b.rs`")],
            &["`src/main.rs` `src/a.rs` `src/b.rs`"],
        ),
        // A feature changed on one side, with a reference to a requirement that is renumbered.
        (
            &[(AFTER_REQ_3, NEW_A)],
            &[
                (AFTER_REQ_3, NEW_B),
                (
                    FEAT_2,
                    "### FEAT-002 Look back\n\n`REQ-002` `REQ-004`\n\nSee what was used.\n\n- the list is sorted\n",
                ),
            ],
            &["### REQ-005 Import", "### FEAT-002 Look back\n\n`REQ-002` `REQ-005`"],
        ),
        // Sub-tasks of one task.
        (
            &[("are two lines\n", "are two lines\n\n### TASK-003.1 Ours\n\n`FEAT-002`\n\nDo.\n")],
            &[("are two lines\n", "are two lines\n\n### TASK-003.1 Theirs\n\n`FEAT-002`\n\nDo.\n")],
            &["### TASK-003.1 Ours", "### TASK-003.2 Theirs"],
        ),
        // Reformatted on one side, changed on the other.
        (
            &[("- WHEN there", "* WHEN there")],
            &[("List readings", "List all")],
            &["REQ-002 List all", "* WHEN there"],
        ),
    ];
    for (ours, theirs, expected) in edits {
        let merged = merged(ours, theirs).unwrap_or_else(|conflicts| panic!("{conflicts:#?}"));
        let all: String = merged.texts.values().cloned().collect();
        for text in *expected {
            assert!(all.contains(text), "no {text:?} in\n{all}");
        }
        assert_eq!(all.matches("## Features").count(), 1);
    }
}

#[test]
fn changes_of_one_side_are_kept_byte_for_byte() {
    let edits: &[Side<'_>] = &[
        &[("`high`", "`low`")],
        &[(AFTER_REQ_3, NEW_A)],
        &[("kept in one file", "kept in a file")],
        &[("## Features\n", "## Features\n\nProse.\n")],
        &[(FEAT_2, ""), ("`FEAT-002` `REQ-002`", "`FEAT-001` `REQ-002`")],
        &[
            (REQ_2, ""),
            ("`REQ-002`\n\nSee", "`REQ-001`\n\nSee"),
            ("`FEAT-002` `REQ-002`", "`FEAT-002`"),
        ],
        &[("- the list is sorted\n", "- the list is sorted\n\n## Later\n\nMore.\n")],
    ];
    for edits in edits {
        for merged in [merged(edits, &[]), merged(&[], edits)] {
            let bare: Side<'_> = &[("`COMP-001` ", ""), ("`COMP-001` ", ""), ("`COMP-002` ", "")];
            let expected = side(&[bare, *edits].concat());
            let expected: Vec<String> =
                expected.values().map(|text| text.trim_end().to_owned()).collect();
            let texts = merged.unwrap().texts;
            assert_eq!(
                texts.values().map(|text| text.trim_end().to_owned()).collect::<Vec<_>>(),
                expected
            );
        }
    }
}

#[test]
fn contradicting_changes_are_a_conflict() {
    let edits: &[(Side<'_>, Side<'_>, &str)] = &[
        (
            &[("Add a reading", "Ours")],
            &[("Add a reading", "Theirs")],
            "title of REQ-001 was changed on both sides",
        ),
        (
            &[("THEN the exit code is 2", "ours")],
            &[("THEN the exit code is 2", "theirs")],
            "acceptance_criteria of REQ-001 was changed on both sides",
        ),
        (
            &[(FEAT_2, ""), ("`FEAT-002` `REQ-002`", "`FEAT-001` `REQ-002`")],
            &[("Look back", "Look")],
            "FEAT-002 was deleted on one side and changed on the other",
        ),
        (
            &[
                (REQ_2, ""),
                ("`REQ-002`\n\nSee", "`REQ-001`\n\nSee"),
                ("`FEAT-002` `REQ-002`", "`FEAT-002`"),
            ],
            &[("`REQ-001` `REQ-003`", "`REQ-001` `REQ-003` `REQ-002`")],
            "FEAT-001 refers to REQ-002, which has no section; remove it here or restore the section",
        ),
        (
            &[("kept in one", "kept in our")],
            &[("kept in one", "kept in their")],
            "the text above REQ-001 was changed on both sides",
        ),
    ];
    for (ours, theirs, expected) in edits {
        let conflicts = merged(ours, theirs).unwrap_err();
        assert!(conflicts.iter().any(|conflict| conflict.text == *expected), "{conflicts:#?}");
    }
}

#[test]
fn the_more_advanced_status_is_kept() {
    use crate::artifact::{FeatureStatus, TaskStatus};
    let mut ours = read_all(&format!("{PRD}\n{PLAN}")).records();
    let mut theirs = ours.clone();
    ours.features[0].status = FeatureStatus::Implemented;
    theirs.features[1].status = FeatureStatus::InProgress;
    ours.tasks[0].status = TaskStatus::Completed;
    theirs.tasks[0].status = TaskStatus::InProgress;
    theirs.tasks[1].status = TaskStatus::Blocked;
    let merged = further_status(ours, &theirs);
    let features: Vec<_> = merged.features.iter().map(|one| one.status).collect();
    assert_eq!(features, [FeatureStatus::Implemented, FeatureStatus::InProgress]);
    let tasks: Vec<_> = merged.tasks.iter().map(|one| one.status).collect();
    assert_eq!(tasks, [TaskStatus::Completed, TaskStatus::Blocked, TaskStatus::Pending]);
}

#[test]
fn equal_records_follow_renumbered_references() {
    let alike = "### FEAT-003 Share\n\n`REQ-004`\n\nAs a file.\n\n- there is one\n";
    let task = "### TASK-004 Share\n\n`FEAT-003` `REQ-004` `src/share.rs`\n\n- it is there\n";
    let last = "- two readings are two lines";
    let feature = format!("{AFTER_REQ_3}\n{alike}");
    // Both sides created the same feature, for requirements that share only an id: the merged
    // feature refers to both requirements.
    let ours = [(AFTER_REQ_3, &*feature), ("takes less than a second\n", NEW_A)];
    let theirs = [(AFTER_REQ_3, &*feature), ("takes less than a second\n", NEW_B)];
    let both = merged(&ours, &theirs).unwrap();
    assert_eq!(both.renumbered.len(), 1, "{:?}", both.renumbered);
    let prd = &both.texts[&Document::Prd];
    assert!(prd.contains("### FEAT-003 Share\n\n`REQ-004` `REQ-005`\n"), "{prd}");
    // Now the features differ, so the tasks that refer to them are different tasks.
    let other = feature.replace("As a file", "As a page");
    let plan = format!("{last}\n\n{task}");
    let ours = [(AFTER_REQ_3, &*feature), ("takes less than a second\n", NEW_A), (last, &*plan)];
    let theirs = [(AFTER_REQ_3, &*other), ("takes less than a second\n", NEW_B), (last, &*plan)];
    let both = merged(&ours, &theirs).unwrap();
    let plan = &both.texts[&Document::Plan];
    assert!(plan.contains("### TASK-004 Share\n\n`FEAT-003` `REQ-004`"), "{plan}");
    assert!(plan.contains("### TASK-005 Share\n\n`FEAT-004` `REQ-005`"), "{plan}");
}
