//! The reader that runs the git binary: it knows replaced objects and grafts, and fetches objects
//! that a partial clone lacks.

use anyhow::Result;
use git2::ObjectType;

use super::reader::{Commit, Content, Reader};
use super::spawn::cat_file;
use super::{Git, Oid};
use crate::error::Error;
use crate::git::lookup;

pub(super) struct Binary {
    git: Git,
}

impl Binary {
    pub(super) fn new(git: Git) -> Self {
        Self { git }
    }

    /// A commit as its object says.
    fn written(&self, id: &Oid) -> Result<Commit> {
        match lookup::required(self, id)? {
            (ObjectType::Commit, text) => lookup::commit(id, &text),
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
            let named = self.git.variable(variable).map(|path| self.git.top().join(path));
            let file = named.unwrap_or_else(|| self.git.common_dir().join(file));
            lookup::replace_parents(&mut commit, &file)?;
        }
        Ok(commit)
    }
}
