//! Named tests in as few processes as their runners allow, and the result of each.

use super::runnable::Runnable;
use crate::languages::{self, Among, Project};
use crate::pipeline::evidence::named_tests::{Became, Named};
use crate::pipeline::evidence::{CheckRun, Which, failing, recorded};
use crate::pipeline::run::Run;

/// Maximum bytes of a command with several tests; a system limits the size of an argument.
const LONGEST: usize = 30_000;

/// A test, with its index among all tests.
pub(super) type ToRun = (usize, Runnable);

/// Which tests may share a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// All that one runner can run at once.
    All,
    /// Those of one file: if it cannot be built or loaded, none of them can run.
    File,
    /// None: the result of each is told by its own process.
    None,
}

/// Tests that one process runs.
pub(super) struct Batch {
    pub(super) tests: Vec<ToRun>,
    command: String,
    share: Share,
}

/// Divides tests into batches. Also returns those that no known command runs.
pub(super) fn batches(run: &Run<'_>, tests: Vec<ToRun>, share: Share) -> (Vec<Batch>, Vec<ToRun>) {
    let commands = (run.env.commands)();
    let project = Project { root: run.env.workspace.root(), tests: &commands.test };
    let (mut batches, mut unknown): (Vec<Batch>, Vec<ToRun>) = (Vec::new(), Vec::new());
    for (at, test) in tests {
        let open_batch = batches.iter_mut().find_map(|batch| {
            batch.command = batch.with(&test, &project)?;
            Some(batch)
        });
        if let Some(batch) = open_batch {
            batch.tests.push((at, test));
        } else if let Some(command) = (test.one_test.command)(&[test.named()], &project) {
            batches.push(Batch { tests: vec![(at, test)], command, share });
        } else {
            unknown.push((at, test));
        }
    }
    (batches, unknown)
}

/// The commands of batches, in their order.
pub(super) fn commands<'b>(batches: impl IntoIterator<Item = &'b Batch>) -> Vec<(Which, String)> {
    batches.into_iter().map(|batch| (Which::Test, batch.command.clone())).collect()
}

impl Batch {
    /// The command with one more test; `None` if that test may not share the process.
    fn with(&self, test: &Runnable, project: &Project<'_>) -> Option<String> {
        let (_, first) = self.tests.first()?;
        let may = match self.share {
            Share::All => true,
            Share::File => first.path == test.path,
            Share::None => false,
        };
        if !may || !std::ptr::eq(first.one_test, test.one_test) {
            return None;
        }
        let tests: Vec<_> = self.named().into_iter().chain([test.named()]).collect();
        (test.one_test.command)(&tests, project).filter(|command| command.len() <= LONGEST)
    }

    fn named(&self) -> Vec<languages::TestName<'_>> {
        self.tests.iter().map(|(_, test)| test.named()).collect()
    }

    /// The result of each test from `ran`, a run of this batch. `None` if several tests ran and the
    /// output does not tell the result of this one.
    pub(super) fn results(
        &self,
        run: &Run<'_>,
        ran: &CheckRun,
    ) -> anyhow::Result<Vec<Option<Became>>> {
        let output = match &ran.log {
            Some(log) => recorded::output_in_log(run, log)?,
            None => String::new(),
        };
        let failing = failing::names(&output);
        let is_alone = self.tests.len() == 1;
        let in_files = Runnable::in_files(self.tests.iter().map(|(_, test)| test));
        let among = if is_alone { Among::Alone } else { Among::Several(&in_files) };
        let outcome = |(_, test): &ToRun| match test.one_test.verdict(
            &test.named(),
            among,
            &output,
            &failing,
        ) {
            Some(true) => Named::Passed,
            Some(false) => Named::Failed,
            None => Named::Not,
        };
        let became = |named: Named| {
            let became = Became::of(ran, named);
            let is_sure = match &became {
                Became::Passed => true,
                Became::Failed(_) => !ran.was_denied(),
                // What was not run at all would not be run alone, either. But a run that ended before
                // any test was told may have been ended by one of its tests.
                _ => ran.log.is_none(),
            };
            (is_alone || is_sure).then_some(became)
        };
        Ok(self.tests.iter().map(outcome).map(became).collect())
    }
}
