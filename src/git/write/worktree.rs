//! Linked working trees: creating and removing them, even if git dies in the middle of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::error::Error;
use crate::git::execute::STARTS;
use crate::git::locate::same_place;
use crate::git::locks;
use crate::git::unfinished::{Added, Removed, Step};
use crate::git::{Change, Git, Oid, RefName, RefTransaction, StatusKind};
use crate::git::{in_the_way, put_back, refs, snapshot, unfinished};

/// The file in the git directory of a linked working tree that marks this tree as being created.
const LOCKED: &str = "locked";

/// Creates a linked working tree at `path` (from the top if relative): for a new branch at `start`,
/// or without `start` for the existing branch.
///
/// # Errors
/// Branch or path exists, or git fails: exit 5.
pub fn add(git: &Git, path: &Path, branch: &str, start: Option<&Oid>) -> Result<Git> {
    let name = RefName::branch(branch)?;
    refs::refuse_dangling(git, &name)?;
    let path = git.top.join(path);
    // Git would create the branch before it notices.
    let is_free = match std::fs::read_dir(&path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => path.symlink_metadata().is_err(),
    };
    if !is_free {
        let message = format!("{} exists already, and is not an empty folder", path.display());
        return Err(Error::repository(message).hint("name another path: -w=PATH").into());
    }
    let step = Added {
        had_path: path.exists(),
        had_branch: refs::branch_exists(git, branch)?,
        path: path.clone(),
        branch: branch.to_owned(),
        start: start.cloned(),
        others: linked_git_dirs(git).map(|dir| name_of(&dir)).collect(),
    };
    let (add, output) = unfinished::noting(
        git,
        || Ok(Step::Add(step.clone())),
        || {
            let mut add = match start {
                Some(start) => git
                    .hooked(["worktree", "add", "--quiet", "--no-track", "-b", branch, "--"])
                    .arg(&path)
                    .arg(start.as_str()),
                None => git.hooked(["worktree", "add", "--quiet", "--"]).arg(&path).arg(branch),
            };
            // Retry only if nothing was created: a second run would fail on what the first created.
            let nothing_made = || {
                let is_free = || matches!(refs::branch_exists(git, branch), Ok(false));
                !path.exists() && (start.is_none() || is_free())
            };
            let mut output = add.attempt(nothing_made, || false)?;
            for _ in 1..STARTS {
                if !output.killed() || end_adding(git, &step)? {
                    break;
                }
                output = add.attempt(nothing_made, || false)?;
            }
            let only_branch = !step.had_path && !path.exists() && !step.had_branch;
            if output.code.is_some_and(|code| code != 0)
                && only_branch
                && refs::branch_exists(git, branch)?
            {
                // Git created only the branch, because another process was at work: add the rest.
                add = git.hooked(["worktree", "add", "--quiet", "--"]).arg(&path).arg(branch);
                output = add.attempt(|| !path.exists(), || false)?;
            }
            Ok((add, output))
        },
    )?;
    match git.at(&path) {
        Ok(linked) if output.success() => Ok(linked),
        // The working tree is complete: only the post-checkout hook failed, or git died.
        Ok(linked) if !step.had_path && linked.head()?.branch() == Some(&name) => Ok(linked),
        Err(error) if output.success() => Err(error),
        _ => Err(add.failure(&output).into()),
    }
}

/// Removes a linked working tree that is clean; git refuses any other.
///
/// # Errors
/// It has changes, or is not a linked working tree.
pub fn remove(git: &Git, path: &Path) -> Result<()> {
    let git_dir = git.at(path)?.git_dir;
    let step = Removed { path: path.to_owned(), git_dir };
    let remove = git.hooked(["worktree", "remove"]).arg(path);
    unfinished::noting(
        git,
        || Ok(Step::Remove(step.clone())),
        || {
            let output = remove.attempt(|| true, || false)?;
            if output.killed() {
                end_removing(git, &step)?;
            }
            Ok(output)
        },
    )
    .and_then(|output| match output.success() || !step.git_dir.exists() {
        true => Ok(()),
        false => Err(remove.failure(&output).into()),
    })
}

/// Creates a linked working tree at `path` that is on no branch and has no files yet; no checkout
/// hook runs. Anything that is already there is removed.
///
/// # Errors
/// Git fails.
pub fn add_empty(git: &Git, path: &Path, at: &Oid) -> Result<Git> {
    discard(git, path)?;
    let add = git.write(["worktree", "add", "--quiet", "--detach", "--no-checkout", "--"]);
    add.arg(path).arg(at.as_str()).checked()?;
    git.at(path)
}

/// Sets a linked working tree, and its index, to exactly the tracked files of a commit or tree.
///
/// # Errors
/// Git fails.
pub fn show(linked: &Git, tree: &Oid) -> Result<()> {
    linked.write(["read-tree", "--reset", "-u"]).arg(tree.as_str()).checked().map(drop)
}

/// Sets a folder, with an index of its own, to exactly the tracked files of a commit or tree. No
/// checkout hook runs. Everything else in the folder is removed, except what `kept` (patterns of
/// `.gitignore`) matches.
///
/// # Errors
/// Git fails, or the folder cannot be created.
pub fn lay_out(git: &Git, folder: &Path, index: &Path, tree: &Oid, kept: &[String]) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let with = |option: &str, path: &Path| {
        let mut word = OsString::from(option);
        word.push(path);
        word
    };
    let in_folder = || {
        let command = git.write(["-c", "core.splitIndex=false", "-c", "index.sparse=false"]);
        let command = command.arg(with("--git-dir=", &git.git_dir));
        command.arg(with("--work-tree=", folder)).env("GIT_INDEX_FILE", index)
    };
    let show = || in_folder().args(["read-tree", "--reset", "-u"]).arg(tree.as_str()).checked();
    if let Err(error) = show() {
        // A killed git leaves a lock, or an index that nobody can read.
        tracing::info!("laying out {} again: {error:#}", folder.display());
        let _ = std::fs::remove_file(locks::with_lock(index));
        let _ = std::fs::remove_file(index);
        show()?;
    }
    let mut clean = in_folder().args(["clean", "-ffdxq"]);
    for pattern in kept {
        clean = clean.arg("-e").arg(pattern);
    }
    clean.checked().map(drop)
}

/// Like [`show`], for a working tree in which another program ran. Whatever that program did, the
/// tree belongs to this repository again afterwards, on no branch, at the commit `at`.
///
/// # Errors
/// Git fails, or something cannot be replaced.
pub fn show_at(linked: &Git, at: &Oid, tree: &Oid) -> Result<()> {
    point_to(&linked.top, &linked.git_dir)?;
    linked.write(["update-ref", "--no-deref", "HEAD"]).arg(at.as_str()).checked()?;
    show(linked, tree)
}

/// Opens the linked working tree that [`add_empty`] created at `path`, and first restores its
/// `.git`, which another program may have changed.
///
/// # Errors
/// There is none, or something cannot be replaced.
pub fn take_up(git: &Git, path: &Path) -> Result<Git> {
    if let Some(git_dir) = git_dirs_of(git, path).next() {
        point_to(path, &git_dir)?;
    }
    git.at(path)
}

/// Makes the `.git` of a linked working tree point to its git directory, whatever is there.
fn point_to(top: &Path, git_dir: &Path) -> Result<()> {
    let pointer = top.join(".git");
    let text = format!("gitdir: {}\n", git_dir.display());
    let meta = pointer.symlink_metadata();
    if meta.as_ref().is_ok_and(std::fs::Metadata::is_file)
        && std::fs::read_to_string(&pointer).is_ok_and(|meta| meta == text)
    {
        return Ok(());
    }
    let removal = match meta {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(&pointer),
        Ok(_) => std::fs::remove_file(&pointer),
        Err(_) => Ok(()),
    };
    let written = removal.and_then(|()| std::fs::write(&pointer, &text));
    written.with_context(|| format!("writing {}", pointer.display()))
}

/// Removes a linked working tree with everything in it, even if git did not finish creating it.
///
/// # Errors
/// Something cannot be removed.
pub fn discard(git: &Git, path: &Path) -> Result<()> {
    let git_dirs: Vec<PathBuf> = git_dirs_of(git, path).collect();
    // Remove the folder last: as long as it exists, its git directories can be found.
    let folder = path.exists().then(|| path.to_owned());
    for dir in git_dirs.into_iter().chain(folder) {
        std::fs::remove_dir_all(&dir).with_context(|| format!("removing {}", dir.display()))?;
    }
    Ok(())
}

/// After git died: completes the working tree if its git directory is usable, else removes what git
/// left of it. Returns true if the working tree exists now.
pub(crate) fn end_adding(git: &Git, step: &Added) -> Result<bool> {
    let name = RefName::branch(&step.branch)?;
    let pointer = step.path.join(".git");
    let is_new = |dir: &PathBuf| !step.others.contains(&name_of(dir));
    let is_its = |dir: &PathBuf| match std::fs::read_to_string(dir.join("gitdir")) {
        Ok(text) => {
            let top = Path::new(text.trim_end()).parent();
            top.is_some_and(|top| same_place(top, &step.path))
        }
        // Git had not written `gitdir` yet: compare the name of the folder.
        Err(_) => {
            let folder = step.path.file_name().unwrap_or_default().to_string_lossy();
            name_of(dir).starts_with(&*folder)
        }
    };
    let git_dir = linked_git_dirs(git).filter(is_new).find(is_its);
    if git_dir.as_ref().is_some_and(|dir| !is_being_made(dir)) {
        // Git finished after the run had died. Whatever is there now is a person's.
        return Ok(true);
    }
    if let Ok(linked) = git.at(&step.path) {
        if git_dir.is_some() && linked.head().is_ok_and(|head| head.branch() == Some(&name)) {
            fill(&linked)?;
            return Ok(true);
        }
        if git_dir.is_none() {
            // Somebody has created another working tree there.
            return Ok(false);
        }
    }
    if let Some(dir) = git_dir {
        std::fs::remove_dir_all(&dir).with_context(|| format!("removing {}", dir.display()))?;
        // Git had checked out no files, so only its `.git` is removed; files that a person has
        // put there stay.
        let _ = std::fs::remove_file(&pointer);
    }
    if !step.had_path {
        let _ = std::fs::remove_dir(&step.path);
    }
    if let (false, Some(start)) = (step.had_branch, &step.start)
        && git.resolve(name.as_str())?.as_ref() == Some(start)
    {
        let why = "cowork: its working tree was not created";
        RefTransaction::new(why).delete(&name, start).commit(git)?;
    }
    Ok(false)
}

/// Checks out the missing files of a working tree that git had begun to fill.
fn fill(git: &Git) -> Result<()> {
    let lock = git.git_dir.join("index.lock");
    if lock.is_file() && locks::holder(&lock, &git.top).is_some() {
        locks::require_unlocked(git)?;
    } else if lock.is_file() {
        std::fs::remove_file(&lock).with_context(|| format!("removing {}", lock.display()))?;
    }
    if !git.git_dir.join("index").exists() {
        git.write(["read-tree", "HEAD"]).checked()?;
    }
    let Some(head) = git.resolve("HEAD")? else { return Ok(()) };
    let mut missing = Vec::new();
    for entry in git.status()? {
        let path = entry.path;
        let is_ours = match entry.kind {
            StatusKind::Tracked { unstaged: Change::Deleted, .. } => true,
            StatusKind::Tracked { unstaged: Change::Modified, .. } => {
                put_back::is_cut(git, &path, &[snapshot::blob_id(git, &head, &path)?.as_ref()])?
            }
            _ => false,
        };
        if is_ours {
            missing.push(path);
        }
    }
    put_back::write_paths(git, &head, &missing, false)?;
    let lock_file = git.git_dir.join(LOCKED);
    if is_initializing(&lock_file) {
        std::fs::remove_file(&lock_file)
            .with_context(|| format!("removing {}", lock_file.display()))?;
    }
    Ok(())
}

/// If git was killed while it removed a working tree, removes the remaining files, unless somebody
/// has added files in the meantime.
pub(crate) fn end_removing(git: &Git, step: &Removed) -> Result<bool> {
    if !step.git_dir.exists() {
        return Ok(false);
    }
    if step.path.exists() {
        let pointer = step.path.join(".git");
        if !pointer.exists() {
            let text = format!("gitdir: {}\n", step.git_dir.display());
            std::fs::write(&pointer, text)
                .with_context(|| format!("writing {}", pointer.display()))?;
        }
        let tree = git.at(&step.path)?;
        let is_deletion = |kind| {
            matches!(kind, StatusKind::Tracked { staged: Change::None, unstaged: Change::Deleted })
        };
        let more = tree.status()?.into_iter().any(|entry| !is_deletion(entry.kind));
        if more || !in_the_way::unknown_files(&tree)?.is_empty() {
            fill(&tree)?;
            return Ok(false);
        }
    }
    let remove = git.hooked(["worktree", "remove", "--force"]).arg(&step.path);
    remove.checked().map(|_| true)
}

/// The git directories of the linked working tree at a path: one, or none.
fn git_dirs_of(git: &Git, path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let path = path.to_owned();
    linked_git_dirs(git).filter(move |dir| {
        let text = std::fs::read_to_string(dir.join("gitdir")).unwrap_or_default();
        Path::new(text.trim_end()).parent().is_some_and(|its| same_place(its, &path))
    })
}

fn linked_git_dirs(git: &Git) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(git.common_dir.join("worktrees"));
    entries.into_iter().flatten().flatten().map(|entry| entry.path())
}

fn name_of(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
/// True if git has not finished creating the working tree of this git directory
/// (`builtin/worktree.c`, `add_worktree`).
fn is_being_made(git_dir: &Path) -> bool {
    !git_dir.join("HEAD").exists() || is_initializing(&git_dir.join(LOCKED))
}

fn is_initializing(locked: &Path) -> bool {
    std::fs::read_to_string(locked).is_ok_and(|why| why.trim_end() == "initializing")
}
