//! Detects a stage that repeats itself: rejections that say the same, or drafts that do not change
//! although they were refused.
//!
//! Three strikes: the first refusal is feedback like any other; a similar second one causes a
//! warning, and the finding becomes critical; at the third a person is asked. All of this is read
//! from the feedback history and the saved drafts, so a killed run makes no difference.

use crate::artifact::Feedback;
use crate::git::{self, Oid};
use crate::pipeline::draft_count;
use crate::pipeline::files::approved_content;
use crate::pipeline::run::Run;
use crate::pipeline::similar_rejections::{Alike, circle};
use crate::pipeline::step::Step;
use crate::session::{Entry, Verdict, key};
use crate::stages::{Approves, StageSpec};

/// The number of strikes at which a person is asked.
pub(crate) const STRIKES: u32 = 3;

/// A detected repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repetition {
    /// The number of repeated drafts, at least two.
    pub strikes: u32,
    /// What is repeated, in words that follow the number in a message.
    pub what: String,
}

/// The stage's repetition, if there is one.
pub(crate) fn repetition(
    step: &Step<'_, '_>,
    feedback: &[Feedback],
) -> anyhow::Result<Option<Repetition>> {
    let since = draft_count::answered_at(step)?;
    let rejections = circle(&step.run.unsolved(feedback)?, step.spec.stage, step.draft.offset);
    let count = rejections.as_ref().map_or(0, |rejections| rejections.strikes);
    let drafts = newest_drafts(step, since)?;
    let same = unchanged(step.run, step.spec, &drafts)?;
    if same > 1 && same >= count {
        let words = if saves_nothing(step.run, step.spec, &drafts)? {
            "drafts in a row change nothing"
        } else {
            "drafts in a row are the same: the actor changes nothing after feedback"
        };
        return Ok(Some(Repetition { strikes: same, what: words.to_owned() }));
    }
    Ok(rejections.map(|rejections| Repetition {
        strikes: rejections.strikes,
        what: match rejections.alike {
            Alike::Words => "rejections in a row say the same thing".to_owned(),
            Alike::Finding(id) => format!("rejections in a row find the same problem with {id}"),
        },
    }))
}

/// The number of newest drafts that are the same. `drafts` starts with the newest.
fn unchanged(run: &Run<'_>, spec: &StageSpec, drafts: &[Entry]) -> anyhow::Result<u32> {
    let mut same = 1;
    for pair in drafts.windows(2) {
        if differ(run, spec, &pair[0].commit, &pair[1].commit)? {
            break;
        }
        same += 1;
    }
    Ok(same)
}

/// True if the newest draft changed nothing.
fn saves_nothing(run: &Run<'_>, spec: &StageSpec, drafts: &[Entry]) -> anyhow::Result<bool> {
    let newest = drafts.first().and_then(|draft| Some((&draft.commit, draft.parents.first()?)));
    newest.map_or(Ok(false), |(draft, before)| Ok(!differ(run, spec, before, draft)?))
}

/// The last state of each of the newest complete drafts, newest first.
fn newest_drafts(step: &Step<'_, '_>, since: u32) -> anyhow::Result<Vec<Entry>> {
    let Some(newest) = &step.draft.commit else { return Ok(Vec::new()) };
    let entries = step.run.session.beside_tip(step.run.env.git, newest)?;
    let mut drafts: Vec<Entry> = Vec::new();
    let mut next = Some(newest.clone());
    while let Some(id) = next {
        let Some(entry) = entries.iter().find(|entry| entry.commit == id) else { break };
        let is_end = entry.verdict() == Some(Verdict::Aborted) || entry.iterations() <= since;
        if is_end || drafts.len() >= usize::try_from(STRIKES)? {
            break;
        }
        next = entry.parents.get(1).cloned();
        let is_listed = drafts.last().is_some_and(|d| d.iterations() == entry.iterations());
        if !is_listed && entry.trailers.get(key::PARTIAL).is_none() {
            drafts.push(entry.clone());
        }
    }
    Ok(drafts)
}

fn differ(run: &Run<'_>, spec: &StageSpec, a: &Oid, b: &Oid) -> anyhow::Result<bool> {
    let paths = git::paths::changed(run.env.git, a, b)?;
    Ok(match spec.approves {
        Approves::Artifacts => {
            let documents = approved_content::document_paths(run, spec);
            paths.iter().any(|path| documents.contains(path))
        }
        Approves::Tree => paths.iter().any(|path| !path.starts_with(".cowork/")),
    })
}
