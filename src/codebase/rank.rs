//! Which definitions matter most: those that many files use, more so when these files are much
//! used themselves, and when the work in hand speaks of them.
//!
//! A file passes its weight on to the files that define the names it uses (as pages do by links);
//! a definition gets what is passed on by its name. Names that many files define tell nothing, a
//! `new` or a `get` least of all.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::parse::{Definition, Symbols};

/// A name that more files define is nobody's.
const DEFINERS_MAX: usize = 5;
/// Rounds; the order no longer changes much after some ten.
const ROUNDS: usize = 20;
/// What of a file's weight is passed on.
const DAMPING: f64 = 0.85;
/// How much more a name or a file weighs that the work in hand mentions.
const MENTIONED: f64 = 10.0;
/// How much a test or an example weighs beside code.
const TRIAL: f64 = 0.3;
/// How much a name weighs that says little: a short one, a single plain word.
const MINOR: f64 = 0.2;
/// How much a method's name weighs beside a function's or a type's.
const METHOD: f64 = 0.1;

/// A file to be ranked.
pub(super) struct Ranked<'a> {
    pub(super) path: &'a str,
    /// Files use names of their own family only.
    pub(super) family: &'static str,
    /// Tests and examples, of which nothing is shown before code.
    pub(super) trial: bool,
    pub(super) symbols: &'a Symbols,
}

/// A definition: which file's, which of its definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: usize,
    pub(super) definition: usize,
}

/// Every definition, the most used first, then those nobody else uses in the order of the files
/// (tests last).
///
/// `mentions` are the words of what is to be done.
pub(super) fn rank(files: &[Ranked<'_>], mentions: &BTreeSet<String>) -> Vec<Place> {
    let definers = definers(files);
    let mentioned: Vec<bool> = files.iter().map(|file| is_mentioned(file.path, mentions)).collect();
    // Who passes how much to whom, and by which name.
    let mut links: Vec<Vec<(usize, &str, f64)>> = Vec::with_capacity(files.len());
    for (at, file) in files.iter().enumerate() {
        let mut own = Vec::new();
        for used in &file.symbols.uses {
            let name = used.trim_start_matches('.');
            let Some(theirs) = definers.get(&(file.family, name)) else { continue };
            if theirs.len() > DEFINERS_MAX {
                continue;
            }
            // Whose method it is cannot be seen: it may well be the language's own.
            let sure = if name.len() < used.len() { METHOD } else { 1.0 };
            let share = sure * weight(name, mentions) / theirs.len() as f64;
            let others = theirs.iter().filter(|other| **other != at);
            own.extend(others.map(|other| (*other, name, share)));
        }
        links.push(own);
    }
    let own = files.iter().zip(&mentioned).map(|(file, mentioned)| {
        let mentioned = if *mentioned { MENTIONED } else { 1.0 };
        mentioned * if file.trial { TRIAL } else { 1.0 }
    });
    let weights = settle(&links, own.collect());
    let mut scores: HashMap<(usize, &str), f64> = HashMap::new();
    for (at, own) in links.iter().enumerate() {
        let sum: f64 = own.iter().map(|(_, _, share)| share).sum();
        for (to, name, share) in own {
            *scores.entry((*to, name)).or_default() += weights[at] * share / sum;
        }
    }
    let mut places: Vec<(f64, Place)> = Vec::new();
    for (file, ranked) in files.iter().enumerate() {
        for (definition, defined) in ranked.symbols.defines.iter().enumerate() {
            let mut score = scores.get(&(file, defined.name.as_str())).copied().unwrap_or(0.0);
            if mentions.contains(&defined.name.to_lowercase()) {
                score *= MENTIONED;
            }
            if is_private(defined, ranked) {
                score = 0.0;
            }
            if ranked.trial {
                score *= TRIAL;
            }
            places.push((score, Place { file, definition }));
        }
    }
    places.sort_by(|(one, a), (other, b)| {
        let order = |place: &Place| {
            let file = &files[place.file];
            (file.trial, !mentioned[place.file], file.path, place.definition)
        };
        other.total_cmp(one).then_with(|| order(a).cmp(&order(b)))
    });
    places.into_iter().map(|(_, place)| place).collect()
}

/// Which files define a name.
fn definers<'a>(files: &[Ranked<'a>]) -> HashMap<(&'static str, &'a str), Vec<usize>> {
    let mut definers: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        let open = file.symbols.defines.iter().filter(|defined| !is_private(defined, file));
        let names: HashSet<&str> = open.map(|defined| defined.name.as_str()).collect();
        for name in names {
            definers.entry((file.family, name)).or_default().push(at);
        }
    }
    definers
}

/// The weights of the files after some rounds of passing on; `own` is what they begin with.
fn settle(links: &[Vec<(usize, &str, f64)>], own: Vec<f64>) -> Vec<f64> {
    let all: f64 = own.iter().sum();
    let own: Vec<f64> = own.into_iter().map(|weight| weight / all).collect();
    let sums: Vec<f64> =
        links.iter().map(|own| own.iter().map(|(_, _, share)| share).sum()).collect();
    let mut weights = own.clone();
    for _ in 0..ROUNDS {
        // What files pass on that use nobody goes to all.
        let idle: f64 =
            weights.iter().zip(&sums).filter(|(_, sum)| **sum == 0.0).map(|(w, _)| w).sum();
        let mut next: Vec<f64> =
            own.iter().map(|own| own * (1.0 - DAMPING + DAMPING * idle)).collect();
        for (at, own) in links.iter().enumerate() {
            for (to, _, share) in own {
                next[*to] += DAMPING * weights[at] * share / sums[at];
            }
        }
        weights = next;
    }
    weights
}

/// True for what its language keeps for the file: others that use the name mean something else.
fn is_private(defined: &Definition, file: &Ranked<'_>) -> bool {
    let head = defined.signature.as_str();
    let has = |word: &str| head.split_whitespace().any(|part| part == word);
    match file.family {
        "rust" => {
            let of_a_trait = || {
                let mut traits = file.symbols.defines.iter().filter(|other| {
                    other.name == defined.owner && other.signature.contains("trait ")
                });
                traits.next().is_some()
            };
            !head.starts_with("pub") && !head.starts_with("macro_rules!") && !of_a_trait()
        }
        "python" => defined.name.starts_with('_'),
        "java" => has("private"),
        "c" => has("static") && defined.owner.is_empty(),
        _ => false,
    }
}

fn weight(name: &str, mentions: &BTreeSet<String>) -> f64 {
    let mentioned = if mentions.contains(&name.to_lowercase()) { MENTIONED } else { 1.0 };
    let plain = name.chars().all(char::is_lowercase);
    let minor = if plain || name.starts_with('_') || name.len() < 4 { MINOR } else { 1.0 };
    mentioned * minor
}

/// True when the work in hand names the file, its stem, or a directory it is in.
fn is_mentioned(path: &str, mentions: &BTreeSet<String>) -> bool {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let stem = name.split('.').next().unwrap_or(name);
    [path.as_str(), name, stem].iter().any(|part| mentions.contains(*part))
}

/// The words of a text that may be names: as they stand, in lower case, without what surrounds them.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let inner = |c: char| c.is_alphanumeric() || "_./-".contains(c);
    text.split(|c: char| !inner(c))
        .map(|word| word.trim_matches(|c: char| "./-".contains(c)).to_lowercase())
        .filter(|word| word.len() > 3)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::language::Language;
    use super::super::parse::Parsers;
    use super::*;

    /// The names of what these files define, in their order.
    fn ranked(files: &[(&str, &str)], about: &str) -> Vec<String> {
        let parse = |(path, text): &(&str, &str)| {
            Parsers::default().parse(Language::of(path).unwrap(), text).unwrap()
        };
        let symbols: Vec<Symbols> = files.iter().map(parse).collect();
        let of = |((path, _), symbols)| Ranked {
            path,
            family: Language::of(path).unwrap().family(),
            trial: super::super::worth::is_trial(path),
            symbols,
        };
        let list: Vec<Ranked<'_>> = files.iter().copied().zip(&symbols).map(of).collect();
        let name = |place: Place| symbols[place.file].defines[place.definition].name.clone();
        rank(&list, &words(about)).into_iter().map(name).collect()
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
    fn what_many_use_comes_first_and_tests_last() {
        let names = ranked(&FILES, "");
        assert_eq!(names[..3], ["widely", "often", "seldom"], "{names:?}");
        assert_eq!(names.last().map(String::as_str), Some("tries"), "{names:?}");
        let mut turned = FILES;
        turned.reverse();
        assert_eq!(ranked(&turned, ""), names, "the order of the list does not matter");
    }

    #[test]
    fn what_the_work_speaks_of_comes_first() {
        assert_eq!(ranked(&FILES, "Make `seldom` faster.")[0], "seldom");
        let names = ranked(&FILES, "Look into d.rs, please.");
        assert!(
            names.iter().position(|name| name == "other_caller")
                < names.iter().position(|name| name == "never_used"),
            "{names:?}"
        );
    }

    #[test]
    fn names_that_everybody_defines_tell_nothing() {
        let paths: Vec<String> = (0..8).map(|n| format!("{n}.rs")).collect();
        let mut files: Vec<(&str, &str)> =
            paths.iter().map(|path| (path.as_str(), "pub fn common() { common() }")).collect();
        files.push(("x.rs", "pub fn special() {}\nfn last() {}"));
        files.push(("y.rs", "pub fn last() { special(); common(); last() }"));
        assert_eq!(ranked(&files, "")[0], "special");
        assert_eq!(ranked(&[], ""), Vec::<String>::new());
    }
}
