//! Changes to the todo list: the scripted replies of the model in a change request.

use serde_json::{Value, json};

use super::reply::Reply;
use super::sandbox::Sandbox;
use super::script::at;
use super::todo;

/// `save_change_request` of a triage.
pub fn triage(summary: &str, stages: &[&str], files: &[&str]) -> Reply {
    let named = |stage: &str| stages.contains(&stage);
    Reply::call(
        "save_change_request",
        json!({
            "summary": summary,
            "scope": {
                "prd": named("prd"),
                "design": named("design"),
                "plan": named("plan"),
                "code": named("code"),
            },
            "risk": "low",
            "affected_components": ["COMP-001"],
            "affected_files": files,
            "constraints": ["todos stay in one file"],
            "acceptance_criteria": [format!("{summary} can be seen")],
        }),
    )
}

/// A task of the change, as arguments of `create_task`.
pub fn task(title: &str, file: &str, feature: &str) -> Value {
    json!({
        "title": title,
        "description": format!("{title}, in {file}."),
        "feature_id": feature,
        "component_id": "COMP-001",
        "dependencies": [],
        "files_to_create": [file],
        "acceptance_criteria": [format!("{file} exists")],
    })
}

impl Sandbox {
    /// The replies of an actor in a stage: this one, then a last text.
    pub fn script(&self, stage: &str, draft: Reply) {
        self.server.on(at(stage, "actor").turn(1), draft);
    }

    /// A change of code only: one line of one file.
    pub fn script_small_change(&self, file: &str, word: &str) {
        self.script("triage", triage("Say more", &["code"], &[file]));
        let title = todo::TASKS.iter().find(|task| task.2 == file).unwrap();
        let line = format!("# {}: {}", title.0, title.1);
        let edit = json!({"path": file, "old_text": line, "new_text": format!("{line} {word}")});
        self.script("coding", Reply::call("edit_file", edit));
    }

    /// A change that adds a requirement, a feature and a task with one file.
    pub fn script_addition(&self, title: &str, ids: [&str; 3], file: &str) {
        let [requirement, feature, task_id] = ids;
        self.script("triage", triage(title, &["prd", "plan", "code"], &[file]));
        let prd = format!(
            "{}{}",
            todo::requirement_section(requirement, title).trim_start(),
            todo::feature_section(feature, title, &[requirement])
        );
        self.script("prd", Reply::call("save_prd_doc", json!({"content": prd})));
        let plan = todo::task_section(task_id, title, feature, file);
        let plan = plan.trim_start();
        self.script("plan", Reply::call("save_plan_doc", json!({"content": plan})));
        let work = Reply::call("write_file", json!({"path": file, "content": "# new\n"}))
            .and("update_task_status", json!({"task_id": task_id, "new_status": "completed"}));
        self.server.on(at("coding", "actor").task(task_id).turn(1), work);
    }

    /// After a merge has stopped at conflicts, resolves each by keeping both sides, as a person
    /// would. Commits nothing.
    pub fn keep_both(&self) {
        for path in self.git(&["diff", "--name-only", "--diff-filter=U"]).lines() {
            let version = |n: u32| self.git_outcome(&["show", &format!(":{n}:{path}")]).stdout;
            let (base, ours, theirs) = (version(1), version(2), version(3));
            let both = if path.ends_with(".json") {
                let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
                let (mut all, theirs) = (read(&ours), read(&theirs));
                let list = theirs.as_object().unwrap().iter().find(|(_, v)| v.is_array()).unwrap();
                let known = read(&base)[list.0].as_array().unwrap().len();
                let added = list.1.as_array().unwrap()[known..].iter().cloned();
                all[list.0].as_array_mut().unwrap().extend(added);
                serde_json::to_string_pretty(&all).unwrap() + "\n"
            } else {
                both_sections(&base, &ours, &theirs)
            };
            self.write(path, &both);
        }
    }
}

/// `ours`, with each section that `theirs` has added after the last section of its kind.
fn both_sections(base: &str, ours: &str, theirs: &str) -> String {
    let sections = |text: &str| -> Vec<String> {
        let mut parts = vec![String::new()];
        for line in text.split_inclusive('\n') {
            if line.starts_with('#') {
                parts.push(String::new());
            }
            parts.last_mut().unwrap().push_str(line);
        }
        parts
    };
    let known = sections(base);
    let mut all = sections(ours);
    for new in sections(theirs).into_iter().filter(|one| !known.contains(one)) {
        let kind = &new[..new.find('-').unwrap()];
        let place = all.iter().rposition(|one| one.starts_with(kind)).unwrap();
        all.insert(place + 1, new);
    }
    all.concat()
}
