//! Whether a file still holds what was passed after branches met: records under the ids they have now,
//! and beside them only what was passed on the other side. What a person has not seen is not in it.

use std::collections::BTreeSet;

use crate::artifact::{Artifact, Files as _, Renumbered, pieces};
use crate::git::{self, Git, Object, Oid};
use crate::session::{CommittedFiles, Entry, Renumbering, Session, artifact_path, renumberings};

/// A file of a session that a person passed, and the commit that says so.
pub(super) struct Passed<'a> {
    pub(super) git: &'a Git,
    pub(super) session: &'a Session,
    pub(super) artifact: Artifact,
    pub(super) approval: &'a Entry,
    /// What is known of the file in another version of the session.
    pub(super) passed_in: &'a dyn Fn(&Session) -> anyhow::Result<Option<PassedIn>>,
}

/// The commit that passed a file, and whether the file is still as it was passed.
pub(super) type PassedIn = (Oid, bool);

/// What another branch brought, and what it took away.
#[derive(Default)]
struct OtherSide {
    brought: BTreeSet<String>,
    took: BTreeSet<String>,
}

impl Passed<'_> {
    /// Whether the tip holds all that was passed as `blob`, and nothing that nobody has passed.
    ///
    /// # Errors
    /// Git cannot be read.
    pub(super) fn is_held(&self, blob: &Oid) -> anyhow::Result<bool> {
        let (mut done, mut all) = (Vec::new(), Vec::new());
        for one in renumberings(self.git, &self.session.name, &self.session.tip, self.before())? {
            all.extend(one.ids.clone());
            if self.may_follow(&one)? {
                done.extend(one.ids);
            }
        }
        let Some(bytes) = self.git.reader().blob(Object::Id(blob))? else { return Ok(false) };
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

    /// What the session began with.
    fn before(&self) -> &[Oid] {
        self.session.history.first().map_or(&[][..], |first| &first.parents)
    }

    /// Whether what was passed may name the old ids: what a merge has on its first side keeps its own.
    fn may_follow(&self, one: &Renumbering) -> anyhow::Result<bool> {
        match &one.parents[..] {
            [first, _, ..] => Ok(!self.is_in(first)?),
            _ => Ok(true),
        }
    }

    /// Whether the approval is reachable from a commit.
    fn is_in(&self, commit: &Oid) -> anyhow::Result<bool> {
        git::refs::is_ancestor(self.git, &self.approval.commit, commit)
    }

    fn pieces(&self, text: &str, done: &[Renumbered]) -> anyhow::Result<Option<Vec<String>>> {
        let tip = CommittedFiles::new(self.git, &self.session.name, &self.session.tip);
        pieces(&tip, self.artifact, text, done)
    }

    fn pieces_at(&self, commit: &Oid, done: &[Renumbered]) -> anyhow::Result<Option<Vec<String>>> {
        let files = CommittedFiles::new(self.git, &self.session.name, commit);
        let Some(text) = files.read(self.artifact)? else { return Ok(None) };
        self.pieces(&text, done)
    }

    /// What the session met since: in merges, and below a commit that was rebased or picked.
    fn other_sides(&self, blob: &Oid, done: &[Renumbered]) -> anyhow::Result<Vec<OtherSide>> {
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

    /// What a rebased or picked approval was put on: what was passed there last, else what the session
    /// began with.
    fn side_below(&self, below: &Oid, done: &[Renumbered]) -> anyhow::Result<Option<OtherSide>> {
        let there = Session::load(self.git, &self.session.name, below).ok();
        let passed = there.map(|there| (self.passed_in)(&there)).transpose()?.flatten();
        let began = self.before().first();
        match (passed, began) {
            (Some((commit, _)), _) => self.passed_side(&commit, None, done),
            (None, Some(began)) => self.side(began, None, done).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// What is at a commit, where it is as it was passed; `own` is the commit it met.
    fn passed_side(
        &self,
        commit: &Oid,
        own: Option<&Oid>,
        done: &[Renumbered],
    ) -> anyhow::Result<Option<OtherSide>> {
        let Ok(there) = Session::load(self.git, &self.session.name, commit) else {
            return Ok(None);
        };
        match (self.passed_in)(&there)? {
            Some((_, true)) => self.side(commit, own, done).map(Some),
            _ => Ok(None),
        }
    }

    fn side(
        &self,
        commit: &Oid,
        own: Option<&Oid>,
        done: &[Renumbered],
    ) -> anyhow::Result<OtherSide> {
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
