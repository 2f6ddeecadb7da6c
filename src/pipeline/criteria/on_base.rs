//! Runs the tests that must fail on the base: on the files the session found, with the session's tests.

use super::batch::{self, Batch, Share, ToRun, commands};
use super::runnable::{Runnable, text_at};
use crate::git::{self, Oid};
use crate::languages;
use crate::pipeline::evidence::named_tests::{Became, NamedTest};
use crate::pipeline::evidence::{CheckRun, gather};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::pipeline::test_changes::{is_test_path, tests_in};
use crate::session;

/// Finds out whether the tests that must fail on the base do fail there. Returns the runs that tell
/// it, each with its tree.
pub(super) async fn look_on_base(
    run: &Run<'_>,
    tree: &Oid,
    tests: &mut [NamedTest],
    wanted: Vec<ToRun>,
) -> anyhow::Result<Vec<(Oid, CheckRun)>> {
    let Some(start) = session::start_of_code(run.env.git, &run.session) else {
        for (at, _) in wanted {
            tests[at].base = Some(Became::Unknown("the base is not known".to_owned()));
        }
        return Ok(Vec::new());
    };
    let mut to_run = Vec::new();
    for (at, test) in wanted {
        tests[at].base = without_a_run(run, (&start, tree), &test)?;
        if tests[at].base.is_none() {
            to_run.push((at, test));
        }
    }
    let (batches, unknown) = batch::batches(run, to_run, Share::File);
    for (at, _) in unknown {
        tests[at].base = Some(Became::Unknown("no known command runs it alone".to_owned()));
    }
    if batches.is_empty() {
        return Ok(Vec::new());
    }
    run.note("running the tests that must fail without this session's code");
    let (base, mut runs) = (base_of(run, &start, tree, &batches)?, Vec::new());
    let untold = look(run, &base, batches, tests, &mut runs).await?;
    let (alone, _) = batch::batches(run, untold, Share::None);
    look(run, &base, alone, tests, &mut runs).await?;
    Ok(runs)
}

/// The result that is known without running the test.
fn without_a_run(
    run: &Run<'_>,
    (start, tree): (&Oid, &Oid),
    test: &Runnable,
) -> anyhow::Result<Option<Became>> {
    if is_test_path(&test.path) {
        return Ok(None);
    }
    let Some(old) = text_at(run, start, &test.path)? else {
        return Ok(Some(Became::Missing(format!("{} is not there", test.path))));
    };
    let now = text_at(run, tree, &test.path)?.unwrap_or_default();
    let tests = tests_in(&test.path, &old).unwrap_or_default();
    let is_there = tests.iter().any(|one| one.name == test.parts.join(" › "));
    if is_there || with_tests(&test.path, &old, &now, true).is_some() {
        return Ok(None);
    }
    let why = format!("the tests in {} cannot be separated from its code", test.path);
    Ok(Some(Became::Unknown(why)))
}

/// The base's version of a file, but with the tests that the file has now. If no criterion names
/// the file, only items that refer to tests elsewhere (`mod tests;`) are added. `None` if the tests
/// cannot be separated from the code.
fn with_tests(path: &str, old: &str, now: &str, is_named: bool) -> Option<String> {
    let apart = languages::of_file(path)?.tests_beside_code;
    let (were, are) = (apart(old)?, apart(now)?);
    let elsewhere = |range: &std::ops::Range<usize>| now[range.clone()].trim_end().ends_with(';');
    let additions: Vec<_> = are.into_iter().filter(|range| is_named || elsewhere(range)).collect();
    if additions.is_empty() {
        return None;
    }
    let mut text = String::new();
    let mut at = 0;
    for range in were {
        text += &old[at..range.start];
        at = range.end;
    }
    text += &old[at..];
    for range in additions {
        text += "\n";
        text += &now[range];
    }
    Some(text)
}

/// The tree of the base's code with the session's tests.
fn base_of(run: &Run<'_>, start: &Oid, tree: &Oid, tests: &[Batch]) -> anyhow::Result<Oid> {
    let git = run.env.git;
    let mut paths = project_files::code_since_start(run, tree)?;
    paths.retain(|path| !is_test_path(path));
    let mut others = git::paths::changed(git, start, tree)?;
    others.retain(|path| !paths.contains(path));
    let mut base = git::snapshot::tree(git, start, &others)?;
    let mut mixed = Vec::new();
    for path in &paths {
        let mut named = tests.iter().flat_map(|batch| &batch.tests);
        let is_named = named.any(|(_, test)| test.path == *path);
        let texts = (text_at(run, start, path)?, text_at(run, tree, path)?);
        if let (Some(old), Some(now)) = texts
            && let Some(text) = with_tests(path, &old, &now, is_named)
        {
            mixed.push((path.clone(), git::made::store_blob(git, text)?));
        }
    }
    if !mixed.is_empty() {
        base = git::snapshot::tree_with(git, &base, &mixed)?;
    }
    Ok(base)
}

/// Runs the tests on the base; returns those whose result the output of several tests does not tell.
async fn look(
    run: &Run<'_>,
    base: &Oid,
    batches: Vec<Batch>,
    tests: &mut [NamedTest],
    runs: &mut Vec<(Oid, CheckRun)>,
) -> anyhow::Result<Vec<ToRun>> {
    let mut untold = Vec::new();
    let ran = gather::run_all(run, &commands(&batches), base, &[]).await?;
    for (batch, ran) in batches.into_iter().zip(ran) {
        let results = batch.results(run, &ran)?;
        for (test, became) in batch.tests.into_iter().zip(results) {
            match became {
                Some(became) => tests[test.0].base = Some(became),
                None => untold.push(test),
            }
        }
        runs.push((base.clone(), ran));
    }
    Ok(untold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_a_rust_file_are_combined_with_its_old_code() {
        let tests =
            "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {}\n}\n";
        let code = |body: &str| {
            format!(
                "//! Sums.\n\nuse std::fmt;\n\n/// Adds.\n#[must_use]\npub fn add() {{\n    {body}\n}}\n"
            )
        };
        let (old, now) = (code("1"), format!("{}\n{tests}", code("2")));
        let laid = with_tests("src/a.rs", &old, &now, true).unwrap();
        assert_eq!(laid, format!("{}\n{tests}", code("1")));
        // The base's own tests are replaced; attributes and comments move with their item.
        let were =
            "/// Old.\n#[cfg(test)]\n#[expect(dead_code)]\nmod tests {\n    fn old() {}\n}\n";
        let laid = with_tests("src/a.rs", &format!("{were}\n{old}"), &now, true).unwrap();
        assert_eq!(laid, format!("\n{}\n{tests}", code("1")));
        // In files that no criterion names, only references to tests elsewhere are added.
        assert_eq!(with_tests("src/a.rs", &old, &now, false), None);
        let now = format!("{}\n#[cfg(test)]\nmod tests;\n", code("2"));
        let laid = with_tests("src/a.rs", &old, &now, false).unwrap();
        assert_eq!(laid, format!("{}\n#[cfg(test)]\nmod tests;\n", code("1")));
    }

    #[test]
    fn tests_that_cannot_be_separated_from_code_are_not_combined() {
        let tests = "#[cfg(test)]\nmod tests {\n    const A: &str = \"\n}\n\";\n}\n";
        let open = "#[cfg(test)]\nmod tests {\n    fn a() {}\n";
        let all = "#![cfg(test)]\nfn a() {}\n";
        for now in [tests, open, all, "fn a() {}\n", "  fn a() {}\n"] {
            assert_eq!(with_tests("src/a.rs", "fn b() {}\n", now, true), None, "{now}");
        }
        assert_eq!(with_tests("a.py", "x = 1\n", "def test_x():\n    assert 1\n", true), None);
    }
}
