//! Which working tree a session works in. A tree has one run at a time: a second one would switch
//! the branch away from under the first.

use std::path::PathBuf;

use crate::cli::context::Context;
use crate::cli::session_cmd::lock;
use crate::cli::session_cmd::lock::{default_path, in_use, with_option};
use crate::error::{Error, Kind};
use crate::gate::{Tty, choose};
use crate::git::{self, StatusEntry};
use crate::session::{Holder, RunLock, SessionName};

/// The value of `-w`, as clap gives it: not given, the default path, a path.
pub(crate) type Linked = Option<Option<PathBuf>>;

/// Chooses where a new session works: by the option, or by asking, if another run is in this
/// working tree or the tree has uncommitted changes.
///
/// # Errors
/// Exit 5: another run is here and nobody can be asked. Interrupted: the user cancelled.
pub(crate) fn of_new(
    context: &Context,
    asked: Option<&Option<PathBuf>>,
    command: &str,
) -> anyhow::Result<Linked> {
    if let Some(path) = asked {
        return Ok(Some(path.clone()));
    }
    if let Some(holder) = RunLock::tree_holder(context.git()?) {
        return leave_to(context, holder.as_ref(), command).map(Some);
    }
    let dirty = context.git()?.status()?;
    // Do not ask about changes that the user hides from git; they are protected as well.
    if dirty.iter().all(|entry| entry.hidden.is_some()) {
        return Ok(None);
    }
    ask_about_dirty_tree(context, &dirty)
}

/// The context in the linked working tree in which an existing session continues: by the option, or
/// by asking, if the run of another session is in this one. `None` to continue here.
///
/// # Errors
/// As [`of_new`]; or the working tree cannot be created.
pub(crate) fn of_existing(
    context: &Context,
    name: &SessionName,
    asked: Option<&Option<PathBuf>>,
    command: &str,
) -> anyhow::Result<Option<Context>> {
    let git = context.git()?;
    let path = match (asked, RunLock::tree_holder(git)) {
        (Some(path), _) => path.clone(),
        // If it is the session's own run, its lock is refused.
        (None, Some(Some(holder))) if holder.session != name.as_str() => {
            leave_to(context, Some(&holder), command)?
        }
        _ => return Ok(None),
    };
    let refs = context.refs()?;
    let branch = refs.short_branch(name);
    let top = match git::refs::checked_out_in(git, &refs.branch(name))? {
        Some(there) if !there.is_dir() => {
            let message = format!("the working tree of {branch} is gone: {}", there.display());
            return Err(Error::repository(message).hint("forget it: git worktree prune").into());
        }
        Some(there) => there,
        None if !git::refs::branch_exists(git, &branch)?
            && git::refs::remote_branches(git, &branch)?.is_empty() =>
        {
            // Whoever continues it says why there is none.
            return Ok(None);
        }
        None => {
            // A killed `git worktree add` is completed by the session's next command.
            let held = lock::hold_session(context, name, command)?;
            if !git::refs::branch_exists(git, &branch)? {
                git::switch::track_remote(&held.git, &branch)?;
            }
            let path = path.unwrap_or_else(|| default_path(git, name));
            git::worktree::add(&held.git, &path, &branch, None)?.top().to_owned()
        }
    };
    if top == git.top() {
        return Ok(None);
    }
    context.note(format!("working in {}", top.display()));
    Ok(Some(context.in_tree(top)))
}

/// Asks to work in a linked worktree, at the default path, because another run is in this one.
fn leave_to(
    context: &Context,
    holder: Option<&Holder>,
    command: &str,
) -> anyhow::Result<Option<PathBuf>> {
    let error = in_use(holder);
    if !context.attended() {
        return Err(with_option(error, command).into());
    }
    context.ui.clear();
    let answers = [(true, "work in a linked worktree; that run stays as it is"), (false, "cancel")];
    match choose(&Tty::new(context.color), &error.to_string(), &answers, Some(0))? {
        Some(true) => Ok(None),
        _ => Err(cancelled()),
    }
}

/// On a terminal, asks what to do with the user's uncommitted changes.
fn ask_about_dirty_tree(context: &Context, dirty: &[StatusEntry]) -> anyhow::Result<Linked> {
    if !context.attended() {
        return Ok(None);
    }
    context.ui.clear();
    let prompt = format!(
        "{} of your files {} not committed",
        dirty.len(),
        if dirty.len() == 1 { "is" } else { "are" }
    );
    // The value for the option; `None` cancels.
    let answers = [
        (Some(Some(None)), "work in a linked worktree; this one stays as it is"),
        (Some(None), "go on here; these files are protected, never written or committed"),
        (None, "cancel"),
    ];
    let answer = choose(&Tty::new(context.color), &prompt, &answers, Some(0))?.flatten();
    answer.ok_or_else(cancelled)
}

fn cancelled() -> anyhow::Error {
    Error::new(Kind::Interrupted, "cancelled; nothing was changed").into()
}
