//! Bringing an attempt back: as its tip, with the edits it holds in the working tree.

use crate::git::{Oid, Store};
use crate::pipeline::Pipeline;
use crate::record::in_session;
use crate::session::{Attempt, Entry, RefNames, Session, Verdict};
use crate::stage::Stage;

impl Pipeline<'_> {
    /// Makes an attempt the tip again; the present tip becomes an attempt.
    ///
    /// # Errors
    /// Exit 5 when something of the user's would be lost, or HEAD is elsewhere; nothing has moved.
    pub fn restore(&mut self, attempt: &Attempt) -> anyhow::Result<()> {
        self.stage.set(self.present_stage()?);
        let recorder = self.recorder();
        let tip = self.session.tip.clone();
        recorder.may_rewind(&tip, &attempt.tip)?;
        let kept = if attempt.tip != tip || recorder.would_lose(&tip)? {
            let reason = format!("before attempt {} was restored", attempt.number);
            Some(recorder.keep_attempt(&tip, &reason, Verdict::Aborted)?)
        } else {
            None
        };
        recorder.rewind(&tip, &attempt.tip)?;
        self.session = Session::load(self.env.git, &self.session.name, &attempt.tip)?;
        let stage = self.present_stage()?;
        self.stage.set(stage);
        let draft = self.revive_draft(stage)?;
        let left = self.unpack(attempt, draft.as_ref())?;
        self.recorder().labels(&self.session)?;
        self.say_restored(attempt, kept, &left);
        Ok(())
    }

    /// A draft that was ended when the tip was left behind goes on where it was: answers with its
    /// commit.
    fn revive_draft(&self, stage: Stage) -> anyhow::Result<Option<Oid>> {
        let git = self.env.git;
        let Some(newest) = git.resolve(RefNames::draft(&self.session.name, stage).as_str())? else {
            return Ok(None);
        };
        let tip = &self.session.tip;
        let drafts = self.session.beside_tip(git, &newest)?;
        let live = |entry: &Entry| {
            entry.parents.first() == Some(tip) && entry.verdict() != Some(Verdict::Aborted)
        };
        let Some(draft) = drafts.into_iter().find(live) else { return Ok(None) };
        if draft.commit != newest {
            self.recorder().draft_again(&draft, stage)?;
        }
        Ok(Some(draft.commit))
    }

    /// Puts the attempt's edits into the working tree, where nothing else is. Answers with the
    /// paths that hold something else.
    fn unpack(&self, attempt: &Attempt, draft: Option<&Oid>) -> anyhow::Result<Vec<String>> {
        let git = self.env.git;
        let edits = git.changed_paths(&attempt.tip, &attempt.commit)?;
        let dirty: Vec<String> = git.status()?.into_iter().map(|entry| entry.path).collect();
        let (there, free): (Vec<String>, Vec<String>) = edits
            .into_iter()
            .partition(|path| dirty.contains(path) || self.lies_there(attempt, path));
        git.restore_worktree(&attempt.commit, &free)?;
        let dirs = [self.session.name.artifact_dir(), self.session.name.record_dir()];
        let drafted = match draft {
            Some(draft) => git.changed_paths(&attempt.tip, draft)?,
            None => Vec::new(),
        };
        let ours = |path: &&String| in_session(path, &dirs) || drafted.contains(path);
        let ours: Vec<String> = free.iter().filter(ours).cloned().collect();
        self.env.workspace.adopt(&ours)?;
        let mut left = Vec::new();
        for (path, blob) in there.iter().zip(git.hash_files(&there, Store::No)?) {
            if git.blob_id(&attempt.commit, path)? != blob {
                left.push(path.clone());
            }
        }
        Ok(left)
    }

    /// True when a file that git does not list (an ignored one) is in the place of an edit.
    fn lies_there(&self, attempt: &Attempt, path: &str) -> bool {
        let tracked = self.env.git.blob_id(&attempt.tip, path).is_ok_and(|blob| blob.is_some());
        !tracked && self.env.git.top().join(path).symlink_metadata().is_ok()
    }

    fn say_restored(&self, attempt: &Attempt, kept: Option<u32>, left: &[String]) {
        let (name, number) = (&self.session.name, attempt.number);
        self.note(format!("attempt {number} is the tip again ({})", attempt.reason));
        if let Some(kept) = kept {
            self.note(format!(
                "what was there is attempt {kept}: git cowork restore {name} {kept}"
            ));
        }
        if !left.is_empty() {
            self.warn(format!(
                "left as they are, because you have other changes there: {}; the attempt's: git show {}:PATH",
                left.join(", "),
                attempt.ref_name()
            ));
        }
    }
}
