//! Reads the project's file from the working tree. The file came with a clone, so it is read only
//! once, never through a symbolic link, and never beyond the largest plausible size.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use anyhow::Result;

use crate::error::Error;

/// Path of the file, from the top of the working tree.
pub const PROJECT_FILE: &str = ".cowork/config.toml";

/// Maximum size of the file in bytes: ten times the size of the template with all its comments.
const LARGEST: u64 = 128 * 1024;

/// Returns the text of the project's file, if there is one.
///
/// # Errors
///
/// Kind `Model` if the path is not a regular file, or the file is too large or cannot be read.
pub fn project_file(top: &Path) -> Result<Option<String>> {
    let path = top.join(PROJECT_FILE);
    for name in [".cowork", ".cowork/sessions", PROJECT_FILE] {
        let kind = match fs::symlink_metadata(top.join(name)) {
            Ok(meta) => meta.file_type(),
            Err(error) if is_absent(error.kind()) && name == ".cowork/sessions" => continue,
            Err(error) if is_absent(error.kind()) => return Ok(None),
            Err(error) => return Err(unreadable(&error)),
        };
        let is_expected = if name == PROJECT_FILE { kind.is_file() } else { kind.is_dir() };
        if !is_expected {
            let type_name = if name == PROJECT_FILE { "regular file" } else { "directory" };
            return Err(Error::model(format!("{name} is not a {type_name}, so it is not read"))
                .hint(format!("check what the repository contains there: ls -ld {name}"))
                .into());
        }
    }
    let file = fs::File::open(&path).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > LARGEST {
        let limit = LARGEST / 1024;
        return Err(Error::model(format!("{PROJECT_FILE} is larger than {limit} KiB"))
            .hint("configuration is never that large: check this file of the repository")
            .into());
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| Error::model(format!("{PROJECT_FILE} is not UTF-8")).into())
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn unreadable(error: &std::io::Error) -> anyhow::Error {
    Error::model(format!("{PROJECT_FILE} cannot be read: {error}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join(".cowork")).unwrap();
        top
    }

    #[test]
    fn the_file_is_read_unchanged() {
        let top = tempfile::tempdir().unwrap();
        assert_eq!(project_file(top.path()).unwrap(), None);
        let top = tree();
        assert_eq!(project_file(top.path()).unwrap(), None);
        fs::write(top.path().join(PROJECT_FILE), "a\r\n").unwrap();
        assert_eq!(project_file(top.path()).unwrap().as_deref(), Some("a\r\n"));
    }

    #[test]
    fn other_file_types_large_files_and_binary_files_are_refused() {
        let says = |top: &tempfile::TempDir| project_file(top.path()).unwrap_err().to_string();
        let top = tree();
        fs::create_dir(top.path().join(PROJECT_FILE)).unwrap();
        assert!(says(&top).contains("is not a regular file"));
        let top = tree();
        fs::write(top.path().join(PROJECT_FILE), vec![b'#'; 200 * 1024]).unwrap();
        assert!(says(&top).contains("larger than 128 KiB"));
        let top = tree();
        fs::write(top.path().join(PROJECT_FILE), b"\xff").unwrap();
        assert!(says(&top).contains("not UTF-8"));
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_are_not_followed() {
        let top = tree();
        std::os::unix::fs::symlink("/dev/zero", top.path().join(PROJECT_FILE)).unwrap();
        assert!(project_file(top.path()).is_err());
        let top = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", top.path().join(".cowork")).unwrap();
        let error = project_file(top.path()).unwrap_err().to_string();
        assert!(error.contains(".cowork is not a directory"), "{error}");
        let top = tree();
        std::os::unix::fs::symlink("..", top.path().join(".cowork/sessions")).unwrap();
        let error = project_file(top.path()).unwrap_err().to_string();
        assert!(error.contains(".cowork/sessions is not a directory"), "{error}");
    }
}
