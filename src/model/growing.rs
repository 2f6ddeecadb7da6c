//! Reports the progress of an answer a few times a second.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::stream::Assembly;
use crate::activity::{Activity, Watch};

/// Time between two reports.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum lines of the text in a report.
const TAIL: usize = 3;
/// Bytes at the end of the arguments that are searched for these lines.
const TAIL_BYTES: usize = 600;
/// Approximate number of characters per token.
const TOKEN: usize = 4;
/// Arguments that show what a call is about.
const NAMES: [&str; 4] = ["path", "name", "title", "id"];

/// Reports to a [`Watch`], if there is one.
#[derive(Default)]
pub struct Growing {
    watch: Option<Watch>,
    last_report: Cell<Option<Instant>>,
}

impl Growing {
    /// Reports to this watch.
    pub fn new(watch: Option<Watch>) -> Self {
        Self { watch, last_report: Cell::default() }
    }

    /// Reports that a request is sent.
    pub fn asks(&self, model: &str, server: &str, gives_up: Duration) {
        self.last_report.set(None);
        let (model, server) = (model.to_owned(), server.to_owned());
        self.tell(Activity::Asks { model, server, gives_up });
    }

    /// Reports a part of the answer. `clean` removes keys from the text.
    pub fn grows(&self, assembly: &Assembly, clean: impl Fn(&str) -> String) {
        let is_due = self.last_report.get().is_none_or(|at| at.elapsed() >= PAUSE);
        if self.watch.is_some() && is_due && assembly.started() {
            self.last_report.set(Some(Instant::now()));
            self.tell(now(assembly, clean));
        }
    }

    /// Reports that the answer is complete, or has failed.
    pub fn ends(&self) {
        self.tell(Activity::Answered);
    }

    fn tell(&self, activity: Activity) {
        if let Some(watch) = &self.watch {
            watch(activity);
        }
    }
}

fn now(assembly: &Assembly, clean: impl Fn(&str) -> String) -> Activity {
    let tokens = (assembly.chars() / TOKEN) as u64;
    match assembly.newest_call() {
        Some(call) => Activity::Calls {
            tool: call.name.clone(),
            path: NAMES.iter().find_map(|name| argument(&call.arguments, name)).unwrap_or_default(),
            lines: call.arguments.matches("\\n").count(),
            tail: tail(&call.arguments).iter().map(|line| clean(line)).collect(),
            tokens,
        },
        None if assembly.text().trim().is_empty() => Activity::Thinks { tokens },
        None => Activity::Answers { tokens },
    }
}

/// The value of an argument in incomplete JSON.
fn argument(arguments: &str, name: &str) -> Option<String> {
    let (_, rest) = arguments.split_once(&format!("\"{name}\""))?;
    let text = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let (text, _) = text.split_once('"')?;
    Some(text.to_owned())
}

/// The last complete lines of the text that is being written.
fn tail(arguments: &str) -> Vec<String> {
    let from =
        (arguments.len().saturating_sub(TAIL_BYTES)..).find(|at| arguments.is_char_boundary(*at));
    let end = &arguments[from.unwrap_or_default()..];
    let mut lines: Vec<&str> = end.split("\\n").skip(1).collect();
    lines.pop();
    let lines = &lines[lines.len().saturating_sub(TAIL)..];
    // Only quotes, tabs and backslashes are unescaped; other escapes are shown as they are.
    lines
        .iter()
        .map(|line| line.replace("\\\"", "\"").replace("\\t", "    ").replace("\\\\", "\\"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_before_they_are_complete() {
        let arguments = r#"{"path": "src/a.rs", "content": "fn a() {\n    say(\"hi\");\n}\n// the"#;
        assert_eq!(argument(arguments, "path").unwrap(), "src/a.rs");
        assert_eq!(argument(arguments, "content"), Some("fn a() {\\n    say(\\".into()));
        assert_eq!(argument(r#"{"path": "src/"#, "path"), None);
        assert_eq!(tail(arguments), ["    say(\"hi\");", "}"]);
        assert!(tail("").is_empty() && tail(r#"{"a": "b\nc"#).is_empty());
        let long = format!("{{\"content\": \"{}", "ä long line\\n".repeat(200));
        assert_eq!(tail(&long), ["ä long line"; 3]);
    }
}
