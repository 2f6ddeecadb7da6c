//! The names of all refs: those of sessions, and of branches, tags and notes they are looked up by.

use super::SessionName;
use crate::git::RefName;
use crate::stage::Stage;

/// The ref names of sessions, for one `[project] branch_prefix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefNames {
    prefix: String,
}

impl RefNames {
    /// What local branches begin with.
    pub const BRANCHES: &str = "refs/heads/";
    /// What branches of remotes begin with.
    pub const REMOTES: &str = "refs/remotes/";
    /// What tags begin with.
    pub const TAGS: &str = "refs/tags/";
    /// What notes begin with.
    pub const NOTES: &str = "refs/notes/";
    /// What the refs that only this program writes begin with.
    pub const OWN: &str = "refs/cowork/";
    /// What all drafts of all sessions begin with.
    pub const DRAFTS: &str = "refs/cowork/drafts/";
    /// What all attempts of all sessions begin with.
    pub const ATTEMPTS: &str = "refs/cowork/attempts/";
    /// What all archived sessions begin with.
    pub const ARCHIVE: &str = "refs/cowork/archive/";

    /// Names under this branch prefix (`cowork` unless configured).
    pub fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// `cowork/S`, as `git switch` takes it.
    pub fn short_branch(&self, name: &SessionName) -> String {
        format!("{}/{name}", self.prefix)
    }

    /// `refs/heads/cowork/S`
    pub fn branch(&self, name: &SessionName) -> RefName {
        RefName::trusted(format!("{}{name}", self.branch_root()))
    }

    /// `refs/heads/cowork-pr/S`: what is pushed of a session without its artifacts.
    pub fn without_artifacts(name: &SessionName) -> RefName {
        RefName::trusted(format!("{}cowork-pr/{name}", Self::BRANCHES))
    }

    /// `refs/heads/cowork/`: what all session branches begin with.
    pub fn branch_root(&self) -> String {
        format!("{}{}/", Self::BRANCHES, self.prefix)
    }

    /// What `for-each-ref` lists remote session branches by.
    pub fn remote_pattern(&self) -> String {
        Self::remote("*", &format!("{}/*", self.prefix))
    }

    /// What all begin with that only this program moves.
    pub fn own_roots(&self) -> [String; 3] {
        let tags = format!("{}{}/", Self::TAGS, self.prefix);
        [Self::OWN.to_owned(), self.branch_root(), tags]
    }

    /// As [`Self::session_of`], also for a remote's branch.
    pub fn session_of_any(&self, branch: &str) -> Option<SessionName> {
        let remote = || {
            let (_, short) = branch.strip_prefix(Self::REMOTES)?.split_once('/')?;
            self.session_of(&Self::local(short))
        };
        self.session_of(branch).or_else(remote)
    }

    /// The session a full branch name belongs to.
    pub fn session_of(&self, branch: &str) -> Option<SessionName> {
        branch.strip_prefix(&self.branch_root())?.parse().ok()
    }

    /// `refs/heads/BRANCH`, for looking it up: nothing checks that a branch may be called so.
    pub fn local(branch: &str) -> String {
        format!("{}{branch}", Self::BRANCHES)
    }

    /// `refs/remotes/REMOTE/BRANCH`; with an empty branch what all of a remote's begin with.
    pub fn remote(remote: &str, branch: &str) -> String {
        format!("{}{remote}/{branch}", Self::REMOTES)
    }

    /// `refs/notes/NAME`
    pub fn notes(name: &str) -> String {
        format!("{}{name}", Self::NOTES)
    }

    /// `refs/tags/cowork/S/`: what all tags of a session begin with.
    pub fn tags(name: &SessionName) -> String {
        format!("refs/tags/cowork/{name}/")
    }

    /// `refs/cowork/drafts/S/`: what all drafts of a session begin with.
    pub fn drafts(name: &SessionName) -> String {
        format!("{}{name}/", Self::DRAFTS)
    }

    /// `refs/cowork/attempts/S/`: what all attempts of a session begin with.
    pub fn attempts(name: &SessionName) -> String {
        format!("{}{name}/", Self::ATTEMPTS)
    }

    /// `refs/tags/cowork/S/LABEL`, where the label is `prd` or `prd-2`.
    pub fn tag(name: &SessionName, label: &str) -> RefName {
        RefName::trusted(format!("{}{label}", Self::tags(name)))
    }

    /// `refs/cowork/drafts/S/STAGE`
    pub fn draft(name: &SessionName, stage: Stage) -> RefName {
        RefName::trusted(format!("{}{stage}", Self::drafts(name)))
    }

    /// `refs/cowork/attempts/S/N`
    pub fn attempt(name: &SessionName, number: u32) -> RefName {
        RefName::trusted(format!("{}{number}", Self::attempts(name)))
    }

    /// `refs/cowork/archive/S`
    pub fn archive(name: &SessionName) -> RefName {
        RefName::trusted(format!("{}{name}", Self::ARCHIVE))
    }
}
