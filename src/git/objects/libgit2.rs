//! The in-process reader of objects, through libgit2, in every format of a repository. It reads no
//! references: libgit2 does not know reftable. If it does not find something it returns an error,
//! so that the caller asks the binary.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use git2::{ErrorCode, ObjectFormat, ObjectType, Repository, RepositoryOpenFlags};

use crate::git::bounded::prepare;
use crate::git::kept_objects::{KeptObjects, KeptTrees};
use crate::git::object_text::{Commit, Content, commit};
use crate::git::reader::{Reader, TreeChange, replace_parents};
use crate::git::{Git, Oid};
use crate::git::{loose, tree_diff, walk};

/// The fewest digits that git accepts in an abbreviated id.
const SHORTEST: usize = 4;

/// Variables that make git see another history than the one in the objects.
const REPLACING: [&str; 3] = ["GIT_REPLACE_REF_BASE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"];

pub(crate) struct Libgit2 {
    pub(crate) repository: Repository,
    pub(crate) kept: KeptObjects,
    pub(crate) trees: KeptTrees,
    /// The folders of objects: its own first.
    pub(crate) folders: Vec<PathBuf>,
    /// Some commits have parents that are missing here and that libgit2 leaves out.
    pub(crate) is_shallow: bool,
}

impl Libgit2 {
    /// # Errors
    /// libgit2 does not support the repository's format, or a variable makes git see another
    /// history.
    pub(crate) fn open(git: &Git) -> Result<Self> {
        prepare();
        let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
        let nowhere: [&Path; 0] = [];
        let repository = Repository::open_ext(git.common_dir(), flags, nowhere)
            .with_context(|| format!("opening {}", git.common_dir().display()))?;
        let is_shallow = git.common_dir().join("shallow").exists();
        let kept = KeptObjects::default();
        let trees = KeptTrees::default();
        let folders = loose::folders(git.common_dir().join("objects"));
        let opened = Self { repository, kept, trees, folders, is_shallow };
        let variable = REPLACING.iter().find(|name| git.variable(name).is_some());
        ensure!(variable.is_none(), "{} is set", variable.unwrap_or(&""));
        Ok(opened)
    }

    /// The result of `see` for the raw bytes of an object of this kind.
    ///
    /// # Errors
    /// There is no such object, or `see` fails.
    pub(crate) fn read<T>(
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
    pub(crate) fn read_any<T>(
        &self,
        id: git2::Oid,
        see: impl FnOnce(ObjectType, &[u8]) -> Result<T>,
    ) -> Result<T> {
        if let Some((found, bytes)) = self.kept.get(id) {
            return see(found, &bytes);
        }
        let see = |found, bytes: &[u8]| {
            self.kept.keep(id, found, bytes);
            see(found, bytes)
        };
        loose::read(&self.repository, &self.folders, id, see)
    }

    /// The kind and size of an object.
    ///
    /// # Errors
    /// There is no such object, or its file is broken.
    pub(crate) fn header(&self, id: &Oid) -> Result<(ObjectType, u64)> {
        loose::header(&self.repository, &self.folders, raw(id)?)
    }

    /// The number of bytes of an id in this repository.
    pub(crate) fn id_bytes(&self) -> usize {
        match self.repository.object_format() {
            ObjectFormat::Sha1 => 20,
            ObjectFormat::Sha256 => 32,
        }
    }

    /// The id of an object with these bytes, without writing it.
    pub(crate) fn hash(&self, kind: ObjectType, bytes: &[u8]) -> Result<git2::Oid> {
        Ok(git2::Oid::hash_object_ext(kind, bytes, self.repository.object_format())?)
    }

    /// The first digits of an id, followed by zeros.
    pub(crate) fn prefix(&self, digits: &str) -> Result<git2::Oid> {
        Ok(git2::Oid::from_str_ext(digits, self.repository.object_format())?)
    }

    /// [`refs::object_id`] in process.
    pub(crate) fn abbreviated(&self, short: &str) -> Result<Option<Oid>> {
        let digits = 2 * self.id_bytes();
        // A full id is returned as it is, as by `git rev-parse`.
        if short.len() == digits {
            return Ok(Some(short.parse()?));
        }
        let hex = short.bytes().all(|b| b.is_ascii_hexdigit());
        ensure!(hex && (SHORTEST..digits).contains(&short.len()), "only git can resolve {short}");
        match self.repository.odb()?.exists_prefix(self.prefix(short)?, short.len()) {
            Ok(found) => Ok(Some(oid(found)?)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            // If several objects match, git chooses the best one.
            Err(error) => Err(error.into()),
        }
    }

    /// The bytes of a blob that has at most `most` bytes; `None` for a larger one.
    ///
    /// # Errors
    /// It is missing, or not a blob.
    pub(crate) fn small_blob(&self, blob: &Oid, most: u64) -> Result<Option<Vec<u8>>> {
        let (kind, size) = self.header(blob)?;
        ensure!(kind == ObjectType::Blob, "{blob} is not a blob");
        if size > most {
            return Ok(None);
        }
        loose::read(&self.repository, &self.folders, raw(blob)?, |_, bytes| {
            Ok(Some(bytes.to_vec()))
        })
    }
}

impl Reader for Libgit2 {
    fn object(&self, id: &Oid) -> Result<Option<Content>> {
        let id = raw(id)?;
        if let Some(known) = self.kept.get(id) {
            return Ok(Some(known));
        }
        self.read_any(id, |kind, bytes| Ok(Some((kind, bytes.into()))))
    }

    fn commit(&self, oid: &Oid) -> Result<Commit> {
        let id = raw(oid)?;
        let mut commit = self.read(id, ObjectType::Commit, |text| commit(oid, text))?;
        if self.is_shallow {
            // The file may have changed since: a fetch makes history longer or shorter.
            replace_parents(&mut commit, &self.repository.path().join("shallow"))?;
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

pub(crate) fn raw(oid: &Oid) -> Result<git2::Oid> {
    let format = match oid.as_str().len() {
        64 => ObjectFormat::Sha256,
        _ => ObjectFormat::Sha1,
    };
    Ok(git2::Oid::from_str_ext(oid.as_str(), format)?)
}

pub(crate) fn oid(raw: git2::Oid) -> Result<Oid> {
    Ok(Oid::of_bytes(raw.as_bytes()))
}
