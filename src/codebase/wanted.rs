//! Chooses the files to parse first: those that the current work names, those in the same folders
//! as these, those that these import, then the rest. The files are listed several times instead of
//! kept in memory.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::ControlFlow;

use super::imports::{self, tails};
use super::own_code::{FILE_MAX, is_own, is_trial};
use super::{Source, is_odd};
use crate::languages::{Language, Syntax, syntax_of};

/// A word that matches more files says nothing about any of them.
const COMMON: usize = 400;
/// Maximum number of named files whose imports are read.
const IMPORTERS: usize = 32;

/// Distance of a file to the current work; the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Near {
    /// The work names its path, the end of it, its name or its stem.
    Named,
    /// The work names one of its folders, or a part of its stem.
    Partly,
    /// The file is in the same folder as a named file.
    Beside,
    /// A named file imports the file.
    Imported,
    /// The file matches only words that match very many files.
    Commonly,
    Not,
}

/// The order in which files are parsed: no two are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ParseOrder {
    near: Near,
    /// Number of files that the matching word names: fewer is better.
    common: usize,
    trial: bool,
    depth: usize,
    path: String,
}

/// A file to be parsed.
pub(super) struct CandidateFile {
    order: ParseOrder,
    pub(super) content: String,
    pub(super) language: &'static Language,
    pub(super) syntax: &'static Syntax,
}

impl CandidateFile {
    pub(super) fn path(&self) -> &str {
        &self.order.path
    }

    /// True if the current work names it.
    pub(super) fn is_named(&self) -> bool {
        self.order.near == Near::Named
    }
}

impl PartialEq for CandidateFile {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for CandidateFile {}

impl PartialOrd for CandidateFile {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CandidateFile {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

/// The `most` files that are nearest to the `words` of the current work, in order, and the number
/// of all files.
///
/// # Errors
/// The files cannot be listed or read.
pub(super) fn nearest_files(
    source: &dyn Source,
    words: &BTreeSet<String>,
    most: usize,
) -> anyhow::Result<(Vec<CandidateFile>, usize)> {
    let mut aim = Aim::new(words);
    let mut all = 0;
    each(source, |path, _, _| {
        all += 1;
        aim.count(path);
    })?;
    aim.settle();
    let mut first = nearest(source, &aim, most)?;
    let names = first.iter().filter(|file| file.order.near == Near::Named).take(IMPORTERS);
    let contents: Vec<&str> = names.map(|file| file.content.as_str()).collect();
    // If all files fit, their order does not matter.
    if !contents.is_empty() && all > most {
        source.each_content(&contents, FILE_MAX, &mut |_, bytes| {
            let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
            aim.imported.append(&mut imports::ends(&text));
            Ok(ControlFlow::Continue(()))
        })?;
        first = nearest(source, &aim, most)?;
    }
    Ok((first, all))
}

fn nearest(source: &dyn Source, aim: &Aim<'_>, most: usize) -> anyhow::Result<Vec<CandidateFile>> {
    // A max-heap: the last file is on top.
    let mut heap: BinaryHeap<CandidateFile> = BinaryHeap::new();
    each(source, |path, content, (language, syntax)| {
        let (near, common) = aim.at(path);
        let (trial, depth) = (is_trial(path), path.matches('/').count());
        // Most files are skipped here without an allocation.
        let later = |last: &CandidateFile| {
            let ParseOrder { near: n, common: c, trial: t, depth: d, path: p } = &last.order;
            (near, common, trial, depth, path) >= (*n, *c, *t, *d, p.as_str())
        };
        if heap.len() == most && heap.peek().is_none_or(later) {
            return;
        }
        let order = ParseOrder { near, common, trial, depth, path: path.to_owned() };
        heap.push(CandidateFile { order, content: content.to_owned(), language, syntax });
        if heap.len() > most {
            heap.pop();
        }
    })?;
    Ok(heap.into_sorted_vec())
}

/// The files that can be parsed, according to their names.
fn each(
    source: &dyn Source,
    mut visit: impl FnMut(&str, &str, (&'static Language, &'static Syntax)),
) -> anyhow::Result<()> {
    source.each_file(&mut |path, content| {
        if let Some(language) = syntax_of(path)
            && is_own(path)
            && !path.chars().any(is_odd)
        {
            visit(path, content, language);
        }
        ControlFlow::Continue(())
    })
}

/// The words of the current work, and what they match.
struct Aim<'a> {
    words: Vec<(&'a str, Word)>,
    /// Folders of the named files.
    beside: BTreeSet<String>,
    /// Path suffixes that the named files import.
    imported: BTreeSet<String>,
}

/// The matches of a word in paths.
#[derive(Default)]
struct Word {
    /// Number of files that it names.
    names: usize,
    /// Number of files of which it names a part.
    parts: usize,
    /// The folders of the files it names; empty once there are too many.
    folders: BTreeSet<String>,
}

impl<'a> Aim<'a> {
    fn new(words: &'a BTreeSet<String>) -> Self {
        let words = words.iter().map(|word| (word.as_str(), Word::default())).collect();
        Self { words, beside: BTreeSet::new(), imported: BTreeSet::new() }
    }

    fn find(&self, word: &str) -> Option<usize> {
        self.words.binary_search_by(|(other, _)| (*other).cmp(word)).ok()
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

    /// Call this after all files were counted.
    fn settle(&mut self) {
        for (_, word) in &mut self.words {
            self.beside.append(&mut word.folders);
        }
    }

    fn at(&self, path: &str) -> (Near, usize) {
        let (names, parts) = self.words_of(path);
        let rarest = |words: &BTreeSet<usize>, count: &dyn Fn(&Word) -> usize| {
            words.iter().map(|word| count(&self.words[*word].1)).min()
        };
        let whole = rarest(&names, &|word| word.names);
        let partly = rarest(&parts, &|word| word.parts + word.names);
        match (whole, partly) {
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
        // Most paths match no word at all.
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

/// `list` and `files` for `list_files`, `list-files` and `listFiles`.
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
        let (wanted, all) = nearest_files(&source, &words(about), most).unwrap();
        let known = files.iter().filter(|(path, _)| syntax_of(path).is_some());
        assert_eq!(all, known.count());
        wanted.iter().map(|file| file.path().to_owned()).collect()
    }

    #[test]
    fn named_files_come_first_then_their_neighbours_and_imports() {
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
    fn a_word_that_matches_most_files_is_not_a_name() {
        let paths: Vec<String> = (0..COMMON + 9).map(|n| format!("drivers/d{n}/core.c")).collect();
        let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        files.push(("zz/deep/down/rarely.c", ""));
        let first = order(&files, "Make the core of drivers, rarely used, faster", 3);
        assert_eq!(first[0], "zz/deep/down/rarely.c");
        assert_eq!(first[1], "drivers/d0/core.c");
    }

    #[test]
    fn identifiers_are_split_into_words() {
        let of = |name| words_in(name).collect::<Vec<_>>();
        assert_eq!(of("listFiles"), ["list", "Files"]);
        assert_eq!(of("HTTPServer-x"), ["HTTPServer", "x"]);
        assert_eq!(of("list_all"), ["list", "all"]);
    }
}
