//! The map of a code base: the most used definitions, file by file, within a budget.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use super::Source;
use super::cache::SymbolCache;
use super::named::NamedDefinitions;
use super::own_code::{FILE_MAX, is_trial, is_written};
use super::parse::{self, Parsers};
use super::rank::{DefinitionIndex, Ranked, rank, words, words_from};
use super::wanted::{CandidateFile, nearest_files};
use crate::languages::Syntax;

/// Maximum number of ranked files: those nearest to the current work.
const FILES: usize = 4_000;
/// Maximum number of names that these files define and use.
const NAMES: usize = 400_000;
/// Maximum bytes that one look parses, which limits its time. The next looks parse the rest.
const BYTES: usize = 5 * 512 * 1024;
/// Bytes that are parsed at a time, in several threads.
const BATCH: usize = 256 * 1024;
/// Definitions of one file that are shown before the other files get their turn.
const FIRST_TURN: usize = 8;
/// At first, definitions in files that the current work names get at most `1/NAMED` of the room.
const NAMED: usize = 3;
/// Bytes reserved for the line about what was left out.
const LAST_LINE: usize = 120;

/// The input of the map.
pub struct Map<'a> {
    /// All tracked files, or those of interest.
    pub source: &'a dyn Source,
    /// Path of the cache, if there is one.
    pub cache: Option<&'a Path>,
    /// The description of the current work: what it names comes first.
    pub about: &'a str,
    /// Files whose complete text is shown elsewhere.
    pub shown: &'a [&'a str],
}

/// The symbols found in a code base.
#[derive(Default)]
pub struct RepositoryMap {
    /// The most used definitions, grouped by file: for each file, a line `LINE: head` for each
    /// definition. The file with the most used definition comes first. Tests, examples and similar
    /// code are left out unless the current work names them. Empty if no file in a known language
    /// defines anything.
    pub most_used: String,
    /// The complete text of the definitions that the current work names.
    pub named: String,
}

/// The most used definitions and the named ones, each within its budget in bytes.
///
/// If the repository is too large for one look, the files nearest to the current work are parsed;
/// with a cache, later looks know these and continue with the next ones.
///
/// # Errors
/// The files cannot be read, or git-cowork was asked to stop.
pub fn symbols(map: &Map<'_>, budget: usize, named_budget: usize) -> anyhow::Result<RepositoryMap> {
    let (chosen_files, all) = nearest_files(map.source, &words_from(map.about, 3), FILES)?;
    let ParsedFiles { files, cache, missing: gone } = parse_files(map, &chosen_files)?;
    let files_ranked: Vec<Ranked> = files.into_iter().map(|(_, file)| file).collect();
    let mut places = rank(&files_ranked);
    places.retain(|place| !map.shown.contains(&files_ranked[place.file as usize].path.as_str()));
    let by_path: HashMap<&str, &CandidateFile> =
        chosen_files.iter().map(|file| (file.path(), file)).collect();
    let mut in_full = NamedDefinitions::new(map.about, named_budget);
    let unseen = |file: &&Ranked| !file.trial && !map.shown.contains(&file.path.as_str());
    for file in files_ranked.iter().filter(unseen).filter(|file| file.defines_mentioned()) {
        if let Some(candidate) = by_path.get(file.path.as_str()) {
            let symbols = cache.get(&candidate.content, candidate.syntax.name);
            in_full.look_into(&file.path, &candidate.content, symbols);
        }
    }
    let is_named =
        |file: &Ranked| by_path.get(file.path.as_str()).is_some_and(|file| file.is_named());
    let mut listing = DefinitionList {
        files: &files_ranked,
        is_named: &is_named,
        symbols: HashMap::new(),
        read: &|file| {
            let file = by_path.get(file.path.as_str());
            file.map(|file| cache.get(&file.content, file.syntax.name)).unwrap_or_default()
        },
    };
    let chosen = listing.choose(&places, budget.saturating_sub(LAST_LINE));
    let mut out = String::new();
    let mut count = 0;
    for (file, definitions) in &chosen {
        out.push_str(&heading(&files_ranked[*file as usize].path));
        for definition in definitions {
            out.push_str(&listing.line(DefinitionIndex { file: *file, definition: *definition }));
            count += 1;
        }
    }
    let all = all - gone;
    if !chosen.is_empty() && (count < places.len() || files_ranked.len() < all) {
        out.push_str(&format!(
            "[{count} of {} definitions, in {} of {all} files; search_files finds the others]",
            places.len(),
            chosen.len()
        ));
    }
    let definitions_text = in_full.text(map.source)?;
    cache.save();
    Ok(RepositoryMap { most_used: out.trim_end().to_owned(), named: definitions_text })
}

/// The known symbols of the wanted files.
struct ParsedFiles<'a> {
    /// Files that were parsed, now or earlier, sorted by path.
    files: Vec<(usize, Ranked)>,
    cache: SymbolCache<'a>,
    /// Number of files that are too large or missing.
    missing: usize,
}

fn parse_files<'a>(
    map: &Map<'a>,
    files_to_parse: &[CandidateFile],
) -> anyhow::Result<ParsedFiles<'a>> {
    let mentions = words(map.about);
    // Files with the same content.
    let mut positions: HashMap<(&str, &'static str), Vec<usize>> = HashMap::new();
    for (at, file) in files_to_parse.iter().enumerate() {
        positions.entry((file.content.as_str(), file.syntax.name)).or_default().push(at);
    }
    let mut files: Vec<(usize, Ranked)> = Vec::new();
    let (mut names, mut gone) = (0, 0);
    let mut know = |content: &str, syntax: &'static str, symbols: &parse::Symbols| {
        for at in positions.get(&(content, syntax)).into_iter().flatten() {
            let (path, language) = (files_to_parse[*at].path(), files_to_parse[*at].language);
            let file = Ranked::new(path, language, is_trial(path), symbols, &mentions);
            names += file.names();
            if names <= NAMES {
                files.push((*at, file));
            }
        }
        names <= NAMES
    };
    let keys: HashSet<(&str, &'static str)> = positions.keys().copied().collect();
    let mut parsed_keys: HashSet<(String, &'static str)> = HashSet::new();
    let mut cache = SymbolCache::open(map.cache, &keys, |content, syntax, symbols| {
        know(content, syntax, &symbols);
        parsed_keys.insert((content.to_owned(), syntax));
    });
    let mut missing: Vec<&CandidateFile> = Vec::new();
    for file in files_to_parse {
        if parsed_keys.insert((file.content.clone(), file.syntax.name)) {
            missing.push(file);
        }
    }
    let contents: Vec<&str> = missing.iter().map(|file| file.content.as_str()).collect();
    let mut parsers = Parsers::one_a_thread();
    let (mut bytes_read, mut batch_bytes) = (0, 0);
    let mut batch: Vec<(usize, String)> = Vec::new();
    // Parses the batch; false if there is no room for more names.
    let mut parse = |batch: &mut Vec<(usize, String)>| {
        let texts: Vec<(&'static Syntax, &str)> =
            batch.iter().map(|(at, text)| (missing[*at].syntax, text.as_str())).collect();
        let results = parse::parse_all(&mut parsers, &texts);
        for ((at, _), symbols) in std::mem::take(batch).into_iter().zip(results) {
            let Some(symbols) = symbols else { continue };
            let (content, syntax) = (contents[at], missing[at].syntax.name);
            let room = know(content, syntax, &symbols);
            cache.add(content, syntax, symbols);
            if !room {
                return false;
            }
        }
        true
    };
    map.source.each_content(&contents, FILE_MAX, &mut |at, bytes| {
        crate::interrupt::check()?;
        let Some(bytes) = bytes else {
            gone += positions.get(&(contents[at], missing[at].syntax.name)).map_or(0, Vec::len);
            return Ok(ControlFlow::Continue(()));
        };
        bytes_read += bytes.len();
        batch_bytes += bytes.len();
        // A file that no person wrote (generated, packed or binary) counts as empty.
        let text = String::from_utf8(bytes).ok().filter(|text| is_written(text));
        batch.push((at, text.unwrap_or_default()));
        let mut room = bytes_read < BYTES;
        if batch_bytes >= BATCH && room {
            batch_bytes = 0;
            room = parse(&mut batch);
        }
        Ok(if room { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    parse(&mut batch);
    files.sort_unstable_by(|(_, a), (_, b)| a.path.cmp(&b.path));
    Ok(ParsedFiles { files, cache, missing: gone })
}

/// The files to show, and the text of their definitions.
struct DefinitionList<'a> {
    files: &'a [Ranked],
    /// True if the current work names a file.
    is_named: &'a dyn Fn(&Ranked) -> bool,
    /// Symbols of files that were read again.
    symbols: HashMap<u32, parse::Symbols>,
    read: &'a dyn Fn(&Ranked) -> parse::Symbols,
}

/// Definitions to show, by file.
type ChosenDefinitions = Vec<(u32, Vec<u32>)>;

impl DefinitionList<'_> {
    /// Chooses definitions that fit into `room`. First come a few definitions of each file that the
    /// current work names, then the most used definitions: at first a few of each file, then the
    /// rest of all files. Files are returned in the order of their best definition, the definitions
    /// of a file in the order in which they occur in it.
    fn choose(&mut self, places: &[DefinitionIndex], room: usize) -> ChosenDefinitions {
        let mut chosen: ChosenDefinitions = Vec::new();
        let mut at: HashMap<u32, usize> = HashMap::new();
        let mut used = 0;
        for (most, only_named) in [(FIRST_TURN, true), (FIRST_TURN, false), (usize::MAX, false)] {
            let room = if only_named { room / NAMED } else { room };
            for place in places {
                let file = &self.files[place.file as usize];
                if (only_named || file.trial) && !(self.is_named)(file) {
                    continue;
                }
                let chosen_here = at.get(&place.file).map(|at| &chosen[*at].1);
                if chosen_here.is_some_and(|definitions| {
                    definitions.len() >= most || definitions.contains(&place.definition)
                }) {
                    continue;
                }
                let path = &self.files[place.file as usize].path;
                let heading = if chosen_here.is_none() { heading(path).len() } else { 0 };
                let cost = heading + self.line(*place).len();
                if used + cost > room && only_named {
                    break;
                }
                if used + cost > room {
                    // Stop here: filling the gap would add less important definitions.
                    return sorted(chosen);
                }
                used += cost;
                match at.get(&place.file) {
                    Some(at) => chosen[*at].1.push(place.definition),
                    None => {
                        at.insert(place.file, chosen.len());
                        chosen.push((place.file, vec![place.definition]));
                    }
                }
            }
        }
        sorted(chosen)
    }

    /// A definition's line; empty if its cached symbols are gone.
    fn line(&mut self, place: DefinitionIndex) -> String {
        let (file, read) = (&self.files[place.file as usize], self.read);
        let symbols = self.symbols.entry(place.file).or_insert_with(|| read(file));
        let Some(definition) = symbols.defines.get(place.definition as usize) else {
            return String::new();
        };
        let owner = match definition.owner.as_str() {
            "" => String::new(),
            owner => format!("{owner} "),
        };
        format!("  {}: {owner}{}\n", definition.line, definition.signature)
    }
}

fn sorted(mut chosen: ChosenDefinitions) -> ChosenDefinitions {
    for (_, definitions) in &mut chosen {
        definitions.sort_unstable();
    }
    chosen
}

fn heading(path: &str) -> String {
    format!("{path}\n")
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
