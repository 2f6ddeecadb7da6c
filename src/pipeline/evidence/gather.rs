//! Running the project's commands: on the draft, on each task's tree, and on the code as it was before
//! the session (`base`).

use super::run::{DEPENDENCIES, NOT_ALLOWED, NOT_INSTALLED, output_of};
use super::{Evidence, Outcome, Run, Which};
use crate::event::Event;
use crate::git::Oid;
use crate::interrupt;
use crate::pipeline::Pipeline;
use crate::tool::Checked;
use crate::workspace::{CommandResult, Dependencies, Refusal, undecided};

/// What a shell answers for a program that is not there (POSIX, 2.8.2).
const NO_SUCH_COMMAND: i32 = 127;
/// What programs say whose parts are installed by themselves: cargo, rustup, python.
const NO_SUCH_PART: [&str; 3] =
    ["error: no such command: `", "is not installed for the toolchain", ": No module named "];

impl Pipeline<'_> {
    /// Runs the project's build, tests and lint on the tree as it is, unless `known` or one of the
    /// runs a tool has `seen` is about the same code. A build that fails ends it: what comes after
    /// would only say so again.
    pub(crate) async fn evidence(
        &self,
        known: Option<Evidence>,
        seen: &[Checked],
    ) -> anyhow::Result<Option<Evidence>> {
        let commands = self.commands_to_run();
        if commands.is_empty() {
            return Ok(None);
        }
        let tree = self.recorder().tree(&self.session.tip)?;
        let before = self.before().map(|before| before.runs).unwrap_or_default();
        if let Some(known) = known
            && self.same_code(&known.tree, &tree)?
        {
            // The code before the session may have been looked at again since.
            return Ok(Some(Evidence { before, ..known }));
        }
        let runs = self.run_all(&commands, &tree, seen).await?;
        Ok((!runs.is_empty()).then_some(Evidence { tree, runs, before }))
    }

    /// # Errors
    /// Exit 5 where dependencies are missing, and a person could allow that they are fetched but none
    /// is there.
    pub(crate) async fn require_dependencies(&self) -> anyhow::Result<()> {
        match undecided(&self.env.workspace.missing_dependencies().await?) {
            Some(error) => {
                Err(error.hint(format!("then: git cowork resume {}", self.session.name)).into())
            }
            None => Ok(()),
        }
    }

    /// Whether any of the project's commands is known.
    pub(crate) fn has_commands(&self) -> bool {
        !self.commands_to_run().is_empty()
    }

    /// Whether a test command is known.
    pub(crate) fn has_tests(&self) -> bool {
        self.commands_to_run().iter().any(|(which, _)| *which == Which::Test)
    }

    /// Whether what was run shows that features work: the tests passed or, where there are none to
    /// run, the build did. What was not run shows nothing.
    pub(crate) fn verifies(&self, evidence: Option<&Evidence>) -> bool {
        let commands = self.commands_to_run();
        let known = |which| commands.iter().any(|(other, _)| *other == which);
        let shows = if known(Which::Test) { Which::Test } else { Which::Build };
        !known(shows) || evidence.is_some_and(|evidence| evidence.passed(shows))
    }

    pub(crate) fn commands_to_run(&self) -> Vec<(Which, String)> {
        let own = (self.env.commands)();
        let all = [(Which::Build, own.build), (Which::Test, own.test), (Which::Lint, own.lint)];
        all.into_iter().filter(|(_, command)| !command.is_empty()).collect()
    }

    pub(crate) async fn run_all(
        &self,
        commands: &[(Which, String)],
        tree: &Oid,
        seen: &[Checked],
    ) -> anyhow::Result<Vec<Run>> {
        let workspace = self.env.workspace;
        let together = workspace.together();
        let mut runs = Vec::new();
        for (which, command) in commands {
            interrupt::check()?;
            let (dependencies, _) = workspace.dependencies_of(command).await?;
            if dependencies == Dependencies::Missing {
                runs.push(self.not_run(*which, command, DEPENDENCIES));
                continue;
            }
            let result = match self.seen(command, tree, seen)? {
                Some(result) => result,
                None => {
                    self.env.sink.emit(Event::Note { text: format!("running {command}") });
                    let limit = Some(self.env.config.limits.command_timeout_max_s);
                    match workspace.run_check(command, limit).await {
                        Ok(result) => result,
                        Err(error) if error.is::<Refusal>() => {
                            runs.push(self.not_run(*which, command, NOT_ALLOWED));
                            continue;
                        }
                        Err(error) => return Err(error),
                    }
                }
            };
            if is_missing(&result) {
                runs.push(self.not_run(*which, command, NOT_INSTALLED));
                continue;
            }
            let log = self.keep_log(command, tree, &result)?;
            let setting = (dependencies, workspace.confined_by()?);
            let run = Run::of(*which, command, &result, log, setting);
            let ends = *which == Which::Build
                && !matches!(run.outcome_before(), Outcome::Passed | Outcome::NotRun(_));
            runs.push(run);
            if ends {
                break;
            }
        }
        together.end()?;
        Ok(runs)
    }

    /// A command that is not run, which a person hears of once.
    fn not_run(&self, which: Which, command: &str, why: &str) -> Run {
        self.warn_once(format!("{command} is not run: {why}"));
        Run::not_run(which, command, why)
    }

    /// A tool's run of the command on this very code: the program ran it then.
    fn seen(
        &self,
        command: &str,
        tree: &Oid,
        seen: &[Checked],
    ) -> anyhow::Result<Option<CommandResult>> {
        let Some(newest) = seen.iter().rev().find(|checked| checked.command == command) else {
            return Ok(None);
        };
        let Ok(code) = newest.code.parse() else { return Ok(None) };
        Ok(self.same_code(&code, tree)?.then(|| newest.result.clone()))
    }

    /// The command, its tree, its output and its end as a blob: who has the id can tell that a log
    /// is the one of this run, and while git keeps it `git cat-file -p` prints it.
    fn keep_log(&self, command: &str, tree: &Oid, result: &CommandResult) -> anyhow::Result<Oid> {
        let (output, ending) = (output_of(result), result.ending());
        // It is published with the session: no key that a test prints may be in it.
        let output = self.env.workspace.secrets().blanked(&output);
        self.env.git.store_blob(format!("$ {command}\ntree {tree}\n\n{output}\n\n{ending}\n"))
    }

    pub(crate) fn same_code(&self, a: &Oid, b: &Oid) -> anyhow::Result<bool> {
        let paths = self.env.git.changed_paths(a, b)?;
        Ok(paths.iter().all(|path| path.starts_with(".cowork/")))
    }
}

fn is_missing(result: &CommandResult) -> bool {
    let says = |line: &str| NO_SUCH_PART.iter().any(|words| line.contains(words));
    let short = |text: &str| text.lines().count() <= 4 && text.lines().any(says);
    result.exit == Some(NO_SUCH_COMMAND)
        || !result.succeeded() && result.stdout.trim().is_empty() && short(&result.stderr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_installed_is_no_failure() {
        for (exit, stdout, stderr, missing) in [
            (127, "", "sh: 1: ruff: not found", true),
            (101, "", "error: no such command: `clippy`\n\n\tView all: `cargo --list`", true),
            (1, "", "error: 'cargo-clippy' is not installed for the toolchain 'stable'", true),
            (1, "", "/usr/bin/python3: No module named pytest", true),
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
