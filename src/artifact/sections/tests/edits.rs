//! Edits by a person, of every kind of record: read, read with a note, or refused with line and
//! message.

use super::*;

const PRD: &str = include_str!("prd.md");
const DESIGN: &str = include_str!("design.md");
const PLAN: &str = include_str!("plan.md");

/// What becomes of an edit.
enum Outcome {
    /// It is read, and changes these records, comma between.
    Reads(&'static str),
    /// It is read with this note, and changes these records.
    Notes(&'static str, &'static str),
    /// It is refused with this line and message.
    Refused(&'static str),
}

use Outcome::{Notes, Reads, Refused};

/// A document, what is in it, and what a person makes of it.
struct Edit {
    document: Document,
    from: &'static str,
    to: &'static str,
    outcome: Outcome,
}

const fn edit(document: Document, from: &'static str, to: &'static str, outcome: Outcome) -> Edit {
    Edit { document, from, to, outcome }
}

/// All text is replaced.
const WHOLE: &str = "";

use Document::{Design, Plan, Prd};

const EDITS: &[Edit] = &[
    // Content.
    edit(Prd, "Add a reading", "Add one reading", Reads("REQ-001")),
    edit(Prd, "Add a reading", "Einen Stand eintragen", Reads("REQ-001")),
    edit(Prd, "Add a reading", "添加读数", Reads("REQ-001")),
    edit(Prd, "One command stores", "A command stores", Reads("REQ-001")),
    edit(Prd, "All readings, the newest first.", "所有读数。", Reads("REQ-002")),
    edit(Prd, "`high`", "`low`", Reads("REQ-001")),
    edit(Prd, "`low` `non_functional`", "`LOW` `Non_Functional`", Reads("")),
    edit(Prd, "`low` `non_functional`", "`non_functional`, `low`", Reads("")),
    edit(Prd, "`low` `non_functional`", "**Priorität:** low\n**Art:** non_functional", Reads("")),
    edit(Prd, "`low` `non_functional`", "Priority: `low` | Category: `non_functional`", Reads("")),
    edit(Prd, "`low` `non_functional`", "优先级：low 类别：non_functional", Reads("")),
    edit(Prd, "`low` `non_functional`", "- Priority: low\n- Category: non_functional", Reads("")),
    edit(Prd, "`low` `non_functional`\n\nIt", "`low` `non_functional`\nIt", Reads("")),
    edit(Prd, "the exit code is 2\n", "the exit code is 2\n- a third one\n", Reads("REQ-001")),
    edit(Prd, "- WHEN there are none THEN it prints `no readings`\n", "", Reads("REQ-002")),
    edit(Prd, "`tests/add.rs::appends`", "`!tests/add.rs::appends`", Reads("REQ-001")),
    edit(Prd, " `tests/add.rs::appends`", "", Reads("REQ-001")),
    edit(Prd, "`tests/add.rs::appends`", "(`tests/add.rs::appends`)", Reads("")),
    edit(Prd, "`REQ-001` `REQ-003`", "`REQ-001`", Reads("FEAT-001")),
    edit(Prd, "`REQ-001` `REQ-003`", "REQ-001, REQ-003", Reads("")),
    edit(Prd, "`REQ-001` `REQ-003`", "Requirements: REQ-001 / REQ-003", Reads("")),
    edit(Prd, "`REQ-001` `REQ-003`", "- REQ-001\n- REQ-003", Reads("")),
    edit(Prd, "`REQ-001` `REQ-003`", "`REQ-001`\n\n`REQ-003`", Reads("")),
    edit(Prd, "`REQ-002`\n\nSee", "`-`\n\nSee", Reads("FEAT-002")),
    edit(
        Prd,
        "See what was used.\n",
        "See what was used.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        Reads("FEAT-002"),
    ),
    edit(Prd, "See what was used.\n", "See what was used.\n\n> said Ana\n", Reads("FEAT-002")),
    edit(
        Prd,
        "- the list is sorted",
        "- the list is sorted\n  - by date\n  - by number",
        Reads("FEAT-002"),
    ),
    // Form.
    edit(Prd, "stores a number with today's date", "stores a number\nwith today's date", Reads("")),
    edit(
        Prd,
        "All readings, the newest first.",
        "All readings,\n   the newest first.  ",
        Reads(""),
    ),
    edit(Prd, "- WHEN I run", "* WHEN I run", Reads("")),
    edit(Prd, "- the list", "1. the list", Reads("")),
    edit(Prd, "THEN the exit code is 2", "THEN\n  the exit code is 2", Reads("")),
    edit(Prd, "### REQ-002 List readings", "#### REQ-002 List readings", Reads("")),
    edit(
        Prd,
        "### REQ-002 List readings",
        "REQ-002 List readings\n---------------------",
        Reads(""),
    ),
    edit(Prd, "### REQ-002 List readings", "### REQ-002 List readings ###", Reads("")),
    edit(Prd, "### REQ-002 List readings", "### REQ-002: List readings", Reads("")),
    edit(Prd, "### REQ-002 List readings", "### **REQ-002** — List readings", Reads("")),
    edit(Prd, "### REQ-002 List readings", "### [REQ-002] List readings", Reads("")),
    edit(Prd, "### REQ-002 List readings", "### 1. REQ-002 List readings", Reads("")),
    edit(Prd, "### REQ-002 List readings", "### REQ-002：List readings", Reads("")),
    edit(Prd, "### REQ-002 List readings", "### `REQ-002` List readings", Reads("")),
    edit(Prd, "### REQ-002 List readings\n\n", "### REQ-002 List readings\n", Reads("")),
    edit(Prd, "### REQ-002 List readings", "###   REQ-002\tList readings", Reads("")),
    edit(Prd, "# Water meter", "\u{feff}# Water meter", Reads("")),
    edit(Prd, "# Water meter", "---\ntitle: meter\nowner: ana\n---\n# Water meter", Reads("")),
    edit(
        Prd,
        "Readings of a meter, kept in one file.",
        "Something else, with REQ-001 in it.",
        Reads(""),
    ),
    edit(Prd, "## Features\n", "## Was es kann\n\nProsa.\n", Reads("")),
    edit(Prd, "\n## Features\n", "", Reads("")),
    edit(
        Prd,
        "All readings, the newest first.",
        "All readings, the newest first.\n\n<!-- ask Ana -->",
        Reads(""),
    ),
    edit(
        Prd,
        "All readings, the newest first.",
        "All readings, the newest first. <!-- ask Ana -->",
        Reads(""),
    ),
    edit(
        Prd,
        "It starts in 10 ms.\n",
        "It starts in 10 ms.\n\n- on a phone\n\n<!-- -->\n",
        Reads("REQ-003"),
    ),
    edit(
        Prd,
        "- the list is sorted\n",
        "- the list is sorted\n\n---\n\nAny other text.\n",
        Reads(""),
    ),
    // Notes.
    edit(
        Prd,
        "- WHEN there are none",
        "- [ ] WHEN there are none",
        Notes("22: tick boxes are not read", ""),
    ),
    edit(
        Prd,
        "`REQ-002`\n\nSee",
        "`REQ-002` `planned`\n\nSee",
        Notes("44: 'planned' is not read: status follows the commits", ""),
    ),
    edit(
        Prd,
        "It starts in 10 ms.\n",
        "- one\n\nIt starts in 10 ms.\n",
        Notes(
            "32: REQ-003 has more than one list: all items are criteria; to keep a list in the description, put <!-- --> alone on a line below it",
            "REQ-003",
        ),
    ),
    edit(
        Prd,
        "All readings, the newest first.\n",
        "All readings, the newest first.\n\n#### Notes\n\nMore.\n",
        Notes("22: 'Notes' has no id: it is part of REQ-002", "REQ-002"),
    ),
    edit(
        Prd,
        "All readings, the newest first.\n",
        "All readings, the newest first.\n---\n",
        Notes(
            "21: --- directly below text makes it a heading, which ends REQ-002; put a blank line above ---",
            "REQ-002",
        ),
    ),
    edit(
        Prd,
        "All readings, the newest first.\n\n-",
        "All readings, the newest first.\n\n---\n\n-",
        Notes("24: not part of REQ-002", "REQ-002"),
    ),
    edit(Prd, "`high`", "`must`", Notes("9: 'must' is read as high", "")),
    edit(Prd, "`medium`", "Should", Notes("18: 'Should' is read as medium", "")),
    edit(
        Prd,
        "`low` `non_functional`",
        "`low`",
        Notes("24: REQ-003 has no category: functional is assumed", "REQ-003"),
    ),
    edit(Prd, "### REQ-002 List", "### REQ-2 List", Notes("16: 'REQ-2' is read as REQ-002", "")),
    edit(
        Prd,
        "### REQ-002 List",
        "### req-002 List",
        Notes("16: 'req-002' is read as REQ-002", ""),
    ),
    edit(
        Prd,
        "## Features\n",
        "### REQ-004 Export\n\nAs csv.\n\n## Features\n",
        Notes("32: REQ-004 has no priority: medium is assumed", "REQ-004"),
    ),
    edit(
        Prd,
        "## Features\n",
        "### REQ-009 Export\n\n`low` `functional`\n\n## Features\n",
        Notes("32: REQ-009 is above the next number, REQ-004", "REQ-009"),
    ),
    edit(
        Prd,
        "## Features\n",
        "### REQ-? Export\n\n`low` `functional`\n\n## Features\n",
        Reads("REQ-004"),
    ),
    edit(
        Prd,
        "## Features\n",
        "### REQ-XXX Export\n\n`low` `functional`\n\n## Features\n",
        Reads("REQ-004"),
    ),
    edit(
        Prd,
        "## Features\n",
        "### REQ Export\n\n`low` `functional`\n\n## Features\n",
        Reads("REQ-004"),
    ),
    edit(
        Prd,
        "## Features\n",
        "### REQ-004 Export\n\n`low` `functional`\n\n## Features\n",
        Reads("REQ-004"),
    ),
    // Refused.
    edit(
        Prd,
        "### REQ-003 Small",
        "### REQ-002 Small",
        Refused("24: REQ-002 is already at line 16; write REQ-? to give this one a new number"),
    ),
    edit(
        Prd,
        "`low` `non_functional`",
        "`non_functional`",
        Refused(
            "24: REQ-003 has no priority; write high, medium or low on the line below its heading",
        ),
    ),
    edit(
        Prd,
        "`low` `non_functional`",
        "Priorität: niedrig",
        Refused(
            "24: REQ-003 has no priority; write high, medium or low on the line below its heading",
        ),
    ),
    edit(
        Prd,
        "`low` `non_functional`",
        "`urgent` `functional`",
        Refused(
            "26: 'urgent' is not a priority (high, medium, low) or a category (functional, non_functional)",
        ),
    ),
    edit(
        Prd,
        "`low` `non_functional`",
        "`low` `high` `functional`",
        Refused("26: REQ-003 has two priorities: low, high"),
    ),
    edit(
        Prd,
        "### REQ-003 Small and fast",
        "**REQ-003** Small and fast",
        Refused(
            "24: REQ-003 has no section; a requirement begins with a heading: ### REQ-003 Title",
        ),
    ),
    edit(
        Prd,
        "### REQ-003 Small and fast",
        "- REQ-003 Small and fast",
        Refused(
            "24: REQ-003 has no section; a requirement begins with a heading: ### REQ-003 Title",
        ),
    ),
    edit(
        Prd,
        "### REQ-003 Small and fast",
        "> REQ-003 Small and fast",
        Refused(
            "24: REQ-003 has no section; a requirement begins with a heading: ### REQ-003 Title",
        ),
    ),
    edit(
        Prd,
        "kept in one file.\n",
        "kept in one file.\n\n| id | what |\n|---|---|\n| REQ-007 | more |\n",
        Refused(
            "7: REQ-007 has no section; a requirement begins with a heading: ### REQ-007 Title",
        ),
    ),
    edit(
        Prd,
        "### REQ-003 Small",
        "### REQ-003a Small",
        Refused("24: 'REQ-003a' is not an id; a requirement is REQ-001, a new one REQ-?"),
    ),
    edit(Prd, "### REQ-003 Small and fast", "### REQ-003", Refused("24: REQ-003 has no title")),
    edit(
        Prd,
        "It starts in 10 ms.",
        "```\nIt starts in 10 ms.",
        Refused("28: the code block opened here is never closed"),
    ),
    edit(
        Prd,
        "It starts in 10 ms.",
        "<!-- It starts in 10 ms.",
        Refused("28: the comment opened here is never closed"),
    ),
    edit(
        Prd,
        "It starts in 10 ms.",
        "<<<<<<< HEAD\nIt starts.\n=======\nIt\n>>>>>>> x",
        Refused("28: conflict marker <<<<<<<"),
    ),
    edit(
        Prd,
        WHOLE,
        "# Nothing\n",
        Refused("1: no requirement found; a requirement begins with a heading: ### REQ-001 Title"),
    ),
    edit(
        Prd,
        "`REQ-002`\n\nSee",
        "`REQ-002` `REQ-?`\n\nSee",
        Refused("44: FEAT-002 refers to REQ-?; give that requirement a number (next: REQ-004)"),
    ),
    edit(
        Prd,
        "`REQ-002`\n\nSee",
        "`REQ-002` `soon`\n\nSee",
        Refused("44: 'soon' is not a requirement (REQ-001)"),
    ),
    edit(
        Prd,
        "`REQ-002`\n\nSee",
        "`REQ-002` `REQ-008`\n\nSee",
        Refused(
            "44: FEAT-002 refers to REQ-008, which has no section; remove it here or restore the section",
        ),
    ),
    edit(
        Prd,
        "## Features\n",
        "### REQ-000 Zero\n\n`low`\n\n## Features\n",
        Refused("32: 'REQ-000' is not an id; a requirement is REQ-001, a new one REQ-?"),
    ),
    edit(
        Prd,
        "### FEAT-002 Look back\n\n`REQ-002`\n\nSee what was used.\n\n- the list is sorted\n",
        "### FEAT-002 Look back\n\n`REQ-002`\n\n### FEAT-002 Again\n",
        Refused("46: FEAT-002 is already at line 42; write FEAT-? to give this one a new number"),
    ),
    edit(
        Prd,
        "### FEAT-002 Look back\n\n`REQ-002`\n\nSee what was used.\n\n- the list is sorted\n",
        "<!--\n### FEAT-002 Look back\n\n`REQ-002`\n-->\n",
        Refused(
            "18: COMP-002 refers to FEAT-002, which has no section; remove it here or restore the section",
        ),
    ),
    // Components.
    edit(Design, "### COMP-001 Store", "## COMP-001 - Store", Reads("")),
    edit(Design, "`module`", "`library`", Reads("COMP-001")),
    edit(
        Design,
        "`module` `Rust, csv 1` `FEAT-001`",
        "Typ: `module`\nTechnik: `Rust, csv 1`\nFeatures: FEAT-001",
        Reads(""),
    ),
    edit(
        Design,
        "`module` `Rust, csv 1` `FEAT-001`",
        "- Type: `module`\n- Technology: `Rust, csv 1`\n- Features: FEAT-001",
        Reads(""),
    ),
    edit(Design, "```rust\n", "```\n", Reads("")),
    edit(
        Design,
        "```rust\n",
        "~~~rust\n",
        Refused("12: the code block opened here is never closed"),
    ),
    edit(Design, "Keeps the file.", "Keeps the file.\n\nIn one place.", Reads("COMP-001")),
    edit(
        Design,
        "- write it safely\n",
        "- write it safely\n\nInterfaces:\n\n- `save(path)`\n",
        Notes(
            "14: COMP-001 has a second list: its items are read as interfaces; to keep a list in the description, put <!-- --> alone on a line below it",
            "COMP-001",
        ),
    ),
    edit(
        Design,
        "`ui` `Rust, clap 4` `FEAT-001` `FEAT-002`",
        "`ui` `Rust, clap 4` `FEAT-002` `FEAT-001`",
        Reads("COMP-002"),
    ),
    edit(
        Design,
        "`ui` `Rust, clap 4` `FEAT-001` `FEAT-002`",
        "`ui` `-` `FEAT-001` `FEAT-002`",
        Reads("COMP-002"),
    ),
    edit(
        Design,
        "`ui` `Rust, clap 4` `FEAT-001` `FEAT-002`",
        "`ui` `Rust` `clap 4`",
        Refused("18: 'clap 4' is not a feature (FEAT-001)"),
    ),
    edit(
        Design,
        "### COMP-002 Command line",
        "### REQ-001 Command line",
        Refused(
            "21: TASK-003 refers to COMP-002, which has no section; remove it here or restore the section",
        ),
    ),
    // Tasks.
    edit(Plan, "Print the list", "Print it", Reads("TASK-003")),
    edit(Plan, "`src/main.rs`", "`src/main.rs` `src/print.rs`", Reads("TASK-003")),
    edit(
        Plan,
        "`FEAT-002` `COMP-002` `REQ-002` `TASK-001` `src/main.rs`",
        "`src/main.rs` `TASK-001` `COMP-002` `FEAT-002` `REQ-002`",
        Reads(""),
    ),
    edit(
        Plan,
        "`FEAT-002` `COMP-002` `REQ-002` `TASK-001` `src/main.rs`",
        "FEAT-002, COMP-002, REQ-002, after TASK-001",
        Reads("TASK-003"),
    ),
    edit(
        Plan,
        "`FEAT-002` `COMP-002` `REQ-002` `TASK-001` `src/main.rs`",
        "`FEAT-002` `COMP-002` `REQ-002` `TASK-001`\n\n**Files:**\n\n- `src/main.rs`",
        Reads(""),
    ),
    edit(
        Plan,
        "One line each.\n",
        "One line each.\n\nFiles:\n\n- `src/print.rs`\n",
        Reads("TASK-003"),
    ),
    edit(
        Plan,
        "`src/main.rs`",
        "`src/main.rs` `completed`",
        Notes("21: 'completed' is not read: status follows the commits", ""),
    ),
    edit(Plan, "`src/main.rs`", "`cargo test`", Refused("21: 'cargo test' is not a path")),
    edit(Plan, "`src/main.rs`", "`a dir/file.txt`", Reads("TASK-003")),
    edit(
        Plan,
        "`src/main.rs`",
        "`/etc/x`",
        Refused("21: '/etc/x' is not a path inside the repository"),
    ),
    edit(
        Plan,
        "`src/main.rs`",
        "`../x.rs`",
        Refused("21: '../x.rs' is not a path inside the repository"),
    ),
    edit(
        Plan,
        "`FEAT-002` `COMP-002`",
        "`FEAT-001` `FEAT-002` `COMP-002`",
        Refused("21: TASK-003 names two features, FEAT-001, FEAT-002; a task belongs to one"),
    ),
    edit(Plan, "### TASK-003 Print", "### TASK-002.1 Print", Reads("TASK-003,TASK-002.1")),
    edit(Plan, "### TASK-003 Print", "### TASK-002.? Print", Reads("TASK-003,TASK-002.1")),
    edit(
        Plan,
        "### TASK-003 Print",
        "### TASK-002.1.1.1 Print",
        Refused("19: 'TASK-002.1.1.1' is not an id; a task is TASK-001, a new one TASK-?"),
    ),
    edit(
        Plan,
        "### TASK-001 Read the file\n\n`FEAT-001` `COMP-001` `REQ-001` `src/store.rs`\n\nParse the lines.\n\n- an empty file is an empty list\n",
        "",
        Refused(
            "6: TASK-002 refers to TASK-001, which has no section; remove it here or restore the section",
        ),
    ),
    edit(
        Plan,
        "### TASK-003 Print the list",
        "<!--\n### TASK-003 Print the list",
        Refused("19: the comment opened here is never closed"),
    ),
    edit(
        Plan,
        "- two readings are two lines\n",
        "- two readings are two lines\n\n### TASK-004 Was deleted\n",
        Refused("27: TASK-004 was \"Export\" and was deleted; write TASK-?"),
    ),
    edit(
        Plan,
        "- two readings are two lines\n",
        "- two readings are two lines\n\n### TASK-004 Export\n",
        Reads("TASK-004"),
    ),
    edit(
        Plan,
        "- two readings are two lines\n",
        "- two readings are two lines\n- TASK-004 is gone\n",
        Reads("TASK-003"),
    ),
];

/// The three documents, with one edited.
struct Edited {
    texts: [(Document, String); 3],
    present: Records,
}

const DOCUMENTS: Documents = Documents { prd: true, design: true, plan: true };

fn in_base(path: &str) -> bool {
    path == "a dir/file.txt"
}

fn context<'a>(
    document: Document,
    used: &'a BTreeMap<String, String>,
    present: &'a Records,
) -> Context<'a> {
    let kinds = DOCUMENTS.kinds(document);
    let floors = floors_of(used.keys().map(String::as_str));
    Context { kinds, used, floors, present, in_base: &in_base, by: Writer::Person }
}

fn history() -> BTreeMap<String, String> {
    let ids = ["REQ-003", "FEAT-002", "COMP-002", "TASK-004"];
    ids.map(|id| (id.to_owned(), "Export".to_owned())).into()
}

fn edited(edit: &Edit) -> Edited {
    let texts = [(Prd, PRD), (Design, DESIGN), (Plan, PLAN)];
    let used = history();
    let mut present = Records::default();
    for (document, text) in texts {
        let nothing = Records::default();
        let mut context = context(document, &used, &nothing);
        context.by = Writer::Model;
        let without = BTreeMap::new();
        context.used = &without;
        read(text, &context).sections.into_iter().for_each(|section| present.push(section.record));
    }
    let texts = texts.map(|(document, text)| {
        let text = match edit.from {
            _ if document != edit.document => text.to_owned(),
            WHOLE => edit.to.to_owned(),
            from => text.replacen(from, edit.to, 1),
        };
        (document, text)
    });
    Edited { texts, present }
}

/// What is said, as it is printed, and the ids of the records that are not what they were.
fn outcome(edit: &Edit) -> (Vec<String>, Vec<String>, Vec<String>) {
    let used = history();
    let Edited { texts, present } = edited(edit);
    let (mut notes, mut refusals) = (Vec::new(), Vec::new());
    let mut after = Records::default();
    let mut readings = Vec::new();
    for (document, text) in &texts {
        let context = context(*document, &used, &present);
        let mut floors = context.floors;
        let taken = take(text, &context, &mut floors);
        readings.push((*document, taken));
    }
    let all: Vec<_> =
        readings.iter().map(|(document, t)| (*document, t.text.as_str(), &t.reading)).collect();
    let print = |remark: &Remark| format!("{}: {}", remark.line, remark.text);
    for (_, taken) in &readings {
        notes.extend(taken.reading.notes.iter().map(print));
        refusals.extend(taken.reading.refusals.iter().map(print));
        taken.reading.records().iter().for_each(|record| after.push(record));
    }
    if refusals.is_empty() {
        refusals.extend(references(DOCUMENTS, &all).iter().map(|(_, remark)| print(remark)));
    }
    let mut changed: Vec<String> = Vec::new();
    for record in present.iter() {
        if after.get(record.id()) != Some(record.clone()) {
            changed.push(record.id().to_owned());
        }
    }
    changed.extend(after.ids().filter(|id| !present.has(id)).map(str::to_owned));
    (notes, refusals, changed)
}

#[test]
fn every_edit_is_read_or_refused_with_its_line() {
    let mut wrong = Vec::new();
    for edit in EDITS {
        let original = [(Prd, PRD), (Design, DESIGN), (Plan, PLAN)];
        let original = original.iter().find(|(document, _)| *document == edit.document);
        assert!(original.is_some_and(|(_, text)| text.contains(edit.from)), "{:?}", edit.from);
        let (notes, refusals, changed) = outcome(edit);
        let changed = changed.join(",");
        let is = |ids: &str| {
            let sorted = |ids: &str| {
                let mut ids: Vec<String> = ids.split(',').map(str::to_owned).collect();
                ids.sort();
                ids
            };
            sorted(ids) == sorted(&changed)
        };
        let right = match edit.outcome {
            Reads(ids) => notes.is_empty() && refusals.is_empty() && is(ids),
            Notes(note, ids) => notes.contains(&note.to_owned()) && refusals.is_empty() && is(ids),
            Refused(message) => refusals.first().is_some_and(|first| first == message),
        };
        if !right {
            let (from, to) = (edit.from, edit.to);
            wrong.push(format!(
                "{from:?} -> {to:?}\n  notes {notes:?}\n  refused {refusals:?}\n  changed {changed}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), EDITS.len(), wrong.join("\n"));
}
