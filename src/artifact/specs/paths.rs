//! Finds file names in text.

/// Returns the paths in a text, in order; `is_file` returns whether a bare name is a file.
pub(super) fn named(text: &str, is_file: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "`\"'()<>,;|".contains(c)) {
        let word = word.trim_matches(|c: char| "*_:!?".contains(c)).trim_end_matches('.');
        let word = without_line(word);
        let word = word.strip_prefix("./").unwrap_or(word);
        if is_path(word)
            && (named_as_path(word) || is_file(word))
            && !out.iter().any(|one| one == word)
        {
            out.push(word.to_owned());
        }
    }
    out
}

/// Removes a line number: `src/a.rs` for `src/a.rs:12`.
fn without_line(word: &str) -> &str {
    match word.rsplit_once(':') {
        Some((path, line))
            if !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit() || b == b'-') =>
        {
            path
        }
        _ => word,
    }
}

/// True if a task may name the word as a path inside the repository.
fn is_path(word: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || "._-/@+".contains(c);
    !word.is_empty()
        && word.chars().all(fits)
        && !word.starts_with(['/', '-', '+', '@'])
        && !word.ends_with('/')
        && word.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
        && !word.starts_with(".git/")
        && !word.starts_with(".cowork/")
}

/// True for a path that has a folder and ends with a file extension, such as `src/main.rs`.
fn named_as_path(word: &str) -> bool {
    let Some((_, file)) = word.rsplit_once('/') else { return false };
    let Some((_, extension)) = file.rsplit_once('.') else { return false };
    let letters = extension.chars().filter(char::is_ascii_alphabetic).count();
    letters > 0 && extension.len() <= 12 && extension.chars().all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn paths_are_distinguished_from_words() {
        let is_file = |name: &str| ["README.md", "Makefile", "src/bin"].contains(&name);
        let of = |text: &str| named(text, &is_file).join(" ");
        assert_eq!(of("Create User model in src/models/user.py."), "src/models/user.py");
        assert_eq!(
            of("Edit `src/a-b.rs:12` and (./web/App.tsx), e.g. and/or 1.2/3.4"),
            "src/a-b.rs web/App.tsx"
        );
        assert_eq!(
            of("Update README.md, Makefile and docs/ in src/bin"),
            "README.md Makefile src/bin"
        );
        assert_eq!(
            of("tests/test_[name].py /etc/x.conf ../x.rs http://a.b/c.html .git/config.x"),
            ""
        );
        assert_eq!(
            of("src/a.rs src/a.rs .github/workflows/ci.yml"),
            "src/a.rs .github/workflows/ci.yml"
        );
    }
}
