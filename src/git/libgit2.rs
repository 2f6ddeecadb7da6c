//! The reader in process, through libgit2. It opens the shared git directory, so it knows objects
//! and shared references, but neither HEAD, index nor configuration of a working tree.
//! What it cannot find it reports as an error, so that the binary is asked.

use std::path::Path;

use anyhow::{Context as _, Result};
use git2::{BlameOptions, Delta, DiffOptions, Repository, RepositoryOpenFlags, Signature, Sort};

use super::output::lossy;
use super::reader::{BlameHunk, Commit, Object, Reader, TreeChange, TreeChangeKind, joined};
use super::{Git, Oid};
use crate::error::Error;

pub(super) struct Libgit2 {
    repository: Repository,
}

impl Libgit2 {
    /// # Errors
    /// libgit2 does not know the repository's format.
    pub(super) fn open(git: &Git) -> Result<Self> {
        let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
        let nowhere: [&Path; 0] = [];
        let repository = Repository::open_ext(git.common_dir(), flags, nowhere)
            .with_context(|| format!("opening {}", git.common_dir().display()))?;
        Ok(Self { repository })
    }

    fn tree(&self, oid: &Oid) -> Result<git2::Tree<'_>> {
        let object = self.repository.find_object(raw(oid)?, None)?;
        Ok(object.peel_to_tree()?)
    }

    fn blob_at(&self, commit: &Oid, path: &str) -> Result<Option<Vec<u8>>> {
        let mut tree = self.tree(commit)?;
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let Some((kind, id)) = tree.get_name(part).map(|entry| (entry.kind(), entry.id()))
            else {
                return Ok(None);
            };
            match (kind, parts.peek().is_none()) {
                (Some(git2::ObjectType::Blob), true) => {
                    return Ok(Some(self.repository.find_blob(id)?.content().to_vec()));
                }
                (Some(git2::ObjectType::Tree), false) => tree = self.repository.find_tree(id)?,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}

impl Reader for Libgit2 {
    fn blob(&self, object: Object<'_>) -> Result<Option<Vec<u8>>> {
        match object {
            Object::Id(oid) => Ok(Some(self.repository.find_blob(raw(oid)?)?.content().to_vec())),
            Object::At(commit, path) => self.blob_at(commit, path),
        }
    }

    fn walk(&self, tips: &[Oid], hide: &[Oid]) -> Result<Vec<Commit>> {
        let mut walk = self.repository.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
        for tip in tips {
            walk.push(raw(tip)?)?;
        }
        for hidden in hide {
            walk.hide(raw(hidden)?)?;
        }
        walk.map(|id| commit(&self.repository.find_commit(id?)?)).collect()
    }

    fn diff(&self, from: Option<&Oid>, to: &Oid) -> Result<Vec<TreeChange>> {
        let from = from.map(|oid| self.tree(oid)).transpose()?;
        let to = self.tree(to)?;
        let mut options = DiffOptions::new();
        options.include_typechange(true).ignore_submodules(false).context_lines(0);
        let diff =
            self.repository.diff_tree_to_tree(from.as_ref(), Some(&to), Some(&mut options))?;
        diff.deltas().map(|delta| tree_change(&delta)).collect()
    }

    fn reference(&self, name: &str) -> Result<Option<Oid>> {
        match self.repository.find_reference(name) {
            Ok(reference) => Ok(Some(oid(reference.peel_to_commit()?.id())?)),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn blame(
        &self,
        commit: &Oid,
        path: &str,
        lines: Option<(usize, usize)>,
    ) -> Result<Vec<BlameHunk>> {
        let mut options = BlameOptions::new();
        options.newest_commit(raw(commit)?);
        if let Some((first, last)) = lines {
            options.min_line(first).max_line(last);
        }
        let blame = self.repository.blame_file(Path::new(path), Some(&mut options))?;
        let hunks: Result<Vec<_>> = blame
            .iter()
            .map(|hunk| {
                let commit = oid(hunk.final_commit_id())?;
                let (start, lines) = (hunk.final_start_line(), hunk.lines_in_hunk());
                Ok(BlameHunk { start, lines, commit })
            })
            .collect();
        Ok(joined(hunks?))
    }
}

fn raw(oid: &Oid) -> Result<git2::Oid> {
    Ok(git2::Oid::from_str(oid.as_str())?)
}

fn oid(raw: git2::Oid) -> Result<Oid> {
    Ok(raw.to_string().parse()?)
}

fn commit(commit: &git2::Commit<'_>) -> Result<Commit> {
    let author = commit.author();
    Ok(Commit {
        id: oid(commit.id())?,
        tree: oid(commit.tree_id())?,
        parents: commit.parent_ids().map(oid).collect::<Result<_>>()?,
        author: identity(&author),
        author_time: author.when().seconds(),
        committer_time: commit.committer().when().seconds(),
        message: lossy(commit.message_raw_bytes()).trim_matches('\n').to_owned(),
    })
}

fn identity(signature: &Signature<'_>) -> String {
    format!("{} <{}>", lossy(signature.name_bytes()), lossy(signature.email_bytes()))
}

fn tree_change(delta: &git2::DiffDelta<'_>) -> Result<TreeChange> {
    let kind = match delta.status() {
        Delta::Added => TreeChangeKind::Added,
        Delta::Deleted => TreeChangeKind::Deleted,
        Delta::Modified => TreeChangeKind::Modified,
        Delta::Typechange => TreeChangeKind::Type,
        other => return Err(Error::repository(format!("libgit2 says {other:?}")).into()),
    };
    let (old, new) = (delta.old_file(), delta.new_file());
    let file = if kind == TreeChangeKind::Deleted { &old } else { &new };
    let id = |file: &git2::DiffFile<'_>| -> Result<Option<Oid>> {
        if file.id().is_zero() { Ok(None) } else { oid(file.id()).map(Some) }
    };
    Ok(TreeChange {
        path: lossy(file.path_bytes().unwrap_or_default()),
        kind,
        old: id(&old)?,
        new: id(&new)?,
    })
}
