//! The records with which a session was started, from specifications or a branch: which of them a
//! later draft does not have.

use std::collections::BTreeMap;

use crate::artifact::{Artifact, Files as _, IdKind, named_records};
use crate::pipeline::run::Run;
use crate::session::{CommittedFiles, RefNames};
use crate::stages::StageSpec;

/// Maximum length of a title, in characters.
const TITLE: usize = 60;

/// Names the imported records that the plan does not have any more; `None` if it has all.
///
/// # Errors
/// A file or git cannot be read.
pub(crate) fn dropped(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<Option<String>> {
    let Some(origin) = &run.session.file.origin else { return Ok(None) };
    let files = run.files();
    if !spec.artifacts.contains(&Artifact::Plan) || files.read(Artifact::Plan)?.is_none() {
        return Ok(None);
    }
    let there = named_records(files)?;
    let kinds = [
        (IdKind::Requirement, origin.requirements),
        (IdKind::Feature, origin.features),
        (IdKind::Task, origin.tasks),
    ];
    let imported =
        kinds.into_iter().flat_map(|(kind, most)| (1..=most).map(move |n| kind.format(n)));
    let gone: Vec<String> =
        imported.filter(|id| !there.iter().any(|record| record.id == *id)).collect();
    if gone.is_empty() {
        return Ok(None);
    }
    let titles = titles(run, spec)?;
    let named = gone.iter().map(|id| match titles.get(id) {
        Some(title) => format!("{id} ({})", title.chars().take(TITLE).collect::<String>()),
        None => id.clone(),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    Ok(Some(format!("Not in the plan any more, imported from {}: {named}", origin.name)))
}

/// The titles of the imported records, from the oldest draft that has them.
fn titles(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<BTreeMap<String, String>> {
    let (git, session) = (run.env.git, &run.session);
    let newest = git.resolve(RefNames::draft(&session.name, spec.stage).as_str())?;
    let mut drafts = match &newest {
        Some(newest) => session.beside_tip(git, newest)?,
        None => Vec::new(),
    };
    drafts.extend(session.history.iter().rev().cloned());
    let mut found = BTreeMap::new();
    for draft in drafts {
        let files = CommittedFiles::new(git, &session.name, &draft.commit);
        let text = files.read(Artifact::Plan)?.unwrap_or_default();
        let headings =
            text.lines().filter_map(|line| line.trim_start_matches('#').trim().split_once(' '));
        let records = headings.filter(|(id, _)| IdKind::of(id).is_some());
        found.extend(records.map(|(id, title)| (id.to_owned(), title.to_owned())));
    }
    Ok(found)
}
