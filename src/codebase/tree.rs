//! The tree of a repository in a few bytes: every file where that fits, else its directories with
//! how many files they hold, opened from the top down as far as there is room.

use std::collections::{BTreeMap, BTreeSet};

use super::plain;

/// Bytes kept free for the line that says what was left out.
const LAST_LINE: usize = 120;

/// A directory: what lies right in it.
#[derive(Default)]
struct Directory<'a> {
    /// Files in it and below.
    count: usize,
    files: Vec<&'a str>,
    /// Full paths.
    directories: BTreeSet<&'a str>,
}

/// The files of a repository in at most `budget` bytes; `(none yet)` when there are none.
///
/// A repository that does not fit is shown as directories, those at the top first and of one depth
/// the fullest first; then the names of the files that lie right in them, in the same order. The
/// last line says that something is missing.
pub fn tree(paths: &[&str], budget: usize) -> String {
    if paths.is_empty() {
        return "(none yet)".to_owned();
    }
    let mut sorted = paths.to_vec();
    sorted.sort_unstable();
    let list = sorted.iter().map(|path| plain(path)).collect::<Vec<_>>().join("\n");
    if list.len() <= budget { list } else { directories(&sorted, budget) }
}

fn directories(paths: &[&str], budget: usize) -> String {
    let all = arrange(paths);
    let mut room = budget.saturating_sub(LAST_LINE);
    // What each shown directory's line says; the root's stands first.
    let mut lines: BTreeMap<&str, String> = BTreeMap::new();
    let mut unnamed = 0;
    name_files(&all, "", budget / 3, &mut lines, &mut room, &mut unnamed);
    // Breadth first; of one depth the fullest first.
    let mut level = vec![""];
    let mut closed = 0;
    while !level.is_empty() {
        let mut next: Vec<&str> = Vec::new();
        for parent in level {
            let mut children = children(&all, parent);
            children.sort_by_key(|path| (std::cmp::Reverse(count(&all, path)), *path));
            let line = |path: &str| format!("{}/ ({})", plain(path), number(count(&all, path)));
            let cost = |path: &&str| line(path).len() + 1;
            let whole = children.iter().map(cost).sum::<usize>() <= room;
            if !whole && !parent.is_empty() {
                closed += children.len();
                continue;
            }
            for child in children {
                if cost(&child) <= room {
                    room -= cost(&child);
                    lines.insert(child, line(child));
                    next.push(child);
                } else {
                    closed += 1;
                }
            }
        }
        next.sort_by_key(|path| (std::cmp::Reverse(count(&all, path)), *path));
        level = next;
    }
    let mut shown: Vec<&str> = lines.keys().copied().filter(|path| !path.is_empty()).collect();
    shown.sort_by_key(|path| (depth(path), std::cmp::Reverse(count(&all, path)), *path));
    for path in shown {
        name_files(&all, path, room, &mut lines, &mut room, &mut unnamed);
    }
    let mut out: String = lines.values().flat_map(|line| [line.as_str(), "\n"]).collect();
    let mut missing = Vec::new();
    if closed > 0 {
        missing.push(format!("{closed} more directories"));
    }
    if unnamed > 0 {
        missing.push("names of files".to_owned());
    }
    let (all, missing) = (number(paths.len()), missing.join(", "));
    out.push_str(&format!(
        "[{all} in all; cut here: {missing}; list_files with a path or a pattern shows more]"
    ));
    out
}

/// Adds the names of the files right in a directory to its line, all of them or none.
fn name_files<'a>(
    all: &BTreeMap<&'a str, Directory<'a>>,
    path: &'a str,
    most: usize,
    lines: &mut BTreeMap<&'a str, String>,
    room: &mut usize,
    unnamed: &mut usize,
) {
    let files = all.get(path).map(|directory| directory.files.as_slice()).unwrap_or_default();
    if files.is_empty() {
        return;
    }
    let names: Vec<String> = files.iter().map(|name| plain(name)).collect();
    let names = names.join(", ");
    let text = if path.is_empty() { format!("./: {names}") } else { format!(": {names}") };
    if text.len() < most.min(*room) {
        *room -= text.len() + 1;
        lines.entry(path).or_default().push_str(&text);
    } else {
        *unnamed += files.len();
    }
}

/// The directories in a directory; in place of one that holds one directory and nothing else, that.
fn children<'a>(all: &BTreeMap<&'a str, Directory<'a>>, path: &str) -> Vec<&'a str> {
    let mut children: Vec<&str> = Vec::new();
    for child in all.get(path).iter().flat_map(|directory| &directory.directories) {
        let mut child = *child;
        while let Some(directory) = all.get(child)
            && directory.files.is_empty()
            && directory.directories.len() == 1
            && let Some(only) = directory.directories.first()
        {
            child = only;
        }
        children.push(child);
    }
    children
}

/// Every directory by its path; the root's is empty.
fn arrange<'a>(paths: &[&'a str]) -> BTreeMap<&'a str, Directory<'a>> {
    let mut all: BTreeMap<&str, Directory<'_>> = BTreeMap::new();
    for path in paths {
        let (mut parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let directory = all.entry(parent).or_default();
        directory.files.push(name);
        directory.count += 1;
        while !parent.is_empty() {
            let above = parent.rsplit_once('/').map_or("", |(above, _)| above);
            let directory = all.entry(above).or_default();
            directory.directories.insert(parent);
            directory.count += 1;
            parent = above;
        }
    }
    all
}

fn count(all: &BTreeMap<&str, Directory<'_>>, path: &str) -> usize {
    all.get(path).map_or(0, |directory| directory.count)
}

fn depth(path: &str) -> usize {
    if path.is_empty() { 0 } else { path.matches('/').count() + 1 }
}

fn number(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_repository_is_a_plain_list() {
        assert_eq!(tree(&["src/b.rs", "a", "src/a.rs"], 100), "a\nsrc/a.rs\nsrc/b.rs");
        assert_eq!(tree(&[], 100), "(none yet)");
        assert_eq!(tree(&["a\u{1b}[2J\nb", "\u{202e}x"], 100), "a\\u{1b}[2J\\nb\n\\u{202e}x");
    }

    fn large() -> Vec<String> {
        let mut paths = vec!["Cargo.toml".to_owned(), "README.md".to_owned()];
        for n in 0..300 {
            paths.push(format!("src/part{}/file{n}.rs", n % 7));
            paths.push(format!("docs/de/page-{n}.md"));
            paths.push(format!("a/very/deep/place/{n}/x"));
        }
        paths.push("src/lib.rs".to_owned());
        paths
    }

    #[test]
    fn a_large_one_is_its_directories_from_the_top_down() {
        let paths = large();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let text = tree(&paths, 600);
        assert!(text.len() <= 600, "{}", text.len());
        for line in [
            "./: Cargo.toml, README.md\n",
            "src/ (301 files): lib.rs\n",
            "\na/very/deep/place/ (300 files)\ndocs/de/ (300 files)\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(text.contains("\nsrc/part0/ (43 files)\n") && !text.contains("file0.rs"), "{text}");
        assert!(text.starts_with("./") && !text.contains("place/0"), "{text}");
        assert!(text.ends_with("list_files with a path or a pattern shows more]"), "{text}");
        assert!(text.contains("[903 files in all; cut here: "), "{text}");
        let mut turned = paths.clone();
        turned.reverse();
        assert_eq!(tree(&turned, 600), text, "the order of the list does not matter");
    }

    #[test]
    fn no_budget_is_exceeded() {
        let paths = large();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        for budget in [150, 200, 333, 1_000, 2_500, 5_000] {
            let text = tree(&paths, budget);
            assert!(text.len() <= budget, "{} of {budget}:\n{text}", text.len());
        }
        let flat: Vec<String> = (0..5_000).map(|n| format!("f{n}")).collect();
        let flat: Vec<&str> = flat.iter().map(String::as_str).collect();
        assert_eq!(
            tree(&flat, 500),
            "[5000 files in all; cut here: names of files; list_files with a path or a pattern shows more]"
        );
    }
}
