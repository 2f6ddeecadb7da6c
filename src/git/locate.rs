//! Finds the repository and checks git's version, before there is a [`super::Git`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::OLDEST_GIT;
use super::environment::variable;
use super::format::Format;
use super::output::{Output, lossy, path_buf, signal_of};
use super::spawn::{REPOSITORY_VARIABLES, cannot_start, parse_ready};
use crate::error::Error;

/// The directories of a repository.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) top: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    pub(super) format: Format,
}

/// What `git rev-parse` is asked about every repository.
const DIRECTORIES_AND_FORMAT: [&str; 4] =
    ["--git-dir", "--git-common-dir", "--show-object-format", "--show-ref-format"];

/// Whether `GIT_DIR` and similar variables of the environment apply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallersGitDir {
    Honoured,
    Ignored,
}

/// True if a variable sets the location of the repository.
fn is_repositorys(variable: &str) -> bool {
    matches!(variable, "GIT_DIR" | "GIT_WORK_TREE" | "GIT_COMMON_DIR")
}

/// The repository that contains `cwd`, as git finds it.
///
/// # Errors
/// There is none, it is bare, or git refuses it (exit 5).
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
            if callers == CallersGitDir::Ignored || !is_repositorys(variable) {
                command.env_remove(variable);
            }
        }
        command.current_dir(cwd).arg("rev-parse").args(args);
        plain(command, cwd)
    };
    let mut questions = vec!["--path-format=absolute", "--show-toplevel"];
    questions.extend(DIRECTORIES_AND_FORMAT);
    let output = ask(&questions)?;
    if output.success()
        && let [top, git_dir, common, objects, refs] = lines(&output).as_slice()
    {
        return Ok(Located {
            top: path_buf(top),
            git_dir: path_buf(git_dir),
            common_dir: path_buf(common),
            format: Format::printed(objects, refs),
        });
    }
    // An older git does not support these options.
    require_git(cwd, env, OLDEST_GIT)?;
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
        _ if output.stderr.contains("safe.bareRepository") => {
            Error::repository("this is a bare repository; a session needs a working tree")
                .hint("work in a clone of it, or add a working tree: git worktree add <path>")
        }
        _ if output.stderr.contains("not a git repository") => {
            Error::repository("not in a git repository").hint("make one here: git init")
        }
        _ => Error::repository(format!("git cannot use this repository: {}", output.complaint()))
            .hint("for details: git status"),
    }
    .into())
}

/// The bare repository that contains `cwd`, as git finds it; `None` if git finds none. Always
/// `None` in a working tree unless `GIT_DIR` is set: a clone may contain a bare repository among
/// its files, with settings that run programs.
pub(super) fn bare(cwd: &Path) -> Result<Option<Located>> {
    let named = variable(&[], "GIT_DIR").is_some();
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    if !named && real.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok()) {
        return Ok(None);
    }
    let mut command = Command::new("git");
    // Without git-cowork's own safe.bareRepository: the user's setting applies.
    command.args(["--no-pager", "rev-parse", "--path-format=absolute", "--is-bare-repository"]);
    command.args(DIRECTORIES_AND_FORMAT);
    let output = plain(command, cwd)?;
    let lines = lines(&output);
    let [b"true", git_dir, common, objects, refs] = lines.as_slice() else { return Ok(None) };
    if !output.success() {
        return Ok(None);
    }
    let (git_dir, format) = (path_buf(git_dir), Format::printed(objects, refs));
    Ok(Some(Located { top: git_dir.clone(), git_dir, common_dir: path_buf(common), format }))
}

fn lines(output: &Output) -> Vec<&[u8]> {
    output.stdout.split(|&b| b == b'\n').filter(|line| !line.is_empty()).collect()
}

/// Git's version, and the text in which git prints it.
pub(super) fn git_version(
    cwd: &Path,
    env: &[(OsString, OsString)],
) -> Result<(Option<(u32, u32)>, String)> {
    let mut command = Command::new("git");
    command.envs(env.iter().map(|(key, value)| (key, value))).arg("version");
    let text = plain(command, cwd)?.text().trim().to_owned();
    Ok((version(&text), text))
}

/// Fails unless git is installed and at least as new as `oldest`.
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

/// All settings that apply at `cwd`, inside or outside a repository: git's output, separated by
/// NULs.
pub(super) fn settings_at(cwd: &Path) -> Result<Output> {
    let mut command = Command::new("git");
    parse_ready(&mut command);
    command.args(["config", "--list", "--null"]);
    plain(command, cwd)
}

fn plain(mut command: Command, cwd: &Path) -> Result<Output> {
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
    use super::super::test_repo::Repo;
    use super::*;
    use crate::git::{Git, settings};

    #[test]
    fn versions_of_all_builds_are_understood() {
        assert_eq!(version("git version 2.47.3\n"), Some((2, 47)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)\n"), Some((2, 39)));
        assert_eq!(version("git version 2.34.windows.1"), Some((2, 34)));
        assert_eq!(version("nonsense"), None);
    }

    #[test]
    fn a_repository_that_git_refuses_is_reported() {
        let repo = Repo::with_commit();
        let git = repo.git();
        repo.file(".git/config", "[core");
        let error = settings::get(&git, "x.y").unwrap_err();
        assert!(error.to_string().starts_with("git cannot use this repository: "), "{error}");
    }

    #[test]
    fn the_format_is_told_with_the_place() {
        for (options, format) in [
            (&[][..], (40, true)),
            (&["--object-format=sha256"], (64, true)),
            (&["--ref-format=reftable"], (40, false)),
            (&["--object-format=sha256", "--ref-format=reftable"], (64, false)),
        ] {
            let repo = Repo::with_commit_in(options);
            let found = Git::discover_with(repo.root().join("work").as_path(), repo.env()).unwrap();
            assert_eq!((found.format.digits, found.format.has_ref_files), format);
            let mut init = vec!["init", "-q", "--bare", "../bare.git"];
            init.extend(options);
            repo.run(&init);
            let bare = bare(&repo.root().join("bare.git")).unwrap().unwrap().format;
            assert_eq!((bare.digits, bare.has_ref_files), format);
        }
        // A git that knows no such option prints it.
        let old = Format::printed(b"sha256", b"--show-ref-format");
        assert_eq!((old.digits, old.has_ref_files), (64, true));
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
