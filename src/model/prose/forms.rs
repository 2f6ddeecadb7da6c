//! The forms in which models write calls into their text, recognised by their opener. These are the
//! forms of the models' chat templates; a server that parses them removes them from the text.

use serde_json::Value;

use super::json::{self, FoundCalls, written_calls};
use super::markup::{self, GLM, INVOKE, INVOKE_DSML, QWEN};
use crate::model::arguments::tool_name;
use crate::model::{ToolCall, ToolSpec};

struct CallForm {
    opener: &'static str,
    /// The end of the form; if empty, it ends where its arguments end.
    closer: &'static str,
    /// Reads what follows the opener.
    read: fn(&str, &str, &[ToolSpec]) -> FoundCalls,
}

const fn form(
    opener: &'static str,
    closer: &'static str,
    read: fn(&str, &str, &[ToolSpec]) -> FoundCalls,
) -> CallForm {
    CallForm { opener, closer, read }
}

const FORMS: [CallForm; 14] = [
    form("```", "```", fenced),
    // Hermes, Qwen, Qwen-Coder, GLM.
    form("<tool_call>", "</tool_call>", tool_call),
    form("<function_call>", "</function_call>", framed),
    form("<TOOLCALL>", "</TOOLCALL>", framed),
    form("<|tool_call|>", "<|/tool_call|>", framed),
    // Qwen-Coder without `<tool_call>` around it.
    form("<function=", "", qwen),
    // Mistral.
    form("[TOOL_CALLS]", "", mistral),
    // Llama.
    form("<|python_tag|>", "", framed),
    form("<|tool_call_begin|>", "<|tool_call_end|>", kimi),
    form("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", deepseek),
    // DeepSeek from V3.2.
    form("<｜DSML｜invoke name=\"", "", dsml),
    // MiniMax, Claude.
    form("<invoke name=\"", "", invoke),
    // gpt-oss.
    form("<|channel|>commentary to=functions.", "<|call|>", harmony),
    form("to=functions.", "<|call|>", harmony),
];

/// Tags around calls; without calls, these tags mean nothing.
const WRAPPERS: [&str; 17] = [
    "</tool_call>",
    "<function_calls>",
    "</function_calls>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<｜DSML｜function_calls>",
    "</｜DSML｜function_calls>",
    "<｜DSML｜tool_calls>",
    "</｜DSML｜tool_calls>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<|start|>assistant",
    "<|end|>",
    "<|eom_id|>",
    "<|eot_id|>",
];

/// The text without calls, and the calls.
pub(super) fn extract(text: &str, tools: &[ToolSpec]) -> (String, Vec<ToolCall>) {
    if let Some((calls, end)) = written_calls(text, tools)
        && text[end..].trim().is_empty()
    {
        return (String::new(), calls);
    }
    let mut rest = String::new();
    let mut calls = Vec::new();
    let mut remaining = text;
    loop {
        let form = next_form(remaining);
        let before = form.map_or(remaining, |(at, _)| &remaining[..at]);
        if let Some((at, bare_calls, end)) = bare(remaining, before.len(), tools) {
            rest.push_str(&remaining[..at]);
            calls.extend(bare_calls);
            remaining = &remaining[end..];
            continue;
        }
        let Some((at, form)) = form else { break };
        let inside = &remaining[at + form.opener.len()..];
        if let Some((bare_calls, end)) = (form.read)(inside, form.closer, tools) {
            rest.push_str(&remaining[..at]);
            unwrap_end(&mut rest);
            calls.extend(bare_calls);
            remaining = unwrapped(&inside[end..]);
        } else {
            // Not a call: keep it with its closer, which would otherwise look like an opener.
            let end = match inside.find(form.closer) {
                Some(end) if !form.closer.is_empty() => end + form.closer.len(),
                _ => 0,
            };
            let length = remaining.len() - inside.len() + end;
            rest.push_str(&remaining[..length]);
            remaining = &remaining[length..];
        }
    }
    rest.push_str(remaining);
    (rest.trim().to_owned(), calls)
}

/// Calls as JSON at the start of a line that begins before `until`: where they start, the calls,
/// where they end.
fn bare(text: &str, until: usize, tools: &[ToolSpec]) -> Option<(usize, Vec<ToolCall>, usize)> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if start >= until {
            break;
        }
        if let Some((calls, end)) = written_calls(&text[start..], tools)
            && text[start + end..].lines().next().is_none_or(|rest| rest.trim().is_empty())
        {
            return Some((start, calls, start + end));
        }
        start += line.len();
    }
    None
}

fn next_form(text: &str) -> Option<(usize, &'static CallForm)> {
    let forms = FORMS.iter().filter_map(|form| text.find(form.opener).map(|at| (at, form)));
    forms.min_by_key(|(at, _)| *at)
}

fn unwrap_end(text: &mut String) {
    let ends = |text: &str| {
        let end = text.trim_end();
        WRAPPERS.iter().find_map(|wrapper| end.strip_suffix(wrapper)).map(str::len)
    };
    while let Some(end) = ends(text) {
        text.truncate(end);
    }
}

fn unwrapped(mut text: &str) -> &str {
    let begins = |text: &str| {
        let start = text.trim_start();
        let wrapper_at = WRAPPERS.iter().find(|wrapper| start.starts_with(**wrapper));
        wrapper_at.map(|wrapper| text.len() - start.len() + wrapper.len())
    };
    while let Some(begin) = begins(text) {
        text = &text[begin..];
    }
    text
}

/// Length of the white space and the closer at the beginning of `after`. At the end of the text,
/// the closer may be missing.
fn closed(after: &str, closer: &str) -> Option<usize> {
    let rest = after.trim_start();
    let end = rest.strip_prefix(closer).or(rest.is_empty().then_some(rest))?;
    Some(after.len() - end.len())
}

fn call(name: &str, arguments: String, tools: &[ToolSpec]) -> Option<ToolCall> {
    let name = tool_name(name.trim(), tools);
    tools.iter().find(|tool| tool.name == name)?;
    Some(ToolCall { id: String::new(), name: name.to_owned(), arguments })
}

fn framed(inside: &str, closer: &str, tools: &[ToolSpec]) -> FoundCalls {
    let (calls, end) = written_calls(inside, tools)?;
    Some((calls, end + closed(&inside[end..], closer)?))
}

fn fenced(inside: &str, closer: &str, tools: &[ToolSpec]) -> FoundCalls {
    let is_word = |word: &str| word.trim().chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    // The rest of a fence's first line is its language.
    let at = match inside.split_once('\n') {
        Some((language, _)) if is_word(language) => language.len() + 1,
        _ => 0,
    };
    let (calls, end) = framed(&inside[at..], closer, tools)?;
    Some((calls, at + end))
}

fn tool_call(inside: &str, closer: &str, tools: &[ToolSpec]) -> FoundCalls {
    if let Some(result) = framed(inside, closer, tools) {
        return Some(result);
    }
    let Some(function) = inside.trim_start().strip_prefix("<function=") else {
        return markup::read(inside, &GLM, tools);
    };
    let (calls, end) = qwen(function, "", tools)?;
    let end = inside.len() - function.len() + end;
    Some((calls, end + closed(&inside[end..], closer).unwrap_or(0)))
}

fn qwen(inside: &str, _: &str, tools: &[ToolSpec]) -> FoundCalls {
    markup::read(inside, &QWEN, tools)
}

fn invoke(inside: &str, _: &str, tools: &[ToolSpec]) -> FoundCalls {
    markup::read(inside, &INVOKE, tools)
}

fn dsml(inside: &str, _: &str, tools: &[ToolSpec]) -> FoundCalls {
    markup::read(inside, &INVOKE_DSML, tools)
}

/// A list of calls, or a name and arguments.
fn mistral(inside: &str, closer: &str, tools: &[ToolSpec]) -> FoundCalls {
    if let Some(result) = framed(inside, closer, tools) {
        return Some(result);
    }
    let (name, arguments) = inside.split_once("[ARGS]")?;
    let name = name.split("[CALL_ID]").next().unwrap_or_default();
    let (value, end) = json::value(arguments)?;
    let call = call(name, value.to_string(), tools)?;
    Some((vec![call], inside.len() - arguments.len() + end))
}

/// `functions.NAME:0`, and arguments.
fn kimi(inside: &str, closer: &str, tools: &[ToolSpec]) -> FoundCalls {
    let (name, rest) = inside.split_once("<|tool_call_argument_begin|>")?;
    let (arguments, rest) = rest.split_once(closer)?;
    let call = call(name, arguments.trim().to_owned(), tools)?;
    Some((vec![call], inside.len() - rest.len()))
}

/// The name and arguments. Before V3.1: the word "function", the name on its own line, and the
/// arguments in a fence.
fn deepseek(inside: &str, closer: &str, tools: &[ToolSpec]) -> FoundCalls {
    let (body, rest) = inside.split_once(closer)?;
    let (name, arguments) = body.split_once("<｜tool▁sep｜>")?;
    let read_call = |name: &str, arguments: &str| {
        let arguments = arguments.trim();
        let bare = arguments.strip_prefix("```json").and_then(|text| text.strip_suffix("```"));
        call(name, bare.unwrap_or(arguments).trim().to_owned(), tools)
    };
    let call = read_call(name, arguments).or_else(|| {
        let (name, arguments) = arguments.split_once('\n')?;
        read_call(name, arguments)
    })?;
    Some((vec![call], inside.len() - rest.len()))
}

/// A name, a channel, the type of the message, and arguments.
fn harmony(inside: &str, closer: &str, tools: &[ToolSpec]) -> FoundCalls {
    let (head, message) = inside.split_once("<|message|>")?;
    let name = head.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).next()?;
    let (value, end) = json::value(message)?;
    let arguments = match value {
        Value::Object(_) => value.to_string(),
        _ => return None,
    };
    let call = call(name, arguments, tools)?;
    let end = inside.len() - message.len() + end;
    Some((vec![call], end + closed(&inside[end..], closer).unwrap_or(0)))
}
