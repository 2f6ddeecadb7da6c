//! The data of a page: a session, read from history and refs.

use super::room::COMMITS;
use super::template::clean;
use crate::artifact::{Plan, Store, Task};
use crate::git::{Commit, Git, Oid};
use crate::secret::Secrets;
use crate::session::{
    CommittedFiles, Entry, LineCounts, Session, Status, Step, code, log, own_tasks, start_of_code,
};
use crate::stage::Stage;

/// The data of a page.
pub(crate) struct PageSource<'a> {
    /// The repository.
    pub git: &'a Git,
    /// The state and the usage of the session.
    pub status: &'a Status,
    /// How each finished stage was passed, in words.
    pub passed: &'a [(Stage, String)],
    /// The secrets that must not be in the page.
    pub secrets: &'a Secrets,
}

/// A commit of the session that changed code.
pub(super) struct CodeCommit {
    pub(super) commit: Commit,
    /// The commit's parent.
    pub(super) parent: Oid,
    /// The files that it changed, without the session's documents.
    pub(super) files: Vec<String>,
    /// Its entry in the session's history, if any.
    pub(super) entry: Option<Entry>,
}

impl PageSource<'_> {
    pub(super) fn session(&self) -> &Session {
        &self.status.session
    }

    /// A text without secrets and harmful characters.
    pub(super) fn clean(&self, text: &str) -> String {
        clean(text, self.secrets)
    }

    /// Every step that is known in this repository, in order.
    pub(super) fn steps(&self) -> anyhow::Result<Vec<Step>> {
        log(self.git, self.session(), LineCounts::Unwanted)
    }

    /// The newest records.
    pub(super) fn files(&self) -> anyhow::Result<CommittedFiles> {
        let session = self.session();
        let newest = session.newest_records(self.git)?;
        Ok(CommittedFiles::new(self.git, &session.name, &newest))
    }

    /// The whole plan, and those of its tasks that are the session's own.
    pub(super) fn plan(&self) -> anyhow::Result<(Plan, Vec<Task>)> {
        let plan = Store::new(&self.files()?).plan()?;
        let own_tasks = own_tasks(self.git, self.session(), plan.clone())?;
        Ok((plan, own_tasks))
    }

    /// The commits of the branch that changed code, oldest first, including those of people, and
    /// the number of earlier commits that are left out. Commits that came with a merge are not
    /// included.
    pub(super) fn code_commits(&self) -> anyhow::Result<(Vec<CodeCommit>, usize)> {
        let (session, reader) = (self.session(), self.git.reader());
        let Some(start) = start_of_code(self.git, session) else { return Ok((Vec::new(), 0)) };
        let commits =
            reader.walk(std::slice::from_ref(&session.tip), std::slice::from_ref(&start))?;
        let (mut newest_first, mut earlier) = (Vec::new(), 0);
        let mut next = Some(session.tip.clone());
        while let Some(commit) = next.and_then(|id| commits.iter().find(|commit| commit.id == id)) {
            next = commit.parents.first().cloned();
            let [parent] = &commit.parents[..] else { continue };
            let changes = reader.diff(Some(parent), &commit.id)?.into_iter();
            let files = code(changes.map(|change| change.path).collect());
            if !files.is_empty() && newest_first.len() >= COMMITS {
                earlier += 1;
            } else if !files.is_empty() {
                let entry = session.history.iter().find(|entry| entry.commit == commit.id);
                let (parent, entry) = (parent.clone(), entry.cloned());
                newest_first.push(CodeCommit { commit: commit.clone(), parent, files, entry });
            }
        }
        newest_first.reverse();
        Ok((newest_first, earlier))
    }
}

/// The id, for links, of the `k`th file in the `n`th commit that changed code.
pub(super) fn file_id(n: usize, k: usize) -> String {
    format!("file-{n}-{k}")
}

/// The id, for links, of the `n`th commit that changed code.
pub(super) fn commit_id(n: usize) -> String {
    format!("change-{n}")
}
