//! Notifies a person who has left the terminal.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::gate::clean::clean_line;

/// How long to wait for the notify command.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs the person's shell command in `cwd` with the message as its last argument, detached from
/// the terminal. Returns a warning if it failed; nothing else depends on it.
pub fn notify(command: &str, message: &str, cwd: &Path) -> Option<String> {
    let command = command.trim();
    if command.is_empty() {
        return None;
    }
    let mut child = Command::new("sh");
    child
        .args(["-c", &format!("{command} \"$@\""), command, &clean_line(message)])
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // In a process group of its own, so that it neither gets a Ctrl-C at the gate nor reads the
    // person's keys.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut child, 0);
    let mut child = match child.spawn() {
        Ok(child) => child,
        Err(error) => return Some(format!("the notify command cannot be started: {error}")),
    };
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return None,
            Ok(Some(status)) => return Some(format!("the notify command failed: {status}")),
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Some(format!("cannot wait for the notify command: {error}")),
        }
    }
    None
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_the_last_argument() {
        let folder = tempfile::tempdir().unwrap();
        let warning = notify("printf '%s\\n' >told", "design\nwaits; $(id)", folder.path());
        assert_eq!(warning, None);
        let told = std::fs::read_to_string(folder.path().join("told")).unwrap();
        assert_eq!(told, "design waits; $(id)\n");
    }

    #[test]
    fn a_failure_is_only_a_warning() {
        let warning = notify("false", "x", Path::new("/")).unwrap();
        assert!(warning.contains("notify command failed"), "{warning}");
        assert_eq!(notify("  ", "x", Path::new("/")), None);
    }
}
