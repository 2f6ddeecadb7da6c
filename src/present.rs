//! Files that may be missing.

use std::io::{Error, ErrorKind, Result};

/// `None` if the path does not exist (any more), or is a folder where a file is expected or the
/// other way round.
///
/// # Errors
/// All other errors.
pub fn present<T>(result: Result<T>) -> Result<Option<T>> {
    let is_missing = |error: &Error| {
        use ErrorKind::{IsADirectory, NotADirectory, NotFound};
        matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
    };
    match result {
        Err(error) if is_missing(&error) => Ok(None),
        result => result.map(Some),
    }
}
