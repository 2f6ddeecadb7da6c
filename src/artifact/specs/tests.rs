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
    use crate::random_cases::changed;
    let texts = [
        include_str!("../../../tests/corpus/specs/spec-kit/spec.md"),
        include_str!("../../../tests/corpus/specs/spec-kit/tasks.md"),
        include_str!("../../../tests/corpus/specs/openspec/specs/data-export/spec.md"),
        include_str!("../../../tests/corpus/specs/openspec/tasks.md"),
        "### TASK-001 x\n\n`FEAT-001` `a.rs`\n\n---\n```\n- [ ] T001 `REQ-?` <!-- \n> # quote\n",
    ];
    let texts: Vec<String> = texts.map(str::to_owned).to_vec();
    for seed in 0..400 {
        let random = &mut fastrand::Rng::with_seed(seed);
        let text = |random: &mut _| changed(random, &texts);
        let all = [
            ("spec.md".to_owned(), text(random)),
            ("proposal.md".to_owned(), text(random)),
            ("specs/a/spec.md".to_owned(), text(random)),
            ("tasks.md".to_owned(), text(random)),
        ];
        let all: Vec<(&str, &str)> =
            all.iter().map(|(path, text)| (&path[..], &text[..])).collect();
        for tool in [named("spec-kit"), named("OpenSpec")] {
            let (found, plan) = drafted(tool, "a", &all);
            assert!(plan.left_out.is_empty(), "{seed}: {:?}\n{found:?}", plan.left_out);
            let refused = refusals(&plan.text);
            assert!(refused.is_empty(), "{seed}: {refused:?}\n{}", plan.text);
        }
    }
}
