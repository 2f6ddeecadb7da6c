//! A session's changes to the project's tests: git-cowork reports deleted, skipped or weakened
//! tests to all who judge the code, because a model that makes its tests pass in that way does not
//! report it. It also reports tests that nobody asked for.

pub(crate) mod asked;
mod compare;
mod request;
mod runner;
mod test_finder;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::artifact::check::{Finding, Report};
use crate::config::TestsPolicy;
use crate::git::{Object, Oid};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::session::{Entry, start_of_code};
use crate::stages::{Approves, StageSpec};
use compare::{Changed, TestChanges, compare};
use runner::configures_runner;
use test_finder::knows;

pub(crate) use asked::tests_rule;
pub(crate) use compare::LARGEST;
pub(crate) use test_finder::{Test, is_test_path, tests_in};

/// Maximum number of weakened tests that are listed.
const TOLD: usize = 20;

/// The changes to tests at a commit or tree: how its tests differ from those that existed when the
/// session began, and from those that the session's tasks and corrections have added.
pub(crate) fn changes_of_tests(run: &Run<'_>, to: &Oid) -> anyhow::Result<TestChanges> {
    let Some((first, since)) = run.session.history.split_first() else {
        return Ok(TestChanges::default());
    };
    let start = start_of_code(run.env.git, &run.session);
    let start = start.unwrap_or_else(|| first.commit.clone());
    let own: Vec<&Entry> = since.iter().filter(|entry| entry.brings_code()).collect();
    // Each commit is compared too: a file that the session added and later deleted does not differ
    // from the start.
    let reader = run.env.git.reader();
    let mut ours: BTreeSet<String> =
        project_files::code_since_start(run, to)?.into_iter().collect();
    ours.extend(reader.diff(Some(&run.session.tip), to)?.into_iter().map(|c| c.path));
    for entry in &own {
        let changed = reader.diff(entry.parents.first(), &entry.commit)?;
        ours.extend(changed.into_iter().map(|change| change.path));
    }
    let mut changes = tests_since(run, &start, to, &ours)?;
    for entry in own {
        changes.add_weakened(tests_since(run, &entry.commit, to, &ours)?);
    }
    Ok(changes)
}

fn tests_since(
    run: &Run<'_>,
    from: &Oid,
    to: &Oid,
    ours: &BTreeSet<String>,
) -> anyhow::Result<TestChanges> {
    let reader = run.env.git.reader();
    let text = |oid: Option<&Oid>| -> anyhow::Result<Option<String>> {
        let Some(oid) = oid else { return Ok(None) };
        let bytes = reader.blob(Object::Id(oid))?.filter(|bytes| bytes.len() <= LARGEST);
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    let mut files = Vec::new();
    for change in reader.diff(Some(from), to)? {
        let path = &change.path;
        let tells = knows(path) || is_test_path(path) || configures_runner(path);
        if tells && ours.contains(&change.path) {
            let (before, after) = (text(change.old.as_ref())?, text(change.new.as_ref())?);
            files.push(Changed { path: change.path, before, after });
        }
    }
    Ok(compare(&files))
}

/// Adds findings about tests to a report on coding: weakened tests and those nobody asked for are
/// shown to a person, forbidden ones are refused.
pub(crate) fn look_at_tests(
    run: &Run<'_>,
    spec: &StageSpec,
    report: &mut Report,
) -> anyhow::Result<()> {
    if spec.approves != Approves::Tree {
        return Ok(());
    }
    let changes = changes_of_tests(run, &run.tree()?)?;
    report.warnings.extend(told(&changes));
    let Some(unasked) = asked::unasked_tests(run, &changes)? else { return Ok(()) };
    let forbidden = run.env.config.project.tests == TestsPolicy::Never;
    // Tests named in an approved plan are reported, not refused.
    if forbidden && !unasked.beside_plan.is_empty() {
        let details = unasked.words(&unasked.beside_plan);
        report.findings.push(Finding::wrong("unwanted-tests", details).fix("delete these tests"));
    }
    let told = if forbidden { &unasked.planned } else { &unasked.files };
    if !told.is_empty() {
        report.warnings.push(unasked.words(told));
    }
    Ok(())
}

/// Warns once about each weakened test in a draft, and about tests nobody asked for.
pub(crate) fn warn_of_tests(run: &Run<'_>, draft: &Oid) -> anyhow::Result<()> {
    let changes = changes_of_tests(run, draft)?;
    let unasked = asked::unasked_tests(run, &changes)?.map(|unasked| unasked.words(&unasked.files));
    for line in told(&changes).into_iter().chain(unasked) {
        run.warn_once(line);
    }
    Ok(())
}

/// The changes to tests, for critics and the check stage; empty if no test is weaker and all new
/// ones were asked for.
pub(crate) fn tests_for_readers(run: &Run<'_>, to: &Oid) -> anyhow::Result<String> {
    let changes = changes_of_tests(run, to)?;
    let weakened = told(&changes);
    let mut out = String::new();
    if !weakened.is_empty() {
        let list: String = weakened.iter().map(|line| format!("- {line}\n")).collect();
        let _ = write!(
            out,
            "\n\ngit-cowork compared the tests with those that existed when the session began and those that the session added earlier. A test that checks less is a critical fault, unless that was asked for or the test was renamed:\n\n{list}"
        );
    }
    if let Some(unasked) = asked::unasked_tests(run, &changes)? {
        let words = unasked.words(&unasked.files);
        let _ = write!(
            out,
            "\n\ngit-cowork looked for a request for tests and found none. It knows only a few words of a few languages, so judge for yourself whether these tests were asked for. If not, they are a fault, even if the plan names their files.\n\n- {words}\n"
        );
    }
    Ok(out)
}

/// One line for each weakened test.
fn told(changes: &TestChanges) -> Vec<String> {
    let weakened = changes.weakened.iter().take(TOLD).map(|weakened| format!("test: {weakened}"));
    let more = changes.weakened.len().saturating_sub(TOLD);
    let more = (more > 0).then(|| format!("tests: {more} more deleted or weakened"));
    weakened.chain(more).collect()
}
