//! The files of a commit and their content, many at once. Nothing is fetched: content that a
//! partial clone does not have is left out.

use std::ops::ControlFlow;

use anyhow::Result;

use super::output::lossy;
use super::{Cmd, EntryKind, Git, Object, Oid, Reader as _, snapshot};
use crate::error::Error;

/// Bytes of blobs requested from one child.
const AT_ONCE: u64 = 2 * 1024 * 1024;

/// Calls `visit` with the path and blob of each regular file of a commit or tree (no links, no
/// submodules), in git's order, until it returns `Break`. Does not check that the content is
/// available; undecodable bytes of a path are replaced. `visit` must not read this repository.
///
/// # Errors
/// Git fails, or there is no such commit.
pub fn each(
    git: &Git,
    commit: &Oid,
    visit: &mut dyn FnMut(&str, &Oid) -> ControlFlow<()>,
) -> Result<()> {
    let mut told = 0;
    let mut over = false;
    let mut tell = |path: &str, blob: &Oid| {
        told += 1;
        let told = visit(path, blob);
        over = told.is_break();
        told
    };
    let here = git.in_process(|reader| reader.each_file(commit, &mut tell));
    if here.is_some() || over {
        return Ok(());
    }
    // Skip the files that were already passed to `visit`.
    let mut known = told;
    let list = without_fetching(git, &["ls-tree", "-r", "-z", "--full-tree"]);
    list.arg(commit.as_str()).each_nul(&mut |line| {
        let line = lossy(line);
        let broken =
            || Error::repository(format!("git ls-tree printed unexpected output: {line:?}"));
        let (meta, path) = line.split_once('\t').ok_or_else(broken)?;
        let [mode, _, blob] = meta.split(' ').collect::<Vec<_>>()[..] else {
            return Err(broken().into());
        };
        if !mode.starts_with("100") {
            return Ok(ControlFlow::Continue(()));
        }
        if known > 0 {
            known -= 1;
            return Ok(ControlFlow::Continue(()));
        }
        Ok(visit(path, &blob.parse()?))
    })
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

/// The bytes of these blobs, in their order, with at most one process; `None` for a missing blob.
///
/// # Errors
/// Git fails.
pub fn contents(git: &Git, blobs: &[Oid]) -> Result<Vec<Option<Vec<u8>>>> {
    if blobs.is_empty() {
        return Ok(Vec::new());
    }
    let here =
        git.in_process(|reader| blobs.iter().map(|blob| reader.blob(Object::Id(blob))).collect());
    if let Some(bytes) = here {
        return Ok(bytes);
    }
    let ids: String = blobs.iter().map(|blob| format!("{blob}\n")).collect();
    let cat = without_fetching(git, &["cat-file", "--batch", "--buffer"]).stdin(ids);
    let output = cat.checked()?;
    let mut rest = output.stdout.as_slice();
    let mut found = Vec::with_capacity(blobs.len());
    for _ in blobs {
        // `<id> SP <type> SP <size> LF <bytes> LF`, or `<id> SP missing LF`
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        let header = lossy(&rest[..end]);
        rest = rest.get(end + 1..).unwrap_or_default();
        let fields: Vec<&str> = header.split(' ').collect();
        let [_, kind, size] = fields[..] else {
            found.push(None);
            continue;
        };
        let broken =
            || Error::repository(format!("git cat-file printed unexpected output: {header:?}"));
        let size: usize = size.parse().map_err(|_| broken())?;
        let bytes = rest.get(..size).ok_or_else(broken)?;
        found.push((kind == "blob").then(|| bytes.to_vec()));
        rest = rest.get(size + 1..).unwrap_or_default();
    }
    Ok(found)
}

/// Calls `visit` with the bytes of each of these blobs, in their order, until it returns `Break`;
/// `None` for an object that is missing, is not a blob or has more than `most` bytes. Nothing is
/// fetched, and only a few blobs are in memory at once.
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
        let Some(bytes) = git.in_process(|reader| reader.small_blob(blob, most)) else {
            return each_blob_by_git(git, at, blobs, most, visit);
        };
        if visit(at, bytes)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn each_blob_by_git(
    git: &Git,
    from: usize,
    blobs: &[Oid],
    most: u64,
    visit: &mut dyn FnMut(usize, Option<Vec<u8>>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let ids: String = blobs[from..].iter().map(|blob| format!("{blob}\n")).collect();
    let check = without_fetching(git, &["cat-file", "--batch-check"]).stdin(ids).checked()?;
    // `<id> SP <type> SP <size>`, or `<id> SP missing`
    let sizes: Vec<Option<u64>> = check.text().lines().map(small(most)).collect();
    let mut at = from;
    while at < blobs.len() {
        let size = |at: usize| sizes.get(at - from).copied().flatten();
        let mut end = at;
        let mut bytes = 0;
        while end < blobs.len() && (end == at || bytes + size(end).unwrap_or(0) <= AT_ONCE) {
            bytes += size(end).unwrap_or(0);
            end += 1;
        }
        let wanted = (at..end).filter(|at| size(*at).is_some());
        let wanted: Vec<Oid> = wanted.map(|at| blobs[at].clone()).collect();
        let mut found = contents(git, &wanted)?.into_iter();
        for at in at..end {
            let bytes = size(at).and_then(|_| found.next().flatten());
            if visit(at, bytes)?.is_break() {
                return Ok(());
            }
        }
        at = end;
    }
    Ok(())
}

fn without_fetching<'a>(git: &'a Git, args: &[&str]) -> Cmd<'a> {
    // Older versions of git ignore this variable, and fetch.
    git.read(args).env("GIT_NO_LAZY_FETCH", "1")
}

/// The size in a line of `cat-file --batch-check`, if it is a blob of at most `most` bytes.
fn small(most: u64) -> impl Fn(&str) -> Option<u64> {
    move |line| {
        let (_, rest) = line.split_once(' ')?;
        rest.strip_prefix("blob ")?.parse().ok().filter(|size| *size <= most)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;
    use super::*;

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
        for format in [&[][..], &["--object-format=sha256"]] {
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
                    _ => each_blob_by_git(&git, 0, &blobs, 1_000, &mut add).unwrap(),
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
