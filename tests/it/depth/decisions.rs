//! What a session asks of a person at each depth: how many decisions, and how many lines to read. The
//! same idea in the same repository, passed at every gate by somebody at a terminal.

use std::io::Write as _;

use regex::Regex;

use super::{plan, with_code};
use crate::support::todo;
use crate::support::{Reply, Sandbox};

/// A gate as it was when its key was pressed.
#[derive(Debug)]
struct Gate {
    stage: String,
    /// Lines on the screen, from its heading to its prompt.
    lines: usize,
    /// Lines of the document that it is about.
    document: usize,
}

fn has_prompt(now: &str) -> bool {
    now.trim_end().ends_with('▸')
}

/// The newest gate on the screen, from its heading on, and its stage.
fn newest(now: &str) -> Option<(String, Vec<&str>)> {
    let lines: Vec<&str> = now.trim_end().lines().collect();
    let heading = lines.iter().rposition(|line| line.contains("your decision"))?;
    let stage = lines[heading].trim_start_matches('━').split_whitespace().next()?;
    Some((stage.to_owned(), lines[heading..].to_vec()))
}

/// Passes every gate of a session at this depth.
fn gates(sandbox: &Sandbox, depth: &str, met: &str) -> Vec<Gate> {
    let new = ["new", "-n", "todo", "a todo list for the terminal", "--depth", depth];
    let mut screen = sandbox.screen(100, &new);
    let mut gates: Vec<Gate> = Vec::new();
    let document = Regex::new(r"\.md: (\d+) lines").unwrap();
    loop {
        // A gate may follow so soon that the screen is never seen without a prompt.
        let passed = gates.last().map(|gate| gate.stage.clone());
        let is_next = |now: &str| has_prompt(now) && newest(now).map(|(stage, _)| stage) != passed;
        let seen = screen.shows(|now| is_next(now) || now.contains("━━ delivered ━━"));
        if !has_prompt(&seen) {
            let (code, seen) = screen.ends();
            assert!(code == 0 && seen.contains(met), "{seen}");
            return gates;
        }
        let (stage, gate) = newest(&seen).unwrap();
        gates.push(Gate {
            stage,
            lines: gate.len(),
            document: document
                .captures(&gate.join("\n"))
                .map_or(0, |found| found[1].parse().unwrap()),
        });
        screen.types("p");
    }
}

#[test]
fn a_deeper_session_asks_more_and_none_asks_more_than_is_said_here() {
    let mut before = 0;
    for (depth, stages, most, document) in [
        ("quick", &["plan", "coding"][..], 120, 70),
        ("standard", &["prd", "plan", "coding"], 180, 140),
        ("thorough", &["idea", "prd", "design", "plan", "coding"], 300, 200),
    ] {
        let sandbox = with_code();
        let content = if depth == "quick" { plan() } else { todo::plan() };
        sandbox
            .script("plan", Reply::call("save_plan_doc", serde_json::json!({"content": content})));
        let met = if depth == "quick" { "2 of 2" } else { "3 of 3" };
        let gates = gates(&sandbox, depth, &format!("{met} requirements met"));
        let asked: Vec<&str> = gates.iter().map(|gate| gate.stage.as_str()).collect();
        let lines: usize = gates.iter().map(|gate| gate.lines).sum();
        let documents: usize = gates.iter().map(|gate| gate.document).sum();
        let mut out = std::io::stderr();
        let count = gates.len();
        writeln!(
            out,
            "{depth}: {count} decisions, {lines} lines on the screen, {documents} of documents"
        )
        .ok();
        for Gate { stage, lines, document } in &gates {
            writeln!(out, "  {stage}: {lines} lines on the screen, {document} of its document")
                .ok();
        }
        assert_eq!(asked, stages, "{depth}");
        assert!(lines <= most && documents <= document, "{depth}: {gates:?}");
        assert!(gates.iter().all(|gate| gate.lines <= 60), "{depth}: {gates:?}");
        assert!(gates.len() > before, "{depth}");
        before = gates.len();
    }
}
