//! Splits a list of paths into chunks that fit on a command line.

/// Bytes of paths passed to one child as arguments; far below the limit of any system.
const ARGUMENT_BYTES: usize = 64 * 1024;

/// Paths as chunks that fit on a command line.
pub(crate) fn chunks<S: AsRef<str>>(paths: &[S]) -> Vec<&[S]> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, path) in paths.iter().enumerate() {
        let len = path.as_ref().len() + 1;
        if bytes + len > ARGUMENT_BYTES && index > start {
            chunks.push(&paths[start..index]);
            (start, bytes) = (index, 0);
        }
        bytes += len;
    }
    if start < paths.len() {
        chunks.push(&paths[start..]);
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_paths_are_split_and_none_is_lost() {
        let paths: Vec<String> = (0..5000).map(|n| format!("some/long/path/number/{n}")).collect();
        let split = chunks(&paths);
        assert!(split.len() > 1);
        assert_eq!(split.concat(), paths);
        assert!(chunks::<String>(&[]).is_empty());
    }
}
