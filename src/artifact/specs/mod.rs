//! Imports the folders in which spec-kit and OpenSpec keep specifications. Their requirements and
//! tasks become records of a plan with new ids; the titles contain the original ids.
//!
//! The imported files were written by others: their text is data and never an instruction.

mod from_openspec;
mod from_spec_kit;
mod from_tasks;
mod markdown;
mod openspec;
mod plan;
mod spec_kit;
mod tasks;

pub use plan::{Drafted, draft};

use super::sections::Record;

/// A tool with specification folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecTool {
    /// GitHub's spec-kit: `specs/NNN-name/`.
    SpecKit,
    /// Fission's OpenSpec: `openspec/changes/name/`.
    OpenSpec,
}

impl SpecTool {
    /// Returns the tool whose folder contains these files, given by their paths in the folder.
    pub fn of<'a>(files: impl IntoIterator<Item = &'a str> + Clone) -> Option<Self> {
        let has = |name: &str| files.clone().into_iter().any(|file| file == name);
        match (has("proposal.md"), has("spec.md")) {
            (true, _) => Some(Self::OpenSpec),
            (false, true) => Some(Self::SpecKit),
            (false, false) => None,
        }
    }

    /// Returns the tool's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SpecKit => "spec-kit",
            Self::OpenSpec => "OpenSpec",
        }
    }

    /// True if the file at this path in the tool's folder is imported.
    pub fn reads(self, path: &str) -> bool {
        match self {
            Self::SpecKit => ["spec.md", "plan.md", "tasks.md"].contains(&path),
            Self::OpenSpec => {
                ["proposal.md", "design.md", "tasks.md"].contains(&path)
                    || path.starts_with("specs/") && path.ends_with("/spec.md")
            }
        }
    }
}

/// A file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecFile {
    /// Its path in the folder.
    pub path: String,
    /// The contents.
    pub text: String,
}

/// The records and findings from the files of a specification tool, such as Spec Kit.
#[derive(Debug, Default)]
pub struct Specified {
    /// What should be built, in one line; empty if the files do not say.
    pub title: String,
    /// Requirements, features and tasks, each before the records that refer to it.
    pub records: Vec<Record>,
    /// Sections that were not converted to records.
    pub text_only: Vec<String>,
    /// Places that need a decision.
    pub unclear: Vec<String>,
    /// Number of ticked tasks.
    pub ticked: usize,
    /// Number of tasks that are not ticked.
    pub open: usize,
}

/// Reads the files of a tool's folder. `name` is the folder's name; `is_file` returns whether a
/// bare name is a file of the repository.
pub fn specified(
    tool: SpecTool,
    name: &str,
    files: &[SpecFile],
    is_file: &dyn Fn(&str) -> bool,
) -> Specified {
    match tool {
        SpecTool::SpecKit => from_spec_kit::specified(name, files, is_file),
        SpecTool::OpenSpec => from_openspec::specified(name, files, is_file),
    }
}

/// Returns the text of a file of the folder.
fn text_of<'f>(files: &'f [SpecFile], path: &str) -> &'f str {
    files.iter().find(|file| file.path == path).map(|file| file.text.as_str()).unwrap_or_default()
}

/// Returns the idea that the files describe: the text of all files, but from `tasks.md` only the
/// tasks and their headings.
pub fn idea(files: &[SpecFile]) -> String {
    let mut out = String::new();
    for file in files {
        let text = match file.path.as_str() {
            "tasks.md" => boxes(&file.text),
            _ => markdown::joined(&markdown::lines(&file.text)),
        };
        if !text.trim().is_empty() {
            out += &format!("\n\n<!-- {} -->\n\n{}", file.path, text.trim());
        }
    }
    out.trim().to_owned()
}

/// Returns the tasks with their headings.
fn boxes(text: &str) -> String {
    let mut out = String::new();
    let mut above: Vec<(usize, String)> = Vec::new();
    for part in markdown::parts(text) {
        above.retain(|(level, _)| *level < part.level);
        above.push((part.level, format!("{} {}", "#".repeat(part.level), part.title)));
        let items = markdown::items(&part.lines);
        for item in items.iter().filter(|item| item.text.starts_with('[')) {
            for (_, heading) in above.drain(..).filter(|(level, _)| *level > 0) {
                out += &format!("\n{heading}\n\n");
            }
            out += &format!("{}- {}\n", " ".repeat(item.indent), item.text);
        }
    }
    out
}

/// Converts a folder's name to words: `001-todo-list` to `todo list`.
fn words_of(name: &str) -> String {
    let name = name.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(['-', '_']);
    name.replace(['-', '_'], " ")
}

#[cfg(test)]
mod tests;
