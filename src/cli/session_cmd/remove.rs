//! Removing and restoring a session: `archive` and `delete` remove its branch without losing work,
//! `restore` and `undo` bring an attempt back, even of a deleted session.

use std::path::{Path, PathBuf};

use crate::clean::few;
use crate::cli::args::{Answer, SessionArg};
use crate::cli::context::Context;
use crate::cli::session_cmd::lock::{self, LockedSession};
use crate::cli::session_cmd::workspace::with_recorder;
use crate::cli::session_cmd::{find, models, open, preflight, run};
use crate::error::{Error, hints_of};
use crate::gate::{Mode, Tty, confirm};
use crate::git::{self, Git, Oid};
use crate::record;
use crate::session::{
    Attempt, KeptDraft, RefNames, Session, SessionName, Verdict, began, drafts_of_a_person, exists,
    kept_draft,
};

/// Maximum number of files that a message lists.
const NAMED: usize = 10;

/// What is done with the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// Its tip stays in the archive.
    Archive,
    /// Its tip stays as an attempt.
    Delete(Consent),
}

/// How the user agrees to the deletion of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// By an option on the command line.
    Given,
    /// By a question.
    Asked,
    /// Not needed (`--dry-run`): only print what would be deleted.
    Never,
}

/// Removes the branch of the session that the arguments name.
pub(crate) fn remove(context: &Context, args: &SessionArg, removal: Removal) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    preflight::check(git, &refs)?;
    let name = find::session_name(context, args.name.as_ref())?;
    let session = match Session::find(git, &refs, &name) {
        Err(error) if exists(git, &refs, &name)? => {
            let branch = refs.short_branch(&name);
            let hints = hints_of(&error).iter();
            return Err(hints
                .fold(Error::repository(format!("{error:#}")), Error::hint)
                .hint(format!("or delete the branch, without a way back: git branch -D {branch}"))
                .into());
        }
        found => found?,
    };
    let command =
        if removal == Removal::Archive { "git cowork archive" } else { "git cowork delete" };
    let is_dry = removal == Removal::Delete(Consent::Never);
    let held = lock::hold_with(context, &name, command, !is_dry)?;
    let tip = session.tip.clone();
    may_leave(context, &held, &refs, &session)?;
    if let Removal::Delete(consent) = removal
        && !is_wanted(context, &session, consent)?
    {
        return Ok(0);
    }
    // First save what would be lost, then remove the branch.
    let number = keep(context, &held, &session, removal)?;
    leave_branch(context, &held, &refs, &session)?;
    with_recorder(context, &held, &name, &tip, |recorder| match removal {
        Removal::Archive => record::archive::archive(recorder, &tip),
        Removal::Delete(_) => record::archive::delete(recorder, &tip),
    })?;
    say(context, &name, removal, number);
    Ok(0)
}

/// True if the session is to be deleted; asks the user if necessary.
fn is_wanted(context: &Context, session: &Session, consent: Consent) -> anyhow::Result<bool> {
    let name = &session.name;
    match consent {
        Consent::Given => Ok(true),
        Consent::Never => {
            let branch = context.refs()?.short_branch(name);
            let tip = session.tip.short();
            context.note(format!(
                "would delete {branch} ({tip}) and its tags, and keep its tip as an attempt"
            ));
            Ok(false)
        }
        Consent::Asked if context.attended() => {
            let question = format!("delete {name}? Its tip stays as an attempt.");
            match confirm(&Tty::new(context.color), &question)? {
                true => Ok(true),
                false => Err(Error::failed("nothing was deleted").into()),
            }
        }
        Consent::Asked => Err(Error::usage("there is no terminal to confirm the deletion on")
            .hint(format!("delete without asking: git cowork delete {name} --yes"))
            .into()),
    }
}

/// Checks that switching to the base loses nothing, before anything is changed.
fn may_leave(
    context: &Context,
    held: &LockedSession,
    refs: &RefNames,
    session: &Session,
) -> anyhow::Result<()> {
    if !standing_on(&held.git, refs, &session.name)? {
        return match linked_tree(&held.git, refs, &session.name)? {
            Some(path) => is_clean(&held.git, &path),
            None => Ok(()),
        };
    }
    if let Some(elsewhere) = checked_out(&held.git, &session.file.base.branch)? {
        let (here, there) = (held.git.top().display(), elsewhere.display());
        return Err(Error::repository(format!(
            "cannot switch {here} away from {}",
            refs.short_branch(&session.name)
        ))
        .hint(format!(
            "{} is checked out in {there}; run the command there (it also removes the working tree \
             {here}): cd {there}",
            session.file.base.branch
        ))
        .into());
    }
    let target = base_of(&held.git, session)?;
    let tip = &session.tip;
    with_recorder(context, held, &session.name, tip, |recorder| {
        record::attempt::check_rewind(recorder, tip, &target)
    })
}

/// Checks that a linked working tree has no uncommitted files.
fn is_clean(git: &Git, path: &Path) -> anyhow::Result<()> {
    let dirty = git.at(path)?.status()?;
    if dirty.is_empty() {
        return Ok(());
    }
    let paths: Vec<String> = dirty.into_iter().map(|entry| entry.path).collect();
    let path = path.display();
    let message = format!("the session's working tree {path} has uncommitted files");
    Err(Error::repository(format!("{message}: {}", paths.join(", ")))
        .hint("commit or move away what you need, then run the command again")
        .hint(format!("or discard all of them: git worktree remove --force {path}"))
        .into())
}

/// The commit to switch to: the tip of the base branch, or the commit the session started from.
fn base_of(git: &Git, session: &Session) -> anyhow::Result<Oid> {
    let base = &session.file.base;
    let branch = RefNames::local(&base.branch);
    match git.resolve(&branch)?.filter(|_| !base.branch.is_empty()) {
        Some(tip) => Ok(tip),
        None => began(git, session),
    }
}

/// Saves as an attempt whatever no ref would contain after the removal.
fn keep(
    context: &Context,
    held: &LockedSession,
    session: &Session,
    removal: Removal,
) -> anyhow::Result<Option<u32>> {
    let (name, tip) = (&session.name, &session.tip);
    let refs = context.refs()?;
    let is_here = standing_on(&held.git, &refs, name)?;
    with_recorder(context, held, name, tip, |recorder| {
        if matches!(removal, Removal::Delete(_)) {
            return record::attempt::keep(recorder, tip, "deleted", Verdict::Aborted).map(Some);
        }
        let stage = session.next_stage();
        let draft = stage.map(|stage| kept_draft(&held.git, session, stage)).transpose()?.flatten();
        let open_draft = match draft {
            Some(KeptDraft::Live(draft) | KeptDraft::Elsewhere(draft)) => Some(draft.commit),
            Some(KeptDraft::Aborted | KeptDraft::LeftBehind(_)) | None => None,
        };
        let edits = drafts_of_a_person(&held.git, session)?;
        let mut number = if open_draft.is_some() || !edits.is_empty() {
            let words = if open_draft.is_some() { "a draft" } else { "your edits of drafts" };
            let reason = format!("archived with {words}");
            Some(record::archive::keep_drafts(recorder, tip, open_draft.as_ref(), &edits, &reason)?)
        } else {
            None
        };
        if is_here && record::attempt::would_lose(recorder, tip)? {
            number = Some(record::attempt::keep(recorder, tip, "archived", Verdict::Passed)?);
        }
        Ok(number)
    })
}

fn standing_on(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<bool> {
    Ok(git.head()?.branch() == Some(&refs.branch(name)))
}

/// Makes sure that the branch is not checked out. If it is checked out here, switches to its base.
/// If it is in a linked working tree, removes that tree, or detaches HEAD there if it cannot be
/// removed or files would be lost.
fn leave_branch(
    context: &Context,
    held: &LockedSession,
    refs: &RefNames,
    session: &Session,
) -> anyhow::Result<()> {
    let git = &held.git;
    if standing_on(git, refs, &session.name)? {
        with_recorder(context, held, &session.name, &session.tip, |recorder| {
            record::draft_refs::reset_files(recorder, &session.tip)
        })?;
        return go_to_base(git, session);
    }
    match linked_tree(git, refs, &session.name)? {
        Some(path) => leave_worktree(context, git, &path, &session.tip),
        None => Ok(()),
    }
}

/// The working tree in which the session's branch is checked out.
fn linked_tree(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<Option<PathBuf>> {
    git::refs::checked_out_in(git, &refs.branch(name))
}

/// The working tree a branch is checked out in.
fn checked_out(git: &Git, branch: &str) -> anyhow::Result<Option<PathBuf>> {
    let branches = git::refs::list(git, &[RefNames::local(branch)])?;
    let entry = branches.into_iter().find(|info| info.name.short() == branch);
    Ok(entry.and_then(|info| info.worktree))
}

fn go_to_base(git: &Git, session: &Session) -> anyhow::Result<()> {
    let base = &session.file.base;
    if !base.branch.is_empty() && git::refs::branch_exists(git, &base.branch)? {
        return git::switch::to(git, &base.branch);
    }
    git::switch::detach(git, &base_of(git, session)?)
}

/// Removes a linked working tree, unless it has ignored files: git would remove those silently, and
/// they may be build output or files that the user needs. The user has to remove such a tree.
fn leave_worktree(context: &Context, git: &Git, path: &Path, tip: &Oid) -> anyhow::Result<()> {
    let tree = git.at(path)?;
    let ignored_paths = git::in_the_way::unknown_files(&tree)?;
    let why = if ignored_paths.is_empty() {
        match git::worktree::remove(git, path) {
            Ok(()) => {
                context.note(format!("removed the working tree {}", path.display()));
                return Ok(());
            }
            // git refuses because the tree is locked or contains submodules.
            Err(error) => format!("git cannot remove it: {error:#}"),
        }
    } else {
        format!("it contains files that git ignores: {}", few(&ignored_paths, NAMED, ", "))
    };
    git::switch::detach(&tree, tip)?;
    let path = path.display();
    context.note(format!(
        "the working tree {path} is kept, with a detached HEAD: {why}\n\
         if you need nothing in it: git worktree remove {path}"
    ));
    Ok(())
}

fn say(context: &Context, name: &SessionName, removal: Removal, kept: Option<u32>) {
    let note = |text: String| context.note(text);
    match removal {
        Removal::Archive => {
            note(format!("{name} is archived; restore it: git cowork restore {name}"))
        }
        Removal::Delete(_) => {
            note(format!("{name} is deleted; undo: git cowork undo --session {name}"))
        }
    }
    if let (Removal::Archive, Some(kept)) = (removal, kept) {
        note(format!("its unfinished work is attempt {kept}: git cowork restore {name} {kept}"));
    }
}

/// Restores an attempt, even of a deleted session.
pub(crate) fn restore_attempt(context: &Context, refs: &RefNames, attempt: &Attempt) -> Answer {
    let name = &attempt.session;
    context.ui.set_session(name);
    let is_deleted = !exists(context.git()?, refs, name)?;
    if is_deleted {
        restore_branch(context, refs, attempt)?;
    }
    let command = "git cowork restore";
    let (held, session) = open::take_after(context, Some(name), None, command, |git, session| {
        if is_deleted {
            return Ok(());
        }
        let action = format!("restoring attempt {}", attempt.number);
        open::may_leave(context, git, session, &attempt.tip, &action)
    })?;
    let models = models::none();
    run::with_pipeline(context, &held, &models, Mode::Wait, session, |pipeline| {
        pipeline.restore(attempt)
    })?;
    say_next(context, name);
    Ok(0)
}

/// Creates the branch of a deleted session again, at the attempt's tip.
fn restore_branch(context: &Context, refs: &RefNames, attempt: &Attempt) -> anyhow::Result<()> {
    let git = context.git()?;
    let _held = lock::hold(context, &attempt.session, "git cowork restore")?;
    git::switch::to_new(git, &refs.short_branch(&attempt.session), &attempt.tip)
}

/// Prints the command that continues the session.
pub(crate) fn say_next(context: &Context, name: &SessionName) {
    context.note(format!("continue: git cowork resume {name}"));
}
