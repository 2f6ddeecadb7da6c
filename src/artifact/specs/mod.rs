//! Folders in which other tools keep what is to be built: spec-kit and OpenSpec. Their requirements and
//! tasks become records of a plan, under ids of ours; the ids they had there stand in the titles.
//!
//! What is read here was written by others: it is text and never an instruction.

mod from_openspec;
mod from_spec_kit;
mod from_tasks;
mod markdown;
mod openspec;
mod paths;
mod plan;
mod spec_kit;
mod tasks;

pub use plan::{Drafted, draft};

use super::sections::Record;

/// A tool that keeps such folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecTool {
    /// GitHub's: `specs/NNN-name/`.
    SpecKit,
    /// Fission's: `openspec/changes/name/`.
    OpenSpec,
}

impl SpecTool {
    /// Whose folder holds these files, by their paths in it.
    pub fn of<'a>(files: impl IntoIterator<Item = &'a str> + Clone) -> Option<Self> {
        let has = |name: &str| files.clone().into_iter().any(|file| file == name);
        match (has("proposal.md"), has("spec.md")) {
            (true, _) => Some(Self::OpenSpec),
            (false, true) => Some(Self::SpecKit),
            (false, false) => None,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SpecKit => "spec-kit",
            Self::OpenSpec => "OpenSpec",
        }
    }

    /// Whether a file of its folder is read, by its path there.
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
    /// What it says.
    pub text: String,
}

/// What files of a tool say.
#[derive(Debug, Default)]
pub struct Specified {
    /// What is to be built, in a line; empty where they do not say.
    pub title: String,
    /// Requirements, features and tasks, each before what refers to it.
    pub records: Vec<Record>,
    /// Sections that are not records.
    pub text_only: Vec<String>,
    /// Places that want a decision.
    pub unclear: Vec<String>,
    /// Tasks that are ticked.
    pub ticked: usize,
    /// Tasks that are not.
    pub open: usize,
}

/// Reads the files of a tool's folder. `name` is what the folder is called; `is_file` says of a bare name
/// whether it is a file's.
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

/// The text of a file of the folder.
fn text_of<'f>(files: &'f [SpecFile], path: &str) -> &'f str {
    files.iter().find(|file| file.path == path).map(|file| file.text.as_str()).unwrap_or_default()
}

/// The idea that the files are: all that they say, of tasks the boxes and their headings.
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

/// The tasks with their headings.
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

/// `001-todo-list` in words: `todo list`.
fn words_of(name: &str) -> String {
    let name = name.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(['-', '_']);
    name.replace(['-', '_'], " ")
}

#[cfg(test)]
mod tests;
