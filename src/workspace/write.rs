//! Changing files: whole or not at all, noted in the journal first.

use std::io::{ErrorKind, Read as _, Write as _};

use std::path::PathBuf;

use anyhow::Context as _;
use cap_std::fs::{File, OpenOptions};

use super::guard::Purpose;
use super::journal::{Fingerprint, Written};
use super::{Refusal, WHOLE_FILE_MAX, Workspace, edit, placeholder};

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Created,
    Replaced,
    Unchanged,
}

impl Workspace {
    /// Replaces a file's content, or makes the file and its directories. Line ends and byte-order
    /// mark stay as the file has them.
    pub fn write(&self, path: &str, content: &str) -> Result<String, Refusal> {
        let path = self.resolve_new(path, Purpose::Change)?;
        self.refuse_protected(&path)?;
        let old = self.bytes_if_there(&path)?;
        let old_text = old.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
        placeholder::refuse(content, old_text.unwrap_or_default())?;
        let content = edit::in_style_of(old_text.unwrap_or_default(), content);
        let effect = self.replace(&path, content.as_bytes(), old.as_deref())?;
        let lines = content.lines().count();
        Ok(match effect {
            Effect::Created => format!("created {path} ({lines} lines)"),
            Effect::Replaced => format!("wrote {path} ({lines} lines)"),
            Effect::Unchanged => format!("unchanged: {path} already has exactly this content"),
        })
    }

    /// Replaces one passage of a file, or every occurrence of it.
    pub fn edit(
        &self,
        path: &str,
        old_text: &str,
        new_text: &str,
        replace_all: bool,
    ) -> Result<String, Refusal> {
        let path = self.resolve(path, Purpose::Change)?;
        self.refuse_protected(&path)?;
        let bytes = self.bytes_if_there(&path)?;
        let bytes = bytes.ok_or_else(|| Refusal::failed(format!("{path} does not exist")))?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Refusal::failed(format!("{path} is not UTF-8 text")))?;
        placeholder::refuse(new_text, text)?;
        let edited = edit::apply(&path, text, old_text, new_text, replace_all)?;
        self.replace(&path, edited.text.as_bytes(), Some(&bytes))?;
        Ok(edited.summary)
    }

    /// Deletes a file, or a symbolic link itself; never a directory.
    pub fn delete(&self, path: &str) -> Result<String, Refusal> {
        let path = self.resolve_entry(path, Purpose::Change)?;
        self.refuse_protected(&path)?;
        let metadata = match self.dir.symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Refusal::failed(format!("{path} does not exist")));
            }
            Err(error) => return Err(self.unreadable(&path, error)),
        };
        if metadata.is_dir() {
            return Err(Refusal::failed(format!(
                "{path} is a directory; delete its files one by one, git keeps no empty directories"
            )));
        }
        if !metadata.is_file() && !metadata.is_symlink() {
            return Err(Refusal::guard(format!("Security: {path} is not a regular file")));
        }
        let before =
            self.fingerprint(&path).map_err(|error| self.failed("reading", &path, error))?;
        self.note(&path, None, before)?;
        self.dir.remove_file(&path).map_err(|error| self.failed("deleting", &path, error))?;
        Ok(format!("deleted {path}"))
    }

    /// What tools wrote since the journal was last cleared, by path.
    pub fn journal_entries(&self) -> Vec<Written> {
        self.journal.borrow().entries().cloned().collect()
    }

    /// The paths of [`Self::journal_entries`], sorted.
    pub fn written_paths(&self) -> Vec<String> {
        self.journal.borrow().entries().map(|w| w.path.clone()).collect()
    }

    /// Whether a file is as a tool left it: what it wrote last, or what that write replaced, in
    /// case it never got through. False for a path no tool wrote.
    pub fn is_as_written(&self, path: &str) -> bool {
        let journal = self.journal.borrow();
        let Some(written) = journal.get(path) else {
            return false;
        };
        self.fingerprint(path).is_ok_and(|found| found == written.now || found == written.before)
    }

    /// Notes files as they are now as written by tools, when a draft was put back.
    pub fn adopt(&self, paths: &[String]) -> anyhow::Result<()> {
        let mut entries = Vec::new();
        for path in paths {
            let now = self.fingerprint(path).with_context(|| format!("reading {path}"))?;
            entries.push(Written { path: path.clone(), before: now.clone(), now });
        }
        self.journal.borrow_mut().note_all(entries)
    }

    /// Forgets these paths, after they were committed or put back.
    pub fn forget(&self, paths: &[String]) -> anyhow::Result<()> {
        self.journal.borrow_mut().retain(|path| !paths.iter().any(|p| p == path))
    }

    /// Forgets everything.
    pub fn clear_journal(&self) -> anyhow::Result<()> {
        self.journal.borrow_mut().retain(|_| false)
    }

    /// A regular file's content, `None` when nothing is there.
    pub(super) fn bytes_if_there(&self, path: &str) -> Result<Option<Vec<u8>>, Refusal> {
        let file = match self.dir.symlink_metadata(path) {
            Ok(_) => self.open_regular(path)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unreadable(path, error)),
        };
        let mut bytes = Vec::new();
        file.take(WHOLE_FILE_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.unreadable(path, error))?;
        if bytes.len() as u64 > WHOLE_FILE_MAX {
            return Err(Refusal::failed(format!(
                "{path} is larger than {} MiB; read parts of it with offset and limit",
                WHOLE_FILE_MAX >> 20
            )));
        }
        Ok(Some(bytes))
    }

    /// Opens a file for reading, unless it is a directory, device, FIFO or socket.
    pub(super) fn open_regular(&self, path: &str) -> Result<File, Refusal> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt as _;
            // A FIFO nobody writes to would otherwise block us for ever.
            let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
            options.custom_flags(flags.bits().cast_signed());
        }
        let special = || Refusal::guard(format!("Security: {path} is not a regular file"));
        // Asked before as well: merely opening some devices does something.
        match self.dir.metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(Refusal::failed(format!("{path} is a directory; use list_files")));
            }
            Ok(metadata) if !metadata.is_file() => return Err(special()),
            Ok(_) | Err(_) => {}
        }
        let file = self
            .dir
            .open_with(path, &options)
            .map_err(|error| self.failed("opening", path, error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            Ok(file)
        } else {
            Err(special())
        }
    }

    /// The one way content gets into the tree. `path` is resolved, `old` is what is there.
    pub(super) fn replace(
        &self,
        path: &str,
        content: &[u8],
        old: Option<&[u8]>,
    ) -> Result<Effect, Refusal> {
        if content.len() as u64 > WHOLE_FILE_MAX {
            return Err(Refusal::failed(format!(
                "{path} would be larger than {} MiB",
                WHOLE_FILE_MAX >> 20
            )));
        }
        if old == Some(content) {
            return Ok(Effect::Unchanged);
        }
        if let Some(old) = old
            && path.starts_with(".cowork/")
            && self.is_persons_edit(path)
        {
            self.set_aside(path, old).map_err(|error| self.failed("keeping", path, error))?;
        }
        self.note(path, Some(Fingerprint::of(content)), old.map(Fingerprint::of))?;
        self.put(path, content, old.is_some())
            .map_err(|error| self.failed("writing", path, error))?;
        Ok(if old.is_some() { Effect::Replaced } else { Effect::Created })
    }

    /// Keeps a person's version of a document that is about to be replaced.
    fn set_aside(&self, path: &str, old: &[u8]) -> std::io::Result<()> {
        let copy = self.copy_of(path, &Fingerprint::of(old));
        if !copy.exists() {
            std::fs::create_dir_all(copy.parent().unwrap_or(&self.state_dir))?;
            std::fs::write(&copy, old)?;
            self.set_aside.borrow_mut().push((path.to_owned(), copy));
        }
        Ok(())
    }

    /// Where a person's version of a file is kept, in J.
    pub(super) fn copy_of(&self, path: &str, content: &Fingerprint) -> PathBuf {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.state_dir.join("set-aside").join(format!("{content}-{name}"))
    }

    /// Writes beside the file and renames over it, so that nobody ever sees half of it.
    fn put(&self, path: &str, content: &[u8], replaces: bool) -> std::io::Result<()> {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.dir.create_dir_all(parent)?;
        }
        let temporary = temporary_name(path);
        // Left over from a crash, or nothing.
        let _ = self.dir.remove_file(&temporary);
        let written = (|| {
            let mut options = OpenOptions::new();
            let mut file = self.dir.open_with(&temporary, options.write(true).create_new(true))?;
            file.write_all(content)?;
            if replaces {
                file.set_permissions(self.dir.metadata(path)?.permissions())?;
            }
            self.dir.rename(&temporary, &self.dir, path)
        })();
        if written.is_err() {
            let _ = self.dir.remove_file(&temporary);
        }
        written
    }

    /// Removes the temporary file of a write that a crash cut short.
    pub(super) fn sweep_temporary(&self) {
        if let Some(path) = self.journal.borrow().last() {
            let _ = self.dir.remove_file(temporary_name(path));
        }
    }

    fn note(
        &self,
        path: &str,
        now: Option<Fingerprint>,
        before: Option<Fingerprint>,
    ) -> Result<(), Refusal> {
        self.journal.borrow_mut().note(Written { path: path.to_owned(), now, before }).map_err(
            |error| {
                let text = format!("{path} was not touched: {error:#}");
                self.trouble(text.clone(), &error);
                Refusal::failed(text)
            },
        )
    }

    /// Of what is there now; a link counts as the path it holds, like in git.
    pub(super) fn fingerprint(&self, path: &str) -> std::io::Result<Option<Fingerprint>> {
        match self.dir.symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => {
                let target = self.dir.read_link_contents(path)?;
                Ok(Some(Fingerprint::of(target.as_os_str().as_encoded_bytes())))
            }
            Ok(metadata) if metadata.is_file() => {
                Fingerprint::of_reader(self.dir.open(path)?).map(Some)
            }
            Ok(_) => Err(std::io::Error::other("not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Hidden, in the same directory (a rename does not cross file systems), and the same each time
/// so that what a crash leaves is found again.
fn temporary_name(path: &str) -> String {
    // The longest name most file systems hold is 255 bytes.
    const MOST: usize = 200;
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    let slash = if parent.is_empty() { "" } else { "/" };
    let end = (0..=name.len().min(MOST)).rev().find(|end| name.is_char_boundary(*end));
    format!("{parent}{slash}.{}.cowork-new", &name[..end.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tree;
    use super::*;

    #[test]
    fn writing_says_what_it_did() {
        let tree = Tree::new();
        let write = |text| tree.workspace.write("a/b/c.txt", text).unwrap();
        assert_eq!(write("1\n2\n"), "created a/b/c.txt (2 lines)");
        assert_eq!(write("1\n"), "wrote a/b/c.txt (1 lines)");
        assert!(write("1\n").starts_with("unchanged"));
        assert_eq!(std::fs::read_dir(tree.root().join("a/b")).unwrap().count(), 1);
        let huge = "x".repeat(WHOLE_FILE_MAX as usize + 1);
        assert!(tree.workspace.write("huge", &huge).unwrap_err().message.contains("2 MiB"));
        tree.put("huge", &huge);
        assert!(tree.workspace.edit("huge", "x", "y", true).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn the_mode_is_kept_and_hard_links_are_not_written_through() {
        use std::os::unix::fs::PermissionsExt as _;
        let tree = Tree::new();
        tree.put("run.sh", "old");
        let path = tree.root().join("run.sh");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
        std::fs::hard_link(&path, tree.root().join("twin")).unwrap();
        tree.workspace.write("run.sh", "new").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
        assert_eq!(tree.get("twin"), "old");
    }

    #[test]
    fn left_out_code_is_refused_unless_it_was_there() {
        let tree = Tree::new();
        for line in [
            "// ... rest of the code unchanged ...",
            "    # ... existing code ...",
            "/* rest of file remains the same */",
            "<!-- ... rest of the file ... -->",
            "... existing code ...",
            "// … rest of code",
        ] {
            let refusal = tree.workspace.write("a", &format!("x\n{line}\n")).unwrap_err();
            assert!(refusal.message.contains("line 2 stands for code"), "{refusal}");
            tree.put("b", "x\n");
            assert!(tree.workspace.edit("b", "x", line, false).is_err());
            tree.put("c", &format!("{line}\nzz\n"));
            tree.workspace.edit("c", "zz", &format!("y\n{line}"), false).unwrap();
        }
        for line in [
            "// existing code paths that need a lock are listed in LOCKS.md",
            "x = '...'",
            "* rest",
        ] {
            tree.workspace.write("d", line).unwrap();
        }
    }

    #[test]
    fn the_journal_survives_and_tells_tools_from_people() {
        let tree = Tree::new();
        tree.put("old", "before");
        tree.put("gone", "before");
        tree.workspace.write("old", "by a tool").unwrap();
        tree.workspace.write("new", "by a tool").unwrap();
        tree.workspace.delete("gone").unwrap();
        let next = tree.reopened();
        assert_eq!(next.written_paths(), ["gone", "new", "old"]);
        assert!(next.written_paths().iter().all(|path| next.is_as_written(path)));
        tree.put("new", "by a person");
        tree.put("gone", "by a person");
        assert!(!next.is_as_written("new") && !next.is_as_written("gone"));
        assert!(!next.is_as_written("never written"));
        next.adopt(&["new".to_owned()]).unwrap();
        assert!(next.is_as_written("new"));
        next.forget(&["new".to_owned(), "gone".to_owned()]).unwrap();
        assert_eq!(tree.reopened().written_paths(), ["old"]);
        next.clear_journal().unwrap();
        assert!(tree.reopened().journal_entries().is_empty());
    }

    #[test]
    fn a_crash_between_journal_and_rename_leaves_one_of_the_two() {
        let tree = Tree::new();
        tree.put("src/a", "before");
        let before = Some(Fingerprint::of(b"before"));
        tree.workspace.note("src/a", Some(Fingerprint::of(b"after")), before).unwrap();
        tree.put(&temporary_name("src/a"), "aft");
        let next = tree.reopened();
        assert!(next.is_as_written("src/a"), "the write never happened");
        assert!(!tree.root().join(temporary_name("src/a")).exists());
        tree.put("src/a", "after");
        assert!(next.is_as_written("src/a"), "the write happened");
        tree.put("src/a", "aft");
        assert!(!next.is_as_written("src/a"));
    }

    #[test]
    fn a_broken_journal_makes_every_file_a_persons() {
        let tree = Tree::new();
        tree.workspace.write("a", "x").unwrap();
        let state = tree.root().parent().unwrap().join("state/todo/written.json");
        std::fs::write(state, "{").unwrap();
        assert!(!tree.reopened().is_as_written("a"));
    }

    #[test]
    fn a_write_that_cannot_be_noted_does_not_happen() {
        let tree = Tree::new();
        std::fs::remove_dir_all(tree.root().parent().unwrap().join("state")).unwrap();
        assert!(tree.workspace.write("a", "x").unwrap_err().message.contains("was not touched"));
        assert!(!tree.root().join("a").exists());
    }
}
