//! Notes that preserve blobs: the note of a blob is the blob itself, so it exists as long as the
//! notes ref, can be read by `git notes show`, and two histories of such notes merge without a
//! conflict.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use git2::ObjectType;

use crate::git::kept_objects::Becomes;
use crate::git::libgit2::Libgit2;
use crate::git::made;
use crate::git::reader::{in_folder, tree_of};
use crate::git::{EntryKind, Git, Oid, RefName, RefTransaction};

/// Once a tree contains this many notes, new ones go into folders named by their first two digits:
/// every new note rewrites the tree that contains it. Git itself makes folders at some point.
const FLAT: usize = 256;

/// How often notes are written again because somebody else wrote notes in between.
const TRIES: usize = 5;

/// The objects that have a note in `refs/notes/NAME`; empty if the ref does not exist.
///
/// # Errors
/// Git fails.
pub fn noted(git: &Git, name: &str) -> Result<Vec<Oid>> {
    if let Some(found) = noted_in_process(git, name) {
        return Ok(found);
    }
    let list = git.read(["notes", "--ref", name, "list"]).capture()?;
    // `NOTE OBJECT`
    let objects = list.lines().filter_map(|line| line.split_once(' '));
    objects.map(|(_, object)| Ok(object.parse()?)).collect()
}

fn noted_in_process(git: &Git, name: &str) -> Option<Vec<Oid>> {
    git.in_process(|_| Ok(()))?;
    let Some(tip) = git.resolve(&format!("refs/notes/{name}")).ok()? else {
        return Some(Vec::new());
    };
    git.in_process(|fast| fast.noted(&tip))
}

/// Makes each of these blobs its own note in `refs/notes/NAME`, all of them in one commit. The ids
/// may be abbreviated.
///
/// # Errors
/// There is no such blob, or the ref cannot be written.
pub fn note_blobs<S: AsRef<str>>(git: &Git, name: &str, blobs: &[S]) -> Result<()> {
    let full = RefName::new(format!("refs/notes/{name}"))?;
    for attempt in 1.. {
        if blobs.is_empty() {
            break;
        }
        let before = git.resolve(full.as_str())?;
        let Some(tree) = made::write_objects(git, |fast| fast.with_notes(before.as_ref(), blobs))
        else {
            break;
        };
        // All blobs have their notes already.
        let Some(tree) = tree else { return Ok(()) };
        let parents: Vec<Oid> = before.iter().cloned().collect();
        let new = made::commit_tree(git, &tree, &parents, "Notes added by 'git cowork'\n")?;
        let moves = RefTransaction::new("notes: added by 'git cowork'");
        let moves = match &before {
            Some(before) => moves.update(&full, &new, before),
            None => moves.create(&full, &new),
        };
        match moves.commit(git) {
            // A `git notes` command of the user was faster.
            Err(_) if attempt < TRIES && git.resolve(full.as_str())? != before => {}
            done => return done,
        }
    }
    blobs.iter().try_for_each(|blob| note_blob(git, name, blob.as_ref()))
}

/// [`note_blobs`] for one blob, by the binary.
fn note_blob(git: &Git, name: &str, blob: &str) -> Result<()> {
    let add = git.write(["notes", "--ref", name, "add", "-C", blob, blob]);
    let output = add.output()?;
    // It also fails if the object already has its note. Checking that only after a failure is
    // cheaper than checking before each note.
    let noted = || git.read(["notes", "--ref", name, "list", blob]).output();
    if output.success() || noted()?.success() { Ok(()) } else { Err(add.failure(&output).into()) }
}

/// Fetches a remote's `refs/notes/NAME` into `refs/notes/INTO`, which is replaced. False if the
/// remote has no such notes: then `INTO` does not exist afterwards.
///
/// # Errors
/// The remote cannot be reached.
pub fn fetch(git: &Git, remote: &str, name: &str, into: &str, attended: bool) -> Result<bool> {
    let into = format!("refs/notes/{into}");
    git.write(["update-ref", "-d", &into]).checked()?;
    let prompt = if attended { "1" } else { "0" };
    let full = format!("refs/notes/{name}");
    let ask = git.read(["ls-remote", "--", remote, &full]).env("GIT_TERMINAL_PROMPT", prompt);
    if ask.checked()?.stdout.is_empty() {
        return Ok(false);
    }
    let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", remote];
    let fetch = git.write(fetch).arg(format!("+{full}:{into}"));
    fetch.env("GIT_TERMINAL_PROMPT", prompt).checked()?;
    Ok(true)
}

/// Merges the notes of `refs/notes/FROM` into `refs/notes/NAME`.
///
/// # Errors
/// Git fails.
pub fn merge(git: &Git, name: &str, from: &str) -> Result<()> {
    git.write(["notes", "--ref", name, "merge", "--quiet", "--strategy=union", from]).checked()?;
    Ok(())
}

/// Deletes `refs/notes/NAME`, if it exists.
///
/// # Errors
/// Git fails.
pub fn delete(git: &Git, name: &str) -> Result<()> {
    git.write(["update-ref", "-d", &format!("refs/notes/{name}")]).checked()?;
    Ok(())
}

impl Libgit2 {
    /// The objects that have a note in the tree of this commit, sorted.
    fn noted(&self, tip: &Oid) -> Result<Vec<Oid>> {
        let mut notes = Vec::new();
        self.notes_below(&tree_of(self, tip)?, "", &mut notes)?;
        notes.sort();
        notes.dedup();
        Ok(notes)
    }

    /// Collects the objects that have a note below `tree`. As in git, notes may be in folders of
    /// any depth, even of different depths in one tree.
    fn notes_below(&self, tree: &Oid, above: &str, found: &mut Vec<Oid>) -> Result<()> {
        // Other files and folders are skipped.
        let entries = in_folder(self, tree, "")?;
        for (name, entry) in entries.into_iter().filter(|(name, _)| is_hex(name)) {
            match entry.kind {
                EntryKind::Tree if name.len() == 2 => {
                    self.notes_below(&entry.oid, &format!("{above}{name}"), found)?;
                }
                EntryKind::File => found.extend(format!("{above}{name}").parse::<Oid>()),
                _ => {}
            }
        }
        Ok(())
    }

    /// The tree of this commit's notes with these blobs added as their own notes; `None` if it
    /// contains them all.
    fn with_notes<S: AsRef<str>>(&self, tip: Option<&Oid>, blobs: &[S]) -> Result<Option<Oid>> {
        let before = match tip {
            Some(tip) => tree_of(self, tip)?,
            None => self.put(ObjectType::Tree, b"")?,
        };
        let mut new = BTreeMap::new();
        for blob in blobs {
            let short = blob.as_ref();
            let blob = self.abbreviated(short)?.with_context(|| format!("no object {short}"))?;
            let (kind, _) = self.header(&blob)?;
            ensure!(kind == ObjectType::Blob, "{blob} is not a blob");
            if let Some(place) = self.place_of_note(&before, blob.as_str())? {
                new.insert(place, blob);
            }
        }
        if new.is_empty() {
            return Ok(None);
        }
        let put = |blob: &Oid| Becomes::File(0o100_644, blob.clone());
        let notes: Vec<(&str, Becomes)> =
            new.iter().map(|(place, blob)| (place.as_str(), put(blob))).collect();
        self.put_tree(&before, &notes).map(Some)
    }

    /// The path for the note of an object; `None` if the object has one.
    fn place_of_note(&self, tree: &Oid, object: &str) -> Result<Option<String>> {
        let (mut tree, mut place, mut rest) = (tree.clone(), String::new(), object);
        while let Some((folder, below)) = rest.split_at_checked(2).filter(|(_, b)| !b.is_empty()) {
            let entries = in_folder(self, &tree, "")?;
            if entries.iter().any(|(name, _)| name == rest) {
                return Ok(None);
            }
            let mut folders = entries.iter().filter(|(name, entry)| {
                entry.kind == EntryKind::Tree && name.len() == 2 && is_hex(name)
            });
            let next = folders.clone().find(|(name, _)| name == folder);
            if next.is_none() && entries.len() < FLAT && folders.next().is_none() {
                break;
            }
            place.push_str(folder);
            place.push('/');
            rest = below;
            let Some((_, next)) = next else { break };
            tree = next.oid.clone();
        }
        Ok(Some(place + rest))
    }
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::snapshot;
    use crate::git::test_repo::{FORMATS, Repo};

    #[test]
    fn notes_keep_blobs_and_two_histories_merge() {
        let repo = Repo::with_commit();
        let git = repo.git();
        assert!(noted(&git, "logs").unwrap().is_empty());
        let blobs = ["a", "b", "c"].map(|text| made::store_blob(&git, text).unwrap());
        for _ in 0..2 {
            note_blobs(&git, "logs", &[blobs[0].abbreviated()]).unwrap();
        }
        note_blobs(&git, "other", &[blobs[1].as_str()]).unwrap();
        merge(&git, "new", "other").unwrap();
        assert_eq!(noted(&git, "new").unwrap(), [blobs[1].clone()]);
        merge(&git, "logs", "other").unwrap();
        let mut both = blobs[..2].to_vec();
        both.sort();
        assert_eq!(noted(&git, "logs").unwrap(), both);
        delete(&git, "other").unwrap();
        repo.run(&["gc", "--quiet", "--prune=now"]);
        assert_eq!(repo.run(&["notes", "--ref", "logs", "show", blobs[1].as_str()]), "b");
        assert!(note_blobs(&git, "logs", &["1234567890"]).is_err());
    }

    /// The objects that `git notes list` prints; each has to be its own note.
    fn listed(repo: &Repo) -> Vec<Oid> {
        let list = repo.run(&["notes", "--ref", "logs", "list"]);
        let mut objects = Vec::new();
        for line in list.lines() {
            let (note, object) = line.split_once(' ').unwrap();
            assert_eq!(note, object);
            objects.push(object.parse().unwrap());
        }
        objects.sort();
        objects
    }

    #[test]
    fn notes_in_any_depth_of_folders_are_found_and_kept() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let git = repo.git();
            let blob = |n: usize| made::store_blob(&git, format!("log {n}")).unwrap();
            let mut all: Vec<Oid> = Vec::new();
            for chunk in (0..400).collect::<Vec<_>>().chunks(150) {
                let new: Vec<Oid> = chunk.iter().map(|n| blob(*n)).collect();
                note_blobs(&git, "logs", &new.iter().map(Oid::as_str).collect::<Vec<_>>()).unwrap();
                all.extend(new);
            }
            all.sort();
            assert_eq!(listed(&repo), all, "{options:?}");
            assert_eq!(noted(&git, "logs").unwrap(), all);
            let folders = || repo.run(&["ls-tree", "--name-only", "-d", "refs/notes/logs"]);
            assert!(!folders().is_empty(), "{options:?}");
            // Git adds one note, and arranges all notes in its own way; then the others are added.
            let by_git = blob(1_000_000);
            repo.run(&["notes", "--ref", "logs", "add", "-C", by_git.as_str(), by_git.as_str()]);
            let last = [blob(1_000_001), by_git.clone(), blob(0), blob(1_000_002)];
            let names: Vec<&str> = last.iter().chain(&last).map(Oid::as_str).collect();
            note_blobs(&git, "logs", &names).unwrap();
            let tip = repo.run(&["rev-parse", "refs/notes/logs"]);
            note_blobs(&git, "logs", &names).unwrap();
            assert_eq!(repo.run(&["rev-parse", "refs/notes/logs"]), tip, "nothing new, no commit");
            all.extend([by_git, last[0].clone(), last[3].clone()]);
            all.sort();
            assert_eq!(listed(&repo), all, "{options:?}");
            assert_eq!(noted(&git, "logs").unwrap(), all);
            assert_eq!(
                repo.run(&["notes", "--ref", "logs", "show", last[3].as_str()]),
                "log 1000002"
            );
            repo.run(&["fsck", "--strict"]);
        }
    }

    #[test]
    fn other_files_and_notes_of_the_user_are_kept() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let head = repo.head();
        repo.run(&["notes", "--ref", "logs", "add", "-m", "mine", head.as_str()]);
        // A file that is not a note, and a folder that only looks like a folder of notes.
        let tree = snapshot::tree_of(&git, "refs/notes/logs").unwrap().unwrap();
        let mine = made::store_blob(&git, "kept").unwrap();
        let tree = snapshot::tree_with(
            &git,
            &tree,
            &[("README".into(), mine.clone()), ("zz/file".into(), mine)],
        );
        let commit = made::commit_tree(&git, &tree.unwrap(), &[], "odd").unwrap();
        repo.run(&["update-ref", "refs/notes/logs", commit.as_str()]);
        let blob = made::store_blob(&git, "log").unwrap();
        note_blobs(&git, "logs", &[blob.as_str()]).unwrap();
        assert_eq!(repo.run(&["notes", "--ref", "logs", "show", head.as_str()]), "mine");
        assert_eq!(repo.run(&["notes", "--ref", "logs", "show", blob.as_str()]), "log");
        assert_eq!(repo.run(&["show", "refs/notes/logs:README"]), "kept");
        assert_eq!(repo.run(&["show", "refs/notes/logs:zz/file"]), "kept");
        let mut both = vec![head, blob];
        both.sort();
        assert_eq!(noted(&git, "logs").unwrap(), both);
        assert!(repo.run(&["reflog", "show", "refs/notes/logs"]).contains("git cowork"));
        // A reference-transaction hook can still refuse, and then nothing has moved.
        let tip = repo.run(&["rev-parse", "refs/notes/logs"]);
        repo.hook("reference-transaction", "test \"$1\" != prepared || { echo no >&2; exit 1; }");
        let other = made::store_blob(&git, "other").unwrap();
        assert!(note_blobs(&git, "logs", &[other.as_str()]).is_err());
        assert_eq!(repo.run(&["rev-parse", "refs/notes/logs"]), tip);
    }

    #[test]
    fn a_remote_may_have_no_notes() {
        let repo = Repo::with_commit();
        let git = repo.git();
        repo.run(&["init", "-q", "--bare", "../far.git"]);
        repo.run(&["remote", "add", "far", "../far.git"]);
        let blob = made::store_blob(&git, "a").unwrap();
        note_blobs(&git, "logs", &[blob.as_str()]).unwrap();
        assert!(!fetch(&git, "far", "logs", "theirs", false).unwrap());
        repo.run(&["push", "-q", "far", "refs/notes/logs"]);
        assert!(fetch(&git, "far", "logs", "theirs", false).unwrap());
        assert_eq!(noted(&git, "theirs").unwrap(), [blob]);
        assert!(fetch(&git, "nowhere", "logs", "theirs", false).is_err());
    }
}
