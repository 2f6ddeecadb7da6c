//! The files of a repository as sources for the map of its code.

use std::ops::ControlFlow;

use crate::codebase::Source;
use crate::git::{self, Git, Oid};
use crate::private::PrivateFiles;

/// The files of a commit without `.cowork` and without private files.
pub(super) struct AsFound<'a> {
    pub(super) git: &'a Git,
    pub(super) commit: &'a Oid,
    pub(super) private: &'a PrivateFiles,
}

impl Source for AsFound<'_> {
    fn each_file(
        &self,
        visit: &mut dyn FnMut(&str, &str) -> ControlFlow<()>,
    ) -> anyhow::Result<()> {
        git::files::each(self.git, self.commit, &mut |path, blob| {
            if path.starts_with(".cowork/") || self.private.has(path) {
                return ControlFlow::Continue(());
            }
            visit(path, blob.as_str())
        })
    }

    fn each_content(
        &self,
        contents: &[&str],
        most: u64,
        visit: &mut dyn FnMut(usize, Option<Vec<u8>>) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        each_blob(self.git, contents, most, visit)
    }
}

/// A fixed list of files.
pub(super) struct Files<'a> {
    pub(super) git: &'a Git,
    /// Paths and blobs.
    pub(super) files: Vec<(String, Oid)>,
}

impl Source for Files<'_> {
    fn each_file(
        &self,
        visit: &mut dyn FnMut(&str, &str) -> ControlFlow<()>,
    ) -> anyhow::Result<()> {
        let _ = self.files.iter().try_for_each(|(path, blob)| visit(path, blob.as_str()));
        Ok(())
    }

    fn each_content(
        &self,
        contents: &[&str],
        most: u64,
        visit: &mut dyn FnMut(usize, Option<Vec<u8>>) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        each_blob(self.git, contents, most, visit)
    }
}

fn each_blob(
    git: &Git,
    blobs: &[&str],
    most: u64,
    visit: &mut dyn FnMut(usize, Option<Vec<u8>>) -> anyhow::Result<ControlFlow<()>>,
) -> anyhow::Result<()> {
    let blobs: Vec<Oid> = blobs.iter().map(|blob| blob.parse()).collect::<Result<_, _>>()?;
    git::files::each_content(git, &blobs, most, visit)
}
