//! Checks the tests that criteria name. A test must exist, it must pass in the project's test run
//! or when it is run alone, and it must fail on the base if its criterion says so.

use super::on_base::look_on_base;
use super::runnable::{Runnable, became, runnable};
use super::wanted::wanted;
use crate::git::Oid;
use crate::pipeline::evidence::named_tests::{Became, NamedTest};
use crate::pipeline::evidence::{CheckRun, Evidence, Which, failing, gather, recorded};
use crate::pipeline::run::Run;

/// Checks the tests that criteria name, unless their results on this very code are already known.
pub(crate) async fn look_at_named_tests(
    run: &Run<'_>,
    found: &mut Option<Evidence>,
) -> anyhow::Result<()> {
    let wanted = wanted(run)?;
    let known = found.as_ref().map(|evidence| evidence.tests.as_slice()).unwrap_or_default();
    if wanted.iter().map(|one| &one.test).eq(known.iter().map(|one| &one.test)) {
        return Ok(());
    }
    let tree = match found {
        Some(evidence) => evidence.tree.clone(),
        None => run.recorder().tree(&run.session.tip)?,
    };
    let evidence = found.get_or_insert_with(|| Evidence::without_runs(tree.clone()));
    let builds = !evidence.runs.iter().any(|ran| ran.which == Which::Build && !ran.passed());
    let together = outputs(run, &evidence.runs)?;
    let mut tests = Vec::new();
    let mut on_base = Vec::new();
    for one in wanted {
        let mut test = NamedTest {
            test: one.test.clone(),
            of: one.of.clone(),
            now: Became::Unknown("the build fails".to_owned()),
            base: None,
            runs: Vec::new(),
        };
        match runnable(run, &tree, &one)? {
            Err(why) => test.now = Became::Missing(why),
            Ok(_) if !builds => {}
            Ok(runnable) => {
                now(run, &tree, &runnable, &together, &mut test).await?;
                if one.fails_before && test.now == Became::Passed {
                    on_base.push((tests.len(), runnable));
                }
            }
        }
        tests.push(test);
    }
    look_on_base(run, &tree, &mut tests, on_base).await?;
    evidence.tests = tests;
    Ok(())
}

/// The output of the project's test runs.
fn outputs(run: &Run<'_>, runs: &[CheckRun]) -> anyhow::Result<String> {
    let logs =
        runs.iter().filter(|ran| ran.which == Which::Test).filter_map(|ran| ran.log.as_ref());
    let all = logs.map(|log| recorded::output_in_log(run, log));
    Ok(all.collect::<anyhow::Result<Vec<String>>>()?.join("\n"))
}

/// Finds out whether a test passes on the session's tree: from the project's test run if its output
/// names the test exactly once, else by running the test alone.
async fn now(
    run: &Run<'_>,
    tree: &Oid,
    test: &Runnable,
    together: &str,
    found: &mut NamedTest,
) -> anyhow::Result<()> {
    if test.times_passed(together) == 1 && !test.is_among(failing::names(together)) {
        found.now = Became::Passed;
        return Ok(());
    }
    let Some(alone) = &test.alone else {
        found.now = Became::Unknown("no known command runs it alone".to_owned());
        return Ok(());
    };
    let mut ran = gather::run_all(run, &[(Which::Test, alone.clone())], tree, &[]).await?;
    if let Some(ran) = ran.pop() {
        found.now = became(run, test, &ran)?;
        found.runs.push((tree.clone(), ran));
    }
    Ok(())
}
