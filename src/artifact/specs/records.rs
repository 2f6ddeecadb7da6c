//! Makes the records of a plan from rows: requirements with their criteria, features, and tasks
//! with the requirements, files and dependencies that they name.

use std::collections::{BTreeMap, BTreeSet};

use super::markdown::{plain, short};
use super::marks::{Becomes, Row, UNCLEAR, priority_of};
use super::paths::named_paths;
use crate::artifact::sections::Record;
use crate::artifact::{Feature, IdKind, Requirement, Task};

/// Maximum number of characters of a title of a requirement or feature.
const TITLE: usize = 80;
/// Maximum number of characters of a title of a task.
const TASK_TITLE: usize = 100;
/// Maximum number of levels of tasks.
const LEVELS: usize = 3;

/// What the records are made from, besides the rows.
pub(super) struct Whole<'a> {
    /// What is built.
    pub title: &'a str,
    /// A description of it; may be empty.
    pub summary: &'a str,
    /// True if each task is a requirement, too, unless the files have requirements.
    pub in_pairs: bool,
    /// Returns whether a bare name is a file of the repository.
    pub is_file: &'a dyn Fn(&str) -> bool,
}

/// Returns the records, each before those that refer to it except for tasks that depend on later
/// ones, and the dependencies that are not among the rows.
pub(super) fn records(mut rows: Vec<Row>, whole: &Whole<'_>) -> (Vec<Record>, Vec<String>) {
    if whole.in_pairs {
        rows = with_requirements(rows);
    }
    let mut making =
        Making { whole, requirements: Vec::new(), keys: Vec::new(), criteria: BTreeMap::new() };
    making.requirements(&rows);
    let tasks = tree(&rows);
    let features = making.features(&rows, &tasks);
    let (tasks, missing) = making.tasks(&rows, &tasks, &features);
    let all = making.requirements.into_iter().map(Record::Requirement);
    let all = all.chain(features.into_iter().map(|(_, feature)| Record::Feature(feature)));
    (all.chain(tasks.into_iter().map(Record::Task)).collect(), missing)
}

/// Gives each task a requirement of its own, if there are no requirements.
fn with_requirements(rows: Vec<Row>) -> Vec<Row> {
    if rows.iter().any(Row::is_requirement) {
        return rows;
    }
    let mut out = Vec::new();
    for mut row in rows {
        if row.is_task() && row.level == 1 && row.left_out.is_none() {
            let criterion = |test: &String| Row {
                becomes: Becomes::Criterion,
                text: test.clone(),
                ..Row::default()
            };
            let (text, title, priority) = (row.text.clone(), row.title.clone(), row.priority);
            let key = if row.key.is_empty() { title.clone() } else { row.key.clone() };
            row.serves = vec![key.clone()];
            out.push(Row { key, form: "{title}", title, text, priority, ..Row::default() });
            out.extend(row.tests.iter().map(criterion));
        }
        out.push(row);
    }
    out
}

/// A task with those below it, by the indices of their rows.
struct Node {
    row: usize,
    parts: Vec<Self>,
}

impl Node {
    fn all<'r>(&self, rows: &'r [Row]) -> Vec<&'r Row> {
        let parts = self.parts.iter().flat_map(|part| part.all(rows));
        rows.get(self.row).into_iter().chain(parts).collect()
    }
}

/// Returns the tasks that are planned. A task that is done stays if one below it is open; those
/// below a task that is left out for another reason are left out, too.
fn tree(rows: &[Row]) -> Vec<Node> {
    let mut top: Vec<Node> = Vec::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.is_task()) {
        let mut list = &mut top;
        for _ in 1..row.level {
            if list.is_empty() {
                break;
            }
            let last = list.len() - 1;
            list = &mut list[last].parts;
        }
        list.push(Node { row: at, parts: Vec::new() });
    }
    open(top, rows)
}

fn open(nodes: Vec<Node>, rows: &[Row]) -> Vec<Node> {
    let state = |node: &Node| rows.get(node.row).and_then(|row| row.left_out.as_deref());
    let mut out = Vec::new();
    for node in nodes {
        let why = state(&node).map(str::to_owned);
        let parts = open(node.parts, rows);
        if why.is_none() || why.as_deref() == Some("ticked") && !parts.is_empty() {
            out.push(Node { row: node.row, parts });
        }
    }
    out
}

/// The records made so far.
struct Making<'a> {
    whole: &'a Whole<'a>,
    requirements: Vec<Requirement>,
    /// The keys of the requirements, with their ids.
    keys: Vec<(String, String)>,
    /// The criteria by their keys, each with the key of its requirement.
    criteria: BTreeMap<String, String>,
}

impl Making<'_> {
    fn requirements(&mut self, rows: &[Row]) {
        for (at, row) in rows.iter().enumerate() {
            if !row.is_requirement() || row.left_out.is_some() {
                continue;
            }
            let next = rows.iter().skip(at + 1).take_while(|one| !one.is_requirement());
            let criteria = next.filter(|one| one.becomes == Becomes::Criterion);
            let criteria: Vec<&Row> = criteria.collect();
            if row.text.is_empty() && criteria.is_empty() && !row.form.contains("{title}") {
                continue;
            }
            let id = IdKind::Requirement.format(number(self.requirements.len()));
            self.keys.push((row.key.clone(), id.clone()));
            let cited = criteria.iter().filter(|one| !one.key.is_empty());
            self.criteria.extend(cited.map(|one| (one.key.clone(), one.text.clone())));
            let title = self.title(row);
            let statement = plain(&row.text);
            let name = if row.title.is_empty() { &title } else { &row.title };
            let said = if statement.is_empty() { format!("{name}.") } else { row.text.clone() };
            let mut description = said.clone();
            let stated = match (&criteria[..], row.is_removal) {
                ([], true) => vec![format!("'{}' no longer applies", row.title)],
                ([], false) => {
                    if row.title.is_empty() && !row.key.is_empty() && !said.contains(UNCLEAR) {
                        description = format!("{} of the specification.", row.key);
                    }
                    vec![plain(said.split("\n\n").next().unwrap_or_default())]
                }
                (all, _) => all.iter().map(|one| one.text.clone()).collect(),
            };
            // A place that needs a decision is a question, and nothing that can be checked.
            let stated = stated.into_iter().filter(|text| !text.contains(UNCLEAR));
            self.requirements.push(Requirement {
                id,
                title,
                priority: row.priority.unwrap_or_else(|| priority_of(&said)),
                description,
                category: row.category,
                acceptance_criteria: stated.map(Into::into).collect(),
                ..Requirement::default()
            });
        }
    }

    /// Returns the title of a requirement or feature, in the form that its mark gives.
    fn title(&self, row: &Row) -> String {
        let title = match (&*row.title, &*row.text) {
            ("", "") => self.whole.title.to_owned(),
            ("", text) => wanted(text),
            (title, _) => title.to_owned(),
        };
        let form = if row.folder.is_empty() {
            row.form.replace("{folder}: ", "")
        } else {
            row.form.to_owned()
        };
        let filled = form
            .replace("US{key}", "{key}")
            .replace("{key}", &row.key)
            .replace("{folder}", &row.folder);
        short(&filled.replace("{title}", &title), TITLE)
    }

    /// Returns the features with their keys; that of the shared one is empty.
    fn features(&self, rows: &[Row], tasks: &[Node]) -> Vec<(String, Feature)> {
        let serves = |key: &String| {
            tasks.iter().any(|task| task.all(rows).iter().any(|row| row.serves.contains(key)))
        };
        let mut out: Vec<(String, Feature)> = Vec::new();
        let is_feature = |row: &&Row| row.is_story || row.becomes == Becomes::Feature;
        for row in rows.iter().filter(is_feature) {
            // A feature needs tasks that work on it.
            if !tasks.is_empty() && !serves(&row.key) {
                continue;
            }
            let name = self.title(row);
            let description = match row.becomes {
                Becomes::Feature if !row.text.is_empty() => row.text.clone(),
                Becomes::Feature => format!("{name}."),
                _ => format!("{} of the specification.", row.key),
            };
            out.push((row.key.clone(), Feature { name, description, ..Feature::default() }));
        }
        let mut loose = Vec::new();
        for (key, id) in &self.keys {
            let row = rows.iter().find(|row| row.is_requirement() && row.key == *key);
            let own = row.map_or("", |row| if row.is_story { key } else { &row.within });
            match out.iter_mut().find(|(one, _)| one == own && !own.is_empty()) {
                Some((_, feature)) => feature.requirement_ids.push(id.clone()),
                None => loose.push(id.clone()),
            }
        }
        let is_of_one = |task: &Node| feature_of(&out, &task.all(rows)).is_some();
        if out.is_empty() || !tasks.iter().all(is_of_one) {
            if loose.is_empty() {
                loose.extend(self.keys.iter().map(|(_, id)| id.clone()));
            }
            let name = match out.is_empty() {
                true => self.whole.title.to_owned(),
                false => format!("{}: what the stories share", self.whole.title),
            };
            let description = match self.whole.summary.trim() {
                "" => format!("{name}."),
                summary => summary.to_owned(),
            };
            let name = short(&name, TITLE);
            let shared =
                Feature { name, description, requirement_ids: loose, ..Feature::default() };
            out.push((String::new(), shared));
        } else {
            // Without a shared feature, the other requirements belong to every feature.
            out.iter_mut().for_each(|(_, one)| one.requirement_ids.extend(loose.iter().cloned()));
        }
        for (at, (_, feature)) in out.iter_mut().enumerate() {
            feature.id = IdKind::Feature.format(number(at));
        }
        out
    }

    fn tasks(
        &self,
        rows: &[Row],
        tasks: &[Node],
        features: &[(String, Feature)],
    ) -> (Vec<Task>, Vec<String>) {
        let mut ids = BTreeMap::new();
        for (at, task) in tasks.iter().enumerate() {
            number_all(rows, task, &IdKind::Task.format(number(at)), &mut ids);
        }
        let mut making =
            MakingTasks { of: self, rows, features, ids, out: Vec::new(), missing: Vec::new() };
        for (at, task) in tasks.iter().enumerate() {
            making.add(task, IdKind::Task.format(number(at)), "", 1);
        }
        (making.out, making.missing)
    }

    /// Returns the ids of the requirements that rows name.
    fn served(&self, rows: &[&Row]) -> Vec<String> {
        let is_named = |key: &String| {
            rows.iter().any(|row| {
                let by_key = row.serves.iter().any(|served| {
                    let is_criterion = self.criteria.contains_key(served);
                    let of = served.rsplit_once('.').map(|(of, _)| of).filter(|_| is_criterion);
                    served.eq_ignore_ascii_case("all")
                        || !key.is_empty() && (served == key || of == Some(key))
                });
                by_key || mentions(&row.naming, key)
            })
        };
        let named = self.keys.iter().filter(|(key, _)| is_named(key));
        named.map(|(_, id)| id.clone()).collect()
    }
}

/// The tasks made so far.
struct MakingTasks<'a> {
    of: &'a Making<'a>,
    rows: &'a [Row],
    features: &'a [(String, Feature)],
    ids: BTreeMap<String, String>,
    out: Vec<Task>,
    missing: Vec<String>,
}

impl MakingTasks<'_> {
    fn add(&mut self, node: &Node, id: String, feature: &str, level: usize) {
        let Some(row) = self.rows.get(node.row) else { return };
        let all = node.all(self.rows);
        let own = feature_of(self.features, &all).unwrap_or_else(|| {
            let shared = self.features.iter().find(|(key, _)| key.is_empty());
            let inherited = Some(feature).filter(|id| !id.is_empty());
            let any = || shared.or_else(|| self.features.first()).map(|(_, one)| one.id.as_str());
            inherited.or_else(any).unwrap_or_default()
        });
        let own = own.to_owned();
        let mut description = match &*row.text {
            "" => format!("{}.", row.title),
            text => text.to_owned(),
        };
        if level == LEVELS {
            for part in all.iter().skip(1) {
                description += &format!("; {} {}", part.key, part.text);
            }
        }
        let mut files = row.files.clone();
        let naming =
            if level == LEVELS { all.as_slice() } else { all.get(..1).unwrap_or_default() };
        for row in naming {
            for path in named_paths(&row.naming, self.of.whole.is_file) {
                if !files.contains(&path) {
                    files.push(path);
                }
            }
        }
        let named = format!("{} {}", row.key, plain(&row.title));
        let dependencies = self.dependencies(row, &id);
        self.out.push(Task {
            title: short(named.trim(), TASK_TITLE),
            description,
            feature_id: own.clone(),
            requirement_ids: if level == 1 { self.of.served(&all) } else { Vec::new() },
            dependencies,
            files_to_create: files,
            acceptance_criteria: self.criteria(row, node, level),
            id: id.clone(),
            ..Task::default()
        });
        if level < LEVELS {
            for (at, part) in node.parts.iter().enumerate() {
                self.add(part, format!("{id}.{}", at + 1), &own, level + 1);
            }
        }
    }

    /// Returns how to see that a task is done: what its files say, with the criteria that it names.
    fn criteria(&self, row: &Row, node: &Node, level: usize) -> Vec<String> {
        let cited = row.serves.iter().filter_map(|key| self.of.criteria.get(key)).cloned();
        let said: Vec<String> = row.tests.iter().cloned().chain(cited).collect();
        let said: Vec<String> = said.into_iter().filter(|text| !text.contains(UNCLEAR)).collect();
        if !said.is_empty() || level > 1 {
            return said;
        }
        let rows = node.parts.iter().filter_map(|part| self.rows.get(part.row));
        let keys: Vec<&str> =
            rows.map(|row| row.key.as_str()).filter(|key| !key.is_empty()).collect();
        let done = match (&node.parts[..], keys.first(), keys.last()) {
            ([], ..) => plain(&row.title),
            (_, Some(first), Some(last)) if first != last => {
                format!("{first} to {last} are done as described")
            }
            _ => "its parts are done as described".to_owned(),
        };
        vec![done]
    }

    fn dependencies(&mut self, row: &Row, id: &str) -> Vec<String> {
        let mut out = Vec::new();
        for need in &row.needs {
            match self.ids.get(&need.to_ascii_lowercase()) {
                // The task itself, or one that it is a part of.
                Some(on) if id == on || id.starts_with(&format!("{on}.")) => {}
                Some(on) if !out.contains(on) => out.push(on.clone()),
                Some(_) => {}
                None => {
                    let there = self.rows.iter().find(|one| one.key.eq_ignore_ascii_case(need));
                    let why = there.map(|one| one.left_out.as_deref().unwrap_or("not a task"));
                    let why = why.unwrap_or("not among the tasks");
                    if !["ticked", "done", "completed"].contains(&why) {
                        self.missing.push(format!("{} needs {need}, which is {why}", row.key));
                    }
                }
            }
        }
        out
    }
}

/// Notes the id of each task by its key; that of the first one if keys repeat.
fn number_all(rows: &[Row], node: &Node, id: &str, ids: &mut BTreeMap<String, String>) {
    let key = rows.get(node.row).map(|row| row.key.to_ascii_lowercase()).unwrap_or_default();
    if !key.is_empty() {
        ids.entry(key).or_insert_with(|| id.to_owned());
    }
    for (at, part) in node.parts.iter().enumerate() {
        // What is below the last level is text of the task above it.
        let is_last = id.split('.').count() >= LEVELS;
        let own = if is_last { id.to_owned() } else { format!("{id}.{}", at + 1) };
        number_all(rows, part, &own, ids);
    }
}

/// Returns the id of the feature that these rows serve.
fn feature_of<'f>(features: &'f [(String, Feature)], rows: &[&Row]) -> Option<&'f str> {
    let served: BTreeSet<&String> = rows.iter().flat_map(|row| &row.serves).collect();
    let mut own = features.iter().filter(|(key, _)| !key.is_empty());
    own.find(|(key, _)| served.contains(key)).map(|(_, feature)| feature.id.as_str())
}

/// Returns what a user story wants, as a title: `I want to log in, so that …`.
fn wanted(text: &str) -> String {
    let line = plain(text);
    let start = line.to_ascii_lowercase().find("i want ");
    let rest = start.and_then(|at| line.get(at + "i want ".len()..)).unwrap_or(&line);
    let rest = rest.strip_prefix("to ").unwrap_or(rest);
    let end = start.and_then(|_| rest.find([',', '.', ';'])).unwrap_or(rest.len());
    let rest = rest.get(..end).unwrap_or(rest);
    rest.split(" so that ").next().unwrap_or(rest).trim().to_owned()
}

/// True if a text contains a key with letters as a whole word.
fn mentions(text: &str, key: &str) -> bool {
    key.contains(|c: char| c.is_ascii_alphabetic())
        && text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|word| word == key)
}

fn number(before: usize) -> u32 {
    u32::try_from(before + 1).unwrap_or(u32::MAX)
}
