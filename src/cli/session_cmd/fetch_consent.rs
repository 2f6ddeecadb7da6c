//! Decides whether a project's dependencies may be fetched: by the configuration, by an earlier
//! answer about the same files, or by asking the user.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::cli::terminal::said::Said;
use crate::cli::terminal::ui::Ui;
use crate::config::FetchPolicy;
use crate::error::{Kind, kind_of};
use crate::event::{Event, Sink as _};
use crate::gate::{self, Tty};
use crate::interrupt;
use crate::replace_file::replace_file;
use crate::workspace::{Fetching, MayFetch, Wanted};

/// File in the state directory: the hashes of files that a user agreed to.
const FILE: &str = "fetch.json";

/// Asks once, and remembers a yes.
pub(crate) struct Agreement {
    ui: Rc<Ui>,
    said: Rc<Said>,
    terminal: Option<Tty>,
    policy: FetchPolicy,
    agreed: Remembered,
}

impl Agreement {
    /// `state` is the repository's state directory, in which the answers are stored.
    pub(crate) fn new(
        ui: Rc<Ui>,
        said: Rc<Said>,
        terminal: Option<Tty>,
        policy: FetchPolicy,
        state: &Path,
    ) -> Self {
        Self { ui, said, terminal, policy, agreed: Remembered::in_file(state, FILE) }
    }
}

impl Fetching for Agreement {
    fn may_fetch(&self, wanted: &Wanted) -> anyhow::Result<MayFetch> {
        if let Some(why) = self.said.declined(wanted) {
            return Ok(MayFetch::No(why));
        }
        match self.policy {
            FetchPolicy::Always => return Ok(MayFetch::Yes),
            FetchPolicy::Never => {
                return Ok(MayFetch::No(
                    "sandbox.fetch in the configuration says never".to_owned(),
                ));
            }
            FetchPolicy::Ask => {}
        }
        let hashes = self.agreed.all();
        if wanted.hashes.iter().all(|hash| hashes.contains(hash)) {
            return Ok(MayFetch::Yes);
        }
        let Some(terminal) = &self.terminal else { return Ok(MayFetch::NobodyThere) };
        let question = format!(
            "Dependencies are missing ({}), and commands have no network access.\n{}\nFetch them \
             over the network now, and again without asking as long as these files do not change?",
            wanted.named, wanted.command
        );
        if !confirm(terminal, &question)? {
            let why = "the person at the terminal did not allow it";
            self.said.decline(wanted, why);
            return Ok(MayFetch::No(why.to_owned()));
        }
        self.agreed.add(&wanted.hashes);
        Ok(MayFetch::Yes)
    }

    fn failed(&self, wanted: &Wanted, why: &str) {
        self.said.decline(wanted, why);
    }

    fn tell(&self, text: &str, bad: bool) {
        let text = text.to_owned();
        if !bad {
            self.ui.emit(Event::Note { text });
        } else if self.said.is_new(&text) {
            self.ui.emit(Event::Warning { text });
        }
    }
}

/// Asks while a tool runs. The error of a tool is only reported to the model, so Ctrl-C has to
/// request the end of the run itself.
pub(crate) fn confirm(terminal: &Tty, question: &str) -> anyhow::Result<bool> {
    gate::confirm(terminal, question).inspect_err(|error| {
        if kind_of(error) == Kind::Interrupted {
            interrupt::request();
        }
    })
}

/// A set of answers in a file.
#[derive(Debug)]
pub(crate) struct Remembered(PathBuf);

impl Remembered {
    /// The answers in this file of the state directory.
    pub(crate) fn in_file(state: &Path, file: &str) -> Self {
        Self(state.join(file))
    }

    /// All answers; empty if they cannot be read, so that the user is asked again.
    pub(crate) fn all(&self) -> BTreeSet<String> {
        let bytes = std::fs::read(&self.0).ok();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Adds answers. If they cannot be written, the user is asked again.
    pub(crate) fn add(&self, answers: &[String]) {
        if let Err(error) = self.write(answers) {
            tracing::warn!("{} was not written: {error:#}", self.0.display());
        }
    }

    fn write(&self, answers: &[String]) -> anyhow::Result<()> {
        let mut all = self.all();
        all.extend(answers.iter().cloned());
        let folder = self.0.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        Ok(replace_file(&self.0, &serde_json::to_vec(&all)?)?)
    }
}
