//! Reviewers' comments on a delivered session: they become a task, and coding opens again.

use crate::artifact::sections::{Change, Record};
use crate::artifact::{Artifact, IdKind, Ledger, Origin, Plan, Task, TaskStatus};
use crate::error::Error;
use crate::git;
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::record::{self, ApprovedContent, Recorded, ReviewRecord};
use crate::session::{Verdict, recorded_files, subject_line};
use crate::stage::Stage;
use crate::stages::code_stage;
use crate::verify::require_readable;

/// The documents the comments are added to, besides the feedback.
const PLAN: [Artifact; 2] = [Artifact::Plan, Artifact::ImplementationPlan];
/// The note in the state directory while comments are being recorded: the tip they are based on.
const REOPENING: &str = "reopening.json";
/// Maximum characters of the comments in the plan; the feedback has the whole text.
const DESCRIPTION: usize = 1_000;
/// Maximum title length of a review task, in characters.
const TITLE: usize = 60;

/// Records reviewers' comments on the delivered session as one commit: feedback to coding, and a
/// task whose commit will answer them. It reopens coding, check and delivery.
///
/// # Errors
/// Exit 5: the session is not delivered; a hook refuses the commit.
pub(crate) fn reopen(run: &mut Run<'_>, comments: &str) -> anyhow::Result<()> {
    if !run.session.is_completed() {
        return Err(Error::repository(format!("'{}' is not delivered", run.session.name)).into());
    }
    require_readable(run.env.git, &run.session)?;
    // The comments are committed as a task of the plan, so they must not contain secrets.
    let comments = &run.env.workspace.secrets().blanked(comments);
    run.stage.set(Stage::Idea);
    put_back_comments(run)?;
    if let Some(entry) = git::status::of(run.env.git, &commented_paths(run))?.first() {
        return Err(Error::repository(format!("{} has your uncommitted changes", entry.path))
            .hint("commit them (git commit) or stash them (git stash), then run the command again")
            .into());
    }
    // If a run dies before the commit, the next one restores these files.
    run.env.state.set_note(REOPENING, Some(&run.session.tip.to_string()))?;
    let coding = code_stage();
    let drafts = run.earlier_drafts(coding);
    run.give_feedback(vec![run.feedback(coding, drafts, Origin::Human, comments)])?;
    let task_plan = plan_for(run, comments)?;
    let tip = run.session.tip.clone();
    let review = ReviewRecord {
        stage: coding,
        verdict: Verdict::Feedback,
        iteration: drafts,
        bytes: task_plan.as_ref(),
        code: None,
        words: comments,
        then: None,
    };
    match record::review::commit_answer(&run.recorder(), &tip, &review)? {
        Recorded::Done(commit) => {
            run.advance(&commit)?;
            put_back_comments(run)
        }
        Recorded::Refused(why) => {
            put_back_comments(run)?;
            Err(Error::repository(why.to_string())
                .hint("fix the reported problem, then run the command again")
                .into())
        }
    }
}

/// The files that comments are added to.
fn commented_paths(run: &Run<'_>) -> Vec<String> {
    let artifacts = [&[Artifact::Feedback][..], &PLAN].concat();
    artifacts.into_iter().map(|file| run.path_of(file)).collect()
}

/// Restores the files of a run that died, or was refused, before its comments were recorded. Files
/// that a person has changed in the meantime are left alone.
pub(crate) fn put_back_comments(run: &Run<'_>) -> anyhow::Result<()> {
    let Some(tip) = run.env.state.note::<String>(REOPENING)? else { return Ok(()) };
    if tip == run.session.tip.as_str() {
        let mut paths = commented_paths(run);
        paths.retain(|path| run.env.workspace.written().is_as_written(path));
        git::put_back::restore_paths(run.env.git, &run.session.tip, &paths)?;
        run.env.workspace.written().clear()?;
    }
    run.env.state.set_note::<String>(REOPENING, None)
}

/// Adds to the plan a task that answers the comments. Returns the plan's new content, which counts
/// as approved by the person who commented, or `None` if the session has no tasks.
fn plan_for(run: &Run<'_>, comments: &str) -> anyhow::Result<Option<ApprovedContent>> {
    let store = run.store();
    let plan = store.plan()?;
    let Some(like) = spoken_of(&plan, comments) else { return Ok(None) };
    let title = title(comments);
    let records = run.known_records()?;
    let committed_files = recorded_files(run.env.git, &run.session)?;
    let mut floors = records.floors;
    store.see_ids(&mut floors)?;
    let task = Task {
        id: floors.next(IdKind::Task),
        description: beginning(comments),
        feature_id: like.feature_id.clone(),
        component_id: like.component_id.clone(),
        acceptance_criteria: vec!["every point of the comments is answered".to_owned()],
        title,
        ..Task::default()
    }
    .from_review();
    let ledger =
        Ledger { files: &run.files, recorded: &committed_files, history: records.as_ref() };
    ledger.change(&[Change::Put(Record::Task(task))])?;
    let paths: Vec<String> = PLAN.iter().map(|artifact| run.path_of(*artifact)).collect();
    let blobs = git::blobs::hash_files(run.env.git, &paths, crate::git::Store::Write)?;
    let names = PLAN.iter().map(|artifact| artifact.file_name().to_owned());
    Ok(Some(ApprovedContent(
        names.zip(blobs).filter_map(|(name, blob)| Some((name, blob?))).collect(),
    )))
}

/// Completes a review task if its actor has changed code and has not marked the task as blocked.
pub(crate) fn close_review_task(run: &Run<'_>, task: &Task) -> anyhow::Result<()> {
    if !task.is_from_review() || project_files::uncommitted_code(run)?.is_empty() {
        return Ok(());
    }
    let store = run.store();
    let mut plan = store.plan()?;
    let open = |t: &&mut Task| t.id == task.id && t.status != TaskStatus::Blocked;
    if let Some(task) = plan.tasks.iter_mut().find(open) {
        task.status = TaskStatus::Completed;
        store.save(Artifact::ImplementationPlan, &plan)?;
    }
    Ok(())
}

/// At most [`DESCRIPTION`] characters, with a note if text was cut.
fn beginning(comments: &str) -> String {
    let cut: String = comments.chars().take(DESCRIPTION).collect();
    if cut.len() == comments.len() {
        return cut;
    }
    format!("{}\n… (the whole text is in feedback_history.json)", cut.trim_end())
}

/// The planned task that the comments refer to by its id, its feature's id or one of its files; if
/// none, the last planned task.
fn spoken_of<'p>(plan: &'p Plan, comments: &str) -> Option<&'p Task> {
    let plan_tasks =
        || plan.tasks.iter().filter(|task| task.is_top_level() && !task.is_from_review());
    let matching = |words: &dyn Fn(&Task) -> Vec<String>| {
        plan_tasks().find(|task| words(task).iter().any(|word| speaks_of(comments, word)))
    };
    matching(&|task| vec![task.id.clone()])
        .or_else(|| matching(&|task| plan.files_of(&task.id).map(str::to_owned).collect()))
        .or_else(|| matching(&|task| plan.files_of(&task.id).map(base_name).collect()))
        .or_else(|| {
            matching(&|task| plan.features_of(&task.id).into_iter().map(str::to_owned).collect())
        })
        .or_else(|| plan_tasks().next_back())
}

/// True if `word` occurs in a text as a word of its own: `list.py`, not in `playlist.py`.
fn speaks_of(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + word.len()..]);
            !before.ends_with(part) && !after.starts_with(part)
        })
}

fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// The title of a review task: the first line a person wrote. `gh pr view --comments` puts lines
/// such as `author:<tab>ana` and `--` before it.
fn title(comments: &str) -> String {
    let a_persons = |line: &&str| {
        !line.is_empty()
            && !line.contains(":\t")
            && !line.ends_with(':')
            && !line.trim_matches('-').is_empty()
    };
    let line =
        comments.lines().map(|line| line.trim().trim_start_matches(['>', '*', '-', '#', ' ']));
    let first = line.clone().find(a_persons).or_else(|| line.clone().find(|l| !l.is_empty()));
    let words = format!("review: {}", first.unwrap_or_default());
    if words.chars().count() <= TITLE {
        return words;
    }
    let cut: String = subject_line(&words).chars().take(TITLE - 1).collect();
    format!("{}…", cut.trim_end_matches('…'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_is_a_persons_first_words() {
        assert_eq!(title("Sort the list, please.\n\nMore."), "review: Sort the list, please.");
        let gh = "author:\tana\nassociation:\tmember\nedited:\tfalse\nstatus:\tnone\n--\n\
                  `add` forgets the date\n--\n";
        assert_eq!(title(gh), "review: `add` forgets the date");
        assert_eq!(title(&"word ".repeat(40)).chars().count(), TITLE);
        assert_eq!(title("# Sort it"), "review: Sort it");
        assert_eq!(title("--\n"), "review: ");
    }

    #[test]
    fn a_comment_belongs_to_the_task_it_refers_to() {
        let task = |id: &str, file: &str, feature: &str| Task {
            id: id.into(),
            feature_id: feature.into(),
            files_to_create: vec![file.into()],
            ..Task::default()
        };
        let tasks =
            vec![task("TASK-001", "lib/a.sh", "FEAT-001"), task("TASK-002", "b.sh", "FEAT-002")];
        let plan = Plan { tasks, ..Plan::default() };
        let spoken = |words| spoken_of(&plan, words).map(|task| task.id.as_str());
        assert_eq!(spoken("TASK-001 is slow"), Some("TASK-001"));
        assert_eq!(spoken("in a.sh line 3"), Some("TASK-001"));
        assert_eq!(spoken("see banana.sh, lib/a.sh:3"), Some("TASK-001"));
        assert_eq!(spoken("FEAT-001: wrong"), Some("TASK-001"));
        assert_eq!(spoken("nicer, please"), Some("TASK-002"));
        assert_eq!(spoken_of(&Plan::default(), "x"), None);
    }
}
