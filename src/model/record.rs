//! Records a model's answers for a replay.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::json;

use super::replay::{Header, RecordedTurn};
use super::{AgentNeeds, BoxFuture, Model, ModelError, OnText, Reply, Request, Turn};
use crate::config::ModelConfig;
use crate::error::Error;
use crate::secret::Secrets;

/// An open recording; clones write to the same file, so that all models of a run share it.
#[derive(Clone, Debug)]
pub struct AnswerRecorder(Rc<RecordingFile>);

#[derive(Debug)]
struct RecordingFile {
    path: PathBuf,
    file: RefCell<File>,
    secrets: Secrets,
}

impl AnswerRecorder {
    /// Starts a recording and replaces the file's content. `model` is for readers of the file;
    /// `secrets` are removed from everything recorded.
    pub fn create(path: &Path, model: &str, secrets: Secrets) -> anyhow::Result<Self> {
        let unwritable = |error: std::io::Error| {
            Error::model(format!("cannot write the recording {}: {error}", path.display()))
        };
        let mut file = File::create(path).map_err(unwritable)?;
        let header = json!(Header { cowork_replay: 1, model: model.to_owned() });
        writeln!(file, "{header}").map_err(unwritable)?;
        Ok(Self(Rc::new(RecordingFile {
            path: path.to_owned(),
            file: RefCell::new(file),
            secrets,
        })))
    }

    /// Appends one turn in one write, so that a crash leaves only complete lines.
    fn append(&self, request: &Request, reply: &Reply) -> std::io::Result<()> {
        let mut reply = reply.clone();
        reply.content = self.0.secrets.withheld(&reply.content).into_owned();
        for call in &mut reply.tool_calls {
            call.arguments = self.0.secrets.withheld_in_json(&call.arguments);
        }
        if let Some(opaque) = &mut reply.opaque {
            opaque.withhold(&self.0.secrets);
        }
        let line = RecordedTurn { at: (&request.position).into(), reply };
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        self.0.file.borrow_mut().write_all(text.as_bytes())
    }
}

/// A model whose answers are recorded.
pub struct Recording<M> {
    inner: M,
    recorder: AnswerRecorder,
}

impl<M: Model> Recording<M> {
    /// Records the answers of `inner`.
    pub fn new(inner: M, recorder: AnswerRecorder) -> Self {
        Self { inner, recorder }
    }
}

impl<M: Model> Model for Recording<M> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn turn<'a>(&'a self, request: &'a Request, on_text: OnText<'a>) -> Turn<'a> {
        Box::pin(async move {
            let reply = self.inner.turn(request, on_text).await?;
            self.recorder.append(request, &reply).map_err(|error| {
                let path = self.recorder.0.path.display();
                ModelError::Replay {
                    message: format!("cannot write the recording {path}: {error}"),
                }
            })?;
            Ok(reply)
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        self.inner.probe()
    }

    fn config(&self) -> Option<&ModelConfig> {
        self.inner.config()
    }

    fn agent(&self) -> Option<AgentNeeds> {
        self.inner.agent()
    }
}

#[cfg(test)]
mod tests {
    use super::super::replay::Replay;
    use super::*;
    use crate::model::ToolCall;
    use crate::model::test_server::request;

    #[tokio::test]
    async fn recorded_answers_are_replayed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        std::fs::write(&path, "old\n".repeat(99)).unwrap();
        let said = r#"{"cowork_replay":1,"model":"m"}
{"stage":"prd","role":"actor","iteration":1,"turn":1,"reply":{"content":"a\nb","tool_calls":[{"id":"1","name":"t","arguments":"{\"x\": 1"}],"opaque":{"origin":{"base_url":"u","model":"m"},"calls":{"1":{"sign":"s"}}},"finish_reason":"stop","usage":{"input":5,"output":2,"cached":1}}}"#;
        let recorder = AnswerRecorder::create(&path, "m", Secrets::default()).unwrap();
        let model: Box<dyn Model> = Box::new(Replay::parse("said", said).unwrap());
        let model = Recording::new(model, recorder);
        let first = model.turn(&request(), &|_| {}).await.unwrap();
        let again = Replay::open(&path).unwrap();
        let second = again.turn(&request(), &|_| {}).await.unwrap();
        assert_eq!(first, second);
        assert_eq!(second.usage.input, 5);
        let call = ToolCall { id: "1".into(), name: "t".into(), arguments: "{\"x\": 1".into() };
        assert_eq!(second.tool_calls, [call]);
        assert_eq!(second.opaque.unwrap().calls["1"]["sign"], "s");
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
        assert!(AnswerRecorder::create(folder.path(), "m", Secrets::default()).is_err());
    }
}
