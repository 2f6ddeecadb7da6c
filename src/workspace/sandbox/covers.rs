//! Directories where programs keep their sockets and what nobody else should see: a command has
//! them for itself. Some of what lies below comes back (`installed`).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Each with the name of a command's own directory for it, on the disk; else it is in memory.
const ALL: [(&str, Option<&str>); 4] =
    [("/tmp", Some("tmp")), ("/var/tmp", Some("var-tmp")), ("/run", None), ("/var/run", None)];

/// A directory that commands find empty, or find a directory of their own in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cover {
    pub(super) at: PathBuf,
    pub(super) with: Option<PathBuf>,
    /// It is only read.
    #[serde(default)]
    pub(super) read_only: bool,
}

/// What is covered where `needed` is worked in; a command's own directories are made in `own`.
pub(super) fn make(needed: &[PathBuf], own: &Path) -> std::io::Result<Vec<Cover>> {
    let mut covers: Vec<Cover> = Vec::new();
    for (at, with) in ALL {
        let Some(at) = Path::new(at).canonicalize().ok().filter(|at| at.is_dir()) else { continue };
        // Who works on all of such a directory sees all of it.
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

/// A directory as such directories are. Only its owner gets into the one it is made in.
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
    fn what_is_worked_in_is_not_covered() {
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
