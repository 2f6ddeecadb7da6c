//! Reads and writes objects in process: the only module that opens libgit2's database of objects for
//! their content.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use flate2::bufread::ZlibDecoder;
use git2::{ObjectType, Oid, Repository};

use crate::present::present;

/// More bytes than the head of an object has: a kind, a space, a size and a NUL.
const LONGEST: u64 = 32;

/// The result of `see` for the kind and the bytes of an object.
///
/// libgit2 1.9 never returns from a loose object whose file was cut off. So it reads packs only.
///
/// # Errors
/// There is no such object, its file is broken, or `see` fails.
pub(crate) fn read<T>(
    repository: &Repository,
    folders: &[PathBuf],
    id: Oid,
    see: impl FnOnce(ObjectType, &[u8]) -> Result<T>,
) -> Result<T> {
    let Some(file) = open(folders, id)? else {
        let odb = repository.odb()?;
        let object = odb.read(id)?;
        return see(object.kind(), object.data());
    };
    let mut object = Vec::new();
    ZlibDecoder::new(file).read_to_end(&mut object)?;
    let (kind, size, begin) = parsed(&object)?;
    let bytes = &object[begin..];
    ensure!(u64::try_from(bytes.len())? == size, "the loose object {id} is cut off");
    see(kind, bytes)
}

/// The kind of an object, and the number of its bytes.
///
/// # Errors
/// There is no such object, or its file is broken.
pub(crate) fn header(
    repository: &Repository,
    folders: &[PathBuf],
    id: Oid,
) -> Result<(ObjectType, u64)> {
    let Some(file) = open(folders, id)? else {
        let (size, kind) = repository.odb()?.read_header(id)?;
        return Ok((kind, u64::try_from(size)?));
    };
    let mut begin = Vec::new();
    ZlibDecoder::new(file).take(LONGEST).read_to_end(&mut begin)?;
    let (kind, size, _) = parsed(&begin)?;
    Ok((kind, size))
}

/// The file of a loose object; `None` if there is none.
fn open(folders: &[PathBuf], id: Oid) -> Result<Option<BufReader<File>>> {
    let id = id.to_string();
    for folder in folders {
        if let Some(file) = present(File::open(path_in(folder, &id)))? {
            return Ok(Some(BufReader::new(file)));
        }
    }
    Ok(None)
}

/// The kind in the head of a loose object, the size in it, and where the object begins.
fn parsed(object: &[u8]) -> Result<(ObjectType, u64, usize)> {
    let end = memchr::memchr(0, object).context("a loose object without a head")?;
    let (kind, size) = str::from_utf8(&object[..end])?.split_once(' ').context("no size")?;
    let kind = ObjectType::from_str(kind).context("an unknown kind of object")?;
    Ok((kind, size.parse()?, end + 1))
}

/// This folder of objects, and those from which it borrows (`info/alternates`).
pub(crate) fn folders(objects: PathBuf) -> Vec<PathBuf> {
    let (mut found, mut at) = (vec![objects], 0);
    while let Some(folder) = found.get(at) {
        let list = std::fs::read_to_string(folder.join("info/alternates")).unwrap_or_default();
        let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let others = lines.filter_map(|line| folder.join(line).canonicalize().ok());
        let new: Vec<PathBuf> = others.filter(|folder| !found.contains(folder)).collect();
        found.extend(new);
        at += 1;
    }
    found
}

/// Sets the time of a loose object to now, as git does with an object that it would write again:
/// `git gc` deletes old objects that nothing points to.
///
/// # Errors
/// There is no such loose object, or it is another user's.
pub(crate) fn freshen(folders: &[PathBuf], id: &crate::git::Oid) -> Result<()> {
    let own_folder = folders.first().context("a repository without objects")?;
    Ok(freshened(&path_in(own_folder, id.as_str()))?)
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

/// The file of a loose object in a folder of objects.
fn path_in(folder: &Path, id: &str) -> PathBuf {
    let (begin, end) = id.split_at(2);
    folder.join(begin).join(end)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;
    use crate::git::libgit2::Libgit2;
    use crate::git::test_repo::Repo;

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
            let id = fast.put(ObjectType::Blob, &bytes).unwrap();
            assert_eq!(fast.put(ObjectType::Blob, &bytes).unwrap(), id, "once more");
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
        let id = fast.put(ObjectType::Blob, b"old").unwrap().to_string();
        let path = repo.path(".git/objects").join(&id[..2]).join(&id[2..]);
        let long_ago = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let age = || File::open(&path).unwrap().set_modified(long_ago).unwrap();
        let is_old = || path.metadata().unwrap().modified().unwrap() == long_ago;
        age();
        freshen(&fast.folders, &id.parse().unwrap()).unwrap();
        assert!(!is_old());
        age();
        fast.put(ObjectType::Blob, b"old").unwrap();
        assert!(!is_old());
        assert!(freshen(&fast.folders, &format!("{:040x}", 7).parse().unwrap()).is_err());
    }

    #[test]
    fn an_object_in_a_pack_is_not_written_again() {
        let repo = Repo::with_commit();
        repo.run(&["gc", "-q"]);
        let fast = Libgit2::open(&repo.git()).unwrap();
        let readme = std::fs::read(repo.path("README.md")).unwrap();
        let id = fast.put(ObjectType::Blob, &readme).unwrap().to_string();
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
        assert!(fast.put(ObjectType::Blob, bytes).is_err());
    }
}
