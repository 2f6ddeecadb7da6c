//! Edits of components and tasks.

use super::*;

pub(super) const EDITS: &[Edit] = &[
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
        Refused("18: 'clap 4' is not a feature id (such as FEAT-001)"),
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
        Notes("21: 'completed' is ignored: status comes from the commits", ""),
    ),
    edit(Plan, "`src/main.rs`", "`cargo test`", Refused("21: 'cargo test' is not a path")),
    edit(
        Plan,
        "`src/main.rs`",
        "`python tools/gen.py`",
        Refused("21: 'python tools/gen.py' is not a path"),
    ),
    edit(Plan, "`src/main.rs`", "`a dir/file.txt`", Reads("TASK-003")),
    edit(Plan, "`src/main.rs`", "`Not there yet.md`", Reads("TASK-003")),
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
        Refused("27: TASK-004 was \"Export\" and was deleted; write TASK-? for a new number"),
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
