//! A person's files that no model, tool, command or agent may see and no commit changes: `private`
//! under `[project]`.

use std::collections::BTreeSet;
use std::fs::{DirEntry, Metadata};
use std::path::Path;
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::path_text::{decoded, encoded};

/// The set of private files.
#[derive(Clone, Debug, Default)]
pub struct PrivateFiles(Option<Rc<Gitignore>>);

impl PrivateFiles {
    /// Creates the set of files that match one of these globs, in the syntax of `.gitignore` but
    /// without negation. Matching ignores case, because some file systems do.
    ///
    /// # Errors
    /// Returns why a glob is invalid.
    pub fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, String> {
        let mut builder = GitignoreBuilder::new("");
        let wrong = |glob: &str, why: &str| format!("has the glob {glob:?}, which {why}");
        let _ = builder.case_insensitive(true);
        for glob in globs.iter().map(AsRef::as_ref) {
            if glob.starts_with('!') {
                return Err(wrong(glob, "would make a private file public again"));
            }
            if glob.trim().is_empty() || glob.starts_with('#') {
                return Err(wrong(glob, "names no file"));
            }
            let result = builder.add_line(None, glob);
            result.map_err(|error| wrong(glob, &format!("cannot be read: {error}")))?;
        }
        let all = builder.build().map_err(|error| error.to_string())?;
        Ok(Self((!globs.is_empty()).then(|| Rc::new(all))))
    }

    /// True if any file may be private.
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// True if a file or folder, or a folder above it, is private. The path is relative to the top
    /// of the working tree; the folder `.cowork` is never private.
    pub fn has(&self, path: &str) -> bool {
        let Some(all) = &self.0 else { return false };
        let path = path.trim_end_matches('/');
        let is_cowork = path == ".cowork" || path.starts_with(".cowork/");
        let is_inside = !path.is_empty() && path != "." && !path.starts_with('/') && !is_cowork;
        is_inside && all.matched_path_or_any_parents(Path::new(path), true).is_ignore()
    }

    /// Returns the private files and folders below a directory, relative to it ([`crate::path_text`]); for a
    /// private folder, only the folder itself. In a repository below the directory, such as a linked
    /// working tree, the globs hold for paths from its own top, too.
    pub fn below(&self, root: &Path) -> Vec<String> {
        let mut paths = Vec::new();
        // Folders, each with the number of bytes before the paths that its repository knows.
        let mut folders: Vec<_> = self.is_set().then(|| (String::new(), 0)).into_iter().collect();
        while let Some((folder, mut top)) = folders.pop() {
            if !folder.is_empty() && root.join(encoded(&folder)).join(".git").exists() {
                top = folder.len() + 1;
            }
            for (path, entry) in entries(root, &folder) {
                if self.has(&path) || self.has(&path[top..]) {
                    paths.push(path);
                } else if entry.file_name() != ".git"
                    && entry.file_type().is_ok_and(|kind| kind.is_dir())
                {
                    folders.push((path, top));
                }
            }
        }
        paths
    }

    /// Like [`Self::below`], with the other names (hard links) of private files.
    pub fn with_other_names(&self, root: &Path) -> Vec<String> {
        let mut paths = self.below(root);
        let ids: BTreeSet<FileId> =
            hard_links(root, &paths).into_iter().map(|(_, id)| id).collect();
        if !ids.is_empty() {
            let all = hard_links(root, &[String::new()]).into_iter();
            paths.extend(all.filter(|(_, id)| ids.contains(id)).map(|(path, _)| path));
        }
        paths
    }
}

/// Identifies a file, whatever its name: device and inode number.
type FileId = (u64, u64);

/// The entries of a folder below `root`, with their paths.
fn entries(root: &Path, folder: &str) -> impl Iterator<Item = (String, DirEntry)> {
    let above = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let all = std::fs::read_dir(root.join(encoded(folder))).into_iter().flatten().flatten();
    all.map(move |entry| {
        let name = decoded(entry.file_name().as_encoded_bytes());
        (format!("{above}{name}"), entry)
    })
}

/// The files with several names at these paths and below them.
fn hard_links(root: &Path, paths: &[String]) -> Vec<(String, FileId)> {
    let mut links = Vec::new();
    let mut paths = paths.to_vec();
    while let Some(path) = paths.pop() {
        let Ok(metadata) = root.join(encoded(&path)).symlink_metadata() else { continue };
        if metadata.is_dir() {
            let inner = entries(root, &path).filter(|(_, entry)| entry.file_name() != ".git");
            paths.extend(inner.map(|(path, _)| path));
        } else if let Some(id) = hard_link(&metadata) {
            links.push((path, id));
        }
    }
    links
}

/// Identifies a file with several names.
#[cfg(unix)]
fn hard_link(metadata: &Metadata) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.is_file() && metadata.nlink() > 1).then(|| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn hard_link(_: &Metadata) -> Option<FileId> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_paths_and_folders() {
        let private = PrivateFiles::new(&["*.pem", "/conf/prod.toml", "secrets/", "a/**/b"]);
        let private = private.unwrap();
        for path in [
            "x.pem",
            "deep/X.PEM",
            "conf/prod.toml",
            "secrets",
            "secrets/deep/x",
            "lib/secrets/x",
            "a/x/b/c",
        ] {
            assert!(private.has(path), "{path}");
        }
        for path in [".", "", "x.pem.txt", "lib/conf/prod.toml", "secretsx/y", ".cowork/x.pem"] {
            assert!(!private.has(path), "{path}");
        }
        assert!(!PrivateFiles::default().has("x.pem"));
        assert!(!PrivateFiles::new::<&str>(&[]).unwrap().is_set());
    }

    #[test]
    fn negations_and_empty_globs_are_refused() {
        for glob in ["!x.pem", " ", "#x"] {
            assert!(PrivateFiles::new(&["*.pem", glob]).is_err(), "{glob}");
        }
    }
}
