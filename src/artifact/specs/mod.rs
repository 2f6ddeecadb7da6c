//! Imports the specifications that other tools keep in files. Each kind has a table of marks
//! (`kinds`) by which its files are read as rows, and all rows become records of a plan in the same
//! way. The records have new ids; their titles contain the original ones.
//!
//! The imported files were written by others: their text is data and never an instruction.

mod backlog;
mod data;
mod kinds;
mod markdown;
mod marks;
mod paths;
mod plan;
mod read;
mod records;
mod stories;
mod task_master;
mod tasks;
mod yaml;

pub use kinds::{ALL, SpecKind};
pub use plan::{Drafted, draft};

use serde_json::{Map, Value};

use self::kinds::Role;
use self::markdown::{Form, blocks, shown, split_front_matter};
use self::marks::{Becomes, Row};
use self::read::Reading;
use super::sections::Record;

/// A file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecFile {
    /// Its path in the folder.
    pub path: String,
    /// The contents.
    pub text: String,
}

/// What a user chose of a folder with several specifications.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice<'a> {
    /// A tag of Task Master.
    pub tag: Option<&'a str>,
    /// A task of Backlog.md.
    pub task: Option<&'a str>,
}

/// Why files were not imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong, or missing.
    pub text: String,
    /// Options that would choose one of several specifications, each with its value.
    pub options: Vec<[String; 2]>,
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self { text, options: Vec::new() }
    }
}

/// What was imported from files.
#[derive(Debug, Default)]
pub struct Specified {
    /// What should be built, in one line.
    pub title: String,
    /// Words for the session's name.
    pub words: String,
    /// The text of the files; of files with tasks, only the tasks and their headings.
    pub idea: String,
    /// Requirements, features and tasks, each before the records that refer to it.
    pub records: Vec<Record>,
    /// Paths of the files that were used.
    pub read: Vec<String>,
    /// Sections that were not converted to records.
    pub text_only: Vec<String>,
    /// Places that need a decision.
    pub unclear: Vec<String>,
    /// Lines of files with tasks that are neither tasks nor text of one.
    pub lines: Vec<String>,
    /// Tasks that are not planned, by the reason: `ticked`.
    pub not_planned: Vec<(String, Vec<String>)>,
    /// Other things that a person should know.
    pub remarks: Vec<String>,
    /// Number of tasks that are planned.
    pub open: usize,
}

impl SpecKind {
    /// True if the file at this path in a folder of the kind is read. With `task`, only the files of
    /// that task are.
    pub fn reads(&self, path: &str, task: Option<&str>) -> bool {
        match self.role(path) {
            Some((_, Role::Record(_))) => task.is_none_or(|task| backlog::is_of(path, task)),
            Some(_) => true,
            None => false,
        }
    }

    /// Returns the files that a file names as parts of the specification.
    pub fn companions(&self, file: &SpecFile) -> Vec<String> {
        let fields = if file.path == "SPEC.md" { front_matter(file).ok() } else { None };
        let list = fields.as_ref().and_then(|fields| fields.get("companions")?.as_array().cloned());
        let paths = list.unwrap_or_default().into_iter();
        paths.filter_map(|path| path.as_str().map(str::to_owned)).collect()
    }

    /// Returns the option that does not apply to this kind.
    fn wrong_option(&self, choice: Choice<'_>) -> Option<&'static str> {
        let is = |name| self.name == name;
        match choice {
            Choice { tag: Some(_), .. } if !is(task_master::NAME) => Some("--tag"),
            Choice { task: Some(_), .. } if !is(backlog::NAME) => Some("--task"),
            _ => None,
        }
    }
}

/// Returns the id that a file of one record has.
///
/// # Errors
/// Its front matter cannot be read.
pub fn id_of(file: &SpecFile) -> Result<Option<String>, Refusal> {
    Ok(front_matter(file)?.get("id").and_then(Value::as_str).map(str::to_owned))
}

/// Imports the files of a folder of this kind. `name` is the folder's name; `is_file` returns
/// whether a bare name is a file of the repository.
///
/// # Errors
/// A file cannot be parsed, or a choice is missing or does not exist.
pub fn specified(
    kind: &SpecKind,
    name: &str,
    files: &[SpecFile],
    choice: Choice<'_>,
    is_file: &dyn Fn(&str) -> bool,
) -> Result<Specified, Refusal> {
    if let Some(option) = kind.wrong_option(choice) {
        let which = if option == "--tag" { task_master::NAME } else { backlog::NAME };
        let text = format!("{option} is for {which}, and these files are of {}", kind.name);
        return Err(text.into());
    }
    let mut out = Specified { words: words_of(name), ..Specified::default() };
    let mut reading = Reading::default();
    let mut sorted: Vec<(usize, Role, &SpecFile)> = files
        .iter()
        .map(|file| {
            kind.role(&file.path).map_or((0, Role::Prose, file), |(at, role)| (at, role, file))
        })
        .collect();
    sorted.sort_by_key(|(at, _, file)| (*at, &file.path));
    let tasks = match kind.name {
        task_master::NAME => Some(task_master::Tag::chosen(files, choice.tag)?),
        _ => None,
    };
    if kind.name == backlog::NAME {
        out.read = backlog::read(&mut reading, kind, &sorted, choice.task)?;
    }
    for (_, role, file) in &sorted {
        let text = match role {
            Role::Prose | Role::Requirements => {
                if tasks.as_ref().is_some_and(|tag| !tag.is_described_in(&file.path)) {
                    continue;
                }
                reading.markdown(kind, *role, file, None, "");
                shown(&file.text)
            }
            Role::Tasks => {
                reading.markdown(kind, *role, file, None, "");
                boxes(&file.text)
            }
            Role::Data => {
                let first = reading.rows.len();
                match &tasks {
                    Some(tag) => tag.read(&mut reading, kind),
                    None => stories::read_list(&mut reading, kind, file)?,
                }
                listed(reading.rows.get(first..).unwrap_or_default())
            }
            Role::Record(_) if kind.name == backlog::NAME => {
                if !out.read.contains(&file.path) {
                    continue;
                }
                shown(&file.text)
            }
            Role::Record(_) => {
                stories::read(&mut reading, kind, *role, file)?;
                shown(&file.text)
            }
            Role::Settings => String::new(),
        };
        if !out.read.contains(&file.path) {
            out.read.push(file.path.clone());
        }
        if !text.trim().is_empty() {
            out.idea += &format!("\n\n<!-- {} -->\n\n{}", file.path, text.trim());
        }
    }
    out.idea = out.idea.trim().to_owned();
    let first = reading.rows.first().map(|row| row.title.clone()).unwrap_or_default();
    let is_whole = files.len() == 1 || kind.name == backlog::NAME;
    out.title = [reading.title, if is_whole { first } else { String::new() }, out.words.clone()]
        .into_iter()
        .find(|title| !title.trim().is_empty())
        .unwrap_or_default();
    if let Some(tag) = &tasks {
        out.title = tag.title(&out.title);
        reading.remarks.extend(tag.others());
    }
    if tasks.is_some() || is_whole {
        out.words.clone_from(&out.title);
    }
    out.not_planned = not_planned(&reading.rows);
    let whole = records::Whole {
        title: &out.title,
        summary: reading.summary.trim(),
        in_pairs: reading.rows.iter().any(Row::is_task) && kind.has_tasks_only(),
        is_file,
    };
    let (records, missing) = records::records(reading.rows, &whole);
    out.open = records.iter().filter(|record| matches!(record, Record::Task(_))).count();
    if out.open == 0
        && let Some(tag) = &tasks
    {
        return Err(tag.without_tasks());
    }
    out.records = records;
    out.remarks = reading.remarks;
    out.remarks.extend(missing);
    (out.text_only, out.unclear, out.lines) = (reading.text_only, reading.unclear, reading.lines);
    Ok(out)
}

/// Returns the tasks that are not planned, by the reason. Tasks below one of them are not counted.
fn not_planned(rows: &[Row]) -> Vec<(String, Vec<String>)> {
    let mut out: Vec<(String, Vec<String>)> = Vec::new();
    let mut above = usize::MAX;
    for row in rows.iter().filter(|row| row.is_task()) {
        if row.level > above {
            continue;
        }
        above = if row.left_out.is_some() { row.level } else { usize::MAX };
        let Some(why) = &row.left_out else { continue };
        let name =
            if row.key.is_empty() { markdown::short(&row.title, 40) } else { row.key.clone() };
        match out.iter_mut().find(|(one, _)| one == why) {
            Some((_, names)) => names.push(name),
            None => out.push((why.clone(), vec![name])),
        }
    }
    out
}

/// Returns the tasks of a file with their headings.
fn boxes(text: &str) -> String {
    let mut out = String::new();
    let mut above: Vec<(usize, String)> = Vec::new();
    for block in blocks(text) {
        match block.form {
            Form::Heading(level) => {
                above.retain(|(own, _)| *own < level);
                above.push((level, format!("{} {}", "#".repeat(level), block.text)));
            }
            Form::Box => {
                for (_, heading) in above.drain(..) {
                    out += &format!("\n{heading}\n\n");
                }
                out += &format!("{}- {}\n", " ".repeat(block.indent), block.text);
            }
            _ => {}
        }
    }
    out
}

/// Returns rows as a list of tasks.
fn listed(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows.iter().filter(|row| row.becomes == Becomes::Task) {
        let indent = "  ".repeat(row.level.saturating_sub(1));
        let why = row.left_out.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        out += &format!("{indent}- {} {}{why}\n", row.key, row.title);
        for line in row.text.lines().filter(|line| !line.trim().is_empty()) {
            out += &format!("{indent}  {line}\n");
        }
    }
    out
}

/// Reads the front matter of a file; empty if it has none.
fn front_matter(file: &SpecFile) -> Result<Map<String, Value>, Refusal> {
    let Some((text, _)) = split_front_matter(&file.text) else { return Ok(Map::new()) };
    match yaml::read(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Ok(Map::new()),
        Err(why) => Err(format!("the front matter of {} cannot be read: {why}", file.path).into()),
    }
}

/// Converts a folder's name to words: `001-todo-list` to `todo list`.
fn words_of(name: &str) -> String {
    let name = name.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(['-', '_']);
    name.replace(['-', '_'], " ").trim().to_owned()
}

#[cfg(test)]
mod tests;
