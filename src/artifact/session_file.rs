//! `session.json`: the parameters with which a session was started. The start commit writes it, and
//! an upgrade of its format writes it once more. It has no status, because status is read from
//! history.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::stage::Depth;

/// The format that this version writes.
pub const SCHEMA_VERSION: &str = "1.1";

/// The type of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    /// A session for an idea.
    #[default]
    New,
    /// A change request for another session.
    Patch,
}

/// The commit that the session's branch was started from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Short branch name; empty when HEAD was detached.
    pub branch: String,
    /// Full commit id.
    pub commit: String,
}

/// The session that a change request belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Session name.
    pub session: String,
    /// Full commit id of the session's tip.
    pub commit: String,
}

/// The source of a session that was not started from an idea alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOrigin {
    /// The kind of specifications, such as `spec-kit`, or `branch`.
    pub kind: String,
    /// Name of the folder or branch.
    pub name: String,
    /// Number of imported requirements. The upper limits are raised so that imported records do not
    /// exceed them.
    #[serde(default)]
    pub requirements: u32,
    /// Number of imported features.
    #[serde(default)]
    pub features: u32,
    /// Number of imported tasks.
    #[serde(default)]
    pub tasks: u32,
    /// For a branch: the tasks that stand for adopted commits, each with its commits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<AdoptedTask>,
}

/// A task that was done before the session started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdoptedTask {
    /// Id of the task.
    pub task: String,
    /// Full ids of the commits, oldest first.
    pub commits: Vec<String>,
}

/// The content of `session.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFile {
    /// The value of [`SCHEMA_VERSION`] when the file was written.
    #[serde(default)]
    pub schema_version: String,
    /// UUID, also in the `Cowork-Session-Id` of every commit.
    pub id: String,
    /// Session name.
    pub name: String,
    /// Whether the session is new or a patch.
    #[serde(default)]
    pub kind: SessionKind,
    /// The idea in one line.
    #[serde(default)]
    pub title: String,
    /// The idea as the user wrote it.
    #[serde(default)]
    pub idea: String,
    /// How much process the session has; the newest `Cowork-Depth` trailer overrides this.
    #[serde(default)]
    pub depth: Depth,
    /// Branch and commit that the session was started from.
    #[serde(default)]
    pub base: Base,
    /// The session that a patch session changes.
    #[serde(default)]
    pub parent: Option<Parent>,
    /// RFC 3339 in UTC.
    #[serde(default)]
    pub created_at: String,
    /// English name of the idea's language, if the model named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The source of the session, if it was not started from an idea alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SessionOrigin>,
    /// Unknown fields, such as those of other versions of git-cowork.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl SessionFile {
    /// True if the session was started from commits that already existed.
    pub fn is_adopted(&self) -> bool {
        self.adopted().next().is_some()
    }

    /// Returns the adopted commits, each with its task, oldest first.
    pub fn adopted(&self) -> impl Iterator<Item = (&str, &str)> {
        let tasks = self.origin.iter().flat_map(|origin| &origin.adopted);
        tasks.flat_map(|one| one.commits.iter().map(|id| (one.task.as_str(), id.as_str())))
    }

    /// Returns what is wrong with a value that git-cowork cannot have written; `None` if every
    /// value is valid. The file may come from a clone, and its values become parts of paths, refs
    /// and commands.
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
            Some("its id is not a UUID")
        } else if !branch(&self.base.branch) {
            Some("its base branch has an invalid name")
        } else if !commit(&self.base.commit) {
            Some("its base commit has an invalid id")
        } else if self.parent.as_ref().is_some_and(|p| !word(&p.session) || !commit(&p.commit)) {
            Some("its parent has an invalid session name or commit id")
        } else if !self.adopted().all(|(task, id)| word(task) && word(id) && commit(id)) {
            Some("an adopted commit has an invalid commit id or task id")
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
    fn values_that_git_cowork_cannot_have_written_are_reported() {
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
