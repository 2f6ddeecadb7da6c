//! Changing files: whole or not at all, noted in the journal first.

use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions};

use crate::moment;
use crate::workspace::Refusal;
use crate::workspace::WHOLE_FILE_MAX;
use crate::workspace::Workspace;
use crate::workspace::edit::apply::{self, Edit};
use crate::workspace::edit::placeholder;
use crate::workspace::files::guard::Purpose;
use crate::workspace::journal::{Fingerprint, Written};
use crate::workspace::read_tracker::SMALL;

/// What to do about a directory instead of writing it.
const WRITES: &str = "give the path of a file in it; list_files shows what is there";
/// What to do instead of deleting it.
const DELETES: &str =
    "delete its files one by one (list_files shows them); git keeps no empty directories";

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Created,
    Replaced,
    Unchanged,
}

impl Workspace {
    /// Replaces a file's content, or makes the file and its directories. Line ends, byte-order
    /// mark and final newline stay as the file has them.
    pub fn write(&self, path: &str, content: &str) -> Result<String, Refusal> {
        let path = self.resolve_new(path, Purpose::Change)?;
        self.refuse_directory(&path, WRITES)?;
        self.refuse_protected(&path)?;
        let old = self.bytes_if_there(&path)?;
        let old_text = old.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
        placeholder::refuse(content, old_text.unwrap_or_default())?;
        let content = apply::in_style_of(old_text.unwrap_or_default(), content);
        if let Some(old) = old.as_deref().filter(|old| *old != content.as_bytes()) {
            self.refuse_unseen(&path, old)?;
        }
        if old.as_deref() != Some(content.as_bytes()) {
            self.leave_to_person(&path, Some(content.as_bytes()))?;
        }
        let effect = self.replace(&path, content.as_bytes(), old.as_deref())?;
        self.note_wrote(&path, content.as_bytes(), true);
        let lines = content.lines().count();
        let was = old_text.map_or(0, |text| text.lines().count());
        Ok(match effect {
            Effect::Created => format!("created {path} ({lines} lines)"),
            Effect::Replaced if was > SMALL => format!(
                "wrote {path} ({lines} lines, {was} before); edit_file changes a part of so long a \
                 file at less cost"
            ),
            Effect::Replaced => format!("wrote {path} ({lines} lines)"),
            Effect::Unchanged => format!("unchanged: {path} already has exactly this content"),
        })
    }

    /// Replaces passages of a file: all that are given, or none.
    pub fn edit(&self, path: &str, edits: &[Edit]) -> Result<String, Refusal> {
        let path = self.resolve(path, Purpose::Change)?;
        self.refuse_directory(&path, WRITES)?;
        self.refuse_protected(&path)?;
        let bytes = self.bytes_if_there(&path)?;
        let bytes = bytes.ok_or_else(|| Refusal::failed(format!("{path} does not exist")))?;
        // One edit of what waits for a person builds on the other.
        let text = self.proposed_content(&path).unwrap_or_else(|| bytes.clone());
        let text = std::str::from_utf8(&text)
            .map_err(|_| Refusal::failed(format!("{path} is not UTF-8 text")))?;
        // Said first: what does not fit follows from it.
        self.refuse_stale(&path, Some(&Fingerprint::of(&bytes)))?;
        let edited = apply::apply(&path, text, edits)?;
        self.leave_to_person(&path, Some(edited.text.as_bytes()))?;
        self.replace(&path, edited.text.as_bytes(), Some(&bytes))?;
        self.note_wrote(&path, edited.text.as_bytes(), false);
        Ok(edited.summary)
    }

    /// Deletes a file, or a symbolic link itself; never a directory.
    pub fn delete(&self, path: &str) -> Result<String, Refusal> {
        let path = self.resolve_entry(path, Purpose::Change)?;
        self.refuse_directory(&path, DELETES)?;
        self.refuse_protected(&path)?;
        let metadata = match self.look(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Refusal::failed(format!("{path} does not exist")));
            }
            Err(error) => return Err(self.unreadable(&path, error)),
        };
        if !metadata.is_file() && !metadata.is_symlink() {
            return Err(Refusal::guard(format!("Security: {path} is not a regular file")));
        }
        let before =
            self.fingerprint(&path).map_err(|error| self.failed("reading", &path, error))?;
        self.refuse_stale(&path, before.as_ref())?;
        self.leave_to_person(&path, None)?;
        self.note(&path, None, before)?;
        self.unlink(&path).map_err(|error| self.failed("deleting", &path, error))?;
        self.note_deleted(&path);
        Ok(format!("deleted {path}"))
    }

    /// Refuses a directory where a file is meant, before anybody asks whose it is.
    fn refuse_directory(&self, path: &str, instead: &str) -> Result<(), Refusal> {
        let is_dir = path == "." || self.look(path).is_ok_and(|metadata| metadata.is_dir());
        match is_dir {
            true => Err(Refusal::failed(format!("{path} is a directory, not a file; {instead}"))),
            false => Ok(()),
        }
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

    /// Forgets all paths but these.
    pub fn forget_all_but(&self, paths: &[String]) -> anyhow::Result<()> {
        self.journal.borrow_mut().retain(|path| paths.iter().any(|p| p == path))
    }

    /// Forgets everything.
    pub fn clear_journal(&self) -> anyhow::Result<()> {
        self.journal.borrow_mut().retain(|_| false)
    }

    /// The one way content gets into the tree. `path` is resolved, `old` is what is there.
    pub(crate) fn replace(
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
    pub(crate) fn copy_of(&self, path: &str, content: &Fingerprint) -> PathBuf {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.state_dir.join("set-aside").join(format!("{content}-{name}"))
    }

    /// Writes beside the file and renames over it, so that nobody ever sees half of it, and what
    /// else has a link to the old file keeps it as it is.
    fn put(&self, path: &str, content: &[u8], replaces: bool) -> std::io::Result<()> {
        let (dir, name) = self.make_place(path)?;
        let temporary = temporary_name(name);
        // Left over from a crash, or nothing.
        let _ = dir.remove_file(&temporary);
        let written = put_in(&dir, name, &temporary, content, replaces);
        if written.is_err() {
            let _ = dir.remove_file(&temporary);
        }
        match &self.tracking {
            Some(tracking) if path.starts_with(".cowork/") => tracking.wrote(path),
            _ => moment::end(),
        }
        written
    }

    /// Like [`Self::put`], with this mode.
    pub(crate) fn put_as(&self, path: &str, content: &[u8], mode: u32) -> std::io::Result<()> {
        self.put(path, content, false)?;
        #[cfg(unix)]
        {
            use cap_std::fs::PermissionsExt as _;
            let (dir, name) = self.place(path)?;
            let mut options = OpenOptions::new();
            let file = dir.open_with(name, options.read(true).follow(FollowSymlinks::No))?;
            file.set_permissions(cap_std::fs::Permissions::from_mode(mode))?;
        }
        #[cfg(not(unix))]
        let _ = mode;
        Ok(())
    }

    /// Removes the temporary file of a write that a crash cut short.
    pub(crate) fn sweep_temporary(&self) {
        if let Some(path) = self.journal.borrow().last()
            && let Ok((dir, name)) = self.place(path)
        {
            let _ = dir.remove_file(temporary_name(name));
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
    pub(crate) fn fingerprint(&self, path: &str) -> std::io::Result<Option<Fingerprint>> {
        match self.look(path) {
            Ok(metadata) if metadata.is_symlink() => {
                let target = self.link_target(path)?;
                Ok(Some(Fingerprint::of(target.as_os_str().as_encoded_bytes())))
            }
            Ok(metadata) if metadata.is_file() => {
                let file = self.open_regular(path).map_err(std::io::Error::other)?;
                Fingerprint::of_reader(file).map(Some)
            }
            Ok(_) => Err(std::io::Error::other("not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Writes a new file of the given mode, then gives it the name.
fn put_in(
    dir: &Dir,
    name: &str,
    temporary: &str,
    content: &[u8],
    replaces: bool,
) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let old = replaces.then(|| dir.symlink_metadata(name)).transpose()?;
    let permissions = old.filter(cap_std::fs::Metadata::is_file).map(|old| old.permissions());
    #[cfg(unix)]
    if let Some(permissions) = &permissions {
        use cap_std::fs::{OpenOptionsExt as _, PermissionsExt as _};
        // From the first byte on no more people can read it than could before.
        options.mode(permissions.mode() & 0o777);
    }
    let mut file = dir.open_with(temporary, &options)?;
    file.write_all(content)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    dir.rename(temporary, dir, name)
}

/// Hidden, in the same directory (a rename does not cross file systems), and the same each time
/// so that what a crash leaves is found again.
fn temporary_name(name: &str) -> String {
    // The longest name most file systems hold is 255 bytes.
    const MOST: usize = 200;
    let end = (0..=name.len().min(MOST)).rev().find(|end| name.is_char_boundary(*end));
    format!(".{}.cowork-new", &name[..end.unwrap_or(0)])
}

#[cfg(test)]
mod tests;
