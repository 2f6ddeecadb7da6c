//! The languages that a project is written in.

use super::own_code::is_own;
use crate::languages::shown_by;

/// The names of the languages of these files, the most frequent first; languages with less than a
/// fifth of the files are left out.
pub fn main_languages<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<&'static str> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    let language_of = |path: &'a str| shown_by(path).filter(|_| is_own(path));
    for language in paths.into_iter().filter_map(language_of) {
        match counts.iter_mut().find(|(name, _)| *name == language.name) {
            Some((_, count)) => *count += 1,
            None => counts.push((language.name, 1)),
        }
    }
    let all: usize = counts.iter().map(|(_, count)| count).sum();
    counts.retain(|(_, count)| count * 5 >= all);
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    counts.into_iter().map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_languages_of_a_project_are_those_of_most_of_its_files() {
        let mut paths = vec!["src/a.rs", "src/b.rs", "web/a.ts", "web/b.tsx", "web/c.js", "x.md"];
        assert_eq!(main_languages(paths.iter().copied()), ["node", "rust"]);
        paths.extend(["tools/x.py"]);
        paths.extend(["node_modules/a.java"; 9]);
        // Files in languages that git-cowork does not know.
        paths.extend(["a.kt", "b.sh", "c.php", "composer.json"]);
        assert_eq!(main_languages(paths), ["node", "rust"]);
        assert_eq!(main_languages(["README.md"]), Vec::<&str>::new());
        assert_eq!(main_languages(["README.md", "Cargo.toml"]), ["rust"]);
    }
}
