//! The full conversation of a run, as JSON lines in the state directory. It shows what a model
//! really said, and lets a killed run resume.
//!
//! A file contains one part of a conversation (stage, role, iteration, task). Each run of that part
//! starts with a `run` line with the tip it was based on and, if the conversation began earlier,
//! the run that it continues. The run ends with an `end` line; a run without one was interrupted,
//! and is resumed if the tip is still the same.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::model::Message;
use crate::workspace::Seen;

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum TranscriptLine {
    Run {
        at: String,
        tip: String,
        /// Number of opening messages.
        #[serde(default = "two")]
        opening: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<RunId>,
    },
    Message {
        at: String,
        message: Message,
        #[serde(default, skip_serializing_if = "How::is_done")]
        how: How,
        /// Files that this message showed to the model.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<Seen>,
    },
    End {
        at: String,
    },
    /// The server refuses the conversation as it is.
    Refused {
        at: String,
    },
}

/// The default for older transcripts: a system message and the prompt.
const fn two() -> usize {
    2
}

/// A run of a part of a conversation: the name of its transcript and the tip it was based on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunId {
    transcript: String,
    tip: String,
}

impl RunId {
    /// The commit that the run was based on.
    pub fn tip(&self) -> &str {
        &self.tip
    }
}

/// The earlier messages of a conversation that a new run continues.
#[derive(Debug, Default)]
pub struct EarlierConversation {
    run: Option<RunId>,
    pub(super) messages: Vec<Earlier>,
}

impl EarlierConversation {
    /// Loads all messages up to the end of `run`, including the runs that it continues. None if a
    /// transcript is missing, a call has no answer, or the server refused the conversation: it
    /// cannot be continued.
    pub fn load(dir: &Path, run: &RunId) -> Option<Self> {
        let mut parts = Vec::new();
        let mut next = Some(run.clone());
        while let Some(id) = next {
            // Each part is based on a later commit than the one before, so the chain must end.
            if parts.len() > MOST_PARTS {
                return None;
            }
            let newest = newest_run(dir, &id)?;
            next = newest.after;
            parts.push(newest.messages);
        }
        let messages: Vec<Earlier> = parts.into_iter().rev().flatten().collect();
        let is_open = messages.iter().rev().find_map(|one| match &one.message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls.iter().any(|call| {
                !messages.iter().any(|other| {
                    matches!(&other.message, Message::Tool { tool_call_id, .. } if *tool_call_id == call.id)
                })
            })),
            _ => None,
        });
        (is_open == Some(false)).then(|| Self { run: Some(run.clone()), messages })
    }

    /// Notes that the user typed in the earlier runs, as sent to the model.
    pub fn typed(&self) -> impl Iterator<Item = &str> {
        typed(&self.messages)
    }

    /// Files in the state in which the model last saw them.
    pub fn seen(&self) -> BTreeMap<&str, &Seen> {
        let files = self.messages.iter().flat_map(|one| &one.seen);
        files.map(|file| (file.path.as_str(), file)).collect()
    }

    /// True if the conversation leaves enough of a window of `tokens` to continue.
    pub fn leaves_room(&self, tokens: u64) -> bool {
        let messages = self.messages.iter().map(|one| &one.message);
        super::window::leaves_room(messages, tokens)
    }
}

/// Maximum number of parts that are loaded for one conversation.
const MOST_PARTS: usize = 200;

/// The result of a tool call. Other messages have [`How::Typed`] if the user typed them, otherwise
/// [`How::Done`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum How {
    /// The call succeeded.
    #[default]
    Done,
    /// The call failed.
    Failed,
    /// A guard refused the call.
    Guarded,
    /// Not a call: the user typed it while the actor worked.
    Typed,
}

impl How {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_done(&self) -> bool {
        *self == Self::Done
    }
}

/// A message of an earlier run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Earlier {
    pub message: Message,
    pub how: How,
    pub seen: Vec<Seen>,
}

/// Notes that the user typed, among these messages.
fn typed(messages: &[Earlier]) -> impl Iterator<Item = &str> {
    messages.iter().filter(|one| one.how == How::Typed).filter_map(|one| match &one.message {
        Message::User { content } => Some(content.as_str()),
        _ => None,
    })
}

/// The newest run in a file.
struct NewestRun {
    opening: usize,
    after: Option<RunId>,
    messages: Vec<Earlier>,
}

/// The transcript of one part of a conversation, open for writing.
#[derive(Debug)]
pub struct RunTranscript {
    dir: PathBuf,
    id: RunId,
    resumable: bool,
    before: EarlierConversation,
    file: Option<File>,
}

impl RunTranscript {
    /// Opens the transcript called `name` in `dir`, for a run on top of the commit `tip`. If
    /// `resumable` is true, it continues the last run on that tip: pass true if that run was
    /// interrupted and its files are still in the tree. A critic is not resumable: it must always
    /// see the draft as if for the first time.
    pub fn new(dir: &Path, name: &str, tip: &str, resumable: bool) -> Self {
        let id = RunId { transcript: name.to_owned(), tip: tip.to_owned() };
        Self {
            dir: dir.to_owned(),
            id,
            resumable,
            before: EarlierConversation::default(),
            file: None,
        }
    }

    /// The id of this run.
    pub const fn id(&self) -> &RunId {
        &self.id
    }

    /// If this run resumes an interrupted run, returns the run that the interrupted run continued,
    /// if any.
    pub fn cut_run_after(&self) -> Option<Option<RunId>> {
        self.cut_run().map(|run| run.after)
    }

    /// Notes that the user typed in the interrupted run, as sent to the model.
    pub fn typed_in_cut_run(&self) -> Vec<String> {
        let run = self.cut_run();
        run.iter().flat_map(|run| typed(&run.messages)).map(str::to_owned).collect()
    }

    /// Puts earlier messages before this run.
    pub fn go_on_from(&mut self, before: EarlierConversation) {
        self.before = before;
    }

    /// True if there are earlier messages.
    pub(super) const fn goes_on(&self) -> bool {
        self.before.run.is_some()
    }

    /// Starts the run, or resumes the interrupted one. Returns the messages before it, and its own
    /// messages after the opening ones.
    pub(super) fn begin(
        &mut self,
        opening: &[Message],
    ) -> anyhow::Result<(Vec<Earlier>, Vec<Earlier>)> {
        let before = std::mem::take(&mut self.before.messages);
        let cut = self.cut_run();
        std::fs::create_dir_all(&self.dir)
            .with_context(|| format!("creating {}", self.dir.display()))?;
        let path = file_of(&self.dir, &self.id.transcript);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        self.file = Some(file.with_context(|| format!("opening {}", path.display()))?);
        if std::fs::read(&path).is_ok_and(|bytes| bytes.last().is_some_and(|b| *b != b'\n')) {
            self.raw("\n")?;
        }
        if let Some(cut) = cut {
            // The opening may have changed since the run was interrupted (another release, other
            // limits): use the new opening, and keep the rest of the conversation.
            return Ok((before, cut.messages.into_iter().skip(cut.opening).collect()));
        }
        let (tip, after) = (self.id.tip.clone(), self.before.run.clone());
        self.line(&TranscriptLine::Run { at: now(), tip, opening: opening.len(), after })?;
        for message in opening {
            self.message(message)?;
        }
        Ok((before, Vec::new()))
    }

    /// Writes a message.
    pub(super) fn message(&mut self, message: &Message) -> anyhow::Result<()> {
        self.answer(message, How::Done, Vec::new())
    }

    /// Writes what the user typed while the actor worked.
    pub(super) fn typed(&mut self, message: &Message) -> anyhow::Result<()> {
        self.answer(message, How::Typed, Vec::new())
    }

    /// Writes the answer to a tool call, and the files that it showed to the model.
    pub(super) fn answer(
        &mut self,
        message: &Message,
        how: How,
        seen: Vec<Seen>,
    ) -> anyhow::Result<()> {
        self.line(&TranscriptLine::Message { at: now(), message: message.clone(), how, seen })
    }

    /// Writes that the run ended.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        self.line(&TranscriptLine::End { at: now() })
    }

    /// Writes that the conversation was refused, so that no run continues it.
    pub(super) fn refused(&mut self) -> anyhow::Result<()> {
        self.line(&TranscriptLine::Refused { at: now() })
    }

    fn line(&mut self, line: &TranscriptLine) -> anyhow::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.raw(&text)
    }

    fn raw(&mut self, text: &str) -> anyhow::Result<()> {
        if let Some(file) = &mut self.file {
            // One write call, so that a killed process leaves complete lines and at most one
            // partial last line.
            file.write_all(text.as_bytes())
                .with_context(|| format!("writing the transcript {}", self.id.transcript))?;
        }
        Ok(())
    }

    /// The last run on this tip, finished or interrupted; `None` unless `resumable` is true.
    fn cut_run(&self) -> Option<NewestRun> {
        if !self.resumable {
            return None;
        }
        newest_run(&self.dir, &self.id).filter(|run| !run.messages.is_empty())
    }
}

fn file_of(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.jsonl"))
}

/// The last run in a file, if it was based on that tip and was not refused.
fn newest_run(dir: &Path, id: &RunId) -> Option<NewestRun> {
    let text = std::fs::read_to_string(file_of(dir, &id.transcript)).ok()?;
    let mut newest = None;
    for line in text.lines() {
        // A killed process can leave a half-written last line; that message had no effect yet.
        match serde_json::from_str(line) {
            Ok(TranscriptLine::Run { tip, opening, after, .. }) => {
                newest =
                    (tip == id.tip).then(|| NewestRun { opening, after, messages: Vec::new() });
            }
            Ok(TranscriptLine::Message { message, how, seen, .. }) => {
                if let Some(run) = &mut newest {
                    run.messages.push(Earlier { message, how, seen });
                }
            }
            Ok(TranscriptLine::Refused { .. }) => newest = None,
            Ok(TranscriptLine::End { .. }) | Err(_) => {}
        }
    }
    newest
}

fn now() -> String {
    clock::rfc3339(clock::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolCall;

    fn user(text: &str) -> Message {
        Message::User { content: text.to_owned() }
    }

    #[test]
    fn a_line_without_opaque_fields_is_read_and_one_with_them_keeps_them() {
        let old = r#"{"type":"message","at":"","message":{"role":"assistant","content":"a"}}"#;
        let Ok(TranscriptLine::Message {
            message: Message::Assistant { opaque: None, .. }, ..
        }) = serde_json::from_str(old)
        else {
            panic!("an older transcript is not read");
        };
        let said = r#"{"role":"assistant","content":"a","opaque":{"origin":{"base_url":"u","model":"m"},"message":{"reasoning":"b"},"items":[{"type":"reasoning"}]}}"#;
        let message: Message = serde_json::from_str(said).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), said);
    }

    #[test]
    fn a_refused_conversation_is_not_resumed() {
        let dir = tempfile::tempdir().unwrap();
        let open = [user("open")];
        let new = || RunTranscript::new(dir.path(), "prd.1.actor", "a", true);
        let mut first = new();
        first.begin(&open).unwrap();
        first.message(&user("one")).unwrap();
        assert_eq!(new().cut_run().unwrap().messages.len(), 2);
        first.refused().unwrap();
        assert!(new().cut_run().is_none());
        // The next run starts from scratch.
        assert!(new().begin(&open).unwrap().1.is_empty());
        assert_eq!(new().cut_run().unwrap().messages.len(), 1);
    }

    #[test]
    fn a_run_is_resumed_only_on_its_tip_and_if_resumable() {
        let dir = tempfile::tempdir().unwrap();
        let open = [user("open")];
        let new = |tip: &str| RunTranscript::new(dir.path(), "prd.1.actor", tip, true);
        let mut first = new("a");
        assert!(first.begin(&open).unwrap().1.is_empty());
        let seen = Seen {
            path: "a".to_owned(),
            content: crate::workspace::Fingerprint::of(b"text"),
            lines: 1,
        };
        first.answer(&user("one"), How::Guarded, vec![seen.clone()]).unwrap();
        drop(first);
        std::fs::OpenOptions::new()
            .append(true)
            .open(dir.path().join("prd.1.actor.jsonl"))
            .unwrap()
            .write_all(b"{\"type\":\"mess")
            .unwrap();

        assert!(new("b").cut_run().is_none(), "another tip is another conversation");
        let mut second = new("a");
        let one = Earlier { message: user("one"), how: How::Guarded, seen: vec![seen] };
        assert_eq!(second.begin(&[user("new opening")]).unwrap().1, [one]);
        second.end().unwrap();
        let mut fresh = RunTranscript::new(dir.path(), "prd.1.actor", "a", false);
        assert!(fresh.begin(&open).unwrap().1.is_empty());
    }

    fn said(text: &str, calls: &[&str]) -> Message {
        let call = |id: &&str| ToolCall { id: (*id).to_owned(), ..ToolCall::default() };
        let tool_calls = calls.iter().map(call).collect();
        Message::Assistant { content: text.to_owned(), tool_calls, opaque: None }
    }

    fn answer(id: &str) -> Message {
        Message::Tool { tool_call_id: id.to_owned(), content: String::new() }
    }

    #[test]
    fn a_conversation_is_loaded_across_all_its_parts() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = RunTranscript::new(dir.path(), "coding.1.actor.TASK-001", "a", false);
        let open = [Message::System { content: "who".to_owned() }, user("one")];
        first.begin(&open).unwrap();
        first.message(&said("done", &["1"])).unwrap();
        assert!(
            EarlierConversation::load(dir.path(), first.id()).is_none(),
            "a call has no answer yet"
        );
        first.message(&answer("1")).unwrap();
        first.end().unwrap();

        let mut second = RunTranscript::new(dir.path(), "coding.1.actor.TASK-002", "b", true);
        second.go_on_from(EarlierConversation::load(dir.path(), first.id()).unwrap());
        assert!(second.goes_on());
        let (before, own) = second.begin(&[user("two")]).unwrap();
        assert_eq!((before.len(), own.len()), (4, 0));
        second.message(&said("done, too", &[])).unwrap();
        drop(second);

        // The second run was interrupted: its transcript names the run that it continued.
        let again = RunTranscript::new(dir.path(), "coding.1.actor.TASK-002", "b", true);
        assert_eq!(again.cut_run_after().unwrap().as_ref(), Some(first.id()));
        let whole = EarlierConversation::load(dir.path(), again.id()).unwrap();
        let texts: Vec<&Message> = whole.messages.iter().map(|one| &one.message).collect();
        let expected = [&open[0], &open[1], &said("done", &["1"]), &answer("1"), &user("two")]
            .map(Clone::clone);
        assert_eq!(texts[..5], expected.iter().collect::<Vec<_>>()[..]);
        assert_eq!(texts.len(), 6);
        assert!(whole.leaves_room(1_000) && !whole.leaves_room(5));

        std::fs::remove_file(dir.path().join("coding.1.actor.TASK-001.jsonl")).unwrap();
        assert!(
            EarlierConversation::load(dir.path(), again.id()).is_none(),
            "the beginning is gone"
        );
    }
}
