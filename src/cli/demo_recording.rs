//! The recordings that replace the model in the repository of `git cowork demo`. The session's is in
//! the state directory while a user decides at its gates, so that every command in that repository
//! works without a key, a network or the user's configuration. Then the one of a change waits there
//! for `git cowork modify` with its words.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::git::Git;

/// The recorded answers in the session.
pub(crate) const SESSION: &str = include_str!("../../demo/replay.jsonl");
/// The recorded answers in the change.
const CHANGE: &str = include_str!("../../demo/change.jsonl");
/// The words of the change.
pub(crate) const CHANGE_WORDS: &str = "search the list";
/// What a recording means for a user who decides at the gates.
pub(crate) const NOTE: &str = "you decide at the gates, and each is explained before it opens; a \
                               recording replaces the models: your feedback is recorded, but it \
                               does not change the drafts";

/// The name, in the state directory, of the recording in use.
const IN_USE: &str = "demo.jsonl";
/// The name of the change's recording until that change starts.
const FOR_CHANGE: &str = "demo-change.jsonl";

/// Saves the recordings of a demo that is about to begin; the session's is for one that `asks`.
pub(crate) fn keep(git: &Git, asks: bool) -> anyhow::Result<()> {
    let folder = git.state_dir();
    std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let session = asks.then_some((IN_USE, SESSION));
    for (name, recording) in session.into_iter().chain([(FOR_CHANGE, CHANGE)]) {
        let path = folder.join(name);
        std::fs::write(&path, recording).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// The recording in use in this repository, if any.
pub(crate) fn kept(git: &Git) -> Option<PathBuf> {
    Some(git.state_dir().join(IN_USE)).filter(|recording| recording.is_file())
}

/// Ends the demo: later requests go to the user's model.
pub(crate) fn forget(git: &Git) {
    // If it cannot be removed, the next request fails: the replay has no answer left.
    let _ = std::fs::remove_file(git.state_dir().join(IN_USE));
}

/// The change's recording, in use from now on. Dropped before [`Self::started`], it waits again: a
/// change that did not start leaves the repository to the user's model.
pub(crate) struct ChangeReplay {
    folder: PathBuf,
    is_started: bool,
}

impl ChangeReplay {
    /// Puts the recording into use if `words` are those of the recorded change. `None` for other
    /// words, and where no recording waits.
    pub(crate) fn begin(git: &Git, words: &[String]) -> anyhow::Result<Option<Self>> {
        let folder = git.state_dir();
        if kept(git).is_some() || words.join(" ").trim() != CHANGE_WORDS {
            return Ok(None);
        }
        match std::fs::rename(folder.join(FOR_CHANGE), folder.join(IN_USE)) {
            Ok(()) => Ok(Some(Self { folder, is_started: false })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).context("using the demo's recording"),
        }
    }

    /// The change has a branch now, so the recording stays in use until it is delivered.
    pub(crate) fn started(mut self) {
        self.is_started = true;
    }
}

impl Drop for ChangeReplay {
    fn drop(&mut self) {
        if !self.is_started {
            // If it fails, the recording stays in use, as in a demo that was left.
            let _ = std::fs::rename(self.folder.join(IN_USE), self.folder.join(FOR_CHANGE));
        }
    }
}
