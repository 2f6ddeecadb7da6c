//! The artifacts of finished stages in a session.

use crate::artifact::Artifact;
use crate::git::{Git, Object, Reader};
use crate::session::{KeptDraft, Session, artifact_path, kept_draft};

/// The artifacts that must exist.
pub(super) struct Finished {
    artifacts: Vec<Artifact>,
    /// True if a squash removed the information about which stages are finished.
    unknown: bool,
}

impl Finished {
    pub(super) fn of(git: &Git, session: &Session, reader: &dyn Reader) -> anyhow::Result<Self> {
        let done = session.done();
        let mut artifacts = vec![Artifact::Session];
        artifacts.extend(done.iter().flat_map(|stage| session.row(*stage).own_artifacts()));
        if let Some(start) = session.history.first().filter(|_| session.is_patch()) {
            // A change request edits the parent's files in place, so those that existed at its
            // start must exist. The documents of the stage in progress are left out: they are its
            // draft.
            let drafted = match session.next_stage().filter(|stage| !done.contains(stage)) {
                Some(stage) if drafting(git, session, stage)? => session.row(stage).artifacts,
                _ => &[],
            };
            for artifact in Artifact::ALL {
                let path = artifact_path(&session.name, artifact);
                if !drafted.contains(&artifact)
                    && reader.blob(Object::At(&start.commit, &path))?.is_some()
                {
                    artifacts.push(artifact);
                }
            }
        }
        Ok(Self { artifacts, unknown: session.history.is_empty() })
    }

    /// True if the artifact belongs to a finished stage, or if that is unknown.
    pub(super) fn has_left(&self, artifact: Artifact) -> bool {
        self.unknown || self.leaves(artifact)
    }

    pub(super) fn leaves(&self, artifact: Artifact) -> bool {
        self.artifacts.contains(&artifact)
    }

    /// The feedback file belongs to all stages, if it exists.
    pub(super) fn always(&self, artifact: Artifact, there: bool) -> bool {
        there && (artifact == Artifact::Feedback || self.unknown)
    }
}

/// True if the stage has a draft, waiting or saved.
fn drafting(git: &Git, session: &Session, stage: crate::stage::Stage) -> anyhow::Result<bool> {
    Ok(session.waiting().is_some()
        || matches!(kept_draft(git, session, stage)?, Some(KeptDraft::Live(_))))
}
