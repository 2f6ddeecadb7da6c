//! Git's lock files: which of them a dead child of git-cowork left, and how the others are
//! reported. A lock is removed only if a record in the state directory names the dead child, the
//! lock is not older than that child, and no running process is known to hold it.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};

use crate::error::Error;
use crate::git::output::TABLES_LOCKED;
use crate::git::{Git, processes};
use crate::moment;
use crate::shell_quote::quoted;

/// How long to wait for a lock of another process. Such a lock is never removed.
pub(crate) const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// Removes the locks in this working tree left by a dead child that started at `since`.
pub(crate) fn remove(git: &Git, since: SystemTime) -> Result<()> {
    let is_left_over = |lock: &PathBuf| {
        let time = lock.metadata().and_then(|meta| meta.modified());
        time.is_ok_and(|time| time >= since) && holder(lock, &git.top).is_none()
    };
    let own_refs = git.children.iter().flat_map(|children| children.own.iter().cloned());
    let own_refs: Vec<String> = own_refs.collect();
    for lock in all(git, &own_refs).into_iter().filter(is_left_over) {
        std::fs::remove_file(&lock).with_context(|| format!("removing {}", lock.display()))?;
    }
    Ok(())
}

/// Fails if another program has locked the index and does not release it.
///
/// # Errors
/// Exit 5, with the lock, its age and the command that removes it.
pub fn require_unlocked(git: &Git) -> Result<()> {
    let lock = git.git_dir.join("index.lock");
    let begin = std::time::Instant::now();
    while lock.exists() {
        if begin.elapsed() > LOCK_PATIENCE {
            let error = Error::repository(format!("{} exists", lock.display()));
            return Err(explain(git, error, &lock.display().to_string()).into());
        }
        std::thread::sleep(Duration::from_millis(20));
        moment::end();
    }
    Ok(())
}

/// Adds hints about the lock that git complains about.
pub(crate) fn explain(git: &Git, error: Error, complaint: &str) -> Error {
    let lock = named_lock(git, complaint).filter(|lock| lock.exists());
    let Some(lock) = lock else {
        return error.hint("another git process was running; run the command again");
    };
    if let Some(process) = holder(&lock, &git.top) {
        let owner = format!("{} (process {})", process.name, process.pid);
        return error.hint(format!(
            "{owner} holds the lock: wait until it ends, then run the command again"
        ));
    }
    error
        .hint(format!("the lock is {} old, and git-cowork did not create it", age(&lock)))
        .hint("if no git command is running in this repository, remove it:")
        .hint(format!("rm {}", quoted(&lock.display().to_string())))
}

/// The lock file that a message of git names by its full path, in whatever language, or that of the
/// tables of references.
fn named_lock(git: &Git, text: &str) -> Option<PathBuf> {
    let root = git.common_dir.display().to_string();
    let lock_path = text.lines().find_map(|line| {
        let path = &line[line.find(&root)?..];
        let end = path.find(".lock")? + ".lock".len();
        Some(PathBuf::from(&path[..end]))
    });
    let of_tables = || {
        let mut locks = [&git.git_dir, &git.common_dir]
            .map(|dir| dir.join("reftable/tables.list.lock"))
            .into_iter();
        locks.find(|lock| text.contains(TABLES_LOCKED) && lock.exists())
    };
    lock_path.or_else(of_tables)
}

/// Lock files in this working tree, of HEAD's branch, and of these references (a name, or a folder
/// of names), if no running process is known to hold them; each with its age in words.
pub fn stale(git: &Git, own: &[String]) -> Vec<(PathBuf, String)> {
    let stale = all(git, own).into_iter();
    let stale = stale.filter(|lock| holder(lock, &git.top).is_none());
    // A lock that was held only for a moment is gone by now.
    let stale = stale.filter(|lock| lock.exists());
    stale.map(|lock| (lock.clone(), age(&lock))).collect()
}

/// The lock files that a child of git-cowork may have created: in the git directory, of the
/// session's references, and of HEAD's branch.
fn all(git: &Git, own: &[String]) -> Vec<PathBuf> {
    let (here, shared) = (&git.git_dir, &git.common_dir);
    let is_lock = |path: &PathBuf| path.extension().is_some_and(|ext| ext == "lock");
    let folders = [here.clone(), shared.clone(), shared.join("reftable")];
    let mut locks: Vec<PathBuf> =
        folders.iter().flat_map(|folder| files_in(folder)).filter(is_lock).collect();
    let branch = std::fs::read_to_string(here.join("HEAD")).unwrap_or_default();
    let branch = branch.strip_prefix("ref: ").map(str::trim_end);
    for name in own.iter().map(String::as_str).chain(branch) {
        let path = shared.join(name);
        locks.push(with_lock(&path));
        locks.extend(files_in(&path).filter(is_lock));
    }
    locks.sort();
    locks.dedup();
    locks.retain(|lock| lock.is_file());
    locks
}

/// The path of a file's lock.
pub(crate) fn with_lock(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// The process that holds this lock in the working tree `top`, as far as it can be determined.
pub(crate) fn holder(lock: &Path, top: &Path) -> Option<processes::Process> {
    let is_index = lock.file_name().is_some_and(|name| name == "index.lock");
    let mut users = processes::that_opened(lock).into_iter();
    users.next().or_else(|| if is_index { processes::that_commits(top) } else { None })
}

/// The age of a lock, in words.
fn age(lock: &Path) -> String {
    let time = lock.metadata().and_then(|meta| meta.modified());
    let age = time.ok().and_then(|time| SystemTime::now().duration_since(time).ok());
    readable(age.unwrap_or_default().as_secs())
}

fn files_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn readable(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86400 => (seconds / 3600, "hour"),
        _ => (seconds / 86400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::hints_of;
    use crate::git::test_repo::Repo;

    #[test]
    fn only_locks_that_are_no_older_than_the_child_are_removed() {
        let repo = Repo::with_commit();
        let own = ["refs/heads/cowork/s".to_owned()];
        let git = repo.git().with_children_in(&repo.path(".git/child"), &own, &|_| ()).unwrap();
        let locks = ["index.lock", "HEAD.lock", "next-index-7.lock", "refs/heads/main.lock"];
        let locks = locks.map(|name| repo.path(".git").join(name));
        let foreign = repo.path(".git/refs/heads/other.lock");
        for lock in locks.iter().chain([&foreign]) {
            std::fs::write(lock, "").unwrap();
        }
        let made = locks[0].metadata().unwrap().modified().unwrap();
        remove(&git, made + Duration::from_secs(1)).unwrap();
        assert!(locks.iter().all(|lock| lock.exists()));
        remove(&git, made - Duration::from_secs(1)).unwrap();
        assert!(!locks.iter().any(|lock| lock.exists()));
        assert!(foreign.exists(), "a reference of somebody else");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_lock_that_somebody_has_open_is_left_and_its_holder_named() {
        let repo = Repo::with_commit();
        let git = repo.git().with_children_in(&repo.path(".git/child"), &[], &|_| ()).unwrap();
        let lock = repo.path(".git/index.lock");
        let file = std::fs::File::create(&lock).unwrap();
        let mut cat = std::process::Command::new("cat");
        let mut other = cat.stdin(std::process::Stdio::piped()).stdout(file).spawn().unwrap();
        remove(&git, SystemTime::UNIX_EPOCH).unwrap();
        assert!(lock.exists());
        let error = git.write(["add", "README.md"]).once().checked().unwrap_err();
        let named = format!("cat (process {}) holds the lock", other.id());
        assert!(hints_of(&error)[0].contains(&named), "{:?}", hints_of(&error));
        drop(other.stdin.take());
        other.wait().unwrap();
        remove(&git, SystemTime::UNIX_EPOCH).unwrap();
        assert!(!lock.exists());
    }

    #[test]
    fn a_stale_lock_is_reported_with_its_age_and_the_command_that_removes_it() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let lock = repo.path(".git/index.lock");
        let old = repo.path("old");
        let file = std::fs::File::create(&old).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3 * 3600 + 60)).unwrap();
        // The lock is not opened in this process: a child that another test starts would inherit it
        // and hold it for a moment.
        let copied = std::process::Command::new("cp").arg("-p").args([&old, &lock]).status();
        assert!(copied.unwrap().success());
        let error = git.write(["add", "README.md"]).once().checked().unwrap_err();
        let hints = hints_of(&error);
        let path = git.git_dir().join("index.lock").display().to_string();
        assert!(error.to_string().contains(&path), "{error}");
        assert!(hints[0].contains("3 hours old"), "{hints:?}");
        assert_eq!(hints.last().unwrap(), &format!("rm {path}"));
        assert_eq!(
            (readable(59), readable(61), readable(90_000)),
            ("59 seconds".to_owned(), "1 minute".to_owned(), "1 day".to_owned())
        );
    }
}
