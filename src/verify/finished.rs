//! Which artifacts of a session finished stages have left.

use crate::artifact::Artifact;
use crate::git::{Git, Object, Reader};
use crate::session::{KeptDraft, Session, artifact_path, kept_draft};

/// Which artifacts must be there.
pub(super) struct Finished {
    artifacts: Vec<Artifact>,
    /// A squash left nothing that tells what is finished.
    unknown: bool,
}

impl Finished {
    pub(super) fn of(git: &Git, session: &Session, reader: &dyn Reader) -> anyhow::Result<Self> {
        let done = session.done();
        let mut artifacts = vec![Artifact::Session];
        artifacts.extend(done.iter().flat_map(|stage| session.row(*stage).own_artifacts()));
        if let Some(start) = session.history.first().filter(|_| session.is_patch()) {
            // Its parent's, edited in place; those of the stage in progress are its draft.
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

    /// Whether it is there and its stage is finished.
    pub(super) fn has_left(&self, artifact: Artifact) -> bool {
        self.unknown || self.leaves(artifact)
    }

    pub(super) fn leaves(&self, artifact: Artifact) -> bool {
        self.artifacts.contains(&artifact)
    }

    /// Feedback is every stage's, once there is some.
    pub(super) fn always(&self, artifact: Artifact, there: bool) -> bool {
        there && (artifact == Artifact::Feedback || self.unknown)
    }
}

/// Whether there is a draft of the stage, waiting or kept.
fn drafting(git: &Git, session: &Session, stage: crate::stage::Stage) -> anyhow::Result<bool> {
    Ok(session.waiting().is_some()
        || matches!(kept_draft(git, session, stage)?, Some(KeptDraft::Live(_))))
}
