//! Imports of folders as the tools create them.

use super::*;

fn drafted(tool: &SpecKind, name: &str, all: &[(&str, &str)]) -> (Specified, Drafted) {
    drafted_as(tool, name, all, Choice::default()).unwrap()
}

fn drafted_as(
    tool: &SpecKind,
    name: &str,
    all: &[(&str, &str)],
    choice: Choice<'_>,
) -> Result<(Specified, Drafted), Refusal> {
    let files =
        all.iter().map(|(path, text)| SpecFile { path: (*path).into(), text: (*text).into() });
    let files: Vec<SpecFile> = files.filter(|file| tool.reads(&file.path, choice.task)).collect();
    let found = specified(tool, name, &files, choice, &|name| name == "README.md")?;
    let plan = draft("# Plan\n\nMade from a folder.", &found.records, &|_| false);
    Ok((found, plan))
}

fn kind(files: &[&str]) -> Option<&'static SpecKind> {
    SpecKind::of_folder(&files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>())
}

fn named(name: &str) -> &'static SpecKind {
    ALL.into_iter().find(|kind| kind.name == name).unwrap()
}

#[track_caller]
fn has_all(plan: &Drafted, all: &[&str]) {
    assert!(plan.left_out.is_empty(), "{plan:?}");
    for wanted in all {
        assert!(plan.text.contains(wanted), "{wanted}\n---\n{}", plan.text);
    }
    let refused = refusals(&plan.text);
    assert!(refused.is_empty(), "{refused:?}\n{}", plan.text);
}

/// Returns the refusals when a plan is read as the pipeline reads a document that no tool wrote.
fn refusals(plan: &str) -> Vec<String> {
    use crate::artifact::IdFloors;
    use crate::artifact::sections::{Context, Document, Documents, Records, Writer, read};
    let alone = Documents { plan: true, ..Documents::default() };
    let context = Context {
        kinds: alone.kinds(Document::Plan),
        used: &std::collections::BTreeMap::new(),
        floors: IdFloors::default(),
        present: &Records::default(),
        in_base: &|_| false,
        by: Writer::Person,
    };
    read(plan, &context).refusals.into_iter().map(|remark| remark.text).collect()
}

#[test]
fn a_folder_is_known_by_its_files() {
    for (files, name) in [
        (&["spec.md", "x"][..], Some("spec-kit")),
        (&["proposal.md", "tasks.md"], Some("OpenSpec")),
        (&["specs/a/spec.md", "tasks.md"], None),
        (&["requirements.md", "tasks.md"], Some("Kiro")),
        (&["requirements.md"], None),
        (&["tasks/tasks.json"], Some("Task Master")),
        (&["SPEC.md", "stories.yaml"], Some("BMAD")),
        (&["epics.md"], Some("BMAD")),
        (&["tasks/task-1 - Add.md"], Some("Backlog.md")),
    ] {
        assert_eq!(kind(files).map(|kind| kind.name), name, "{files:?}");
    }
}

#[test]
fn each_mark_has_patterns_that_can_be_read() {
    for kind in ALL {
        assert_eq!(marks::unreadable(kind.marks), Vec::<&str>::new(), "{}", kind.name);
    }
}

#[test]
fn stories_and_phases_become_records() {
    let spec = "# Feature Specification: Todo\n### User Story 1 - Add (Priority: P1)\nAna adds.\n\n**Acceptance Scenarios**:\n\n\
        1. **Given** a, **When** b, **Then** c\n\n## Requirements\n- **FR-001**: System MUST keep todos\n";
    let tasks = "# Tasks\n## Phase 1: Setup\n- [ ] T001 Create README.md\n## Phase 3: User Story 1 - Add (Priority: P1)\n\
        **Goal**: add\n- [ ] T002 [P] [US1] Test in tests/add.sh\n- [ ] T003 [US1] Write lib/add.sh (FR-001)\n";
    let (found, plan) =
        drafted(named("spec-kit"), "001-todo", &[("spec.md", spec), ("tasks.md", tasks)]);
    assert_eq!((found.title.as_str(), found.open), ("Todo", 4));
    assert_eq!((plan.requirements, plan.features, plan.tasks), (2, 2, 2));
    let wanted = [
        "### REQ-001 US1 Add\n\n`high` `functional`\n\nAna adds.\n\n- Given a, When b, Then c\n",
        "### REQ-002 FR-001 System MUST keep todos\n\n`high` `functional`\n",
        "### FEAT-002 Todo: what the stories share\n\n`REQ-002`\n",
        "### TASK-001 T001 Create README.md\n\n`FEAT-002` `README.md`\n",
        "### TASK-002 Phase 3: User Story 1 - Add\n\n`FEAT-001` `REQ-001` `REQ-002`\n\nadd\n\n- T002 to T003 are done as described\n",
        "TASK-002.2 T003 Write lib/add.sh (FR-001)\n\n`FEAT-001` `lib/add.sh`\n",
    ];
    has_all(&plan, &wanted);
}

#[test]
fn a_change_of_openspec_is_one_feature() {
    let spec = "## ADDED Requirements\n### Requirement: Export\nThe system SHALL export.\n#### Scenario: Good\n- **WHEN** x\n- **THEN** y\n\
        ## REMOVED Requirements\n### Requirement: Old\n**Reason**: gone\n";
    let tasks = "## 1. Core\n- [ ] 1.1 Write `src/export.rs`\n- [x] 1.2 Done\n";
    let all = [
        ("proposal.md", "## Why\n\nPeople ask.\n"),
        ("specs/data-export/spec.md", spec),
        ("tasks.md", tasks),
    ];
    let (found, plan) = drafted(named("OpenSpec"), "add-export", &all);
    assert_eq!((found.title.as_str(), found.open), ("add export", 1));
    assert_eq!(found.not_planned, [("ticked".to_owned(), vec!["1.2".to_owned()])]);
    let wanted = [
        "### REQ-001 data-export: Export\n\n`high` `functional`\n\nThe system SHALL export.\n\n- Good: WHEN x THEN y\n",
        "### REQ-002 data-export: Remove: Old\n",
        "### FEAT-001 add export\n\n`REQ-001` `REQ-002`\n\nPeople ask.\n",
        "### TASK-001 1.1 Write `src/export.rs`\n\n`FEAT-001` `src/export.rs`\n",
    ];
    has_all(&plan, &wanted);
}

#[test]
fn an_earlier_template_of_spec_kit_has_one_story() {
    let spec = "# Feature Specification: [FEATURE NAME]\n## User Scenarios\n### Primary User Story\nI want to sort.\n\
        ### Acceptance Scenarios\n1. **Given** a, **When** b, **Then** c\n### Edge Cases\n- d\n";
    let (found, plan) = drafted(named("spec-kit"), "002-sorting", &[("spec.md", spec)]);
    assert_eq!(
        (found.title.as_str(), &*found.text_only),
        ("sorting", &["Edge Cases".to_owned()][..])
    );
    has_all(
        &plan,
        &[
            "### REQ-001 US1 sort\n\n`medium` `functional`\n\nI want to sort.\n\n- Given a, When b, Then c\n",
        ],
    );
}

#[test]
fn requirements_inside_a_story_belong_to_its_feature() {
    let spec = "# Feature Specification: T\n### User Story 1: A (Priority: P2)\n\nText\n\n**Functional Requirements**:\n\n- **FR-001**: x\n\n\
        #### More\n\n- FR-002: y\n\n### User Story 3 - B (Priority: P3)\n\nText\n\n## Key Entities\n\n- **FR-003** - z\n- **NFR-001**: System SHOULD be fast\n";
    let (_, plan) = drafted(named("spec-kit"), "x", &[("spec.md", spec)]);
    let wanted = [
        "### FEAT-001 US1 A\n\n`REQ-001` `REQ-002` `REQ-003` `REQ-005` `REQ-006`\n",
        "### FEAT-002 US3 B\n\n`REQ-004` `REQ-005` `REQ-006`\n",
        "### REQ-004 US3 B\n\n`low` `functional`\n",
        "### REQ-006 NFR-001 System SHOULD be fast\n\n`medium` `non_functional`\n",
    ];
    has_all(&plan, &wanted);
}

#[test]
fn a_delta_changes_removes_and_renames() {
    let spec = "# Spec Delta\n\n## Purpose\n\nLets users export.\n\n\
        ## MODIFIED Requirements\n### Requirement: Login\nIt MUST ask.\n#### Scenario: Plain words\nIt asks.\n\n\
        ## REMOVED Requirements\n### Requirement: Dump\n**Reason**: Replaced\n\n\
        ## RENAMED Requirements\n- FROM: `### Requirement: A`\n- TO: `### Requirement: B`\n";
    let all = [("proposal.md", "# Change: Add export\n## Why\nx\n"), ("specs/a/b/spec.md", spec)];
    let (found, plan) = drafted(named("OpenSpec"), "n", &all);
    assert_eq!(found.title, "Add export");
    assert_eq!(found.text_only, ["Purpose (a/b)", "RENAMED Requirements (a/b)"]);
    let wanted = [
        "### REQ-001 a/b: Login (changed)\n\n`high` `functional`\n\nIt MUST ask.\n\n- Plain words: It asks.\n",
        "### REQ-002 a/b: Remove: Dump\n\n`medium` `functional`\n\nReason: Replaced\n\n- 'Dump' no longer applies\n",
    ];
    has_all(&plan, &wanted);
}

#[test]
fn each_line_of_a_file_with_tasks_is_a_task_or_text_or_named() {
    let tasks = "Before.\n\n# Tasks\n\n- [ ] T1 a in lib/a.sh\n  more\n\n  below\n- [ ] write 3 files\n* [X] c\n  its text\n\n\
        ## Done\n\nText of it.\n\n- [x] 1.1 Begin\n\n## Work\n\nGoal.\n\n- [ ] 2.1 Do\n- [ ] 2.2 Do b\n\n```sh\nrun\n```\n\n\
        ## Notes\n\n| A | B |\n|---|---|\n| c | d |\n\n### More\n\n> quote\n";
    let (found, plan) =
        drafted(named("spec-kit"), "x", &[("spec.md", "# x\n"), ("tasks.md", tasks)]);
    let lines = ["tasks.md line 1", "tasks.md lines 32 to 34 (Notes)", "tasks.md line 38 (More)"];
    assert_eq!(found.lines, lines);
    let ticked = vec!["c its text".to_owned(), "1.1".to_owned()];
    assert_eq!(found.not_planned, [("ticked".to_owned(), ticked)]);
    let wanted = [
        "### TASK-001 T1 a in lib/a.sh more\n\n`FEAT-001` `lib/a.sh`\n\na in lib/a.sh more\n\nbelow\n",
        "### TASK-002 write 3 files\n",
        "### TASK-003 Work\n\n`FEAT-001`\n\nGoal.\n\n```sh\nrun\n```\n\n- 2.1 to 2.2 are done as described\n",
    ];
    has_all(&plan, &wanted);
}

#[test]
fn markdown_in_texts_creates_no_records() {
    let spec = "# Feature Specification:\n### User Story 1 - ### TASK-009 x (Priority: P1)\n\n### TASK-001 in a story\n\n- FR-001: \
        ``` `a` ]]> \u{202e} <script>\n### User Story 99999999999999999999 -\n### User Story 2\n```\nopen\n";
    let tasks = "## \n- [ ] \n- [ ] T001\n- [ ] T002 [US7] `REQ-001` | ### TASK-004 y\n-[ ] no\n";
    for tool in [named("spec-kit"), named("OpenSpec")] {
        let all = [
            ("spec.md", spec),
            ("proposal.md", spec),
            ("specs/a/spec.md", spec),
            ("tasks.md", tasks),
        ];
        let (_, plan) = drafted(tool, "", &all);
        assert!(plan.text.starts_with("# Plan"), "{}", plan.text);
    }
    let (found, plan) = drafted(named("spec-kit"), "x", &[("spec.md", spec), ("tasks.md", tasks)]);
    assert!(plan.left_out.is_empty() && plan.text.contains("TASK\u{2011}009 x"), "{plan:?}");
    assert_eq!(plan.tasks as usize, found.open);
    let (_, plan) = drafted(named("spec-kit"), "x", &[("spec.md", "")]);
    assert_eq!((plan.requirements, plan.tasks), (0, 0));
}

#[test]
fn randomly_changed_files_make_a_document() {
    use crate::test_random::changed;
    let texts = [
        include_str!("../../../tests/corpus/specs/spec-kit/spec.md"),
        include_str!("../../../tests/corpus/specs/spec-kit/tasks.md"),
        include_str!("../../../tests/corpus/specs/openspec/specs/data-export/spec.md"),
        include_str!("../../../tests/corpus/specs/openspec/tasks.md"),
        "### TASK-001 x\n\n`FEAT-001` `a.rs`\n\n---\n```\n- [ ] T001 `REQ-?` <!-- \n> # quote\n",
        "---\nid: TASK-1\ntitle: Add\n---\n<!-- AC:BEGIN -->\n- [x] #1 a\n<!-- AC:END -->\n<!-- SECTION:PLAN:BEGIN -->\n1. `b c.sh`\n",
        "### Requirement 1: A\n#### Acceptance Criteria\n1. WHEN x\n- [ ] 1. a\n  - [ ]* 1.1 b\n    - _Requirements: 1.1, All_\n",
        "- **CAP-1**\n  - **intent:** a\n## Epic 1: B\n### Story 1.1: C\n**Given** d\n**Then** e\n| f | g |\n|--|--|\n| h | N/A |\n",
    ];
    let texts: Vec<String> = texts.map(str::to_owned).to_vec();
    let kinds: [(&str, &[&str]); 5] = [
        ("spec-kit", &["spec.md", "tasks.md"]),
        ("OpenSpec", &["proposal.md", "specs/a/spec.md", "tasks.md"]),
        ("Kiro", &["requirements.md", "design.md", "tasks.md"]),
        ("BMAD", &["SPEC.md", "epics.md", "stories/1-a.md"]),
        ("Backlog.md", &["tasks/task-1 - a.md"]),
    ];
    for seed in 0..400 {
        let random = &mut fastrand::Rng::with_seed(seed);
        let (tool, paths) = kinds[seed as usize % kinds.len()];
        let all: Vec<(&str, String)> =
            paths.iter().map(|path| (*path, changed(random, &texts))).collect();
        let all: Vec<(&str, &str)> = all.iter().map(|(path, text)| (*path, &text[..])).collect();
        let choice = Choice { task: (tool == "Backlog.md").then_some("TASK-1"), tag: None };
        // Front matter may be broken.
        let Ok((found, plan)) = drafted_as(named(tool), "a", &all, choice) else { continue };
        assert!(plan.left_out.is_empty(), "{seed}: {:?}\n{found:?}", plan.left_out);
        let refused = refusals(&plan.text);
        assert!(refused.is_empty(), "{seed}: {refused:?}\n{}", plan.text);
    }
}
