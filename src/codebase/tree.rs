//! The tree of a repository in a few bytes: every file where that fits, else its directories with
//! how many files they hold, opened from the top down as far as there is room.
//!
//! Paths come one after the other, in any order. What is kept grows with the directories, not with
//! the files: names that could not be shown are only counted.

use std::collections::{BTreeMap, HashMap};

use super::plain;

/// Bytes kept free for the line that says what was left out.
const LAST_LINE: usize = 140;
/// The top.
const ROOT: usize = 0;

/// A directory: what lies right in it.
#[derive(Default)]
struct Directory {
    name: Box<str>,
    above: usize,
    depth: usize,
    /// Files in it and below.
    count: usize,
    /// Files right in it.
    files: usize,
    /// Their names, as they are shown; none where they are too long to be.
    names: Vec<Box<str>>,
    /// Bytes of the names with what stands between them.
    length: usize,
    directories: Vec<usize>,
}

/// The files of a repository in at most so many bytes, as they are told.
pub struct Tree {
    budget: usize,
    directories: Vec<Directory>,
    known: HashMap<(usize, Box<str>), usize>,
    /// All paths, as long as they fit.
    list: Option<Vec<Box<str>>>,
    /// Bytes of that list.
    length: usize,
}

/// The files of a repository in at most `budget` bytes: [`Tree`] of paths that are at hand.
pub fn tree(paths: &[&str], budget: usize) -> String {
    let mut tree = Tree::new(budget);
    paths.iter().for_each(|path| tree.add(path));
    tree.text()
}

impl Tree {
    /// One without files yet.
    pub fn new(budget: usize) -> Self {
        let directories = vec![Directory::default()];
        Self { budget, directories, known: HashMap::new(), list: Some(Vec::new()), length: 0 }
    }

    /// One file more.
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
        // Names that do not fit are never shown, whatever else is.
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
        let shown = plain(path).len() + 1;
        list.push(path.into());
        self.length += shown;
        // The last line has no end.
        if self.length > self.budget + 1 {
            self.list = None;
        }
    }

    /// The directory of this name in another one.
    fn below(&mut self, above: usize, name: &str) -> usize {
        // The paths come sorted: mostly it is the newest.
        if let Some(last) = self.directories[above].directories.last()
            && *self.directories[*last].name == *name
        {
            return *last;
        }
        let key = (above, Box::from(name));
        if let Some(at) = self.known.get(&key) {
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
        self.known.insert(key, at);
        at
    }

    /// What is shown; `(none yet)` when there are no files.
    ///
    /// A repository that does not fit is shown as directories, those at the top first and of one
    /// depth the fullest first; then the names of the files that lie right in them, in the same
    /// order. The last line says that something is missing.
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
        let mut shown = Shown {
            tree: self,
            room: self.budget.saturating_sub(LAST_LINE),
            lines: BTreeMap::new(),
            unnamed: 0,
        };
        shown.name_files(ROOT, "", self.budget / 3);
        // Breadth first; of one depth the fullest first.
        let mut level = vec![ROOT];
        let mut closed = 0;
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
                // One directory with very many others in it must not take all the room.
                let whole = children.iter().map(cost).sum::<usize>() <= shown.room;
                let least = if whole || parent == ROOT { 0 } else { self.budget / 2 };
                for child in children {
                    if cost(&child) + least <= shown.room {
                        shown.room -= cost(&child);
                        shown.lines.insert(child.1.clone(), line(&child));
                        next.push(child);
                    } else {
                        closed += 1;
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
            let room = shown.room;
            shown.name_files(at, &path, room);
        }
        let mut out: String = shown.lines.values().flat_map(|line| [line.as_str(), "\n"]).collect();
        let mut missing = Vec::new();
        if closed > 0 {
            missing.push(format!("{closed} more directories"));
        }
        if shown.unnamed > 0 {
            missing.push("names of files".to_owned());
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

    /// The directories in a directory, with their paths; in place of one that holds one directory and
    /// nothing else, that.
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

/// What is shown so far.
struct Shown<'a> {
    tree: &'a Tree,
    /// Bytes that are left.
    room: usize,
    /// What each shown directory's line says, by its path; the root's stands first.
    lines: BTreeMap<String, String>,
    /// Files whose names are not shown.
    unnamed: usize,
}

impl Shown<'_> {
    /// Adds the names of the files right in a directory to its line, all of them or none.
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
            self.unnamed += directory.files;
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
    fn of_very_many_directories_the_fullest_are_shown() {
        let mut paths: Vec<String> =
            (0..400).map(|n| format!("crates/c{n:03}/src/lib.rs")).collect();
        paths.extend((0..9).map(|n| format!("crates/c333/src/{n}.rs")));
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let text = tree(&paths, 2_000);
        assert!(text.contains("crates/c333/src/ (10 files)"), "{text}");
        assert!(text.contains("\ncrates/c000/src/ (1 file)") && text.len() <= 2_000, "{text}");
    }

    #[test]
    fn what_only_shares_long_folders_is_not_cut() {
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
            "[5000 files in all; cut here: names of files; list_files with a path or a pattern shows more]"
        );
    }
}
