//! A request as the scripted model server received it, with its role, stage and position.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{messages, responses};

/// The beginning of a brief; documents and the repository may come before it.
const BRIEFS: [&str; 3] = ["# Your role: ", "# The next task", "# Your draft of "];

/// The API a request came through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Api {
    #[default]
    Chat,
    Responses,
    Messages,
}

/// A request as it arrived through any of the APIs.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Counting from 1.
    pub number: usize,
    pub session: String,
    pub stage: String,
    pub role: String,
    pub iteration: u32,
    /// The turn of this conversation, from 1.
    pub turn: u32,
    /// In coding, the task that the request is about.
    pub task: Option<String>,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    /// The API it came through; except for chat, the server has put `messages` into the body.
    pub api: Api,
    /// The request's target with its parameters.
    pub target: String,
    /// Length of the body.
    pub bytes: usize,
}

impl Received {
    pub fn new(headers: BTreeMap<String, String>, raw: &[u8], api: Api, target: &str) -> Self {
        let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
        let mut body: Value = serde_json::from_slice(raw).unwrap_or(Value::Null);
        match api {
            Api::Chat => {}
            Api::Responses => body["messages"] = responses::as_chat(&body),
            Api::Messages => body = messages::as_chat(body),
        }
        let mut received = Self {
            number: 0,
            session: header("cowork-session"),
            stage: header("cowork-stage"),
            role: header("cowork-role"),
            iteration: header("cowork-iteration").parse().unwrap_or(0),
            bytes: raw.len(),
            api,
            target: target.to_owned(),
            headers,
            body,
            ..Self::default()
        };
        let said = received.part().iter().filter(|m| m["role"] == "assistant").count();
        received.turn = u32::try_from(said).unwrap() + 1;
        if received.stage == "coding" {
            received.task = received.find_task();
        }
        received
    }

    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The messages from the newest brief on: a conversation has a brief for each of its parts.
    fn part(&self) -> &[Value] {
        let begins = |line: &str| BRIEFS.iter().any(|brief| line.starts_with(brief));
        let is_brief = |message: &Value| {
            message["role"] == "user" && content(&message["content"]).lines().any(begins)
        };
        &self.messages()[self.messages().iter().rposition(is_brief).unwrap_or(0)..]
    }

    /// The text of all messages so far.
    pub fn text(&self) -> String {
        let contents: Vec<_> = self.messages().iter().map(|m| content(&m["content"])).collect();
        contents.join("\n")
    }

    /// The newest tool results, those after the last assistant message.
    pub fn tool_results(&self) -> Vec<String> {
        let newest = self.messages().iter().rev().take_while(|m| m["role"] == "tool");
        let mut results: Vec<_> = newest.map(|m| content(&m["content"])).collect();
        results.reverse();
        results
    }

    /// Names of the tools on offer.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        let name = |tool: &Value| {
            tool["function"]["name"].as_str().or(tool["name"].as_str()).map(str::to_owned)
        };
        tools.iter().filter_map(name).collect()
    }

    pub fn position(&self) -> String {
        let task = self.task.as_deref().map_or_else(String::new, |task| format!(" {task}"));
        format!(
            "{} {} iteration {} turn {}{task}",
            self.stage, self.role, self.iteration, self.turn
        )
    }

    /// The task of the brief: in its messages before the first response, the last line that begins
    /// with a task id, or with the word "task" and an id; else the last id in them. A header
    /// `Cowork-Task` takes precedence.
    fn find_task(&self) -> Option<String> {
        if let Some(task) = self.headers.get("cowork-task") {
            return Some(task.clone());
        }
        let brief: Vec<_> = self
            .part()
            .iter()
            .take_while(|m| m["role"] != "assistant")
            .filter(|m| m["role"] == "user")
            .map(|m| content(&m["content"]))
            .collect();
        let last = brief.last()?;
        let titled = last.lines().rev().find_map(|line| {
            let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
            let lower = line.to_lowercase();
            let opening = ["task-", "task:", "your task", "the task", "this task", "task `task-"];
            opening.iter().any(|o| lower.starts_with(o)).then(|| first_task(line)).flatten()
        });
        titled.or_else(|| last.rfind("TASK-").and_then(|at| first_task(&last[at..])))
    }
}

fn first_task(text: &str) -> Option<String> {
    let at = text.find("TASK-")?;
    let digits: String = text[at + 5..].chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then(|| format!("TASK-{digits}"))
}

/// A message's content, whether one string or a list of parts.
fn content(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
