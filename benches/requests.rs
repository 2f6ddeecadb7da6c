//! What idea and PRD cost when nobody rejects anything: requests and bytes of request bodies, and
//! what the bytes are. Ends with 1 when over the budget. Not a timing; see `commit_cost`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]

#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use more of it")]
mod support;

use std::process::ExitCode;

use serde_json::Value;
use support::Sandbox;
use support::server::Received;

const REQUESTS: usize = 3;
const BYTES: usize = 40_000;

/// Bytes of one request body by what they are for.
#[derive(Clone, Copy, Default)]
struct Parts {
    all: usize,
    tools: usize,
    system: usize,
    /// User messages before the first answer.
    context: usize,
    /// Everything from the first answer on.
    conversation: usize,
}

impl Parts {
    fn of(request: &Received) -> Self {
        let messages = request.messages();
        let said = messages.iter().position(|m| m["role"] == "assistant");
        let (before, after) = messages.split_at(said.unwrap_or(messages.len()));
        let bytes = |fits: &dyn Fn(&&Value) -> bool, messages: &[Value]| {
            messages.iter().filter(fits).map(|m| m.to_string().len()).sum()
        };
        let tools = &request.body["tools"];
        Self {
            all: request.bytes,
            tools: if tools.is_null() { 0 } else { tools.to_string().len() },
            system: bytes(&|m| m["role"] == "system", before),
            context: bytes(&|m| m["role"] != "system", before),
            conversation: bytes(&|_| true, after),
        }
    }

    fn add(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            tools: self.tools + other.tools,
            system: self.system + other.system,
            context: self.context + other.context,
            conversation: self.conversation + other.conversation,
        }
    }

    fn print(&self, what: &str) {
        let Self { all, tools, system, context, conversation } = self;
        println!("{what:<28}{all:>8}{tools:>8}{system:>8}{context:>9}{conversation:>14}");
    }
}

fn main() -> ExitCode {
    let sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let requests = sandbox.server.requests();
    println!(
        "{:<28}{:>8}{:>8}{:>8}{:>9}{:>14}",
        "request", "bytes", "tools", "system", "context", "conversation"
    );
    let mut all = Parts::default();
    for request in &requests {
        let parts = Parts::of(request);
        parts.print(&format!("{} {} turn {}", request.stage, request.role, request.turn));
        all = all.add(parts);
    }
    all.print("together");
    let within = requests.len() <= REQUESTS && all.all <= BYTES;
    println!(
        "\n{} requests (at most {REQUESTS}), {} bytes (at most {BYTES}): {}",
        requests.len(),
        all.all,
        if within { "within the budget" } else { "OVER THE BUDGET" }
    );
    ExitCode::from(u8::from(!within))
}
