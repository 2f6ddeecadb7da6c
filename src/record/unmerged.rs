//! Conflicts that a merge, rebase or cherry-pick of git left in the documents and records of
//! sessions: they are merged record by record, the JSON is derived, and the resolved files are
//! staged.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;

use crate::artifact::sections::Document;
use crate::artifact::{
    Artifact, Files, IdFloors, RECORDS, Renumbered, RenumberedFiles, merge_files, render_json,
    renumber_text,
};
use crate::git::state::Operation;
use crate::git::{self, Git, Oid};
use crate::session::{
    CommittedFiles, KnownRecords, SESSIONS, Session, SessionName, key, renumberings,
};

/// The result of merging one session: what was resolved, and what a person must resolve, one line
/// for each item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Solution {
    /// The resolved files and the new ids.
    pub told: Vec<String>,
    /// Conflicts that only a person can resolve: `prd.md: …`.
    pub left: Vec<String>,
    /// The records with a new id, in the form of a trailer: `todo REQ-004 REQ-005`.
    pub renumbered: Vec<String>,
}

/// The versions to be merged.
struct Versions {
    base: Option<Oid>,
    ours: Oid,
    theirs: Oid,
    /// The commit on which a rebase or a series of cherry-picks began. The commits that are still
    /// to be applied have the old ids.
    began: Option<Oid>,
    /// Commits that are still to be applied.
    to_come: Vec<Oid>,
}

impl Versions {
    /// The versions of the operation that is in progress here.
    fn in_progress(git: &Git) -> anyhow::Result<Option<Self>> {
        let theirs = match git::state::operation_in_progress(git)? {
            Some(Operation::Merge) => git.resolve("MERGE_HEAD")?,
            Some(Operation::Rebase) => git.resolve("REBASE_HEAD")?,
            Some(Operation::CherryPick) => git.resolve("CHERRY_PICK_HEAD")?,
            _ => None,
        };
        let (Some(theirs), Some(ours)) = (theirs, git.head()?.oid().cloned()) else {
            return Ok(None);
        };
        let base = match git.resolve("MERGE_HEAD")? {
            Some(_) => git::merge::base(git, &ours, &theirs)?,
            None => git.resolve(&format!("{theirs}^1"))?,
        };
        let noted = |file: &str| std::fs::read_to_string(git.git_dir().join(file)).ok();
        let commit = |text: String| git.resolve(text.trim()).ok().flatten();
        let began = ["rebase-merge/onto", "sequencer/head"].into_iter().find_map(noted);
        let mut to_come: Vec<Oid> =
            noted("rebase-merge/orig-head").and_then(commit).into_iter().collect();
        for line in noted("sequencer/todo").unwrap_or_default().lines() {
            to_come.extend(line.split(' ').nth(1).and_then(|id| commit(id.to_owned())));
        }
        Ok(Some(Self { base, ours, theirs, began: began.and_then(commit), to_come }))
    }

    /// The ids that this operation has assigned so far, marked as side 1 (theirs). Ids assigned by
    /// earlier operations are already in the commits that are being applied, so they are left out.
    fn renumbered_before(&self, git: &Git, name: &SessionName) -> anyhow::Result<Vec<Renumbered>> {
        let Some(began) = &self.began else { return Ok(Vec::new()) };
        let ids = |tip: &Oid| -> anyhow::Result<Vec<Renumbered>> {
            let found = renumberings(git, name, tip, std::slice::from_ref(began))?;
            Ok(found.into_iter().flat_map(|one| one.ids).collect())
        };
        let theirs = ids(&self.theirs)?;
        let mut done = ids(&self.ours)?;
        done.retain(|one| !theirs.contains(one));
        done.iter_mut().for_each(|one| one.side = 1);
        Ok(done)
    }
}

/// The sessions that have unmerged paths, each with these paths. Empty if no merge, rebase or
/// cherry-pick is in progress.
///
/// # Errors
/// Git cannot be read.
pub fn sessions(git: &Git) -> anyhow::Result<BTreeMap<SessionName, Vec<String>>> {
    let mut found: BTreeMap<SessionName, Vec<String>> = BTreeMap::new();
    if Versions::in_progress(git)?.is_none() {
        return Ok(found);
    }
    for path in git::merge::unmerged(git)? {
        let below = path.strip_prefix(SESSIONS).and_then(|rest| rest.strip_prefix('/'));
        let folder = below.and_then(|rest| rest.split('/').next());
        if let Some(name) = folder.and_then(|folder| folder.parse::<SessionName>().ok()) {
            found.entry(name).or_default().push(path);
        }
    }
    Ok(found)
}

/// Merges the unmerged files of one session, and stages them.
///
/// # Errors
/// Git fails, or a file cannot be read or written.
pub fn solve(git: &Git, name: &SessionName, unmerged: &[String]) -> anyhow::Result<Solution> {
    let mut solution = Solution::default();
    let Some(versions) = Versions::in_progress(git)? else { return Ok(solution) };
    let mut staged = Vec::new();
    let folder = name.artifact_dir();
    let own: Vec<String> = Document::ALL
        .iter()
        .map(|document| document.artifact())
        .chain(RECORDS)
        .map(|artifact| format!("{folder}/{}", artifact.file_name()))
        .collect();
    if unmerged.iter().any(|path| own.contains(path)) {
        solve_records(git, name, unmerged, &versions, &mut solution, &mut staged)?;
    }
    for path in unmerged.iter().filter(|path| !own.contains(path)) {
        match feedback(git, &versions, path)? {
            Some(text) => write(git, path, &text, &mut staged)?,
            None => solution.left.push(format!("{path} is changed on both sides")),
        }
    }
    git::merge::stage(git, &staged)?;
    for path in unmerged.iter().filter(|path| staged.contains(path)) {
        solution.told.push(format!("{path} is merged and staged"));
    }
    Ok(solution)
}

/// Merges the documents that contain records, and their JSON.
fn solve_records(
    git: &Git,
    name: &SessionName,
    unmerged: &[String],
    versions: &Versions,
    solution: &mut Solution,
    staged: &mut Vec<String>,
) -> anyhow::Result<()> {
    let at = |commit: &Oid| CommittedFiles::new(git, name, commit);
    let empty = git::in_the_way::empty_tree(git)?;
    let base = at(versions.base.as_ref().unwrap_or(&empty));
    let ours = at(&versions.ours);
    let before = versions.renumbered_before(git, name)?;
    let theirs = at(&versions.theirs);
    let base = RenumberedFiles { files: &base, done: &before };
    let theirs = RenumberedFiles { files: &theirs, done: &before };
    let prose = |base: &str, ours: &str, theirs: &str| {
        git::merge::merged_text(git, base, ours, theirs).ok().flatten()
    };
    let mut resolved = BTreeMap::new();
    for document in Document::ALL {
        let path = format!("{}/{}", name.artifact_dir(), document.artifact().file_name());
        let text = |files: &dyn Files| files.read(document.artifact());
        let (Some(our), Some(their)) = (text(&ours)?, text(&theirs)?) else { continue };
        let Ok(there) = std::fs::read_to_string(git.top().join(&path)) else { continue };
        let is_one_side = there == our || there == their;
        let merged =
            || Ok::<_, anyhow::Error>(prose(&text(&base)?.unwrap_or_default(), &our, &their));
        let by_person = if unmerged.contains(&path) {
            // Git merges no file that a filter encrypts, and leaves one side without markers.
            let has_markers = there.lines().any(|line| line.starts_with("<<<<<<< "));
            let is_binary = is_one_side && merged()?.is_some();
            !has_markers && !is_binary
        } else if is_one_side {
            false
        } else {
            merged()?.as_deref() != Some(&*there)
        };
        if by_person {
            resolved.insert(document, there);
        }
    }
    let mut floors = floors(git, name, versions);
    let merged = merge_files([&base, &ours, &theirs], &resolved, &mut floors, &prose)?;
    let merged = match merged {
        Ok(merged) => merged,
        Err(conflicts) => {
            solution.left.extend(conflicts);
            return Ok(());
        }
    };
    for (artifact, text) in &merged.files {
        let path = format!("{}/{}", name.artifact_dir(), artifact.file_name());
        let there = std::fs::read_to_string(git.top().join(&path)).ok();
        if there.as_deref() != Some(text) || unmerged.contains(&path) {
            write(git, &path, text, staged)?;
        }
    }
    follow_in_change(git, name, versions, &merged.renumbered, staged)?;
    let renumbered = merged.renumbered.iter();
    solution.renumbered = renumbered.map(|one| format!("{name} {} {}", one.from, one.to)).collect();
    note_renumbered(git, &solution.renumbered)?;
    for Renumbered { from, to, .. } in &merged.renumbered {
        solution.told.push(format!("{from} of the other side is now {to}"));
    }
    Ok(())
}

/// The highest id numbers that the two sides have used.
fn floors(git: &Git, name: &SessionName, versions: &Versions) -> IdFloors {
    let mut floors = IdFloors::default();
    for commit in [&versions.ours, &versions.theirs].into_iter().chain(&versions.to_come) {
        let known =
            Session::load(git, name, commit).and_then(|session| KnownRecords::read(git, &session));
        // A side that does not contain the session has used no ids.
        if let Ok(known) = known {
            floors.see_all(&known.floors.ids().join(" "));
        }
    }
    floors
}

/// Replaces old ids with the new ones in change requests that exist only on the other side
/// (theirs).
fn follow_in_change(
    git: &Git,
    name: &SessionName,
    versions: &Versions,
    done: &[Renumbered],
    staged: &mut Vec<String>,
) -> anyhow::Result<()> {
    if done.is_empty() {
        return Ok(());
    }
    let changes = format!("{}/changes", name.artifact_dir());
    let of = |commit: &Oid| git::paths::names_in(git, commit, &changes);
    let ours: BTreeSet<String> = of(&versions.ours)?.into_iter().collect();
    for change in of(&versions.theirs)?.into_iter().filter(|change| !ours.contains(change)) {
        let folder = format!("{changes}/{change}");
        for file in git::paths::names_in(git, &versions.theirs, &folder)? {
            let path = format!("{folder}/{file}");
            let Ok(text) = std::fs::read_to_string(git.top().join(&path)) else { continue };
            let new = renumber_text(&text, 1, done);
            if new != text && Artifact::named(&file) != Some(Artifact::Session) {
                write(git, &path, &new, staged)?;
            }
        }
    }
    Ok(())
}

/// Adds the new ids as trailers to the message of the commit that ends the merge or rebase step.
fn note_renumbered(git: &Git, values: &[String]) -> anyhow::Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    let trailers: Vec<(&str, &str)> =
        values.iter().map(|value| (key::RENUMBERED, value.as_str())).collect();
    for file in ["MERGE_MSG", "rebase-merge/message"] {
        let file = git.git_dir().join(file);
        if file.is_file() {
            git::settings::add_trailers(git, &file, &trailers)?;
        }
    }
    Ok(())
}

/// The feedback of both sides: entries are only ever added.
fn feedback(git: &Git, versions: &Versions, path: &str) -> anyhow::Result<Option<String>> {
    if !path.ends_with(&format!("/{}", Artifact::Feedback.file_name())) {
        return Ok(None);
    }
    let entries = |commit: Option<&Oid>| -> anyhow::Result<Option<Vec<serde_json::Value>>> {
        let Some(commit) = commit else { return Ok(Some(Vec::new())) };
        let bytes = git.reader().blob(git::Object::At(commit, path))?;
        Ok(match bytes {
            Some(bytes) => serde_json::from_slice(&bytes).ok(),
            None => Some(Vec::new()),
        })
    };
    let (Some(base), Some(mut ours), Some(theirs)) = (
        entries(versions.base.as_ref())?,
        entries(Some(&versions.ours))?,
        entries(Some(&versions.theirs))?,
    ) else {
        return Ok(None);
    };
    if base.iter().any(|entry| !ours.contains(entry) || !theirs.contains(entry)) {
        return Ok(None);
    }
    let more: Vec<_> = theirs.into_iter().filter(|entry| !ours.contains(entry)).collect();
    ours.extend(more);
    Ok(Some(render_json(&ours)?))
}

/// Writes a file of the working tree that is to be staged.
fn write(git: &Git, path: &str, text: &str, staged: &mut Vec<String>) -> anyhow::Result<()> {
    std::fs::write(git.top().join(path), text).with_context(|| format!("writing {path}"))?;
    staged.push(path.to_owned());
    Ok(())
}
