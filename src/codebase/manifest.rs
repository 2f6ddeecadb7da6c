//! The manifests of a project: what it is called, what it depends on, what can be run.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::worth::{is_own, is_trial};
use super::{Source, is_odd, plain};
use crate::languages::{self, Language};

/// Manifests shown at most.
const SHOWN: usize = 4;
/// Bytes of all together.
const ROOM: usize = 6_000;
/// Bytes of one at the top, and of one of a part.
const AT_THE_TOP: usize = 4_000;
const OF_A_PART: usize = 600;
/// Files that may be one and are remembered: some are too large, or not here.
const LOOKED_AT: usize = 24;
/// Manifests deeper than this belong to parts.
const DEPTH_MAX: usize = 2;
/// A manifest larger than this is data.
const SIZE_MAX: u64 = 64 * 1024;
/// Targets of a makefile shown at most.
const TARGETS: usize = 40;

/// What any project may have, after the manifests of languages.
const MAKEFILE: &str = "Makefile";

/// What of the files told so far may be a manifest or the README: little, however many there are.
#[derive(Default)]
pub struct Manifests {
    /// By depth, kind and path; with the content.
    found: BTreeMap<(usize, usize, String), String>,
    /// Markdown before others; with the content.
    readmes: BTreeMap<(bool, String), String>,
}

impl Manifests {
    /// One file more.
    pub fn add(&mut self, path: &str, content: &str) {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let depth = path.matches('/').count();
        if let Some(rank) = rank(name)
            && depth <= DEPTH_MAX
            && is_own(path)
            && !is_trial(path)
        {
            self.found.insert((depth, rank, path.to_owned()), content.to_owned());
            if self.found.len() > LOOKED_AT {
                self.found.pop_last();
            }
        }
        let lower = name.to_lowercase();
        let stem = lower.split_once('.').map_or(lower.as_str(), |(stem, _)| stem);
        if above.is_empty() && stem == "readme" {
            let key = (!lower.ends_with(".md"), path.to_owned());
            self.readmes.insert(key, content.to_owned());
            if self.readmes.len() > LOOKED_AT {
                self.readmes.pop_last();
            }
        }
    }

    /// The manifests nearest to the top, each with its text and how many bytes of it may be shown: of a
    /// makefile its targets, of JSON what is not indentation. Those at the top come whole before any
    /// of a part.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn texts(&self, source: &dyn Source) -> anyhow::Result<Vec<(String, String, usize)>> {
        let contents: Vec<&str> = self.found.values().map(String::as_str).collect();
        let keys: Vec<&(usize, usize, String)> = self.found.keys().collect();
        let (mut shown, mut taken, mut room) = (Vec::new(), 0, ROOM);
        source.each_content(&contents, SIZE_MAX, &mut |at, bytes| {
            let Some(bytes) = bytes else { return Ok(ControlFlow::Continue(())) };
            taken += 1;
            let (depth, _, path) = keys[at];
            let name = path.rsplit('/').next().unwrap_or(path);
            let text = String::from_utf8(bytes).unwrap_or_default();
            let text = match name {
                MAKEFILE => targets(&text),
                _ if name.ends_with(".json") => dense(&text),
                _ => text,
            };
            if !text.trim().is_empty() {
                let most = if *depth == 0 { AT_THE_TOP } else { OF_A_PART }.min(room);
                room -= text.len().min(most);
                shown.push((plain(path), visible(&text), most));
            }
            Ok(if taken < SHOWN && room > 0 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })?;
        Ok(shown)
    }

    /// The README at the top, with its name, not yet cut; `None` where there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn readme(&self, source: &dyn Source) -> anyhow::Result<Option<(String, String)>> {
        let contents: Vec<&str> = self.readmes.values().map(String::as_str).collect();
        let mut found = None;
        source.each_content(&contents, SIZE_MAX, &mut |at, bytes| {
            let Some(bytes) = bytes else { return Ok(ControlFlow::Continue(())) };
            found = Some((at, bytes));
            Ok(ControlFlow::Break(()))
        })?;
        let Some((at, bytes)) = found else { return Ok(None) };
        let path = self.readmes.keys().nth(at).map_or("", |(_, path)| path.as_str());
        let text = String::from_utf8(bytes).ok();
        Ok(text.map(|text| (plain(path), visible(&text))))
    }
}

/// Which of several manifests says more, the least first; none for another file. A language's first
/// manifest comes before any other's second.
fn rank(name: &str) -> Option<usize> {
    let of = |language: &Language| language.manifests.iter().position(|known| *known == name);
    let found = languages::ALL.iter().enumerate();
    let mut found =
        found.filter_map(|(at, language)| Some(of(language)? * languages::ALL.len() + at));
    found.next().or_else(|| (name == MAKEFILE).then_some(usize::MAX))
}

/// Text without what moves a cursor or hides other text.
fn visible(text: &str) -> String {
    text.chars().filter(|c| "\n\t".contains(*c) || !is_odd(*c)).collect()
}

/// The targets of a makefile, in one line.
fn targets(text: &str) -> String {
    let target = |line: &str| {
        let (names, rest) = line.split_once(':')?;
        let named = !names.is_empty()
            && !rest.starts_with('=')
            && names.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c))
            && !names.starts_with(['.', ' ']);
        named.then(|| names.trim().to_owned())
    };
    let mut targets: Vec<String> = text.lines().filter_map(target).collect();
    targets.dedup();
    targets.truncate(TARGETS);
    if targets.is_empty() { String::new() } else { format!("targets: {}", targets.join(", ")) }
}

/// JSON without its indentation.
fn dense(text: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(text).ok();
    value.map_or_else(|| text.to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::testing::Files;
    use super::*;

    fn told(files: &Files<'_>) -> Manifests {
        let mut manifests = Manifests::default();
        let mut add = |path: &str, content: &str| {
            manifests.add(path, content);
            ControlFlow::Continue(())
        };
        files.each_file(&mut add).unwrap();
        manifests
    }

    #[test]
    fn those_at_the_top_come_first_and_vendored_ones_never() {
        let big = " ".repeat(70_000);
        let files = [
            ("CMakeLists.txt", big.as_str()),
            ("Makefile", "CC := gcc\n.PHONY: test\nall: a b\n\tcc\ntest:\n\tx\n$(OUT): y\n"),
            ("node_modules/x/package.json", "{}"),
            ("web/package.json", "{\n  \"name\": \"web\"\n}\n"),
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("a/b/c/go.mod", "module deep\n"),
            ("Cargo.toml", "[workspace]\n\u{1b}[2J"),
            ("requirements.txt", ""),
        ];
        let files = Files::new(&files);
        let found = told(&files).texts(&files).unwrap();
        let found: Vec<_> =
            found.iter().map(|(p, t, most)| (p.as_str(), t.as_str(), *most)).collect();
        assert_eq!(
            found,
            [
                ("Cargo.toml", "[workspace]\n[2J", AT_THE_TOP),
                ("Makefile", "targets: all, test", AT_THE_TOP),
                ("web/package.json", "{\"name\":\"web\"}", OF_A_PART),
            ]
        );
    }

    #[test]
    fn a_readme_is_at_the_top_whatever_its_ending() {
        let of = |list: &[(&str, &str)]| {
            let files = Files::new(list);
            told(&files).readme(&files).unwrap()
        };
        let all =
            [("a/README.md", "no"), ("readme.rst", "text"), ("Readme.md", "# \u{1b}[2JHello")];
        assert_eq!(of(&all), Some(("Readme.md".to_owned(), "# [2JHello".to_owned())));
        assert_eq!(of(&all[..2]), Some(("readme.rst".to_owned(), "text".to_owned())));
        assert_eq!(of(&all[..1]), None);
    }
}
