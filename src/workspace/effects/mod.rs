//! What a command changed, found by looking at what is uncommitted before and after it.
//!
//! A tool notes a file before it writes it; a command tells nobody. So that what a person does at
//! the same time is not taken for a command's work, the journal gets only what was not there
//! before the command began. The first look is noted on disk, so that the effects of a command that
//! was cut short together with us are found by the next process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::moment;
use crate::workspace::Workspace;
use crate::workspace::atomic_file;
use crate::workspace::files::git_control_files::{GitControlFiles, Was};
use crate::workspace::journal::Written;

const FILE: &str = "command.json";
/// How often a running command is noted to be still running.
pub(crate) const BEAT: Duration = Duration::from_secs(1);
/// More files than this under one new folder are bulk (contract, section 2).
const BULK_FILES: usize = 200;
/// More bytes than this under one new folder are bulk.
const BULK_BYTES: u64 = 10 * 1024 * 1024;

/// A new folder that is too big to be recorded, and its number of files.
pub type Bulk = (String, usize);

/// Larger files of a person's are not copied before a command.
const MOST_COPIED: u64 = 10 * 1024 * 1024;

/// What this room must know of git, told by a room that knows it.
pub trait Tracking {
    /// Paths that differ from the last commit, untracked ones included, ignored ones, submodules
    /// and nested repositories left out; relative to the root.
    fn uncommitted(&self) -> anyhow::Result<BTreeSet<String>>;
    /// Whether that holds of this one path.
    fn is_uncommitted(&self, path: &str) -> anyhow::Result<bool>;
    /// Hears of a file of the session that this program itself has just written or removed.
    fn wrote(&self, path: &str);
    /// Whether git tracks anything below this folder.
    fn tracks_below(&self, folder: &str) -> anyhow::Result<bool>;
    /// Files and folders that git ignores; of a folder that is ignored as a whole only itself.
    fn ignored(&self) -> anyhow::Result<Vec<String>>;
    /// The folders where a submodule is due, filled or not.
    fn submodules(&self) -> anyhow::Result<BTreeSet<String>>;
    /// What git acts upon in the tree.
    fn acted_on(&self) -> anyhow::Result<GitControlFiles>;
}

/// What came of a command, as far as it is told.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Folders that are too big to be recorded.
    pub bulk: Vec<Bulk>,
    /// What git acts upon and was put back.
    pub put_back: Vec<String>,
}

/// How things stood before a command.
#[derive(Serialize, Deserialize)]
struct Before {
    uncommitted: BTreeSet<String>,
    /// Files of tools that nobody had touched since.
    as_written: Vec<String>,
    /// A person's uncommitted files, and the copies that keep them.
    theirs: BTreeMap<String, PathBuf>,
    /// What git acts upon.
    #[serde(default)]
    acted_on: BTreeMap<String, Was>,
}

/// A command whose effects are still to be taken into the journal. Does it when dropped, because a
/// signal drops the future that runs the command.
pub(crate) struct Watch<'a>(&'a Workspace);

/// Commands that run one after the other with nothing between them: what they changed is looked at
/// once, after the last one.
pub struct Together<'a>(&'a Workspace);

impl Together<'_> {
    /// Takes the effects of all of them now.
    ///
    /// # Errors
    /// Git fails, or the journal cannot be written.
    pub fn end(self) -> anyhow::Result<()> {
        let workspace = self.0;
        std::mem::forget(self);
        workspace.together.set(None);
        workspace.take_effects(|_| true).map(|_| ())
    }
}

impl Drop for Together<'_> {
    fn drop(&mut self) {
        self.0.together.set(None);
        drop(Watch(self.0));
    }
}

impl Watch<'_> {
    /// Notes that the command still runs: what is made much later than the last such note, after
    /// we were killed, is not the command's.
    pub(crate) fn beat(&self) {
        let note = std::fs::File::options().append(true).open(self.0.note_file());
        let _ = note.and_then(|note| note.set_modified(SystemTime::now()));
    }

    /// Takes the effects now.
    pub(crate) fn end(self) -> anyhow::Result<Effects> {
        let workspace = self.0;
        std::mem::forget(self);
        if workspace.together.get().is_some() {
            return Ok(Effects::default());
        }
        workspace.take_effects(|_| true)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if self.0.together.get().is_some() {
            return;
        }
        if let Err(error) = self.0.take_effects(|_| true) {
            // The note stays, and the next process tries again.
            tracing::warn!("what a command changed was not found out: {error:#}");
        }
    }
}

impl Workspace {
    /// Folders that commands filled and no commit will hold, with their number of files.
    pub fn bulk(&self) -> Vec<Bulk> {
        self.bulk.borrow().iter().map(|(folder, files)| (folder.clone(), *files)).collect()
    }

    /// Paths below `.cowork` that changed while commands ran: no command has business there.
    pub fn documents_changed_by_commands(&self) -> Vec<String> {
        self.documents.borrow().iter().cloned().collect()
    }

    /// The commands that run until this ends are compared by one look before the first and one after
    /// the last. Nobody may be asked, and nothing written, between them.
    pub fn together(&self) -> Together<'_> {
        self.together.set(Some(false));
        Together(self)
    }

    /// Takes the effects of the commands so far that run together: what comes next is not theirs.
    pub(crate) fn compare_now(&self) -> anyhow::Result<()> {
        if self.together.get() == Some(true) {
            self.together.set(Some(false));
            self.take_effects(|_| true)?;
        }
        Ok(())
    }

    /// To be called before a command begins.
    pub(crate) fn watch(&self) -> anyhow::Result<Watch<'_>> {
        let goes_on = self.together.get() == Some(true);
        if let Some(tracking) = self.tracking.as_ref().filter(|_| !goes_on) {
            let uncommitted = tracking.uncommitted()?;
            let mut as_written = self.written_paths();
            as_written.retain(|path| self.is_as_written(path));
            let theirs = self.copies(&uncommitted)?;
            let acted_on = self.acted_on_now()?;
            let before = Before { uncommitted, as_written, theirs, acted_on };
            let bytes = serde_json::to_vec(&before)?;
            atomic_file::replace(&self.note_file(), &bytes)?;
            self.together.set(self.together.get().map(|_| true));
        }
        Ok(Watch(self))
    }

    /// Like [`Watch::end`], for a command that was killed together with an earlier process.
    pub(crate) fn take_left_effects(&self) -> anyhow::Result<()> {
        let Ok(last) = std::fs::metadata(self.note_file()).and_then(|note| note.modified()) else {
            return Ok(());
        };
        let end = last + 2 * BEAT;
        self.take_effects(|path| self.changed_at(path).is_none_or(|at| at <= end)).map(|_| ())
    }

    /// When a file's content or name was changed last, where it is there and that is known.
    fn changed_at(&self, path: &str) -> Option<SystemTime> {
        let metadata = std::fs::symlink_metadata(self.root.join(path)).ok()?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            // Nobody can set this one, so a file that was moved here is as new as it is.
            let (s, ns) =
                (metadata.ctime().try_into().ok()?, metadata.ctime_nsec().try_into().ok()?);
            Some(SystemTime::UNIX_EPOCH + Duration::new(s, ns))
        }
        #[cfg(not(unix))]
        metadata.modified().ok()
    }

    /// Takes what changed since the first look into the journal, if `is_effect` agrees. Nothing to
    /// do where no command was begun.
    fn take_effects(&self, is_effect: impl Fn(&str) -> bool) -> anyhow::Result<Effects> {
        let (Some(tracking), Some(before)) = (&self.tracking, self.noted()?) else {
            return Ok(Effects::default());
        };
        // Somebody else's command ran, whatever ended it.
        moment::end();
        let mut after = tracking.uncommitted()?;
        let changed = after.difference(&before.uncommitted);
        let put_back = self.put_back_acted_on(&before.acted_on, changed, &is_effect)?;
        after.retain(|path| !put_back.contains(path));
        let new = |path: &&String| !before.uncommitted.contains(*path);
        let (documents, made): (Vec<&String>, Vec<&String>) =
            after.iter().filter(new).partition(|path| path.starts_with(".cowork/"));
        self.documents.borrow_mut().extend(documents.into_iter().cloned());
        let made = made.into_iter();
        let made = made.filter(|path| is_effect(path));
        let (mut paths, bulk) = self.without_bulk(tracking.as_ref(), made.cloned().collect())?;
        // A formatter goes over what tools wrote: that stays theirs.
        let gone_over = |path: &String| !self.is_as_written(path) && is_effect(path);
        paths.extend(before.as_written.into_iter().filter(gone_over));
        let entries = paths.into_iter().map(|path| {
            // What became a directory is a file no longer.
            let now = self.fingerprint(&path).unwrap_or_default();
            Written { path, before: now.clone(), now }
        });
        self.journal.borrow_mut().note_all(entries)?;
        for (path, copy) in before.theirs.into_iter().filter(|(path, _)| is_effect(path)) {
            // The copy's name begins with what the file was.
            let now = self.fingerprint(&path).unwrap_or_default();
            if now.is_none_or(|now| copy != self.copy_of(&path, &now)) {
                self.set_aside.borrow_mut().push((path, copy));
            }
        }
        self.bulk.borrow_mut().extend(bulk.iter().cloned());
        std::fs::remove_file(self.note_file())?;
        Ok(Effects { bulk, put_back })
    }

    /// Copies of a person's uncommitted files, which no commit has: a command may do to them what
    /// tools may not.
    fn copies(&self, uncommitted: &BTreeSet<String>) -> anyhow::Result<BTreeMap<String, PathBuf>> {
        let journal = self.journal.borrow();
        let mut copies = BTreeMap::new();
        for path in uncommitted.iter().filter(|path| !path.starts_with(".cowork/")) {
            let regular = self.look(path);
            if !regular.is_ok_and(|meta| meta.is_file() && meta.len() <= MOST_COPIED)
                || journal.get(path).is_some()
            {
                continue;
            }
            let reading = || format!("reading {path}");
            let Some(now) = self.fingerprint(path).with_context(reading)? else { continue };
            let copy = self.copy_of(path, &now);
            if !copy.exists() {
                self.copy_out(path, &copy).with_context(|| format!("copying {path}"))?;
            }
            copies.insert(path.clone(), copy);
        }
        Ok(copies)
    }

    /// Copies a file of the tree to J, where nobody can read it who could not before.
    pub(crate) fn copy_out(&self, path: &str, copy: &Path) -> anyhow::Result<()> {
        let mut file = self.open_regular(path)?.into_std();
        std::fs::create_dir_all(copy.parent().unwrap_or(&self.state_dir))?;
        let mut into = std::fs::File::create(copy)?;
        into.set_permissions(file.metadata()?.permissions())?;
        std::io::copy(&mut file, &mut into)?;
        Ok(())
    }

    fn note_file(&self) -> PathBuf {
        self.state_dir.join(FILE)
    }

    fn noted(&self) -> anyhow::Result<Option<Before>> {
        let file = self.note_file();
        match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .with_context(|| format!("{} cannot be read", file.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
        }
    }

    /// Leaves out what is bulk: too much under one folder that git knows nothing of.
    fn without_bulk(
        &self,
        tracking: &dyn Tracking,
        made: Vec<String>,
    ) -> anyhow::Result<(Vec<String>, Vec<Bulk>)> {
        let mut new_folders = BTreeMap::new();
        let mut by_folder: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut paths = Vec::new();
        for path in made {
            match top_new_folder(tracking, &path, &mut new_folders)? {
                Some(folder) => by_folder.entry(folder).or_default().push(path),
                None => paths.push(path),
            }
        }
        let mut bulk = Vec::new();
        for (folder, files) in by_folder {
            let size = |path: &String| self.look(path).map_or(0, |m| m.len());
            if files.len() > BULK_FILES || files.iter().map(size).sum::<u64>() > BULK_BYTES {
                bulk.push((folder, files.len()));
            } else {
                paths.extend(files);
            }
        }
        Ok((paths, bulk))
    }
}

/// The outermost folder above `path` of which git tracks nothing.
fn top_new_folder(
    tracking: &dyn Tracking,
    path: &str,
    known: &mut BTreeMap<String, bool>,
) -> anyhow::Result<Option<String>> {
    for (at, _) in path.match_indices('/') {
        let folder = &path[..at];
        let tracked = match known.get(folder) {
            Some(tracked) => *tracked,
            None => {
                let tracked = tracking.tracks_below(folder)?;
                known.insert(folder.to_owned(), tracked);
                tracked
            }
        };
        if !tracked {
            return Ok(Some(folder.to_owned()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
