//! Lists files: those that git would show, without hidden and ignored ones.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};

use crate::codebase::Tree;
use crate::workspace::files::guard::{self, Purpose, is_dot_git};
use crate::workspace::refusal::Refusal;
use crate::workspace::working_tree::WorkingTree;

/// Maximum number of files listed individually; if there are more, their directories are listed.
const ENTRIES_MAX: usize = 500;
/// Maximum size of the list of directories in bytes.
const SUMMARY: usize = 12_000;
/// Maximum number of files visited.
const LOOKED_AT: usize = 200_000;
/// Maximum depth of the directories searched.
const DEPTH_MAX: usize = 10;

/// Lists files below `path` (`.` is the root) that match the glob `pattern`, if given. A pattern
/// without `/` matches file names. If there are too many files, lists the directories with their
/// file counts. Descends `depth` levels (1 = the entries of `path` itself); directories at the last
/// level are listed, not entered.
pub(crate) fn list(
    tree: &WorkingTree,
    path: &str,
    pattern: Option<&str>,
    depth: Option<u64>,
) -> Result<String, Refusal> {
    let depth = depth.and_then(|depth| usize::try_from(depth).ok()).unwrap_or(DEPTH_MAX);
    let depth = depth.clamp(1, DEPTH_MAX);
    let path = guard::resolve(tree, path, Purpose::Look)?;
    let pattern = pattern.map(Pattern::new).transpose()?;
    let mut listed = Vec::new();
    let (mut summary, mut count) = (Tree::new(SUMMARY), 0);
    for entry in walk(tree, &path, Some(depth)) {
        let (name, is_dir) = (relative(tree, entry.path()), is_dir(&entry));
        if is_dir && entry.depth() < depth {
            continue;
        }
        if pattern.as_ref().is_some_and(|p| is_dir || !p.matches(&name)) {
            continue;
        }
        // The walk opens paths by name, and a directory on the path may have become a link.
        if entry.path().to_str().is_some() && tree.look(&name).is_err() {
            continue;
        }
        if count == LOOKED_AT {
            break;
        }
        if listed.len() <= ENTRIES_MAX {
            listed.push(shown(entry.path(), &name, is_dir));
        }
        summary.add(&name);
        count += 1;
    }
    if listed.is_empty() {
        let matching = if pattern.is_some() { " matching the pattern" } else { "" };
        return Ok(format!("no files{matching} in {path} (hidden and ignored ones are left out)"));
    }
    if listed.len() > ENTRIES_MAX {
        let mut text = summary.text();
        if count == LOOKED_AT {
            text.push_str("\n… and more files, which were not counted");
        }
        return Ok(text);
    }
    Ok(listed.join("\n"))
}

/// Returns the entries below a resolved path in sorted order, without hidden and ignored files,
/// git's files and other sessions' files. Links are not followed, and errors are skipped. The
/// result contains names only: open files with [`WorkingTree::open_regular`].
pub(crate) fn walk<'a>(
    tree: &'a WorkingTree,
    path: &str,
    depth: Option<usize>,
) -> impl Iterator<Item = DirEntry> + use<'a> {
    let start = if path == "." { tree.root.clone() } else { tree.root.join(path) };
    WalkBuilder::new(start)
        .max_depth(depth)
        .follow_links(false)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            entry.depth() == 0 || !is_dot_git(&name)
        })
        .build()
        .flatten()
        .filter(|entry| entry.depth() > 0 || !is_dir(entry))
        .filter(|entry| {
            let path = entry.path().strip_prefix(&tree.root).unwrap_or(entry.path());
            let judged = guard::judge_names(tree, path, Purpose::Look);
            judged.is_ok() || path.to_str().is_none()
        })
}

/// Returns a path from [`walk`], relative to the root.
pub(crate) fn relative(tree: &WorkingTree, path: &Path) -> String {
    path.strip_prefix(&tree.root).unwrap_or(path).to_string_lossy().into_owned()
}

/// A glob over paths relative to the root, or over file names.
pub(crate) struct Pattern {
    glob: GlobMatcher,
    names: bool,
}

impl Pattern {
    pub(crate) fn new(pattern: &str) -> Result<Self, Refusal> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| Refusal::failed(format!("invalid glob: {error}")))?;
        Ok(Self { glob: glob.compile_matcher(), names: !pattern.contains('/') })
    }

    pub(crate) fn matches(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().filter(|_| self.names).unwrap_or(path);
        self.glob.is_match(name)
    }
}

fn is_dir(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// A line of the listing: a name on one line, whatever its characters.
fn shown(path: &Path, name: &str, is_dir: bool) -> String {
    let addressable = path.to_str().is_some() && !name.chars().any(char::is_control);
    let slash = if is_dir { "/" } else { "" };
    if addressable {
        format!("{name}{slash}")
    } else {
        format!("{}{slash} (cannot be addressed)", name.escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use crate::workspace::testing::Tree;

    fn tree() -> Tree {
        let tree = Tree::new();
        tree.put(".gitignore", "target/\n*.log\n");
        for path in ["src/main.rs", "src/a/b.rs", "README.md", "target/x", "y.log", ".env"] {
            tree.put(path, "text");
        }
        tree.put(".cowork/sessions/todo/prd.md", "");
        tree
    }

    #[test]
    fn hidden_and_ignored_files_are_left_out() {
        let list = |path| tree().workspace.list(path, None, None).unwrap();
        assert_eq!(list("."), "README.md\nsrc/a/b.rs\nsrc/main.rs");
        assert_eq!(list("src/a"), "src/a/b.rs");
        assert_eq!(list(".cowork/sessions/todo"), ".cowork/sessions/todo/prd.md");
    }

    #[test]
    fn ignore_rules_apply_in_a_linked_worktree() {
        let tree = tree();
        tree.remove_git_dir();
        tree.put(".git", "gitdir: /elsewhere\n");
        assert_eq!(tree.workspace.list(".", Some("*.log"), None).unwrap().lines().count(), 1);
        assert!(tree.workspace.list(".", Some("*.log"), None).unwrap().starts_with("no files"));
    }

    #[test]
    fn patterns_match_names_or_paths() {
        let tree = tree();
        let list = |pattern| tree.workspace.list(".", Some(pattern), None).unwrap();
        assert_eq!(list("*.rs"), "src/a/b.rs\nsrc/main.rs");
        assert_eq!(list("src/*.rs"), "src/main.rs");
        assert_eq!(list("**/b.rs"), "src/a/b.rs");
        assert!(tree.workspace.list(".", Some("["), None).is_err());
    }

    #[test]
    fn long_lists_are_summarized_and_odd_names_are_escaped() {
        let tree = Tree::new();
        for n in 0..501 {
            tree.put(&format!("many/{}/a-name-of-some-length-{n:03}.txt", n % 3), "");
        }
        let list = tree.workspace.list("many/0", None, None).unwrap();
        assert_eq!(list.lines().count(), 167);
        let list = tree.workspace.list(".", None, None).unwrap();
        assert!(list.contains("many/2/ (167 files)\n") && list.len() <= 12_000, "{list}");
        assert!(list.contains("[501 files in all; ") && list.contains("a path or a pattern"));
        let tree = Tree::new();
        std::fs::write(tree.root().join("a\nb"), "").unwrap();
        assert_eq!(tree.workspace.list(".", None, None).unwrap(), "a\\nb (cannot be addressed)");
    }
}
