//! The files in which a project says how to work: for people at the top, for coding agents in each
//! folder from the top down to the files at hand.

use std::collections::BTreeSet;

use crate::pipeline::run::Run;

/// Where a folder's instructions for agents may be: the first of these that has text counts.
const FOR_AGENTS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
/// The places at the top.
const AT_TOP: [&str; 4] =
    ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"];
/// What people are told.
const FOR_PEOPLE: &str = "CONTRIBUTING.md";

/// Maximum bytes of what agents are told.
const ALL_FOR_AGENTS: usize = 8_000;
/// Maximum bytes of what people are told.
const ALL_FOR_PEOPLE: usize = 4_000;
/// Maximum bytes that are read of one file.
const LARGEST: usize = 64 << 10;

/// A file that says how to work.
pub(crate) struct Instructions {
    /// Its path.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
    /// How many bytes of the text are told.
    pub(crate) room: usize,
    /// True if it is in a folder of the project, and so only about the files there.
    pub(crate) of_folder: bool,
}

/// What is said of the work on these files, from the top to the nearest. If it is too much, the
/// nearest is told first.
pub(crate) fn instructions<'p>(
    run: &Run<'_>,
    paths: impl IntoIterator<Item = &'p str>,
) -> Vec<Instructions> {
    let mut folders = BTreeSet::new();
    for path in paths {
        let ends = path.match_indices('/').enumerate();
        folders.extend(ends.map(|(depth, (end, _))| (depth, &path[..end])));
    }
    let mut all: Vec<Instructions> = Vec::new();
    all.extend(first_of(run, AT_TOP.map(str::to_owned), false));
    all.extend(first_of(run, [FOR_PEOPLE.to_owned()], false));
    all.extend(folders.into_iter().filter_map(|(_, folder)| {
        first_of(run, FOR_AGENTS.map(|name| format!("{folder}/{name}")), true)
    }));
    let mut room = ALL_FOR_AGENTS;
    for one in all.iter_mut().rev() {
        if one.path == FOR_PEOPLE {
            one.room = ALL_FOR_PEOPLE;
        } else {
            one.room = one.text.len().min(room);
            room -= one.room;
        }
    }
    all
}

/// The first of these files that has text.
fn first_of(
    run: &Run<'_>,
    paths: impl IntoIterator<Item = String>,
    of_folder: bool,
) -> Option<Instructions> {
    paths.into_iter().find_map(|path| {
        let text = run.env.workspace.head(&path, LARGEST).trim_end().to_owned();
        (!text.is_empty()).then_some(Instructions { path, text, room: 0, of_folder })
    })
}
