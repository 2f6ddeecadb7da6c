//! Runs the project's commands: on the draft, on each task's tree, and on the code as it was before
//! the session (`base`).

use super::check_run::{
    CheckRun, DEPENDENCIES, NOT_ALLOWED, NOT_INSTALLED, Which, output_of, shown,
};
use super::failed_before::Outcome;
use super::results::Evidence;
use crate::event::Event;
use crate::git::{self, Oid};
use crate::interrupt;
use crate::languages;
use crate::pipeline::evidence::base_note;
use crate::pipeline::run::Run;
use crate::record::point;
use crate::tool::Checked;
use crate::workspace::{CommandResult, Dependencies, Refusal, undecided};

/// The exit code of a shell if a program does not exist (POSIX, 2.8.2).
const NO_SUCH_COMMAND: i32 = 127;

/// Runs the project's build, tests and lint on the present tree, unless `known` or a tool's run in
/// `seen` is about the same code. Stops after a failed build: later commands would only fail for
/// the same reason.
pub(crate) async fn gather_evidence(
    run: &Run<'_>,
    known: Option<Evidence>,
    seen: &[Checked],
) -> anyhow::Result<Option<Evidence>> {
    let commands = commands_to_run(run);
    if commands.is_empty() {
        return Ok(None);
    }
    let tree = run.tree()?;
    let before = base_note::before_note(run).map(|before| before.runs).unwrap_or_default();
    if let Some(known) = known
        && same_code(run, &known.tree, &tree)?
    {
        // The code before the session may have been checked again in the meantime.
        return Ok(Some(Evidence { before, ..known }));
    }
    let runs = run_all(run, &commands, &tree, seen).await?;
    Ok((!runs.is_empty()).then(|| Evidence { runs, before, ..Evidence::without_runs(tree) }))
}

/// # Errors
/// Exit 5 if dependencies are missing that could be fetched with a person's permission, but nobody
/// is there to ask.
pub(crate) async fn require_dependencies(run: &Run<'_>) -> anyhow::Result<()> {
    match undecided(&run.env.workspace.missing_dependencies().await?) {
        Some(error) => {
            Err(error.hint(format!("then: git cowork resume {}", run.session.name)).into())
        }
        None => Ok(()),
    }
}

/// True if any of the project's commands is known.
pub(crate) fn has_commands(run: &Run<'_>) -> bool {
    !commands_to_run(run).is_empty()
}

/// True if a test command is known.
pub(crate) fn has_tests(run: &Run<'_>) -> bool {
    commands_to_run(run).iter().any(|(which, _)| *which == Which::Test)
}

/// True if the results show that features work: the tests passed or, if there is no test command,
/// the build did. A command that was not run shows nothing.
pub(crate) fn verifies(run: &Run<'_>, evidence: Option<&Evidence>) -> bool {
    let commands = commands_to_run(run);
    let known = |which| commands.iter().any(|(other, _)| *other == which);
    let shows = if known(Which::Test) { Which::Test } else { Which::Build };
    !known(shows) || evidence.is_some_and(|evidence| evidence.passed(shows))
}

pub(crate) fn commands_to_run(run: &Run<'_>) -> Vec<(Which, String)> {
    let own = (run.env.commands)();
    let all = [(Which::Build, own.build), (Which::Test, own.test), (Which::Lint, own.lint)];
    all.into_iter().filter(|(_, command)| !command.is_empty()).collect()
}

/// Runs commands with the files of `tree`.
pub(crate) async fn run_all(
    run: &Run<'_>,
    commands: &[(Which, String)],
    tree: &Oid,
    seen: &[Checked],
) -> anyhow::Result<Vec<CheckRun>> {
    let workspace = run.env.workspace;
    let mut is_laid_out = false;
    let mut runs = Vec::new();
    for (which, command) in commands {
        interrupt::check()?;
        let (dependencies, _) = workspace.dependencies_of(command).await?;
        if dependencies == Dependencies::Missing {
            runs.push(not_run(run, *which, command, DEPENDENCIES));
            continue;
        }
        let result = match run_of_tool(run, command, tree, seen)? {
            Some(result) => result,
            None => {
                if !is_laid_out {
                    lay_out(run, tree);
                    is_laid_out = true;
                }
                let text = format!("running {}", shown(command));
                run.env.sink.emit(Event::Note { text });
                let limit = Some(run.env.config.limits.command_timeout_max_s);
                match workspace.run_check(command, limit).await {
                    Ok(result) => result,
                    Err(error) if error.is::<Refusal>() => {
                        runs.push(not_run(run, *which, command, NOT_ALLOWED));
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        if is_missing(&result) {
            runs.push(not_run(run, *which, command, NOT_INSTALLED));
            continue;
        }
        let log = keep_log(run, command, tree, &result)?;
        let setting = (dependencies, workspace.commands().confined_by()?);
        let ran = CheckRun::of(*which, command, &result, log, setting);
        let ends = *which == Which::Build
            && !matches!(ran.outcome_before(), Outcome::Passed | Outcome::NotRun(_));
        runs.push(ran);
        if ends {
            break;
        }
    }
    Ok(runs)
}

/// Lays out the folder in which checks run from now on: with the files of `tree`, and none that a
/// command left beside them. Returns false if they have to run in the working tree.
pub(crate) fn lay_out(run: &Run<'_>, tree: &Oid) -> bool {
    let git = run.env.git;
    let laid_out = run.env.workspace.lay_out_checks(git.git_dir(), |folder, index, kept| {
        git::worktree::lay_out(git, folder, index, tree, kept)
    });
    match laid_out {
        Ok(left_out) => {
            point("checks.laid-out");
            for (path, why) in left_out {
                run.warn_once(format!("checks run without {path}, which git ignores: {why}"));
            }
            true
        }
        Err(error) => {
            run.warn_once(format!(
                "checks run in the working tree, with all that git ignores there, because the files \
                 to be committed cannot be laid out elsewhere: {error:#}"
            ));
            false
        }
    }
}

/// A command that is not run; the reason is reported once.
fn not_run(run: &Run<'_>, which: Which, command: &str, why: &str) -> CheckRun {
    run.warn_once(format!("{} is not run: {why}", shown(command)));
    CheckRun::not_run(which, command, why)
}

/// The result of a tool's run of the command on this very code.
fn run_of_tool(
    run: &Run<'_>,
    command: &str,
    tree: &Oid,
    seen: &[Checked],
) -> anyhow::Result<Option<CommandResult>> {
    let Some(newest) = seen.iter().rev().find(|checked| checked.command == command) else {
        return Ok(None);
    };
    let Ok(code) = newest.code.parse() else { return Ok(None) };
    Ok(same_code(run, &code, tree)?.then(|| newest.result.clone()))
}

/// Stores the command, its tree, its output and its exit status as a blob. The id proves that a log
/// belongs to this run, and while git has the blob, `git cat-file -p` prints it.
fn keep_log(
    run: &Run<'_>,
    command: &str,
    tree: &Oid,
    result: &CommandResult,
) -> anyhow::Result<Oid> {
    let (output, ending) = (output_of(result), result.ending());
    // The log is published with the session: a key that a test prints must not be in it.
    let output = run.env.workspace.secrets().blanked(&output);
    git::made::store_blob(
        run.env.git,
        format!("$ {command}\ntree {tree}\n\n{output}\n\n{ending}\n"),
    )
}

pub(crate) fn same_code(run: &Run<'_>, a: &Oid, b: &Oid) -> anyhow::Result<bool> {
    let paths = git::paths::changed(run.env.git, a, b)?;
    Ok(paths.iter().all(|path| path.starts_with(".cowork/")))
}

fn is_missing(result: &CommandResult) -> bool {
    let says = |line: &str| {
        let mut words = languages::ALL.iter().flat_map(|l| l.programs.not_installed);
        words.any(|words| line.contains(words))
    };
    let short = |text: &str| text.lines().count() <= 4 && text.lines().any(says);
    result.exit == Some(NO_SUCH_COMMAND)
        || !result.succeeded() && result.stdout.trim().is_empty() && short(&result.stderr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_not_a_failure() {
        for (exit, stdout, stderr, missing) in [
            (127, "", "sh: 1: ruff: not found", true),
            (101, "", "error: no such command: `clippy`\n\n\tView all: `cargo --list`", true),
            (1, "", "error: 'cargo-clippy' is not installed for the toolchain 'stable'", true),
            (1, "", "/usr/bin/python3: No module named pytest", true),
            (
                7,
                "",
                "Could not find rake-13.1.0 in locally installed gems\nRun `bundle install` to install missing gems.",
                true,
            ),
            (1, "E  ModuleNotFoundError: No module named 'todo'", "", false),
            (1, "1 failed", "x: No module named y", false),
            (1, "", "no", false),
        ] {
            let (stdout, stderr) = (stdout.to_owned(), stderr.to_owned());
            let result =
                CommandResult { exit: Some(exit), stdout, stderr, ..CommandResult::default() };
            assert_eq!(is_missing(&result), missing, "{result:?}");
        }
    }
}
