//! Lookups in the raw bytes of objects, without parsing them with libgit2.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use git2::ObjectType;

use super::Oid;
use super::libgit2::{Libgit2, raw};
use super::object_text::{CommitText, entries};
use super::output::lossy;
use super::reader::{Commit, EntryKind, Reader as _};

/// Number of commits that are read one by one before libgit2 is asked for a part of history,
/// because libgit2 reads each commit twice. At most this many are read in vain, which takes some 50
/// ms.
const LINE: usize = 16 * 1024;

impl Libgit2 {
    /// The result of `see` for the raw bytes of an object of this kind.
    ///
    /// # Errors
    /// There is no such object, or `see` fails.
    pub(super) fn read<T>(
        &self,
        id: git2::Oid,
        kind: ObjectType,
        see: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        self.read_any(id, |found, bytes| {
            ensure!(found == kind, "{id} is not a {kind}");
            see(bytes)
        })
    }

    /// The result of `see` for the kind and the raw bytes of an object.
    ///
    /// # Errors
    /// There is no such object, or `see` fails.
    fn read_any<T>(
        &self,
        id: git2::Oid,
        see: impl FnOnce(ObjectType, &[u8]) -> Result<T>,
    ) -> Result<T> {
        if let Some((found, bytes)) = self.kept.get(id) {
            return see(found, &bytes);
        }
        self.read_once(id, |found, bytes| {
            self.kept.keep(id, found, bytes);
            see(found, bytes)
        })
    }

    /// Like `read_any`, for an object that will not be read again: it is not cached.
    ///
    /// # Errors
    /// There is no such object, or `see` fails.
    pub(super) fn read_once<T>(
        &self,
        id: git2::Oid,
        see: impl FnOnce(ObjectType, &[u8]) -> Result<T>,
    ) -> Result<T> {
        let odb = self.repository.odb()?;
        let object = odb.read(id)?;
        see(object.kind(), object.data())
    }

    /// The id of a commit's tree; for a tree, its own id.
    pub(super) fn tree_id(&self, of: &Oid) -> Result<git2::Oid> {
        let id = raw(of)?;
        let tree = self.read_any(id, |kind, text| match kind {
            ObjectType::Tree => Ok(Some(id)),
            ObjectType::Commit => raw(&CommitText::of(text)?.tree()?).map(Some),
            _ => Ok(None),
        });
        match tree {
            Ok(Some(tree)) => Ok(tree),
            // A tag.
            _ => Ok(self.repository.find_object(id, None)?.peel_to_tree()?.id()),
        }
    }

    /// The entry of a tree at a path. A missing tree is an error, not an absent path.
    pub(super) fn entry_at(
        &self,
        mut tree: git2::Oid,
        path: &str,
    ) -> Result<Option<(EntryKind, git2::Oid)>> {
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let found = self.read(tree, ObjectType::Tree, |text| {
                for entry in entries(text, self.id_bytes()) {
                    let (mode, name, id) = entry?;
                    if name == part.as_bytes() {
                        return Ok(Some((kind_of(mode), git2::Oid::from_bytes(id)?)));
                    }
                }
                Ok(None)
            })?;
            match found {
                Some((EntryKind::Tree, id)) if parts.peek().is_some() => tree = id,
                found => return Ok(found.filter(|_| parts.peek().is_none())),
            }
        }
        Ok(None)
    }

    /// The modes and ids at these paths of a tree, in their order. Each folder is read once. A
    /// missing tree is an error, not an absent path.
    pub(super) fn entries_at(
        &self,
        tree: git2::Oid,
        paths: &[&str],
    ) -> Result<Vec<Option<(u32, git2::Oid)>>> {
        let mut folders: BTreeMap<&str, BTreeMap<&[u8], Vec<usize>>> = BTreeMap::new();
        for (at, path) in paths.iter().enumerate() {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            folders.entry(folder).or_default().entry(name.as_bytes()).or_default().push(at);
        }
        let mut found = vec![None; paths.len()];
        for (folder, names) in folders {
            let folder = match folder {
                "" => Some(tree),
                _ => match self.entry_at(tree, folder)? {
                    Some((EntryKind::Tree, id)) => Some(id),
                    _ => None,
                },
            };
            let Some(folder) = folder else { continue };
            self.read(folder, ObjectType::Tree, |text| {
                for entry in entries(text, self.id_bytes()) {
                    let (mode, name, id) = entry?;
                    for at in names.get(name).into_iter().flatten() {
                        found[*at] = Some((mode, git2::Oid::from_bytes(id)?));
                    }
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// The results of `see` for the entries of a folder; empty if there is no such folder.
    pub(super) fn in_folder<T>(
        &self,
        of: &Oid,
        folder: &str,
        see: impl Fn(EntryKind, &[u8], &[u8]) -> Result<Option<T>>,
    ) -> Result<Vec<T>> {
        let Some((EntryKind::Tree, id)) = self.entry_at(self.tree_id(of)?, folder)? else {
            return Ok(Vec::new());
        };
        self.read(id, ObjectType::Tree, |text| {
            let seen = entries(text, self.id_bytes()).map(|entry| {
                let (mode, name, id) = entry?;
                see(kind_of(mode), name, id)
            });
            seen.filter_map(Result::transpose).collect()
        })
    }

    /// The commits from `tip` down to `end`, without `end`, if each has a single parent. `None` if
    /// not, if there are too many, or if `end` does not seem to be among them.
    pub(super) fn line(&self, tip: &Oid, end: Option<&Oid>) -> Result<Option<Vec<Commit>>> {
        let (mut line, mut next) = (Vec::new(), Some(tip.clone()));
        let until = end.map(|end| Ok::<_, anyhow::Error>(self.commit(end)?.committer_time));
        let until = until.transpose()?;
        while let Some(id) = next.filter(|id| Some(id) != end) {
            let commit = self.commit(&id)?;
            let forks = commit.parents.len() > 1 || commit.parents.is_empty() && end.is_some();
            let passed = until.is_some_and(|until| commit.committer_time < until);
            if forks || passed || line.len() == LINE {
                return Ok(None);
            }
            next = commit.parents.first().cloned();
            line.push(commit);
        }
        Ok(Some(line))
    }
}

/// Parses the bytes of the commit with this id.
pub(super) fn commit(id: &Oid, text: &[u8]) -> Result<Commit> {
    let commit = CommitText::of(text)?;
    let (author, author_time) = commit.author()?;
    let (committer, committer_time) = commit.committer()?;
    Ok(Commit {
        id: id.clone(),
        tree: commit.tree()?,
        parents: commit.parents().collect::<Result<_>>()?,
        author,
        author_time,
        committer,
        committer_time,
        message: lossy(commit.message).trim_matches('\n').to_owned(),
    })
}

/// The kind of an entry with this mode.
pub(super) fn kind_of(mode: u32) -> EntryKind {
    match mode & 0o170_000 {
        0o040_000 => EntryKind::Tree,
        0o120_000 => EntryKind::Link,
        0o160_000 => EntryKind::Submodule,
        _ => EntryKind::File,
    }
}
