//! Who agrees that a project's dependencies are fetched: the configuration, a person at the
//! terminal, or what they said before about the very same files.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;

use super::context::Ui;
use super::sandbox::confirm;
use crate::config::FetchPolicy;
use crate::event::{Event, Sink as _};
use crate::gate::Tty;
use crate::workspace::{Fetching, MayFetch, Wanted};

/// In J: the hashes that somebody agreed to.
const FILE: &str = "fetch.json";

/// What was said in this process: a command opens the working tree more than once, and nobody wants to
/// be told or asked the same twice.
#[derive(Debug, Default)]
pub(crate) struct Said {
    warnings: RefCell<BTreeSet<String>>,
    /// What was declined or failed, by the hash of its files, and why.
    declined: RefCell<BTreeMap<String, String>>,
}

impl Said {
    /// Whether this is said for the first time.
    pub(super) fn is_new(&self, text: &str) -> bool {
        self.warnings.borrow_mut().insert(text.to_owned())
    }

    fn decline(&self, wanted: &Wanted, why: &str) {
        let mut declined = self.declined.borrow_mut();
        declined.extend(wanted.hashes.iter().map(|hash| (hash.clone(), why.to_owned())));
    }
}

/// Asks once, and remembers a yes.
pub(super) struct Agreement {
    ui: Rc<Ui>,
    said: Rc<Said>,
    terminal: Option<Tty>,
    policy: FetchPolicy,
    file: PathBuf,
}

impl Agreement {
    /// `j` is the repository's J, which keeps what was said.
    pub(super) fn new(
        ui: Rc<Ui>,
        said: Rc<Said>,
        terminal: Option<Tty>,
        policy: FetchPolicy,
        j: &Path,
    ) -> Self {
        Self { ui, said, terminal, policy, file: j.join(FILE) }
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
        let declined = self.said.declined.borrow();
        if let Some(why) = wanted.hashes.iter().find_map(|hash| declined.get(hash)) {
            return Ok(MayFetch::No(why.clone()));
        }
        drop(declined);
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
