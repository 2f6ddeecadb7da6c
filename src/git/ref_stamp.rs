//! Detects changes of references from the metadata of their files and folders
//! (<https://git-scm.com/docs/gitrepository-layout>). Git and libgit2 write a reference to a lock file
//! and rename it, which changes the folder's time, and they replace `packed-refs` as a whole. A program
//! that overwrites the file of a reference in place is not detected.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};

use super::Git;
use super::ref_files::{entries, joined, present};
use crate::git::ref_tables;

/// Maximum number of remotes.
const REMOTES: usize = 64;

/// Two changes within this time may have the same timestamp: the kernel's clock for files advances
/// in steps of up to 10 ms.
const TICK: Duration = Duration::from_millis(20);

/// The same for file systems that store whole seconds, or steps of two seconds.
const COARSE: Duration = Duration::from_secs(3);

/// The metadata of the files and folders of some references at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefStamp {
    /// Path, identity and times of each file and folder.
    text: String,
    /// The same for the parents of missing folders and of the folders of remotes.
    above: String,
    /// The time after which any further change would have another timestamp.
    settled: SystemTime,
}

impl RefStamp {
    /// Reads the metadata of the references directly in the folders of these patterns; `*` stands for
    /// one folder: `refs/heads/x/`, `refs/remotes/*/x/`. `None` if they do not show each change. If
    /// references are in tables, any of them changes it.
    pub fn of(git: &Git, patterns: &[&str]) -> Option<Self> {
        if let Ok(text) = ref_tables::shared_tables(git) {
            // Each change adds a table with a new name.
            let text = format!("reftable\n{text}");
            let (above, settled) = (String::new(), SystemTime::UNIX_EPOCH);
            return Some(Self { text, above, settled });
        }
        let read = git.format.has_ref_files.then(|| Self::read(git.common_dir(), patterns));
        read.and_then(Result::ok).filter(|_| cfg!(unix))
    }

    fn read(common_dir: &Path, patterns: &[&str]) -> Result<Self> {
        let mut stamp =
            Self { text: String::new(), above: String::new(), settled: SystemTime::UNIX_EPOCH };
        for pattern in patterns {
            let Some((folder, _)) = pattern.rsplit_once('/') else { continue };
            let Some((above, below)) = folder.split_once("/*/") else {
                stamp.add(common_dir, folder)?;
                continue;
            };
            stamp.add_above(common_dir, above)?;
            let mut within = entries(&common_dir.join(above))?;
            ensure!(within.len() <= REMOTES, "too many folders in {above}");
            within.sort();
            for (name, ..) in within {
                stamp.add(common_dir, &joined(&joined(above, &name), below))?;
            }
        }
        stamp.add(common_dir, "packed-refs")?;
        Ok(stamp)
    }

    /// Adds a file or folder.
    fn add(&mut self, common_dir: &Path, path: &str) -> Result<()> {
        self.text.push_str(path);
        match told(common_dir, path)? {
            Some((told, settled)) => {
                self.text.push_str(&told);
                self.settled = self.settled.max(settled);
            }
            None => {
                self.text.push_str(" -");
                // The missing path may be created and removed again while the references are read:
                // only the time of a folder above it shows that.
                self.add_above(common_dir, path)?;
            }
        }
        self.text.push('\n');
        Ok(())
    }

    /// Adds a folder, or its first parent that exists.
    fn add_above(&mut self, common_dir: &Path, path: &str) -> Result<()> {
        let mut above = Some(path);
        while let Some(path) = above {
            if let Some((told, _)) = told(common_dir, path)? {
                self.above.push_str(&told);
                break;
            }
            above = path.rsplit_once('/').map(|(parent, _)| parent);
        }
        Ok(())
    }

    /// The metadata as text, which can be saved: equal texts mean unchanged references.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if any change after `at` would have another timestamp. `at` must come from the clock of the
    /// file system.
    pub fn had_settled(&self, at: SystemTime) -> bool {
        self.settled < at
    }
}

/// Identity and times of a file or folder, and the time after which another change has another
/// timestamp; `None` if it does not exist.
#[cfg(unix)]
fn told(common_dir: &Path, path: &str) -> Result<Option<(String, SystemTime)>> {
    use std::os::unix::fs::MetadataExt as _;
    let Some(meta) = present(common_dir.join(path).symlink_metadata())? else { return Ok(None) };
    let is_list = path == "packed-refs";
    ensure!(if is_list { meta.is_file() } else { meta.is_dir() }, "{path} has an unexpected type");
    let mut text = format!(" {} {}", meta.dev(), meta.ino());
    if is_list {
        text += &format!(" {}", meta.len());
    }
    let mut settled = SystemTime::UNIX_EPOCH;
    for (seconds, nanoseconds) in
        [(meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec())]
    {
        text += &format!(" {seconds}.{nanoseconds:09}");
        let since = Duration::new(u64::try_from(seconds)?, u32::try_from(nanoseconds)?);
        let margin = if nanoseconds == 0 { COARSE } else { TICK };
        let after = SystemTime::UNIX_EPOCH.checked_add(since + margin);
        settled = settled.max(after.context("a time is out of range")?);
    }
    Ok(Some((text, settled)))
}

#[cfg(not(unix))]
fn told(_: &Path, _: &str) -> Result<Option<(String, SystemTime)>> {
    anyhow::bail!("this system has no inode numbers")
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;
    use super::*;
    use crate::git::{RefName, RefTransaction};

    const PATTERNS: [&str; 2] = ["refs/heads/a/b/", "refs/remotes/*/a/b/*"];

    fn stamp(repo: &Repo) -> RefStamp {
        RefStamp::of(&repo.git(), &PATTERNS).unwrap()
    }

    /// The stamp, taken again until the file system's clock has advanced.
    fn settled(repo: &Repo) -> RefStamp {
        loop {
            let found = stamp(repo);
            repo.file("clock", "");
            if found.had_settled(repo.path("clock").metadata().unwrap().modified().unwrap()) {
                return found;
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn each_change_of_a_reference_shows() {
        let repo = Repo::with_commit();
        let first = repo.head();
        let second = repo.commit_all("second");
        let git = |args: &[&str]| drop(repo.run(args));
        let branch = RefName::new("refs/heads/a/b/s").unwrap();
        let changes: [(&str, &dyn Fn()); 12] = [
            ("created by git", &|| git(&["update-ref", "refs/heads/a/b/s", first.as_str()])),
            ("moved by git", &|| git(&["update-ref", "refs/heads/a/b/s", second.as_str()])),
            ("moved by libgit2", &|| {
                let moves = RefTransaction::new("x").update(&branch, &first, &second);
                moves.commit(&repo.git()).unwrap();
            }),
            ("a second one", &|| git(&["update-ref", "refs/heads/a/b/t", first.as_str()])),
            ("packed", &|| git(&["pack-refs", "--all"])),
            ("moved when packed", &|| {
                git(&["update-ref", "refs/heads/a/b/s", second.as_str()]);
            }),
            ("packed again", &|| git(&["pack-refs", "--all"])),
            ("a packed one deleted", &|| git(&["update-ref", "-d", "refs/heads/a/b/t"])),
            ("one of a remote", &|| {
                git(&["update-ref", "refs/remotes/o/a/b/s", first.as_str()]);
            }),
            ("moved on a remote", &|| {
                git(&["update-ref", "refs/remotes/o/a/b/s", second.as_str()]);
            }),
            ("another remote", &|| git(&["update-ref", "refs/remotes/p/main", first.as_str()])),
            ("deleted", &|| git(&["update-ref", "-d", "refs/heads/a/b/s"])),
        ];
        let mut before = settled(&repo);
        for (change, make) in changes {
            make();
            let after = settled(&repo);
            assert_ne!(after.text(), before.text(), "{change}");
            assert_eq!(stamp(&repo), after, "nothing changed since");
            before = after;
        }
        repo.run(&["update-ref", "refs/heads/main", first.as_str()]);
        repo.run(&["tag", "t"]);
        assert_eq!(stamp(&repo).text(), before.text(), "another branch, and a tag");
    }

    #[test]
    fn what_has_just_changed_has_not_settled() {
        let repo = Repo::with_commit();
        repo.run(&["branch", "a/b/s"]);
        if let Some(found) = RefStamp::of(&repo.git(), &PATTERNS) {
            let folder = repo.path(".git/refs/heads/a/b").metadata().unwrap().modified().unwrap();
            assert!(!found.had_settled(folder));
            assert!(found.had_settled(folder + COARSE + COARSE));
        }
    }

    #[test]
    fn where_files_do_not_tell_there_is_none() {
        let repo = Repo::with_commit();
        repo.run(&["branch", "a/b"]);
        assert_eq!(RefStamp::of(&repo.git(), &PATTERNS), None, "a branch in place of the folder");
    }
}
