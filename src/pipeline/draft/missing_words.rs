//! Messages to an actor that ended its conversation although something is missing: one wording for
//! actors with tools, one for agent programs that edit files.

use std::fmt::Write as _;

use crate::artifact::Artifact;
use crate::artifact::check::Report;

/// Maximum characters of a finding.
const TOLD: usize = 6_000;

/// Beginning of the message to an actor whose draft does not differ from the rejected one.
const UNCHANGED: &str = "Nothing in the draft differs from the rejected one. Answer each point of the \
                         feedback with a change; if a point is wrong, say so in text, without";

/// How an actor works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Works {
    /// It calls git-cowork's tools.
    WithTools,
    /// It is a program that edits files.
    OnFiles,
}

impl Works {
    /// The message with the findings.
    pub(crate) fn missing(self, report: &Report) -> String {
        let mut out =
            "git-cowork checked your files; the following is missing or wrong:\n".to_owned();
        for finding in &report.findings {
            let details: String = finding.details.chars().take(TOLD).collect();
            let _ = write!(out, "\n- {details}");
            if let Some(fix) = &finding.suggested_fix {
                let _ = write!(out, " ({fix})");
            }
        }
        out + match self {
            Self::WithTools => {
                "\n\nFix it with all calls in one answer. Your turn ends when nothing is missing any \
                 more."
            }
            Self::OnFiles => {
                "\n\nFix it in your working directory, where your files are as you left them, and end \
                 with a one-sentence answer."
            }
        }
    }

    /// The message if the draft does not differ from the rejected one.
    pub(crate) fn unchanged(self) -> String {
        match self {
            Self::WithTools => format!("{UNCHANGED} a tool call."),
            Self::OnFiles => format!("{UNCHANGED} a change."),
        }
    }

    /// The message if the scope of a change names the stage and nothing in its documents changed.
    pub(crate) fn unchanged_stage(self, stage: &str, name: &str) -> String {
        let without = match self {
            Self::WithTools => "a tool call",
            Self::OnFiles => "a change",
        };
        format!(
            "The scope of this change names {stage}, but nothing in {name} differs. Change what the \
             change needs there, or say in one sentence why nothing has to change, without {without}."
        )
    }

    /// The message if the actor ends with text while its task is open.
    pub(crate) fn open_task(self, id: &str) -> String {
        match self {
            Self::WithTools => format!(
                "{id} is not completed. Write its files, then call update_task_status {{\"task_id\": \
                 \"{id}\", \"new_status\": \"completed\"}}; \"blocked\" if it cannot be done."
            ),
            Self::OnFiles => format!(
                "{id} is not completed. Write its files in your working directory. If they need no \
                 change, end with the line `DONE: why`; if it cannot be done, with `BLOCKED: why`."
            ),
        }
    }

    /// The message if the actor completed its task and nothing was changed for it.
    pub(crate) fn no_change(self, id: &str) -> String {
        let changed = format!("Nothing was changed for {id}.");
        match self {
            Self::WithTools => format!(
                "{changed} Write what it asks for, then set its status again. If it needs no change, \
                 call update_task_status {{\"task_id\": \"{id}\", \"new_status\": \"completed\", \
                 \"reason\": \"why\"}}; if it cannot be done, set \"blocked\"."
            ),
            Self::OnFiles => format!(
                "{changed} Write what it asks for in your working directory. If it needs no change, \
                 end with the line `DONE: why`; if it cannot be done, with `BLOCKED: why`."
            ),
        }
    }

    /// The message if the actor ends with text and has saved nothing. It asks the actor to save the
    /// document the usual way or, if it was asked that before (`told` > 0), to send the document as
    /// text. `path` is the document's path.
    pub(crate) fn unsaved(self, artifact: Artifact, path: &str, told: u32) -> String {
        let (name, tool) = (artifact.file_name(), artifact.save_tool());
        match (self, told) {
            (Self::OnFiles, 0) => format!(
                "{name} is not written yet. Write all of it to the file {path} in your working \
                 directory."
            ),
            (Self::OnFiles, _) => format!(
                "{name} is still missing. If you cannot write {path}, answer with nothing but the \
                 whole document between <document> and </document>."
            ),
            (Self::WithTools, 0) => format!(
                "{name} is not saved yet. Call {tool} with all of it; text alone saves nothing."
            ),
            (Self::WithTools, _) if artifact.is_json() => {
                format!("{name} is still missing. Call {tool}.")
            }
            (Self::WithTools, _) => format!(
                "{name} is still missing. If you cannot call {tool}, answer with nothing but the \
                 whole document between <document> and </document>."
            ),
        }
    }
}
