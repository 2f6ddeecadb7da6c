//! The paths that a model may access. Every file tool resolves its path here, once, and uses only
//! the result.
//!
//! Two layers: first the names in the path are checked, without accessing the disk; then the path
//! is resolved through a handle of the root that confines symbolic links to the tree, and the names
//! of the real path are checked again, because a link inside the tree may still lead to `.git`. On
//! Linux, one look that follows no link is usually enough: a path without links is the real one.
//! Later accesses to the resolved path follow no links (`nofollow.rs`).

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Component, Path};

use cap_std::fs::Metadata;

use crate::workspace::files::portable;
use crate::workspace::refusal::Refusal;
use crate::workspace::working_tree::WorkingTree;

/// The caller and the intended access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A model reads.
    Look,
    /// A model writes.
    Change,
    /// A typed tool reads or writes a session artifact.
    Artifact,
}

/// True if some file system treats a name as `.git`: any case, characters that HFS+ ignores, NTFS
/// trailing dots, spaces and streams, and 8.3 short names.
pub fn is_dot_git(name: &str) -> bool {
    means(name, ".git", "git~")
}

/// True if some file system treats `name` as the same name as `dotted`. The 8.3 short names of
/// `dotted` begin with `short`.
pub(crate) fn means(name: &str, dotted: &str, short: &str) -> bool {
    // Most names begin with another ASCII character and need no closer look.
    let begin = name.chars().next().filter(char::is_ascii).map(|c| c.to_ascii_lowercase());
    if begin.is_some_and(|begin| !dotted.starts_with(begin) && !short.starts_with(begin)) {
        return false;
    }
    let ignored = |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name: String = name.chars().filter(|c| !ignored(*c)).collect();
    let name = name.split([':', '\\']).next().unwrap_or_default();
    let name = name.trim_end_matches(['.', ' ']).to_lowercase();
    name == dotted
        || name
            .strip_prefix(short)
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the metadata of a path, which may be a link; `None` if the path is refused.
pub(crate) fn metadata(tree: &WorkingTree, path: &str) -> Option<Metadata> {
    tree.dir.metadata(resolve_entry(tree, path, Purpose::Look).ok()?).ok()
}

/// Resolves an existing path: without links, relative to the root (`.` is the root itself).
pub(crate) fn resolve(tree: &WorkingTree, path: &str, purpose: Purpose) -> Result<String, Refusal> {
    let named = judge(tree, path, purpose)?;
    if is_real(&tree.look(&named), false) {
        return Ok(named);
    }
    match tree.dir.canonicalize(&named) {
        Ok(real) => judge_real(tree, &named, &real, purpose),
        Err(error) => Err(why_not(tree, &named, &error)),
    }
}

/// Like [`resolve`], but the last components may be missing.
pub(crate) fn resolve_new(
    tree: &WorkingTree,
    path: &str,
    purpose: Purpose,
) -> Result<String, Refusal> {
    let named = judge(tree, path, purpose)?;
    if is_real(&tree.look(&named), true) {
        return Ok(named);
    }
    let mut there = Path::new(&named);
    let mut missing = Vec::new();
    loop {
        match tree.dir.symlink_metadata(there) {
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(why_not(tree, &named, &error)),
        }
        let (Some(name), Some(parent)) = (there.file_name(), there.parent()) else {
            break;
        };
        missing.push(name);
        there = parent;
    }
    let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    let mut real = tree.dir.canonicalize(there).map_err(|error| why_not(tree, &named, &error))?;
    real.extend(missing.iter().rev());
    judge_real(tree, &named, &real, purpose)
}

/// Resolves the directory entry itself: links are resolved in its parents, not in the last
/// component.
pub(crate) fn resolve_entry(
    tree: &WorkingTree,
    path: &str,
    purpose: Purpose,
) -> Result<String, Refusal> {
    let named = judge(tree, path, purpose)?;
    let Some((parent, name)) = named.rsplit_once('/') else {
        return Ok(named);
    };
    let real = tree.dir.canonicalize(parent).map_err(|error| why_not(tree, &named, &error))?;
    judge_real(tree, &named, &real.join(name), purpose)
}

/// True if a look that follows no link shows that the path contains none. Always false outside
/// Linux: file systems there usually ignore case, so the path's names may differ from the real ones.
/// With `may_be_missing`, its end need not exist: a link on the way would be another error than
/// "not found", because a link is never entered, and a last link is found itself.
fn is_real(look: &std::io::Result<Metadata>, may_be_missing: bool) -> bool {
    cfg!(target_os = "linux")
        && match look {
            Ok(metadata) => !metadata.is_symlink(),
            Err(error) => may_be_missing && error.kind() == ErrorKind::NotFound,
        }
}

/// Refuses changes to a person's files and to files of another repository. `exists` says whether
/// something is at the path.
pub(crate) fn refuse_protected(
    tree: &WorkingTree,
    path: &str,
    exists: bool,
) -> Result<(), Refusal> {
    refuse_nested(tree, path)?;
    if is_protected(tree, path, exists) || exists && was_edited_meanwhile(tree, path) {
        tree.protection.note_refused(path);
        return Err(Refusal::protected(format!(
            "{path} has uncommitted changes: the person you work for has edits there that \
             git does not have; leave it alone, or ask them"
        )));
    }
    Ok(())
}

/// Refuses to change files of a submodule or a nested repository: the session could not commit
/// them.
fn refuse_nested(tree: &WorkingTree, path: &str) -> Result<(), Refusal> {
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    for folder in folders.filter(|folder| !folder.starts_with(".cowork")) {
        let is_repository = tree.look(&format!("{folder}/.git")).is_ok();
        if is_repository || is_submodule(tree, folder) {
            return Err(Refusal::guard(format!(
                "Security: {folder} is a separate repository (a submodule or a nested one); \
                 its files can be read, but changing them is not allowed, because this \
                 session could not commit it. Do without it, and say at the end what should \
                 change there"
            )));
        }
    }
    Ok(())
}

/// True if the folder is a submodule's, checked out or not.
pub(crate) fn is_submodule(tree: &WorkingTree, folder: &str) -> bool {
    let Some(tracking) = &tree.tracking else { return false };
    let known = tree.submodules.get_or_init(|| {
        tracking.submodules().unwrap_or_else(|error| {
            tracing::warn!("cannot list the submodules: {error:#}");
            BTreeSet::new()
        })
    });
    known.contains(folder)
}

/// True if a person has changed the existing file since this run began: its content is neither a tool's nor
/// committed.
fn was_edited_meanwhile(tree: &WorkingTree, path: &str) -> bool {
    !path.starts_with(".cowork/") && is_persons_edit(tree, path)
}

/// True if the content of an existing file is neither a tool's nor committed.
pub(crate) fn is_persons_edit(tree: &WorkingTree, path: &str) -> bool {
    let Some(tracking) = &tree.tracking else { return false };
    !tree.written().is_as_written(path)
        && tracking.is_uncommitted(path).unwrap_or_else(|error| {
            tracing::warn!("assuming that {path} is a person's edit: {error:#}");
            true
        })
}

/// True for a protected path, and for an existing file in a protected directory.
fn is_protected(tree: &WorkingTree, path: &str, exists: bool) -> bool {
    if tree.protection.is_allowed(path) {
        return false;
    }
    tree.protection.names(path) || exists && tree.protection.names_folder_of(path)
}

/// Checks a path by the names in it, without following links, and returns its normal form.
fn judge(tree: &WorkingTree, path: &str, purpose: Purpose) -> Result<String, Refusal> {
    portable::refuse_long(path)?;
    if path.chars().any(char::is_control) {
        return Err(Refusal::guard("Security: Control characters in paths are not allowed"));
    }
    let mut relative = Path::new(path);
    if relative.is_absolute() {
        // Models repeat absolute paths they saw in a compiler's output.
        relative = relative
            .strip_prefix(&tree.root)
            .map_err(|_| Refusal::guard("Security: Absolute paths are not allowed"))?;
    }
    if looks_absolute_elsewhere(path) {
        return Err(Refusal::guard("Security: Absolute paths are not allowed"));
    }
    judge_names(tree, relative, purpose)
}

fn judge_real(
    tree: &WorkingTree,
    named: &str,
    real: &Path,
    purpose: Purpose,
) -> Result<String, Refusal> {
    judge_names(tree, real, purpose).map_err(|refusal| {
        if named == real.to_string_lossy() {
            refusal
        } else {
            Refusal::guard(format!("{named} leads elsewhere: {}", refusal.message))
        }
    })
}

/// Checks the components of a path and returns its normal form.
pub(crate) fn judge_names(
    tree: &WorkingTree,
    path: &Path,
    purpose: Purpose,
) -> Result<String, Refusal> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                return Err(Refusal::guard(
                    "Security: Parent directory access (..) is not allowed",
                ));
            }
            Component::RootDir | Component::Prefix(_) => {
                return Err(Refusal::guard("Security: Absolute paths are not allowed"));
            }
            Component::Normal(name) => {
                let name = name.to_str().ok_or_else(|| {
                    Refusal::failed("a name in this path is not UTF-8 and cannot be addressed")
                })?;
                if is_dot_git(name) || name.split('\\').any(is_dot_git) {
                    return Err(Refusal::guard(
                        "Security: Access to .git is not allowed; git-cowork runs git \
                         and commits the files you change",
                    ));
                }
                names.push(name);
            }
        }
    }
    judge_cowork(tree, &names, purpose)?;
    let path = if names.is_empty() { ".".to_owned() } else { names.join("/") };
    if is_private(tree, &path) {
        return Err(Refusal::private(&path));
    }
    Ok(path)
}

/// True for a private path, also if it is one by its place in a repository below the tree.
fn is_private(tree: &WorkingTree, path: &str) -> bool {
    let is_there = |at: usize| tree.look(&format!("{}/.git", &path[..at])).is_ok();
    let is_there = |at: usize| is_there(at) && tree.private.has(&path[at + 1..]);
    tree.private.has(path)
        || tree.private.is_set() && path.match_indices('/').any(|(at, _)| is_there(at))
}

/// `.cowork` belongs to git-cowork: a model can read its own session there, and only the tools for
/// session documents can write.
fn judge_cowork(tree: &WorkingTree, names: &[&str], purpose: Purpose) -> Result<(), Refusal> {
    let inside = names.first().is_some_and(|name| means(name, ".cowork", "cowork~"));
    if !inside && purpose != Purpose::Artifact {
        return Ok(());
    }
    let path = names.join("/");
    let own = tree.artifact_dirs.iter().any(|dir| {
        path.strip_prefix(dir.as_str()).is_some_and(|rest| {
            // The records of a change request belong to another session.
            let others = purpose == Purpose::Look;
            rest.is_empty() || rest.starts_with('/') && !(others && below_changes(&rest[1..]))
        })
    });
    match purpose {
        Purpose::Look | Purpose::Artifact if own => Ok(()),
        Purpose::Change if own => Err(Refusal::guard(
            "Security: Session documents are written with their own tools (save_…, create_…, \
             update_…), not with the file tools",
        )),
        Purpose::Look | Purpose::Change | Purpose::Artifact => Err(Refusal::guard(
            "Security: Access to .cowork is not allowed, except to this session's documents",
        )),
    }
}

/// Returns the refusal for a failed path resolution.
fn why_not(tree: &WorkingTree, path: &str, error: &std::io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::NotFound if tree.dir.symlink_metadata(path).is_ok() => {
            Refusal::failed(format!("{path} is a symbolic link that leads nowhere"))
        }
        ErrorKind::NotFound => Refusal::failed(format!("{path} does not exist")),
        // cap-std reports an escape as a denied permission without an OS error.
        ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            Refusal::guard(format!("Security: {path} leads out of the working tree"))
        }
        _ => tree.io_errors.unreadable(path, std::io::Error::new(error.kind(), error.to_string())),
    }
}

/// True if a path in a session's folder is in the records of its change requests.
fn below_changes(path: &str) -> bool {
    path.split('/').next().is_some_and(|name| name.eq_ignore_ascii_case("changes"))
}

/// True for a path that is absolute on another system: with a drive or a share, or in a home.
fn looks_absolute_elsewhere(path: &str) -> bool {
    let bytes = path.as_bytes();
    let drive = bytes.len() > 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/');
    !cfg!(windows) && drive || path.starts_with("\\\\") || path == "~" || path.starts_with("~/")
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
