//! The user list, as read by programs that look up the current user.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::mounts::USERS;

/// Writes a user list with the current user into `dir`, if the user is known only to a directory
/// service: commands cannot reach its socket.
pub(super) fn list_with_own(dir: &Path) -> std::io::Result<Option<PathBuf>> {
    let Ok(mut list) = std::fs::read_to_string(USERS) else { return Ok(None) };
    let user = rustix::process::geteuid().as_raw().to_string();
    if list.lines().any(|line| line.split(':').nth(2) == Some(&user)) {
        return Ok(None);
    }
    let asked = Command::new("getent").args(["passwd", &user]).stdin(Stdio::null()).output();
    let Some(line) = asked.ok().filter(|asked| asked.status.success()) else { return Ok(None) };
    if !list.ends_with('\n') {
        list.push('\n');
    }
    list.push_str(&String::from_utf8_lossy(&line.stdout));
    let own = dir.join("passwd");
    std::fs::write(&own, list)?;
    Ok(Some(own))
}
