//! Writes events as JSON lines to stdout, one object each, for scripts.
//!
//! Stdout has only the events of a run; warnings go to stderr as text, so that
//! stdout stays parsable.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use super::clean::escaped_json;
use super::out::{Out, Output};
use crate::clean::{one_line, sanitize};
use crate::clock;
use crate::error::{Kind, hints_of, kind_of};
use crate::event::{Event, Sink, Usage};

/// Writes JSON lines.
pub struct JsonLines {
    streams: Mutex<Streams>,
    now: fn() -> SystemTime,
}

struct Streams {
    out: Out,
    err: Out,
    session: String,
}

impl JsonLines {
    /// Writes objects to `stdout` and warnings to `stderr`. `session` may be empty until it is
    /// known.
    pub fn new(stdout: Output, stderr: Output, session: &str) -> Self {
        let streams =
            Streams { out: Out::new(stdout), err: Out::new(stderr), session: session.to_owned() };
        Self { streams: Mutex::new(streams), now: clock::now }
    }

    /// Sets the session that later objects name.
    pub fn set_session(&self, session: &str) {
        session.clone_into(&mut self.lock().session);
    }

    /// True if writing to stdout has failed.
    pub fn broken(&self) -> bool {
        self.lock().out.broken()
    }

    /// Writes the `error` object of a failure that ends the run.
    pub fn error(&self, error: &anyhow::Error) {
        let causes: Vec<String> = error.chain().skip(1).map(|e| sanitize(&e.to_string())).collect();
        let kind = kind_of(error);
        self.line(
            "error",
            json!({
                "kind": kind_name(kind),
                "exit": kind.exit_code(),
                "message": sanitize(&error.to_string()),
                "causes": causes,
                "hints": hints_of(error),
            }),
        );
    }

    fn line(&self, event: &str, fields: Value) {
        let mut streams = self.lock();
        let mut object = Map::new();
        object.insert("event".to_owned(), event.into());
        object.insert("at".to_owned(), clock::rfc3339((self.now)()).into());
        object.insert("session".to_owned(), streams.session.clone().into());
        if let Value::Object(fields) = fields {
            object.extend(fields);
        }
        let line = format!("{}\n", escaped_json(&Value::Object(object).to_string()));
        streams.out.put(&line);
    }

    fn warn(&self, text: &str) {
        let line = format!("warning: {}\n", one_line(text, usize::MAX));
        self.lock().err.put(&line);
    }

    fn lock(&self) -> MutexGuard<'_, Streams> {
        // A line is written in one piece, so a panic elsewhere leaves no partial state here.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for JsonLines {
    fn emit(&self, event: Event) {
        match event {
            Event::SessionStarted { branch, resumed, .. } => {
                self.line("session_started", json!({ "branch": branch, "resumed": resumed }));
            }
            Event::StageStarted { stage, .. } => {
                self.line("stage_started", json!({ "stage": stage }))
            }
            Event::ModelRequest { stage, role, iteration, turn, usage, millis } => self.line(
                "model_request",
                json!({
                    "stage": stage,
                    "role": role,
                    "iteration": iteration,
                    "turn": turn,
                    "tokens": tokens(usage),
                    "millis": millis,
                }),
            ),
            Event::ToolCall { tool, brief, ok, answer, command_failed: _ } => self.line(
                "tool_call",
                json!({
                    "tool": sanitize(&tool),
                    "brief": sanitize(&brief),
                    "ok": ok,
                    "answer": sanitize(&answer),
                }),
            ),
            Event::Feedback { stage, from, severity, details } => self.line(
                "feedback",
                json!({
                    "stage": stage,
                    "from": from,
                    "severity": severity,
                    "details": sanitize(&details),
                }),
            ),
            Event::SelfReview { stage, iteration, outcome, files, unfixed } => self.line(
                "self_review",
                json!({
                    "stage": stage,
                    "iteration": iteration,
                    "outcome": outcome,
                    "files": files.iter().map(|path| sanitize(path)).collect::<Vec<_>>(),
                    "unfixed": unfixed,
                }),
            ),
            Event::ReviewRequested { stage, iteration, commit, reason } => self.line(
                "review_requested",
                json!({
                    "stage": stage,
                    "iteration": iteration,
                    "commit": commit,
                    "reason": reason.as_deref().map(sanitize),
                }),
            ),
            Event::QuestionAnswered { stage, iteration, question, answer } => self.line(
                "question_answered",
                json!({
                    "stage": stage,
                    "iteration": iteration,
                    "question": question,
                    "answer": answer,
                }),
            ),
            Event::StageCompleted { stage, commit, tag, subject, spent } => self.line(
                "stage_completed",
                json!({
                    "stage": stage,
                    "commit": commit,
                    "tag": tag,
                    "subject": subject,
                    "tokens": tokens(spent.usage),
                    "millis": spent.millis,
                }),
            ),
            Event::SessionCompleted { commit, spent, .. } => self.line(
                "session_completed",
                json!({
                    "commit": commit,
                    "tokens": tokens(spent.usage),
                    "millis": spent.millis,
                }),
            ),
            Event::Warning { text } => self.warn(&text),
            Event::Alert { title, text } => self.warn(&format!("{title}: {text}")),
            Event::DraftStarted { .. }
            | Event::Speaker { .. }
            | Event::Text { .. }
            | Event::Now(_)
            | Event::TaskCompleted { .. }
            | Event::Note { .. } => {}
        }
    }
}

fn tokens(usage: Usage) -> Value {
    json!({ "in": usage.input, "out": usage.output, "cached": usage.cached })
}

const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Failed => "failed",
        Kind::Usage => "usage",
        Kind::Waiting => "waiting",
        Kind::Model => "model",
        Kind::Repository => "repository",
        Kind::Interrupted => "interrupted",
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use anyhow::Context as _;

    use super::super::testing::{Broken, Captured};
    use super::*;
    use crate::error::Error;
    use crate::event::Usage;
    use crate::spent::Spent;
    use crate::stage::{Role, Stage};

    fn sink(out: &Captured, err: &Captured) -> JsonLines {
        let mut sink = JsonLines::new(Box::new(out.clone()), Box::new(err.clone()), "todo");
        sink.now = || UNIX_EPOCH + Duration::from_secs(1_795_257_845);
        sink
    }

    fn events() -> Vec<Event> {
        let commit = "0123456789abcdef".to_owned();
        let stage = Stage::Prd;
        let subject = "prd: 4 requirements".to_owned();
        vec![
            Event::SessionStarted {
                branch: "cowork/todo".into(),
                resumed: false,
                title: String::new(),
            },
            Event::StageStarted { stage, number: 1, of: 7, order: Vec::new() },
            Event::DraftStarted { stage, iteration: 1, limit: 3, task: None, tasks: (0, 0) },
            Event::Text { text: "never shown".into() },
            Event::ModelRequest {
                stage,
                role: Role::SelfReview,
                iteration: 1,
                turn: 2,
                usage: Usage { input: 10, output: 5, cached: 3 },
                millis: 7,
            },
            Event::ToolCall {
                tool: "write_file".into(),
                brief: "a\x1b[1m\"b\"".into(),
                ok: true,
                command_failed: false,
                answer: "x\ny".into(),
            },
            Event::Feedback {
                stage,
                from: "critic".into(),
                severity: "major".into(),
                details: "no".into(),
            },
            Event::ReviewRequested { stage, iteration: 1, commit: None, reason: None },
            Event::StageCompleted {
                stage,
                commit: commit.clone(),
                tag: None,
                subject,
                spent: Spent::default(),
            },
            Event::SessionCompleted {
                commit,
                spent: Spent::default(),
                here: Spent::default(),
                delivered: None,
            },
            Event::Warning { text: "be\nware".into() },
            Event::Note { text: "never shown".into() },
        ]
    }

    #[test]
    fn every_line_is_an_object_with_known_fields() {
        let (out, err) = (Captured::default(), Captured::default());
        let sink = sink(&out, &err);
        events().into_iter().for_each(|event| sink.emit(event));
        let lines: Vec<Value> =
            out.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let names: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "session_started",
                "stage_started",
                "model_request",
                "tool_call",
                "feedback",
                "review_requested",
                "stage_completed",
                "session_completed"
            ]
        );
        for line in &lines {
            assert_eq!(line["at"], "2026-11-21T10:44:05Z");
            assert_eq!(line["session"], "todo");
        }
        assert_eq!(lines[2]["role"], "self-review");
        assert_eq!(lines[2]["tokens"], json!({ "in": 10, "out": 5, "cached": 3 }));
        assert_eq!(lines[3]["brief"], "a\"b\"");
        assert_eq!(lines[6]["commit"], "0123456789abcdef");
        assert_eq!(lines[6]["tag"], Value::Null);
        assert!(!out.text().contains("never shown"));
        assert_eq!(err.text(), "warning: be ware\n");
        assert!(out.text().starts_with(
            r#"{"event":"session_started","at":"2026-11-21T10:44:05Z","session":"todo","branch""#
        ));
    }

    #[test]
    fn an_error_has_kind_causes_and_hints() {
        let (out, err) = (Captured::default(), Captured::default());
        let sink = sink(&out, &err);
        let error = anyhow::Error::from(Error::model("no key").hint("set one"));
        sink.error(&Err::<(), _>(error).context("asking").unwrap_err());
        let line: Value = serde_json::from_str(&out.text()).unwrap();
        assert_eq!(line["event"], "error");
        assert_eq!((line["kind"].as_str(), line["exit"].as_u64()), (Some("model"), Some(4)));
        assert_eq!(line["message"], "asking");
        assert_eq!(line["causes"], json!(["no key"]));
        assert_eq!(line["hints"], json!(["set one"]));
    }

    #[test]
    fn a_closed_output_is_remembered() {
        let sink = JsonLines::new(Box::new(Broken), Box::new(Broken), "");
        assert!(!sink.broken());
        events().into_iter().for_each(|event| sink.emit(event));
        assert!(sink.broken());
    }
}
