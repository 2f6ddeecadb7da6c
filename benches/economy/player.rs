//! A model that is right at once and does what its prompt says: told to run a command and to fix
//! what fails, it sees the output before it says that its task is done. What it says depends on where
//! it is asked and on what it can see, so that it goes on working when conversations are cut in
//! another way.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::edits::{self, Call};
use crate::kind::Kind;
use crate::support::Reply;
use crate::support::server::Received;

pub struct Player {
    pub kind: &'static Kind,
    pub repo: PathBuf,
}

impl Player {
    pub fn answer(&self, request: &Received) -> Reply {
        let messages = request.messages();
        let said = messages.iter().rposition(|message| message["role"] == "assistant");
        let newest = &messages[said.map_or(0, |at| at + 1)..];
        // Else these are the answers to its own calls.
        let asked = newest.iter().any(|message| message["role"] == "user");
        let read =
            said.is_some_and(|at| calls_of(&messages[at]).all(|(name, _)| name == "read_file"));
        match (request.stage.as_str(), request.role.as_str()) {
            ("start", _) => Reply::call(
                "name_work",
                json!({"language": "English", "title": self.kind.what, "name": self.kind.name,
                       "depth": self.kind.fit, "reason": "It is that much work."}),
            ),
            (_, "critic" | "challenger") => {
                Reply::call("exit_loop", json!({"summary": "It does what was asked, simply."}))
            }
            (_, "self-review") => Reply::text("Nothing is wrong.\n<review>PASS</review>"),
            ("coding", _) => self.code(request, read),
            (stage, _) if asked || read => self.write(stage, request, read),
            _ => Reply::text("The document is saved; every call succeeded."),
        }
    }

    /// A stage's document.
    fn write(&self, stage: &str, request: &Received, read: bool) -> Reply {
        if stage == "plan" && !read {
            let reads = edits::needed(self.kind, &self.repo, &seen(request));
            if !reads.is_empty() {
                return reply("I look at what is there.", reads);
            }
        }
        if stage == "triage" {
            let change = serde_json::from_str(&self.kind.text("triage.json")).unwrap();
            return Reply::call("save_change_request", change);
        }
        let folder = self.repo.join(".cowork/sessions").join(self.kind.session());
        let quick = !folder.join("prd.md").exists();
        let (tool, file) = match stage {
            "idea" => ("save_idea", "idea.md"),
            "prd" => ("save_prd_doc", "prd.md"),
            "design" => ("save_design_doc", "design.md"),
            "plan" if quick => ("save_plan_doc", "quick.md"),
            "plan" => ("save_plan_doc", "plan.md"),
            "check" => ("save_check_report", "check.md"),
            "delivery" => ("save_delivery_report", "delivery.md"),
            other => panic!("no document for {other}"),
        };
        Reply::call(tool, json!({"content": self.kind.text(file)}))
    }

    /// The tasks it is asked for: one that is named, or all that are open.
    fn code(&self, request: &Received, read: bool) -> Reply {
        let done: Vec<String> = request
            .messages()
            .iter()
            .flat_map(calls_of)
            .filter(|(name, _)| name == "update_task_status")
            .filter_map(|(_, arguments)| arguments["task_id"].as_str().map(str::to_owned))
            .collect();
        let named = request.headers.get("cowork-task").cloned().or_else(|| heading(request));
        let tasks: Vec<String> = match named {
            Some(task) => vec![task],
            None => self.kind.tasks(),
        };
        let tasks: Vec<String> = tasks.into_iter().filter(|task| !done.contains(task)).collect();
        if tasks.is_empty() {
            return Reply::text("The code does what the task asks for, and its tests pass.");
        }
        if !read {
            let reads = edits::reads(self.kind, &tasks, &self.repo, &seen(request));
            if !reads.is_empty() {
                return reply("I look at what I change.", reads);
            }
        }
        let told_to_run = request.text().contains("run_command with `");
        let ran = told_to_run
            && request
                .messages()
                .iter()
                .rfind(|message| message["role"] == "assistant")
                .is_some_and(|message| calls_of(message).any(|(name, _)| name == "run_command"));
        let mut calls: Vec<Call> = Vec::new();
        if !ran {
            calls.extend(tasks.iter().flat_map(|task| edits::writes(self.kind, task)));
        }
        if told_to_run && !ran {
            calls.push(("run_command", json!({"command": "true"})));
            return reply("I run it before I say that it is done.", calls);
        }
        for task in &tasks {
            let status = json!({"task_id": task, "new_status": "completed"});
            calls.push(("update_task_status", status));
        }
        reply("It does what the task asks for, and no more.", calls)
    }
}

fn reply(text: &str, calls: Vec<Call>) -> Reply {
    calls.into_iter().fold(Reply::text(text), |reply, (name, arguments)| reply.and(name, arguments))
}

/// The newest task that a heading of the second level names: documents have those of the third.
fn heading(request: &Received) -> Option<String> {
    let text = request
        .messages()
        .iter()
        .rev()
        .filter(|message| message["role"] != "assistant")
        .filter_map(|message| message["content"].as_str())
        .find_map(|text| text.lines().rev().find_map(|line| line.strip_prefix("## TASK-")))?;
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("TASK-{digits}"))
}

/// Everything that can be seen in a request, also in what was written.
fn seen(request: &Received) -> String {
    let mut seen = request.text();
    for (_, arguments) in request.messages().iter().flat_map(calls_of) {
        strings(&arguments, &mut seen);
    }
    seen
}

fn strings(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push('\n');
            out.push_str(text);
        }
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, out)),
        _ => {}
    }
}

/// The calls of an answer in a request.
fn calls_of(message: &Value) -> impl Iterator<Item = (String, Value)> {
    let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    calls.iter().map(|call| {
        let function = &call["function"];
        let arguments = function["arguments"].as_str().unwrap_or("{}");
        let name = function["name"].as_str().unwrap_or_default().to_owned();
        (name, serde_json::from_str(arguments).unwrap_or(Value::Null))
    })
}
