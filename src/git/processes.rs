//! Other processes at work on a file, as /proc tells (proc(5)). Where there is no /proc, nobody is
//! known to be.

use std::path::{Path, PathBuf};

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// Name of its program, or of the script that it runs.
    pub(super) name: String,
}

impl Process {
    /// Git, one of its helpers, or a script in git's place, but no daemon of git.
    pub(super) fn is_git(&self) -> bool {
        let is_daemon = || self.args().iter().any(|arg| arg.ends_with(b"daemon"));
        (self.name == "git" || self.name.starts_with("git-remote")) && !is_daemon()
    }

    fn args(&self) -> Vec<Vec<u8>> {
        let line = std::fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        line.split(|&b| b == 0).map(<[u8]>::to_vec).collect()
    }
}

/// The other processes that have this file open.
pub(super) fn that_opened(file: &Path) -> Vec<Process> {
    let Ok(file) = file.canonicalize() else { return Vec::new() };
    others().into_iter().filter(|process| opened(process).contains(&file)).collect()
}

/// The `git commit` at work below this directory. It is the one command that keeps an index locked
/// without having the lock open: while a person writes the message.
pub(super) fn that_commits(top: &Path) -> Option<Process> {
    let top = top.canonicalize().ok()?;
    others().into_iter().find(|process| {
        let cwd = std::fs::read_link(format!("/proc/{}/cwd", process.pid));
        process.is_git()
            && cwd.is_ok_and(|cwd| cwd.starts_with(&top))
            && process.args().iter().any(|arg| arg == b"commit")
    })
}

fn others() -> Vec<Process> {
    let own = std::process::id();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let process = |pid: u32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(Process { pid, name: name.trim_end().to_owned() })
    };
    pids.filter(|pid| *pid != own).filter_map(process).collect()
}

/// None of another user's, and of one that has ended.
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
    fn who_has_a_file_open_is_known_by_pid_and_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let file = std::fs::File::create(&path).unwrap();
        assert!(that_opened(&path).is_empty(), "we do not count");
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(file).spawn().unwrap();
        let found = that_opened(&path);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].pid, found[0].is_git()), (child.id(), false));
        assert!(that_opened(&path).is_empty());
    }
}
