//! Finds folders outside the tree that the project's manifests name: `path = "../lib"`, or an
//! enclosing workspace. If such a folder is in a home directory that is hidden from commands, they
//! read it only with a person's consent.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ignore::WalkBuilder;
use regex::Regex;

use crate::languages;

/// Depth to which folders are searched for manifests.
const DEPTH_MAX: usize = 3;
/// A larger file is data, not a manifest.
const SIZE_MAX: u64 = 256 * 1024;

/// A path outside the tree: in quotes, as in most manifests; or bare, as in `go.mod` and
/// `requirements.txt`.
static OUTSIDE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let quoted = r#"["'](?:file:|link:|portal:)?(?<quoted>\.\./[^"'\n]+)["']"#;
    let bare = r#"(?:^|[\s=])(?<bare>\.\./[^\s"',;)]+)"#;
    Regex::new(&format!("(?m){quoted}|{bare}")).ok()
});

/// Marks of a workspace in a folder above the tree: a file, a string in that file, and the manifest
/// of a member.
const WORKSPACES: [(&str, &str, &str); 4] = [
    ("Cargo.toml", "[workspace", "Cargo.toml"),
    ("go.work", "", "go.mod"),
    ("pnpm-workspace.yaml", "", "package.json"),
    ("package.json", "\"workspaces\"", "package.json"),
];

/// A path outside the tree, and the manifest that names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Beside {
    /// With links resolved.
    pub path: PathBuf,
    /// The manifest: below the tree, or the workspace's own file above it.
    pub by: PathBuf,
}

/// Returns the existing paths that manifests name, sorted.
pub(super) fn named(root: &Path) -> Vec<Beside> {
    let walk = WalkBuilder::new(root).max_depth(Some(DEPTH_MAX)).follow_links(false).build();
    let mut all: Vec<Beside> = around(root).into_iter().collect();
    for entry in walk.flatten() {
        let name = entry.file_name().to_string_lossy();
        if languages::managers().any(|manager| {
            manager.manifests.contains(&name.as_ref()) || (manager.is_manifest)(&name)
        }) {
            all.extend(named_in(root, entry.path()));
        }
    }
    all.sort();
    all.dedup_by(|next, first| next.path.starts_with(&first.path));
    all
}

fn named_in(root: &Path, manifest: &Path) -> Vec<Beside> {
    let Some((form, text)) = OUTSIDE.as_ref().zip(text_of(manifest)) else { return Vec::new() };
    let (folder, by) = (manifest.parent().unwrap_or(root), manifest.strip_prefix(root));
    let by = by.unwrap_or(manifest).to_owned();
    let told = form.captures_iter(&text).filter_map(|found| {
        let path = found.name("quoted").or_else(|| found.name("bare"))?.as_str();
        // Take only the folder of a pattern such as `../packages/*`.
        let path: PathBuf = path.split('/').take_while(|name| !name.contains('*')).collect();
        let path = folder.join(path).canonicalize().ok()?;
        let is_outside = !path.starts_with(root) && !root.starts_with(&path);
        is_outside.then(|| Beside { path, by: by.clone() })
    });
    told.collect()
}

/// The workspace in a folder above the tree, if the tree is a member and not itself a workspace.
fn around(root: &Path) -> Option<Beside> {
    WORKSPACES.iter().find_map(|(file, words, member)| {
        let is_one =
            |folder: &Path| text_of(&folder.join(file)).is_some_and(|text| text.contains(words));
        if is_one(root) || !root.join(member).is_file() {
            return None;
        }
        let folder = root.ancestors().skip(1).find(|folder| is_one(folder))?;
        Some(Beside { path: folder.to_owned(), by: folder.join(file) })
    })
}

fn text_of(file: &Path) -> Option<String> {
    let is_small = file.metadata().is_ok_and(|found| found.is_file() && found.len() <= SIZE_MAX);
    is_small.then(|| std::fs::read_to_string(file).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_outside_paths_named_by_manifests_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let put = |path: &str, text: &str| {
            let path = top.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        for folder in ["lib", "js", "my lib", "gone/not", "go", "py", "packages/a"] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        std::fs::remove_dir_all(top.join("gone")).unwrap();
        put(
            "tree/Cargo.toml",
            "[dependencies]\na = { path = \"../lib\" }\nb = { path = \"../gone\" }\n",
        );
        put(
            "tree/web/package.json",
            r#"{"dependencies": {"x": "file:../../js", "y": "../../my lib"}}"#,
        );
        put("tree/go.mod", "module m\nreplace example.org/x => ../go\n");
        put("tree/requirements.txt", "-e ../py\n-e ./own\n");
        put("tree/pyproject.toml", "[tool.uv.workspace]\nmembers = [\"../packages/*\"]\n");
        put("tree/README.md", "see \"../secrets\"\n");
        put("tree/own/Cargo.toml", "[dependencies]\nc = { path = \"../inside\" }\n");
        std::fs::create_dir_all(top.join("secrets")).unwrap();
        std::fs::create_dir_all(top.join("tree/inside")).unwrap();
        let found = named(&top.join("tree"));
        let found: Vec<_> = found
            .iter()
            .map(|one| {
                let path = one.path.strip_prefix(&top).unwrap();
                (path.display().to_string(), one.by.display().to_string())
            })
            .collect();
        let expected = [
            ("go", "go.mod"),
            ("js", "web/package.json"),
            ("lib", "Cargo.toml"),
            ("my lib", "web/package.json"),
            ("packages", "pyproject.toml"),
            ("py", "requirements.txt"),
        ];
        assert_eq!(found, expected.map(|(path, by)| (path.to_owned(), by.to_owned())));
        put("Cargo.toml", "[workspace]\nmembers = [\"tree\"]\n");
        let around = named(&top.join("tree"));
        assert_eq!(around, [Beside { path: top.clone(), by: top.join("Cargo.toml") }]);
    }
}
