//! A model that replays recorded answers. They are found by the position of a request, not by its
//! content, so a changed prompt does not break a recording. It never invents an answer.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{
    BoxFuture, Model, ModelError, OnText, Position, Reply, Request, Turn, stage_name, thinking,
};
use crate::error::Error;
use crate::stage::{Role, Stage};

/// First line of a recording.
#[derive(Debug, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub cowork_replay: u32,
    /// Name of the recorded model.
    #[serde(default)]
    pub model: String,
}

/// A position without the session's name: a recording fits any session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReplayKey {
    /// Stage; none in the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Role.
    pub role: Role,
    /// Draft number.
    pub iteration: u32,
    /// Task id in coding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Turn.
    pub turn: u32,
}

impl From<&Position> for ReplayKey {
    fn from(at: &Position) -> Self {
        Self {
            stage: at.stage,
            role: at.role,
            iteration: at.iteration,
            task: at.task.clone(),
            turn: at.turn,
        }
    }
}

/// A recorded turn: every line but the first.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordedTurn {
    /// The position.
    #[serde(flatten)]
    pub at: ReplayKey,
    /// The answer.
    #[serde(deserialize_with = "lenient_reply")]
    pub reply: Reply,
}

/// A recording being played.
#[derive(Debug)]
pub struct Replay {
    source: String,
    model: String,
    answers: HashMap<ReplayKey, Answers>,
}

/// The answers for one position, in order: a position occurs again after work was rewound.
#[derive(Debug, Default)]
struct Answers {
    replies: Vec<Reply>,
    next: Cell<usize>,
}

impl Replay {
    /// Reads a recording from a file.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::model(format!("cannot read the recording {}: {error}", path.display()))
                .hint("name a file that was made with --record")
        })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a recording. `source` names it in messages.
    ///
    /// # Errors
    ///
    /// Of kind `Model`, with the number of the invalid line.
    pub fn parse(source: &str, text: &str) -> anyhow::Result<Self> {
        let wrong = |line: usize, why: String| {
            Error::model(format!("recording {source}, line {}: {why}", line + 1))
                .hint("record again with --record FILE")
        };
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let (n, first) = lines.next().unwrap_or_default();
        let header: Header = serde_json::from_str(first)
            .map_err(|_| wrong(n, r#"no header such as {"cowork_replay":1}"#.into()))?;
        if header.cowork_replay != 1 {
            return Err(wrong(n, format!("unknown version {}", header.cowork_replay)).into());
        }
        let mut answers: HashMap<ReplayKey, Answers> = HashMap::new();
        for (n, line) in lines {
            let mut line: RecordedTurn =
                serde_json::from_str(line).map_err(|e| wrong(n, plain(&e)))?;
            // Recordings of earlier versions contain thoughts in tags.
            line.reply.content = thinking::spoken(&line.reply.content);
            answers.entry(line.at).or_default().replies.push(line.reply);
        }
        let model = if header.model.is_empty() { "replay".to_owned() } else { header.model };
        Ok(Self { source: source.to_owned(), model, answers })
    }

    /// The answer for a position: each call returns the next recorded one; the last is repeated.
    pub(super) fn answer(&self, position: &Position) -> Result<Reply, ModelError> {
        let reply = self.at(&position.into());
        reply.ok_or_else(|| ModelError::Replay { message: self.missing(position) })
    }

    /// Like [`Self::answer`], for a key; none if nothing was recorded.
    pub(super) fn at(&self, key: &ReplayKey) -> Option<Reply> {
        let answers = self.answers.get(key)?;
        let n = answers.next.get();
        answers.next.set((n + 1).min(answers.replies.len().saturating_sub(1)));
        let reply = answers.replies.get(n)?.clone();
        Some(Reply { model: self.model.clone(), requests: 0, ..reply })
    }

    /// The positions with recorded answers.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ReplayKey> {
        self.answers.keys()
    }

    fn missing(&self, position: &Position) -> String {
        let Position { role, iteration, task, turn, .. } = position;
        let stage = stage_name(position.stage);
        let of_task = task.as_ref().map(|task| format!(" {task}")).unwrap_or_default();
        let near = |key: &&ReplayKey| key.stage == position.stage && key.role == *role;
        // For each draft (and task), the last recorded turn.
        let mut drafts: BTreeMap<(Option<&str>, u32), u32> = BTreeMap::new();
        for key in self.answers.keys().filter(near) {
            let last = drafts.entry((key.task.as_deref(), key.iteration)).or_default();
            *last = key.turn.max(*last);
        }
        let has = if drafts.is_empty() {
            format!("nothing for the {role} of {stage}")
        } else {
            let describe = |((task, iteration), last): (&(Option<&str>, u32), &u32)| {
                let task = task.map(|task| format!("{task} ")).unwrap_or_default();
                format!("{task}draft {iteration} up to turn {last}")
            };
            drafts.iter().map(describe).collect::<Vec<_>>().join(", ")
        };
        format!(
            "the recording {} has no answer for {stage}/{role}{of_task}, draft {iteration}, turn \
             {turn} (it has: {has}), and a replay never invents one",
            self.source
        )
    }
}

impl Model for Replay {
    fn name(&self) -> &str {
        &self.model
    }

    fn turn<'a>(&'a self, request: &'a Request, on_text: OnText<'a>) -> Turn<'a> {
        Box::pin(async move { shown(self.answer(&request.position), on_text) })
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Passes the text of a recorded answer to `on_text`, all at once.
pub(super) fn shown(
    answer: Result<Reply, ModelError>,
    on_text: OnText<'_>,
) -> Result<Reply, ModelError> {
    if let Ok(reply) = &answer
        && !reply.content.is_empty()
    {
        on_text(&reply.content);
    }
    answer
}

/// Reads a reply. Arguments may be written as objects, which people read and write more easily, and
/// calls may lack ids.
fn lenient_reply<'de, D: Deserializer<'de>>(input: D) -> Result<Reply, D::Error> {
    let mut value = Value::deserialize(input)?;
    let calls = value.get_mut("tool_calls").and_then(Value::as_array_mut);
    for (n, call) in calls.into_iter().flatten().enumerate() {
        let Some(fields) = call.as_object_mut() else { continue };
        fields.entry("id").or_insert_with(|| format!("call_{}", n + 1).into());
        let arguments = fields.entry("arguments").or_insert_with(|| "{}".into());
        if !arguments.is_string() {
            *arguments = arguments.to_string().into();
        }
    }
    serde_json::from_value(value).map_err(serde::de::Error::custom)
}

/// The error of a line, without the parser's own line number.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_server::request;

    const RECORDING: &str = r#"{"cowork_replay":1,"model":"m"}
{"stage":"prd","role":"actor","iteration":1,"turn":1,"reply":{"tool_calls":[{"name":"t","arguments":{"b":1,"a":[2]}}]}}

{"stage":"prd","role":"actor","iteration":1,"turn":2,"reply":{"content":"first"}}
{"stage":"prd","role":"actor","iteration":1,"turn":2,"reply":{"content":"second"}}
{"stage":"coding","role":"actor","iteration":1,"task":"TASK-001","turn":1,"reply":{"content":"code"}}
"#;

    fn ask(replay: &Replay, change: impl Fn(&mut Position)) -> Result<String, String> {
        let mut position = request().position;
        change(&mut position);
        replay.answer(&position).map(|reply| reply.content).map_err(|e| e.to_string())
    }

    #[tokio::test]
    async fn text_is_passed_on_and_arguments_may_be_objects() {
        let replay = Replay::parse("r", RECORDING).unwrap();
        let mut request = request();
        let reply = replay.turn(&request, &|_| panic!("no text")).await.unwrap();
        assert_eq!(reply.tool_calls[0].arguments, r#"{"b":1,"a":[2]}"#);
        assert_eq!(reply.tool_calls[0].id, "call_1");
        assert_eq!((reply.requests, reply.model.as_str()), (0, "m"));
        request.position.turn = 2;
        request.position.session = "another".into();
        let heard = std::cell::RefCell::new(String::new());
        replay.turn(&request, &|text| heard.borrow_mut().push_str(text)).await.unwrap();
        assert_eq!(heard.into_inner(), "first");
    }

    #[test]
    fn a_position_that_came_twice_gives_its_answers_in_order() {
        let replay = Replay::parse("r", RECORDING).unwrap();
        let answers = [(); 3].map(|()| ask(&replay, |p| p.turn = 2).unwrap());
        assert_eq!(answers, ["first", "second", "second"]);
    }

    #[test]
    fn a_missing_answer_is_an_error() {
        let replay = Replay::parse("r", RECORDING).unwrap();
        let error = ask(&replay, |p| p.turn = 9).unwrap_err();
        assert!(
            error.contains("prd/actor, draft 1, turn 9 (it has: draft 1 up to turn 2)"),
            "{error}"
        );
        let error = ask(&replay, |p| p.role = Role::Critic).unwrap_err();
        assert!(error.contains("nothing for the critic of prd"), "{error}");
        let coding = |task: &'static str| {
            ask(&replay, move |p| {
                p.stage = Some(Stage::Coding);
                p.task = Some(task.into());
            })
        };
        assert_eq!(coding("TASK-001").unwrap(), "code");
        let error = coding("TASK-002").unwrap_err();
        assert!(error.contains("coding/actor TASK-002, draft 1, turn 1"), "{error}");
        assert!(error.contains("TASK-001 draft 1 up to turn 1"), "{error}");
    }

    #[test]
    fn a_malformed_line_is_named() {
        let error = |text: &str| Replay::parse("r", text).unwrap_err().to_string();
        assert!(error("").contains("line 1"));
        assert!(error("{\"cowork_replay\":2}").contains("version 2"));
        let broken = RECORDING.replace("\"content\":\"first\"", "\"content\":7");
        assert!(error(&broken).starts_with("recording r, line 4:"), "{}", error(&broken));
        assert!(error(&format!("{RECORDING}{{\"stage\":")).contains("line 7"));
    }
}
