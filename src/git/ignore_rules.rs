//! Tells for most new files that git does not ignore them. Rules are not evaluated exactly: a rule
//! may match a path if it would match at any depth, ignoring case, with each set (`[a-z]`) replaced
//! by `?`. So "none matches" is certain, and git is asked about the rest.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::Git;
use super::configuration::users_files;
use super::output::lossy;

/// The ignore rules that apply to a working tree (gitignore(5)).
pub(super) struct IgnoreRules<'a> {
    git: &'a Git,
    for_all: Vec<Rule>,
    of_folders: HashMap<PathBuf, Vec<Rule>>,
}

impl<'a> IgnoreRules<'a> {
    /// The rules for all paths; `None` if they cannot be read.
    pub(super) fn of(git: &'a Git) -> Option<Self> {
        let mut files = users_files(git, "core.excludesfile", "ignore")?;
        files.push(git.common_dir.join("info/exclude"));
        let mut for_all = Vec::new();
        for file in &files {
            for_all.extend(rules_in(file)?);
        }
        Some(Self { git, for_all, of_folders: HashMap::new() })
    }

    /// True if certainly no rule matches a path; `None` if the rules cannot be read.
    pub(super) fn match_none_of(&mut self, path: &str) -> Option<bool> {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        for folder in std::iter::once("").chain(above) {
            let file = self.git.top.join(folder).join(".gitignore");
            if !self.of_folders.contains_key(&file) {
                let rules = rules_in(&file)?;
                self.of_folders.insert(file.clone(), rules);
            }
            if self.of_folders.get(&file)?.iter().any(|rule| rule.may_match(path)) {
                return Some(false);
            }
        }
        Some(!self.for_all.iter().any(|rule| rule.may_match(path)))
    }
}

/// The rules in a file, none if it does not exist; `None` if it cannot be read.
fn rules_in(file: &Path) -> Option<Vec<Rule>> {
    match std::fs::read(file) {
        // For git, a rule ends at a NUL.
        Ok(bytes) if bytes.contains(&0) => None,
        Ok(bytes) => {
            let text = lossy(&bytes);
            let lines = text.trim_start_matches('\u{feff}').split('\n');
            let is_rule = |line: &&str| !line.trim_matches([' ', '\r']).is_empty();
            let rules = lines.filter(is_rule).filter(|line| !line.starts_with('#'));
            Some(rules.map(Rule::of).collect())
        }
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            Some(Vec::new())
        }
        Err(_) => None,
    }
}

/// A part of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// This byte, in lower case.
    Byte(u8),
    /// Any byte.
    One,
    /// Any number of bytes.
    Many,
}

/// A pattern that matches everything that a rule matches, and maybe more.
#[derive(Debug)]
struct Rule {
    parts: Vec<Part>,
    /// True if it is compared with the whole path, false if with each name in the path.
    is_for_paths: bool,
}

impl Rule {
    fn of(line: &str) -> Self {
        let rule = line.trim_end().trim_start_matches(['!', '/']).trim_end_matches('/');
        let is_for_paths = rule.contains('/');
        let mut parts = if is_for_paths { vec![Part::Many] } else { Vec::new() };
        let rule = rule.to_ascii_lowercase();
        let mut rest = rule.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            let set = (byte == b'[').then(|| end_of_set(rest));
            parts.push(match (byte, set) {
                // Zero folders may stand for a slash: `a/**/b` matches `a/b`.
                (b'*' | b'/', _) => Part::Many,
                (b'?', _) => Part::One,
                (_, Some(Some(end))) => {
                    rest = &rest[end..];
                    Part::One
                }
                // What follows a broken set, an escape, or a letter that a file system may spell
                // in two ways, is not read.
                (b'\\' | 0x80.., _) | (_, Some(None)) => {
                    parts.push(Part::Many);
                    break;
                }
                _ => Part::Byte(byte),
            });
        }
        if is_for_paths {
            parts.push(Part::Many);
        }
        Self { parts, is_for_paths }
    }

    /// False if the rule certainly does not match a path or a folder above it.
    fn may_match(&self, path: &str) -> bool {
        let path = path.to_ascii_lowercase();
        match self.is_for_paths {
            true => matches(&self.parts, path.as_bytes()),
            false => path.split('/').any(|name| matches(&self.parts, name.as_bytes())),
        }
    }
}

/// The number of bytes up to the end of a set, given what follows its `[`; `None` if it contains
/// more than plain characters.
fn end_of_set(rest: &[u8]) -> Option<usize> {
    let negated = rest.first().is_some_and(|first| matches!(first, b'!' | b'^'));
    let begin = usize::from(negated);
    // A bracket at the beginning is a member.
    let end = rest.get(begin + 1..)?.iter().position(|byte| *byte == b']')? + begin + 2;
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'[' | b'\\' | b'/');
    rest[..end - 1].iter().all(is_plain).then_some(end)
}

fn matches(parts: &[Part], text: &[u8]) -> bool {
    let (mut part, mut at) = (0, 0);
    // Where to go on if what follows the last `Many` does not match.
    let mut again: Option<(usize, usize)> = None;
    while at < text.len() {
        match parts.get(part) {
            Some(Part::Many) => {
                part += 1;
                again = Some((part, at));
            }
            Some(Part::One) => (part, at) = (part + 1, at + 1),
            Some(Part::Byte(byte)) if *byte == text[at] => (part, at) = (part + 1, at + 1),
            _ => match &mut again {
                Some((after, from)) => {
                    *from += 1;
                    (part, at) = (*after, *from);
                }
                None => return false,
            },
        }
    }
    parts[part..].iter().all(|part| *part == Part::Many)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rules_that_may_match() {
        let may = ["*", "*.log", "deep", "/lib/", "L?B", "lib/**/x.log", "[a-z]*", "x\\.", "!x*"];
        for rule in
            may.into_iter().chain(["*.l[!x]g", "[Dd]eep/", "b/deep", "x.log ", "ä*y", "[]x].*"])
        {
            assert!(Rule::of(rule).may_match("lib/deep/x.log"), "{rule}");
        }
        for rule in ["*.logs", "target/", "/src", "x/lib", "y[a-z]", "deep.log", "x", "[ab]", "log"]
        {
            assert!(!Rule::of(rule).may_match("lib/deep/x.log"), "{rule}");
        }
        assert!(!Rule::of("*.py[cod]").may_match("src/a.py"));
        assert!(Rule::of("*.py[cod]").may_match("src/a.pyc"));
    }

    /// Compares with git, which is asked about one rule and one path at a time.
    #[test]
    fn a_rule_that_cannot_match_is_no_match_for_git() {
        use super::super::test_repo::Repo;
        use crate::git::status;
        let mut random = fastrand::Rng::with_seed(21);
        let text = |random: &mut fastrand::Rng, letters: &[&str], most: usize| -> String {
            (0..random.usize(1..=most)).map(|_| letters[random.usize(0..letters.len())]).collect()
        };
        let in_rules = [
            "a", "b", "B", "x", "/", "*", "**", "?", "[ab]", "[!a]", "[", "]", "\\", "{", " ", "!",
        ];
        let in_paths = ["a", "b", "A", "x", "/", "]", "{", " ", "!", "."];
        let (repo, mut ruled_out) = (Repo::with_commit(), 0);
        for _ in 0..150 {
            let rule = text(&mut random, &in_rules, 5);
            repo.file(".gitignore", &format!("{rule}\n"));
            let paths: BTreeSet<String> = (0..20)
                .map(|_| text(&mut random, &in_paths, 6))
                .filter(|path| super::super::snapshot::relative(path).is_ok())
                .filter(|path| !path.split('/').any(|name| name.chars().all(|c| c == '.')))
                .collect();
            let paths: Vec<String> = paths.into_iter().collect();
            let git = repo.git();
            let ignored = status::matched_by_ignore_rules(&git, &paths).unwrap();
            let rules = rules_in(&repo.path(".gitignore")).unwrap();
            for path in &paths {
                if rules.iter().any(|rule| rule.may_match(path)) {
                    continue;
                }
                ruled_out += 1;
                assert!(!ignored.contains(path), "{rule:?} matches {path:?}");
            }
        }
        assert!(ruled_out > 500, "only {ruled_out}");
    }
}
