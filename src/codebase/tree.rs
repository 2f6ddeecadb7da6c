//! The tree of a repository in a few bytes: every file if they fit, else the directories with their
//! numbers of files, from the top down as far as there is room.
//!
//! Paths may be added in any order. Memory grows with the number of directories, not of files:
//! names that cannot be shown are only counted.

use std::collections::{BTreeMap, HashMap};

use super::plain;

/// Bytes reserved for the line about what was left out.
const LAST_LINE: usize = 140;
/// The index of the top directory.
const ROOT: usize = 0;

/// A directory and its direct contents.
#[derive(Default)]
struct Directory {
    name: Box<str>,
    above: usize,
    depth: usize,
    /// Files in it and below it.
    count: usize,
    /// Files directly in it.
    files: usize,
    /// The names of these files, as shown; empty if they are too long to be shown.
    names: Vec<Box<str>>,
    /// Bytes of the names, with separators.
    length: usize,
    directories: Vec<usize>,
}

/// The files of a repository, added one by one, in a limited number of bytes.
pub struct Tree {
    budget: usize,
    directories: Vec<Directory>,
    indices: HashMap<(usize, Box<str>), usize>,
    /// All paths, as long as they fit into the budget.
    list: Option<Vec<Box<str>>>,
    /// Bytes of that list.
    length: usize,
}

/// The files of a repository in at most `budget` bytes: [`Tree`] for a list of paths.
pub fn tree(paths: &[&str], budget: usize) -> String {
    let mut tree = Tree::new(budget);
    paths.iter().for_each(|path| tree.add(path));
    tree.text()
}

impl Tree {
    /// An empty tree.
    pub fn new(budget: usize) -> Self {
        let directories = vec![Directory::default()];
        Self { budget, directories, indices: HashMap::new(), list: Some(Vec::new()), length: 0 }
    }

    /// Adds a file.
    pub fn add(&mut self, path: &str) {
        self.list_too(path);
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.directories[ROOT].count += 1;
        let mut at = ROOT;
        for part in above.split('/').filter(|part| !part.is_empty()) {
            at = self.below(at, part);
            self.directories[at].count += 1;
        }
        let (budget, directory) = (self.budget, &mut self.directories[at]);
        directory.files += 1;
        // Names that do not fit are never shown.
        if directory.length <= budget {
            let name = plain(name);
            directory.length += name.len() + ", ".len();
            directory.names.push(name.into());
            if directory.length > budget {
                directory.names = Vec::new();
            }
        }
    }

    fn list_too(&mut self, path: &str) {
        let Some(list) = &mut self.list else { return };
        let length = plain(path).len() + 1;
        list.push(path.into());
        self.length += length;
        // The last line has no line end.
        if self.length > self.budget + 1 {
            self.list = None;
        }
    }

    /// The subdirectory of this name in the directory `above`; it is created if missing.
    fn below(&mut self, above: usize, name: &str) -> usize {
        // Paths mostly come sorted, so it is usually the last one.
        if let Some(last) = self.directories[above].directories.last()
            && *self.directories[*last].name == *name
        {
            return *last;
        }
        let key = (above, Box::from(name));
        if let Some(at) = self.indices.get(&key) {
            return *at;
        }
        let (at, depth) = (self.directories.len(), self.directories[above].depth + 1);
        self.directories.push(Directory {
            name: name.into(),
            above,
            depth,
            ..Directory::default()
        });
        self.directories[above].directories.push(at);
        self.indices.insert(key, at);
        at
    }

    /// The text; `(none yet)` if there are no files.
    ///
    /// A repository that does not fit is shown as directories, from the top down, at each depth the
    /// ones with the most files first; then the names of the files directly in them, in the same
    /// order. If something is missing, the last line says what.
    pub fn text(mut self) -> String {
        if self.directories[ROOT].count == 0 {
            return "(none yet)".to_owned();
        }
        match self.list.take() {
            Some(mut list) => {
                list.sort_unstable();
                list.iter().map(|path| plain(path)).collect::<Vec<_>>().join("\n")
            }
            None => self.opened(),
        }
    }

    fn opened(&self) -> String {
        let mut listing = TreeListing {
            tree: self,
            room: self.budget.saturating_sub(LAST_LINE),
            lines: BTreeMap::new(),
            nameless: 0,
        };
        listing.name_files(ROOT, "", self.budget / 3);
        // Breadth first; at each depth, the directories with the most files first.
        let mut level = vec![ROOT];
        let mut closed_count = 0;
        let mut open: Vec<(usize, String)> = Vec::new();
        while !level.is_empty() {
            let mut next: Vec<(usize, String)> = Vec::new();
            for parent in level {
                let mut children = self.children(parent);
                children.sort_by(|a, b| self.fuller(a).cmp(&self.fuller(b)));
                let line = |(at, path): &(usize, String)| {
                    format!("{}/ ({})", plain(path), number(self.directories[*at].count))
                };
                let cost = |child: &(usize, String)| line(child).len() + 1;
                // A directory with very many subdirectories must not take all the room.
                let whole = children.iter().map(cost).sum::<usize>() <= listing.room;
                let least = if whole || parent == ROOT { 0 } else { self.budget / 2 };
                for child in children {
                    if cost(&child) + least <= listing.room {
                        listing.room -= cost(&child);
                        listing.lines.insert(child.1.clone(), line(&child));
                        next.push(child);
                    } else {
                        closed_count += 1;
                    }
                }
            }
            next.sort_by(|a, b| self.fuller(a).cmp(&self.fuller(b)));
            level = next.iter().map(|(at, _)| *at).collect();
            open.extend(next);
        }
        open.sort_by(|a, b| {
            let order = |one: &(usize, String)| self.directories[one.0].depth;
            order(a).cmp(&order(b)).then_with(|| self.fuller(a).cmp(&self.fuller(b)))
        });
        for (at, path) in open {
            let room = listing.room;
            listing.name_files(at, &path, room);
        }
        let mut out: String =
            listing.lines.values().flat_map(|line| [line.as_str(), "\n"]).collect();
        let mut missing = Vec::new();
        if closed_count > 0 {
            let directories = if closed_count == 1 { "directory" } else { "directories" };
            missing.push(format!("{closed_count} more {directories}"));
        }
        if listing.nameless > 0 {
            missing.push("some file names".to_owned());
        }
        let (all, missing) = (number(self.directories[ROOT].count), missing.join(", "));
        out.push_str(&if missing.is_empty() {
            format!("[{all} in all]")
        } else {
            format!(
                "[{all} in all; cut here: {missing}; list_files with a path or a pattern shows more]"
            )
        });
        out
    }

    fn fuller<'a>(&self, (at, path): &'a (usize, String)) -> (std::cmp::Reverse<usize>, &'a str) {
        (std::cmp::Reverse(self.directories[*at].count), path)
    }

    /// The subdirectories of a directory, with their paths; one that contains only a single
    /// directory is replaced by that directory.
    fn children(&self, parent: usize) -> Vec<(usize, String)> {
        let last = |mut at: usize| {
            while let ([only], 0) =
                (&self.directories[at].directories[..], self.directories[at].files)
            {
                at = *only;
            }
            (at, self.path(at))
        };
        self.directories[parent].directories.iter().copied().map(last).collect()
    }

    fn path(&self, mut at: usize) -> String {
        let mut parts = Vec::new();
        while at != ROOT {
            parts.push(&*self.directories[at].name);
            at = self.directories[at].above;
        }
        parts.reverse();
        parts.join("/")
    }
}

/// The lines shown so far.
struct TreeListing<'a> {
    tree: &'a Tree,
    /// Remaining bytes.
    room: usize,
    /// The line of each shown directory, by its path; the root's is first.
    lines: BTreeMap<String, String>,
    /// Number of files whose names are not shown.
    nameless: usize,
}

impl TreeListing<'_> {
    /// Adds the names of all files directly in a directory to its line, or none if they do not fit.
    fn name_files(&mut self, at: usize, path: &str, most: usize) {
        let directory = &self.tree.directories[at];
        if directory.files == 0 {
            return;
        }
        let mut names: Vec<&str> = directory.names.iter().map(|name| &**name).collect();
        names.sort_unstable();
        let names = names.join(", ");
        let text = if path.is_empty() { format!("./: {names}") } else { format!(": {names}") };
        if !directory.names.is_empty() && text.len() < most.min(self.room) {
            self.room -= text.len() + 1;
            self.lines.entry(path.to_owned()).or_default().push_str(&text);
        } else {
            self.nameless += directory.files;
        }
    }
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
    fn the_fullest_of_many_directories_are_shown() {
        let mut paths: Vec<String> =
            (0..400).map(|n| format!("crates/c{n:03}/src/lib.rs")).collect();
        paths.extend((0..9).map(|n| format!("crates/c333/src/{n}.rs")));
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let text = tree(&paths, 2_000);
        assert!(text.contains("crates/c333/src/ (10 files)"), "{text}");
        assert!(text.contains("\ncrates/c000/src/ (1 file)") && text.len() <= 2_000, "{text}");
    }

    #[test]
    fn files_in_one_long_folder_are_not_cut() {
        let paths: Vec<String> =
            (0..20).map(|n| format!("a-folder-with-a-long-name/another/{n}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let text = tree(&paths, 400);
        assert!(text.starts_with("a-folder-with-a-long-name/another/ (20 files): 0, 1, 10, "));
        assert!(text.ends_with("\n[20 files in all]"), "{text}");
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
            "[5000 files in all; cut here: some file names; list_files with a path or a pattern shows more]"
        );
    }
}
