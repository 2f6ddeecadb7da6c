//! Sessions whose commits do not record which stages are done although their files show it: the
//! user names the stage to continue from.

use std::collections::BTreeSet;

use crate::artifact::{Artifact, FeatureStatus, TaskStatus};
use crate::error::Error;
use crate::git;
use crate::pipeline::files::approved_content;
use crate::pipeline::run::Run;
use crate::record::{self, ApprovedContent, Recorded};
use crate::session::{Verdict, artifact_path, shown};
use crate::stage::Stage;
use crate::stages::Approves;
use crate::stages::code_stage;

/// Marks the stages before `next` as done, or all stages if it is `None`: one commit records this
/// and removes the files of later stages, which remain in the history.
///
/// # Errors
/// Exit 5: the files do not show these stages, or a commit cannot be made.
pub(crate) fn take_as_done(run: &mut Run<'_>, next: Option<Stage>) -> anyhow::Result<()> {
    run.stage.set(Stage::Idea);
    let (git, name, tip) = (run.env.git, run.session.name.clone(), run.session.tip.clone());
    let is_before = |stage: &Stage| next.is_none_or(|next| *stage < next);
    let order = run.session.order();
    if let Some(next) = next.filter(|next| !order.contains(next)) {
        return Err(Error::repository(format!("'{name}' has no stage {next}")).into());
    }
    let (done, later): (Vec<Stage>, Vec<Stage>) = order.into_iter().partition(is_before);
    let visible = shown(git, &run.session)?;
    if let Some(missing) = done.iter().find(|stage| !visible.contains(stage)) {
        return Err(Error::repository(format!(
            "the files of '{name}' do not show that {missing} is done"
        ))
        .hint(format!("continue from {missing}: git cowork resume {name} --goto-stage {missing}"))
        .into());
    }
    let recorder = run.recorder();
    recorder.expect_tip(&tip)?;
    if recorder.differs_from(&tip)? {
        let reason = "before its stages were marked as done";
        let number = record::attempt::keep(&recorder, &tip, reason, Verdict::Aborted)?;
        run.note(format!("uncommitted changes are saved as attempt {number}"));
    }
    let files = |stages: &[Stage]| -> BTreeSet<String> {
        let rows = stages.iter().map(|stage| run.session.row(*stage));
        let all = rows.flat_map(|row| row.artifacts);
        all.map(|artifact| artifact_path(&name, *artifact)).collect()
    };
    // A change request must not remove the documents of its parent.
    let prefix = format!("{}/", name.record_dir());
    let keep = files(&done);
    let mut obsolete = files(&later);
    obsolete.retain(|path| path.starts_with(&prefix) && !keep.contains(path));
    let existing = git::snapshot::existing(
        git,
        &tip,
        &obsolete.iter().map(String::as_str).collect::<Vec<_>>(),
    )?;
    obsolete.retain(|path| existing.contains(path) || git.top().join(path).exists());
    let paths: Vec<String> = obsolete.into_iter().collect();
    git::put_back::restore_paths(git, &git::in_the_way::empty_tree(git)?, &paths)?;
    forget_later(run, next)?;
    let mut bytes = ApprovedContent::default();
    for spec in done.iter().map(|stage| run.session.row(*stage)) {
        if spec.approves == Approves::Artifacts {
            bytes.0.extend(approved_content::content_now(run, spec)?.0);
        }
    }
    let by = git::state::author(git)?;
    match record::from_files::take_as_done(
        &run.recorder(),
        &tip,
        done.last().copied(),
        run.session.depth(),
        &bytes,
        &by,
    )? {
        Recorded::Done(commit) => run.advance(&commit)?,
        Recorded::Refused(why) => {
            git::put_back::restore_paths(git, &tip, &paths)?;
            return Err(Error::repository(why.to_string()).into());
        }
    }
    record::tags::add_missing(&run.recorder(), &run.session)?;
    run.note(match done.last() {
        Some(last) => {
            format!("{name}: stages up to {last} are marked as done because their files exist")
        }
        None => format!("{name} starts from scratch; its files are in {}", tip.short()),
    });
    Ok(())
}

/// Removes the feedback on stages that are not done and, if coding is not done, the status of tasks
/// and features.
fn forget_later(run: &Run<'_>, next: Option<Stage>) -> anyhow::Result<()> {
    let Some(next) = next else { return Ok(()) };
    let store = run.store();
    let mut feedback = store.feedback()?;
    let before = feedback.len();
    feedback.retain(|entry| entry.stage < next);
    if feedback.len() < before {
        store.save(Artifact::Feedback, &feedback)?;
    }
    if run.session.is_patch() || next > code_stage() {
        return Ok(());
    }
    let (mut plan, mut features) = (store.plan()?, store.features()?);
    let before = (plan.clone(), features.clone());
    plan.tasks.iter_mut().for_each(|task| task.status = TaskStatus::Pending);
    features.features.iter_mut().for_each(|f| f.status = FeatureStatus::Planned);
    if plan != before.0 {
        store.save(Artifact::ImplementationPlan, &plan)?;
    }
    if features != before.1 {
        store.save(Artifact::Features, &features)?;
    }
    Ok(())
}
