//! What a project needs from outside: found from its manifests and lock files, and fetched in one
//! step with the network, to which a person agreed (`fetch`).

pub(super) mod fetch;
mod managers;
mod python;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ring::digest::{Context, SHA256};

use managers::{MANAGERS, Manager};

/// Folders inside one another that are looked into.
const DEPTH_MAX: usize = 2;
/// Larger files name nothing we would look for.
const FILE_MAX: u64 = 32 * 1024 * 1024;
/// Files that a sentence names.
const NAMED: usize = 6;
/// Folders that hold others' manifests.
const PASSED_OVER: [&str; 9] = [
    "node_modules",
    "target",
    "vendor",
    "venv",
    "dist",
    "build",
    "testdata",
    "fixtures",
    "__pycache__",
];

/// A manifest or lock file: its path relative to the root, and how it looked from outside.
type Seen = (PathBuf, Option<SystemTime>, u64);

/// What one package manager has to fetch.
#[derive(Clone, Debug)]
pub(super) struct Need {
    manager: &'static Manager,
    /// Folders in which it is called, relative to the root; the root itself is empty.
    places: Vec<PathBuf>,
    /// Manifests and lock files that say what.
    files: BTreeMap<PathBuf, String>,
}

impl Need {
    /// SHA-256 of what the files say: a consent is for exactly this.
    fn hash(&self) -> String {
        let mut context = Context::new(&SHA256);
        let mut add = |bytes: &[u8]| {
            context.update(&(bytes.len() as u64).to_le_bytes());
            context.update(bytes);
        };
        add(self.manager.name.as_bytes());
        for (path, text) in &self.files {
            add(path.as_os_str().as_encoded_bytes());
            add(text.as_bytes());
        }
        context.finish().as_ref().iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// A command of the manager's as one line of `sh`, for the project at `root` and a directory
    /// `target` for what is fetched.
    fn line(&self, command: &str, root: &Path, target: &Path) -> String {
        let command = command.replace("TARGET", &quoted(target));
        if command.contains(&*quoted(target)) {
            return command;
        }
        let one = |place: &PathBuf| {
            let top = place.as_os_str().is_empty();
            let whole = if top { root.to_owned() } else { root.join(place) };
            let command = command.replace("PLACE", &quoted(&whole));
            match top {
                true => command,
                false => format!("(cd {} && {command})", quoted(place)),
            }
        };
        self.places.iter().map(one).collect::<Vec<_>>().join(" && ")
    }

    /// Whether everything is there that fetching leaves in the tree.
    fn left(&self, root: &Path) -> bool {
        self.places.iter().all(|place| root.join(place).join(self.manager.leaves).exists())
    }

    /// What is fetched, for people: `cargo: Cargo.lock, Cargo.toml`.
    fn named(&self) -> String {
        let files: Vec<_> = self.files.keys().map(|path| path.display().to_string()).collect();
        let more = files.len().saturating_sub(NAMED);
        let files = files[..files.len() - more].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}: {files}{more}", self.manager.name)
    }
}

/// Every manifest and lock file near the top of the tree.
fn look(root: &Path) -> Vec<Seen> {
    let known = |name: &str| MANAGERS.iter().any(|manager| manager.reads(name));
    let mut seen = Vec::new();
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                continue;
            };
            let path = folder.join(&name);
            if kind.is_dir() {
                let others = name.starts_with('.') || PASSED_OVER.contains(&name.as_str());
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

/// What the files that were seen ask for.
fn needs(root: &Path, seen: &[Seen]) -> Vec<Need> {
    let need = |manager: &'static Manager| {
        let own = seen.iter().map(|(path, ..)| path).filter(|path| manager.reads(name_of(path)));
        let files: BTreeMap<PathBuf, String> = own
            .filter_map(|path| Some((path.clone(), std::fs::read_to_string(root.join(path)).ok()?)))
            .collect();
        let places = places(manager, &files);
        let need = Need { manager, places, files };
        let wanted = need.places.iter().any(|place| (manager.asks)(place, &need.files));
        (wanted && !need.places.is_empty()).then_some(need)
    };
    MANAGERS.iter().filter_map(need).collect()
}

/// Where a manager is called: beside its lock files, and where a manifest has no lock and is no
/// member of something above it.
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
            && !member();
        if (locked || alone) && !places.iter().any(|place| place == folder) {
            places.push(folder.to_owned());
        }
    }
    places.sort();
    places
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// One word of `sh`; as it is, where it needs no quotes.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if path.chars().all(plain) {
        path.into_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tree;
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let tree = Tree::new();
        for (path, text) in files {
            tree.put(path, text);
        }
        let needs = needs(tree.root(), &look(tree.root()));
        let told = |need: &Need| {
            let places = need.places.iter().map(|place| place.display().to_string());
            (need.manager.name.to_owned(), places.collect::<Vec<_>>().join(" "))
        };
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
    fn each_manager_is_known_by_its_files() {
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
    fn what_asks_for_nothing_is_left_alone() {
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
    fn a_consent_is_for_exactly_these_bytes() {
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
    fn a_command_names_its_places() {
        let tree = Tree::new();
        tree.put("package.json", LEFT_PAD);
        tree.put("package-lock.json", "{}");
        tree.put("it's/package.json", LEFT_PAD);
        tree.put("it's/package-lock.json", "{}");
        let need = &needs(tree.root(), &look(tree.root()))[0];
        let line = |command| need.line(command, Path::new("/r"), Path::new("/t"));
        assert_eq!(line("npm ci"), r"npm ci && (cd 'it'\''s' && npm ci)");
        assert_eq!(line("x PLACE/f"), r"x /r/f && (cd 'it'\''s' && x '/r/it'\''s'/f)");
        assert_eq!(line("pip -r TARGET.txt TARGET"), "pip -r /t.txt /t");
    }
}
