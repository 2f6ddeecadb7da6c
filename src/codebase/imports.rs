//! The imports of a file as path suffixes: `git/files` for `use crate::git::files`, for `from
//! git.files import x` and for `#include "git/files.h"`.
//!
//! They are guessed from lines, which is good enough to decide what to read first; the symbols show
//! what is really used.

use std::collections::BTreeSet;

use crate::languages::{self, Imports};

/// Maximum lines of a file that are read.
const LINES: usize = 400;
/// Maximum suffixes from one file.
const ENDS: usize = 200;
/// Longer lines are not imports that a person wrote.
const LINE_MAX: usize = 300;

/// True if the imports of some language have this property.
fn any(has: impl Fn(&Imports) -> bool) -> bool {
    languages::ALL.iter().any(|language| has(&language.imports))
}

/// The path suffixes that a text imports, in lower case and without extension.
pub(super) fn ends(text: &str) -> BTreeSet<String> {
    let mut ends = BTreeSet::new();
    for line in text.lines().take(LINES).filter(|line| line.len() <= LINE_MAX) {
        let line = line.trim_start();
        if !any(|imports| imports.begins.iter().any(|sign| line.starts_with(sign)))
            && !line.contains("require(")
        {
            continue;
        }
        // `a::b` and `a.b` count as `a/b`, and `./a` as `a`; text in braces or after a space is
        // another name.
        let inner = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
        for name in line.split(|c: char| !inner(c)) {
            let parts: Vec<String> = name
                .split(['/', ':', '.'])
                .map(str::to_lowercase)
                .filter(|part| {
                    !part.is_empty() && !any(|imports| imports.words.contains(&part.as_str()))
                })
                .collect();
            // The last part may be an extension, or a name inside the file.
            for count in [parts.len(), parts.len().saturating_sub(1)] {
                let whole = parts[..count].join("/");
                // The first parts of a module's name need not be folders of its path.
                let shorter = tails(&whole).skip(1).filter(|tail| tail.contains('/'));
                for end in std::iter::once(whole.as_str()).chain(shorter) {
                    if !end.is_empty() && ends.len() < ENDS {
                        ends.insert(end.to_owned());
                    }
                }
            }
        }
    }
    ends
}

/// True if one of these path suffixes names the file `path`. A file that stands for its folder,
/// such as `mod.rs`, is also named by a suffix of the folder's path.
pub(super) fn names(ends: &BTreeSet<String>, path: &str) -> bool {
    if ends.is_empty() {
        return false;
    }
    let path = path.to_lowercase();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let whole = path.strip_suffix(extension).unwrap_or(&path).trim_end_matches('.');
    // A Go package is a folder; packages of the standard library have only one word.
    let language = languages::of_file(&path);
    let by_folder = language.is_some_and(|language| language.imports.package_is_folder);
    let package = |end: &str| by_folder && end.contains('/');
    let for_folder = any(|imports| imports.folder_files.contains(&stem));
    tails(whole).any(|end| ends.contains(end))
        || tails(folder).any(|end| (for_folder || package(end)) && ends.contains(end))
}

/// A path, and its suffixes after each of its folders.
pub(super) fn tails(path: &str) -> impl Iterator<Item = &str> {
    let below = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    std::iter::once(path).chain(below).filter(|tail| !tail.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_by_path_suffix() {
        for (line, path) in [
            ("#include <linux/clk.h>", "include/linux/clk.h"),
            ("#include \"clk-core.h\"", "drivers/clk/clk-core.h"),
            ("use crate::git::files::TreeFile;", "src/git/files.rs"),
            ("mod store;", "src/store/mod.rs"),
            ("from app.views import list_all", "web/app/views.py"),
            ("import { render } from './view';", "web/view.ts"),
            ("const x = require('../lib/x');", "lib/x.js"),
            ("import com.example.Store;", "src/main/java/com/example/Store.java"),
            ("import \"example.org/store/disk\"", "store/disk/write.go"),
        ] {
            let ends = ends(line);
            assert!(names(&ends, path), "{line}: {ends:?}");
            assert!(!names(&ends, "docs/other.rs"), "{line}: {ends:?}");
        }
        assert!(ends("int include(void) { return 1; }\n").is_empty());
    }
}
