//! Finds the projects of a tree that have dependencies, from their manifests and lock files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::need::Need;
use super::paths::name_of;
use crate::languages::{self, Language, Manager};

/// True if a file of this name lists dependencies for some package manager.
pub fn is_manifest(path: &str) -> bool {
    languages::managers().any(|manager| manager.reads(name_of(Path::new(path))))
}

/// Maximum depth of the folders searched.
const DEPTH_MAX: usize = 2;
/// Maximum number of folders searched, those nearest to the top first: the search runs before every
/// command.
const FOLDERS_MAX: usize = 256;
/// Larger files are not manifests.
const FILE_MAX: u64 = 32 * 1024 * 1024;
/// Folders that contain other projects' manifests, besides those listed in `languages`.
const PASSED_OVER: [&str; 6] = ["target", "vendor", "dist", "build", "testdata", "fixtures"];

/// A manifest or lock file: its path relative to the root, modification time and size.
pub(super) type Seen = (PathBuf, Option<SystemTime>, u64);

/// Returns every manifest and lock file near the top of the tree.
pub(super) fn look(root: &Path) -> Vec<Seen> {
    let known = |name: &str| languages::managers().any(|manager| manager.reads(name));
    let foreign = |name: &str| {
        let of = |language: &&Language| language.foreign_folders.contains(&name);
        PASSED_OVER.contains(&name) || languages::ALL.iter().any(of)
    };
    let mut seen = Vec::new();
    let mut folders = vec![(PathBuf::new(), 0)];
    let mut at = 0;
    while let Some((folder, depth)) = folders.get(at).filter(|_| at < FOLDERS_MAX).cloned() {
        at += 1;
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                continue;
            };
            let path = folder.join(&name);
            if kind.is_dir() {
                let others = name.starts_with('.') || foreign(&name);
                folders.extend((!others && depth < DEPTH_MAX).then_some((path, depth + 1)));
            } else if kind.is_file()
                && known(&name)
                && let Ok(metadata) = entry.metadata()
                && metadata.len() <= FILE_MAX
            {
                seen.push((path, metadata.modified().ok(), metadata.len()));
            }
        }
    }
    seen.sort();
    seen
}

/// Returns the dependencies listed by these files.
pub(super) fn needs(root: &Path, seen: &[Seen]) -> Vec<Need> {
    let of_manager = |manager: &'static Manager| {
        let own = seen.iter().map(|(path, ..)| path).filter(|path| manager.reads(name_of(path)));
        let files: BTreeMap<PathBuf, String> = own
            .filter_map(|path| Some((path.clone(), std::fs::read_to_string(root.join(path)).ok()?)))
            .collect();
        let places = places(manager, &files);
        let need = |place: &PathBuf| {
            // A file belongs to the innermost project that contains it.
            let around = |path: &Path| places.iter().rfind(|place| path.starts_with(place));
            let own = files.iter().filter(|(path, _)| around(path) == Some(place));
            let files = own.map(|(path, text)| (path.clone(), text.clone())).collect();
            let need = Need { manager, place: place.clone(), files };
            (manager.asks)(place, &need.files).then_some(need)
        };
        places.iter().filter_map(need).collect::<Vec<Need>>()
    };
    languages::managers().flat_map(of_manager).collect()
}

/// Returns the folders in which the manager runs: those with lock files, and those that have a
/// manifest but no lock file and are not members of a project above. Sorted, so that inner folders
/// follow outer ones.
fn places(manager: &Manager, files: &BTreeMap<PathBuf, String>) -> Vec<PathBuf> {
    let has = |folder: &Path, names: &[&str]| {
        names.iter().any(|name| files.contains_key(&folder.join(name)))
    };
    let mut places: Vec<PathBuf> = Vec::new();
    for path in files.keys() {
        let folder = path.parent().unwrap_or(Path::new(""));
        let locked = has(folder, manager.locks) && !has(folder, manager.not_beside);
        let member = || folder.ancestors().skip(1).any(|above| has(above, manager.manifests));
        let alone = manager.without_lock
            && has(folder, manager.manifests)
            && !has(folder, manager.not_beside)
            && ((manager.is_apart)(folder, files) || !member());
        if (locked || alone) && !places.iter().any(|place| place == folder) {
            places.push(folder.to_owned());
        }
    }
    places.sort();
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::testing::Tree;

    fn found(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let tree = Tree::new();
        for (path, text) in files {
            tree.put(path, text);
        }
        let needs = needs(tree.root(), &look(tree.root()));
        let told = |need: &Need| (need.manager.name.to_owned(), need.place.display().to_string());
        needs.iter().map(told).collect()
    }

    fn one(files: &[(&str, &str)]) -> String {
        let found = found(files);
        assert!(found.len() <= 1, "{found:?}");
        found.into_iter().next().map(|(name, place)| format!("{name} {place}")).unwrap_or_default()
    }

    const SERDE: &str = "[package]\nname = \"x\"\n[dependencies]\nserde = \"1\"\n";
    const LEFT_PAD: &str = r#"{"dependencies":{"left-pad":"1"}}"#;

    #[test]
    fn each_manager_is_recognized_by_its_files() {
        assert_eq!(one(&[("Cargo.toml", SERDE)]), "cargo ");
        assert_eq!(one(&[("Cargo.toml", "[workspace]"), ("crates/a/Cargo.toml", SERDE)]), "cargo ");
        assert_eq!(one(&[("tool/Cargo.toml", SERDE), ("tool/Cargo.lock", "")]), "cargo tool");
        assert_eq!(one(&[("package.json", LEFT_PAD)]), "npm ");
        assert_eq!(
            one(&[("web/package.json", LEFT_PAD), ("web/package-lock.json", "{}")]),
            "npm web"
        );
        assert_eq!(one(&[("package.json", LEFT_PAD), ("pnpm-lock.yaml", "")]), "pnpm ");
        assert_eq!(one(&[("package.json", LEFT_PAD), ("yarn.lock", "")]), "yarn ");
        assert_eq!(one(&[("go.mod", "module m\nrequire example.org/x v1.0.0\n")]), "go ");
        assert_eq!(one(&[("requirements.txt", "# none\nflask\n")]), "pip ");
        assert_eq!(one(&[("uv.lock", ""), ("requirements.txt", "flask")]), "uv ");
        assert_eq!(one(&[("poetry.lock", ""), ("pyproject.toml", "")]), "poetry ");
        let two = [("Cargo.toml", SERDE), ("web/package.json", LEFT_PAD)];
        assert_eq!(found(&two).len(), 2);
    }

    #[test]
    fn projects_without_dependencies_are_ignored() {
        for files in [
            &[("Cargo.toml", "[package]\nname = \"x\"\n")][..],
            &[("Cargo.toml", "[dependencies]\nmine = { path = \"mine\" }")],
            &[("Cargo.toml", "[dependencies]\nhalf = ")],
            &[("package.json", "{}")],
            &[("package.json", "{\"dependencies\":")],
            &[("package.json", r#"{"dependencies":{}}"#), ("package-lock.json", "{}")],
            &[("go.mod", "module m\n\ngo 1.22\n")],
            &[("requirements.txt", "# none\n-e .\n")],
            &[("node_modules/x/package.json", LEFT_PAD), ("tests/fixtures/Cargo.toml", SERDE)],
            &[("a/b/c/Cargo.toml", SERDE), (".hidden/package.json", LEFT_PAD)],
            &[("pyproject.toml", "[project]\ndependencies = [\"flask\"]")],
        ] {
            assert_eq!(one(files), "", "{files:?}");
        }
    }

    #[test]
    fn the_hash_covers_the_exact_content() {
        let hash = |files: &[(&str, &str)]| {
            let tree = Tree::new();
            for (path, text) in files {
                tree.put(path, text);
            }
            needs(tree.root(), &look(tree.root()))[0].hash()
        };
        let both = hash(&[("Cargo.toml", SERDE), ("Cargo.lock", "a")]);
        assert_eq!(both.len(), 64);
        assert_eq!(both, hash(&[("Cargo.toml", SERDE), ("Cargo.lock", "a"), ("README.md", "")]));
        assert_ne!(both, hash(&[("Cargo.toml", SERDE), ("Cargo.lock", "b")]));
        assert_ne!(both, hash(&[("Cargo.toml", SERDE)]));
        let member = ("crates/a/Cargo.toml", "[package]");
        assert_ne!(both, hash(&[("Cargo.toml", SERDE), ("Cargo.lock", "a"), member]));
    }

    #[test]
    fn each_project_has_its_own_dependencies() {
        let files = [
            ("Cargo.toml", SERDE),
            ("crates/a/Cargo.toml", SERDE),
            ("fuzz/Cargo.toml", &format!("{SERDE}[workspace]\n")),
            ("tool/Cargo.toml", SERDE),
            ("tool/Cargo.lock", ""),
            ("web/package.json", LEFT_PAD),
            ("docs/package.json", LEFT_PAD),
            ("empty/package.json", "{}"),
        ];
        let tree = Tree::new();
        files.iter().for_each(|(path, text)| tree.put(path, text));
        let needs = needs(tree.root(), &look(tree.root()));
        let named: Vec<String> = needs.iter().map(Need::named).collect();
        assert_eq!(
            named,
            [
                "cargo: Cargo.toml, crates/a/Cargo.toml",
                "cargo: fuzz/Cargo.toml",
                "cargo: tool/Cargo.lock, tool/Cargo.toml",
                "npm: docs/package.json",
                "npm: web/package.json"
            ]
        );
        // A change of another project does not matter.
        let hash = needs[0].hash();
        tree.put("tool/Cargo.lock", "changed");
        let after = super::needs(tree.root(), &look(tree.root()));
        assert_eq!(after[0].hash(), hash);
        assert_ne!(after[2].hash(), needs[2].hash());
    }

    #[test]
    fn commands_run_in_the_projects_folder() {
        let tree = Tree::new();
        tree.put("package.json", LEFT_PAD);
        tree.put("package-lock.json", r#"{"packages":{"":{"dependencies":{"left-pad":"1"}}}}"#);
        tree.put("it's/package.json", LEFT_PAD);
        tree.put("it's/package-lock.json", "{}");
        tree.put("requirements.txt", "flask");
        tree.put("requirements-dev.txt", "pytest");
        let needs = needs(tree.root(), &look(tree.root()));
        let line = |n: usize, command| needs[n].line(command, Path::new("/r"), Path::new("/t"));
        assert_eq!(line(0, "npm ci"), "npm ci");
        assert_eq!(line(1, "npm ci"), r"(cd 'it'\''s' && npm ci)");
        assert_eq!(line(1, "x PLACE/f"), r"(cd 'it'\''s' && x '/r/it'\''s'/f)");
        assert_eq!(line(2, "pip -r TARGET.txt TARGET"), "pip -r /t.txt /t");

        let hand = |n: usize, here: &str| needs[n].by_hand(Path::new("/r"), Some(Path::new(here)));
        assert_eq!(hand(0, "/r"), "npm ci");
        assert_eq!(hand(0, "/r/src"), "(cd /r && npm ci)");
        // `npm ci` rejects a lock file that does not match the manifest.
        assert_eq!(hand(1, "/r"), r"(cd 'it'\''s' && npm install)");
        let pip = "python3 -m pip install -r requirements-dev.txt -r requirements.txt";
        assert_eq!(hand(2, "/r"), pip);
    }
}
