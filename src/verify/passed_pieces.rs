//! Checks whether an approved file is intact after a merge: it must contain its approved records,
//! under their current ids, and otherwise only parts that were approved on the other side. Parts
//! that no reviewer has seen count as a difference.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::artifact::{Artifact, Files as _, Renumbered, pieces};
use crate::git::{self, Git, Object, Oid};
use crate::session::{CommittedFiles, Entry, Renumbering, Session, artifact_path, renumberings};

/// An approved file of a session, and the approving commit.
pub(super) struct Passed<'a> {
    pub(super) git: &'a Git,
    pub(super) session: &'a Session,
    pub(super) artifact: Artifact,
    pub(super) approval: &'a Entry,
    /// Finds the approval of the file in another version of the session.
    pub(super) passed_in: &'a dyn Fn(&Session) -> Result<Option<PassedIn>>,
}

/// The commit that approved a file, and true if the file is still as approved.
pub(super) type PassedIn = (Oid, bool);

/// Pieces that another branch added, and pieces it removed.
#[derive(Default)]
struct OtherSide {
    brought: BTreeSet<String>,
    took: BTreeSet<String>,
}

impl Passed<'_> {
    /// True if the tip contains everything in the approved `blob`, and nothing that was not
    /// approved.
    ///
    /// # Errors
    /// Git cannot be read.
    pub(super) fn is_held(&self, blob: &Oid) -> Result<bool> {
        let (mut done, mut all) = (Vec::new(), Vec::new());
        for one in renumberings(self.git, &self.session.name, &self.session.tip, self.before())? {
            all.extend(one.ids.clone());
            if self.may_follow(&one)? {
                done.extend(one.ids);
            }
        }
        let path = artifact_path(&self.session.name, self.artifact);
        let Some(bytes) =
            self.git.reader().blob(Object::Document(blob, &self.session.tip, &path))?
        else {
            return Ok(false);
        };
        let text = String::from_utf8_lossy(&bytes);
        let (Some(passed), Some(renamed), Some(here)) = (
            self.pieces(&text, &[])?,
            self.pieces(&text, &done)?,
            self.pieces_at(&self.session.tip, &[])?,
        ) else {
            return Ok(false);
        };
        let others = self.other_sides(blob, &all)?;
        let is_there = |(old, new): (&String, &String)| {
            let takes = |other: &OtherSide| other.took.contains(old) || other.took.contains(new);
            here.contains(old) || here.contains(new) || others.iter().any(takes)
        };
        let is_passed = |piece: &String| {
            let brings = |other: &OtherSide| other.brought.contains(piece);
            passed.contains(piece) || renamed.contains(piece) || others.iter().any(brings)
        };
        Ok(passed.iter().zip(&renamed).all(is_there) && here.iter().all(is_passed))
    }

    /// The parents of the session's start commit.
    fn before(&self) -> &[Oid] {
        self.session.history.first().map_or(&[][..], |first| &first.parents)
    }

    /// True if the new ids of a renumbering may apply to the approved file. In a merge, records of
    /// the first parent keep their ids.
    fn may_follow(&self, one: &Renumbering) -> Result<bool> {
        match &one.parents[..] {
            [first, _, ..] => Ok(!self.is_in(first)?),
            _ => Ok(true),
        }
    }

    /// True if the approval is reachable from a commit.
    fn is_in(&self, commit: &Oid) -> Result<bool> {
        git::refs::is_ancestor(self.git, &self.approval.commit, commit)
    }

    fn pieces(&self, text: &str, done: &[Renumbered]) -> Result<Option<Vec<String>>> {
        let tip = CommittedFiles::new(self.git, &self.session.name, &self.session.tip);
        pieces(&tip, self.artifact, text, done)
    }

    fn pieces_at(&self, commit: &Oid, done: &[Renumbered]) -> Result<Option<Vec<String>>> {
        let files = CommittedFiles::new(self.git, &self.session.name, commit);
        let Some(text) = files.read(self.artifact)? else { return Ok(None) };
        self.pieces(&text, done)
    }

    /// The other sides since the approval: the other parents of merges and, if the approval was
    /// rebased or cherry-picked, the commits below it.
    fn other_sides(&self, blob: &Oid, done: &[Renumbered]) -> Result<Vec<OtherSide>> {
        let path = artifact_path(&self.session.name, self.artifact);
        let mut sides = Vec::new();
        let own = git::snapshot::blob_id(self.git, &self.approval.commit, &path)?;
        if own.as_ref() != Some(blob)
            && let Some(below) = self.approval.parents.first()
        {
            sides.extend(self.side_below(below, done)?);
        }
        let tip = std::slice::from_ref(&self.session.tip);
        let merges = self.git.reader().walk(tip, std::slice::from_ref(&self.approval.commit))?;
        for merge in merges.iter().filter(|commit| commit.parents.len() > 1) {
            for parent in &merge.parents {
                if self.is_in(parent)? {
                    continue;
                }
                let own = merge.parents.iter().find(|other| *other != parent);
                sides.extend(self.passed_side(parent, own, done)?);
            }
        }
        Ok(sides)
    }

    /// The side below an approval that was rebased or cherry-picked: the last approved version
    /// there, else the session's start.
    fn side_below(&self, below: &Oid, done: &[Renumbered]) -> Result<Option<OtherSide>> {
        let there = Session::load(self.git, &self.session.name, below).ok();
        let passed = there.map(|there| (self.passed_in)(&there)).transpose()?.flatten();
        let began = self.before().first();
        match (passed, began) {
            (Some((commit, _)), _) => self.passed_side(&commit, None, done),
            (None, Some(began)) => self.side(began, None, done).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The side at a commit, if the file there is as approved; `own` is the other parent of the
    /// merge.
    fn passed_side(
        &self,
        commit: &Oid,
        own: Option<&Oid>,
        done: &[Renumbered],
    ) -> Result<Option<OtherSide>> {
        let Ok(there) = Session::load(self.git, &self.session.name, commit) else {
            return Ok(None);
        };
        match (self.passed_in)(&there)? {
            Some((_, true)) => self.side(commit, own, done).map(Some),
            _ => Ok(None),
        }
    }

    fn side(&self, commit: &Oid, own: Option<&Oid>, done: &[Renumbered]) -> Result<OtherSide> {
        let mut side = OtherSide::default();
        for ids in [&[][..], done] {
            side.brought.extend(self.pieces_at(commit, ids)?.unwrap_or_default());
        }
        let base = own.map(|own| git::merge::base(self.git, own, commit)).transpose()?.flatten();
        if let Some(base) = base {
            let old = self.pieces_at(&base, &[])?.unwrap_or_default();
            side.took = old.into_iter().filter(|piece| !side.brought.contains(piece)).collect();
        }
        Ok(side)
    }
}
