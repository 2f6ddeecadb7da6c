//! The names of all refs of sessions, and the prefixes to list branches, tags and notes by.

use super::SessionName;
use crate::git::RefName;
use crate::stage::Stage;

/// The ref names of sessions, for one `[project] branch_prefix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefNames {
    prefix: String,
}

impl RefNames {
    /// Prefix of local branches.
    pub const BRANCHES: &str = "refs/heads/";
    /// Prefix of remote-tracking branches.
    pub const REMOTES: &str = "refs/remotes/";
    /// Prefix of tags.
    pub const TAGS: &str = "refs/tags/";
    /// Prefix of the tags of all sessions.
    const OWN_TAGS: &str = "refs/tags/cowork/";
    /// Prefix of notes.
    pub const NOTES: &str = "refs/notes/";
    /// Prefix of the refs that only git-cowork writes.
    pub const OWN: &str = "refs/cowork/";
    /// Prefix of the labels of stages of all sessions, where they are not tags.
    pub const STAGES: &str = "refs/cowork/stages/";
    /// Prefix of all drafts of all sessions.
    pub const DRAFTS: &str = "refs/cowork/drafts/";
    /// Prefix of all attempts of all sessions.
    pub const ATTEMPTS: &str = "refs/cowork/attempts/";
    /// Prefix of all archived sessions.
    pub const ARCHIVE: &str = "refs/cowork/archive/";

    /// The ref names for this branch prefix (`cowork` unless configured).
    pub fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// `cowork/S`, as `git switch` accepts it.
    pub fn short_branch(&self, name: &SessionName) -> String {
        format!("{}/{name}", self.prefix)
    }

    /// `refs/heads/cowork/S`
    pub fn branch(&self, name: &SessionName) -> RefName {
        RefName::trusted(format!("{}{name}", self.branch_root()))
    }

    /// `refs/heads/cowork-pr/S`: the branch pushed by `pr --without-artifacts`.
    pub fn without_artifacts(name: &SessionName) -> RefName {
        RefName::trusted(format!("{}cowork-pr/{name}", Self::BRANCHES))
    }

    /// `refs/heads/cowork/`: prefix of all session branches.
    pub fn branch_root(&self) -> String {
        format!("{}{}/", Self::BRANCHES, self.prefix)
    }

    /// Pattern for `for-each-ref` that matches remote session branches.
    pub fn remote_pattern(&self) -> String {
        Self::remote("*", &format!("{}/*", self.prefix))
    }

    /// The names of all refs of a session, and of the folders that contain only such.
    pub fn own(&self, name: &SessionName) -> Vec<String> {
        let folder = |root: String| root.trim_end_matches('/').to_owned();
        vec![
            self.branch(name).to_string(),
            folder(Self::tags(name)),
            folder(Self::stages(name)),
            folder(Self::drafts(name)),
            folder(Self::attempts(name)),
            Self::archive(name).to_string(),
            Self::without_artifacts(name).to_string(),
            folder(Self::NOTES.to_owned()),
        ]
    }

    /// Prefixes of all refs that only git-cowork moves.
    pub fn own_roots(&self) -> [String; 3] {
        // The configured prefix is only for branches: tags have the same names whatever the prefix
        // is.
        [Self::OWN.to_owned(), self.branch_root(), Self::OWN_TAGS.to_owned()]
    }

    /// Like [`Self::session_of`], also for a remote-tracking branch.
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

    /// `refs/heads/BRANCH`, for a lookup: the branch name is not validated.
    pub fn local(branch: &str) -> String {
        format!("{}{branch}", Self::BRANCHES)
    }

    /// `refs/remotes/REMOTE/BRANCH`; with an empty branch, the prefix of all branches of the
    /// remote.
    pub fn remote(remote: &str, branch: &str) -> String {
        format!("{}{remote}/{branch}", Self::REMOTES)
    }

    /// `refs/notes/NAME`
    pub fn notes(name: &str) -> String {
        format!("{}{name}", Self::NOTES)
    }

    /// Tags with which git could not create those of a session: `refs/tags/cowork` and
    /// `refs/tags/cowork/S`.
    pub fn tags_in_the_way(session: &SessionName) -> [String; 2] {
        let folder = |prefix: &str| prefix.trim_end_matches('/').to_owned();
        [folder(Self::OWN_TAGS), folder(&Self::tags(session))]
    }

    /// `refs/tags/cowork/S/`: prefix of all tags of a session.
    pub fn tags(name: &SessionName) -> String {
        format!("{}{name}/", Self::OWN_TAGS)
    }

    /// `refs/cowork/stages/S/`: prefix of a session's labels where they are not tags.
    pub fn stages(name: &SessionName) -> String {
        format!("{}{name}/", Self::STAGES)
    }

    /// The prefixes of a session's labels of stages, whatever `[project] tags` says now.
    pub fn labels(name: &SessionName) -> [String; 2] {
        [Self::tags(name), Self::stages(name)]
    }

    /// `refs/cowork/drafts/S/`: prefix of all drafts of a session.
    pub fn drafts(name: &SessionName) -> String {
        format!("{}{name}/", Self::DRAFTS)
    }

    /// `refs/cowork/attempts/S/`: prefix of all attempts of a session.
    pub fn attempts(name: &SessionName) -> String {
        format!("{}{name}/", Self::ATTEMPTS)
    }

    /// A label below one of [`Self::labels`]: `prd` or `prd-2`, for example.
    pub fn label(root: &str, label: &str) -> RefName {
        RefName::trusted(format!("{root}{label}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_roots_contain_the_refs_of_a_session_with_any_branch_prefix() {
        let name: SessionName = "todo".parse().unwrap();
        for prefix in ["cowork", "work/ai"] {
            let refs = RefNames::new(prefix);
            let branch = refs.branch(&name).as_str().to_owned();
            for own in [branch, RefNames::tags(&name), RefNames::drafts(&name)] {
                let is_own = |root: &String| own.starts_with(root);
                assert!(refs.own_roots().iter().any(is_own), "{own} with {prefix}");
            }
        }
    }
}
