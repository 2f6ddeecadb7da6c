//! The directories of the project's checks. A command of a model could leave a module that Python
//! loads first (`usercustomize.py`) or settings of a build tool in its home: a check in the same
//! home would report what they say instead of what the code does.

use std::path::PathBuf;

use cap_fs_ext::DirExt as _;

use super::super::settings::{self, Home};
use super::super::sweep;
use super::{Place, existing, real_home};
use crate::sha256::sha256;

/// What cargo keeps in its home and only adds to: the rest there can hold settings and programs.
const OF_CARGO: [&str; 4] = ["registry", "git", "registry.own", "git.own"];
/// Unpacked there, and not compared with the archives again.
const UNPACKED: [(&str, &str); 2] = [("registry", "src"), ("git", "checkouts")];

/// The folder that holds the tree for checks. It lasts, because build tools keep in it what they have
/// built.
pub(in super::super) fn check_tree(place: &Place) -> PathBuf {
    let of = sha256(place.root.as_os_str().as_encoded_bytes());
    place.checked.with_file_name("trees").join(&of[..16])
}

impl Place {
    /// A directory of the present check: `home` or `tmp`.
    pub(super) fn check_folder(&self, name: &str) -> PathBuf {
        self.temp.path().join("check").join(name)
    }

    /// Makes the directories of the next check, with these settings of git. Call when no command
    /// runs.
    pub(in super::super) fn renew_for_check(
        &self,
        git: &[(String, String)],
    ) -> std::io::Result<()> {
        sweep::remove(&self.temp.path().join("check"));
        let home = self.check_folder("home");
        for dir in [&home, &self.check_folder("tmp")] {
            std::fs::create_dir_all(dir)?;
        }
        Home::open(&home)?.write(real_home(&self.theirs).as_deref(), git);
        let cargo = Home::open(&self.home)?.own(".cargo")?;
        for entry in cargo.entries()? {
            let name = entry?.file_name();
            if !OF_CARGO.iter().any(|kept| name == *kept) {
                settings::put(&cargo, &name.to_string_lossy(), None);
            }
        }
        self.link_crates()?;
        for (folder, unpacked) in UNPACKED {
            if let Ok(folder) = cargo.open_dir_nofollow(folder) {
                settings::put(&folder, unpacked, None);
            }
        }
        let npm = Home::open(&self.checked)?.own(".npm")?;
        settings::relink(self.npm_packages(), &npm, "_cacache")
    }

    /// The packages in the cache of npm, of which npm takes only those whose hashes are in the lock
    /// file. `None` if it is not a directory: a command could replace it by a link.
    fn npm_packages(&self) -> Option<PathBuf> {
        let packages = self.npm_cache()?.join("_cacache");
        packages.symlink_metadata().is_ok_and(|found| found.is_dir()).then_some(packages)
    }

    /// The writable paths besides the tree.
    pub(in super::super) fn writable_for_check(&self, extras: &[PathBuf]) -> Vec<PathBuf> {
        let cargo = self.home.join(".cargo");
        let packages = self.npm_packages().unwrap_or_else(|| cargo.clone());
        let [home, tmp] = ["home", "tmp"].map(|name| self.check_folder(name));
        existing([home, tmp, self.checked.clone(), cargo, packages], extras)
    }
}
