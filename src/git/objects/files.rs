//! The files of a commit and their content, many at once. Nothing is fetched: content that a
//! partial clone does not have is left out.

use std::ops::ControlFlow;

use anyhow::{Context as _, Result};
use git2::ObjectType;

use crate::git::cat_file::object_here as here;
use crate::git::object_text::{first_entry, kind_of, missing};
use crate::git::reader::tree_of;
use crate::git::snapshot;
use crate::git::{EntryKind, Git, Oid, Reader as _};
use crate::path_text::decoded;

/// Calls `visit` with the path and blob of each regular file of a commit or tree (no links, no
/// submodules), in git's order, until it returns `Break`. Does not check that the content is
/// available; undecodable bytes of a path are replaced.
///
/// # Errors
/// There is no such commit, or a tree is missing.
pub fn each(
    git: &Git,
    commit: &Oid,
    visit: &mut dyn FnMut(&str, &Oid) -> ControlFlow<()>,
) -> Result<()> {
    let tree = |id: &Oid| match git.in_process(|reader| reader.object(id)).flatten() {
        Some((_, bytes)) => Ok(bytes),
        None => Ok::<_, anyhow::Error>(here(git, id, u64::MAX)?.ok_or_else(|| missing(id))?.1),
    };
    let (mut path, top) = (String::new(), tree_of(git.reader().as_ref(), commit)?);
    // The current tree and those above it, each with its next entry and the length of its path.
    let mut open = vec![(tree(&top)?, 0, 0)];
    while let Some((text, next, length)) = open.last_mut() {
        path.truncate(*length);
        if *next == text.len() {
            open.pop();
            continue;
        }
        let (entry, after) = first_entry(&text[*next..], top.bytes()).context("a broken tree")?;
        let (kind, id) = (kind_of(entry.0), Oid::of_bytes(entry.2));
        path.push_str(&decoded(entry.1));
        *next = text.len() - after.len();
        if kind == EntryKind::Tree {
            path.push('/');
            open.push((tree(&id)?, 0, path.len()));
        } else if kind == EntryKind::File && visit(&path, &id).is_break() {
            break;
        }
    }
    Ok(())
}

/// Paths and blobs of the regular files of a commit at these paths, sorted by path: no links, no
/// submodules.
///
/// # Errors
/// Git fails, or there is no such commit.
pub fn at<S: AsRef<str>>(git: &Git, commit: &Oid, paths: &[S]) -> Result<Vec<(String, Oid)>> {
    let mut paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
    paths.sort_unstable();
    let entries = paths.iter().zip(snapshot::entries(git, commit, &paths)?);
    let files = entries.filter_map(|(path, entry)| {
        let entry = entry.filter(|entry| entry.kind == EntryKind::File)?;
        Some(((*path).to_owned(), entry.oid))
    });
    Ok(files.collect())
}

/// The bytes of these blobs, in their order; `None` for a missing blob.
///
/// # Errors
/// Git fails.
pub fn contents(git: &Git, blobs: &[Oid]) -> Result<Vec<Option<Vec<u8>>>> {
    let mut contents = Vec::with_capacity(blobs.len());
    each_content(git, blobs, u64::MAX, &mut |_, bytes| {
        contents.push(bytes);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(contents)
}

/// Calls `visit` with the bytes of each of these blobs, in their order, until it returns `Break`;
/// `None` for an object that is missing, is not a blob or has more than `most` bytes. Nothing is
/// fetched, and only one blob is in memory at once.
///
/// # Errors
/// Git fails, or `visit` does.
pub fn each_content(
    git: &Git,
    blobs: &[Oid],
    most: u64,
    visit: &mut dyn FnMut(usize, Option<Vec<u8>>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    for (at, blob) in blobs.iter().enumerate() {
        let bytes = match git.in_process(|reader| reader.small_blob(blob, most)) {
            Some(bytes) => bytes,
            None => blob_here(git, blob, most)?,
        };
        if visit(at, bytes)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// What git reads without fetching.
fn blob_here(git: &Git, blob: &Oid, most: u64) -> Result<Option<Vec<u8>>> {
    let content = here(git, blob, most)?.filter(|(kind, _)| *kind == ObjectType::Blob);
    Ok(content.map(|(_, bytes)| bytes.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::{FORMATS, Repo};

    #[test]
    fn the_files_of_a_commit_and_their_bytes() {
        let repo = Repo::with_commit();
        repo.file("dir/b\n.txt", "two\nlines\n");
        repo.file("dir/empty", "");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", repo.path("link")).unwrap();
        let commit = repo.commit_all("files");
        let git = repo.git();
        let mut files = Vec::new();
        let mut add = |path: &str, blob: &Oid| {
            files.push((path.to_owned(), blob.clone()));
            ControlFlow::Continue(())
        };
        each(&git, &commit, &mut add).unwrap();
        let paths: Vec<_> = files.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["README.md", "dir/b\n.txt", "dir/empty"]);
        let some = at(&git, &commit, &["dir/empty", "link", "none"]).unwrap();
        assert_eq!(some.len(), 1);
        assert!(at::<&str>(&git, &commit, &[]).unwrap().is_empty());
        let two = &files[1].1;
        let nothing: Oid = "0123456789012345678901234567890123456789".parse().unwrap();
        let ids = [two.clone(), nothing, some[0].1.clone(), commit];
        let bytes = contents(&git, &ids).unwrap();
        assert_eq!(bytes, [Some(b"two\nlines\n".to_vec()), None, Some(Vec::new()), None]);
        assert_eq!(contents(&git, &[]).unwrap(), Vec::<Option<Vec<u8>>>::new());
    }
    /// The two readers are compared with each other.
    #[test]
    fn both_readers_visit_files_and_contents_one_at_a_time() {
        for format in FORMATS {
            let repo = Repo::with_commit_in(format);
            for path in ["a/b", "a.c", "a-b/c/d", "z"] {
                repo.file(path, path);
            }
            repo.file("big", &"x".repeat(2_000));
            let commit = repo.commit_all("files");
            let git = repo.git();
            let mut told = Vec::new();
            let mut tell = |path: &str, blob: &Oid| {
                told.push((path.to_owned(), blob.clone()));
                ControlFlow::Continue(())
            };
            each(&git, &commit, &mut tell).unwrap();
            let list = repo.run(&["ls-tree", "-r", "--format=%(path) %(objectname)", "HEAD"]);
            let lines: Vec<_> = told.iter().map(|(path, blob)| format!("{path} {blob}")).collect();
            assert_eq!(lines.join("\n"), list.trim_end());
            let mut first = 0;
            let mut one = |_: &str, _: &Oid| {
                first += 1;
                ControlFlow::Break(())
            };
            each(&git, &commit, &mut one).unwrap();
            assert_eq!(first, 1);
            let mut none = |_: &str, _: &Oid| ControlFlow::Continue(());
            assert!(each(&git, &commit.zero_like(), &mut none).is_err());

            let mut blobs: Vec<Oid> = told.into_iter().map(|(_, blob)| blob).collect();
            blobs.insert(2, commit.zero_like());
            let contents = |from: usize| {
                let mut contents = Vec::new();
                let mut add = |at: usize, bytes: Option<Vec<u8>>| {
                    contents.push((at, bytes.map(|bytes| bytes.len())));
                    Ok(if at == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                };
                match from {
                    0 => each_content(&git, &blobs, 1_000, &mut add).unwrap(),
                    _ => {
                        for (at, blob) in blobs.iter().enumerate() {
                            let bytes = blob_here(&git, blob, 1_000).unwrap();
                            if add(at, bytes).unwrap().is_break() {
                                break;
                            }
                        }
                    }
                }
                contents
            };
            // The blobs of README.md, a-b/c/d, a missing one, a.c, a/b and big; `add` stops at the
            // last.
            let sizes = [Some(8), Some(7), None, Some(3), Some(3), None];
            let expected: Vec<_> = sizes.into_iter().enumerate().collect();
            assert_eq!(contents(0), expected);
            assert_eq!(contents(1), expected);
        }
    }
}
