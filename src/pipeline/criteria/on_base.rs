//! Runs the tests that must fail on the base, in a linked working tree with the files the session
//! found and the session's tests.
//!
//! Installed, built or ignored files are missing in that tree. So a failure there counts only if
//! the test passes in the same tree with the session's code. Tests without a clear result there are
//! run in the session's working tree, whose code is replaced by the base's for that time.

use super::batch::{self, Batch, Share, ToRun, commands};
use super::runnable::{Runnable, text_at};
use crate::git::{self, Oid};
use crate::interrupt;
use crate::languages;
use crate::pipeline::evidence::CheckRun;
use crate::pipeline::evidence::base;
use crate::pipeline::evidence::base_worktree::BaseWorktree;
use crate::pipeline::evidence::named_tests::{Became, NamedTest};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::pipeline::test_changes::{is_test_path, tests_in};
use crate::session;

/// The base's code with the session's tests.
struct Base {
    /// The commit the session started from.
    start: Oid,
    /// The tree to test.
    tree: Oid,
    /// The paths that differ from the session's tree.
    paths: Vec<String>,
}

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
    let base = Base::build(run, start, tree, &batches)?;
    let mut look = Look { run, base, tree, tests, runs: Vec::new() };
    let rest = look.in_worktree(batches).await?;
    let untold = look.in_place(rest, Share::File).await?;
    look.in_place(untold, Share::None).await?;
    Ok(look.runs)
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

impl Base {
    fn build(run: &Run<'_>, start: Oid, tree: &Oid, tests: &[Batch]) -> anyhow::Result<Self> {
        let git = run.env.git;
        let mut paths = project_files::code_since_start(run, tree)?;
        paths.retain(|path| !is_test_path(path));
        let mut others = git::paths::changed(git, &start, tree)?;
        others.retain(|path| !paths.contains(path));
        let mut base = git::snapshot::tree(git, &start, &others)?;
        let mut mixture = Vec::new();
        for path in &paths {
            let mut all_tests = tests.iter().flat_map(|batch| &batch.tests);
            let is_named = all_tests.any(|(_, test)| test.path == *path);
            let texts = (text_at(run, &start, path)?, text_at(run, tree, path)?);
            if let (Some(old), Some(now)) = texts
                && let Some(text) = with_tests(path, &old, &now, is_named)
            {
                mixture.push((path.clone(), git::made::store_blob(git, text)?));
            }
        }
        if !mixture.is_empty() {
            base = git::snapshot::tree_with(git, &base, &mixture)?;
        }
        Ok(Self { start, tree: base, paths })
    }
}

/// The look at the base.
struct Look<'l> {
    run: &'l Run<'l>,
    base: Base,
    tree: &'l Oid,
    tests: &'l mut [NamedTest],
    /// The runs that tell results.
    runs: Vec<(Oid, CheckRun)>,
}

impl Look<'_> {
    /// Runs the tests in a linked working tree; returns those without a clear result.
    async fn in_worktree(&mut self, batches: Vec<Batch>) -> anyhow::Result<Vec<ToRun>> {
        let place = match BaseWorktree::make(self.run, &self.base.start) {
            Ok(place) => place,
            Err(error) => {
                interrupt::check()?;
                let words = format!("cannot create a working tree for the base: {error:#}");
                self.run.warn_once(words);
                return Ok(batches.into_iter().flat_map(|batch| batch.tests).collect());
            }
        };
        let (mut left, untold) = self.in_this_worktree(&place, batches).await?;
        let (alone, _) = batch::batches(self.run, untold, Share::None);
        left.extend(self.in_this_worktree(&place, alone).await?.0);
        Ok(left)
    }

    /// Returns the tests without a clear result there, and those whose result the output of several
    /// tests does not tell.
    async fn in_this_worktree(
        &mut self,
        place: &BaseWorktree<'_>,
        batches: Vec<Batch>,
    ) -> anyhow::Result<(Vec<ToRun>, Vec<ToRun>)> {
        let run = self.run;
        let ran = place.run(run, &self.base.tree, &commands(&batches)).await?;
        let mut outcomes = Vec::new();
        for (batch, ran) in batches.into_iter().zip(ran) {
            let results = batch.results(run, &ran)?;
            let fails = results.iter().flatten().any(Became::is_failure) && !ran.timed_out;
            outcomes.push((batch, ran, results, fails));
        }
        let failing = outcomes.iter().filter(|(.., fails)| *fails).map(|(batch, ..)| batch);
        let with_code = match commands(failing) {
            none if none.is_empty() => Vec::new(),
            commands => place.run(run, self.tree, &commands).await?,
        };
        let mut with_code = with_code.into_iter();
        let (mut left, mut untold) = (Vec::new(), Vec::new());
        for (batch, ran, said, fails) in outcomes {
            let with_code = with_code.by_ref().take(usize::from(fails)).next();
            let passes = match &with_code {
                Some(with_code) => batch.results(run, with_code)?,
                None => vec![None; said.len()],
            };
            let mut tells = false;
            for ((test, said), passes) in batch.tests.into_iter().zip(said).zip(passes) {
                match said {
                    None => untold.push(test),
                    Some(said) if said.is_failure() && passes == Some(Became::Passed) => {
                        self.tests[test.0].base = Some(said);
                        tells = true;
                    }
                    Some(_) => left.push(test),
                }
            }
            if tells {
                self.runs.push((self.base.tree.clone(), ran));
            }
        }
        Ok((left, untold))
    }

    /// Runs the tests in the session's working tree; returns those whose result the output of
    /// several tests does not tell.
    async fn in_place(&mut self, left: Vec<ToRun>, share: Share) -> anyhow::Result<Vec<ToRun>> {
        let (batches, _) = batch::batches(self.run, left, share);
        let commands = commands(&batches);
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let (trees, paths) = ((&self.base.tree, self.tree), self.base.paths.clone());
        let Some(ran) = base::run_in_place(self.run, trees, paths, &commands).await? else {
            for (at, _) in batches.into_iter().flat_map(|batch| batch.tests) {
                self.tests[at].base = Some(Became::Unknown("files have just changed".to_owned()));
            }
            return Ok(Vec::new());
        };
        let mut untold = Vec::new();
        for (batch, ran) in batches.into_iter().zip(ran) {
            let results = batch.results(self.run, &ran)?;
            for (test, became) in batch.tests.into_iter().zip(results) {
                match became {
                    Some(became) => self.tests[test.0].base = Some(became),
                    None => untold.push(test),
                }
            }
            self.runs.push((self.base.tree.clone(), ran));
        }
        Ok(untold)
    }
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
