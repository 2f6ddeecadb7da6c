//! The recording that answers in the repository of `git cowork demo --ask`. It is kept in J until the
//! session is delivered, so that every command continues there as the demo began: without a key, a
//! network or a configuration of the user's.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::git::Git;

/// Its name in J.
const NAME: &str = "demo.jsonl";
/// The same where the delivered program can be neither built nor tested.
const UNBUILT: &str = "demo-unbuilt.jsonl";

/// A demo in progress.
pub(crate) struct Kept {
    /// What answers.
    pub(crate) recording: PathBuf,
    /// The project's commands are run.
    pub(crate) builds: bool,
}

/// Keeps the recording of a demo that is about to begin.
pub(crate) fn keep(git: &Git, recording: &str, builds: bool) -> anyhow::Result<()> {
    let folder = git.state_dir();
    let path = folder.join(if builds { NAME } else { UNBUILT });
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&path, recording))
        .with_context(|| format!("writing {}", path.display()))
}

/// The demo that is in progress in this repository, if one is.
pub(crate) fn kept(git: &Git) -> Option<Kept> {
    let folder = git.state_dir();
    let of = |(name, builds)| Kept { recording: folder.join(name), builds };
    [(NAME, true), (UNBUILT, false)].map(of).into_iter().find(|kept| kept.recording.is_file())
}

/// The demo is over: what comes next is asked of a model of the user's.
pub(crate) fn forget(git: &Git) {
    if let Some(Kept { recording, .. }) = kept(git) {
        // Where it stays, whoever goes on is told by the replay that it has no answer.
        let _ = std::fs::remove_file(recording);
    }
}
