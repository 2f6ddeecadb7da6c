//! Searches file contents with a regular expression.

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks};

use crate::workspace::files::guard::{self, Purpose};
use crate::workspace::files::walk::{self, Pattern};
use crate::workspace::refusal::Refusal;
use crate::workspace::working_tree::WorkingTree;

/// Maximum number of matching lines returned.
const MATCHES_MAX: usize = 100;
/// Maximum number of characters returned of a line.
const LINE_MAX: usize = 300;
/// Larger files are skipped.
const FILE_MAX: u64 = 64 * 1024 * 1024;
/// Maximum size of a line in memory in bytes; files with longer lines are skipped.
const HEAP_MAX: usize = 8 * 1024 * 1024;

/// Returns lines that match the regular expression `pattern` in the files below `path` whose paths
/// match `glob`.
pub(crate) fn search(
    tree: &WorkingTree,
    pattern: &str,
    path: &str,
    glob: Option<&str>,
) -> Result<String, Refusal> {
    let path = guard::resolve(tree, path, Purpose::Look)?;
    let matcher = RegexMatcher::new_line_matcher(pattern).map_err(|error| {
        Refusal::failed(format!(
            "invalid regular expression (matching is by line; put \\ before . ( [ {{ * + ? \
             to match them literally): {error}"
        ))
    })?;
    let glob = glob.map(Pattern::new).transpose()?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .heap_limit(Some(HEAP_MAX))
        .binary_detection(BinaryDetection::quit(0))
        .build();
    let mut found = Vec::new();
    let (mut files, mut too_big) = (0, 0);
    for entry in walk::walk(tree, &path, None) {
        let name = walk::relative(tree, entry.path());
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        if !is_file || glob.as_ref().is_some_and(|glob| !glob.matches(&name)) {
            continue;
        }
        if entry.metadata().is_ok_and(|metadata| metadata.len() > FILE_MAX) {
            too_big += 1;
            continue;
        }
        files += 1;
        search_one(tree, &mut searcher, &matcher, &name, &mut found);
        if found.len() > MATCHES_MAX {
            found.truncate(MATCHES_MAX);
            found.push(format!(
                "… the first {MATCHES_MAX} matches only; narrow the pattern, path or glob"
            ));
            break;
        }
    }
    if found.is_empty() {
        found.push(format!("no match in {path} ({files} files searched)"));
    }
    if too_big > 0 {
        let each = if too_big == 1 { "file was" } else { "files were" };
        found.push(format!("… {too_big} {each} too big to be searched"));
    }
    Ok(found.join("\n"))
}

/// Searches one file; a file that cannot be searched has no matches, and the search goes on.
fn search_one(
    tree: &WorkingTree,
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    name: &str,
    found: &mut Vec<String>,
) {
    // The walk opens paths by name, and a directory may have become a link, so the file is opened
    // again without following links.
    let Ok(file) = tree.open_regular(name) else {
        return;
    };
    let sink = sinks::Lossy(|number, line| {
        let line = line.trim_end();
        let mut shown: String = line.chars().take(LINE_MAX).collect();
        if shown.len() < line.len() {
            shown.push('…');
        }
        found.push(format!("{name}:{number}: {shown}"));
        Ok(found.len() <= MATCHES_MAX)
    });
    if let Err(error) = searcher.search_file(matcher, &file.into_std(), sink) {
        tracing::debug!("searching {name}: {error}");
    }
}

#[cfg(test)]
mod tests {
    use crate::workspace::testing::Tree;

    #[test]
    fn finds_lines_by_pattern_path_and_glob() {
        let tree = Tree::new();
        tree.put(".gitignore", "out/\n");
        tree.put("src/a.rs", "one\nfn two() {}\n");
        tree.put("b.md", "fn two\n");
        tree.put("out/c.rs", "fn two\n");
        tree.put_bytes("bin", b"fn two\n\0");
        let search = |pattern, path, glob| tree.workspace.search(pattern, path, glob).unwrap();
        assert_eq!(search(r"fn \w+", ".", None), "b.md:1: fn two\nsrc/a.rs:2: fn two() {}");
        assert_eq!(search("two", ".", Some("*.rs")), "src/a.rs:2: fn two() {}");
        assert_eq!(search("one", "src/a.rs", None), "src/a.rs:1: one");
        assert_eq!(search("three", ".", Some("*.md")), "no match in . (1 files searched)");
        assert!(tree.workspace.search("(", ".", None).unwrap_err().message.contains("literally"));
    }

    #[test]
    fn matches_and_lines_are_bounded_and_links_not_followed() {
        let tree = Tree::new();
        tree.put("many", &format!("{}\n", "x".repeat(900)).repeat(500));
        let text = tree.workspace.search("x", ".", None).unwrap();
        assert_eq!(text.lines().count(), 101);
        assert!(text.len() < 35_000 && text.contains("the first 100 matches only"));
        let tree = Tree::new();
        let sparse = std::fs::File::create(tree.root().join("sparse")).unwrap();
        sparse.set_len(super::FILE_MAX + 1).unwrap();
        let text = tree.workspace.search("x", ".", None).unwrap();
        assert_eq!(text, "no match in . (0 files searched)\n… 1 file was too big to be searched");
        let tree = Tree::new();
        std::os::unix::fs::symlink("/etc", tree.root().join("etc")).unwrap();
        assert!(tree.workspace.search("root", ".", None).unwrap().starts_with("no match"));
    }
}
