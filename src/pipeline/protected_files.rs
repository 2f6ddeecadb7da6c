//! Protected files: a person's own uncommitted files, and files that control git or agents. Tools
//! may not write them unless a person allows it at the gate.

use crate::artifact::{Origin, Store, Task};
use crate::gate::clean::clean;
use crate::gate::{self, Gate, Mode};
use crate::instructions::{instructs_agents, why_protected};
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::BlockReason;
use crate::pipeline::run::Run;
use crate::pipeline::step::{Step, StepResult, Stop};
use crate::session::Verdict;
use crate::stages::StageSpec;
use crate::workspace::{Proposed, user_files};
use crate::{git, record};

/// The section of the delivery report that lists changes left to a person.
pub(crate) const LEFT: &str = "## Left to a person";

/// Protects uncommitted files that do not belong to the session.
pub(crate) fn protect(run: &Run<'_>) -> anyhow::Result<()> {
    let journal = run.env.workspace.written().paths();
    let is_theirs = |path: &String| !path.starts_with(".cowork/") && !journal.contains(path);
    let dirty = run.env.git.status()?.into_iter().map(|entry| entry.path);
    let ignored_paths = git::status::all_ignored(run.env.git)?;
    run.env.workspace.protection().protect(dirty.filter(is_theirs));
    // Files marked skip-worktree are in no commit, whatever happens to them.
    run.env
        .workspace
        .protection()
        .protect(git::hidden::skipped_files(run.env.git)?.into_iter().filter(is_theirs));
    run.env.workspace.command_effects().note_ignored(&ignored_paths)?;
    // Ignored files are in no commit: nothing could restore them.
    run.env.workspace.protection().protect_ignored(ignored_paths.into_iter().filter(is_theirs));
    Ok(())
}

/// Allows tools to write the agent files that the approved plan names, once there is a plan.
pub(crate) fn allow_planned(run: &Run<'_>, spec: &StageSpec) {
    if spec.is_before_code() {
        return;
    }
    let files = run.files_at(&run.session.tip);
    // A plan that cannot be read names no files; the checks report what is wrong with it.
    let plan = Store::new(&files).plan().unwrap_or_default();
    let paths = plan.tasks.iter().flat_map(Task::files).map(str::to_owned);
    run.env.workspace.protection().plan(paths);
}

/// Reports what happened to a person's own files: to documents edited while they were written, and
/// to files that a command changed.
pub(crate) fn tell_of_user_files(run: &Run<'_>) {
    let changes = run.env.workspace.command_effects().take_user_files();
    user_files::told(changes).into_iter().for_each(|line| run.warn(line));
}

/// If tools were not allowed to write a person's files, asks the person whether they may: then the
/// actor should try again. `result` is that of the actor's conversation: if the actor made no
/// progress, the cause may be that it was refused these files.
pub(crate) fn offer_protected(step: &mut Step<'_, '_>, result: StepResult) -> StepResult {
    offer_proposed(step.run)?;
    if !matches!(result, Ok(()) | Err(Stop::Blocked(BlockReason::Astray(_)))) {
        return result;
    }
    let paths = step.run.env.workspace.protection().take_refused();
    if paths.is_empty() {
        return result;
    }
    let names = paths.join(", ");
    let (Some(gate), Mode::Ask) = (&step.run.env.gate, step.run.env.mode) else {
        step.run.warn(format!(
            "tools wanted to write {names}, but you have uncommitted changes there; to allow it, commit or stash them first"
        ));
        return result;
    };
    let question = format!(
        "Tools want to write {names}, where you have uncommitted changes. Your version is saved first, then it becomes part of this session. Allow it?"
    );
    (gate.call)(&format!("tools want to write {names}"));
    if !allows(step.run, gate, &question, Vec::new())? {
        return result;
    }
    make_ours(step.run, &paths)?;
    step.draft.refusals = 0;
    let words = format!(
        "you may now change {names}; keep what is there unless the task requires changing it"
    );
    step.run.give_feedback(vec![step.feedback(Origin::Human, &words)])?;
    Err(Stop::Again)
}

/// Shows a person the changes that models propose to files that control git, and applies those the
/// person allows. This happens before a git command can act on them or a commit contains them.
fn offer_proposed(run: &Run<'_>) -> anyhow::Result<()> {
    let workspace = run.env.workspace;
    for proposed in workspace.proposals().all() {
        let path = &proposed.path;
        let (Some(gate), Mode::Ask) = (&run.env.gate, run.env.mode) else {
            let action = match &proposed.content {
                Some(copy) => format!(
                    "to accept the model's version, copy {} to that path and commit it",
                    copy.display()
                ),
                None => "to accept the model's deletion, delete it yourself".to_owned(),
            };
            run.warn_once(format!(
                "{path} was left as it is: {}, so you decide; {action}, \
                 or decide on a terminal: git cowork resume",
                why_protected(path)
            ));
            continue;
        };
        (gate.call)(&format!("a model wants to change {path}"));
        let diff = difference_shown(run, &proposed)?;
        let kind = if instructs_agents(path) {
            "which instructs agents"
        } else {
            "on which git itself acts"
        };
        gate.terminal.write(&format!("\n{path}, {kind}:\n{}", clean(&diff)))?;
        let question = format!("Change {path} like this, and record it in this session?");
        let lines = clean(&diff).lines().map(str::to_owned).collect();
        if allows(run, gate, &question, lines)? {
            workspace.proposals().accept(&proposed)?;
        } else {
            workspace.proposals().decline(&proposed)?;
        }
    }
    Ok(())
}

/// Asks a person at this or another terminal, which gets `shown` and the question. True for yes.
fn allows(
    run: &Run<'_>,
    gate: &Gate<'_>,
    question: &str,
    mut shown: Vec<String>,
) -> anyhow::Result<bool> {
    shown.push(question.to_owned());
    approved_content::open_menu(run, "your files", gate::yes_or_no(), shown);
    let yes = gate.allow(question);
    run.env.gates.close(None);
    yes
}

fn difference_shown(run: &Run<'_>, proposed: &Proposed) -> anyhow::Result<String> {
    let now = run.env.git.top().join(&proposed.path);
    let nothing = std::path::PathBuf::new();
    let new = proposed.content.as_ref().unwrap_or(&nothing);
    let diff = git::diff::files(run.env.git, &now, new)?;
    Ok(match (diff.is_empty(), proposed.executable) {
        (true, true) => "it becomes executable\n".to_owned(),
        (true, false) => "it becomes an empty file, or is no longer executable\n".to_owned(),
        (false, true) => format!("{diff}(executable)\n"),
        (false, false) => diff,
    })
}

/// The section of the delivery report about changes that no person has decided on.
pub(crate) fn left_to_a_person(run: &Run<'_>) -> Option<String> {
    let proposals = run.env.workspace.proposals().all();
    let for_agents = proposals.iter().filter(|one| instructs_agents(&one.path)).count();
    let reader = match for_agents {
        0 => "Git itself acts on these files",
        some if some == proposals.len() => "These files instruct agents",
        _ => "Git itself acts on these files, or they instruct agents",
    };
    let line = |proposals: &Proposed| {
        let action = if proposals.content.is_some() { "a change to" } else { "the deletion of" };
        format!("- {action} `{}`\n", proposals.path)
    };
    let lines: String = proposals.iter().map(line).collect();
    (!lines.is_empty()).then(|| {
        format!(
            "{reader}, so no model changes them. A model proposed these changes, which are not included:\n\n{lines}"
        )
    })
}

/// Saves a person's files in an attempt and allows tools to write them.
fn make_ours(run: &Run<'_>, paths: &[String]) -> anyhow::Result<()> {
    let workspace = run.env.workspace;
    workspace.written().adopt(paths)?;
    let reason = format!("before tools were allowed to write {}", paths.join(", "));
    let result = record::attempt::keep(&run.recorder(), &run.session.tip, &reason, Verdict::Passed);
    let attempt = match result {
        Ok(attempt) => attempt,
        Err(error) => {
            workspace.written().forget(paths)?;
            return Err(error);
        }
    };
    // Commits would not include files marked skip-worktree or assume-unchanged.
    git::hidden::unmark(run.env.git, paths)?;
    for path in paths {
        workspace.protection().allow(path);
    }
    let mut user_files = run.env.state.protected()?;
    user_files.retain(|entry| !paths.contains(&entry.path));
    run.env.state.set_protected(&user_files)?;
    run.note(format!(
        "your version is in attempt {attempt}: git show refs/cowork/attempts/{}/{attempt}",
        run.session.name
    ));
    Ok(())
}
