//! Which paths a model may name. Every file tool resolves its path here, once, and works with the
//! result only.
//!
//! Two layers: names are judged first, without looking at the disk; then the path is resolved
//! through a capability to the root, which no symbolic link leads out of, and the names it
//! really has are judged again, because a link inside the tree may still lead to `.git`.

use std::io::ErrorKind;
use std::path::{Component, Path};

use super::{Refusal, Workspace};

/// Who asks, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A model wants to look.
    Look,
    /// A model wants to change.
    Change,
    /// A typed tool reads or writes an artifact of the session.
    Artifact,
}

/// Files that git itself acts upon, so a person decides about them.
const GIT_ACTS_ON: [&str; 2] = [".gitattributes", ".gitmodules"];

/// Whether a name means `.git` to some file system: any case, characters that HFS+ ignores, NTFS
/// trailing dots, spaces and streams, and 8.3 short names.
pub fn is_dot_git(name: &str) -> bool {
    let ignored = |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name: String = name.chars().filter(|c| !ignored(*c)).collect();
    let name = name.split([':', '\\']).next().unwrap_or_default();
    let name = name.trim_end_matches(['.', ' ']).to_lowercase();
    name == ".git"
        || name
            .strip_prefix("git~")
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

impl Workspace {
    /// The path of something a model may look at, free of links and relative to the root.
    pub fn existing(&self, path: &str) -> Result<String, Refusal> {
        self.resolve(path, Purpose::Look)
    }

    /// The path of something that is there, free of links and relative to the root (`.` is the
    /// root itself).
    pub(super) fn resolve(&self, path: &str, purpose: Purpose) -> Result<String, Refusal> {
        let named = self.judge(path, purpose)?;
        match self.dir.canonicalize(&named) {
            Ok(real) => self.judge_real(&named, &real, purpose),
            Err(error) => Err(self.why_not(&named, &error)),
        }
    }

    /// Like [`Self::resolve`], but the last parts may still be missing.
    pub(super) fn resolve_new(&self, path: &str, purpose: Purpose) -> Result<String, Refusal> {
        let named = self.judge(path, purpose)?;
        let mut there = Path::new(&named);
        let mut missing = Vec::new();
        loop {
            match self.dir.symlink_metadata(there) {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(self.why_not(&named, &error)),
            }
            let (Some(name), Some(parent)) = (there.file_name(), there.parent()) else {
                break;
            };
            missing.push(name);
            there = parent;
        }
        let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        let mut real =
            self.dir.canonicalize(there).map_err(|error| self.why_not(&named, &error))?;
        real.extend(missing.iter().rev());
        self.judge_real(&named, &real, purpose)
    }

    /// The directory entry itself: links in its parents are resolved, the last one is not.
    pub(super) fn resolve_entry(&self, path: &str, purpose: Purpose) -> Result<String, Refusal> {
        let named = self.judge(path, purpose)?;
        let Some((parent, name)) = named.rsplit_once('/') else {
            return Ok(named);
        };
        let real = self.dir.canonicalize(parent).map_err(|error| self.why_not(&named, &error))?;
        self.judge_real(&named, &real.join(name), purpose)
    }

    /// Refuses to change what is a person's.
    pub(super) fn refuse_protected(&self, path: &str) -> Result<(), Refusal> {
        if self.is_protected(path) || self.was_edited_meanwhile(path) {
            self.refused.borrow_mut().insert(path.to_owned());
            return Err(Refusal::protected(format!(
                "{path} has your uncommitted changes: the person you work for has edits there that \
                 git does not have; leave it alone, or ask them"
            )));
        }
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        if GIT_ACTS_ON.contains(&name.as_str()) && !self.allowed.borrow().contains(path) {
            return Err(Refusal::protected(format!(
                "{path} is protected: git acts on it, so a person changes it"
            )));
        }
        Ok(())
    }

    /// True when a person has changed the code there since this run began: neither a tool nor a
    /// commit has what lies there.
    fn was_edited_meanwhile(&self, path: &str) -> bool {
        !path.starts_with(".cowork/") && self.is_persons_edit(path)
    }

    /// True when something lies there that neither a tool nor a commit has.
    pub(super) fn is_persons_edit(&self, path: &str) -> bool {
        let Some(tracking) = &self.tracking else { return false };
        self.dir.symlink_metadata(path).is_ok()
            && !self.is_as_written(path)
            && tracking.is_uncommitted(path).unwrap_or_else(|error| {
                tracing::warn!("{path} is taken for a person's: {error:#}");
                true
            })
    }

    /// True for a protected path, and for a file that exists below a protected directory.
    fn is_protected(&self, path: &str) -> bool {
        if self.allowed.borrow().contains(path) {
            return false;
        }
        let protected = self.protected.borrow();
        let below = |(at, _): (usize, &str)| protected.contains(&path[..=at]);
        protected.contains(path)
            || (path.match_indices('/').any(below) && self.dir.symlink_metadata(path).is_ok())
    }

    /// Judges a path by its names alone and gives it in normal form.
    fn judge(&self, path: &str, purpose: Purpose) -> Result<String, Refusal> {
        if path.chars().any(char::is_control) {
            return Err(Refusal::guard("Security: Control characters in paths are not allowed"));
        }
        let mut relative = Path::new(path);
        if relative.is_absolute() {
            // Models repeat absolute paths they saw in a compiler's output.
            relative = relative
                .strip_prefix(&self.root)
                .map_err(|_| Refusal::guard("Security: Absolute paths are not allowed"))?;
        }
        if looks_absolute_elsewhere(path) {
            return Err(Refusal::guard("Security: Absolute paths are not allowed"));
        }
        self.judge_names(relative, purpose)
    }

    fn judge_real(&self, named: &str, real: &Path, purpose: Purpose) -> Result<String, Refusal> {
        self.judge_names(real, purpose).map_err(|refusal| {
            if named == real.to_string_lossy() {
                refusal
            } else {
                Refusal::guard(format!("{named} leads elsewhere: {}", refusal.message))
            }
        })
    }

    fn judge_names(&self, path: &Path, purpose: Purpose) -> Result<String, Refusal> {
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
                            "Security: Access to .git is not allowed; git is the program's \
                             business, files you change are recorded for you",
                        ));
                    }
                    names.push(name);
                }
            }
        }
        self.judge_cowork(&names, purpose)?;
        Ok(if names.is_empty() { ".".to_owned() } else { names.join("/") })
    }

    /// `.cowork` belongs to the program: a model reads its own session there, typed tools write.
    fn judge_cowork(&self, names: &[&str], purpose: Purpose) -> Result<(), Refusal> {
        let inside = names.first().is_some_and(|name| name.eq_ignore_ascii_case(".cowork"));
        if !inside && purpose != Purpose::Artifact {
            return Ok(());
        }
        let path = names.join("/");
        let own = self.artifact_dirs.iter().any(|dir| {
            path.strip_prefix(dir.as_str()).is_some_and(|p| p.is_empty() || p.starts_with('/'))
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

    /// What a failed look-up means to a model.
    fn why_not(&self, path: &str, error: &std::io::Error) -> Refusal {
        match error.kind() {
            ErrorKind::NotFound if self.dir.symlink_metadata(path).is_ok() => {
                Refusal::failed(format!("{path} is a symbolic link that leads nowhere"))
            }
            ErrorKind::NotFound => Refusal::failed(format!("{path} does not exist")),
            // cap-std reports an escape as a denied permission without an OS error.
            ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                Refusal::guard(format!("Security: {path} leads out of the working tree"))
            }
            _ => self.unreadable(path, std::io::Error::new(error.kind(), error.to_string())),
        }
    }
}

/// Absolute to another system than ours: a drive, a share, a home.
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
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::super::RefusalKind;
    use super::super::testing::Tree;
    use super::*;

    fn read(tree: &Tree, path: &str) -> Result<String, Refusal> {
        tree.workspace.read(path, None, None)
    }

    #[track_caller]
    fn guarded(result: Result<String, Refusal>, says: &str) {
        let refusal = result.unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Guard, "{refusal}");
        assert!(refusal.message.contains(says), "{refusal}");
    }

    #[test]
    fn names_that_lead_out_are_refused_in_the_contracts_words() {
        let tree = Tree::new();
        for path in ["/etc/passwd", "/", "C:\\x", "c:/x", "\\\\host\\x", "~/x"] {
            guarded(read(&tree, path), "Security: Absolute paths are not allowed");
            guarded(tree.workspace.write(path, ""), "Security: Absolute paths are not allowed");
        }
        let parent = "Security: Parent directory access (..) is not allowed";
        for path in ["..", "../outside", "a/../b", "./../x"] {
            assert_eq!(read(&tree, path).unwrap_err().message, parent);
            assert_eq!(tree.workspace.write(path, "").unwrap_err().message, parent);
        }
        guarded(tree.workspace.write("a\nb", ""), "Control characters");
        tree.workspace.write("a..b/..c", "x").unwrap();
        assert_eq!(tree.get("a..b/..c"), "x");
    }

    #[test]
    fn the_roots_own_prefix_is_taken_off() {
        let tree = Tree::new();
        tree.put("src/a", "text");
        let path = tree.root().join("src/a");
        assert!(read(&tree, path.to_str().unwrap()).unwrap().starts_with("src/a, "));
        assert!(read(&tree, &format!("{}-x/a", tree.root().display())).is_err());
    }

    #[test]
    fn git_is_out_of_reach_in_any_spelling() {
        let tree = Tree::new();
        symlink(".git", tree.root().join("link")).unwrap();
        symlink(".git/config", tree.root().join("config")).unwrap();
        for path in [
            ".git/config",
            "./.git/config",
            ".GIT/config",
            ".git./config",
            ".git /config",
            "git~1/config",
            ".g\u{200c}it/config",
            "sub/.Git/config",
            ".git::$INDEX_ALLOCATION/config",
            "a\\.git\\config",
            "link/config",
            "config",
            "link",
        ] {
            guarded(read(&tree, path), ".git is not allowed");
        }
        guarded(tree.workspace.write("link/hooks/pre-commit", "x"), ".git is not allowed");
        guarded(tree.workspace.write("config", "x"), ".git is not allowed");
        guarded(tree.workspace.delete("link/config"), ".git is not allowed");
        guarded(tree.workspace.list("link", None), ".git is not allowed");
        guarded(tree.workspace.search("s", ".git", None), ".git is not allowed");
        tree.put("digit~x", "");
        tree.put(".gitignore", "");
        assert!(read(&tree, "digit~x").is_ok() && read(&tree, ".gitignore").is_ok());
    }

    #[test]
    fn links_are_followed_within_the_tree_only() {
        let tree = Tree::new();
        tree.put("real", "text\n");
        symlink("real", tree.root().join("inside")).unwrap();
        symlink("../outside", tree.root().join("out")).unwrap();
        symlink(tree.root().parent().unwrap().join("outside"), tree.root().join("abs")).unwrap();
        symlink("/proc/self/root/etc", tree.root().join("proc")).unwrap();
        symlink("..", tree.root().join("up")).unwrap();
        symlink("nowhere", tree.root().join("dangling")).unwrap();
        assert!(read(&tree, "inside").unwrap().ends_with("text\n"));
        for path in ["out", "abs", "proc/passwd", "up/outside", "up/new"] {
            guarded(tree.workspace.write(path, "x"), "leads out");
            if path != "up/new" {
                guarded(read(&tree, path), "leads out");
            }
        }
        assert!(read(&tree, "dangling").unwrap_err().message.contains("leads nowhere"));
        assert!(tree.workspace.write("dangling", "x").unwrap_err().message.contains("nowhere"));
        tree.workspace.edit("inside", "text", "new", false).unwrap();
        assert_eq!(tree.get("real"), "new\n");
        assert!(tree.root().join("inside").is_symlink());
        tree.workspace.delete("inside").unwrap();
        assert!(tree.root().join("real").exists());
    }

    #[test]
    fn only_regular_files_are_opened() {
        let tree = Tree::new();
        let socket = UnixListener::bind(tree.root().join("socket")).unwrap();
        let fifo = tree.root().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        for path in ["socket", "fifo"] {
            guarded(read(&tree, path), "not a regular file");
            guarded(tree.workspace.write(path, "x"), "not a regular file");
            guarded(tree.workspace.delete(path), "not a regular file");
        }
        drop(socket);
        tree.put("dir/a", "");
        assert!(read(&tree, "dir").unwrap_err().message.contains("is a directory"));
        assert!(tree.workspace.delete("dir").unwrap_err().message.contains("is a directory"));
        assert!(tree.workspace.write("dir/a/b", "x").is_err());
    }

    #[test]
    fn of_cowork_only_the_sessions_own_documents_can_be_read() {
        let tree = Tree::new();
        tree.put(".cowork/sessions/todo/prd.md", "text");
        tree.put(".cowork/sessions/todo-2/prd.md", "text");
        tree.put(".cowork/config.toml", "text");
        assert!(read(&tree, ".cowork/sessions/todo/prd.md").is_ok());
        let own = tree.workspace.write(".cowork/sessions/todo/prd.md", "x");
        guarded(own, "written with their own tools");
        for path in [".cowork/config.toml", ".cowork/sessions/todo-2/prd.md", ".Cowork/x"] {
            guarded(read(&tree, path), ".cowork is not allowed");
            guarded(tree.workspace.write(path, "x"), ".cowork is not allowed");
        }
    }

    #[test]
    fn a_persons_files_are_protected_until_allowed() {
        let tree = Tree::new();
        tree.put("mine", "text");
        symlink("mine", tree.root().join("link")).unwrap();
        tree.workspace.protect(["mine".to_owned(), "new".to_owned()]);
        for path in ["mine", "./mine", "link", "new"] {
            let refusal = tree.workspace.write(path, "x").unwrap_err();
            assert_eq!(refusal.kind, RefusalKind::Protected);
            assert!(refusal.message.contains("has your uncommitted changes"));
        }
        assert!(tree.workspace.edit("mine", "text", "x", false).is_err());
        assert!(tree.workspace.delete("mine").is_err());
        assert!(read(&tree, "mine").is_ok());
        tree.workspace.allow("mine");
        tree.workspace.write("mine", "x").unwrap();
        assert!(tree.workspace.write("sub/.gitmodules", "x").is_err());
        tree.workspace.allow(".gitattributes");
        tree.workspace.write(".gitattributes", "x").unwrap();
    }
}
