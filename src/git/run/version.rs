//! The version of git: what is installed, and whether it is new enough.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::error::Error;
use crate::git::Git;
use crate::git::environment::cannot_start;
use crate::git::output::{Output, lossy, signal_of};
use crate::git::repository::NewEnough;

/// The oldest version of git with all options that are used for writing.
pub(crate) const OLDEST_GIT: (u32, u32) = (2, 34);

/// The version of git, as `git version` prints it, without the words `git version`; `cwd` need not
/// be in a repository.
///
/// # Errors
/// Git is missing or too old (exit 5).
pub fn installed(cwd: &Path) -> Result<String> {
    require_git(cwd, &[], OLDEST_GIT)?;
    let (_, text) = git_version(cwd, &[])?;
    Ok(text.trim_start_matches("git version ").to_owned())
}

impl Git {
    /// Fails if git is too old for commands that write.
    pub(crate) fn require_new_enough(&self) -> Result<()> {
        let new_enough = self.shared_caches.get::<NewEnough>();
        if new_enough.0.get().is_none() {
            require_git(&self.top, &self.env, OLDEST_GIT)?;
            new_enough.0.get_or_init(|| ());
        }
        Ok(())
    }
}

/// Git's version, and the text in which git prints it.
pub(crate) fn git_version(
    cwd: &Path,
    env: &[(OsString, OsString)],
) -> Result<(Option<(u32, u32)>, String)> {
    let mut command = Command::new("git");
    command.envs(env.iter().map(|(key, value)| (key, value))).arg("version");
    let text = plain(command, cwd)?.text().trim().to_owned();
    Ok((version(&text), text))
}

/// Fails unless git is installed and at least as new as `oldest`.
pub(crate) fn require_git(
    cwd: &Path,
    env: &[(OsString, OsString)],
    oldest: (u32, u32),
) -> Result<()> {
    match git_version(cwd, env)? {
        (Some(found), _) if found >= oldest => Ok(()),
        (_, text) => Err(Error::repository(format!(
            "git {}.{} or newer is needed, this is {}",
            oldest.0,
            oldest.1,
            text.trim_start_matches("git version ")
        ))
        .hint("install a newer git: https://git-scm.com/downloads")
        .into()),
    }
}

/// Runs a command that only reads, before there is a [`Git`].
pub(crate) fn plain(mut command: Command, cwd: &Path) -> Result<Output> {
    command.current_dir(cwd).stdin(Stdio::null());
    let mut run = || command.output().map_err(|error| cannot_start(&error));
    let mut output = run()?;
    if signal_of(output.status).is_some() {
        // Ctrl-C reaches git as well; a command that only reads is run again.
        output = run()?;
    }
    let signal = signal_of(output.status);
    let (stdout, stderr) = (output.stdout, lossy(&output.stderr));
    Ok(Output { code: output.status.code(), signal, stdout, stderr })
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().strip_prefix("git version ")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_builds_are_understood() {
        assert_eq!(version("git version 2.47.3\n"), Some((2, 47)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)\n"), Some((2, 39)));
        assert_eq!(version("git version 2.34.windows.1"), Some((2, 34)));
        assert_eq!(version("nonsense"), None);
    }
}
