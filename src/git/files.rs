//! The files of a commit and their bytes, many at once. Nothing is fetched for it: what a partial
//! clone does not have is left out.

use anyhow::Result;

use super::output::lossy;
use super::spawn::chunks;
use super::{Cmd, EntryKind, Git, Object, Oid, Reader as _};
use crate::error::Error;

/// A regular file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// From the top, with `/`. Undecodable bytes are replaced.
    pub path: String,
    /// Its content.
    pub blob: Oid,
    /// Bytes.
    pub size: u64,
}

impl Git {
    /// The regular files of a commit or tree, sorted by path: no links, no submodules, and none
    /// whose content is not here.
    ///
    /// # Errors
    /// Git fails, there is no such commit.
    pub fn tree_files(&self, commit: &Oid) -> Result<Vec<TreeFile>> {
        let list = self.without_fetching(&["ls-tree", "-r", "-z", "-l", "--full-tree"]);
        files(&list.arg(commit.as_str()).checked()?.stdout)
    }

    /// The same of these paths only, sorted, too; those that are no regular files there are left out.
    ///
    /// # Errors
    /// Git fails, there is no such commit.
    pub fn tree_files_at<S: AsRef<str>>(&self, commit: &Oid, paths: &[S]) -> Result<Vec<TreeFile>> {
        let mut paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
        paths.sort_unstable();
        let here = self.in_process(|reader| {
            let entries = paths.iter().copied().zip(reader.entries(commit, &paths)?);
            let files = entries.filter_map(|(path, entry)| {
                let entry = entry.filter(|entry| entry.kind == EntryKind::File)?;
                Some((path.to_owned(), entry.oid))
            });
            let (paths, blobs): (Vec<String>, Vec<Oid>) = files.unzip();
            let sizes = reader.sizes(&blobs)?;
            let files = paths.into_iter().zip(blobs).zip(sizes);
            Ok(files.map(|((path, blob), size)| TreeFile { path, blob, size }).collect())
        });
        if let Some(files) = here {
            return Ok(files);
        }
        let mut found = Vec::new();
        for chunk in chunks(&paths) {
            let list = self.without_fetching(&["ls-tree", "-z", "-l", "--full-tree"]);
            let list = list.args([commit.as_str(), "--"]).args(chunk);
            found.extend(files(&list.checked()?.stdout)?);
        }
        Ok(found)
    }

    /// The bytes of these blobs, in their order, with one process at most; `None` for what is not here.
    ///
    /// # Errors
    /// Git fails.
    pub fn blobs(&self, blobs: &[Oid]) -> Result<Vec<Option<Vec<u8>>>> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        let here = self
            .in_process(|reader| blobs.iter().map(|blob| reader.blob(Object::Id(blob))).collect());
        if let Some(bytes) = here {
            return Ok(bytes);
        }
        let ids: String = blobs.iter().map(|blob| format!("{blob}\n")).collect();
        let cat = self.without_fetching(&["cat-file", "--batch", "--buffer"]).stdin(ids);
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
            let broken = || Error::repository(format!("git cat-file said {header:?}"));
            let size: usize = size.parse().map_err(|_| broken())?;
            let bytes = rest.get(..size).ok_or_else(broken)?;
            found.push((kind == "blob").then(|| bytes.to_vec()));
            rest = rest.get(size + 1..).unwrap_or_default();
        }
        Ok(found)
    }

    fn without_fetching(&self, args: &[&str]) -> Cmd<'_> {
        // Older gits do not know it, and fetch.
        self.read(args).env("GIT_NO_LAZY_FETCH", "1")
    }
}

/// What `ls-tree -z -l` says: `<mode> SP <type> SP <id> SP+ <size> TAB <path>`.
fn files(output: &[u8]) -> Result<Vec<TreeFile>> {
    let mut files = Vec::new();
    for line in output.split(|&b| b == 0).filter(|line| !line.is_empty()) {
        let line = lossy(line);
        let broken = || Error::repository(format!("git ls-tree said {line:?}"));
        let (meta, path) = line.split_once('\t').ok_or_else(broken)?;
        let [mode, _, blob, size] = meta.split_ascii_whitespace().collect::<Vec<_>>()[..] else {
            return Err(broken().into());
        };
        // The size of what is not here is no number.
        if let (true, Ok(size)) = (mode.starts_with("100"), size.parse()) {
            files.push(TreeFile { path: path.to_owned(), blob: blob.parse()?, size });
        }
    }
    Ok(files)
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
        let files = git.tree_files(&commit).unwrap();
        let found: Vec<_> = files.iter().map(|f| (f.path.as_str(), f.size)).collect();
        assert!(found.contains(&("dir/b\n.txt", 10)) && found.contains(&("dir/empty", 0)));
        assert!(!found.iter().any(|(path, _)| *path == "link"), "{found:?}");
        let some = git.tree_files_at(&commit, &["dir/empty", "link", "none"]).unwrap();
        assert_eq!(some.len(), 1);
        assert_eq!(git.tree_files_at::<&str>(&commit, &[]).unwrap(), []);
        let two = files.iter().find(|f| f.size == 10).unwrap();
        let nothing: Oid = "0123456789012345678901234567890123456789".parse().unwrap();
        let ids = [two.blob.clone(), nothing, some[0].blob.clone(), commit];
        let bytes = git.blobs(&ids).unwrap();
        assert_eq!(bytes, [Some(b"two\nlines\n".to_vec()), None, Some(Vec::new()), None]);
        assert_eq!(git.blobs(&[]).unwrap(), Vec::<Option<Vec<u8>>>::new());
    }
}
