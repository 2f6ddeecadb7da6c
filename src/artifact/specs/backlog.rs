//! The tasks of Backlog.md: a file each, of which one with its sub-tasks is imported.

use serde_json::{Map, Value};

use super::kinds::{Role, SpecKind};
use super::marks::{Becomes, Row};
use super::read::Reading;
use super::{Refusal, SpecFile, front_matter, yaml};

/// The tool's name.
pub(super) const NAME: &str = "Backlog.md";
/// Maximum number of tasks that a refusal lists.
const LISTED: usize = 12;

/// A file with its front matter.
struct Entry<'a> {
    id: String,
    fields: Map<String, Value>,
    file: &'a SpecFile,
    role: Role,
}

impl Entry<'_> {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// True if a file is that of a task or of a sub-task of it, by its name: `task-1.2 - NAME.md`.
pub(super) fn is_of(path: &str, task: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let id = name.split(" - ").next().unwrap_or_default().trim_end_matches(".md");
    let (id, task) = (number(id), number(task));
    id == task || id.strip_prefix(task).is_some_and(|rest| rest.starts_with('.'))
}

/// Returns an id without its prefix, which projects choose: `1.2` of `task-1.2`.
fn number(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(_, number)| number)
}

/// Reads a task and its sub-tasks, and returns the paths of their files.
pub(super) fn read(
    reading: &mut Reading,
    kind: &SpecKind,
    files: &[(usize, Role, &SpecFile)],
    asked: Option<&str>,
) -> Result<Vec<String>, Refusal> {
    let (mut entries, mut done) = (Vec::new(), "Done".to_owned());
    for (_, role, file) in files {
        match role {
            Role::Settings => {
                let settings = yaml::read(&file.text)
                    .map_err(|why| format!("{} cannot be read: {why}", file.path))?;
                let last =
                    settings.get("statuses").and_then(|all| all.as_array()?.last()?.as_str());
                done = last.map_or(done, str::to_owned);
            }
            Role::Record(_) => {
                let fields = front_matter(file)?;
                let id = fields.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
                if id.is_empty() {
                    return Err(format!("{} has no id in its front matter", file.path).into());
                }
                entries.push(Entry { id, fields, file, role: *role });
            }
            _ => {}
        }
    }
    let is_open = |entry: &&Entry<'_>| !entry.field("status").eq_ignore_ascii_case(&done);
    let open: Vec<&Entry<'_>> = entries.iter().filter(is_open).collect();
    let options = || {
        let top = open.iter().filter(|one| one.field("parent_task_id").is_empty());
        top.map(|one| ["--task".to_owned(), one.id.clone()]).collect()
    };
    let names = |all: &[&Entry<'_>]| {
        let each =
            all.iter().take(LISTED).map(|one| format!("{} ({})", one.id, one.field("title")));
        each.collect::<Vec<_>>().join(", ")
    };
    let Some(asked) = asked else {
        let text = format!("it has {} open tasks: {}", open.len(), names(&open));
        return Err(Refusal { text, options: options() });
    };
    let is_asked = |one: &&Entry<'_>| {
        one.id.eq_ignore_ascii_case(asked) || !asked.contains('-') && number(&one.id) == asked
    };
    let Some(entry) = entries.iter().find(is_asked) else {
        return Err(Refusal { text: format!("there is no task {asked}"), options: options() });
    };
    if !is_open(&entry) {
        let text = format!("{} is finished: its status is {}", entry.id, entry.field("status"));
        return Err(text.into());
    }
    let mut read = Vec::new();
    add(reading, kind, &entries, entry, &done, 1, &mut read);
    Ok(read)
}

/// Adds the rows of a task: its requirement, and its plan or itself as tasks; with sub-tasks, they
/// and the plan are below the task.
fn add(
    reading: &mut Reading,
    kind: &SpecKind,
    all: &[Entry<'_>],
    entry: &Entry<'_>,
    done: &str,
    level: usize,
    read: &mut Vec<String>,
) {
    if read.contains(&entry.file.path) {
        return;
    }
    read.push(entry.file.path.clone());
    let first = reading.rows.len();
    reading.markdown(kind, entry.role, entry.file, Some(&entry.fields), done);
    let own = reading.rows.split_off(first);
    let (mut plan, rest): (Vec<Row>, Vec<Row>) = own.into_iter().partition(Row::is_task);
    reading.rows.extend(rest);
    let Some(row) = reading.rows.get(first).cloned() else { return };
    let is_part = |one: &&Entry<'_>| one.field("parent_task_id").eq_ignore_ascii_case(&entry.id);
    let mut parts: Vec<&Entry<'_>> = all.iter().filter(is_part).collect();
    let order = |id: &str| {
        number(id).split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>()
    };
    parts.sort_by_key(|one| order(&one.id));
    let left_out = row.left_out.clone();
    plan.iter_mut().for_each(|one| one.left_out = left_out.clone().or(one.left_out.take()));
    if level == 1 && parts.is_empty() && !plan.is_empty() {
        if let Some(first) = plan.first_mut() {
            first.files.extend(row.files);
            first.needs.extend(row.needs);
        }
    } else {
        plan.iter_mut().for_each(|one| one.level = level + 1);
        let whole = Row {
            becomes: Becomes::Task,
            level,
            naming: row.text.clone(),
            serves: vec![row.key.clone()],
            tests: Vec::new(),
            ..row
        };
        plan.insert(0, whole);
    }
    reading.rows.extend(plan);
    for part in parts {
        add(reading, kind, all, part, done, level + 1, read);
    }
}
