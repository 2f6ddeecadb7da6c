//! Who agrees that a project's dependencies are fetched: the configuration, a person at the
//! terminal, or what they said before about the very same files.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;

use super::context::Ui;
use crate::config::FetchPolicy;
use crate::event::{Event, Sink as _};
use crate::gate::{self, Tty};
use crate::workspace::{Fetching, Wanted};

/// In J: the hashes that somebody agreed to.
const FILE: &str = "fetch.json";

/// Asks once, and remembers a yes.
pub(super) struct Agreement {
    ui: Rc<Ui>,
    terminal: Option<Tty>,
    policy: FetchPolicy,
    file: PathBuf,
}

impl Agreement {
    /// `j` is the repository's J, which keeps what was said.
    pub(super) fn new(ui: Rc<Ui>, terminal: Option<Tty>, policy: FetchPolicy, j: &Path) -> Self {
        Self { ui, terminal, policy, file: j.join(FILE) }
    }

    /// What was agreed to; nothing, where that cannot be read: then it is asked again.
    fn agreed(&self) -> BTreeSet<String> {
        let read = std::fs::read(&self.file);
        read.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn remember(&self, hash: &str) -> anyhow::Result<()> {
        let mut agreed = self.agreed();
        if !agreed.insert(hash.to_owned()) {
            return Ok(());
        }
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let mut temp = tempfile::NamedTempFile::new_in(folder)?;
        temp.write_all(&serde_json::to_vec(&agreed)?)?;
        temp.persist(&self.file)?;
        Ok(())
    }

    /// Not being able to remember only means to be asked again.
    fn try_to_remember(&self, hash: &str) {
        let remembered = self.remember(hash).with_context(|| self.file.display().to_string());
        if let Err(error) = remembered {
            tracing::warn!("what may be fetched was not remembered: {error:#}");
        }
    }
}

impl Fetching for Agreement {
    fn may_fetch(&self, wanted: &Wanted) -> anyhow::Result<Result<(), String>> {
        match self.policy {
            FetchPolicy::Always => return Ok(Ok(())),
            FetchPolicy::Never => {
                return Ok(Err("sandbox.fetch in the configuration says never".to_owned()));
            }
            FetchPolicy::Ask => {}
        }
        if self.agreed().contains(&wanted.hash) {
            return Ok(Ok(()));
        }
        let Some(terminal) = &self.terminal else {
            let why = "nobody could be asked, and sandbox.fetch in the user's configuration is not always";
            return Ok(Err(why.to_owned()));
        };
        let question = format!(
            "Dependencies are missing, and commands have no network ({}).\n{}\nFetch them with the \
             network, and again without asking as long as these files stay as they are?",
            wanted.named, wanted.command
        );
        if !gate::confirm(terminal, &question)? {
            return Ok(Err("the person at the terminal did not allow it".to_owned()));
        }
        self.try_to_remember(&wanted.hash);
        Ok(Ok(()))
    }

    fn became(&self, hash: &str) {
        self.try_to_remember(hash);
    }

    fn tell(&self, text: &str, bad: bool) {
        let text = text.to_owned();
        self.ui.emit(if bad { Event::Warning { text } } else { Event::Note { text } });
    }
}
