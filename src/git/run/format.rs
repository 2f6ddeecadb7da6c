//! The format of a repository: the length of its ids, and where it keeps references
//! (`extensions` in git-config(1)).

use git2::ObjectFormat;

/// The format that git names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Hexadecimal digits of an id.
    pub(crate) digits: usize,
    /// Each reference is in a file or in `packed-refs`, and not in tables (reftable).
    pub(crate) has_ref_files: bool,
}

impl Format {
    /// The kind of ids.
    pub(crate) fn of_objects(self) -> ObjectFormat {
        match self.digits {
            64 => ObjectFormat::Sha256,
            _ => ObjectFormat::Sha1,
        }
    }

    /// The format that `git rev-parse` prints for `--show-object-format` and `--show-ref-format`.
    /// A git without tables of references does not know the second option, and prints it.
    pub(crate) fn printed(objects: &[u8], refs: &[u8]) -> Self {
        Self {
            digits: if objects == b"sha256" { 64 } else { 40 },
            has_ref_files: refs == b"files" || refs.starts_with(b"--"),
        }
    }
}

impl Default for Format {
    fn default() -> Self {
        Self { digits: 40, has_ref_files: true }
    }
}
