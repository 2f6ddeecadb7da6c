//! A test that a criterion names: how to run it alone, and how to find its result in an output.

use std::collections::BTreeSet;

use super::resolve::parts_of;
use super::wanted::Wanted;
use crate::git::{self, Object, Oid};
use crate::languages::{self, OneTest, Project};
use crate::pipeline::evidence::named_tests::{Became, Named};
use crate::pipeline::evidence::{CheckRun, failing, recorded};
use crate::pipeline::run::Run;
use crate::pipeline::test_changes::LARGEST;

/// A test that exists, and how to run it.
pub(super) struct Runnable {
    pub(super) path: String,
    pub(super) parts: Vec<String>,
    one_test: &'static OneTest,
    /// The command that runs only this test.
    pub(super) alone: Option<String>,
}

impl Runnable {
    /// How often an output lists the test as passed.
    pub(super) fn times_passed(&self, output: &str) -> usize {
        self.ask(|test| self.one_test.times_passed(test, output))
    }

    pub(super) fn is_among(&self, failing: BTreeSet<String>) -> bool {
        self.ask(|test| self.one_test.is_among(test, failing))
    }

    fn ask<T>(&self, what: impl FnOnce(&languages::Named<'_>) -> T) -> T {
        let parts: Vec<&str> = self.parts.iter().map(String::as_str).collect();
        what(&languages::Named { path: &self.path, parts: &parts })
    }
}

/// Finds the test in its file, or returns the reason why it was not found.
pub(super) fn runnable(
    run: &Run<'_>,
    tree: &Oid,
    one: &Wanted,
) -> anyhow::Result<Result<Runnable, String>> {
    let Some((path, name)) = one.test.split_once("::") else {
        return Ok(Err("a test must be named file::name".to_owned()));
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
        return Ok(Err(format!("no known command runs one test of {path}")));
    };
    let mut found = Runnable { path: path.to_owned(), parts, one_test, alone: None };
    let commands = (run.env.commands)();
    let project = Project { root: run.env.workspace.root(), tests: &commands.test };
    found.alone = found.ask(|test| (one_test.alone)(test, &project));
    Ok(Ok(found))
}

pub(super) fn text_at(run: &Run<'_>, tree: &Oid, path: &str) -> anyhow::Result<Option<String>> {
    let blob = git::snapshot::blob_ids(run.env.git, tree, &[path])?.pop().flatten();
    let Some(blob) = blob else { return Ok(None) };
    let bytes = run.env.git.reader().blob(Object::Id(&blob))?.filter(|b| b.len() <= LARGEST);
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The result of the test from `ran`, a run of this test alone.
pub(super) fn became(run: &Run<'_>, test: &Runnable, ran: &CheckRun) -> anyhow::Result<Became> {
    let output = match &ran.log {
        Some(log) => recorded::output_in_log(run, log)?,
        None => String::new(),
    };
    let named = match test.is_among(failing::names(&output)) {
        true => Named::Failed,
        false if test.times_passed(&output) > 0 => Named::Passed,
        false => Named::Not,
    };
    Ok(Became::of(ran, named))
}
