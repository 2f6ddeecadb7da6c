//! Finds the files and definitions that the current work names, and the text of these definitions.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;

use super::own_code::FILE_MAX;
use super::parse::{Definition, Symbols};
use super::{Source, is_odd};

/// Maximum bytes of a definition; a longer one is cut.
const LONGEST: usize = 2_500;
/// A name with more definitions is too common to show.
const DEFINERS_MAX: usize = 3;
/// Shorter names are ambiguous.
const SHORTEST: usize = 4;

/// The files that a text names, by their paths or path suffixes.
pub struct FileNames<'a>(Vec<&'a str>);

impl<'a> FileNames<'a> {
    /// The file names in a text: its words with a dot inside.
    pub fn in_text(about: &'a str) -> Self {
        let inner = |c: char| c.is_alphanumeric() || "_./-".contains(c);
        let words = about.split(|c: char| !inner(c));
        let words = words.map(|word| word.trim_matches(|c: char| "./-".contains(c)));
        Self(words.filter(|word| word.contains('.')).collect())
    }

    /// True if a file is among them.
    pub fn has(&self, path: &str) -> bool {
        self.0.iter().any(|name| {
            path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        })
    }
}

/// A definition that the work names.
struct NamedDefinition {
    path: String,
    content: String,
    first: usize,
    last: usize,
    name: String,
}

/// The definitions that the current work names.
pub(super) struct NamedDefinitions {
    names: BTreeSet<String>,
    budget: usize,
    places: Vec<NamedDefinition>,
}

impl NamedDefinitions {
    pub(super) fn new(about: &str, budget: usize) -> Self {
        let names = if budget == 0 { BTreeSet::new() } else { names_in(about) };
        Self { names, budget, places: Vec::new() }
    }

    /// Adds the named definitions of a file.
    pub(super) fn look_into(&mut self, path: &str, content: &str, symbols: Symbols) {
        let is_named = |definition: &Definition| self.names.contains(&definition.name);
        let definitions: Vec<Definition> = symbols.defines.into_iter().filter(is_named).collect();
        self.places.extend(definitions.into_iter().map(|definition| NamedDefinition {
            path: path.to_owned(),
            content: content.to_owned(),
            first: definition.line,
            last: definition.end,
            name: definition.name,
        }));
    }

    /// Their texts, as many as fit into the budget.
    pub(super) fn text(self, source: &dyn Source) -> anyhow::Result<String> {
        let Self { budget, places, .. } = self;
        let common = |place: &&NamedDefinition| {
            places.iter().filter(|other| other.name == place.name).count() > DEFINERS_MAX
        };
        let shortlist: Vec<&NamedDefinition> =
            places.iter().filter(|place| !common(place)).collect();
        let contents: Vec<&str> = shortlist.iter().map(|place| place.content.as_str()).collect();
        let mut out = String::new();
        source.each_content(&contents, FILE_MAX, &mut |at, bytes| {
            let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
            let part = part_of(shortlist[at], &text);
            if !part.is_empty() && out.len() + part.len() <= budget {
                out.push_str(&part);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(out.trim_end().to_owned())
    }
}

/// `PATH, lines A-B` and these lines.
fn part_of(place: &NamedDefinition, text: &str) -> String {
    let NamedDefinition { path, first, last, .. } = place;
    let mut lines = String::new();
    let mut end = first.saturating_sub(1);
    for line in text.lines().take(*last).skip(first.saturating_sub(1)) {
        if lines.len() + line.len() > LONGEST || line.chars().any(|c| is_odd(c) && c != '\t') {
            break;
        }
        lines.push_str(line);
        lines.push('\n');
        end += 1;
    }
    let mut out = String::new();
    if !lines.is_empty() {
        let more = if end < *last { format!(" of {first}-{last}") } else { String::new() };
        let _ = write!(out, "{path}, lines {first}-{end}{more}\n{lines}\n");
    }
    out
}

/// The words of a text that can only be names: with `_`, with a capital letter, or followed by `(`.
fn names_in(about: &str) -> BTreeSet<String> {
    let inner = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = BTreeSet::new();
    let mut rest = about;
    while let Some(begin) = rest.find(inner) {
        let word = &rest[begin..];
        let end = word.find(|c| !inner(c)).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        rest = after;
        let is_name =
            word.contains('_') || word.contains(char::is_uppercase) || after.starts_with('(');
        if is_name && word.len() >= SHORTEST {
            names.insert(word.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_its_path_or_the_end_of_it() {
        let about = "Fix src/a/forth.py, as README.md and (store.rs) say.";
        for path in ["src/a/forth.py", "README.md", "x/store.rs", "docs/README.md"] {
            assert!(FileNames::in_text(about).has(path), "{path}");
        }
        for path in ["a.py", "src/b/forth.py", "restore.rs", "store.py", "say"] {
            assert!(!FileNames::in_text(about).has(path), "{path}");
        }
    }

    #[test]
    fn plain_words_are_not_names() {
        let names = names_in("Make Store::open_it() list todos; call drain() and add.");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["Make", "Store", "drain", "open_it"]);
    }
}
