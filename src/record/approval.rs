//! The content that a person (or a policy) approved, named by its object ids.
//!
//! Nothing is approved unseen: a gated stage completes only with the content of its [`Approval`].
//! Nobody is asked twice: a draft that the approval covers is not shown again.

use anyhow::Result;
use serde_json::Value;

use crate::artifact::Artifact;
use crate::error::Error;
use crate::git::{self, Git, Object, Oid};
use crate::session::{Session, Trailers, Verdict, artifact_path, key};

/// The name of a whole tree.
const TREE: &str = "tree";

/// The content of a draft: object ids, each under its name in `Cowork-Approved`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovedContent(pub Vec<(String, Oid)>);

impl ApprovedContent {
    /// The artifacts of a draft: (name, path) pairs looked up in a commit; missing ones are left out.
    pub fn of_files(git: &Git, commit: &Oid, files: &[(String, String)]) -> Result<Self> {
        let paths: Vec<&str> = files.iter().map(|(_, path)| path.as_str()).collect();
        let blobs = git::snapshot::blob_ids(git, commit, &paths)?;
        let named = files.iter().zip(blobs);
        Ok(Self(named.filter_map(|((name, _), blob)| Some((name.clone(), blob?))).collect()))
    }

    /// A whole tree: the form in which coding is approved.
    pub fn of_tree(tree: Oid) -> Self {
        Self(vec![(TREE.to_owned(), tree)])
    }

    /// The tree, if this is the approval of coding.
    pub fn tree(&self) -> Option<&Oid> {
        self.0.iter().find(|(name, _)| name == TREE).map(|(_, tree)| tree)
    }

    /// Each file with its abbreviated id: `prd.md@1a2b3c4d5e6f`.
    fn items(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(name, oid)| format!("{name}@{}", oid.abbreviated()))
    }

    /// All files with their ids, on one line.
    pub fn render(&self) -> String {
        self.items().collect::<Vec<_>>().join(" ")
    }

    /// Adds one `Cowork-Approved` a file.
    pub fn push(&self, trailers: &mut Trailers) {
        self.items().for_each(|item| trailers.push(key::APPROVED, item));
    }

    /// True if these trailers approve exactly this content.
    pub fn is_approved_in(&self, trailers: &Trailers) -> bool {
        trailers.words(key::APPROVED).eq(self.items())
    }

    /// The names and abbreviated ids in these trailers.
    pub fn items_in(trailers: &Trailers) -> impl Iterator<Item = (&str, &str)> {
        trailers.words(key::APPROVED).filter_map(|item| item.split_once('@'))
    }

    /// The content that these trailers approve; `None` if they are malformed or an object no longer
    /// exists.
    pub fn approved_in(git: &Git, trailers: &Trailers) -> Result<Option<Self>> {
        let mut found = Vec::new();
        for item in trailers.words(key::APPROVED) {
            let Some((name, short)) = item.split_once('@') else { return Ok(None) };
            let Some(oid) = git::refs::object_id(git, short)? else { return Ok(None) };
            found.push((name.to_owned(), oid));
        }
        Ok(Some(Self(found)))
    }

    /// True if `other`, which is newer, is the same: JSON is compared record by record, by the
    /// fields of `self`, without `status`.
    pub fn same(&self, git: &Git, session: &Session, other: &Self) -> Result<bool> {
        if self.0.len() != other.0.len() {
            return Ok(false);
        }
        for ((name, mine), (other_name, theirs)) in self.0.iter().zip(&other.0) {
            if name != other_name {
                return Ok(false);
            }
            if mine == theirs {
                continue;
            }
            if !name.ends_with(".json") || !same_json(git, session, name, [mine, theirs])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if they are the same except for white space.
    pub fn same_words(&self, git: &Git, session: &Session, other: &Self) -> Result<bool> {
        if self.same(git, session, other)? {
            return Ok(true);
        }
        let names = |bytes: &Self| bytes.0.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        if names(self) != names(other) {
            return Ok(false);
        }
        for ((name, mine), (_, theirs)) in self.0.iter().zip(&other.0) {
            let changed = match name.as_str() {
                TREE => tree_says_more(git, mine, theirs)?,
                _ => {
                    let [mine, theirs] = texts(git, session, name, [mine, theirs])?;
                    git::diff::differ_beyond_whitespace(mine, theirs)
                }
            };
            if changed {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// True if two trees differ in more than the white space of files that both contain.
fn tree_says_more(git: &Git, a: &Oid, b: &Oid) -> Result<bool> {
    for path in git::paths::changed(git, a, b)? {
        let reader = git.reader();
        let (Some(a), Some(b)) =
            (reader.blob(Object::At(a, &path))?, reader.blob(Object::At(b, &path))?)
        else {
            return Ok(true);
        };
        if git::diff::differ_beyond_whitespace(a, b) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The texts of two versions of a document. What a filter has changed is read as it was before, by
/// the attributes of the session's tip.
fn texts(git: &Git, session: &Session, name: &str, versions: [&Oid; 2]) -> Result<[Vec<u8>; 2]> {
    let path = match Artifact::named(name) {
        Some(artifact) => artifact_path(&session.name, artifact),
        None => name.to_owned(),
    };
    let reader = git.reader();
    let read = |oid: &Oid| -> Result<Vec<u8>> {
        let text = reader.blob(Object::Document(oid, &session.tip, &path))?;
        text.ok_or_else(|| Error::repository(format!("no blob {oid}")).into())
    };
    Ok([read(versions[0])?, read(versions[1])?])
}

fn same_json(git: &Git, session: &Session, name: &str, versions: [&Oid; 2]) -> Result<bool> {
    let [a, b] = texts(git, session, name, versions)?.map(|text| serde_json::from_slice(&text));
    Ok(matches!((a, b), (Ok(a), Ok(b)) if still_says(&a, &b)))
}

/// True if a later value contains all of an earlier one, except for its status: records may have new
/// fields.
fn still_says(earlier: &Value, later: &Value) -> bool {
    match (earlier, later) {
        (Value::Object(earlier), Value::Object(later)) => earlier
            .iter()
            .filter(|(key, _)| *key != "status")
            .all(|(key, value)| later.get(key).is_some_and(|later| still_says(value, later))),
        (Value::Array(earlier), Value::Array(later)) => {
            earlier.len() == later.len()
                && earlier.iter().zip(later).all(|(earlier, later)| still_says(earlier, later))
        }
        _ => earlier == later,
    }
}

/// A decision and the content that it is about.
#[derive(Clone, Debug)]
pub struct Approval {
    /// The approved content.
    pub bytes: ApprovedContent,
    /// How it was approved.
    pub verdict: Verdict,
    /// `Name <email>` of the person, if a person decided; with [`Verdict::Auto`], the user's
    /// command that decided.
    pub by: Option<String>,
}

impl Approval {
    /// The trailer that names who decided: a command is never a reviewer.
    pub fn decided_by(&self) -> Option<(&'static str, &str)> {
        let key = if self.verdict == Verdict::Auto { key::DECIDED_BY } else { key::REVIEWED_BY };
        self.by.as_deref().map(|by| (key, by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_not_part_of_what_is_approved() {
        let a = serde_json::json!({"tasks": [{"id": "TASK-001", "status": "pending"}]});
        let b = serde_json::json!({"tasks": [{"id": "TASK-001", "status": "completed"}]});
        let c = serde_json::json!({"tasks": [{"id": "TASK-002", "status": "pending"}]});
        assert!(still_says(&a, &b) && still_says(&b, &a));
        assert!(!still_says(&a, &c));
    }

    #[test]
    fn a_record_may_get_fields_and_keeps_those_it_had() {
        let a = serde_json::json!({"tasks": [{"id": "TASK-001", "files": ["a"]}]});
        let more = serde_json::json!({"tasks": [{"id": "TASK-001", "files": ["a"], "size": 1}]});
        let other = serde_json::json!({"tasks": [{"id": "TASK-001", "files": ["a", "b"]}]});
        assert!(still_says(&a, &more) && !still_says(&more, &a));
        assert!(!still_says(&a, &other));
    }
}
