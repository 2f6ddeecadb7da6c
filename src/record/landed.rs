//! Where a commit of ours landed. Between the look at HEAD and `git commit` a hook or a person may
//! switch, amend or commit: what came to lie elsewhere is taken off again, so that nothing of ours
//! ever stays on a branch we did not expect.

use super::Recorder;
use crate::error::Error;
use crate::git::{Head, Oid, RefName, RefTransaction};
use crate::session::{Message, Trailers, key};

impl Recorder<'_> {
    /// Makes sure that `commit`, just made, is on the session's branch and on `tip`.
    ///
    /// # Errors
    /// Exit 5 with the mend: it was taken off again, and the files lie where they were.
    pub(super) fn expect_landed(
        &self,
        tip: &Oid,
        commit: &Oid,
        paths: &[String],
    ) -> anyhow::Result<()> {
        let branch = self.refs.branch(self.name);
        let short = self.refs.short_branch(self.name);
        let head = self.git.head()?;
        let back = match self.git.resolve(branch.as_str())? {
            Some(_) => format!("git switch {short} && git cowork resume"),
            None => format!("git branch {short} {tip} && git cowork resume {}", self.name),
        };
        let parent = self.parent(commit)?;
        let on_tip = parent.as_ref() == Some(tip);
        if on_tip && head.branch() == Some(&branch) {
            return Ok(());
        }
        if on_tip && self.git.resolve(branch.as_str())?.as_ref() == Some(commit) {
            return Err(Error::repository(format!("HEAD left {short} while it was committed to"))
                .hint(format!("the commit exists; continue: {back}"))
                .into());
        }
        let (Some(parent), true) = (parent, self.is_ours(commit)?) else {
            return Err(moved(&short).into());
        };
        match &head {
            Head::Branch { name, oid } if oid == commit => {
                self.take_off(name, &parent, commit, paths)?;
                let error = if *name == branch {
                    Error::repository(format!("{short} moved while it was committed to"))
                        .hint("your commits stay; ours was taken off again, its files lie there")
                        .hint(format!("continue: git cowork resume {}", self.name))
                } else {
                    let elsewhere = name.short();
                    Error::repository(format!("HEAD went to {elsewhere} while we committed"))
                        .hint(format!(
                            "{elsewhere} is as it was; ours was taken off again, its files lie there"
                        ))
                        .hint(format!("continue: {back}"))
                };
                Err(error.into())
            }
            _ => Err(Error::repository(format!(
                "HEAD left {short} while we committed; the commit is {commit}"
            ))
            .hint(format!("look at git log, then: {back}"))
            .into()),
        }
    }

    /// Makes sure that `commit`, just made on `tip`, says what it stands for: history is all that
    /// is read afterwards, and a stage it does not name would be run again without end.
    ///
    /// # Errors
    /// Exit 5 when a hook took the trailers out of the message; it was taken off again.
    pub(super) fn expect_readable(
        &self,
        tip: &Oid,
        commit: &Oid,
        paths: &[String],
        message: &Message,
    ) -> anyhow::Result<()> {
        let found =
            self.git.reader().walk(std::slice::from_ref(commit), std::slice::from_ref(tip))?;
        let found = found.first().map(|found| Trailers::parse(&found.message)).unwrap_or_default();
        let says = [key::SESSION_ID, key::EVENT, key::STAGE, key::TASK];
        if says.iter().all(|key| found.get(key) == message.trailers.get(key)) {
            return Ok(());
        }
        self.take_off(&self.refs.branch(self.name), tip, commit, paths)?;
        Err(Error::repository("a hook took the trailers out of the commit message")
            .hint("they are what history is read from; look at the commit-msg and prepare-commit-msg hooks")
            .hint("nothing was lost; then run the command again")
            .into())
    }

    /// The commit `git` made before it was stopped, if it came so far.
    pub(super) fn landed_all_the_same(
        &self,
        tip: &Oid,
        message: &Message,
    ) -> anyhow::Result<Option<Oid>> {
        let Head::Branch { name, oid } = self.git.head()? else { return Ok(None) };
        let ours = name == self.refs.branch(self.name)
            && self.parent(&oid)?.as_ref() == Some(tip)
            && self.trailers(&oid)?.is_some_and(|trailers| trailers.begin_with(&message.trailers));
        Ok(ours.then_some(oid))
    }

    /// Moves a branch back to where it was; index entries follow, files stay.
    fn take_off(
        &self,
        branch: &RefName,
        parent: &Oid,
        commit: &Oid,
        paths: &[String],
    ) -> anyhow::Result<()> {
        RefTransaction::new("cowork: not meant for this branch")
            .update(branch, parent, commit)
            .commit(self.git)?;
        if !paths.is_empty() {
            let reset = self.git.write(["reset", "--quiet", "HEAD", "--pathspec-from-file=-"]);
            reset.arg("--pathspec-file-nul").stdin_nul(paths).output()?;
        }
        Ok(())
    }

    fn parent(&self, commit: &Oid) -> anyhow::Result<Option<Oid>> {
        self.git.resolve(&format!("{commit}^1"))
    }

    fn is_ours(&self, commit: &Oid) -> anyhow::Result<bool> {
        let trailers = self.trailers(commit)?;
        Ok(trailers.is_some_and(|trailers| trailers.get(key::SESSION_ID) == Some(self.id)))
    }

    fn trailers(&self, commit: &Oid) -> anyhow::Result<Option<Trailers>> {
        let parents: Vec<Oid> = self.parent(commit)?.into_iter().collect();
        let found = self.git.reader().walk(std::slice::from_ref(commit), &parents)?;
        let found = found.iter().find(|found| found.id == *commit);
        Ok(found.map(|found| Trailers::parse(&found.message)))
    }
}

fn moved(short: &str) -> Error {
    Error::repository(format!("{short} moved while we worked"))
        .hint("nothing was lost; look at git log, then: git cowork resume")
}
