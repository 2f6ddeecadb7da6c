//! Words as a POSIX shell takes them, for commands that people paste and for those we run.

/// A path as one word; as it is, where it needs no quotes.
pub fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%:,".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_read_is_quoted() {
        assert_eq!(quoted("/a-b/c.d:e"), "/a-b/c.d:e");
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
        for odd in ["~/x", "$HOME", "a;b", ""] {
            assert_eq!(quoted(odd), format!("'{odd}'"));
        }
    }
}
