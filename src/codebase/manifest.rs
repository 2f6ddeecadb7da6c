//! The manifests of a project: its name, its dependencies, its commands.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::own_code::{is_own, is_trial};
use super::{Source, is_odd, plain};
use crate::languages::{self, Language};

/// Maximum number of manifests shown.
const SHOWN: usize = 4;
/// Maximum bytes of the shown manifests together.
const ROOM: usize = 6_000;
/// Maximum bytes of a manifest at the top, and of one in a subdirectory.
const AT_THE_TOP: usize = 4_000;
const OF_A_PART: usize = 600;
/// Maximum number of candidates to remember: some are too large, or missing.
const LOOKED_AT: usize = 24;
/// Deeper manifests belong to parts of the project.
const DEPTH_MAX: usize = 2;
/// Larger manifests are data.
const SIZE_MAX: u64 = 64 * 1024;
/// Maximum targets of a makefile shown.
const TARGETS: usize = 40;

/// A manifest that any project may have; it comes after those of languages.
const MAKEFILE: &str = "Makefile";

/// Candidates for manifests and README among the files added so far: few, however many files there
/// are.
#[derive(Default)]
pub struct Manifests {
    /// By depth, rank and path; the value is the content's id.
    manifests: BTreeMap<(usize, usize, String), String>,
    /// Markdown first; the value is the content's id.
    readmes: BTreeMap<(bool, String), String>,
}

impl Manifests {
    /// Adds a file.
    pub fn add(&mut self, path: &str, content: &str) {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let depth = path.matches('/').count();
        if let Some(rank) = rank(name)
            && depth <= DEPTH_MAX
            && is_own(path)
            && !is_trial(path)
        {
            self.manifests.insert((depth, rank, path.to_owned()), content.to_owned());
            if self.manifests.len() > LOOKED_AT {
                self.manifests.pop_last();
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

    /// The manifests nearest to the top, each with its text and the maximum bytes to show: for a
    /// makefile its targets, for JSON the content without indentation. All at the top come before
    /// any in a subdirectory.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn texts(&self, source: &dyn Source) -> anyhow::Result<Vec<(String, String, usize)>> {
        let contents: Vec<&str> = self.manifests.values().map(String::as_str).collect();
        let keys: Vec<&(usize, usize, String)> = self.manifests.keys().collect();
        let (mut texts, mut count, mut room) = (Vec::new(), 0, ROOM);
        source.each_content(&contents, SIZE_MAX, &mut |at, bytes| {
            let Some(bytes) = bytes else { return Ok(ControlFlow::Continue(())) };
            count += 1;
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
                texts.push((plain(path), visible(&text), most));
            }
            Ok(if count < SHOWN && room > 0 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })?;
        Ok(texts)
    }

    /// The README at the top, with its name, not yet shortened; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn readme(&self, source: &dyn Source) -> anyhow::Result<Option<(String, String)>> {
        let contents: Vec<&str> = self.readmes.values().map(String::as_str).collect();
        let mut readme = None;
        source.each_content(&contents, SIZE_MAX, &mut |at, bytes| {
            let Some(bytes) = bytes else { return Ok(ControlFlow::Continue(())) };
            readme = Some((at, bytes));
            Ok(ControlFlow::Break(()))
        })?;
        let Some((at, bytes)) = readme else { return Ok(None) };
        let path = self.readmes.keys().nth(at).map_or("", |(_, path)| path.as_str());
        let text = String::from_utf8(bytes).ok();
        Ok(text.map(|text| (plain(path), visible(&text))))
    }
}

/// The rank of a manifest, lower is better; `None` for other files. Each language's first manifest
/// comes before any language's second.
fn rank(name: &str) -> Option<usize> {
    let position =
        |language: &Language| language.manifests.iter().position(|manifest| *manifest == name);
    let languages = languages::ALL.iter().enumerate();
    let mut ranks = languages
        .filter_map(|(at, language)| Some(position(language)? * languages::ALL.len() + at));
    ranks.next().or_else(|| (name == MAKEFILE).then_some(usize::MAX))
}

/// Text without characters that move the cursor or hide other text.
fn visible(text: &str) -> String {
    text.chars().filter(|c| "\n\t".contains(*c) || !is_odd(*c)).collect()
}

/// The targets of a makefile, in one line.
fn targets(text: &str) -> String {
    let target = |line: &str| {
        let (names, rest) = line.split_once(':')?;
        let is_target = !names.is_empty()
            && !rest.starts_with('=')
            && names.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c))
            && !names.starts_with(['.', ' ']);
        is_target.then(|| names.trim().to_owned())
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
    fn manifests_at_the_top_come_first_and_vendored_ones_are_left_out() {
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
