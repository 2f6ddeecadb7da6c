//! The artifacts of a session as a commit contains them.

use super::{SessionName, artifact_path};
use crate::artifact::{Artifact, Files};
use crate::git::{Git, Object, Oid, Reader};

/// Reads the artifacts of a session at a commit; writing fails.
pub struct CommittedFiles {
    reader: Box<dyn Reader>,
    commit: Oid,
    name: SessionName,
}

impl CommittedFiles {
    /// The artifacts of `name` as they are in `commit`.
    pub fn new(git: &Git, name: &SessionName, commit: &Oid) -> Self {
        Self { reader: git.reader(), commit: commit.clone(), name: name.clone() }
    }
}

impl Files for CommittedFiles {
    fn read(&self, artifact: Artifact) -> anyhow::Result<Option<String>> {
        let path = artifact_path(&self.name, artifact);
        match self.reader.blob(Object::At(&self.commit, &path))? {
            Some(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            None => Ok(None),
        }
    }

    fn write(&self, artifact: Artifact, _text: &str) -> anyhow::Result<()> {
        anyhow::bail!("{} of a commit cannot be written", artifact.file_name())
    }
}
