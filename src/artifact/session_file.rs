//! `session.json`: what a session was started with. Written by the start commit, and once more when
//! its format is raised; there is no status in it, because status is read from history.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::stage::Depth;

/// The version this program writes.
pub const SCHEMA_VERSION: &str = "1.1";

/// Where a session comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    /// An idea.
    #[default]
    New,
    /// A change request on another session.
    Patch,
}

/// What the session's branch was started from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Short branch name; empty when HEAD was detached.
    pub branch: String,
    /// Full commit id.
    pub commit: String,
}

/// The session a change request belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Session name.
    pub session: String,
    /// Full commit id of its tip.
    pub commit: String,
}

/// What a session was made from, where that is more than an idea.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOrigin {
    /// `spec-kit`, `OpenSpec` or `branch`.
    pub kind: String,
    /// The folder or the branch.
    pub name: String,
    /// The requirements it brought: they are not too many, whatever the limits.
    #[serde(default)]
    pub requirements: u32,
    /// The features.
    #[serde(default)]
    pub features: u32,
    /// The tasks.
    #[serde(default)]
    pub tasks: u32,
    /// Of a branch: the commits below the session's own that its tasks stand for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<AdoptedTask>,
}

/// A task that was done before the session began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdoptedTask {
    /// Its id.
    pub task: String,
    /// The commits, oldest first, by their full ids.
    pub commits: Vec<String>,
}

/// The content of `session.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFile {
    /// [`SCHEMA_VERSION`] when it was written.
    #[serde(default)]
    pub schema_version: String,
    /// UUID, also in every commit's `Cowork-Session-Id`.
    pub id: String,
    /// Session name.
    pub name: String,
    /// New or patch.
    #[serde(default)]
    pub kind: SessionKind,
    /// The idea in a line.
    #[serde(default)]
    pub title: String,
    /// The idea as it was given.
    #[serde(default)]
    pub idea: String,
    /// How much process it gets; the newest `Cowork-Depth` counts before this.
    #[serde(default)]
    pub depth: Depth,
    /// Where it began.
    #[serde(default)]
    pub base: Base,
    /// The session it changes, in a patch session.
    #[serde(default)]
    pub parent: Option<Parent>,
    /// RFC 3339 in UTC.
    #[serde(default)]
    pub created_at: String,
    /// The language of the idea, by its English name, where the model has said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// What it was made from, where that is more than an idea.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SessionOrigin>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl SessionFile {
    /// Whether it began with commits that somebody else had made.
    pub fn is_adopted(&self) -> bool {
        self.adopted().next().is_some()
    }

    /// The commits that were adopted, each with its task, oldest first.
    pub fn adopted(&self) -> impl Iterator<Item = (&str, &str)> {
        let tasks = self.origin.iter().flat_map(|origin| &origin.adopted);
        tasks.flat_map(|one| one.commits.iter().map(|id| (one.task.as_str(), id.as_str())))
    }

    /// What in it no program of ours has written. It came with a clone, and its values become part
    /// of paths, refs and commands.
    pub fn problem(&self) -> Option<&'static str> {
        const LONGEST: usize = 64;
        let word = |text: &str| {
            !text.is_empty()
                && text.len() <= LONGEST
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        let commit = |text: &str| text.is_empty() || word(text) && !text.contains('-');
        let branch = |text: &str| {
            let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
            !text.starts_with(['-', '/']) && !text.contains("..") && !text.contains(odd)
        };
        if !word(&self.id) {
            Some("its id is no UUID")
        } else if !branch(&self.base.branch) {
            Some("its base is no branch name")
        } else if !commit(&self.base.commit) {
            Some("its base is no commit id")
        } else if self.parent.as_ref().is_some_and(|p| !word(&p.session) || !commit(&p.commit)) {
            Some("its parent is no session")
        } else if !self.adopted().all(|(task, id)| word(task) && word(id) && commit(id)) {
            Some("what it adopted is no commit")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(id: &str, branch: &str, commit: &str, parent: Option<(&str, &str)>) -> SessionFile {
        let parent = parent
            .map(|(session, commit)| Parent { session: session.into(), commit: commit.into() });
        let base = Base { branch: branch.into(), commit: commit.into() };
        SessionFile { id: id.into(), base, parent, ..SessionFile::default() }
    }

    #[test]
    fn what_would_leave_its_place_is_a_problem() {
        let id = "0191e7a2-0000-7000-8000-0123456789ab";
        let hash = "0123456789abcdef0123456789abcdef01234567";
        for (branch, commit, parent) in [
            ("main", hash, None),
            ("", "", None),
            ("feature/größe-1", hash, Some(("todo--due", hash))),
        ] {
            assert_eq!(file(id, branch, commit, parent).problem(), None, "{branch}");
        }
        for (id, branch, commit, parent) in [
            ("", "main", hash, None),
            ("../../x", "main", hash, None),
            ("a\nb", "main", hash, None),
            (id, "--upload-pack=x", hash, None),
            (id, "../../x", hash, None),
            (id, "a\u{1b}[2J", hash, None),
            (id, "main", "HEAD~1", None),
            (id, "main", "-x", None),
            (id, "main", hash, Some(("../x", hash))),
            (id, "main", hash, Some(("x", "../x"))),
        ] {
            assert!(file(id, branch, commit, parent).problem().is_some(), "{id} {branch}");
        }
    }
}
