//! The same answers in a bare coding loop: one conversation with tools that read, write and run, the
//! same system text, idea and repository, no stages. Nothing is executed; what tools would answer is
//! made up in their words.

use serde_json::{Value, json};

use git_cowork::tool;

use crate::count::Sent;
use crate::edits::{self, Call};
use crate::kind::Kind;
use crate::support::{Reply, Sandbox};

const TOOLS: [&str; 7] = [
    "list_files",
    "read_file",
    "search_files",
    "write_file",
    "edit_file",
    "delete_file",
    "run_command",
];

/// The requests of such a conversation.
pub fn played(kind: &Kind, system: &str, repository: &str) -> Vec<Sent> {
    let sandbox = Sandbox::nowhere();
    kind.lay_out(&sandbox);
    let repo = sandbox.repo();
    let idea = kind.text("idea.txt");
    let prompt = format!("{repository}## What to do\n\n{idea}");
    let tasks = kind.tasks();
    let mut turns: Vec<(&str, Vec<Call>)> = Vec::new();
    let reads = edits::reads(kind, &tasks, &repo, &prompt);
    if !reads.is_empty() {
        turns.push(("I look at what I change.", reads));
    }
    for task in &tasks {
        let mut calls = edits::writes(kind, task);
        calls.push(("run_command", json!({"command": "true"})));
        turns.push(("It does what is asked for, and no more.", calls));
    }
    turns.push(("The code does what is asked for, and its tests pass.", Vec::new()));

    let specs = tool::specs(&TOOLS, "");
    let tools: Vec<Value> =
        specs.iter().map(|spec| json!({"type": "function", "function": spec})).collect();
    let mut messages = vec![
        json!({"role": "system", "content": system}),
        json!({"role": "user", "content": prompt}),
    ];
    let mut session = Vec::new();
    for (turn, (text, calls)) in turns.into_iter().enumerate() {
        let body = json!({"model": "scripted", "messages": messages, "tools": tools,
                          "temperature": 0.7, "stream": true});
        let reply = calls
            .iter()
            .fold(Reply::text(text), |reply, (name, arguments)| reply.and(name, arguments.clone()));
        session.push(Sent::of("bare".to_owned(), &body, body.to_string().len(), &reply));
        let id = |at: usize| format!("call_{turn}_{at}");
        let made: Vec<Value> = (0..)
            .zip(&reply.calls)
            .map(|(at, call)| {
                let function = json!({"name": call.name, "arguments": call.arguments});
                json!({"id": id(at), "type": "function", "function": function})
            })
            .collect();
        messages.push(json!({"role": "assistant", "content": text, "tool_calls": made}));
        for (at, (name, arguments)) in calls.iter().enumerate() {
            let said = answer(&sandbox, name, arguments);
            messages.push(json!({"role": "tool", "tool_call_id": id(at), "content": said}));
        }
    }
    session
}

/// What a tool says, as ours do.
fn answer(sandbox: &Sandbox, name: &str, arguments: &Value) -> String {
    let path = arguments["path"].as_str().unwrap_or_default();
    match name {
        "read_file" => {
            let text = sandbox.read(path);
            let all = text.lines().count();
            let number =
                |field: &str| arguments[field].as_u64().map(|n| usize::try_from(n).unwrap());
            let first = number("offset").unwrap_or(1);
            let last = number("limit").map_or(all, |limit| all.min(first + limit - 1));
            let part: Vec<&str> = text.lines().skip(first - 1).take(last + 1 - first).collect();
            format!("{path}, lines {first}-{last} of {all}\n{}\n", part.join("\n"))
        }
        "run_command" => "exit code 0".to_owned(),
        _ => format!("wrote {path}"),
    }
}
