//! The kinds of work, and what is wanted of each.

use std::path::PathBuf;
use std::process::Command;

use git_cowork::stage::Depth;
use serde_json::Value;

use crate::support::Sandbox;

/// At most; what is left open is not wanted of this kind.
pub struct Most {
    pub requests: Option<usize>,
    pub bytes: Option<usize>,
    pub idle: Option<usize>,
    /// Percent of the request bytes that requests may have which neither read, write nor run.
    pub idle_bytes: Option<usize>,
    /// Percent of the last build's request bytes.
    pub of_last: Option<usize>,
    /// Percent of the bare loop's.
    pub billed: Option<usize>,
    pub begun: Option<usize>,
    pub begun_bytes: Option<usize>,
}

impl Most {
    const OPEN: Self = Self {
        requests: None,
        bytes: None,
        idle: None,
        idle_bytes: None,
        of_last: None,
        billed: None,
        begun: None,
        begun_bytes: None,
    };
}

/// A kind of work; its texts are in the folder of its name, or else in those of another kind.
pub struct Kind {
    pub name: &'static str,
    /// The kind whose texts it shares.
    shares: Option<&'static str>,
    /// The kind whose delivered session it changes.
    pub changes: Option<&'static str>,
    pub what: &'static str,
    pub depth: &'static str,
    /// The depth that the model finds fit, in the first request.
    pub fit: &'static str,
    /// More of the configuration: what a program needs that knows no lower limits of a depth.
    pub config: &'static str,
    /// A crate of our own dependencies that is the repository, instead of the folder `base`.
    library: Option<&'static str>,
    /// Files of the repository that one has to know to plan and to write.
    pub needs: &'static [&'static str],
    pub most: Most,
    /// The depth whose cost, as users are told it, is this session's.
    pub tells: Option<Depth>,
}

/// A file whose tests are there already.
const EXERCISE: Kind = Kind {
    name: "exercise",
    shares: None,
    changes: None,
    what: "a file of 120 lines whose tests are there",
    depth: "quick",
    fit: "quick",
    config: "self_review = []\n[limits]\nrequirements = [1, 6]\nfeatures = [1, 4]\n\
                    components = [1, 4]\ntasks = [1, 12]\n",
    library: None,
    needs: &["forth.py", "forth_test.py"],
    most: Most {
        requests: Some(5),
        bytes: Some(80_000),
        idle: Some(2),
        billed: Some(160),
        ..Most::OPEN
    },
    tells: Some(Depth::Quick),
};

pub const KINDS: [Kind; 6] = [
    EXERCISE,
    Kind {
        name: "exercise-auto",
        shares: Some("exercise"),
        what: "the same, told at length, at the depth that auto chooses",
        depth: "auto",
        most: Most { of_last: Some(25), billed: None, ..EXERCISE.most },
        tells: None,
        ..EXERCISE
    },
    Kind {
        name: "change",
        shares: Some("tool"),
        changes: Some("tool"),
        what: "a change to the new tool",
        depth: "standard",
        fit: "standard",
        config: "",
        library: None,
        needs: &[],
        most: Most {
            requests: Some(8),
            bytes: Some(220_000),
            idle_bytes: Some(15),
            of_last: Some(60),
            ..Most::OPEN
        },
        tells: None,
    },
    Kind {
        name: "tool",
        shares: None,
        changes: None,
        what: "a new tool with 8 criteria",
        depth: "standard",
        fit: "standard",
        config: "",
        library: None,
        needs: &[],
        most: Most {
            requests: Some(12),
            bytes: Some(350_000),
            idle_bytes: Some(15),
            of_last: Some(75),
            begun: Some(3),
            begun_bytes: Some(40_000),
            ..Most::OPEN
        },
        tells: Some(Depth::Standard),
    },
    Kind {
        name: "tool-thorough",
        shares: Some("tool"),
        changes: None,
        what: "the new tool, each document by itself",
        depth: "thorough",
        fit: "standard",
        config: "",
        library: None,
        needs: &[],
        most: Most::OPEN,
        tells: Some(Depth::Thorough),
    },
    Kind {
        name: "feature",
        shares: None,
        changes: None,
        what: "a feature in a library of 4,900 lines",
        depth: "standard",
        fit: "standard",
        config: "[sandbox]\nfetch = \"never\"\n",
        // MIT. Nothing of it is copied: cargo has it, since this program uses it.
        library: Some("dialoguer"),
        needs: &[],
        most: Most { requests: Some(14), bytes: Some(900_000), idle: Some(6), ..Most::OPEN },
        tells: None,
    },
];

impl Kind {
    pub fn path(&self, file: &str) -> PathBuf {
        let all = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/economy");
        let own = all.join(self.name).join(file);
        match self.shares.filter(|_| !own.exists()) {
            Some(other) => all.join(other).join(file),
            None => own,
        }
    }

    /// The name of the session, and of its folder below `.cowork/sessions`.
    pub fn session(&self) -> &'static str {
        self.changes.unwrap_or(self.name)
    }

    pub fn text(&self, file: &str) -> String {
        let path = self.path(file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The repository before the session.
    pub fn lay_out(&self, sandbox: &Sandbox) {
        let from = self.library.map_or_else(|| self.path("base"), source_of);
        let copied = Command::new("cp").arg("-R").arg(from.join(".")).arg(sandbox.repo()).status();
        assert!(copied.unwrap().success());
        let original = sandbox.path("Cargo.toml.orig");
        if original.exists() {
            std::fs::rename(original, sandbox.path("Cargo.toml")).unwrap();
            std::fs::remove_file(sandbox.path("Cargo.lock")).ok();
            for left in [".cargo-ok", ".cargo_vcs_info.json"] {
                std::fs::remove_file(sandbox.path(left)).ok();
            }
        }
        sandbox.git(&["init", "-q"]);
        sandbox.commit_all("first");
    }

    /// The tasks, in their order.
    pub fn tasks(&self) -> Vec<String> {
        let folders = std::fs::read_dir(self.path("code")).unwrap();
        let mut tasks: Vec<String> =
            folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        tasks.sort();
        tasks
    }

    /// The files of a task, with their texts, `PATH.edits` for changes.
    pub fn files_of(&self, task: &str) -> Vec<(String, String)> {
        let root = self.path("code").join(task);
        let (mut files, mut folders) = (Vec::new(), vec![root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                files.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
        files.sort();
        files
    }
}

/// Where cargo keeps the source of a dependency.
fn source_of(name: &str) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        // What other systems need is not on this machine.
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(["--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == name).unwrap();
    PathBuf::from(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

/// The system this runs on, as cargo names it.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}
