//! Who agrees that a project's dependencies are fetched: the configuration, a person at the
//! terminal, or what they said before about the very same files.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;

use crate::cli::terminal::said::Said;
use crate::cli::terminal::ui::Ui;
use crate::config::FetchPolicy;
use crate::error::{Kind, kind_of};
use crate::event::{Event, Sink as _};
use crate::gate::{self, Tty};
use crate::interrupt;
use crate::workspace::{Fetching, MayFetch, Wanted};

/// In the state directory: the hashes that somebody agreed to.
const FILE: &str = "fetch.json";

/// Asks once, and remembers a yes.
pub(crate) struct Agreement {
    ui: Rc<Ui>,
    said: Rc<Said>,
    terminal: Option<Tty>,
    policy: FetchPolicy,
    file: PathBuf,
}

impl Agreement {
    /// `state` is the repository's state directory, which keeps what was said.
    pub(crate) fn new(
        ui: Rc<Ui>,
        said: Rc<Said>,
        terminal: Option<Tty>,
        policy: FetchPolicy,
        state: &Path,
    ) -> Self {
        Self { ui, said, terminal, policy, file: state.join(FILE) }
    }

    /// What was agreed to; nothing, where that cannot be read: then it is asked again.
    fn agreed(&self) -> BTreeSet<String> {
        let read = std::fs::read(&self.file);
        read.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn remember(&self, hashes: &[String]) -> anyhow::Result<()> {
        let mut agreed = self.agreed();
        agreed.extend(hashes.iter().cloned());
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut temp = tempfile::NamedTempFile::new_in(folder)?;
        temp.write_all(&serde_json::to_vec(&agreed)?)?;
        temp.persist(&self.file)?;
        Ok(())
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
        let agreed = self.agreed();
        if wanted.hashes.iter().all(|hash| agreed.contains(hash)) {
            return Ok(MayFetch::Yes);
        }
        let Some(terminal) = &self.terminal else { return Ok(MayFetch::NobodyThere) };
        let question = format!(
            "Dependencies are missing, and commands have no network ({}).\n{}\nFetch them with the \
             network, and again without asking as long as these files stay as they are?",
            wanted.named, wanted.command
        );
        if !confirm(terminal, &question)? {
            let why = "the person at the terminal did not allow it";
            self.said.decline(wanted, why);
            return Ok(MayFetch::No(why.to_owned()));
        }
        // Not being able to remember only means to be asked again.
        let remembered = self.remember(&wanted.hashes);
        if let Err(error) = remembered.with_context(|| self.file.display().to_string()) {
            tracing::warn!("what may be fetched was not remembered: {error:#}");
        }
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

/// Asks in the middle of a tool's work, where an error is an answer to the model: Ctrl-C has to stop
/// the run all the same.
pub(crate) fn confirm(terminal: &Tty, question: &str) -> anyhow::Result<bool> {
    gate::confirm(terminal, question).inspect_err(|error| {
        if kind_of(error) == Kind::Interrupted {
            interrupt::request();
        }
    })
}
