//! Whether references are what they were, told by the files and folders that keep them
//! (<https://git-scm.com/docs/gitrepository-layout>): git, libgit2 and others write a reference beside
//! its place and rename it there, so that the folder has another time afterwards, and replace the list
//! of packed references whole. A program that writes into a reference's file in place is not noticed.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};

use super::Git;
use super::ref_files::{entries, joined, present};

/// Remotes that are looked at.
const REMOTES: usize = 64;

/// Two changes within this time may leave the same time behind: a kernel's clock for files stands still
/// for up to 10 ms.
const TICK: Duration = Duration::from_millis(20);

/// The same where times are kept in whole seconds, or in two.
const COARSE: Duration = Duration::from_secs(3);

/// What the files and folders of some references were at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefStamp {
    /// What tells them from others.
    text: String,
    /// The folders above those that are not there, and above those of remotes.
    above: String,
    /// When the newest of them was certainly not changed any more.
    settled: SystemTime,
}

impl RefStamp {
    /// That of the references which are directly in the folders of these patterns, where `*` stands for
    /// any one folder: `refs/heads/x/`, `refs/remotes/*/x/`. `None` where files do not tell.
    pub fn of(git: &Git, patterns: &[&str]) -> Option<Self> {
        // Where libgit2 reads, references are in files as we know them.
        let read = git.in_process(|_| Self::read(git.common_dir(), patterns));
        read.filter(|_| cfg!(unix))
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
            ensure!(within.len() <= REMOTES, "very many folders in {above}");
            within.sort();
            for (name, ..) in within {
                stamp.add(common_dir, &joined(&joined(above, &name), below))?;
            }
        }
        stamp.add(common_dir, "packed-refs")?;
        Ok(stamp)
    }

    /// One more file or folder.
    fn add(&mut self, common_dir: &Path, path: &str) -> Result<()> {
        self.text.push_str(path);
        match told(common_dir, path)? {
            Some((told, settled)) => {
                self.text.push_str(&told);
                self.settled = self.settled.max(settled);
            }
            None => {
                self.text.push_str(" -");
                // It may come and go while references are read.
                self.add_above(common_dir, path)?;
            }
        }
        self.text.push('\n');
        Ok(())
    }

    /// A folder, or the first above it that is there.
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

    /// What tells these references from what they were and will be. It says where they are kept, and may
    /// be kept itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether all was so old at this time that any later change shows. The time has to be one that the
    /// file system gave.
    pub fn had_settled(&self, at: SystemTime) -> bool {
        self.settled < at
    }
}

/// What identifies a file or a folder, and the time from which on another change of it shows; `None`
/// where it is not there.
#[cfg(unix)]
fn told(common_dir: &Path, path: &str) -> Result<Option<(String, SystemTime)>> {
    use std::os::unix::fs::MetadataExt as _;
    let Some(meta) = present(common_dir.join(path).symlink_metadata())? else { return Ok(None) };
    let is_list = path == "packed-refs";
    ensure!(if is_list { meta.is_file() } else { meta.is_dir() }, "{path} is something else");
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
        settled = settled.max(after.context("a time out of all bounds")?);
    }
    Ok(Some((text, settled)))
}

#[cfg(not(unix))]
fn told(_: &Path, _: &str) -> Result<Option<(String, SystemTime)>> {
    anyhow::bail!("files are not told apart here")
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

    /// After the file system's clock went on.
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
        for options in ["--ref-format=reftable", "--object-format=sha256"] {
            let repo = Repo::with_commit_in(&[options]);
            assert_eq!(RefStamp::of(&repo.git(), &PATTERNS), None, "{options}");
        }
        let repo = Repo::with_commit();
        repo.run(&["branch", "a/b"]);
        assert_eq!(RefStamp::of(&repo.git(), &PATTERNS), None, "a branch in place of the folder");
    }
}
