//! Searches file contents with a regular expression.

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use crate::workspace::files::guard::{self, Purpose};
use crate::workspace::files::walk::{self, Pattern};
use crate::workspace::refusal::Refusal;
use crate::workspace::working_tree::WorkingTree;

/// Maximum number of matching lines returned.
const MATCHES_MAX: usize = 100;
/// Maximum number of characters returned of a line, and how many of them come before the match.
const LINE_MAX: usize = 300;
const BEFORE: usize = 100;
/// Larger files are skipped.
const FILE_MAX: u64 = 64 * 1024 * 1024;
/// Maximum size of a line in memory in bytes; files with longer lines are skipped.
const HEAP_MAX: usize = 8 * 1024 * 1024;
/// Maximum number of skipped files that are named.
const SKIPPED_MAX: usize = 5;

/// Returns lines that match the regular expression `pattern` in the files below `path` whose paths
/// match `glob`, and names files that could not be searched.
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
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    let mut files = 0;
    for entry in walk::walk(tree, &path, None) {
        let name = walk::relative(tree, entry.path());
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        if !is_file || glob.as_ref().is_some_and(|glob| !glob.matches(&name)) {
            continue;
        }
        match search_one(tree, &mut searcher, &matcher, &name, &mut found) {
            None => files += 1,
            Some(why) => skipped.push(format!("{name} ({why})")),
        }
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
    if !skipped.is_empty() {
        let rest = skipped.len().saturating_sub(SKIPPED_MAX);
        skipped.truncate(SKIPPED_MAX);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        found.push(format!("… not searched: {}{more}", skipped.join(", ")));
    }
    Ok(found.join("\n"))
}

/// Searches one file; returns why it could not be searched to its end, if so.
fn search_one(
    tree: &WorkingTree,
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    name: &str,
    found: &mut Vec<String>,
) -> Option<String> {
    // The walk opens paths by name, and a directory may have become a link, so the file is opened
    // again without following links.
    let file = match tree.open_regular(name) {
        Ok(file) => file.into_std(),
        Err(refusal) => return Some(refusal.message),
    };
    if file.metadata().is_ok_and(|metadata| metadata.len() > FILE_MAX) {
        return Some(format!("larger than {} MiB", FILE_MAX >> 20));
    }
    let mut sink = Lines { matcher, name, found, binary: false };
    match searcher.search_file(matcher, &file, &mut sink) {
        Ok(()) => sink.binary.then(|| "binary".to_owned()),
        // The searcher's own error for a line that its buffer cannot hold.
        Err(error) if error.to_string().contains("allocation") => {
            Some(format!("a line is longer than {} MiB", HEAP_MAX >> 20))
        }
        Err(error) => Some(error.to_string()),
    }
}

/// Collects the matching lines of one file.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    name: &'a str,
    found: &'a mut Vec<String>,
    binary: bool,
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let at = self.matcher.find(line.bytes())?.map_or(0, |found| found.start());
        let (before, after) = line.bytes().split_at(at);
        let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
        let text = around(&before, after.trim_end());
        self.found.push(format!("{}:{}: {text}", self.name, line.line_number().unwrap_or(0)));
        Ok(self.found.len() <= MATCHES_MAX)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.binary = true;
        Ok(true)
    }
}

/// A line whose match begins at `after`; of a long one, the text around the match.
fn around(before: &str, after: &str) -> String {
    let count = before.chars().count();
    let whole = count + after.chars().count();
    let skip = if whole <= LINE_MAX { 0 } else { count.saturating_sub(BEFORE) };
    let skip = skip.min(whole.saturating_sub(LINE_MAX));
    let mut text = if skip > 0 { "…".to_owned() } else { String::new() };
    text.extend(before.chars().chain(after.chars()).skip(skip).take(LINE_MAX));
    if skip + LINE_MAX < whole {
        text.push('…');
    }
    text
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
        assert_eq!(
            search(r"fn \w+", ".", None),
            "b.md:1: fn two\nsrc/a.rs:2: fn two() {}\n… not searched: bin (binary)"
        );
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
        assert_eq!(
            text,
            "no match in . (0 files searched)\n… not searched: sparse (larger than 64 MiB)"
        );
        let tree = Tree::new();
        std::os::unix::fs::symlink("/etc", tree.root().join("etc")).unwrap();
        assert!(tree.workspace.search("root", ".", None).unwrap().starts_with("no match"));
    }
}
