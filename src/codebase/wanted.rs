//! Which files are taken apart first: those the work in hand names, those beside them, those they
//! import, then the rest. The files are told several times over rather than held.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::ControlFlow;

use super::imports::{self, tails};
use super::worth::{FILE_MAX, is_own, is_trial};
use super::{Source, is_odd};
use crate::languages::{Language, Syntax, syntax_of};

/// A word that more files go by tells nothing about any of them.
const COMMON: usize = 400;
/// Files whose imports are looked at.
const IMPORTERS: usize = 32;

/// How near a file is to the work in hand, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Near {
    /// Its path, the end of it, its name or its stem is said.
    Named,
    /// A folder it is in is said, or a part of its stem.
    Partly,
    /// It is in the folder of one that is named.
    Beside,
    /// One that is named imports it.
    Imported,
    /// Named by a word that very many go by.
    Commonly,
    Not,
}

/// The order in which files are taken apart: no two are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    near: Near,
    /// How many files go by the word that names it: the fewer the better.
    common: usize,
    trial: bool,
    depth: usize,
    path: String,
}

/// A file that is to be taken apart.
pub(super) struct Wanted {
    order: Order,
    pub(super) content: String,
    pub(super) language: &'static Language,
    pub(super) syntax: &'static Syntax,
}

impl Wanted {
    pub(super) fn path(&self) -> &str {
        &self.order.path
    }

    /// Whether the work in hand names it.
    pub(super) fn is_named(&self) -> bool {
        self.order.near == Near::Named
    }
}

impl PartialEq for Wanted {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Wanted {}

impl PartialOrd for Wanted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wanted {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

/// The `most` files that matter most to what `words` say, in their order, and how many there are in
/// all.
///
/// # Errors
/// The files cannot be told or read.
pub(super) fn wanted(
    source: &dyn Source,
    words: &BTreeSet<String>,
    most: usize,
) -> anyhow::Result<(Vec<Wanted>, usize)> {
    let mut aim = Aim::new(words);
    let mut all = 0;
    each(source, |path, _, _| {
        all += 1;
        aim.count(path);
    })?;
    aim.settle();
    let mut first = nearest(source, &aim, most)?;
    let named = first.iter().filter(|file| file.order.near == Near::Named).take(IMPORTERS);
    let named: Vec<&str> = named.map(|file| file.content.as_str()).collect();
    // Where all find room their order does not matter.
    if !named.is_empty() && all > most {
        source.each_content(&named, FILE_MAX, &mut |_, bytes| {
            let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
            aim.imported.append(&mut imports::ends(&text));
            Ok(ControlFlow::Continue(()))
        })?;
        first = nearest(source, &aim, most)?;
    }
    Ok((first, all))
}

fn nearest(source: &dyn Source, aim: &Aim<'_>, most: usize) -> anyhow::Result<Vec<Wanted>> {
    // The last of them on top.
    let mut heap: BinaryHeap<Wanted> = BinaryHeap::new();
    each(source, |path, content, (language, syntax)| {
        let (near, common) = aim.at(path);
        let (trial, depth) = (is_trial(path), path.matches('/').count());
        // Of most files nothing need be held.
        let later = |last: &Wanted| {
            let Order { near: n, common: c, trial: t, depth: d, path: p } = &last.order;
            (near, common, trial, depth, path) >= (*n, *c, *t, *d, p.as_str())
        };
        if heap.len() == most && heap.peek().is_none_or(later) {
            return;
        }
        let order = Order { near, common, trial, depth, path: path.to_owned() };
        heap.push(Wanted { order, content: content.to_owned(), language, syntax });
        if heap.len() > most {
            heap.pop();
        }
    })?;
    Ok(heap.into_sorted_vec())
}

/// The files that can be taken apart, as far as their names tell.
fn each(
    source: &dyn Source,
    mut visit: impl FnMut(&str, &str, (&'static Language, &'static Syntax)),
) -> anyhow::Result<()> {
    source.each_file(&mut |path, content| {
        if let Some(known) = syntax_of(path)
            && is_own(path)
            && !path.chars().any(is_odd)
        {
            visit(path, content, known);
        }
        ControlFlow::Continue(())
    })
}

/// What the work in hand speaks of.
struct Aim<'a> {
    words: Vec<(&'a str, Word)>,
    /// Folders of the files that are named.
    beside: BTreeSet<String>,
    /// Ends of paths that the named files import.
    imported: BTreeSet<String>,
}

/// How a word is used in paths.
#[derive(Default)]
struct Word {
    /// Files it names.
    names: usize,
    /// Files it names in part.
    parts: usize,
    /// The folders of those it names; none once they are too many.
    folders: BTreeSet<String>,
}

impl<'a> Aim<'a> {
    fn new(words: &'a BTreeSet<String>) -> Self {
        let words = words.iter().map(|word| (word.as_str(), Word::default())).collect();
        Self { words, beside: BTreeSet::new(), imported: BTreeSet::new() }
    }

    fn find(&self, word: &str) -> Option<usize> {
        self.words.binary_search_by(|(known, _)| (*known).cmp(word)).ok()
    }

    fn count(&mut self, path: &str) {
        let (names, parts) = self.words_of(path);
        for word in &names {
            let word = &mut self.words[*word].1;
            word.names += 1;
            if word.names > COMMON {
                word.folders.clear();
            } else {
                word.folders.insert(folder_of(path).to_owned());
            }
        }
        for word in parts.difference(&names) {
            self.words[*word].1.parts += 1;
        }
    }

    /// After all were counted.
    fn settle(&mut self) {
        for (_, word) in &mut self.words {
            self.beside.append(&mut word.folders);
        }
    }

    fn at(&self, path: &str) -> (Near, usize) {
        let (names, parts) = self.words_of(path);
        let rarest = |of: &BTreeSet<usize>, count: &dyn Fn(&Word) -> usize| {
            of.iter().map(|word| count(&self.words[*word].1)).min()
        };
        let named = rarest(&names, &|word| word.names);
        let partly = rarest(&parts, &|word| word.parts + word.names);
        match (named, partly) {
            (Some(count), _) if count <= COMMON => (Near::Named, count),
            (_, Some(count)) if count <= COMMON => (Near::Partly, count),
            _ if self.beside.contains(folder_of(path)) => (Near::Beside, 0),
            _ if imports::names(&self.imported, path) => (Near::Imported, 0),
            (None, None) => (Near::Not, 0),
            _ => (Near::Commonly, 0),
        }
    }

    /// The words that name a file, and those that name a part of its path.
    fn words_of(&self, path: &str) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let (mut names, mut parts) = (BTreeSet::new(), BTreeSet::new());
        let lower = path.to_lowercase();
        // Most paths have nothing of any word.
        if !self.words.iter().any(|(word, _)| lower.contains(word)) {
            return (names, parts);
        }
        let name = lower.rsplit('/').next().unwrap_or(&lower);
        let stem = name.split('.').next().unwrap_or(name);
        let without = lower.rsplit_once('.').map_or(lower.as_str(), |(without, _)| without);
        let wholes = tails(&lower).chain(tails(without)).chain([stem]);
        names.extend(wholes.filter_map(|whole| self.find(whole)));
        let mut folder = folder_of(&lower);
        while !folder.is_empty() {
            parts.extend(tails(folder).filter_map(|tail| self.find(tail)));
            folder = folder_of(folder);
        }
        let stem = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default();
        parts.extend(words_in(stem).filter_map(|word| self.find(&word.to_lowercase())));
        (names, parts)
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// `list`, `files` of `list_files`, `list-files` and `listFiles`.
fn words_in(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric()).flat_map(|part| {
        let humps = part.char_indices().filter(|(at, c)| {
            c.is_uppercase() && part[..*at].chars().next_back().is_some_and(char::is_lowercase)
        });
        let ends: Vec<usize> = humps.map(|(at, _)| at).chain([part.len()]).collect();
        let begins = std::iter::once(0).chain(ends.clone());
        begins.zip(ends).map(|(begin, end)| &part[begin..end]).collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::super::rank::words;
    use super::super::testing::Files;
    use super::*;

    fn order(files: &[(&str, &str)], about: &str, most: usize) -> Vec<String> {
        let source = Files::new(files);
        let (wanted, all) = wanted(&source, &words(about), most).unwrap();
        let known = files.iter().filter(|(path, _)| syntax_of(path).is_some());
        assert_eq!(all, known.count());
        wanted.iter().map(|file| file.path().to_owned()).collect()
    }

    #[test]
    fn what_is_named_comes_first_then_its_neighbours_and_what_it_imports() {
        let files = [
            ("arch/a.c", ""),
            ("drivers/zorro/names.c", "#include <linux/zorro.h>\n#include \"far/away.h\"\n"),
            ("drivers/zorro/other.c", ""),
            ("include/far/away.h", ""),
            ("lib/zorro_list.c", ""),
            ("tests/names.md", ""),
            ("top.c", ""),
        ];
        let first = |about: &str| order(&files, about, 5);
        let named = [
            "lib/zorro_list.c",
            "drivers/zorro/names.c",
            "drivers/zorro/other.c",
            "include/far/away.h",
            "top.c",
        ];
        assert_eq!(first("Speed up `drivers/zorro/names.c` and zorro_list."), named);
        assert_eq!(first("Why is zorro/names slow?")[..1], named[1..2]);
        assert_eq!(first("the Zorro bus")[..3], named[..3]);
        assert_eq!(first("")[..2], ["top.c", "arch/a.c"]);
        let mut turned = files;
        turned.reverse();
        assert_eq!(order(&turned, "names.c", 3), order(&files, "names.c", 3));
    }

    #[test]
    fn a_word_that_everything_goes_by_is_no_name() {
        let paths: Vec<String> = (0..COMMON + 9).map(|n| format!("drivers/d{n}/core.c")).collect();
        let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        files.push(("zz/deep/down/rarely.c", ""));
        let first = order(&files, "Make the core of drivers, rarely used, faster", 3);
        assert_eq!(first[0], "zz/deep/down/rarely.c");
        assert_eq!(first[1], "drivers/d0/core.c");
    }

    #[test]
    fn names_are_of_words() {
        let of = |name| words_in(name).collect::<Vec<_>>();
        assert_eq!(of("listFiles"), ["list", "Files"]);
        assert_eq!(of("HTTPServer-x"), ["HTTPServer", "x"]);
        assert_eq!(of("list_all"), ["list", "all"]);
    }
}
