//! A person's files that no model, tool, command or agent may see and no commit changes: `private`
//! under `[project]`.

use std::path::Path;
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

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
            let added = builder.add_line(None, glob);
            added.map_err(|error| wrong(glob, &format!("cannot be read: {error}")))?;
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
        let own = path == ".cowork" || path.starts_with(".cowork/");
        let is_inside = !path.is_empty() && path != "." && !path.starts_with('/') && !own;
        is_inside && all.matched_path_or_any_parents(Path::new(path), true).is_ignore()
    }

    /// Returns the private files and folders below a directory, relative to it; for a private
    /// folder, only the folder itself.
    pub fn below(&self, root: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders: Vec<String> = self.is_set().then(String::new).into_iter().collect();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
                // A name that is not valid UTF-8 is matched in its displayed form.
                let name = entry.file_name().to_string_lossy().into_owned();
                let path =
                    if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                if self.has(&path) {
                    found.push(path);
                } else if name != ".git" && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                }
            }
        }
        found
    }
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
