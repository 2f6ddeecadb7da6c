//! The stage tags: labels derived from trailers, which can be rebuilt at any time.

use std::collections::BTreeSet;

use super::{Recorder, point};
use crate::git::{self, RefTransaction};
use crate::session::{Kind, RefNames, Session};

/// Gives every stage commit its tag, rebuilding those that are missing. Tags never move. Returns
/// the tag of the newest stage commit.
pub fn add_missing(recorder: &Recorder<'_>, session: &Session) -> anyhow::Result<Option<String>> {
    if !recorder.project.tags {
        return Ok(None);
    }
    let root = RefNames::tags(recorder.name);
    let tags = git::refs::list(recorder.git, &[&root])?;
    let mut used: BTreeSet<String> = tags.iter().map(|tag| tag.name.as_str().to_owned()).collect();
    let mut transaction = RefTransaction::new("cowork: stage tags".to_owned());
    let mut newest = None;
    let mut missing = false;
    for entry in &session.history {
        let Kind::Stage(stage) = entry.kind else { continue };
        let label = |used: &BTreeSet<String>| {
            let first = RefNames::tag(recorder.name, stage.name());
            let numbered = (2..).map(|n| RefNames::tag(recorder.name, &format!("{stage}-{n}")));
            std::iter::once(first).chain(numbered).find(|tag| !used.contains(tag.as_str()))
        };
        let existing = tags.iter().find(|tag| tag.oid == entry.commit);
        let tag = match existing {
            Some(tag) => Some(tag.name.clone()),
            None => label(&used),
        };
        let Some(tag) = tag else { continue };
        if existing.is_none() {
            missing = true;
            used.insert(tag.as_str().to_owned());
            transaction = transaction.create(&tag, &entry.commit);
        }
        newest = tag.as_str().strip_prefix(RefNames::TAGS).map(str::to_owned);
    }
    if missing {
        point("labels.before-refs");
        transaction.commit(recorder.git)?;
        point("labels.after-refs");
    }
    Ok(newest)
}
