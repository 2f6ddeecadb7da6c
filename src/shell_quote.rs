//! Shell quoting, for commands that people paste and for commands that git-cowork runs.

/// Returns a path as one word of a POSIX shell; unchanged if it needs no quotes.
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
    fn only_words_with_special_characters_are_quoted() {
        assert_eq!(quoted("/a-b/c.d:e"), "/a-b/c.d:e");
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
        for odd in ["~/x", "$HOME", "a;b", ""] {
            assert_eq!(quoted(odd), format!("'{odd}'"));
        }
    }
}
