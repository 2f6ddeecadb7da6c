//! Finds the repository and checks git's version, before there is a [`super::Git`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::OLDEST_GIT;
use super::environment::variable;
#[cfg(unix)]
use super::format::Format;
#[cfg(unix)]
use super::name::Oid;
use super::output::{Output, lossy, path_buf, signal_of};
use super::spawn::{REPOSITORY_VARIABLES, cannot_start, parse_ready};
use crate::error::Error;

/// The directories of a repository.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) top: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
}

/// Whether `GIT_DIR` and similar variables of the environment apply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallersGitDir {
    Honoured,
    Ignored,
}

/// The directories of the repository that contains `cwd`, as git finds them.
pub(super) fn locate(
    cwd: &Path,
    env: &[(OsString, OsString)],
    callers: CallersGitDir,
) -> Result<Located> {
    match plainly(cwd, env, callers) {
        Some(found) => Ok(found),
        None => asked(cwd, env, callers),
    }
}

/// Variables that make git find another repository than the folders alone suggest.
const TELLING_VARIABLES: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_TEST_ASSUME_DIFFERENT_OWNER",
];

/// Finds the repository that contains `cwd` without a process, if there is no doubt: the current
/// user owns it, its configuration sets no other location or format, and it is on the file system
/// of `cwd`.
#[cfg(unix)]
fn plainly(cwd: &Path, env: &[(OsString, OsString)], callers: CallersGitDir) -> Option<Located> {
    use std::os::unix::fs::MetadataExt as _;

    let variable = |name: &str| variable(env, name);
    let counts = |name: &&&str| callers == CallersGitDir::Honoured || !is_repositorys(name);
    if TELLING_VARIABLES.iter().filter(counts).any(|name| variable(name).is_some()) {
        return None;
    }
    let cwd = cwd.canonicalize().ok()?;
    // A path with a line break is left to `asked`, which reports it.
    let top = cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let inside = cwd.ancestors().take_while(|folder| *folder != top).chain([top]);
    let ceilings = variable("GIT_CEILING_DIRECTORIES").unwrap_or_default();
    let is_ceiling = |ceiling: PathBuf| {
        let real = ceiling.canonicalize().unwrap_or_else(|_| ceiling.clone());
        ceiling.starts_with(top) || real.starts_with(top)
    };
    if lossy(top.as_os_str().as_encoded_bytes()).contains('\n')
        || std::env::split_paths(&ceilings).any(is_ceiling)
    {
        return None;
    }
    let dot_git = top.join(".git");
    let git_dir = if dot_git.symlink_metadata().ok()?.is_file() {
        let text = std::fs::read_to_string(&dot_git).ok()?;
        let target = text.strip_prefix("gitdir: ")?.trim_end_matches(['\n', '\r']);
        top.join(target).canonicalize().ok()?
    } else {
        dot_git.canonicalize().ok()?
    };
    let common_dir = match std::fs::read_to_string(git_dir.join("commondir")) {
        Ok(text) => git_dir.join(text.trim_end_matches(['\n', '\r'])).canonicalize().ok()?,
        Err(_) => git_dir.clone(),
    };
    let user = rustix::process::geteuid().as_raw();
    let meta = top.metadata().ok()?;
    let ours = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.uid() == user);
    let in_one_system = |path: &Path| path.metadata().is_ok_and(|there| there.dev() == meta.dev());
    let in_git = |folder: &Path| {
        let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
        folder.file_name().is_some_and(|name| name == ".git") || (has("HEAD") && has("objects"))
    };
    let found = variable("SUDO_UID").is_none()
        && [top, &dot_git, &git_dir, &common_dir].into_iter().all(ours)
        && inside.clone().all(in_one_system)
        && !inside.clone().any(in_git)
        && names_something(&std::fs::read(git_dir.join("HEAD")).ok()?)
        && common_dir.join("objects").is_dir()
        && common_dir.join("refs").is_dir()
        && says_nothing_of_place(&std::fs::read_to_string(common_dir.join("config")).ok()?);
    found.then(|| Located { top: top.to_owned(), git_dir, common_dir })
}

#[cfg(not(unix))]
fn plainly(_cwd: &Path, _env: &[(OsString, OsString)], _callers: CallersGitDir) -> Option<Located> {
    None
}

/// True if HEAD contains what git expects in a repository.
#[cfg(unix)]
fn names_something(head: &[u8]) -> bool {
    match head.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => str::from_utf8(head).is_ok_and(|head| head.trim_end().parse::<Oid>().is_ok()),
    }
}

/// True if a repository's own configuration keeps the defaults of `git init`: not bare, no working
/// tree elsewhere, and a known format.
#[cfg(unix)]
fn says_nothing_of_place(config: &str) -> bool {
    let mut version = None;
    let is_plain = config.lines().all(|line| {
        let line: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        let line = line.to_lowercase();
        if line.contains("repositoryformatversion") {
            version = Some(line.replace("repositoryformatversion=", ""));
        }
        (!line.contains("bare") || line == "bare=false") && !line.contains("worktree=")
    });
    let has_extensions = config.to_lowercase().contains("extensions");
    is_plain
        && match version.as_deref() {
            None | Some("0") => !has_extensions,
            Some("1") => !has_extensions || Format::named_in(config).is_plain,
            _ => false,
        }
}

/// True if a variable sets the location of the repository.
fn is_repositorys(variable: &str) -> bool {
    matches!(variable, "GIT_DIR" | "GIT_WORK_TREE" | "GIT_COMMON_DIR")
}

/// Runs git to find the repository that contains `cwd`, and to report why it cannot be used.
pub(super) fn asked(
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
    command.args(["--no-pager", "rev-parse", "--path-format=absolute"]);
    command.args(["--is-bare-repository", "--git-dir", "--git-common-dir"]);
    let output = plain(command, cwd)?;
    let mut lines = output.stdout.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    let found = (lines.next(), lines.next(), lines.next(), lines.next());
    let (Some(b"true"), Some(git_dir), Some(common), None) = found else { return Ok(None) };
    if !output.success() {
        return Ok(None);
    }
    let git_dir = path_buf(git_dir);
    Ok(Some(Located { top: git_dir.clone(), git_dir, common_dir: path_buf(common) }))
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
    use crate::git::settings;

    #[test]
    fn versions_of_all_builds_are_understood() {
        assert_eq!(version("git version 2.47.3\n"), Some((2, 47)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)\n"), Some((2, 39)));
        assert_eq!(version("git version 2.34.windows.1"), Some((2, 34)));
        assert_eq!(version("nonsense"), None);
    }

    #[cfg(unix)]
    #[test]
    fn simple_repositories_are_found_where_git_finds_them() {
        let repo = Repo::with_commit();
        std::fs::create_dir_all(repo.path("a/b")).unwrap();
        let linked = repo.root().join("l w");
        repo.run(&["worktree", "add", "-q", "-b", "lw", linked.to_str().unwrap()]);
        repo.run(&["clone", "-q", ".", "../own"]);
        repo.run(&["init", "-q", "--separate-git-dir", "../elsewhere.git", "../apart"]);
        repo.run(&["clone", "-q", "--bare", ".", "../bare.git"]);
        std::fs::create_dir(repo.root().join("by-link")).unwrap();
        std::os::unix::fs::symlink("../own/.git", repo.root().join("by-link/.git")).unwrap();
        std::os::unix::fs::symlink("work/a", repo.root().join("link")).unwrap();
        let env = repo.env();
        let both = |folder: &str, env: &[(OsString, OsString)]| {
            let cwd = repo.root().join(folder);
            let said = asked(&cwd, env, CallersGitDir::Honoured).ok();
            let found = plainly(&cwd, env, CallersGitDir::Honoured);
            assert!(found.is_none() || found == said, "{folder}: {found:?} {said:?}");
            assert_eq!(locate(&cwd, env, CallersGitDir::Honoured).ok(), said, "{folder}");
            found.is_some()
        };
        for plain in ["work", "work/a/b", "l w", "own", "apart", "by-link", "link/b"] {
            assert!(both(plain, &env), "{plain}");
        }
        for other in ["work/.git", "work/.git/hooks", "bare.git", "bare.git/refs", ".", "no"] {
            assert!(!both(other, &env), "{other}");
        }
        let with = |name: &str, value: &str| {
            let mut env = repo.env();
            env.push((name.into(), value.into()));
            env
        };
        let top = repo.path("").display().to_string();
        assert!(!both("own", &with("GIT_DIR", &format!("{top}/.git"))));
        assert!(!both("work/a", &with("GIT_CEILING_DIRECTORIES", &top)));
        assert!(!both("link/b", &with("GIT_CEILING_DIRECTORIES", &top)));
        assert!(both("own", &with("GIT_CONFIG_PARAMETERS", "'core.worktree'='/tmp'")));
        let config = repo.text(".git/config").unwrap();
        for told in [
            "[core]\n\tworkTree = ../../own",
            "[core]\n\tbare = true",
            "[core] repositoryformatversion = 1\n[extensions]\n\tnoSuch = true",
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true",
        ] {
            repo.file(".git/config", &format!("{config}{told}\n"));
            assert!(!both("work", &env), "{told}");
        }
        repo.file(".git/config", "[core");
        let error = settings::get(&repo.git(), "x.y").unwrap_err();
        assert!(error.to_string().starts_with("git cannot use this repository: "), "{error}");
        repo.file(".git/config", &config);
        repo.file(".git/HEAD", "nonsense\n");
        assert!(!both("work", &env));
        repo.file(".git/HEAD", "ref: refs/heads/main\n");
        std::fs::remove_dir_all(repo.path(".git/objects")).unwrap();
        assert!(!both("work", &env));
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
