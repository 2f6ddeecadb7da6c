//! The difference between two trees or blobs, file by file, for display.

use anyhow::Result;

use crate::git::arguments::chunks;
use crate::git::{Git, Oid};

/// Files with more bytes are treated as binary: nobody reads a difference of that size, and it
/// would be loaded into memory.
const LARGEST_FILE: &str = "512k";

/// The difference of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePatch {
    /// Its path.
    pub path: String,
    /// Git's lines before the hunks, except names and ids: `new file mode 100644`, `Binary files …
    /// differ`.
    pub notes: Vec<String>,
    /// Its hunks, each with its `@@` line; empty if there is no text to compare.
    pub hunks: String,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
}

/// The differences of these paths between two commits or trees; without paths, the difference
/// between two blobs. A rename is a deletion and an addition. A file of more than half a MiB is
/// reported as binary.
///
/// # Errors
/// Git fails.
pub fn patches(git: &Git, from: &Oid, to: &Oid, paths: &[String]) -> Result<Vec<FilePatch>> {
    let one = |paths: &[String]| -> Result<Vec<FilePatch>> {
        let limit = format!("core.bigFileThreshold={LARGEST_FILE}");
        let diff = git.read(["-c", &limit, "diff", "--no-ext-diff", "--no-textconv"]);
        // Not affected by the user's configuration for displayed differences.
        let form = ["--color=never", "--no-renames", "--no-prefix", "--no-relative", "--patch"];
        let diff = diff.args(form).args(["--unified=3", "--submodule=short"]);
        let diff = diff.args([from.as_str(), to.as_str(), "--"]).args(paths);
        Ok(parse(&diff.checked()?.text()))
    };
    if paths.is_empty() {
        return one(&[]);
    }
    let all: Result<Vec<_>> = chunks(paths).into_iter().map(one).collect();
    Ok(all?.concat())
}

/// Parses the output of `git diff --no-prefix --no-renames`. Every line of content begins with a
/// blank, `+`, `-` or `\`, so that none is mistaken for one of git's own.
fn parse(text: &str) -> Vec<FilePatch> {
    let mut patches: Vec<FilePatch> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(names) = line.strip_prefix("diff --git ") {
            // The line has the same name twice; the name may contain blanks.
            let names = names.trim_end_matches('\n');
            let path = names.get(..names.len() / 2).unwrap_or(names);
            patches.push(FilePatch { path: unquoted(path), ..FilePatch::default() });
            continue;
        }
        let Some(patch) = patches.last_mut() else { continue };
        if line.starts_with("@@ ") || !patch.hunks.is_empty() {
            patch.added += usize::from(line.starts_with('+'));
            patch.removed += usize::from(line.starts_with('-'));
            patch.hunks.push_str(line);
        } else if !["index ", "--- ", "+++ "].iter().any(|start| line.starts_with(start)) {
            patch.notes.push(line.trim_end_matches('\n').to_owned());
        }
    }
    patches
}

/// A path without git's quotes, which enclose a path with a quote, a backslash or a control
/// character.
fn unquoted(path: &str) -> String {
    let inner = path.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(inner) = inner else { return path.to_owned() };
    let (mut bytes, mut rest) = (Vec::new(), inner.bytes().peekable());
    while let Some(byte) = rest.next() {
        let escape = if byte == b'\\' { rest.next() } else { None };
        bytes.push(match escape {
            None => byte,
            Some(first @ b'0'..=b'3') => {
                let mut digit = || rest.next().map_or(0, |digit| digit.wrapping_sub(b'0') & 7);
                ((first - b'0') << 6) | (digit() << 3) | digit()
            }
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'v') => 11,
            Some(b'f') => 12,
            Some(b'r') => b'\r',
            Some(other) => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::Repo;

    fn both(repo: &Repo, from: &Oid, to: &Oid) -> Vec<FilePatch> {
        let paths = crate::git::paths::changed(&repo.git(), from, to).unwrap();
        patches(&repo.git(), from, to, &paths).unwrap()
    }

    #[test]
    fn each_file_is_reported_whatever_its_name_and_content() {
        let repo = Repo::with_commit();
        for (key, value) in
            [("diff.mnemonicPrefix", "true"), ("diff.external", "false"), ("color.ui", "always")]
        {
            repo.run(&["config", key, value]);
        }
        let from = repo.head();
        repo.file("a b/c d.txt", "one\n");
        repo.file("lies", "diff --git x x\n@@ -1 +1 @@\n--- a\n+++ b\n");
        repo.file("bytes", "\0\u{1}");
        let middle = repo.commit_all("files");
        repo.file("a b/c d.txt", "two\n");
        repo.file("big", &"line\n".repeat(200_000));
        let to = repo.commit_all("more");

        let first = both(&repo, &from, &middle);
        let names: Vec<&str> = first.iter().map(|patch| patch.path.as_str()).collect();
        assert_eq!(names, ["a b/c d.txt", "bytes", "lies"]);
        assert_eq!(first[0].hunks, "@@ -0,0 +1 @@\n+one\n");
        assert_eq!(first[0].notes, ["new file mode 100644"]);
        assert!(first[1].hunks.is_empty() && first[1].notes[1].contains("Binary files"));
        assert_eq!((first[2].added, first[2].removed), (4, 0));
        assert!(first[2].hunks.ends_with("+diff --git x x\n+@@ -1 +1 @@\n+--- a\n++++ b\n"));

        let second = both(&repo, &middle, &to);
        assert_eq!((second[0].added, second[0].removed), (1, 1));
        assert!(second[1].hunks.is_empty(), "{:?}", second[1].notes);
    }

    #[cfg(unix)]
    #[test]
    fn odd_names_are_unquoted() {
        let repo = Repo::with_commit();
        let from = repo.head();
        let names = ["\u{1}b", "a\"b", "a\\b", "a\tb\nc", "é ü"];
        names.iter().for_each(|name| repo.file(name, "x\n"));
        let found = both(&repo, &from, &repo.commit_all("odd"));
        let told: Vec<&str> = found.iter().map(|patch| patch.path.as_str()).collect();
        let mut names = names.to_vec();
        names.sort_unstable();
        assert_eq!(told, names);
    }

    #[test]
    fn two_blobs_are_compared() {
        let repo = Repo::with_commit();
        repo.file("a", "one\n");
        let first = repo.commit_all("a");
        repo.file("a", "two\n");
        let second = repo.commit_all("b");
        let blob = |commit: &Oid| {
            crate::git::snapshot::blob_id(&repo.git(), commit, "a").unwrap().unwrap()
        };
        let found = patches(&repo.git(), &blob(&first), &blob(&second), &[]).unwrap();
        assert_eq!(found[0].hunks, "@@ -1 +1 @@\n-one\n+two\n");
    }
}
