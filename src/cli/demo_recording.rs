//! The recording that replaces the model in the repository of `git cowork demo --ask`. It stays in
//! the state directory until the session is delivered, so that every command in that repository
//! works without a key, a network or the user's configuration.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::git::Git;

/// The recording's name in the state directory.
const NAME: &str = "demo.jsonl";
/// The recording's name if the delivered program can be neither built nor tested.
const UNBUILT: &str = "demo-unbuilt.jsonl";

/// A demo in progress.
pub(crate) struct Kept {
    /// The file of the recording.
    pub(crate) recording: PathBuf,
    /// True if the project's commands are run.
    pub(crate) builds: bool,
}

/// Saves the recording of a demo that is about to begin.
pub(crate) fn keep(git: &Git, recording: &str, builds: bool) -> anyhow::Result<()> {
    let folder = git.state_dir();
    let path = folder.join(if builds { NAME } else { UNBUILT });
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&path, recording))
        .with_context(|| format!("writing {}", path.display()))
}

/// The demo in progress in this repository, if any.
pub(crate) fn kept(git: &Git) -> Option<Kept> {
    let folder = git.state_dir();
    let of = |(name, builds)| Kept { recording: folder.join(name), builds };
    [(NAME, true), (UNBUILT, false)].map(of).into_iter().find(|kept| kept.recording.is_file())
}

/// Ends the demo: later requests go to the user's model.
pub(crate) fn forget(git: &Git) {
    if let Some(Kept { recording, .. }) = kept(git) {
        // If it cannot be removed, the next request fails: the replay has no answer left.
        let _ = std::fs::remove_file(recording);
    }
}
