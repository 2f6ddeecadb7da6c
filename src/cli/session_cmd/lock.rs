//! Locks a session and the working tree it works in, and cleans up after killed processes.
//! A second run in the same tree would switch the branch away from under the first.

use std::path::PathBuf;

use crate::cli::context::Context;
use crate::cli::terminal::signals::Guard;
use crate::error::Error;
use crate::git::{self, Git};
use crate::session::{Holder, RunLock, SessionName, StateDir};
use crate::shell_quote::quoted;
use crate::workspace::{self, COMMAND, WorkspaceOptions, user_files};

/// A locked session: what a process holds while it works on the session.
pub(crate) struct LockedSession {
    /// The repository. It notes the git processes that it starts, so that the next run can wait for
    /// them.
    pub git: Git,
    /// The state directory of the session.
    pub state: StateDir,
    /// Marks this process as the session's run.
    pub lock: RunLock,
    /// Marks this process as the only run in the working tree, if it changes the tree.
    pub tree: Option<RunLock>,
    _guard: Guard,
}

/// Locks the session and this working tree.
///
/// # Errors
/// Exit 5: another run has locked one of them; it is named.
pub(crate) fn hold(
    context: &Context,
    name: &SessionName,
    command: &str,
) -> anyhow::Result<LockedSession> {
    hold_with(context, name, command, true)
}

/// Like [`hold`], for a command that does not change this working tree.
pub(crate) fn hold_session(
    context: &Context,
    name: &SessionName,
    command: &str,
) -> anyhow::Result<LockedSession> {
    hold_with(context, name, command, false)
}

/// Like [`hold`]; the working tree is locked only if the command changes it. Cleans up after killed
/// processes: those of this session, and those of other sessions that are not running, because all
/// of them share the index of a working tree.
pub(crate) fn hold_with(
    context: &Context,
    name: &SessionName,
    command: &str,
    changes_tree: bool,
) -> anyhow::Result<LockedSession> {
    let git = context.git()?;
    let state = StateDir::open(&git.state_dir(), name)?;
    let lock = RunLock::take(&state.lock(), name, command)?;
    let tree = changes_tree.then(|| lock_tree(context, git, name, command)).transpose()?;
    for other in StateDir::left_unfinished(&git.state_dir()).iter().filter(|other| *other != name) {
        let state = StateDir::at(&git.state_dir(), other);
        let Ok(_lock) = RunLock::take(&state.lock(), other, command) else { continue };
        if let Err(error) = with_children(context, git, &state, other) {
            context.warn(format!("session {other}: {error:#}"));
        }
    }
    let git = with_children(context, git, &state, name)?;
    // From now on a signal only requests a stop: the current write is finished first.
    Ok(LockedSession { git, state, lock, tree, _guard: Guard::new() })
}

/// The repository for this session's commands, after the cleanup.
fn with_children(
    context: &Context,
    git: &Git,
    state: &StateDir,
    name: &SessionName,
) -> anyhow::Result<Git> {
    let own_refs = context.refs()?.own(name);
    git.expect_refs(own_refs.iter().cloned());
    let say = |text: &str| context.note(text);
    git.with_children_in(&state.git_children(), &own_refs, &say)
}

/// Commands with the option `-w`.
const WITH_OPTION: [&str; 4] = ["new", "modify", "adopt", "resume"];
/// Commands that change the session on its branch, in whichever working tree that is.
const ON_BRANCH: [&str; 4] = ["revert", "review", "feedback", "restore"];

/// Locks a working tree for the run of a session.
///
/// # Errors
/// Exit 5: another run has locked it; the error names its session and the way out.
pub(crate) fn lock_tree(
    context: &Context,
    git: &Git,
    name: &SessionName,
    command: &str,
) -> anyhow::Result<RunLock> {
    match RunLock::take_tree(git, name, command)? {
        Ok(lock) => {
            put_back_left(context, git, name, command);
            Ok(lock)
        }
        Err(holder) => {
            let error = in_use(holder.as_ref());
            let verb = command.rsplit(' ').next().unwrap_or_default();
            if WITH_OPTION.contains(&verb) {
                return Err(with_option(error, command).into());
            }
            let error = error.hint(format!("wait for it to end, then: {}", typed(command, "")));
            let branch = context.refs()?.short_branch(name);
            if !ON_BRANCH.contains(&verb) || !git::refs::branch_exists(git, &branch)? {
                return Err(error.into());
            }
            let path = default_path(git, name).to_string_lossy().into_owned();
            let path = quoted(&path);
            Err(error
                .hint(format!(
                    "or in a working tree of its own: git worktree add {path} {branch} && cd {path} \
                     && {}",
                    typed(command, "")
                ))
                .into())
        }
    }
}

/// Puts back a person's files that a command of another session changed before both were killed:
/// otherwise this run would take what the command wrote for the person's.
fn put_back_left(context: &Context, git: &Git, name: &SessionName, command: &str) {
    let others = StateDir::with_note(&git.state_dir(), COMMAND);
    for other in others.iter().filter(|other| *other != name) {
        let state = StateDir::at(&git.state_dir(), other);
        let Ok(_lock) = RunLock::take(&state.lock(), other, command) else { continue };
        let changes = workspace::put_back_left(&WorkspaceOptions {
            root: git.top().to_owned(),
            state_dir: state.path().to_owned(),
            ..WorkspaceOptions::default()
        });
        let messages = match changes {
            Ok(changes) => user_files::told(changes),
            Err(error) => vec![format!("{error:#}")],
        };
        for text in messages {
            context.warn(format!("session {other}: {text}"));
        }
    }
}

/// The default path of a linked worktree, beside the repository: `../REPOSITORY.cowork/NAME`.
pub(crate) fn default_path(git: &Git, name: &SessionName) -> PathBuf {
    let top = git.top();
    let folder = top.file_name().map_or_else(|| "repository".into(), |n| n.to_string_lossy());
    let parent = top.parent().unwrap_or(top);
    parent.join(format!("{folder}.cowork")).join(name.as_str())
}

/// The error for a working tree in which another run is.
pub(crate) fn in_use(holder: Option<&Holder>) -> Error {
    Error::repository(match holder {
        Some(holder) if !holder.session.is_empty() => {
            format!("session '{}' is running in this working tree: {holder}", holder.session)
        }
        _ => "another run of git-cowork is in this working tree".to_owned(),
    })
}

/// Adds the command with the option `-w` as the way out.
pub(crate) fn with_option(error: Error, command: &str) -> Error {
    error
        .hint(format!("work in a linked worktree: {}", typed(command, " -w")))
        .hint("or wait for it to end")
}

/// The command line of this process, to be pasted: with `option` after the command's name.
fn typed(command: &str, option: &str) -> String {
    let verb = command.rsplit(' ').next().unwrap_or_default();
    let mut line = "git cowork".to_owned();
    let mut option = Some(option);
    for word in std::env::args_os().skip(1) {
        let word = word.to_string_lossy();
        line = format!("{line} {}", quoted(&word));
        if word == verb {
            line += option.take().unwrap_or_default();
        }
    }
    // An alias of the command was typed.
    line + option.unwrap_or_default()
}
