//! The manifests of a project: what it is called, what it depends on, what can be run.

use super::worth::is_own;
use super::{File, Read, is_odd, plain};

/// Manifests shown at most.
const SHOWN: usize = 4;
/// Manifests deeper than this belong to parts.
const DEPTH_MAX: usize = 2;
/// A manifest larger than this is data.
const SIZE_MAX: u64 = 64 * 1024;
/// Targets of a makefile shown at most.
const TARGETS: usize = 40;

/// Names of manifests; the first ones say the most.
const NAMES: [&str; 15] = [
    "Cargo.toml",
    "pyproject.toml",
    "package.json",
    "go.mod",
    "pom.xml",
    "build.gradle.kts",
    "build.gradle",
    "CMakeLists.txt",
    "meson.build",
    "Gemfile",
    "composer.json",
    "setup.cfg",
    "setup.py",
    "requirements.txt",
    "Makefile",
];

/// The manifests nearest to the top, each with its text, not yet cut: of a makefile its targets, of
/// JSON what is not indentation.
///
/// # Errors
/// They cannot be read.
pub fn manifests(files: &[File], read: Read<'_>) -> anyhow::Result<Vec<(String, String)>> {
    let mut found: Vec<(usize, usize, &File)> = files
        .iter()
        .filter(|file| file.size <= SIZE_MAX && is_own(&file.path))
        .filter_map(|file| {
            let name = file.path.rsplit('/').next()?;
            let rank = NAMES.iter().position(|known| *known == name)?;
            Some((file.path.matches('/').count(), rank, file))
        })
        .filter(|(depth, _, _)| *depth <= DEPTH_MAX)
        .collect();
    found.sort_by_key(|(depth, rank, file)| (*depth, *rank, &file.path));
    found.truncate(SHOWN);
    let blobs: Vec<&str> = found.iter().map(|(_, _, file)| file.blob.as_str()).collect();
    let texts = read(&blobs)?.into_iter();
    let shown = found.into_iter().zip(texts).filter_map(|((_, rank, file), bytes)| {
        let text = String::from_utf8(bytes?).ok()?;
        let text = match NAMES[rank] {
            "Makefile" => targets(&text),
            name if name.ends_with(".json") => dense(&text),
            _ => text,
        };
        Some((plain(&file.path), visible(&text)))
    });
    Ok(shown.filter(|(_, text)| !text.trim().is_empty()).collect())
}

/// The README at the top, with its name, not yet cut; `None` where there is none.
///
/// # Errors
/// It cannot be read.
pub fn readme(files: &[File], read: Read<'_>) -> anyhow::Result<Option<(String, String)>> {
    let is_readme = |file: &&File| {
        let name = file.path.to_lowercase();
        let (stem, _) = name.split_once('.').unwrap_or((&name, ""));
        stem == "readme" && file.size <= SIZE_MAX
    };
    // Markdown before others.
    let order = |file: &&File| (!file.path.to_lowercase().ends_with(".md"), file.path.clone());
    let Some(file) = files.iter().filter(is_readme).min_by_key(order) else { return Ok(None) };
    let text = read(&[&file.blob])?.pop().flatten();
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(text.map(|text| (plain(&file.path), visible(&text))))
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
    use super::super::testing::{files, read};
    use super::*;

    #[test]
    fn those_at_the_top_come_first_and_vendored_ones_never() {
        let files = files(&[
            ("Makefile", "CC := gcc\n.PHONY: test\nall: a b\n\tcc\ntest:\n\tx\n$(OUT): y\n"),
            ("node_modules/x/package.json", "{}"),
            ("web/package.json", "{\n  \"name\": \"web\"\n}\n"),
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("a/b/c/go.mod", "module deep\n"),
            ("Cargo.toml", "[workspace]\n\u{1b}[2J"),
            ("requirements.txt", ""),
        ]);
        let found = manifests(&files, &read).unwrap();
        let found: Vec<_> = found.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
        assert_eq!(
            found,
            [
                ("Cargo.toml", "[workspace]\n[2J"),
                ("Makefile", "targets: all, test"),
                ("web/package.json", "{\"name\":\"web\"}"),
            ]
        );
    }

    #[test]
    fn a_readme_is_at_the_top_whatever_its_ending() {
        let of = |list: &[(&str, &str)]| readme(&files(list), &read).unwrap();
        let all =
            [("a/README.md", "no"), ("readme.rst", "text"), ("Readme.md", "# \u{1b}[2JHello")];
        assert_eq!(of(&all), Some(("Readme.md".to_owned(), "# [2JHello".to_owned())));
        assert_eq!(of(&all[..2]), Some(("readme.rst".to_owned(), "text".to_owned())));
        assert_eq!(of(&all[..1]), None);
    }
}
