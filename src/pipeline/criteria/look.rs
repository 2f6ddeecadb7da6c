//! Looking at the tests that criteria name: are they there, did the project's own run show them,
//! and else what does a run of each alone say; and what do those that must fail on the base do there?

use std::collections::BTreeSet;

use super::resolve::parts_of;
use super::wanted::{Wanted, wanted};
use crate::git::{self, Object, Oid};
use crate::languages::{self, Named, OneTest, Project};
use crate::pipeline::evidence::named_tests::{Became, NamedTest};
use crate::pipeline::evidence::{CheckRun, Evidence, Which, base, failing, gather, recorded};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::pipeline::test_changes::{LARGEST, is_test_path, tests_in};
use crate::session;

/// A test that is there, and how it is run.
struct Runnable {
    path: String,
    parts: Vec<String>,
    one_test: &'static OneTest,
    /// What runs it alone.
    alone: Option<String>,
}

impl Runnable {
    /// How often an output names it as one that passed.
    fn times_passed(&self, output: &str) -> usize {
        self.ask(|test| self.one_test.times_passed(test, output))
    }

    fn is_among(&self, failing: BTreeSet<String>) -> bool {
        self.ask(|test| self.one_test.is_among(test, failing))
    }

    fn ask<T>(&self, what: impl FnOnce(&Named<'_>) -> T) -> T {
        let parts: Vec<&str> = self.parts.iter().map(String::as_str).collect();
        what(&Named { path: &self.path, parts: &parts })
    }
}

/// Looks at the tests that criteria name, unless it is known already what became of them on this
/// very code.
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

/// What the runs of the project's tests printed.
fn outputs(run: &Run<'_>, runs: &[CheckRun]) -> anyhow::Result<String> {
    let logs =
        runs.iter().filter(|ran| ran.which == Which::Test).filter_map(|ran| ran.log.as_ref());
    let all = logs.map(|log| recorded::output_in_log(run, log));
    Ok(all.collect::<anyhow::Result<Vec<String>>>()?.join("\n"))
}

/// The test in its file; or why it is not there.
fn runnable(run: &Run<'_>, tree: &Oid, one: &Wanted) -> anyhow::Result<Result<Runnable, String>> {
    let Some((path, name)) = one.test.split_once("::") else {
        return Ok(Err("a test is named as file::name".to_owned()));
    };
    let Some(text) = text_at(run, tree, path)? else {
        return Ok(Err(format!("{path} is not there")));
    };
    let parts = match parts_of(path, &text, name) {
        Ok(parts) => parts,
        Err(why) => return Ok(Err(why)),
    };
    let Some(one_test) = languages::of_file(path).and_then(|language| language.one_test.as_ref())
    else {
        return Ok(Err(format!("what runs one test of {path} is not known")));
    };
    let mut found = Runnable { path: path.to_owned(), parts, one_test, alone: None };
    let commands = (run.env.commands)();
    let project = Project { root: run.env.workspace.root(), tests: &commands.test };
    found.alone = found.ask(|test| (one_test.alone)(test, &project));
    Ok(Ok(found))
}

fn text_at(run: &Run<'_>, tree: &Oid, path: &str) -> anyhow::Result<Option<String>> {
    let blob = git::snapshot::blob_ids(run.env.git, tree, &[path])?.pop().flatten();
    let Some(blob) = blob else { return Ok(None) };
    let bytes = run.env.git.reader().blob(Object::Id(&blob))?.filter(|b| b.len() <= LARGEST);
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// What becomes of a test on the session's tree: what the project's run says where it names it once,
/// else a run of it alone.
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
        found.now = Became::Unknown("what runs it alone is not known".to_owned());
        return Ok(());
    };
    let mut ran = gather::run_all(run, &[(Which::Test, alone.clone())], tree, &[]).await?;
    if let Some(ran) = ran.pop() {
        found.now = became(run, test, &ran)?;
        found.runs.push((tree.clone(), ran));
    }
    Ok(())
}

fn became(run: &Run<'_>, test: &Runnable, ran: &CheckRun) -> anyhow::Result<Became> {
    let output = match &ran.log {
        Some(log) => recorded::output_in_log(run, log)?,
        None => String::new(),
    };
    let named = test.times_passed(&output) > 0 && !test.is_among(failing::names(&output));
    Ok(Became::of(ran, named))
}

/// Runs those that must fail on the base where the session's files are what they were, and only
/// tests are as they are now.
async fn look_on_base(
    run: &Run<'_>,
    tree: &Oid,
    tests: &mut [NamedTest],
    wanted: Vec<(usize, Runnable)>,
) -> anyhow::Result<()> {
    let Some(start) = session::start_of_code(run.env.git, &run.session) else {
        for (at, _) in wanted {
            tests[at].base = Some(Became::Unknown("the base is not known".to_owned()));
        }
        return Ok(());
    };
    let mut to_run = Vec::new();
    for (at, test) in wanted {
        if recorded::failed_on_base(run, &tests[at].test, tree)? {
            tests[at].base = Some(Became::Failed("it did before".to_owned()));
        } else if !is_test_path(&test.path) && !is_in(run, &start, &test)? {
            let why = format!("{} holds code, too", test.path);
            tests[at].base = Some(Became::Unknown(why));
        } else if test.alone.is_none() {
            let why = "what runs it alone is not known".to_owned();
            tests[at].base = Some(Became::Unknown(why));
        } else {
            to_run.push((at, test));
        }
    }
    let commands = to_run.iter().filter_map(|(_, test)| test.alone.clone());
    let commands: Vec<(Which, String)> = commands.map(|alone| (Which::Test, alone)).collect();
    if commands.is_empty() {
        return Ok(());
    }
    run.note("looking at tests that must fail on the base");
    let mut paths = project_files::code_since_start(run, tree)?;
    paths.retain(|path| !is_test_path(path));
    let ran = base::run_on_base(run, (&start, tree), paths, &commands).await?;
    let Some((on, runs)) = ran else {
        for (at, _) in to_run {
            tests[at].base = Some(Became::Unknown("files have just changed".to_owned()));
        }
        return Ok(());
    };
    for ((at, test), ran) in to_run.into_iter().zip(runs) {
        tests[at].base = Some(became(run, &test, &ran)?);
        tests[at].runs.push((on.clone(), ran));
    }
    Ok(())
}

/// Whether the base has the test already.
fn is_in(run: &Run<'_>, base: &Oid, test: &Runnable) -> anyhow::Result<bool> {
    let text = text_at(run, base, &test.path)?.unwrap_or_default();
    let tests = tests_in(&test.path, &text).unwrap_or_default();
    Ok(tests.iter().any(|one| one.name == test.parts.join(" › ")))
}
