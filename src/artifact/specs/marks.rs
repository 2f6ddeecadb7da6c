//! The rows that the files of all kinds are read as, and the marks that say what a place in a file
//! means.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use regex::Regex;

use super::markdown::Form;
use crate::artifact::{Category, Priority};

/// Marker of a place that needs a decision.
pub(super) const UNCLEAR: &str = "[NEEDS CLARIFICATION";

/// What a row becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Becomes {
    /// A feature, with the requirements below it.
    Feature,
    #[default]
    Requirement,
    /// A criterion of the requirement above it.
    Criterion,
    /// A heading over tasks; a task if several are below it.
    Group,
    Task,
}

/// A part of a specification.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub becomes: Becomes,
    /// For a task: 1, or more below another task.
    pub level: usize,
    /// Its id in the file: `FR-001`, `T012`, `1.3`; empty if it has none.
    pub key: String,
    /// The form of its title: `{key} {title}`.
    pub form: &'static str,
    /// The folder of the file that it is from.
    pub folder: String,
    /// Key of the feature that a requirement belongs to, or of the task that a record is below.
    pub within: String,
    pub title: String,
    pub text: String,
    /// Fields of a record that are text below its own.
    pub notes: Vec<String>,
    /// The texts in which the files of a task are named.
    pub naming: String,
    /// Files that are listed as such.
    pub files: Vec<String>,
    pub priority: Option<Priority>,
    pub category: Category,
    /// A requirement that has a feature of its own.
    pub is_story: bool,
    /// A requirement that the change removes.
    pub is_removal: bool,
    /// Keys of the requirements that it is for, or of the criteria of them.
    pub serves: Vec<String>,
    /// Keys of the tasks that come before it.
    pub needs: Vec<String>,
    /// How to see that a task is done.
    pub tests: Vec<String>,
    /// Why it is not planned: `ticked`, `optional`.
    pub left_out: Option<String>,
}

impl Row {
    /// True for a row that criteria can belong to.
    pub(super) fn is_requirement(&self) -> bool {
        self.becomes == Becomes::Requirement
    }

    pub(super) fn is_task(&self) -> bool {
        self.becomes == Becomes::Task
    }

    /// Adds a text below the others.
    pub(super) fn add(&mut self, between: &str, text: &str) {
        if !self.text.is_empty() {
            self.text += between;
        }
        self.text += text;
    }
}

/// Where a mark is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    Heading,
    Item,
    Box,
    Label,
    Text,
    Cells,
    /// A field of an object in JSON or YAML.
    Field,
    /// A part of any block of a task.
    Part,
}

impl On {
    pub(super) fn is(self, form: Form) -> bool {
        match form {
            Form::Heading(_) => self == Self::Heading,
            Form::Box => self == Self::Box,
            Form::Item => self == Self::Item,
            Form::Label => self == Self::Label,
            Form::Cells => self == Self::Cells,
            Form::Text => self == Self::Text,
            Form::Code | Form::Begin | Form::End => false,
        }
    }
}

/// What a place in a file means. Titles are made from the form given with it, in which `{key}`,
/// `{title}` and `{folder}` are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// The title of the whole.
    Title,
    /// A summary of the whole: the text below.
    Summary,
    /// A feature, with the requirements below it.
    Feature(&'static str),
    /// A requirement with a feature of its own.
    Story(&'static str),
    Requirement(&'static str),
    /// A non-functional requirement.
    Quality(&'static str),
    /// A requirement that is removed.
    Removal(&'static str),
    /// A criterion of the requirement or task above.
    Criterion,
    /// The rest of the criterion above.
    More,
    Task,
    /// Says for what a group of tasks is.
    Goal,
    /// How to see that a task is done.
    Test,
    /// Files to change.
    Files,
    /// Text that names files to read.
    Reads,
    /// Requirements that a task is for, or the other way round.
    Serves,
    /// Tasks that come before.
    Needs,
    /// A name of a row, and what it is for: `FR1: Epic 1`.
    Covers,
    /// Text of the idea and of no record.
    Idea,
    /// A question to be answered.
    Question,
    /// A command, which is named and never run from there.
    Command,
    /// A stop for a person.
    Gate,
    /// Not planned, for this reason.
    LeftOut(&'static str),
    /// A field with the id.
    Key,
    /// A field with text.
    Body,
    /// A field with text behind its name: `Labels: cli`.
    Named,
    Priority,
    /// A field with the state; tasks in one of these are left out.
    State(&'static [&'static str]),
    /// A field with the sub-tasks.
    Parts,
}

/// A mark in the files of a kind.
#[derive(Debug)]
pub(super) struct Mark {
    /// Pattern of the files' paths.
    file: &'static str,
    on: On,
    /// Pattern of a heading, label or marked section above.
    below: &'static str,
    /// Pattern of the text.
    text: &'static str,
    means: Means,
}

/// Returns a mark that is looked for anywhere in a file.
pub(super) const fn mark(file: &'static str, on: On, text: &'static str, means: Means) -> Mark {
    Mark { file, on, below: "", text, means }
}

impl Mark {
    /// Limits the mark to places below a heading, label or marked section.
    pub(super) const fn below(self, below: &'static str) -> Self {
        Self { below, ..self }
    }
}

/// A mark of which the patterns are compiled.
pub(super) struct Pattern {
    pub on: On,
    pub below: Option<Regex>,
    pub text: Regex,
    pub means: Means,
}

/// Returns an empty row of what a mark means.
pub(super) fn row_of(means: Means) -> Row {
    match means {
        Means::Feature(_) => Row { becomes: Becomes::Feature, ..Row::default() },
        Means::Story(_) => Row { is_story: true, ..Row::default() },
        Means::Quality(_) => Row { category: Category::NonFunctional, ..Row::default() },
        Means::Removal(_) => Row { is_removal: true, ..Row::default() },
        Means::Task => Row { becomes: Becomes::Task, level: 1, ..Row::default() },
        _ => Row::default(),
    }
}

/// Returns the key in the way in which the title has it: `US1` for the story with the number 1.
pub(super) fn key_of(form: &str, key: &str, is_story: bool) -> String {
    let word = form.split(' ').find(|word| word.contains("{key}"));
    match word {
        Some(word) => word.replace("{key}", key).trim_matches([':', ',']).to_owned(),
        None if is_story => form.split(' ').next().unwrap_or_default().to_owned(),
        None => key.to_owned(),
    }
}

/// Returns the marks that apply to a file.
pub(super) fn patterns(marks: &[Mark], file: &str) -> Vec<Pattern> {
    let applies = |mark: &&Mark| compiled(mark.file).is_some_and(|own| own.is_match(file));
    let pattern = |mark: &Mark| {
        let below = (!mark.below.is_empty()).then(|| compiled(mark.below));
        let (text, below) = (compiled(mark.text)?, below.flatten());
        Some(Pattern { on: mark.on, below, text, means: mark.means })
    };
    marks.iter().filter(applies).filter_map(pattern).collect()
}

/// Returns a pattern of a table, which is compiled once: a folder may have very many files.
pub(super) fn compiled(pattern: &'static str) -> Option<Regex> {
    static ALL: Mutex<BTreeMap<&'static str, Option<Regex>>> = Mutex::new(BTreeMap::new());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.entry(pattern).or_insert_with(|| Regex::new(pattern).ok()).clone()
}

/// Returns the patterns that cannot be read.
#[cfg(test)]
pub(super) fn unreadable(marks: &[Mark]) -> Vec<&'static str> {
    let all = marks.iter().flat_map(|mark| [mark.file, mark.below, mark.text]);
    all.filter(|pattern| Regex::new(pattern).is_err()).collect()
}

/// Returns the priority of a sentence, by the keywords of RFC 2119.
pub(super) fn priority_of(text: &str) -> Priority {
    let has = |words: &[&str]| {
        text.split(|c: char| !c.is_ascii_alphabetic()).any(|word| words.contains(&word))
    };
    if has(&["MUST", "SHALL", "REQUIRED"]) {
        Priority::High
    } else if has(&["MAY", "COULD", "OPTIONAL"]) {
        Priority::Low
    } else {
        Priority::Medium
    }
}

/// Reads a priority: `P1`, `high`.
pub(super) fn priority_named(text: &str) -> Option<Priority> {
    match text.trim().to_ascii_lowercase().as_str() {
        "p0" | "p1" | "high" | "critical" => Some(Priority::High),
        "p2" | "medium" => Some(Priority::Medium),
        "" => None,
        "low" => Some(Priority::Low),
        text if text.starts_with('p') && text.len() == 2 => Some(Priority::Low),
        _ => None,
    }
}
