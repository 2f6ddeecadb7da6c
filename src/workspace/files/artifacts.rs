//! A session's artifacts in the working tree: written like other files, but allowed by the guard of
//! `.cowork`.

use std::collections::BTreeMap;

use crate::artifact::{Artifact, Files};
use crate::error::Error;
use crate::moment::Untouched;
use crate::workspace::files::guard::{self, Purpose};
use crate::workspace::files::write;
use crate::workspace::refusal::Refusal;
use crate::workspace::working_tree::WorkingTree;

/// Artifacts of one session in the working tree.
#[derive(Clone, Debug)]
pub struct SessionFiles<'a> {
    /// The tree with the files; its `artifact_dirs` include the two directories below.
    tree: &'a WorkingTree,
    /// Directory of the documents and data, relative to the root; for a change request, its
    /// parent's.
    pub artifact_dir: String,
    /// Directory of the session's own records.
    pub record_dir: String,
}

impl<'a> SessionFiles<'a> {
    /// The files of the session with these directories.
    pub(crate) fn of(tree: &'a WorkingTree, artifact_dir: String, record_dir: String) -> Self {
        Self { tree, artifact_dir, record_dir }
    }

    /// Path of an artifact, relative to the root.
    pub fn path(&self, artifact: Artifact) -> String {
        artifact.path_in(&self.artifact_dir, &self.record_dir)
    }
}

impl Files for SessionFiles<'_> {
    /// Cached: several steps read the same documents, unchanged in between.
    fn read(&self, artifact: Artifact) -> anyhow::Result<Option<String>> {
        let (path, now) = (self.path(artifact), Untouched::now());
        if let Some((at, known)) = &*self.tree.artifacts.borrow()
            && *at == now
            && let Some(text) = known.get(&path)
        {
            return Ok(text.clone());
        }
        let text = self.read_now(&path)?;
        let mut kept = self.tree.artifacts.borrow_mut();
        let known = match kept.take() {
            Some((at, known)) if at == now => known,
            _ => BTreeMap::new(),
        };
        kept.insert((now, known)).1.insert(path, text.clone());
        Ok(text)
    }

    fn write(&self, artifact: Artifact, text: &str) -> anyhow::Result<()> {
        self.tree.require_branch()?;
        let path = self.path(artifact);
        let path = guard::resolve_new(self.tree, &path, Purpose::Artifact).map_err(environment)?;
        let exists = self.tree.look(&path).is_ok();
        guard::refuse_protected(self.tree, &path, exists).map_err(environment)?;
        let old = self.tree.bytes_if_there(&path).map_err(environment)?;
        write::replace(self.tree, &path, text.as_bytes(), old.as_deref()).map_err(environment)?;
        Ok(())
    }
}

impl SessionFiles<'_> {
    fn read_now(&self, path: &str) -> anyhow::Result<Option<String>> {
        let path = guard::resolve_new(self.tree, path, Purpose::Artifact).map_err(environment)?;
        let Some(bytes) = self.tree.bytes_if_there(&path).map_err(environment)? else {
            return Ok(None);
        };
        String::from_utf8(bytes).map(Some).map_err(|_| {
            Error::repository(format!("{path} is not UTF-8 text"))
                .hint(
                    "fix the file by hand, or restore the last committed one: git checkout -- <file>",
                )
                .into()
        })
    }
}

/// Converts a refusal to a repository error: git-cowork, not a model, requested the path, so the
/// cause is the repository's state.
fn environment(refusal: Refusal) -> anyhow::Error {
    Error::repository(refusal.message).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::testing::Tree;

    fn of<'a>(tree: &'a Tree, artifact_dir: &str, record_dir: &str) -> SessionFiles<'a> {
        let (artifact_dir, record_dir) = (artifact_dir.to_owned(), record_dir.to_owned());
        tree.workspace.session_files(artifact_dir, record_dir)
    }

    #[test]
    fn artifacts_are_written_and_recorded() {
        let tree = Tree::new();
        let dir = ".cowork/sessions/todo".to_owned();
        let files = of(&tree, &dir, &dir);
        assert_eq!(files.read(Artifact::Prd).unwrap(), None);
        files.write(Artifact::Prd, "text").unwrap();
        assert_eq!(files.read(Artifact::Prd).unwrap().as_deref(), Some("text"));
        assert_eq!(tree.workspace.written().paths(), [".cowork/sessions/todo/prd.md"]);
    }

    #[test]
    fn a_change_request_uses_its_parents_artifacts() {
        let tree = Tree::new();
        let parent = ".cowork/sessions/todo".to_owned();
        let files = of(&tree, &parent, &format!("{parent}/changes/dates"));
        files.write(Artifact::Plan, "p").unwrap();
        files.write(Artifact::ChangeRequest, "{}").unwrap();
        assert_eq!(tree.get(".cowork/sessions/todo/plan.md"), "p");
        assert_eq!(tree.get(".cowork/sessions/todo/changes/dates/change_request.json"), "{}");
    }

    #[cfg(unix)]
    #[test]
    fn artifacts_are_not_written_through_a_cloned_link() {
        let tree = Tree::new();
        tree.put(".cowork/sessions/x", "");
        std::os::unix::fs::symlink("../../.git", tree.root().join(".cowork/sessions/todo"))
            .unwrap();
        let dir = ".cowork/sessions/todo".to_owned();
        let files = of(&tree, &dir, &dir);
        assert!(files.write(Artifact::Prd, "text").is_err());
        tree.put("src/a", "");
        std::fs::remove_file(tree.root().join(".cowork/sessions/todo")).unwrap();
        std::os::unix::fs::symlink("../../src", tree.root().join(".cowork/sessions/todo")).unwrap();
        assert!(files.write(Artifact::Prd, "text").is_err());
    }
}
