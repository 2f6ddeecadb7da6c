//! Runs the tests that must fail on the base, in a linked working tree with the files the session
//! found and the session's tests.
//!
//! Installed, built or ignored files are missing in that tree. So a failure there counts only if
//! the test passes in the same tree with the session's code. Tests without a clear result there are
//! run in the session's working tree, whose code is replaced by the base's for that time.

use super::runnable::{Runnable, became, text_at};
use crate::git::{self, Oid};
use crate::interrupt;
use crate::languages;
use crate::pipeline::evidence::base;
use crate::pipeline::evidence::base_worktree::BaseWorktree;
use crate::pipeline::evidence::named_tests::{Became, NamedTest};
use crate::pipeline::evidence::{CheckRun, Which, recorded};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::pipeline::test_changes::{is_test_path, tests_in};
use crate::session;

/// A test to run, with its index among all tests.
type ToRun = (usize, Runnable);

/// The base's code with the session's tests.
struct Base {
    /// The commit the session started from.
    start: Oid,
    /// The tree to test.
    tree: Oid,
    /// The paths that differ from the session's tree.
    paths: Vec<String>,
}

/// Finds out whether the tests that must fail on the base do fail there.
pub(super) async fn look_on_base(
    run: &Run<'_>,
    tree: &Oid,
    tests: &mut [NamedTest],
    wanted: Vec<ToRun>,
) -> anyhow::Result<()> {
    let Some(start) = session::start_of_code(run.env.git, &run.session) else {
        for (at, _) in wanted {
            tests[at].base = Some(Became::Unknown("the base is not known".to_owned()));
        }
        return Ok(());
    };
    let mut to_run = Vec::new();
    for (at, test) in wanted {
        tests[at].base = without_a_run(run, (&start, tree), &tests[at].test, &test)?;
        if tests[at].base.is_none() {
            to_run.push((at, test));
        }
    }
    if to_run.is_empty() {
        return Ok(());
    }
    run.note("running the tests that must fail without this session's code");
    let base = Base::of(run, start, tree, &to_run)?;
    let left = in_worktree(run, &base, tree, tests, to_run).await?;
    in_place(run, base, tree, tests, left).await
}

/// The result that is known without running the test.
fn without_a_run(
    run: &Run<'_>,
    (start, tree): (&Oid, &Oid),
    name: &str,
    test: &Runnable,
) -> anyhow::Result<Option<Became>> {
    if recorded::failed_on_base(run, name, tree)? {
        return Ok(Some(Became::Failed("it did before".to_owned())));
    }
    if !is_test_path(&test.path) {
        let Some(old) = text_at(run, start, &test.path)? else {
            return Ok(Some(Became::Missing(format!("{} is not there", test.path))));
        };
        let now = text_at(run, tree, &test.path)?.unwrap_or_default();
        let tests = tests_in(&test.path, &old).unwrap_or_default();
        let is_there = tests.iter().any(|one| one.name == test.parts.join(" › "));
        if !is_there && with_tests(&test.path, &old, &now, true).is_none() {
            let why = format!("the tests in {} cannot be separated from its code", test.path);
            return Ok(Some(Became::Unknown(why)));
        }
    }
    let unknown = || Became::Unknown("no known command runs it alone".to_owned());
    Ok(test.alone.is_none().then(unknown))
}

/// The base's version of a file, but with the tests that the file has now. If no criterion names
/// the file, only items that refer to tests elsewhere (`mod tests;`) are added. `None` if the tests
/// cannot be separated from the code.
fn with_tests(path: &str, old: &str, now: &str, is_named: bool) -> Option<String> {
    let apart = languages::of_file(path)?.tests_beside_code;
    let (were, are) = (apart(old)?, apart(now)?);
    let elsewhere = |range: &std::ops::Range<usize>| now[range.clone()].trim_end().ends_with(';');
    let added: Vec<_> = are.into_iter().filter(|range| is_named || elsewhere(range)).collect();
    if added.is_empty() {
        return None;
    }
    let mut text = String::new();
    let mut at = 0;
    for range in were {
        text += &old[at..range.start];
        at = range.end;
    }
    text += &old[at..];
    for range in added {
        text += "\n";
        text += &now[range];
    }
    Some(text)
}

impl Base {
    fn of(run: &Run<'_>, start: Oid, tree: &Oid, tests: &[ToRun]) -> anyhow::Result<Self> {
        let git = run.env.git;
        let mut paths = project_files::code_since_start(run, tree)?;
        paths.retain(|path| !is_test_path(path));
        let mut others = git::paths::changed(git, &start, tree)?;
        others.retain(|path| !paths.contains(path));
        let mut base = git::snapshot::tree(git, &start, &others)?;
        let mut mixed = Vec::new();
        for path in &paths {
            let is_named = tests.iter().any(|(_, test)| test.path == *path);
            let texts = (text_at(run, &start, path)?, text_at(run, tree, path)?);
            if let (Some(old), Some(now)) = texts
                && let Some(text) = with_tests(path, &old, &now, is_named)
            {
                mixed.push((path.clone(), git::made::store_blob(git, text)?));
            }
        }
        if !mixed.is_empty() {
            base = git::snapshot::tree_with(git, &base, &mixed)?;
        }
        Ok(Self { start, tree: base, paths })
    }
}

fn commands<'t>(tests: impl IntoIterator<Item = &'t ToRun>) -> Vec<(Which, String)> {
    let alone = tests.into_iter().filter_map(|(_, test)| test.alone.clone());
    alone.map(|alone| (Which::Test, alone)).collect()
}

/// Runs the tests in a linked working tree; returns those without a clear result.
async fn in_worktree(
    run: &Run<'_>,
    base: &Base,
    tree: &Oid,
    tests: &mut [NamedTest],
    to_run: Vec<ToRun>,
) -> anyhow::Result<Vec<ToRun>> {
    let place = match BaseWorktree::make(run, &base.start) {
        Ok(place) => place,
        Err(error) => {
            interrupt::check()?;
            run.warn_once(format!("cannot create a working tree for the base: {error:#}"));
            return Ok(to_run);
        }
    };
    let ran = place.run(run, &base.tree, &commands(&to_run)).await?;
    let (mut failed, mut left) = (Vec::new(), Vec::new());
    for (one, ran) in to_run.into_iter().zip(ran) {
        match became(run, &one.1, &ran)? {
            said if said.is_failure() && !ran.timed_out => failed.push((one, said, ran)),
            _ => left.push(one),
        }
    }
    if failed.is_empty() {
        return Ok(left);
    }
    let with_code = place.run(run, tree, &commands(failed.iter().map(|(one, ..)| one))).await?;
    for (((at, test), said, ran), with_code) in failed.into_iter().zip(with_code) {
        if became(run, &test, &with_code)? == Became::Passed {
            tests[at].base = Some(said);
            tests[at].runs.push((base.tree.clone(), ran));
        } else {
            left.push((at, test));
        }
    }
    Ok(left)
}

async fn in_place(
    run: &Run<'_>,
    base: Base,
    tree: &Oid,
    tests: &mut [NamedTest],
    left: Vec<ToRun>,
) -> anyhow::Result<()> {
    let commands = commands(&left);
    if commands.is_empty() {
        return Ok(());
    }
    let ran: Option<Vec<CheckRun>> =
        base::run_in_place(run, (&base.tree, tree), base.paths, &commands).await?;
    let Some(ran) = ran else {
        for (at, _) in left {
            tests[at].base = Some(Became::Unknown("files have just changed".to_owned()));
        }
        return Ok(());
    };
    for ((at, test), ran) in left.into_iter().zip(ran) {
        tests[at].base = Some(became(run, &test, &ran)?);
        tests[at].runs.push((base.tree.clone(), ran));
    }
    Ok(())
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
