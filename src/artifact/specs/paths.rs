//! Finds the paths that a text names.

use crate::artifact::path_shape::{has_extension, is_path_shaped};

/// Characters that names of files have outside of backquotes, besides letters and digits, such as
/// those of `routes/(shop)/[...slug].ts`.
const IN_WORDS: &str = "._-/@+()[]$~";
/// Characters that no path in backquotes has.
const NEVER: &str = ":*?\"<>|\\";

/// Returns the paths in a text, in order; `is_file` returns whether a bare name is a file. In
/// backquotes, a path may contain blanks.
pub(super) fn named_paths(text: &str, is_file: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (at, part) in text.split('`').enumerate() {
        let found: Vec<&str> = match at % 2 {
            1 => in_code(part, is_file).into_iter().collect(),
            _ => part.split(separates).flat_map(|word| in_word(word, is_file)).collect(),
        };
        for path in found {
            if !out.iter().any(|one| one == path) {
                out.push(path.to_owned());
            }
        }
    }
    out
}

/// Returns the paths of a list that names nothing else: `src/a.ts, Makefile (new)`.
pub(super) fn listed_paths(text: &str) -> Vec<String> {
    let first = |part: &str| {
        let part = part.trim();
        let path = match part.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
            Some((path, _)) => path,
            None => bare(part.split_whitespace().next().unwrap_or_default()),
        };
        fits(path, &|c| !NEVER.contains(c)).then(|| path.to_owned())
    };
    text.split([',', ';']).filter_map(first).collect()
}

fn separates(c: char) -> bool {
    c.is_whitespace() || "\"'<>,;|".contains(c)
}

fn in_code<'t>(text: &'t str, is_file: &dyn Fn(&str) -> bool) -> Option<&'t str> {
    let path = without_line(text.trim());
    let path = path.strip_prefix("./").unwrap_or(path);
    let named = match path.contains(char::is_whitespace) {
        true => is_path_shaped(path) && has_extension(path),
        false => path.contains('/') && has_extension(path) || is_file(path),
    };
    (fits(path, &|c| !NEVER.contains(c)) && named).then_some(path)
}

fn in_word<'t>(word: &'t str, is_file: &dyn Fn(&str) -> bool) -> Option<&'t str> {
    // The address of a link.
    let word = word.split_once("](").map_or(word, |(_, address)| address.trim_end_matches(')'));
    let path = bare(word);
    let is_word = |c: char| c.is_alphanumeric() || IN_WORDS.contains(c);
    let named = path.contains('/') && has_extension(path) || is_file(path);
    (fits(path, &is_word) && !path.starts_with(['+', '@', '(', '[']) && named).then_some(path)
}

/// Removes what stands around a path in a sentence: marks, brackets, a line number.
fn bare(word: &str) -> &str {
    let mut path = word;
    loop {
        let marks = |c: char| "*:!?\"'".contains(c);
        let next = path.trim_matches(marks).trim_end_matches('.');
        let opens = |open, close| next.matches(open).count() > next.matches(close).count();
        let closes = |open, close| next.matches(open).count() < next.matches(close).count();
        let around = |open, close| {
            let inner = next.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
            inner.filter(|inner: &&str| !inner.contains([open, close]))
        };
        let next = around('(', ')').or_else(|| around('[', ']')).unwrap_or(next);
        let next = if opens('(', ')') { next.trim_start_matches('(') } else { next };
        let next = if closes('(', ')') { next.trim_end_matches(')') } else { next };
        let next = if opens('[', ']') { next.trim_start_matches('[') } else { next };
        let next = if closes('[', ']') { next.trim_end_matches(']') } else { next };
        let next = without_line(next);
        if next == path {
            // `_src/a.rs_`, but not `_index.tsx` and not `__init__.py`.
            let emphasized = path.strip_prefix('_').and_then(|rest| rest.strip_suffix('_'));
            let path = emphasized.unwrap_or(path);
            return path.strip_prefix("./").unwrap_or(path);
        }
        path = next;
    }
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

/// True if a task may name the text as a path inside the repository.
fn fits(path: &str, allowed: &dyn Fn(char) -> bool) -> bool {
    !path.is_empty()
        && path.chars().all(|c| !c.is_control() && allowed(c))
        && !path.starts_with(['/', '-', '~', ' '])
        && !path.ends_with(['/', ' '])
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
        && !path.starts_with(".git/")
        && !path.starts_with(".cowork/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_distinguished_from_words() {
        let is_file = |name: &str| ["README.md", "Makefile", "src/bin"].contains(&name);
        for (text, expected) in [
            ("Create User model in src/models/user.py.", "src/models/user.py"),
            (
                "Edit `src/a-b.rs:12` and (./web/App.tsx), e.g. and/or 1.2/3.4",
                "src/a-b.rs web/App.tsx",
            ),
            ("Update README.md, Makefile and docs/ in src/bin", "README.md Makefile src/bin"),
            ("/etc/x.conf ../x.rs http://a.b/c.html .git/config.x `/etc/y.conf`", ""),
            ("src/a.rs src/a.rs .github/workflows/ci.yml", "src/a.rs .github/workflows/ci.yml"),
            ("pkg/__init__.py, **src/b.rs**", "pkg/__init__.py src/b.rs"),
            (
                "app/routes/(shop)/[...slug].ts (see app/$id.tsx)",
                "app/routes/(shop)/[...slug].ts app/$id.tsx",
            ),
            ("`docs/user guide.md` and `python tools/gen.py`", "docs/user guide.md"),
            ("[the store](lib/store.sh)", "lib/store.sh"),
        ] {
            assert_eq!(named_paths(text, &is_file).join(" "), expected, "{text}");
        }
        let listed = listed_paths("`a b.ts`, src/types.ts (new), Makefile, ../x");
        assert_eq!(listed, ["a b.ts", "src/types.ts", "Makefile"]);
    }
}
