//! A test that a criterion names, in its file: how it is run alone, and what an output says of it.

use std::collections::BTreeSet;

use super::resolve::parts_of;
use super::wanted::Wanted;
use crate::git::{self, Object, Oid};
use crate::languages::{self, OneTest, Project};
use crate::pipeline::evidence::named_tests::{Became, Named};
use crate::pipeline::evidence::{CheckRun, failing, recorded};
use crate::pipeline::run::Run;
use crate::pipeline::test_changes::LARGEST;

/// A test that is there, and how it is run.
pub(super) struct Runnable {
    pub(super) path: String,
    pub(super) parts: Vec<String>,
    one_test: &'static OneTest,
    /// What runs it alone.
    pub(super) alone: Option<String>,
}

impl Runnable {
    /// How often an output names it as one that passed.
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

/// The test in its file; or why it is not there.
pub(super) fn runnable(
    run: &Run<'_>,
    tree: &Oid,
    one: &Wanted,
) -> anyhow::Result<Result<Runnable, String>> {
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

pub(super) fn text_at(run: &Run<'_>, tree: &Oid, path: &str) -> anyhow::Result<Option<String>> {
    let blob = git::snapshot::blob_ids(run.env.git, tree, &[path])?.pop().flatten();
    let Some(blob) = blob else { return Ok(None) };
    let bytes = run.env.git.reader().blob(Object::Id(&blob))?.filter(|b| b.len() <= LARGEST);
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// What a run of the test alone says of it.
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
