//! The reader that runs the git binary: it knows replaced objects and grafts, and fetches objects
//! that a partial clone lacks.

use anyhow::Result;
use git2::ObjectType;

use crate::error::Error;
use crate::git::cat_file;
use crate::git::object_text::{Commit, Content, commit};
use crate::git::reader::{Reader, TreeChange, replace_parents, required};
use crate::git::{Git, Oid};
use crate::git::{tree_diff, walk};

pub(crate) struct Binary {
    git: Git,
}

impl Binary {
    pub(crate) fn new(git: Git) -> Self {
        Self { git }
    }

    /// A commit as its object says.
    fn written(&self, id: &Oid) -> Result<Commit> {
        match required(self, id)? {
            (ObjectType::Commit, text) => commit(id, &text),
            (kind, _) => Err(Error::repository(format!("{id} is a {kind}, not a commit")).into()),
        }
    }
}

/// The variables and files that name commits with other parents than those in their objects.
const OTHER_PARENTS: [(&str, &str); 2] =
    [("GIT_GRAFT_FILE", "info/grafts"), ("GIT_SHALLOW_FILE", "shallow")];

impl Reader for Binary {
    fn object(&self, id: &Oid) -> Result<Option<Content>> {
        cat_file::object(&self.git, id)
    }

    fn commit(&self, oid: &Oid) -> Result<Commit> {
        let mut commit = self.written(oid)?;
        for (variable, file) in OTHER_PARENTS {
            let configured_path = self.git.variable(variable).map(|path| self.git.top().join(path));
            let file = configured_path.unwrap_or_else(|| self.git.common_dir().join(file));
            replace_parents(&mut commit, &file)?;
        }
        Ok(commit)
    }

    fn walk(&self, tips: &[Oid], hide: &[Oid]) -> Result<Vec<Commit>> {
        walk::walk(self, tips, hide)
    }

    fn diff(&self, from: Option<&Oid>, to: &Oid) -> Result<Vec<TreeChange>> {
        tree_diff::between(self, from, to)
    }
}
