//! Finding the repository, and whether git is new enough, before there is a [`super::Git`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::output::{Output, lossy, path_buf, signal_of};
use super::spawn::{REPOSITORY_VARIABLES, cannot_start, parse_ready};
use crate::error::Error;

/// Where a repository lies.
pub(super) struct Located {
    pub(super) top: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
}

/// Whether `GIT_DIR` and its like in the environment count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallersGitDir {
    Honoured,
    Ignored,
}

/// Asks git where the repository of `cwd` lies.
pub(super) fn locate(
    cwd: &Path,
    env: &[(OsString, OsString)],
    callers: CallersGitDir,
) -> Result<Located> {
    let ask = |args: &[&str]| -> Result<Output> {
        let mut command = Command::new("git");
        parse_ready(&mut command);
        command.envs(env.iter().map(|(key, value)| (key, value)));
        for variable in REPOSITORY_VARIABLES {
            let ours = matches!(variable, "GIT_DIR" | "GIT_WORK_TREE" | "GIT_COMMON_DIR");
            if callers == CallersGitDir::Ignored || !ours {
                command.env_remove(variable);
            }
        }
        command.current_dir(cwd).arg("rev-parse").args(args);
        plain(command, cwd)
    };
    let output =
        ask(&["--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir"])?;
    let mut lines = output.stdout.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    if output.success()
        && let (Some(top), Some(git_dir), Some(common), None) =
            (lines.next(), lines.next(), lines.next(), lines.next())
    {
        return Ok(Located {
            top: path_buf(top),
            git_dir: path_buf(git_dir),
            common_dir: path_buf(common),
        });
    }
    if output.success() {
        let message = "the path of the repository contains a line break";
        return Err(Error::repository(message).hint("move the repository").into());
    }
    let kind = ask(&["--is-bare-repository", "--is-inside-git-dir"])?;
    Err(match kind.text().trim() {
        text if text.starts_with("true") => {
            Error::repository("this is a bare repository; a session needs a working tree")
                .hint("work in a clone of it, or add a working tree: git worktree add <path>")
        }
        text if text.ends_with("true") => {
            Error::repository("this is inside a git directory; a session needs a working tree")
                .hint("go to the working tree")
        }
        _ if output.stderr.contains("not a git repository") => {
            Error::repository("not in a git repository").hint("make one here: git init")
        }
        _ => Error::repository(format!("git cannot use this repository: {}", output.complaint()))
            .hint("git status says more"),
    }
    .into())
}

/// Git's version, and how it says it.
pub(super) fn git_version(
    cwd: &Path,
    env: &[(OsString, OsString)],
) -> Result<(Option<(u32, u32)>, String)> {
    let mut command = Command::new("git");
    command.envs(env.iter().map(|(key, value)| (key, value))).arg("version");
    let text = plain(command, cwd)?.text().trim().to_owned();
    Ok((version(&text), text))
}

/// Fails unless git is there and at least this old.
pub(super) fn require_git(
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

fn plain(mut command: Command, cwd: &Path) -> Result<Output> {
    command.current_dir(cwd).stdin(Stdio::null());
    let mut run = || command.output().map_err(|error| cannot_start(&error));
    let mut output = run()?;
    if signal_of(output.status).is_some() {
        // A Ctrl-C reaches git, too, and what only reads is asked again.
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
    use super::super::test_repo::Repo;
    use super::*;

    #[test]
    fn versions_of_all_builds_are_understood() {
        assert_eq!(version("git version 2.47.3\n"), Some((2, 47)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)\n"), Some((2, 39)));
        assert_eq!(version("git version 2.34.windows.1"), Some((2, 34)));
        assert_eq!(version("nonsense"), None);
    }

    #[test]
    fn an_old_git_is_named() {
        let repo = Repo::with_commit();
        let error = require_git(repo.root(), &repo.env(), (99, 0)).unwrap_err();
        assert!(
            error.to_string().starts_with("git 99.0 or newer is needed, this is 2."),
            "{error}"
        );
    }
}
