//! Sessions with many tasks: copies the commits, records and refs that the program made for a few
//! tasks.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::copied::{Change, Content, Copied, Copier, Refs, commits};
use super::reply::Reply;
use super::sandbox::Sandbox;
use super::script::at;

/// Number of tasks in the session from which larger ones are made. The last task stays the last;
/// the one before it is copied.
const REAL: usize = 3;
const BRANCH: &str = "refs/heads/cowork/todo";
const RECORDS: &str = ".cowork/sessions/todo/implementation_plan.json";
const DOCUMENT: &str = ".cowork/sessions/todo/plan.md";

/// From now on the model plans `tasks` tasks, each with `files` new files, and does them.
pub fn plans(sandbox: &Sandbox, tasks: usize, files: usize) {
    limits(sandbox, tasks);
    let draft = Reply::call("save_plan_doc", json!({"content": document(tasks)}));
    let draft = (1..=tasks).fold(draft, |draft, n| draft.and("create_task", task(n, files)));
    sandbox.server.on(at("plan", "actor").turn(1), draft);
    sandbox.server.on_with(at("coding", "actor").turn(1), move |received| {
        let id = received.task.as_deref()?;
        let n: usize = id.strip_prefix("TASK-")?.parse().ok()?;
        let work = paths(n, files).into_iter().fold(Reply::text("I begin."), |work, path| {
            work.and("write_file", json!({"path": path, "content": text(&path)}))
        });
        Some(work.and("update_task_status", json!({"task_id": id, "new_status": "completed"})))
    });
}

fn limits(sandbox: &Sandbox, tasks: usize) {
    sandbox.user_config(&format!("[limits]\ntasks = [1, {}]\n", tasks.max(12)));
}

/// A repository whose session `todo` has this many tasks, at least three, and is delivered.
pub fn delivered(tasks: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    plans(&sandbox, REAL, 1);
    sandbox.auto(&[]).exits(0);
    if tasks > REAL {
        multiply(&sandbox, tasks);
    }
    sandbox
}

/// [`delivered`], but in the middle of coding: all tasks are done, and nothing after them.
pub fn coded(tasks: usize) -> Sandbox {
    let sandbox = delivered(tasks);
    let last = sandbox.commit_of("cowork/todo", &format!("coding: {} ", id(tasks)));
    sandbox.git(&["reset", "-q", "--hard", &last]);
    for stage in ["coding", "check", "delivery"] {
        for name in ["refs/tags/cowork/todo/", "refs/cowork/drafts/todo/"] {
            sandbox.git(&["update-ref", "-d", &format!("{name}{stage}")]);
        }
    }
    sandbox
}

fn multiply(sandbox: &Sandbox, tasks: usize) {
    limits(sandbox, tasks);
    let (all, refs) = commits(sandbox, &[BRANCH, "refs/tags", "refs/cowork"]);
    let first: Value = serde_json::from_str(&sandbox.blob(BRANCH, RECORDS)).unwrap();
    let records = Records::new(&first["tasks"][0], tasks);
    let planned = planned(&sandbox.blob(BRANCH, DOCUMENT), tasks);
    let renamed = |text: &str| as_task(text, REAL, tasks);
    let mut copier = Copier::new(sandbox);
    let mut last: Option<&Copied> = None;
    for commit in &all {
        let mut parents = commit.parents.clone();
        let task = commit.message.starts_with("coding: TASK-").then(|| last.replace(commit));
        if commit.message.starts_with(&format!("coding: {} ", id(REAL))) {
            let before = task.flatten().unwrap();
            for n in REAL..tasks {
                let changes = [
                    Change::text(RECORDS, records.when(n)),
                    Change::text(&paths(n, 1)[0], text(&paths(n, 1)[0])),
                ];
                let (name, message) = (id(n), as_task(&before.message, REAL - 1, n));
                copier.commit(&name, &before.people, &parents, &message, &changes);
                parents = vec![name];
            }
        }
        let done = last.map_or(0, |last| {
            let n = (1..=REAL).find(|n| last.message.contains(&format!("coding: {} ", id(*n))));
            n.map_or(0, |n| if n == REAL { tasks } else { n })
        });
        let mut message = renamed(&commit.message)
            .replace(&format!("{REAL} of {REAL} tasks"), &format!("{tasks} of {tasks} tasks"))
            .replace(&format!(": {REAL} tasks"), &format!(": {tasks} tasks"))
            .replace(&format!(", {REAL} files"), &format!(", {tasks} files"));
        for (name, text) in
            [("plan.md@", planned.clone()), ("implementation_plan.json@", records.when(0))]
        {
            approve(&mut message, name, || blob_id(sandbox, &text));
        }
        approve(&mut message, "Approved: tree@", || copier.tree_of(&parents[0]));
        let changes = commit.changes.iter().map(|change| Change {
            path: renamed(&change.path),
            content: match &change.content {
                Content::Blob(_) if change.path == RECORDS => Content::Text(records.when(done)),
                Content::Blob(_) if change.path == DOCUMENT => Content::Text(planned.clone()),
                Content::Blob(oid) => {
                    let blob = sandbox.git_outcome(&["cat-file", "blob", oid]).exits(0).stdout;
                    Content::Text(renamed(&blob))
                }
                other => other.clone(),
            },
        });
        let changes: Vec<Change> = changes.collect();
        copier.commit(&commit.oid, &commit.people, &parents, &message, &changes);
    }
    for (name, oid) in &refs {
        copier.reset(name, oid);
    }
    copier.finish(Refs::Loose);
    sandbox.git(&["reset", "-q", "--hard"]);
}

/// The plan's records with this many completed tasks. They are assembled from pieces, because a
/// plan of 500 tasks is written 500 times.
struct Records {
    completed: Vec<String>,
    pending: Vec<String>,
}

impl Records {
    fn new(first: &Value, tasks: usize) -> Self {
        let written = |status: &str| {
            let mut task = first.clone();
            task["status"] = json!(status);
            let text = serde_json::to_string_pretty(&json!({"tasks": [task]})).unwrap();
            let piece = text.strip_prefix("{\n  \"tasks\": [\n").unwrap();
            let piece = piece.strip_suffix("\n  ]\n}").unwrap().to_owned();
            (1..=tasks).map(|n| of_parts(&as_task(&piece, 1, n), n)).collect()
        };
        Self { completed: written("completed"), pending: written("pending") }
    }

    fn when(&self, done: usize) -> String {
        let tasks = [&self.completed[..done], &self.pending[done..]].concat();
        format!("{{\n  \"tasks\": [\n{}\n  ]\n}}\n", tasks.join(",\n"))
    }
}

/// The text with the feature and the component of the task with this number.
fn of_parts(text: &str, n: usize) -> String {
    text.replace(&feature(1), &feature(n)).replace(&component(1), &component(n))
}

/// The text about one task, changed to another task.
fn as_task(text: &str, from: usize, to: usize) -> String {
    text.replace(&id(from), &id(to))
        .replace(&title(from), &title(to))
        .replace(&paths(from, 1)[0], &paths(to, 1)[0])
}

/// Replaces the approved blob's id after its name, if the message contains it.
fn approve(message: &mut String, name: &str, oid: impl FnOnce() -> String) {
    if let Some(at) = message.find(name) {
        let at = at + name.len();
        message.replace_range(at..at + 12, &oid()[..12]);
    }
}

fn blob_id(sandbox: &Sandbox, text: &str) -> String {
    let path = sandbox.root().join("blob");
    std::fs::write(&path, text).unwrap();
    sandbox.git(&["hash-object", "--no-filters", &path.display().to_string()])
}

fn document(tasks: usize) -> String {
    (1..=tasks).fold(format!("# Plan\n\n{tasks} tasks.\n"), |mut text, n| {
        writeln!(text, "- {} {}", id(n), title(n)).unwrap();
        text
    })
}

/// The document that the program wrote for a few tasks, with a section for each of `tasks` tasks.
fn planned(written: &str, tasks: usize) -> String {
    let heading = |n: usize| format!("### {} ", id(n));
    let (head, sections) = written.split_at(written.find(&heading(1)).unwrap());
    let first = &sections[..sections.find(&heading(2)).unwrap()];
    let section = |n: usize| of_parts(&as_task(first, 1, n), n);
    let few: String = (1..=REAL).map(section).collect();
    let after = sections.strip_prefix(few.trim_end()).unwrap();
    let many: String = (1..=tasks).map(section).collect();
    format!("{}{}{after}", head.replace(&document(REAL), &document(tasks)), many.trim_end())
}

fn id(n: usize) -> String {
    format!("TASK-{n:03}")
}

fn title(n: usize) -> String {
    format!("Part {n:03} of the list")
}

fn feature(n: usize) -> String {
    format!("FEAT-00{}", n % 2 + 1)
}

fn component(n: usize) -> String {
    format!("COMP-00{}", n % 2 + 1)
}

fn paths(n: usize, files: usize) -> Vec<String> {
    (1..=files).map(|file| format!("parts/{:02}/{n:03}-{file}.sh", n % 20)).collect()
}

fn text(path: &str) -> String {
    format!("# {path}\n")
}

fn task(n: usize, files: usize) -> Value {
    let paths = paths(n, files);
    json!({
        "title": title(n),
        "description": format!("{}, in {}.", title(n), paths[0]),
        "feature_id": feature(n),
        "component_id": component(n),
        "dependencies": [],
        "files_to_create": paths,
        "acceptance_criteria": [format!("{} exists", paths[0])],
    })
}
