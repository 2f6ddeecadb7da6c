//! The map of a code base: the definitions most used, file by file, within a budget.

use std::path::Path;

use super::cache::Cache;
use super::language::Language;
use super::parse::{Parsers, Symbols};
use super::rank::{Place, Ranked, rank, words};
use super::worth::{FILE_MAX, is_own, is_trial, is_written};
use super::{File, Read, plain};

/// Files looked into at most, and their bytes together. Those at the top come first, tests last.
const FILES: usize = 4_000;
const BYTES: u64 = 8 * 1024 * 1024;
/// Files read at once.
const BATCH: usize = 500;
/// Definitions of one file before others had their turn.
const FIRST_TURN: usize = 8;
/// Bytes kept free for the line that says what was left out.
const LAST_LINE: usize = 120;

/// Every language, by the name it is noted under.
const LANGUAGES: [&str; 9] =
    ["rust", "python", "javascript", "typescript", "tsx", "go", "java", "c", "cpp"];

/// What the map is made of.
pub struct Map<'a> {
    /// All tracked files, or those of interest.
    pub files: &'a [File],
    /// Reads them.
    pub read: Read<'a>,
    /// Where what was found may be kept.
    pub cache: Option<&'a Path>,
    /// The work in hand, in words: what it names comes first.
    pub about: &'a str,
}

/// A file that was taken apart.
struct Parsed<'a> {
    file: &'a File,
    language: Language,
    symbols: Symbols,
}

/// The definitions most used, in at most `budget` bytes: files, the most used first, each with
/// lines of `LINE: head`. Empty where nothing is defined in a known language.
///
/// # Errors
/// The files cannot be read, or the program was asked to stop.
pub fn symbols(map: &Map<'_>, budget: usize) -> anyhow::Result<String> {
    let (parsed, left) = parsed(map)?;
    let ranked: Vec<Ranked<'_>> = parsed
        .iter()
        .map(|parsed| Ranked {
            path: &parsed.file.path,
            family: parsed.language.family(),
            trial: is_trial(&parsed.file.path),
            symbols: &parsed.symbols,
        })
        .collect();
    let places = rank(&ranked, &words(map.about));
    let chosen = choose(&ranked, &places, budget.saturating_sub(LAST_LINE));
    if chosen.is_empty() {
        return Ok(String::new());
    }
    let mut out = String::new();
    let mut shown = 0;
    for (file, definitions) in &chosen {
        out.push_str(&heading(ranked[*file].path));
        for definition in definitions {
            out.push_str(&line(&ranked, Place { file: *file, definition: *definition }));
            shown += 1;
        }
    }
    if shown < places.len() || left > 0 {
        let (all, files) = (places.len(), ranked.len() + left);
        out.push_str(&format!(
            "[{shown} of {all} definitions, in {} of {files} files; search_files finds the others]",
            chosen.len()
        ));
    }
    Ok(out.trim_end().to_owned())
}

/// The files that can be taken apart and were, and how many were left because they are too many.
fn parsed<'a>(map: &Map<'a>) -> anyhow::Result<(Vec<Parsed<'a>>, usize)> {
    let mentions = words(map.about);
    let mut wanted: Vec<(&File, Language)> = map
        .files
        .iter()
        .filter(|file| file.size <= FILE_MAX && is_own(&file.path))
        .filter(|file| plain(&file.path) == file.path)
        .filter_map(|file| Some((file, Language::of(&file.path)?)))
        .collect();
    wanted.sort_by_cached_key(|(file, _)| {
        let in_play = file.path.split('/').any(|part| mentions.contains(&part.to_lowercase()));
        (!in_play, is_trial(&file.path), file.path.matches('/').count(), file.path.clone())
    });
    let all = wanted.len();
    let mut bytes = 0;
    wanted.retain(|(file, _)| {
        bytes += file.size;
        bytes <= BYTES
    });
    wanted.truncate(FILES);
    let left = all - wanted.len();
    let mut cache = map.cache.map(|path| Cache::load(path, &LANGUAGES)).unwrap_or_default();
    let mut found: Vec<Option<Symbols>> =
        wanted.iter().map(|(file, language)| cache.take(&file.blob, language.name())).collect();
    let missing: Vec<usize> = (0..wanted.len()).filter(|at| found[*at].is_none()).collect();
    let mut parsers = Parsers::default();
    for batch in missing.chunks(BATCH) {
        let blobs: Vec<&str> = batch.iter().map(|at| wanted[*at].0.blob.as_str()).collect();
        for (at, bytes) in batch.iter().zip((map.read)(&blobs)?) {
            crate::interrupt::check()?;
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            let text = text.filter(|text| is_written(text));
            found[*at] = match text {
                Some(text) => parsers.parse(wanted[*at].1, &text),
                None => Some(Symbols::default()),
            };
        }
    }
    if let Some(path) = map.cache.filter(|_| !missing.is_empty()) {
        let entries = wanted.iter().zip(&found).filter_map(|((file, language), symbols)| {
            Some((file.blob.as_str(), language.name(), symbols.as_ref()?))
        });
        // It would only have made the next time quicker.
        if let Err(error) = Cache::save(path, entries) {
            tracing::warn!("the symbols that were found cannot be kept: {error:#}");
        }
    }
    let left = left + found.iter().filter(|symbols| symbols.is_none()).count();
    let parsed = wanted.into_iter().zip(found);
    let parsed = parsed.filter_map(|((file, language), symbols)| {
        Some(Parsed { file, language, symbols: symbols? })
    });
    Ok((parsed.collect(), left))
}

/// What fits, the most used first, a few of each file before the rest of any: files in the order
/// of their best definition, definitions in the order of the file.
fn choose(files: &[Ranked<'_>], places: &[Place], room: usize) -> Vec<(usize, Vec<usize>)> {
    let mut chosen: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut at: Vec<Option<usize>> = vec![None; files.len()];
    let mut used = 0;
    for most in [FIRST_TURN, usize::MAX] {
        for place in places {
            let known = at[place.file].map(|at| &chosen[at].1);
            if known.is_some_and(|known| known.len() >= most || known.contains(&place.definition)) {
                continue;
            }
            let heading = if known.is_none() { heading(files[place.file].path).len() } else { 0 };
            let cost = heading + line(files, *place).len();
            if used + cost > room {
                // What is less used would fill the gap with what matters less.
                return sorted(chosen);
            }
            used += cost;
            match at[place.file] {
                Some(at) => chosen[at].1.push(place.definition),
                None => {
                    at[place.file] = Some(chosen.len());
                    chosen.push((place.file, vec![place.definition]));
                }
            }
        }
    }
    sorted(chosen)
}

fn sorted(mut chosen: Vec<(usize, Vec<usize>)>) -> Vec<(usize, Vec<usize>)> {
    for (_, definitions) in &mut chosen {
        definitions.sort_unstable();
    }
    chosen
}

fn heading(path: &str) -> String {
    format!("{path}\n")
}

fn line(files: &[Ranked<'_>], place: Place) -> String {
    let defined = &files[place.file].symbols.defines[place.definition];
    let owner = match defined.owner.as_str() {
        "" => String::new(),
        owner => format!("{owner} "),
    };
    format!("  {}: {owner}{}\n", defined.line, defined.signature)
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
