//! Directories with programs' sockets and temporary files: each command sees its own private
//! version. Some paths below them are mounted back (see `toolchains`).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::path_text;

/// The covered directories, each with the name of the on-disk directory that replaces it; `None` if
/// the replacement is in memory.
const ALL: [(&str, Option<&str>); 4] =
    [("/tmp", Some("tmp")), ("/var/tmp", Some("var-tmp")), ("/run", None), ("/var/run", None)];

/// A directory that looks empty to commands, or is replaced by a directory of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cover {
    #[serde(with = "path_text::json")]
    pub(super) at: PathBuf,
    #[serde(with = "path_text::json_option")]
    pub(super) with: Option<PathBuf>,
    /// True if the replacement is read-only.
    #[serde(default)]
    pub(super) read_only: bool,
}

/// Returns the covers for commands that work in the directories `needed`; the commands' own
/// directories are created in `own`.
pub(super) fn make(needed: &[PathBuf], own: &Path) -> std::io::Result<Vec<Cover>> {
    let mut covers: Vec<Cover> = Vec::new();
    for (at, with) in ALL {
        let Some(at) = Path::new(at).canonicalize().ok().filter(|at| at.is_dir()) else { continue };
        // If the whole directory is needed, it stays visible.
        let is_needed = needed.iter().any(|needed| at.starts_with(needed));
        if is_needed || covers.iter().any(|cover| cover.at == at) {
            continue;
        }
        let with = with.map(|name| own.join(name));
        if let Some(dir) = &with {
            make_shared(dir)?;
        }
        covers.push(Cover { at, with, read_only: false });
    }
    Ok(covers)
}

/// Creates a directory with the mode of `/tmp`. Its parent is accessible only to the owner.
fn make_shared(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o1777))?;
    }
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn needed_directories_are_not_covered() {
        let dir = tempfile::tempdir().unwrap();
        let covers = |needed: &str| -> Vec<PathBuf> {
            make(&[needed.into()], dir.path()).unwrap().into_iter().map(|cover| cover.at).collect()
        };
        let tmp = Path::new("/tmp").canonicalize().unwrap();
        assert!(covers("/tmp/tree").contains(&tmp));
        assert!(!covers(tmp.to_str().unwrap()).contains(&tmp));
        assert!(covers("/").is_empty());
    }
}
