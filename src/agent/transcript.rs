//! The full conversation of a run, as JSON lines in J: what a person reads to see what a model
//! really said, and what a run that was killed goes on from.
//!
//! A file belongs to one conversation (stage, role, iteration, task). Each run of it begins with a
//! `run` line that names the tip it stood on, and ends with an `end` line; a run without one was
//! cut, and is continued if the tip is still the same.

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
enum Line {
    Run {
        at: String,
        tip: String,
    },
    Message {
        at: String,
        message: Message,
        #[serde(default, skip_serializing_if = "How::is_done")]
        how: How,
        /// Files the model got to know by it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<Seen>,
    },
    End {
        at: String,
    },
    /// The server will not take the conversation as it is.
    Refused {
        at: String,
    },
}

/// How a tool call came out; of other messages always [`How::Done`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum How {
    /// It did what was asked.
    #[default]
    Done,
    /// It could not.
    Failed,
    /// A guard refused it.
    Guarded,
}

impl How {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_done(&self) -> bool {
        *self == Self::Done
    }
}

/// A message of a run that was cut.
#[derive(Debug, PartialEq)]
pub(super) struct Earlier {
    pub message: Message,
    pub how: How,
    pub seen: Vec<Seen>,
}

/// Where one conversation is written.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    tip: String,
    resumable: bool,
    file: Option<File>,
}

impl Transcript {
    /// The transcript called `name` in `dir`, for a run on top of the commit `tip`. A `resumable`
    /// one goes on with the last run on that tip: for a run that was cut and whose files lie
    /// there. A critic must always see the draft as if for the first time.
    pub fn new(dir: &Path, name: &str, tip: &str, resumable: bool) -> Self {
        let path = dir.join(format!("{name}.jsonl"));
        Self { path, tip: tip.to_owned(), resumable, file: None }
    }

    /// Begins the run, or goes on with the one that was cut: then answers with its messages after
    /// the opening ones.
    pub(super) fn begin(&mut self, opening: &[Message]) -> anyhow::Result<Vec<Earlier>> {
        let earlier = if self.resumable { self.cut_run() } else { Vec::new() };
        if let Some(dir) = self.path.parent() {
            std::fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        self.file = Some(file.with_context(|| format!("opening {}", self.path.display()))?);
        if std::fs::read(&self.path).is_ok_and(|bytes| bytes.last().is_some_and(|b| *b != b'\n')) {
            self.raw("\n")?;
        }
        if earlier.is_empty() {
            let tip = self.tip.clone();
            self.line(&Line::Run { at: now(), tip })?;
            for message in opening {
                self.message(message)?;
            }
        }
        // What the cut run was told first may have changed since (another release, other limits);
        // the new opening is used, the rest of the conversation is kept.
        Ok(earlier.into_iter().skip(opening.len()).collect())
    }

    /// Writes a message.
    pub(super) fn message(&mut self, message: &Message) -> anyhow::Result<()> {
        self.answer(message, How::Done, Vec::new())
    }

    /// Writes the answer to a tool call, and what the model has seen by it.
    pub(super) fn answer(
        &mut self,
        message: &Message,
        how: How,
        seen: Vec<Seen>,
    ) -> anyhow::Result<()> {
        self.line(&Line::Message { at: now(), message: message.clone(), how, seen })
    }

    /// Writes that the run came to its end.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        self.line(&Line::End { at: now() })
    }

    /// Writes that the conversation was refused: nobody goes on with it.
    pub(super) fn refused(&mut self) -> anyhow::Result<()> {
        self.line(&Line::Refused { at: now() })
    }

    fn line(&mut self, line: &Line) -> anyhow::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.raw(&text)
    }

    fn raw(&mut self, text: &str) -> anyhow::Result<()> {
        if let Some(file) = &mut self.file {
            // One write call, so that a killed process leaves whole lines or half of the last.
            file.write_all(text.as_bytes())
                .with_context(|| format!("writing {}", self.path.display()))?;
        }
        Ok(())
    }

    /// The messages of the last run on this tip, whole or cut.
    fn cut_run(&self) -> Vec<Earlier> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let mut messages = Vec::new();
        let mut ours = false;
        for line in text.lines() {
            // A half-written last line is what a killed process leaves; it was not acted on.
            match serde_json::from_str(line) {
                Ok(Line::Run { tip, .. }) => {
                    ours = tip == self.tip;
                    messages.clear();
                }
                Ok(Line::Message { message, how, seen, .. }) => {
                    messages.push(Earlier { message, how, seen });
                }
                Ok(Line::Refused { .. }) => ours = false,
                Ok(Line::End { .. }) | Err(_) => {}
            }
        }
        if ours { messages } else { Vec::new() }
    }
}

fn now() -> String {
    clock::rfc3339(clock::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Message {
        Message::User { content: text.to_owned() }
    }

    #[test]
    fn a_line_without_opaque_fields_is_read_and_one_with_them_keeps_them() {
        let old = r#"{"type":"message","at":"","message":{"role":"assistant","content":"a"}}"#;
        let Ok(Line::Message { message: Message::Assistant { opaque: None, .. }, .. }) =
            serde_json::from_str(old)
        else {
            panic!("an older transcript is not read");
        };
        let said = r#"{"role":"assistant","content":"a","opaque":{"origin":{"base_url":"u","model":"m"},"message":{"reasoning":"b"},"items":[{"type":"reasoning"}]}}"#;
        let message: Message = serde_json::from_str(said).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), said);
    }

    #[test]
    fn a_conversation_that_was_refused_is_not_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let open = [user("open")];
        let new = || Transcript::new(dir.path(), "prd.1.actor", "a", true);
        let mut first = new();
        first.begin(&open).unwrap();
        first.message(&user("one")).unwrap();
        assert_eq!(new().cut_run().len(), 2);
        first.refused().unwrap();
        assert!(new().cut_run().is_empty());
        // The next run is one of its own.
        assert!(new().begin(&open).unwrap().is_empty());
        assert_eq!(new().cut_run().len(), 1);
    }

    #[test]
    fn a_run_goes_on_only_on_its_tip_and_only_where_asked() {
        let dir = tempfile::tempdir().unwrap();
        let open = [user("open")];
        let new = |tip: &str| Transcript::new(dir.path(), "prd.1.actor", tip, true);
        let mut first = new("a");
        assert!(first.begin(&open).unwrap().is_empty());
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

        assert!(new("b").cut_run().is_empty(), "another tip is another conversation");
        let mut second = new("a");
        let one = Earlier { message: user("one"), how: How::Guarded, seen: vec![seen] };
        assert_eq!(second.begin(&[user("new opening")]).unwrap(), [one]);
        second.end().unwrap();
        let mut fresh = Transcript::new(dir.path(), "prd.1.actor", "a", false);
        assert!(fresh.begin(&open).unwrap().is_empty());
    }
}
