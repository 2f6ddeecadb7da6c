//! Other processes that use a file, according to /proc (proc(5)). Without /proc, none is known.

use std::path::{Path, PathBuf};

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// The name of its program, or of the script that it runs.
    pub(crate) name: String,
}

impl Process {
    /// True for git, its helpers, and a script in place of git, but not for a daemon of git.
    pub(crate) fn is_git(&self) -> bool {
        let is_daemon = || self.args().iter().any(|arg| arg.ends_with(b"daemon"));
        (self.name == "git" || self.name.starts_with("git-remote")) && !is_daemon()
    }

    fn args(&self) -> Vec<Vec<u8>> {
        let line = std::fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        line.split(|&b| b == 0).map(<[u8]>::to_vec).collect()
    }
}

/// The other processes that have this file open.
pub(crate) fn that_opened(file: &Path) -> Vec<Process> {
    let Ok(file) = file.canonicalize() else { return Vec::new() };
    others().into_iter().filter(|process| opened(process).contains(&file)).collect()
}

/// The `git commit` that is running below this directory. It is the only command that keeps an
/// index locked without having the lock file open: it does so while the user writes the message.
pub(crate) fn that_commits(top: &Path) -> Option<Process> {
    let top = top.canonicalize().ok()?;
    others().into_iter().find(|process| {
        let cwd = std::fs::read_link(format!("/proc/{}/cwd", process.pid));
        process.is_git()
            && cwd.is_ok_and(|cwd| cwd.starts_with(&top))
            && process.args().iter().any(|arg| arg == b"commit")
    })
}

fn others() -> Vec<Process> {
    let own_id = std::process::id();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let process = |pid: u32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(Process { pid, name: name.trim_end().to_owned() })
    };
    pids.filter(|pid| *pid != own_id).filter_map(process).collect()
}

/// The files a process has open; none for another user's process, or one that has ended.
fn opened(process: &Process) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{}/fd", process.pid)) else {
        return Vec::new();
    };
    entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_that_has_a_file_open_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let file = std::fs::File::create(&path).unwrap();
        // Children that other tests start have our files open until they run their program.
        let of = |pid: u32| {
            let found = that_opened(&path).into_iter();
            found.filter(|one| one.pid == pid).collect::<Vec<_>>()
        };
        assert!(of(std::process::id()).is_empty(), "this process does not count");
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(file).spawn().unwrap();
        let found = of(child.id());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].pid, found[0].is_git()), (child.id(), false));
        assert!(of(child.id()).is_empty());
    }
}
