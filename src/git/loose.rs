//! Reads and writes objects that are not in a pack.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use git2::{ObjectType, Oid};

use super::libgit2::Libgit2;
use crate::present::present;

/// The kind of a loose object, and its bytes after a head of this length; `None` if there is no such
/// file. libgit2 1.9 never returns from an object whose file was cut off.
///
/// # Errors
/// The file is broken.
pub(super) fn read(fast: &Libgit2, id: Oid) -> Result<Option<(ObjectType, Vec<u8>, usize)>> {
    let Some(file) = present(std::fs::read(path_of(fast, &id.to_string())))? else {
        return Ok(None);
    };
    let mut object = Vec::with_capacity(4 * file.len());
    flate2::read::ZlibDecoder::new(&file[..]).read_to_end(&mut object)?;
    let head = memchr::memchr(0, &object).context("a loose object without a head")?;
    let (kind, size) = str::from_utf8(&object[..head])?.split_once(' ').context("no size")?;
    let kind = ObjectType::from_str(kind).context("an unknown kind of object")?;
    ensure!(object.len() - head - 1 == size.parse::<usize>()?, "a loose object is cut off");
    Ok(Some((kind, object, head + 1)))
}

/// Writes an object that may already exist: then it is as new as one just written.
///
/// # Errors
/// The object database cannot be written.
pub(super) fn write(fast: &Libgit2, kind: ObjectType, bytes: &[u8]) -> Result<Oid> {
    let id = fast.repository.odb()?.write(kind, bytes)?;
    // Keep the object: the next steps read it to count the lines of a task's files and to compare
    // trees.
    fast.kept.keep(id, kind, bytes);
    Ok(id)
}

/// Sets the time of a loose object to now, as git does with an object that it would write again:
/// `git gc` deletes old objects that nothing points to.
///
/// # Errors
/// There is no such loose object, or it is another user's.
pub(super) fn freshen(fast: &Libgit2, id: &super::Oid) -> Result<()> {
    Ok(freshened(&path_of(fast, id.as_str()))?)
}

#[cfg(unix)]
fn freshened(path: &Path) -> std::io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let both = Timestamps { last_access: now, last_modification: now };
    Ok(utimensat(CWD, path, &both, AtFlags::empty())?)
}

#[cfg(not(unix))]
fn freshened(path: &Path) -> std::io::Result<()> {
    std::fs::File::open(path)?.set_modified(std::time::SystemTime::now())
}

/// The file of a loose object.
fn path_of(fast: &Libgit2, id: &str) -> PathBuf {
    let (folder, name) = id.split_at(2);
    fast.repository.path().join("objects").join(folder).join(name)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::super::test_repo::Repo;
    use super::*;

    /// Contents of many sizes; some deflate well, some badly.
    fn contents() -> Vec<Vec<u8>> {
        let mut random = fastrand::Rng::with_seed(7);
        let mut contents = vec![Vec::new(), b"a".to_vec(), b"text\n".repeat(3)];
        for size in [100, 4_000, 40_000, 400_000] {
            contents.push((0..size).map(|_| random.u8(..)).collect());
            contents.push((0..size).map(|at| (at / 97 % 7) as u8).collect());
        }
        contents
    }

    #[test]
    fn git_reads_what_was_written() {
        let repo = Repo::with_commit();
        let fast = Libgit2::open(&repo.git()).unwrap();
        for bytes in contents() {
            let id = write(&fast, ObjectType::Blob, &bytes).unwrap();
            assert_eq!(write(&fast, ObjectType::Blob, &bytes).unwrap(), id, "once more");
            let id = id.to_string();
            std::fs::write(repo.path("content"), &bytes).unwrap();
            assert_eq!(repo.run(&["hash-object", "content"]), id);
            let file = repo.path(".git/objects").join(&id[..2]).join(&id[2..]);
            assert!(file.is_file(), "{id}");
            #[cfg(unix)]
            assert!(file.metadata().unwrap().permissions().readonly(), "{id}");
        }
        repo.run(&["fsck", "--strict"]);
    }

    #[test]
    fn an_object_that_is_needed_again_is_not_old() {
        let repo = Repo::with_commit();
        let fast = Libgit2::open(&repo.git()).unwrap();
        let id = write(&fast, ObjectType::Blob, b"old").unwrap().to_string();
        let path = repo.path(".git/objects").join(&id[..2]).join(&id[2..]);
        let long_ago = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let age = || File::open(&path).unwrap().set_modified(long_ago).unwrap();
        let is_old = || path.metadata().unwrap().modified().unwrap() == long_ago;
        age();
        freshen(&fast, &id.parse().unwrap()).unwrap();
        assert!(!is_old());
        age();
        write(&fast, ObjectType::Blob, b"old").unwrap();
        assert!(!is_old());
        assert!(freshen(&fast, &format!("{:040x}", 7).parse().unwrap()).is_err());
    }

    #[test]
    fn an_object_in_a_pack_is_not_written_again() {
        let repo = Repo::with_commit();
        repo.run(&["gc", "-q"]);
        let fast = Libgit2::open(&repo.git()).unwrap();
        let readme = std::fs::read(repo.path("README.md")).unwrap();
        let id = write(&fast, ObjectType::Blob, &readme).unwrap().to_string();
        assert_eq!(repo.run(&["rev-parse", "HEAD:README.md"]), id);
        assert!(!repo.path(".git/objects").join(&id[..2]).exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_cannot_be_written_is_an_error() {
        let repo = Repo::with_commit();
        let fast = Libgit2::open(&repo.git()).unwrap();
        let bytes = b"new";
        let id = fast.hash(ObjectType::Blob, bytes).unwrap().to_string();
        repo.file(&format!(".git/objects/{}", &id[..2]), "a file");
        assert!(write(&fast, ObjectType::Blob, bytes).is_err());
    }
}
