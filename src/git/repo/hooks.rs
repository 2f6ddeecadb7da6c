//! Git hooks of git-cowork: installed beside the user's own on request, and removed again.
//!
//! There are three ways; the first possible one is used (git-hook(1), githooks(5)): configured
//! hooks, which do not affect other hooks, if git supports them; a file or a marked block in the
//! repository's own hooks directory; otherwise lines for the user to add. A hook does nothing if
//! git-cowork is not installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::git::configuration::Configuration;
use crate::git::hook_trace::said;
use crate::git::settings;
use crate::git::{Git, version};

/// The events, and the hook files that are written if there is no other hook.
const HOOKS: [(&str, &str); 3] = [
    ("post-rewrite", include_str!("../../../hooks/post-rewrite")),
    ("prepare-commit-msg", include_str!("../../../hooks/prepare-commit-msg")),
    ("pre-push", include_str!("../../../hooks/pre-push")),
];
/// The first version of git with `hook.<name>.command`.
const CONFIGURED_SINCE: (u32, u32) = (2, 54);
const BEGIN: &str = "# >>> git-cowork >>>\n";
const END: &str = "# <<< git-cowork <<<\n";

/// The result for one hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookChange {
    /// It is in git's configuration now.
    Configured,
    /// A file of its own was written.
    Written(PathBuf),
    /// A block was added to an existing hook.
    Added(PathBuf),
    /// It was already installed, or there was nothing to remove.
    Unchanged,
    /// It was removed.
    Removed,
    /// The user has to do it: add these lines at the beginning of that hook.
    ByHand {
        /// The hook's file.
        path: PathBuf,
        /// Shell lines.
        lines: String,
    },
}

/// Installs the hooks of git-cowork; returns each event with its result.
///
/// # Errors
/// Git fails, or a file cannot be written.
pub fn install(git: &Git) -> Result<Vec<(&'static str, HookChange)>> {
    let knows_hook_settings = version::git_version(&git.top, &git.env)?.0 >= Some(CONFIGURED_SINCE);
    let folder = folder(git)?;
    let is_in_repository = within(&folder, &git.common_dir);
    HOOKS
        .iter()
        .map(|(event, script)| {
            let path = folder.join(event);
            let change = if knows_hook_settings {
                configure_hook(git, event)?
            } else if is_in_repository {
                install_at(&path, event, script)?
            } else {
                by_hand(path, event)
            };
            Ok((*event, change))
        })
        .collect()
}

/// Removes the hooks, however they were installed.
///
/// # Errors
/// Git fails, or a file cannot be written.
pub fn remove(git: &Git) -> Result<Vec<(&'static str, HookChange)>> {
    let folder = folder(git)?;
    let is_in_repository = within(&folder, &git.common_dir);
    HOOKS
        .iter()
        .map(|(event, script)| {
            let path = folder.join(event);
            let section = format!("hook.cowork-{event}");
            let change = if settings::get(git, &format!("{section}.command"))?.is_some() {
                git.write(["config", "--local", "--remove-section", &section]).checked()?;
                HookChange::Removed
            } else if is_in_repository {
                remove_at(&path, script)?
            } else {
                HookChange::Unchanged
            };
            Ok((*event, change))
        })
        .collect()
}

/// True if a hook of this name may run: one in the hooks folder, or (from git 2.54 on) any
/// configured hook. True as well if that cannot be determined.
pub(crate) fn has(git: &Git, name: &str) -> bool {
    let none = folder(git).is_ok_and(|folder| !folder.join(name).exists());
    let has_hook_settings =
        |all: &Configuration| all.all().any(|(key, _)| key.starts_with("hook."));
    !none || git.configuration().map_or(true, |all| has_hook_settings(&all))
}

/// The first hook that may run before a commit is made and change its content.
pub fn before_commit(git: &Git) -> Option<&'static str> {
    ["pre-commit", "prepare-commit-msg", "commit-msg"].into_iter().find(|name| has(git, name))
}

/// The first version of git with `git hook run`.
const RUNS_SINCE: (u32, u32) = (2, 36);
/// How long a hook may look at a message before it counts as one that says nothing.
const MESSAGE_PATIENCE: Duration = Duration::from_secs(10);

/// True if the project has a hook that may refuse messages.
pub fn refuse_messages(git: &Git) -> bool {
    has(git, "commit-msg")
}

/// Tries a message with the hooks that may refuse one, as `git commit` runs them; returns the name
/// and the output of the one that refuses. A hook that cannot run or does not end refuses nothing.
///
/// # Errors
/// Git cannot be started, or there is no room for a temporary file.
pub fn refuses_message(git: &Git, message: &str) -> Result<Option<(&'static str, String)>> {
    let hooks: [(&str, &[&str]); 2] = [("prepare-commit-msg", &["message"]), ("commit-msg", &[])];
    if !hooks.iter().any(|(name, _)| has(git, name))
        || version::git_version(&git.top, &git.env)?.0 < Some(RUNS_SINCE)
    {
        return Ok(None);
    }
    let scratch = tempfile::tempdir().context("creating a temporary directory")?;
    let file = scratch.path().join("COMMIT_EDITMSG");
    fs::write(&file, message).context("writing a message")?;
    for (name, source) in hooks {
        let run = git.hooked(["hook", "run", "--ignore-missing", name, "--"]);
        let run = run.arg(&file).args(source).env("GIT_EDITOR", ":").at_most(MESSAGE_PATIENCE);
        let output = run.attempt(|| false, || false)?;
        // A shell exits with 126 or 127 if it cannot run a program.
        match output.code {
            Some(0) => {}
            Some(126 | 127) | None => return Ok(None),
            Some(_) => return Ok(Some((name, said(&output)))),
        }
    }
    Ok(None)
}

/// The hooks that git runs when git-cowork commits, checks out or pushes, in their order.
const MET: [&str; 8] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "post-merge",
    "reference-transaction",
    "pre-push",
];

/// A hook that runs during a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    /// Git's name for its event.
    pub name: &'static str,
    /// Its file, if git does not run it because it is not executable.
    pub not_executable: Option<PathBuf>,
}

/// The hooks of this repository that run during a session: files, and from git 2.54 on configured
/// ones.
///
/// # Errors
/// Git fails.
pub fn met(git: &Git) -> Result<Vec<Met>> {
    let folder = folder(git)?;
    let all = git.configuration()?;
    let is_set = |name: &str| {
        let mut events =
            all.all().filter(|(key, _)| key.starts_with("hook.") && key.ends_with(".event"));
        events.any(|(_, event)| event == Some(name))
    };
    let exists = |name: &&'static str| {
        let path = folder.join(name);
        let file = path.metadata().ok().filter(fs::Metadata::is_file);
        match file {
            Some(file) if is_executable(&file) => Some(Met { name, not_executable: None }),
            _ if is_set(name) => Some(Met { name, not_executable: None }),
            Some(_) => Some(Met { name, not_executable: Some(path) }),
            None => None,
        }
    };
    Ok(MET.iter().filter_map(exists).collect())
}

/// True if all hooks of git-cowork are installed.
///
/// # Errors
/// Git fails.
pub fn are_installed(git: &Git) -> Result<bool> {
    let folder = folder(git)?;
    for (event, script) in HOOKS {
        let text = fs::read_to_string(folder.join(event)).unwrap_or_default();
        let is_file = text == script || text.contains(BEGIN);
        if !is_file && settings::get(git, &format!("hook.cowork-{event}.command"))?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The folder that git was asked for, valid until the configuration changes.
type Folder = Mutex<Option<(Arc<Configuration>, PathBuf)>>;

/// The folder in which git looks for hooks; it may be anywhere.
pub(crate) fn folder(git: &Git) -> Result<PathBuf> {
    match settings::get(git, "core.hooksPath")? {
        None => return Ok(git.common_dir.join("hooks")),
        Some(path) if path.starts_with('/') => return Ok(PathBuf::from(path)),
        Some(_) => {}
    }
    let now = git.configuration()?;
    let cache = git.caches.get::<Folder>();
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, folder)) = cache.as_ref().filter(|(of, _)| Arc::ptr_eq(of, &now)) {
        return Ok(folder.clone());
    }
    let ask = git.read(["rev-parse", "--path-format=absolute", "--git-path", "hooks"]);
    let folder = PathBuf::from(ask.capture()?);
    *cache = Some((now, folder.clone()));
    Ok(folder)
}

fn configure_hook(git: &Git, event: &str) -> Result<HookChange> {
    let key = |what: &str| format!("hook.cowork-{event}.{what}");
    // Git runs this in a shell and appends the arguments.
    let command = format!("! command -v git-cowork >/dev/null 2>&1 || git-cowork hook {event}");
    if settings::get(git, &key("command"))?.as_deref() == Some(command.as_str()) {
        return Ok(HookChange::Unchanged);
    }
    for (what, value) in [("command", command.as_str()), ("event", event)] {
        git.write(["config", "--local", &key(what), value]).checked()?;
    }
    Ok(HookChange::Configured)
}

/// True if `path` is in `folder`, with links resolved; `path` need not exist.
fn within(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(path).starts_with(real(folder))
}

/// The lines that call git-cowork from another script. A script that reads standard input still
/// gets it.
fn block(event: &str) -> String {
    let call = match event {
        "prepare-commit-msg" => format!("  git-cowork hook {event} \"$@\" || exit $?\n"),
        _ => format!(
            "  cowork_input=$(cat)\n  printf '%s\\n' \"$cowork_input\" | git-cowork hook {event} \
             \"$@\" || exit $?\n  exec <<COWORK_INPUT\n$cowork_input\nCOWORK_INPUT\n"
        ),
    };
    format!("{BEGIN}if command -v git-cowork >/dev/null 2>&1; then\n{call}fi\n{END}")
}

fn by_hand(path: PathBuf, event: &str) -> HookChange {
    HookChange::ByHand { path, lines: block(event) }
}

fn install_at(path: &Path, event: &str, script: &str) -> Result<HookChange> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        put(path, script)?;
        return Ok(HookChange::Written(path.to_owned()));
    };
    let text = fs::read_to_string(path).unwrap_or_default();
    if text == script || text.contains(BEGIN) {
        return Ok(HookChange::Unchanged);
    }
    // Leave links, disabled hooks and programs other than shell scripts to the user; they may be
    // generated.
    if !metadata.is_file() || !is_executable(&metadata) || !is_shell(&text) {
        return Ok(by_hand(path.to_owned(), event));
    }
    let (first, rest) = text.split_once('\n').unwrap_or((text.as_str(), ""));
    put(path, &format!("{first}\n{}{rest}", block(event)))?;
    Ok(HookChange::Added(path.to_owned()))
}

fn remove_at(path: &Path, script: &str) -> Result<HookChange> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(HookChange::Unchanged) };
    if text == script {
        fs::remove_file(path).with_context(|| format!("removing {}", path.display()))?;
        return Ok(HookChange::Removed);
    }
    let Some((before, rest)) = text.split_once(BEGIN) else { return Ok(HookChange::Unchanged) };
    let Some((_, after)) = rest.split_once(END) else { return Ok(HookChange::Unchanged) };
    put(path, &format!("{before}{after}"))?;
    Ok(HookChange::Removed)
}

/// Writes a temporary file and renames it into place: git may run the hook at any moment.
fn put(path: &Path, text: &str) -> Result<()> {
    let writing = || format!("writing {}", path.display());
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).with_context(writing)?;
    let temporary = tempfile::Builder::new().prefix(".cowork-").tempfile_in(folder);
    let temporary = temporary.with_context(writing)?;
    fs::write(temporary.path(), text).with_context(writing)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(path).map_or(0o755, |old| old.permissions().mode());
        let permissions = fs::Permissions::from_mode(mode | 0o100);
        fs::set_permissions(temporary.path(), permissions).with_context(writing)?;
    }
    temporary.persist(path).with_context(writing)?;
    Ok(())
}

fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let program = first.strip_prefix("#!").unwrap_or_default().trim();
    let name = program.rsplit(['/', ' ']).next().unwrap_or_default();
    matches!(name, "sh" | "bash" | "dash" | "ksh" | "zsh")
}

fn is_executable(metadata: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_hooks_are_removed_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hooks/pre-push");
        let (event, script) = HOOKS[2];
        assert_eq!(install_at(&path, event, script).unwrap(), HookChange::Written(path.clone()));
        assert_eq!(install_at(&path, event, script).unwrap(), HookChange::Unchanged);
        assert_eq!(remove_at(&path, script).unwrap(), HookChange::Removed);
        assert!(!path.exists());

        let theirs = "#!/usr/bin/env bash\nset -e\ncat >>seen\n";
        put(&path, theirs).unwrap();
        assert_eq!(install_at(&path, event, script).unwrap(), HookChange::Added(path.clone()));
        let both = fs::read_to_string(&path).unwrap();
        assert!(both.starts_with("#!/usr/bin/env bash\n# >>>") && both.ends_with("cat >>seen\n"));
        assert_eq!(install_at(&path, event, script).unwrap(), HookChange::Unchanged);
        assert_eq!(remove_at(&path, script).unwrap(), HookChange::Removed);
        assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
        assert_eq!(remove_at(&path, script).unwrap(), HookChange::Unchanged);
    }

    #[cfg(unix)]
    #[test]
    fn other_programs_and_disabled_hooks_are_left_to_the_user() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pre-push");
        let (event, script) = HOOKS[2];
        put(&path, "#!/usr/bin/env python3\nprint()\n").unwrap();
        assert!(matches!(install_at(&path, event, script).unwrap(), HookChange::ByHand { .. }));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "#!/bin/sh\nfalse\n").unwrap();
        assert!(matches!(install_at(&path, event, script).unwrap(), HookChange::ByHand { .. }));
        assert_eq!(fs::read_to_string(&path).unwrap(), "#!/bin/sh\nfalse\n");
    }

    #[test]
    fn the_committed_scripts_are_three_lines_and_need_no_program() {
        for (event, script) in HOOKS {
            let lines: Vec<_> = script.lines().collect();
            assert_eq!(lines.len(), 3, "{event}");
            assert_eq!(lines[0], "#!/bin/sh");
            assert!(lines[1].ends_with("|| exit 0"));
            assert!(lines[2].contains(&format!("hook {event} \"$@\"")));
        }
    }
}
