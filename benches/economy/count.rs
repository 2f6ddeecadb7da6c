//! Bytes of requests and answers.

use serde_json::{Value, json};

use git_cowork::tool;

use crate::support::Reply;
use crate::support::server::Received;

/// Tools whose calls read, write or run.
const WORK: [&str; 6] =
    ["list_files", "search_files", "read_file", "write_file", "edit_file", "run_command"];

/// A request and its answer.
#[derive(Clone)]
pub struct Sent {
    /// Stage and role.
    pub who: String,
    pub bytes: usize,
    pub tools_bytes: usize,
    /// Tools, then messages.
    pub wire: String,
    messages: Value,
    /// Names of the calls of the answer.
    pub calls: Vec<String>,
    answer: usize,
    code: usize,
}

impl Sent {
    pub fn new(request: &Received, reply: &Reply) -> Self {
        let who = format!("{} {}", request.stage, request.role);
        Self::of(who, &request.body, request.bytes, reply)
    }

    pub fn of(who: String, body: &Value, bytes: usize, reply: &Reply) -> Self {
        let tools = if body["tools"].is_null() { String::new() } else { body["tools"].to_string() };
        let messages = body["messages"].clone();
        let length = |call: &crate::support::reply::Call| call.name.len() + call.arguments.len();
        let writes = |name: &str| matches!(name, "write_file" | "edit_file");
        let code = reply.calls.iter().filter(|call| writes(&call.name)).map(length).sum();
        Self {
            who,
            bytes,
            tools_bytes: tools.len(),
            wire: format!("{tools}{messages}"),
            messages,
            calls: reply.calls.iter().map(|call| call.name.clone()).collect(),
            answer: reply.text.len() + reply.calls.iter().map(length).sum::<usize>(),
            code,
        }
    }

    /// Its answer neither read, wrote nor ran anything.
    fn is_idle(&self) -> bool {
        !self.calls.iter().any(|name| WORK.contains(&name.as_str()) || name.starts_with("save_"))
    }
}

/// The same with all tools in each request.
pub fn one_list(session: &[Sent]) -> Vec<Sent> {
    let names: Vec<&str> = tool::all().iter().map(|tool| tool.name()).collect();
    let specs = tool::specs(&names, "");
    let tools: Vec<Value> =
        specs.iter().map(|spec| json!({"type": "function", "function": spec})).collect();
    let tools = json!(tools).to_string();
    let with = |sent: &Sent| Sent {
        bytes: sent.bytes - sent.tools_bytes + tools.len(),
        tools_bytes: tools.len(),
        wire: format!("{tools}{}", sent.messages),
        ..sent.clone()
    };
    session.iter().map(with).collect()
}

/// Bytes two texts begin with.
pub fn common(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}

/// Sums of a session.
pub struct Count {
    pub requests: usize,
    pub bytes: usize,
    pub idle: usize,
    /// Bytes of the requests whose answers neither read, wrote nor ran anything.
    pub idle_bytes: usize,
    pub answers: usize,
    code: usize,
    common: usize,
    wire: usize,
    pub billed: usize,
}

impl Count {
    pub fn of(session: &[Sent]) -> Self {
        let (mut in_common, mut wire, mut billed) = (0, 0, 0);
        for (n, sent) in session.iter().enumerate() {
            let earlier = session[..n].iter();
            let cached = earlier.map(|other| common(&other.wire, &sent.wire)).max().unwrap_or(0);
            let before = n.checked_sub(1).map_or("", |before| session[before].wire.as_str());
            in_common += common(before, &sent.wire);
            wire += sent.wire.len();
            billed += sent.wire.len() - cached + cached / 10 + 4 * sent.answer;
        }
        Self {
            requests: session.len(),
            bytes: session.iter().map(|sent| sent.bytes).sum(),
            idle: session.iter().filter(|sent| sent.is_idle()).count(),
            idle_bytes: session.iter().filter(|sent| sent.is_idle()).map(|sent| sent.bytes).sum(),
            answers: session.iter().map(|sent| sent.answer).sum(),
            code: session.iter().map(|sent| sent.code).sum(),
            common: in_common,
            wire,
            billed,
        }
    }

    pub fn head() {
        println!(
            "{:<26}{:>9}{:>9}{:>9}{:>7}{:>8}{:>8}{:>9}",
            "", "requests", "bytes", "answers", "code %", "neither", "same %", "billed"
        );
    }

    pub fn print(&self, what: &str) {
        let Self { requests, bytes, idle, answers, code, common, wire, billed, .. } = self;
        let (code, same) = (100 * code / answers.max(&1), 100 * common / wire.max(&1));
        println!(
            "{what:<26}{requests:>9}{bytes:>9}{answers:>9}{code:>7}{idle:>8}{same:>8}{billed:>9}"
        );
    }
}
