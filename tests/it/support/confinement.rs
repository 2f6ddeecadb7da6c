//! The confinement of commands that this machine's kernel offers to the tests.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::json;

/// How well commands can be confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    None,
    Landlock,
    Bubblewrap,
    Namespaces,
}

impl Level {
    /// True if a command has its own mounts.
    pub fn has_mounts(self) -> bool {
        self >= Self::Bubblewrap
    }

    /// The value of `COWORK_TEST_SANDBOX` for this level.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Bubblewrap => "bubblewrap",
            Self::Namespaces => "namespaces",
        }
    }
}

/// The best level here, as the program reports it, but at most `COWORK_TEST_SANDBOX`, with which
/// the suite can be tried as on another machine.
pub fn confinement() -> Level {
    static FOUND: OnceLock<Level> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let most = std::env::var("COWORK_TEST_SANDBOX").unwrap_or_default();
        let mut levels = vec![Level::Namespaces, Level::Bubblewrap, Level::Landlock];
        if let Some(most) = levels.iter().copied().chain([Level::None]).find(|l| l.word() == most) {
            levels.retain(|level| *level <= most);
        }
        levels.into_iter().find(|level| works(*level)).unwrap_or(Level::None)
    })
}

/// True if this level is available here: bubblewrap may be missing although a better level works.
pub fn offers(level: Level) -> bool {
    static BUBBLEWRAP: OnceLock<bool> = OnceLock::new();
    level <= confinement()
        && (level != Level::Bubblewrap || *BUBBLEWRAP.get_or_init(|| works(Level::Bubblewrap)))
}

fn works(level: Level) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let spec = json!({
        "level": level.word(), "root": dir.path(), "sealed": [], "writable": [], "hidden": [],
        "network": false
    });
    let tried = Command::new(env!("CARGO_BIN_EXE_git-cowork"))
        .args(["__sandbox", &spec.to_string(), "true"])
        .stderr(Stdio::null())
        .status();
    tried.unwrap().success()
}
