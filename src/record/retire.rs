//! Putting a session away: into the archive or out of sight, and back. Each is one transaction of
//! references, so that a session is never in two places or in none.

use super::{Recorder, point};
use crate::git::{Oid, RefTransaction};
use crate::session::{RefNames, Trailers, Verdict};

impl Recorder<'_> {
    /// Moves the session from its branch into the archive; its drafts end. The branch must not be
    /// checked out anywhere.
    pub fn archive(&self, tip: &Oid) -> anyhow::Result<()> {
        let transaction = RefTransaction::new(format!("cowork: archive {}", self.name))
            .delete(&self.refs.branch(self.name), tip);
        let transaction = self.keep_in_archive(transaction, tip)?;
        let root = format!("refs/cowork/drafts/{}/", self.name);
        let transaction = self.delete_below(transaction, &root)?;
        point("archive.before-refs");
        transaction.commit(self.git)?;
        point("archive.after-refs");
        Ok(())
    }

    /// Lets the archive name the tip, whatever it named before: a merge without artifacts keeps its
    /// session there, too.
    pub(super) fn keep_in_archive(
        &self,
        transaction: RefTransaction,
        tip: &Oid,
    ) -> anyhow::Result<RefTransaction> {
        let archive = RefNames::archive(self.name);
        Ok(match self.git.resolve(archive.as_str())? {
            Some(old) if old == *tip => transaction,
            Some(old) => transaction.update(&archive, tip, &old),
            None => transaction.create(&archive, tip),
        })
    }

    /// Moves the session from the archive back to its branch.
    pub fn unarchive(&self, tip: &Oid) -> anyhow::Result<()> {
        RefTransaction::new(format!("cowork: restore {}", self.name))
            .create(&self.refs.branch(self.name), tip)
            .delete(&RefNames::archive(self.name), tip)
            .commit(self.git)
    }

    /// Removes branch and tags, and what the archive has of it; an attempt must hold the tip. The
    /// branch must not be checked out anywhere.
    pub fn delete(&self, tip: &Oid) -> anyhow::Result<()> {
        let mut transaction = RefTransaction::new(format!("cowork: delete {}", self.name))
            .delete(&self.refs.branch(self.name), tip);
        let archive = RefNames::archive(self.name);
        if self.git.resolve(archive.as_str())?.as_ref() == Some(tip) {
            transaction = transaction.delete(&archive, tip);
        }
        let root = format!("refs/tags/cowork/{}/", self.name);
        let transaction = self.delete_below(transaction, &root)?;
        point("delete.before-refs");
        transaction.commit(self.git)?;
        point("delete.after-refs");
        Ok(())
    }

    fn delete_below(
        &self,
        transaction: RefTransaction,
        root: &str,
    ) -> anyhow::Result<RefTransaction> {
        let refs = self.git.list_refs(&[root])?;
        Ok(refs.iter().fold(transaction, |all, info| all.delete(&info.name, &info.object)))
    }

    /// Keeps drafts as an attempt before their refs go: an unfinished one as what was not committed,
    /// older ones behind it and `others` as further parents. Answers with its number.
    pub fn keep_drafts(
        &self,
        tip: &Oid,
        unfinished: Option<&Oid>,
        others: &[Oid],
        reason: &str,
    ) -> anyhow::Result<u32> {
        let held = unfinished.unwrap_or(tip);
        let tree = self.git.tree_of(held.as_str())?.unwrap_or_else(|| held.clone());
        let others = others.iter().filter(|other| Some(*other) != unfinished);
        let behind: Vec<Oid> = unfinished.into_iter().chain(others).cloned().collect();
        self.attempt_of(tip, &tree, &behind, reason, Verdict::Passed, &Trailers::default())
    }
}
