//! Tool calls and documents that a model wrote into its text.
//!
//! Small models do this, and agents without tools. Only a call to an offered tool counts as a call;
//! everything else stays text.

mod forms;
mod json;
mod markup;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;

use super::stream::made_up_id;
use super::{Reply, ToolCall, ToolSpec, written_tools};

/// The document between `<document>` tags in a text; the last tag may be missing. Since a sentence
/// may mention the tags too, content with a heading is preferred.
pub fn document_between_tags(text: &str) -> Option<&str> {
    const OPEN: &str = "<document>";
    const CLOSE: &str = "</document>";
    // ASCII lower case keeps byte positions.
    let lower = text.to_ascii_lowercase();
    let starts: Vec<usize> = lower.match_indices(OPEN).map(|(at, _)| at + OPEN.len()).collect();
    let mut candidates: Vec<(bool, bool, &str)> = Vec::new();
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).map_or(text.len(), |next| next - OPEN.len());
        let close = lower[*start..end].find(CLOSE);
        let document = text[*start..close.map_or(end, |at| start + at)].trim();
        let has_heading = document.lines().any(|line| line.starts_with('#'));
        if !document.is_empty() {
            candidates.push((has_heading, close.is_some(), document));
        }
    }
    // Of several equally good ones, the last.
    let best =
        candidates.iter().max_by_key(|(has_heading, is_closed, _)| (*has_heading, *is_closed));
    best.map(|(_, _, document)| without_fence(document))
}

/// Maximum lines before a document, or after its fence, that are not part of it.
const AROUND: usize = 3;
const FENCE: &str = "```";

/// The Markdown document that a text consists of: with a title and sections, or only sections;
/// possibly in a fence, with a few lines before and after it.
pub fn whole_document(text: &str) -> Option<&str> {
    let text = without_fence(text.trim());
    let (mut at, mut words) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.starts_with('#') || line.starts_with(FENCE) {
            break;
        }
        words += usize::from(!line.trim().is_empty());
        at += line.len();
    }
    let rest = text.get(at..).filter(|rest| words <= AROUND && !rest.is_empty())?;
    let document = if rest.starts_with(FENCE) { fenced(rest)? } else { rest };
    let is_section = |line: &str| line.starts_with("## ") || line.starts_with("### ");
    let sections = document.lines().filter(|line| is_section(line)).count();
    let first = document.lines().next().unwrap_or_default();
    let is_one = match first.starts_with("# ") {
        true => sections > 0,
        // A single heading is not enough: an answer that is not a document may start with one.
        false => is_section(first) && (sections > 1 || begins_record(first)),
    };
    is_one.then(|| document.trim_end())
}

/// True if a heading starts with the id of a record: `### REQ-001`.
fn begins_record(heading: &str) -> bool {
    let id = heading.trim_start_matches('#').split_whitespace().next().unwrap_or_default();
    id.trim_end_matches(':').split_once('-').is_some_and(|(kind, number)| {
        let all = |text: &str, is_letter: fn(&u8) -> bool| {
            !text.is_empty() && text.as_bytes().iter().all(is_letter)
        };
        all(kind, u8::is_ascii_uppercase) && all(number, u8::is_ascii_digit)
    })
}

/// Removes a fence around the whole text.
fn without_fence(text: &str) -> &str {
    let inner = text.strip_prefix(FENCE).and_then(|rest| rest.strip_suffix(FENCE));
    let inner = inner.and_then(|rest| rest.split_once('\n')).map(|(_, inner)| inner.trim());
    inner.unwrap_or(text)
}

/// The content of the fence at the start of a text, followed by only a few lines. The document may
/// contain fences itself.
fn fenced(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    let language = first.trim_start_matches('`').trim().to_ascii_lowercase();
    if !matches!(language.as_str(), "" | "markdown" | "md" | "text") {
        return None;
    }
    let closes =
        |at: &usize| rest[at + 1..].lines().next().is_some_and(|line| line.trim() == FENCE);
    let close = rest.rmatch_indices("\n```").map(|(at, _)| at).find(closes)?;
    let behind = rest[close + 1 + FENCE.len()..].lines().filter(|line| !line.trim().is_empty());
    (behind.count() <= AROUND).then(|| rest[..close].trim())
}

/// An agent program's statement about its task, for outcomes that the files do not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskWord {
    /// No change is needed.
    Done,
    /// The task cannot be done.
    Blocked,
}

/// The statement about a task at the start of the last line, and what follows: `DONE: why` or
/// `BLOCKED: why`.
pub fn said_of_task(text: &str) -> Option<(TaskWord, &str)> {
    let last = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let line = last.trim().trim_start_matches(['*', '`', '_', '#', '-', ' ']);
    let (word, why) = line.split_once(':')?;
    let word = match word.trim_end_matches(['*', '`', '_']) {
        "DONE" => TaskWord::Done,
        "BLOCKED" => TaskWord::Blocked,
        _ => return None,
    };
    Some((word, why.trim_matches(['*', '`', '_', ' '])))
}

/// Converts a document in a reply's text to the call that saves it, which has these arguments.
pub fn adopt_document(reply: &mut Reply, tool: &str, arguments: &serde_json::Value, turn: u32) {
    let (id, arguments) = (made_up_id(turn, 0), arguments.to_string());
    let call = ToolCall { id, name: tool.to_owned(), arguments };
    adopt(reply, String::new(), vec![call]);
}

/// Converts calls written in a reply's text to tool calls, if it has no other calls, and removes
/// them from the text.
pub fn adopt_calls(reply: &mut Reply, tools: &[ToolSpec], turn: u32) {
    if !reply.tool_calls.is_empty() || tools.is_empty() {
        return;
    }
    // Some models continue and invent the tool's result.
    let before_result =
        reply.content.split_once(written_tools::RESULT.0).map(|(before_result, _)| before_result);
    let extraction = before_result
        .map(|before_result| forms::extract(before_result, tools))
        .filter(|(_, calls)| !calls.is_empty());
    let (rest, mut calls) = extraction.unwrap_or_else(|| forms::extract(&reply.content, tools));
    if calls.is_empty() {
        return;
    }
    for (n, call) in calls.iter_mut().enumerate() {
        call.id = made_up_id(turn, n);
    }
    adopt(reply, rest, calls);
}

fn adopt(reply: &mut Reply, rest: String, calls: Vec<ToolCall>) {
    reply.content = rest;
    reply.tool_calls = calls;
    // The original text contains the calls, which would be sent back twice.
    if let Some(opaque) = &mut reply.opaque {
        opaque.message.remove("content");
    }
}
