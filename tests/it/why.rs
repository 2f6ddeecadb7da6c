//! `git cowork why`: fifty random lines of a merged session with two change requests, of a squashed one
//! and of a rebased one, each answer compared with the plan; and lines that no session wrote.

mod recipes;
mod said;
mod trace;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::todo::{TASKS, plan};
use crate::support::{Reply, Sandbox, at};

const DIR: &str = ".cowork/sessions/todo";
const LINES: usize = 50;
/// Lines of each file a task creates.
const LONG: usize = 12;
const BY_HAND: &str = "by-hand.sh";

/// A line that tells the title of the task that wrote it.
fn line(title: &str, file: &str, n: usize) -> String {
    format!("echo '{title}' # number {n} of what this task wrote into {file}\n")
}

fn lines(title: &str, file: &str, count: usize) -> String {
    (1..=count).map(|n| line(title, file, n)).collect()
}

/// The title that a line tells.
fn title(text: &str) -> &str {
    text.split('\'').nth(1).unwrap_or_default()
}

fn write(path: &str, text: &str) -> Reply {
    Reply::call("write_file", json!({"path": path, "content": text}))
}

/// More lines of a task behind the second of a file.
fn insert(reply: Reply, title: &str, file: &str, owner: &str) -> Reply {
    let second = line(owner, file, 2);
    let more = format!("{second}{}", lines(title, file, 3));
    reply.and("edit_file", json!({"path": file, "old_text": second, "new_text": more}))
}

/// A delivered session `todo`: five tasks, the last of which changes the first one's file, too, and a
/// commit of a person in between. Ana passed the code, and the critic rejected it once.
pub(super) fn delivered() -> Sandbox {
    static ONCE: std::sync::OnceLock<Sandbox> = std::sync::OnceLock::new();
    let original = ONCE.get_or_init(|| {
        let sandbox = Sandbox::stopped_after("design");
        let plan = plan().replace("`todo.sh`\n", "`todo.sh` `lib/store.sh`\n");
        assert!(plan.contains("`lib/store.sh`\n\nRead"), "{plan}");
        sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": plan})));
        sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
        sandbox.commit_file(BY_HAND, &lines("by hand", BY_HAND, LONG), "a script of my own");
        sandbox.server.on_with(at("coding", "actor").turn(1), |received| {
            let id = received.task.as_deref()?;
            let (_, title, file, ..) = TASKS.iter().find(|task| task.0 == id)?;
            let mut work = write(file, &lines(title, file, LONG));
            if id == "TASK-005" {
                work = insert(work, title, "lib/store.sh", TASKS[0].1);
            }
            Some(work.and("update_task_status", json!({"task_id": id, "new_status": "completed"})))
        });
        let reject = crate::support::todo::reject("lib/list.sh is hard to read");
        sandbox.server.times(1, at("coding", "critic").iteration(1), reject);
        sandbox.server.on(
            at("coding", "actor").iteration(2).turn(1),
            Reply::call(
                "edit_file",
                json!({
                    "path": "lib/list.sh",
                    "old_text": line(TASKS[2].1, "lib/list.sh", 2),
                    "new_text": lines("corrected", "lib/list.sh", 2),
                }),
            ),
        );
        sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
        sandbox.cowork(&["review", "--pass"]).exits(0);
        sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
        sandbox.cowork(&["review", "--pass"]).exits(0);
        sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
        sandbox
    });
    let copy = original.fork();
    copy.server.inherit(&original.server);
    copy
}

/// The same, merged, and two change requests merged after it, which both added `TASK-006`.
fn merged_with_changes() -> Sandbox {
    let sandbox = delivered();
    sandbox.cowork(&["merge"]).exits(0);
    let ids = ["REQ-004", "FEAT-003", "TASK-006"];
    let changes =
        [("quick", "Quick adding", "lib/add.sh", 1), ("sorted", "Sorted lists", "lib/done.sh", 3)];
    for (name, title, other, owner) in changes {
        let file = format!("lib/{name}.sh");
        sandbox.script_addition(title, ids, &file);
        let work = write(&file, &lines(title, &file, LONG));
        let work = insert(work, title, other, TASKS[owner].1)
            .and("update_task_status", json!({"task_id": ids[2], "new_status": "completed"}));
        sandbox.server.on(at("coding", "actor").task(ids[2]).turn(1), work);
        sandbox.git(&["switch", "-q", "main"]);
        let change = ["modify", title, "--session", "todo", "-n", name, "--review", "auto"];
        sandbox.cowork(&change).exits(0);
    }
    for name in ["todo--quick", "todo--sorted"] {
        sandbox.cowork(&["merge", name]).exits(0);
    }
    sandbox
}

/// What the records of the session say at a commit: of each task's title its id, its features and their
/// requirements.
struct Plan(BTreeMap<String, (String, Vec<String>, Vec<String>)>);

impl Plan {
    fn of(sandbox: &Sandbox, commit: &str) -> Self {
        let read = |file: &str| -> Value {
            serde_json::from_str(&sandbox.blob(commit, &format!("{DIR}/{file}"))).unwrap()
        };
        let texts = |value: &Value| -> Vec<String> {
            let all = value.as_array().into_iter().flatten();
            all.map(|one| one.as_str().unwrap().to_owned()).collect()
        };
        let (tasks, features) = (read("implementation_plan.json"), read("feature_list.json"));
        let mut plan = BTreeMap::new();
        for task in tasks["tasks"].as_array().unwrap() {
            let feature = task["feature_id"].as_str().unwrap().to_owned();
            let all = features["features"].as_array().unwrap();
            let found = all.iter().find(|one| one["id"] == feature.as_str()).unwrap();
            let requirements = match texts(&task["requirement_ids"]) {
                none if none.is_empty() => texts(&found["requirement_ids"]),
                own => own,
            };
            let id = task["id"].as_str().unwrap().to_owned();
            plan.insert(
                task["title"].as_str().unwrap().to_owned(),
                (id, vec![feature], requirements),
            );
        }
        Self(plan)
    }

    fn id(&self, title: &str) -> &str {
        &self.0[title].0
    }
}

/// Fifty lines of the code at HEAD, the same in each run.
fn random_lines(sandbox: &Sandbox) -> Vec<(String, usize, String)> {
    let files = sandbox.git(&["ls-files", "--", ".", ":!.cowork"]);
    let mut all = Vec::new();
    for file in files.lines() {
        let text = sandbox.blob("HEAD", file);
        all.extend((1..).zip(text.lines()).map(|(n, text)| (file.to_owned(), n, text.to_owned())));
    }
    let mut seed = 28_u64;
    let mut picked = Vec::new();
    while picked.len() < LINES {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = usize::try_from(seed >> 33).unwrap() % all.len();
        picked.push(all.swap_remove(at));
    }
    picked
}

/// A clone that has nothing but `main`.
fn clone_of_main(mut sandbox: Sandbox) -> Sandbox {
    let clone = sandbox.root().join("clone");
    let from = format!("file://{}", sandbox.repo().display());
    let options = ["-q", "--no-tags", "--single-branch", "-b", "main"];
    let places = [from.as_str(), clone.to_str().unwrap()];
    sandbox.git(&[&["clone"], &options[..], &places].concat());
    sandbox.enter(clone);
    sandbox
}

fn why(sandbox: &Sandbox, place: &str) -> Value {
    let mut all = sandbox.cowork(&["why", place, "--json"]).exits(0).json_lines();
    assert_eq!(all.len(), 1, "{place}");
    all.pop().unwrap()
}

fn ids(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect()
}

/// Compares the answers about fifty lines with the plan at HEAD, whose tasks commits name; how many of
/// them were tasks'.
#[track_caller]
fn compare(sandbox: &Sandbox, person: &str) -> usize {
    let plan = Plan::of(sandbox, "cowork/todo");
    compare_with(sandbox, &plan, person)
}

#[track_caller]
fn compare_with(sandbox: &Sandbox, plan: &Plan, person: &str) -> usize {
    let mut of_tasks = 0;
    for (file, n, text) in random_lines(sandbox) {
        let answer = why(sandbox, &format!("{file}:{n}"));
        assert_eq!(answer["text"], json!([text]), "{answer}");
        assert_eq!((&answer["file"], &answer["lines"]), (&json!(file), &json!([n, n])), "{answer}");
        match title(&text) {
            // README.md
            "" => assert_eq!(answer["origin"], "before", "{answer}"),
            "by hand" => assert_eq!(answer["origin"], person, "{answer}"),
            "corrected" => {
                assert_eq!(
                    (&answer["origin"], &answer["stage"]),
                    (&"stage".into(), &"coding".into())
                );
                // The plan has one task for the file.
                assert_eq!(
                    (&answer["known_by"], ids(&json!([answer["task"]]))[0]),
                    (&"plan".into(), "TASK-003")
                );
            }
            title => {
                of_tasks += 1;
                let (id, features, requirements) = &plan.0[title];
                assert_eq!(
                    (&answer["origin"], &answer["known_by"]),
                    (&"task".into(), &"commit".into()),
                    "{answer}"
                );
                assert_eq!(answer["task"], json!({"id": id, "title": title}), "{answer}");
                assert_eq!(ids(&answer["features"]), *features, "{answer}");
                assert_eq!(ids(&answer["requirements"]), *requirements, "{answer}");
                assert!(answer["subject"].as_str().unwrap().contains(title), "{answer}");
                let trailers = sandbox.trailers(answer["commit"].as_str().unwrap());
                assert_eq!(trailers["Cowork-Session"], [answer["session"].as_str().unwrap()]);
                let passed = &answer["passed"][0];
                assert_eq!(
                    (&passed["stage"], passed.get("missing")),
                    (&"coding".into(), None),
                    "{answer}"
                );
            }
        }
    }
    of_tasks
}

#[test]
fn lines_of_a_merged_session_with_two_change_requests() {
    let sandbox = merged_with_changes();
    let plan = Plan::of(&sandbox, "main");
    // One of them got other ids when they met.
    assert_eq!((plan.id("Quick adding"), plan.id("Sorted lists")), ("TASK-006", "TASK-007"));
    assert!(compare_with(&sandbox, &plan, "person") > LINES / 2);
    let answer = why(&sandbox, "lib/sorted.sh:4");
    assert_eq!(answer["session"], "todo--sorted");
    assert_eq!(ids(&answer["requirements"]), ["REQ-005"]);
    // Also where the branches are gone.
    for branch in ["cowork/todo", "cowork/todo--quick", "cowork/todo--sorted"] {
        sandbox.git(&["branch", "-q", "-D", branch]);
    }
    assert!(compare_with(&sandbox, &plan, "person") > LINES / 2);
}

#[test]
fn lines_of_a_squashed_session() {
    let sandbox = delivered();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit_file("later.sh", "echo later\n", "main goes on");
    sandbox.git(&["merge", "-q", "--squash", "cowork/todo"]);
    sandbox.git(&["commit", "-q", "-m", "All of it"]);
    let squash = sandbox.git(&["rev-parse", "HEAD"]);
    // Its own commits are still here.
    let of =
        |sandbox: &Sandbox| random_lines(sandbox).into_iter().filter(|line| line.0 != "later.sh");
    let plan = Plan::of(&sandbox, "main");
    for (file, n, text) in of(&sandbox) {
        let answer = why(&sandbox, &format!("{file}:{n}"));
        if let Some((id, ..)) = plan.0.get(title(&text)) {
            assert_eq!(
                (&answer["known_by"], &answer["task"]["id"]),
                (&"commit".into(), &json!(id))
            );
            assert_eq!(answer["squash"], squash.as_str());
            assert_eq!(answer["passed"][0]["how"], "passed by Ana Example");
        }
    }
    // Where they are gone, the plan is what is left.
    let clone = clone_of_main(sandbox);
    let mut told = BTreeMap::new();
    for (file, n, text) in of(&clone) {
        let answer = why(&clone, &format!("{file}:{n}"));
        *told.entry(answer["known_by"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        match title(&text) {
            "" => assert_eq!(answer["origin"], "before", "{answer}"),
            // Nobody's any more: no task names it, and the commit is everybody's.
            "by hand" => assert_eq!(answer["known_by"], "session", "{answer}"),
            title if file == "lib/store.sh" => {
                assert_eq!(answer["known_by"], "session", "{answer}");
                assert_eq!(
                    (ids(&answer["candidates"]), &answer["task"]),
                    (vec!["TASK-001", "TASK-005"], &Value::Null)
                );
                assert!(ids(&answer["candidates"]).contains(&plan.id(title)));
            }
            title => {
                assert_eq!(
                    (&answer["origin"], &answer["known_by"]),
                    (&"squash".into(), &"plan".into()),
                    "{answer}"
                );
                let id = if title == "corrected" { "TASK-003" } else { plan.id(title) };
                assert_eq!(answer["task"]["id"], id, "{answer}");
                assert_eq!(answer["commit"], squash.as_str());
            }
        }
    }
    assert!(told["plan"] > 10 && told["session"] > 5, "{told:?}");
}

#[test]
fn lines_of_a_session_merged_without_its_artifacts() {
    let sandbox = delivered();
    sandbox.cowork(&["merge", "--without-artifacts"]).exits(0);
    assert!(!sandbox.exists(DIR));
    let squash = sandbox.git(&["rev-parse", "HEAD"]);
    let plan = Plan::of(&sandbox, "cowork/todo");
    for line in ["lib/add.sh:3", "lib/store.sh:4", "lib/store.sh:9"] {
        let answer = why(&sandbox, line);
        let title = title(answer["text"][0].as_str().unwrap());
        assert_eq!(
            (answer["task"]["id"].as_str(), &answer["squash"]),
            (Some(plan.id(title)), &json!(squash))
        );
    }
    // The archive knows it when the branch is gone, and then nobody does.
    sandbox.git(&["branch", "-q", "-D", "cowork/todo"]);
    assert_eq!(why(&sandbox, "lib/store.sh:4")["task"]["id"], "TASK-005");
    let clone = clone_of_main(sandbox);
    let answer = why(&clone, "lib/store.sh:4");
    assert_eq!(
        (&answer["origin"], &answer["known_by"]),
        (&"squash".into(), &"session".into()),
        "{answer}"
    );
    assert_eq!(answer["session"], "todo", "{answer}");
    let told = clone.cowork(&["why", "lib/store.sh:4"]).exits(0).stdout;
    assert!(told.contains("session todo, whose records are not in this repository\n"), "{told}");
}

#[test]
fn lines_of_a_rebased_session() {
    let sandbox = delivered();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit_file("later.sh", "# later\n", "main goes on");
    let old = sandbox.git(&["rev-parse", "cowork/todo"]);
    sandbox.git(&["rebase", "-q", "main", "cowork/todo"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--ff-only", "cowork/todo"]);
    sandbox.git(&["rm", "-q", "later.sh"]);
    sandbox.git(&["commit", "-q", "-m", "not needed"]);
    assert!(compare(&sandbox, "person") > LINES / 2);
    let answer = why(&sandbox, "lib/add.sh:3");
    assert_eq!(answer["passed"][0]["how"], "passed by Ana Example", "{answer}");
    // A forge that rebases leaves the branch as it was.
    sandbox.git(&["branch", "-q", "-f", "cowork/todo", &old]);
    assert!(compare(&sandbox, "person") > LINES / 2);
    let commit = why(&sandbox, "lib/add.sh:3")["commit"].as_str().unwrap().to_owned();
    sandbox.git(&["merge-base", "--is-ancestor", &commit, "main"]);
}
