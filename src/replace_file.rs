//! Files that are replaced as a whole.

use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file so that readers see either the old content or the new one, even after a crash: to
/// a temporary file in the same folder, which is then renamed.
///
/// # Errors
/// The folder does not exist or cannot be written, or the disk is full; the old file stays.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temp = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    temp.write_all(bytes)?;
    temp.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_replaced_and_no_temporary_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for text in ["one", "two, and longer"] {
            replace_file(&path, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
        assert!(replace_file(&folder.path().join("missing/file"), b"x").is_err());
    }
}
