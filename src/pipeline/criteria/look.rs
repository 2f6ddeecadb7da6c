//! Checks the tests that criteria name. A test must exist, it must pass in the project's test run
//! or when only named tests are run, and it must fail on the base if its criterion says so. What ran
//! on this very code is not run again.

use std::collections::BTreeSet;

use crate::languages::Among;
use crate::pipeline::criteria::batch::{Share, ToRun, batches, commands};
use crate::pipeline::criteria::on_base::look_on_base;
use crate::pipeline::criteria::runnable::{Runnable, Wanted, runnable, wanted};
use crate::pipeline::evidence::named_tests::{Became, NamedTest};
use crate::pipeline::evidence::{CheckRun, Evidence, Which, failing, gather, recorded};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;

/// Checks the tests that criteria name, unless their results on this very code are already known.
pub(crate) async fn look_at_named_tests(
    run: &Run<'_>,
    found: &mut Option<Evidence>,
) -> anyhow::Result<()> {
    let requests = wanted(run)?;
    let results = found.as_ref().map(|evidence| evidence.tests.as_slice()).unwrap_or_default();
    if requests.iter().map(|one| &one.test).eq(results.iter().map(|one| &one.test)) {
        return Ok(());
    }
    let tree = match found {
        Some(evidence) => evidence.tree.clone(),
        None => run.tree()?,
    };
    let evidence = found.get_or_insert_with(|| Evidence::without_runs(tree.clone()));
    evidence.earlier = recorded::tests_on(run, &tree)?;
    evidence.test_runs.clear();
    let builds = !evidence.runs.iter().any(|ran| ran.which == Which::Build && !ran.passed());
    let (mut tests, mut found) = (Vec::new(), Vec::new());
    for one in &requests {
        let (test, of) = (one.test.clone(), one.of.clone());
        let mut now = Became::Unknown("the build fails".to_owned());
        match runnable(run, &tree, one)? {
            Err(why) => now = Became::Missing(why),
            Ok(runnable) if builds => found.push((tests.len(), runnable)),
            Ok(_) => {}
        }
        tests.push(NamedTest { test, of, now, base: None });
    }
    let rest = without_a_run(run, &requests, evidence, &mut tests, &found)?;
    let is_left = |(at, _): &ToRun| rest.contains(at);
    let (left, mut done): (Vec<_>, Vec<_>) = found.into_iter().partition(is_left);
    let (left, one_by_one) = run_batches(run, evidence, &mut tests, left, Share::All).await?;
    done.extend(left);
    let (left, _) = run_batches(run, evidence, &mut tests, one_by_one, Share::None).await?;
    done.extend(left);
    done.retain(|(at, _)| {
        let (one, test) = (&requests[*at], &tests[*at]);
        one.fails_before && test.now == Became::Passed && test.base.is_none()
    });
    done.sort_by_key(|(at, _)| *at);
    evidence.test_runs.extend(look_on_base(run, &tree, &mut tests, done).await?);
    evidence.tests = tests;
    Ok(())
}

/// Finds the results that are known without a run: from the project's test run, from an earlier
/// commit of the session with the same code, and of tests that a change leaves to the suite. Returns
/// the indexes of the other tests.
fn without_a_run(
    run: &Run<'_>,
    wanted: &[Wanted],
    evidence: &Evidence,
    tests: &mut [NamedTest],
    found: &[ToRun],
) -> anyhow::Result<BTreeSet<usize>> {
    let suite = Suite::read(run, evidence)?;
    let paths = match run.session.is_patch() {
        true => Some(project_files::code_since_start(run, &evidence.tree)?),
        false => None,
    };
    let mut rest = BTreeSet::new();
    for (at, runnable) in found {
        let (one, test) = (&wanted[*at], &mut tests[*at]);
        let result = suite.told(runnable, found);
        let is_new =
            one.is_new || paths.as_ref().is_none_or(|paths| paths.contains(&runnable.path));
        let earlier = evidence.earlier.as_ref().and_then(|earlier| earlier.became(&one.test));
        if result != Some(false) && earlier.is_some_and(|words| test.is_recorded_as(&words)) {
            continue;
        }
        match (result, &suite.passed) {
            (Some(true), _) => test.now = Became::Passed,
            (None, Some(command)) if !is_new => test.now = Became::LeftToSuite(command.clone()),
            _ => {
                rest.insert(*at);
            }
        }
    }
    Ok(rest)
}

/// The project's test run.
struct Suite {
    output: String,
    failing: BTreeSet<String>,
    /// Its command, if it passed and its runner counted the tests.
    passed: Option<String>,
}

impl Suite {
    fn read(run: &Run<'_>, evidence: &Evidence) -> anyhow::Result<Self> {
        let all: Vec<&CheckRun> =
            evidence.runs.iter().filter(|ran| ran.which == Which::Test).collect();
        let logs = all.iter().filter_map(|ran| ran.log.as_ref());
        let output: anyhow::Result<Vec<String>> =
            logs.map(|log| recorded::output_in_log(run, log)).collect();
        let output = output?.join("\n");
        let has_counts = evidence.passed(Which::Test) && all.iter().all(|ran| ran.is_counted());
        let last_run = all.last().filter(|_| has_counts);
        let command = last_run.map(|ran| ran.command.clone());
        Ok(Self { failing: failing::names(&output), output, passed: command })
    }

    /// What it says about a test, which is one of `all`.
    fn told(&self, test: &Runnable, all: &[ToRun]) -> Option<bool> {
        let of_language = |(_, other): &&ToRun| std::ptr::eq(other.one_test, test.one_test);
        let all = Runnable::in_files(all.iter().filter(of_language).map(|(_, other)| other));
        test.one_test.verdict(&test.named(), Among::All(&all), &self.output, &self.failing)
    }
}

/// Runs tests on the session's tree. Returns those whose results are known, and the others.
async fn run_batches(
    run: &Run<'_>,
    evidence: &mut Evidence,
    tests: &mut [NamedTest],
    left: Vec<ToRun>,
    share: Share,
) -> anyhow::Result<(Vec<ToRun>, Vec<ToRun>)> {
    let tree = evidence.tree.clone();
    let (batches, mut done) = batches(run, left, share);
    for (at, _) in &done {
        tests[*at].now = Became::Unknown("no known command runs it alone".to_owned());
    }
    let mut rest = Vec::new();
    let all = gather::run_all(run, &commands(&batches), &tree, &[]).await?;
    for (batch, ran) in batches.into_iter().zip(all) {
        let results = batch.results(run, &ran)?;
        for (test, became) in batch.tests.into_iter().zip(results) {
            match became {
                Some(became) => {
                    tests[test.0].now = became;
                    done.push(test);
                }
                None => rest.push(test),
            }
        }
        evidence.test_runs.push((tree.clone(), ran));
    }
    Ok((done, rest))
}
