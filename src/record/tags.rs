//! The labels of stages: tags, or refs of git-cowork's own, derived from trailers, which can be
//! rebuilt at any time.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Recorder, point};
use crate::config::{Project, StageTags, project_tools};
use crate::git::{self, RefInfo, RefTransaction};
use crate::session::{Kind, RefNames, Session, SessionName};

/// The prefix of a session's labels in a working tree; `None` if stages get none.
#[must_use]
pub fn root(project: &Project, top: &Path, name: &SessionName) -> Option<String> {
    match project.tags {
        StageTags::Never => None,
        StageTags::Auto if project_tools::reads_tags(top).is_some() => Some(RefNames::stages(name)),
        StageTags::Auto | StageTags::Always => Some(RefNames::tags(name)),
    }
}

/// Gives every stage commit its label, rebuilding those that are missing. Labels never move to
/// another commit; those below the other prefix are replaced, if the setting or the project's tools
/// have changed. Returns the label of the newest stage commit.
pub fn add_missing(recorder: &Recorder<'_>, session: &Session) -> anyhow::Result<Option<String>> {
    let Some(root) = root(recorder.project, recorder.git.top(), recorder.name) else {
        return Ok(None);
    };
    let all = git::refs::list(recorder.git, &RefNames::labels(recorder.name))?;
    let (tags, elsewhere): (Vec<RefInfo>, Vec<RefInfo>) =
        all.into_iter().partition(|label| label.name.as_str().starts_with(&root));
    let mut used: BTreeSet<String> = tags.iter().map(|tag| tag.name.as_str().to_owned()).collect();
    let mut transaction = RefTransaction::new("cowork: labels of stages".to_owned());
    let mut newest = None;
    let mut changed = false;
    for entry in &session.history {
        let Kind::Stage(stage) = entry.kind else { continue };
        let label = |used: &BTreeSet<String>| {
            let first = RefNames::label(&root, stage.name());
            let numbered = (2..).map(|n| RefNames::label(&root, &format!("{stage}-{n}")));
            std::iter::once(first).chain(numbered).find(|tag| !used.contains(tag.as_str()))
        };
        let existing = tags.iter().find(|tag| tag.oid == entry.commit);
        let tag = match existing {
            Some(tag) => Some(tag.name.clone()),
            None => label(&used),
        };
        let Some(tag) = tag else { continue };
        if existing.is_none() {
            changed = true;
            used.insert(tag.as_str().to_owned());
            transaction = transaction.create(&tag, &entry.commit);
        }
        for old in elsewhere.iter().filter(|label| label.oid == entry.commit) {
            changed = true;
            transaction = transaction.delete(&old.name, &old.object);
        }
        newest = Some(tag.short().to_owned());
    }
    if changed {
        point("labels.before-refs");
        transaction.commit(recorder.git)?;
        point("labels.after-refs");
    }
    Ok(newest)
}
