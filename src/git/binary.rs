//! The reader that runs the git binary: it knows replaced objects and grafts, and fetches objects
//! that a partial clone lacks.

use anyhow::{Context as _, Result};
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

    /// The commit in a line of `git rev-list --parents`: `<id> SP <parent> …`. Grafts and a shallow
    /// clone change the parents, but not the object.
    fn listed(&self, line: &str) -> Result<Commit> {
        let mut ids = line.split_whitespace().map(str::parse::<Oid>);
        let id = ids.next().context("git rev-list printed nothing")??;
        Ok(Commit { parents: ids.collect::<Result<_, _>>()?, ..self.written(&id)? })
    }

    /// A commit as its object says.
    fn written(&self, id: &Oid) -> Result<Commit> {
        match lookup::required(self, id)? {
            (ObjectType::Commit, text) => lookup::commit(id, &text),
            (kind, _) => Err(Error::repository(format!("{id} is a {kind}, not a commit")).into()),
        }
    }

    /// True if some commits have other parents than those named in their objects.
    fn has_other_parents(&self) -> bool {
        let is_file = |name: &&str| self.git.common_dir().join(name).exists();
        let is_set = |name: &&str| self.git.variable(name).is_some();
        ["info/grafts", "shallow"].iter().any(is_file)
            || ["GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"].iter().any(is_set)
    }
}

impl Reader for Binary {
    fn object(&self, id: &Oid) -> Result<Option<Content>> {
        cat_file::object(&self.git, id)
    }

    fn commit(&self, oid: &Oid) -> Result<Commit> {
        if !self.has_other_parents() {
            return self.written(oid);
        }
        let list = self.git.read(["rev-list", "--no-walk", "--parents", oid.as_str(), "--"]);
        self.listed(&list.capture()?)
    }

    fn walk(&self, tips: &[Oid], hide: &[Oid]) -> Result<Vec<Commit>> {
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let mut revisions = String::new();
        for tip in tips {
            revisions.push_str(&format!("{tip}\n"));
        }
        for hidden in hide {
            revisions.push_str(&format!("^{hidden}\n"));
        }
        let list = self.git.read(["rev-list", "--date-order", "--parents", "--stdin"]);
        list.stdin(revisions).capture()?.lines().map(|line| self.listed(line)).collect()
    }
}
