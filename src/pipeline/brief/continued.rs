//! Continued conversations. At a depth where stages, drafts or tasks share a conversation, the next
//! part is appended to the transcript and only changed documents are sent again. Continuing is
//! optional: if the transcript is missing (a clone), the window is nearly full, or the feedback
//! asks for another approach, a new conversation gets the documents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::{EarlierConversation, RunId};
use crate::artifact::Artifact;
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::part_files::{self, Known};
use crate::pipeline::brief::sections::{artifact_section, context_of, section, shown};
use crate::pipeline::files::instructions::{Instructions, instructions};
use crate::pipeline::run::Run;
use crate::pipeline::similar_rejections::made_before;
use crate::session::{Kind, Verdict};
use crate::stage::{Role, Stage};
use crate::workspace::Fingerprint;

/// The note in the session's state directory that names the newest conversation that can continue.
const NOTE: &str = "conversation.json";
/// Maximum bytes of the list of changed files.
const CHANGED: usize = 2_000;

/// The document versions that a conversation's model has seen, by file name.
pub(crate) type Documents = BTreeMap<String, Fingerprint>;

/// The newest part of a conversation that can continue.
#[derive(Serialize, Deserialize)]
struct Newest {
    run: RunId,
    stage: Stage,
    iteration: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    /// The name of the configured model.
    model: String,
    documents: Documents,
}

/// The earlier messages of a continued conversation, and the documents its model has seen.
pub(crate) struct GoesOn {
    pub before: EarlierConversation,
    pub documents: Documents,
}

/// Returns the conversation that a part continues, if there is one. `cut` is set if an earlier run
/// of this part was interrupted; it names the conversation that the interrupted run continued, if
/// any.
pub(crate) fn find(
    run: &Run<'_>,
    part: &Part<'_>,
    cut: Option<Option<RunId>>,
) -> anyhow::Result<Option<GoesOn>> {
    if part.role != Role::Actor || part.again.is_none() {
        return Ok(None);
    }
    // A note that cannot be read counts as missing.
    let newest: Option<Newest> = run.env.state.note(NOTE).ok().flatten();
    let dir = run.env.state.transcripts();
    if let Some(after) = cut {
        let documents = newest.filter(|newest| Some(&newest.run) == after.as_ref());
        let documents = documents.map(|newest| newest.documents).unwrap_or_default();
        let before = after.and_then(|after| EarlierConversation::load(&dir, &after));
        return Ok(before.map(|before| GoesOn { before, documents }));
    }
    let Some(newest) = newest else { return Ok(None) };
    let player = run.player(part.spec.stage, part.role)?;
    let follows = match part.question {
        // A question is about the draft that this conversation produced.
        Some(_) => (newest.stage, newest.iteration) == (part.spec.stage, part.iteration),
        None => is_next(run, part, &newest)?,
    };
    if newest.model != player.name || !follows {
        return Ok(None);
    }
    let before = EarlierConversation::load(&dir, &newest.run);
    let before = before.filter(|before| before.leaves_room(player.config.context_window));
    Ok(before.map(|before| GoesOn { before, documents: newest.documents }))
}

/// True if a part directly follows the newest one.
fn is_next(run: &Run<'_>, part: &Part<'_>, newest: &Newest) -> anyhow::Result<bool> {
    let stage = part.spec.stage;
    if !run.joins(newest.stage, stage) {
        return Ok(false);
    }
    let history = &run.session.history;
    let at = history.iter().position(|entry| entry.commit.as_str() == newest.run.tip());
    let Some(since) = at.map(|at| &history[at + 1..]) else { return Ok(false) };
    let has = |kind: &Kind| since.iter().any(|entry| entry.kind == *kind);
    if has(&Kind::Review(newest.stage, Verdict::Aborted)) {
        return Ok(false);
    }
    if newest.stage != stage {
        return Ok(has(&Kind::Stage(newest.stage)));
    }
    if let Some(task) = &newest.task
        && has(&Kind::Task(task.clone()))
    {
        return Ok(true);
    }
    Ok(part.iteration > newest.iteration && !asks_for_another_way(run, part)?)
}

/// True if the feedback repeats an earlier point: the same conversation would not solve it.
fn asks_for_another_way(run: &Run<'_>, part: &Part<'_>) -> anyhow::Result<bool> {
    let feedback = run.feedback_so_far()?;
    let newest = |entry: &&crate::artifact::Feedback| {
        entry.stage == part.spec.stage && entry.iteration + 1 == part.iteration && !entry.is_note()
    };
    Ok(feedback.iter().filter(newest).any(|entry| made_before(&feedback, entry)))
}

/// The first message of a part that continues a conversation, before its brief.
pub(crate) fn opening(run: &Run<'_>, part: &Part<'_>, on: &GoesOn) -> anyhow::Result<String> {
    let mut out = String::new();
    let context = context_of(run, part.spec);
    for artifact in context.iter().chain(part.spec.artifacts) {
        let now = documents(run, [artifact])?;
        let knows = |(name, text): (&String, &Fingerprint)| on.documents.get(name) == Some(text);
        if !now.iter().all(knows) {
            out += &artifact_section(run, *artifact)?;
        }
    }
    let root = run.env.workspace.root();
    let now = |path: &str| std::fs::read(root.join(path)).ok().map(|text| Fingerprint::of(&text));
    let files = on.before.seen();
    let changes = files.iter().filter(|(path, files)| now(path).as_ref() != Some(&files.content));
    let changes: Vec<&str> = changes.map(|(path, _)| *path).collect();
    out += &section("Changed since you last saw them", &changes.join("\n"), CHANGED);
    let is_known = |path: &str, _: &str| files.contains_key(path) && !changes.contains(&path);
    let is_told = |one: &Instructions| {
        on.documents.get(&one.path) == Some(&Fingerprint::of(one.text.as_bytes()))
    };
    let paths = part_files::paths_of(run, part)?;
    let knowledge = Known { files: &is_known, beside: false };
    Ok(out + &part_files::part_files(run, part, &paths, &is_told, &knowledge)?)
}

/// Records that a part has ended and that another may continue its conversation. `before` are the
/// documents that its model had seen.
pub(crate) fn note(
    run: &Run<'_>,
    part: &Part<'_>,
    id: &RunId,
    before: Documents,
) -> anyhow::Result<()> {
    let stage = part.spec.stage;
    if part.role != Role::Actor || !run.joins(stage, stage) {
        return Ok(());
    }
    let mut versions = before;
    let context = context_of(run, part.spec);
    let artifacts = context.iter().chain(part.spec.artifacts);
    versions.extend(documents(run, artifacts)?);
    // Which files feedback is about changes while the code is corrected.
    let paths = if part.corrects_code() { Vec::new() } else { part_files::paths_of(run, part)? };
    for one in instructions(run, paths.iter().map(String::as_str)) {
        versions.insert(one.path, Fingerprint::of(one.text.as_bytes()));
    }
    let newest = Newest {
        run: id.clone(),
        stage,
        iteration: part.iteration,
        task: part.task.map(|task| task.id.clone()),
        model: run.player(stage, part.role)?.name,
        documents: versions,
    };
    if let Err(error) = run.env.state.set_note(NOTE, Some(&newest)) {
        run.warn(format!(
            "cannot save which documents the model has seen, so the next request sends them again: \
             {error:#}"
        ));
    }
    Ok(())
}

/// Forgets the conversation: the session goes on from an earlier commit, so no conversation
/// continues.
pub(crate) fn forget(run: &Run<'_>) {
    // If this fails, the note names a commit that is no longer in the session's history.
    let _ = run.env.state.set_note(NOTE, None::<&Newest>);
}

fn documents<'a>(
    run: &Run<'_>,
    which: impl IntoIterator<Item = &'a Artifact>,
) -> anyhow::Result<Documents> {
    let mut out = BTreeMap::new();
    for artifact in which.into_iter().filter(|artifact| !artifact.is_json()) {
        if let Some(text) = shown(run, *artifact)? {
            out.insert(artifact.file_name().to_owned(), Fingerprint::of(text.as_bytes()));
        }
    }
    Ok(out)
}
