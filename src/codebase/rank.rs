//! Ranks definitions: one that many files use is important, more so if these files are much used
//! themselves, or if the current work mentions the definition or a file that uses it.
//!
//! A file passes its weight on to the files that define the names it uses (like pages with links);
//! a definition gets the weight that files pass on because they use its name. Names that many files
//! define, such as `new` or `get`, are ignored.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use super::parse::{Definition, Symbols};
use crate::languages::Language;

/// A name defined in more files is ignored.
const DEFINERS_MAX: usize = 5;
/// Number of rounds; the order hardly changes after about ten.
const ROUNDS: usize = 20;
/// Share of a file's weight that is passed on.
const DAMPING: f64 = 0.85;
/// Factor for a name or a file that the current work mentions.
const MENTIONED: f64 = 10.0;
/// Factor for a test or an example.
const TRIAL: f64 = 0.3;
/// Factor for a name that says little: a short one, or a single plain word.
const MINOR: f64 = 0.2;
/// Factor for a method's name, compared to a function's or a type's.
const METHOD: f64 = 0.1;

/// A name in few bytes: a hash of its letters, and flags. Two names with the same hash count as
/// one; a collision does no other harm.
#[derive(Clone, Copy, Debug)]
struct Name(u64);

impl Name {
    /// Flag of any name: the current work mentions it.
    const MENTIONED: u64 = 1;
    /// Flag of a definition: other files that use the name mean something else.
    const PRIVATE: u64 = 2;
    /// Flag of a used name: the name is short or a single plain word, so it says little.
    const MINOR: u64 = 2;
    /// Flag of a used name: a method whose type is unknown; it may belong to the language itself.
    const METHOD: u64 = 4;
    const ALL: u64 = 7;

    fn new(name: &str, flags: u64) -> Self {
        // FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/)
        let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(name.bytes().fold(0xcbf2_9ce4_8422_2325, mix) & !Self::ALL | flags)
    }

    fn is(self, flags: u64) -> bool {
        self.0 & flags != 0
    }

    fn letters(self) -> u64 {
        self.0 & !Self::ALL
    }
}

/// A file to be ranked, with only the data that ranking needs.
pub(super) struct Ranked {
    pub(super) path: String,
    /// Files use only names of their own language.
    language: &'static str,
    /// Tests and examples, which come after code.
    pub(super) trial: bool,
    /// The current work names it.
    mentioned: bool,
    /// In the order of the file.
    defines: Vec<Name>,
    uses: Vec<Name>,
}

impl Ranked {
    /// `mentions` are the words that describe the current work.
    pub(super) fn new(
        path: &str,
        language: &'static Language,
        trial: bool,
        symbols: &Symbols,
        mentions: &BTreeSet<String>,
    ) -> Self {
        let is_mentioned = |name: &str| mentions.contains(&name.to_lowercase());
        let is_trait = |d: &&Definition| d.signature.split_whitespace().any(|word| word == "trait");
        let traits: BTreeSet<&str> =
            symbols.defines.iter().filter(is_trait).map(|d| d.name.as_str()).collect();
        let define = |definition: &Definition| {
            let mut flags = if is_mentioned(&definition.name) { Name::MENTIONED } else { 0 };
            flags |= if is_private(definition, language, &traits) { Name::PRIVATE } else { 0 };
            Name::new(&definition.name, flags)
        };
        let use_of = |used: &String| {
            let name = used.trim_start_matches('.');
            let mut flags = if is_mentioned(name) { Name::MENTIONED } else { 0 };
            flags |= if is_minor(name) { Name::MINOR } else { 0 };
            flags |= if name.len() < used.len() { Name::METHOD } else { 0 };
            Name::new(name, flags)
        };
        Self {
            path: path.to_owned(),
            language: language.name,
            trial,
            mentioned: is_mentioned_path(path, mentions),
            defines: symbols.defines.iter().map(define).collect(),
            uses: symbols.uses.iter().map(use_of).collect(),
        }
    }

    /// True if it defines something that the current work mentions.
    pub(super) fn defines_mentioned(&self) -> bool {
        self.defines.iter().any(|name| name.is(Name::MENTIONED))
    }

    /// The number of names needed to rank it.
    pub(super) fn names(&self) -> usize {
        self.defines.len() + self.uses.len()
    }
}

/// A definition: the index of its file, and its index in that file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DefinitionIndex {
    pub(super) file: u32,
    pub(super) definition: u32,
}

/// A file that uses this name passes this share of its weight on to a file that defines the name.
struct Link {
    to: u32,
    name: u64,
    share: f64,
}

/// All definitions: first the used ones, most used first; then those that no other file uses, in
/// the order of the files, tests last.
pub(super) fn rank(files: &[Ranked]) -> Vec<DefinitionIndex> {
    let links = links(files);
    let initial = files.iter().map(|file| {
        let boost = if file.mentioned { MENTIONED } else { 1.0 };
        boost * if file.trial { TRIAL } else { 1.0 }
    });
    let weights = settle(&links, initial.collect());
    let mut scores: HashMap<(u32, u64), f64> = HashMap::new();
    for (links_of_file, weight) in links.iter().zip(&weights) {
        let sum: f64 = links_of_file.iter().map(|link| link.share).sum();
        for link in links_of_file {
            *scores.entry((link.to, link.name)).or_default() += weight * link.share / sum;
        }
    }
    drop(links);
    let mut places: Vec<(f64, DefinitionIndex)> = Vec::new();
    for (file, ranked) in (0..).zip(files) {
        for (definition, name) in (0..).zip(&ranked.defines) {
            let mut score = scores.get(&(file, name.letters())).copied().unwrap_or(0.0);
            if name.is(Name::MENTIONED) {
                score *= MENTIONED;
            }
            if name.is(Name::PRIVATE) {
                score = 0.0;
            }
            if ranked.trial {
                score *= TRIAL;
            }
            places.push((score, DefinitionIndex { file, definition }));
        }
    }
    places
        .sort_by(|(one, a), (other, b)| other.total_cmp(one).then_with(|| in_order(files, *a, *b)));
    places.into_iter().map(|(_, place)| place).collect()
}

fn in_order(files: &[Ranked], a: DefinitionIndex, b: DefinitionIndex) -> Ordering {
    let order = |place: DefinitionIndex| {
        let file = &files[place.file as usize];
        (file.trial, !file.mentioned, file.path.as_str(), place.definition)
    };
    order(a).cmp(&order(b))
}

/// The links of each file to the files that define the names it uses.
fn links(files: &[Ranked]) -> Vec<Vec<Link>> {
    let definers = definers(files);
    let links_of = |at: usize, file: &Ranked| {
        let mut links = Vec::new();
        for name in &file.uses {
            let key = (file.language, name.letters());
            let begin = definers.partition_point(|(language, name, _)| (*language, *name) < key);
            let matches = definers[begin..].iter().take(DEFINERS_MAX + 1);
            let matches = matches.take_while(|(language, name, _)| (*language, *name) == key);
            let count = matches.clone().count();
            if count > DEFINERS_MAX {
                continue;
            }
            let sure = if name.is(Name::METHOD) { METHOD } else { 1.0 };
            let boost = if name.is(Name::MENTIONED) { MENTIONED } else { 1.0 };
            let minor = if name.is(Name::MINOR) { MINOR } else { 1.0 };
            let share = sure * (boost * minor) / count as f64;
            let others = matches.filter(|(_, _, other)| *other as usize != at);
            links.extend(others.map(|(_, name, to)| Link { to: *to, name: *name, share }));
        }
        links
    };
    files.iter().enumerate().map(|(at, file)| links_of(at, file)).collect()
}

/// The files that define each name: sorted, without duplicates.
fn definers(files: &[Ranked]) -> Vec<(&'static str, u64, u32)> {
    let mut definers = Vec::new();
    for (at, file) in (0..).zip(files) {
        let open = file.defines.iter().filter(|name| !name.is(Name::PRIVATE));
        definers.extend(open.map(|name| (file.language, name.letters(), at)));
    }
    definers.sort_unstable();
    definers.dedup();
    definers
}

/// The weights of the files after all rounds, from `boosts`.
fn settle(links: &[Vec<Link>], boosts: Vec<f64>) -> Vec<f64> {
    let all: f64 = boosts.iter().sum();
    let initial: Vec<f64> = boosts.into_iter().map(|weight| weight / all).collect();
    let sums: Vec<f64> =
        links.iter().map(|of_file| of_file.iter().map(|link| link.share).sum()).collect();
    let mut weights = initial.clone();
    for _ in 0..ROUNDS {
        // The weight of files that use no others is distributed to all.
        let idle: f64 =
            weights.iter().zip(&sums).filter(|(_, sum)| **sum == 0.0).map(|(w, _)| w).sum();
        let mut next: Vec<f64> =
            initial.iter().map(|weight| weight * (1.0 - DAMPING + DAMPING * idle)).collect();
        for (at, of_file) in links.iter().enumerate() {
            for link in of_file {
                next[link.to as usize] += DAMPING * weights[at] * link.share / sums[at];
            }
        }
        weights = next;
    }
    weights
}

/// True if the language keeps the name private to its file: other files that use it mean something
/// else.
fn is_private(definition: &Definition, language: &Language, traits: &BTreeSet<&str>) -> bool {
    let Definition { name, owner, signature, .. } = definition;
    (language.is_private)(name, owner, signature) && !traits.contains(owner.as_str())
}

fn is_minor(name: &str) -> bool {
    name.chars().all(char::is_lowercase) || name.starts_with('_') || name.len() < 4
}

/// True if the current work names the file, its path or its stem.
fn is_mentioned_path(path: &str, mentions: &BTreeSet<String>) -> bool {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let stem = name.split('.').next().unwrap_or(name);
    [path.as_str(), name, stem].iter().any(|part| mentions.contains(*part))
}

/// The words of a text that may be names: in lower case, without surrounding punctuation.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    words_from(text, 4)
}

/// Like [`words`], with words of at least this many bytes.
pub(super) fn words_from(text: &str, least: usize) -> BTreeSet<String> {
    let inner = |c: char| c.is_alphanumeric() || "_./-".contains(c);
    text.split(|c: char| !inner(c))
        .map(|word| word.trim_matches(|c: char| "./-".contains(c)).to_lowercase())
        .filter(|word| word.len() >= least)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse::Parsers;
    use super::*;
    use crate::languages::syntax_of;

    /// The names of all definitions in these files, in ranked order.
    fn ranked(files: &[(&str, &str)], about: &str) -> Vec<String> {
        let parse = |(path, text): &(&str, &str)| {
            Parsers::default().parse(syntax_of(path).unwrap().1, text).unwrap()
        };
        let symbols: Vec<Symbols> = files.iter().map(parse).collect();
        let of = |((path, _), symbols): ((&str, &str), &Symbols)| {
            let (language, _) = syntax_of(path).unwrap();
            let trial = super::super::own_code::is_trial(path);
            Ranked::new(path, language, trial, symbols, &words(about))
        };
        let list: Vec<Ranked> = files.iter().copied().zip(&symbols).map(of).collect();
        let name = |place: DefinitionIndex| {
            symbols[place.file as usize].defines[place.definition as usize].name.clone()
        };
        rank(&list).into_iter().map(name).collect()
    }

    const FILES: [(&str, &str); 6] = [
        ("a.rs", "pub fn seldom() { widely() }\npub fn never_used() {}"),
        ("b.rs", "pub fn widely() {}\npub fn often() { widely() }"),
        ("c.rs", "pub fn caller() { widely(); often(); seldom() }"),
        ("d.rs", "pub fn other_caller() { widely(); often() }"),
        ("tests/e.rs", "fn tries() { widely(); seldom() }"),
        ("f.py", "def widely(): never_used()"),
    ];

    #[test]
    fn the_most_used_definitions_come_first_and_tests_last() {
        let names = ranked(&FILES, "");
        assert_eq!(names[..3], ["widely", "often", "seldom"], "{names:?}");
        assert_eq!(names.last().map(String::as_str), Some("tries"), "{names:?}");
        let mut turned = FILES;
        turned.reverse();
        assert_eq!(ranked(&turned, ""), names, "the order of the list does not matter");
    }

    #[test]
    fn mentioned_names_come_first() {
        assert_eq!(ranked(&FILES, "Make `seldom` faster.")[0], "seldom");
        let names = ranked(&FILES, "Look into d.rs, please.");
        assert!(
            names.iter().position(|name| name == "other_caller")
                < names.iter().position(|name| name == "never_used"),
            "{names:?}"
        );
    }

    #[test]
    fn names_with_many_definitions_are_ignored() {
        let paths: Vec<String> = (0..8).map(|n| format!("{n}.rs")).collect();
        let mut files: Vec<(&str, &str)> =
            paths.iter().map(|path| (path.as_str(), "pub fn common() { common() }")).collect();
        files.push(("x.rs", "pub fn special() {}\nfn last() {}"));
        files.push(("y.rs", "pub fn last() { special(); common(); last() }"));
        assert_eq!(ranked(&files, "")[0], "special");
        assert_eq!(ranked(&[], ""), Vec::<String>::new());
    }
}
