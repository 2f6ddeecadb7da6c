//! Records of a run outside of history: a log for people, and the events as JSON lines. Both files
//! are in the state directory, grow by appending and are never committed.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::context::Context;
use crate::cli::session_cmd::lock::LockedSession;
use crate::cli::terminal::ui::Ui;
use crate::event::{Event, Sink};
use crate::gate::{Mode, notify};
use crate::secret::Secrets;
use crate::session::{RunNotes, SessionName, StateDir};
use crate::ui::JsonLines;

/// Shows events to the user, and writes the events and the position of the run to the state
/// directory.
pub(crate) struct EventLog<'a> {
    ui: &'a Ui,
    audit: JsonLines,
    call: &'a dyn Fn(&str),
    mode: Mode,
    notes: &'a RunNotes,
}

impl<'a> EventLog<'a> {
    /// Appends to `audit.jsonl` of the session. Calls `call` when a draft waits for a person who is
    /// not at the terminal; on a terminal, the gate itself notifies the person.
    pub(crate) fn new(
        context: &'a Context,
        held: &LockedSession,
        name: &SessionName,
        (mode, notes): (Mode, &'a RunNotes),
        call: &'a dyn Fn(&str),
    ) -> anyhow::Result<Self> {
        let audit = append(&held.state.path().join("audit.jsonl"))?;
        let audit = context.secrets()?.guard(audit);
        let nowhere = Box::new(std::io::sink());
        Ok(Self {
            ui: &context.ui,
            audit: JsonLines::new(Box::new(audit), nowhere, name.as_str()),
            call,
            mode,
            notes,
        })
    }
}

impl Sink for EventLog<'_> {
    fn emit(&self, event: Event) {
        match &event {
            Event::Text { .. } | Event::Speaker { .. } => {}
            Event::ToolCall { .. } | Event::ModelRequest { .. } | Event::Note { .. } => {
                tracing::debug!("{event:?}");
            }
            Event::Warning { text } => tracing::warn!("{text}"),
            _ => tracing::info!("{event:?}"),
        }
        match &event {
            Event::StageStarted { stage, .. } => self.notes.stage(*stage),
            Event::DraftStarted { stage, iteration, task, .. } => {
                self.notes.draft(*stage, *iteration, task.as_deref());
            }
            Event::Speaker { role, .. } => self.notes.speaks(*role),
            Event::Feedback { .. } | Event::StageCompleted { .. } | Event::ToolCall { .. } => {
                self.notes.answered();
            }
            _ => {}
        }
        self.audit.emit(event.clone());
        let review = match &event {
            Event::ReviewRequested { stage, .. } => Some(*stage),
            _ => None,
        };
        self.ui.emit(event);
        if let Some(stage) = review {
            self.ui.clear();
            if self.mode != Mode::Ask {
                if std::io::stderr().is_terminal() {
                    let _ = std::io::stderr().write_all(b"\x07");
                }
                (self.call)(&format!("{stage} waits for you"));
            }
        }
    }
}

/// Notifies a person that the run waits: with the terminal's desktop notification, and with the
/// notify command.
pub(crate) fn call(ui: &Ui, command: &str, top: &Path, message: &str) {
    ui.message(&format!("git cowork: {message}"));
    if let Some(text) = notify(command, message, top) {
        ui.emit(Event::Warning { text });
    }
}

/// Opens the log of a session, `log` in its state directory: stages, drafts and decisions at INFO,
/// tool calls and requests at DEBUG, the reason for a stop at ERROR, and with `--verbose` every
/// detail down to the git processes. Only the first call in a process has an effect.
pub(crate) fn start_log(state: &StateDir, secrets: &Secrets, verbose: bool) -> anyhow::Result<()> {
    let file = Arc::new(append(&state.path().join("log"))?);
    let level = if verbose { LevelFilter::TRACE } else { LevelFilter::DEBUG };
    // The HTTP crates log what servers send, which may contain anything.
    let filter = Targets::new().with_target("git_cowork", level);
    let keys = secrets.guard(());
    let to_file = move || keys.over(Arc::clone(&file));
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(to_file);
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
    Ok(())
}

fn append(path: &Path) -> anyhow::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.with_context(|| format!("opening {}", path.display()))
}
