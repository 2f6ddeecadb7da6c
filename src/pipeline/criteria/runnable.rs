//! A test that a criterion names, found in its file.

use std::collections::BTreeMap;

use super::resolve::{Parts, parts_of};
use super::wanted::Wanted;
use crate::git::{self, Object, Oid};
use crate::languages::{self, OneTest};
use crate::pipeline::run::Run;
use crate::pipeline::test_changes::LARGEST;

/// A test that exists.
pub(super) struct Runnable {
    pub(super) path: String,
    pub(super) parts: Parts,
    /// All tests in its file.
    in_file: Vec<Parts>,
    pub(super) one_test: &'static OneTest,
}

impl Runnable {
    pub(super) fn named(&self) -> languages::TestName<'_> {
        languages::TestName { path: &self.path, parts: &self.parts }
    }

    /// All tests in the files of these tests.
    pub(super) fn in_files<'r>(
        tests: impl IntoIterator<Item = &'r Self>,
    ) -> Vec<languages::TestName<'r>> {
        let files: BTreeMap<&str, &Self> =
            tests.into_iter().map(|test| (test.path.as_str(), test)).collect();
        let tests = |(path, one): (&'r str, &'r Self)| {
            one.in_file.iter().map(move |parts| languages::TestName { path, parts })
        };
        files.into_iter().flat_map(tests).collect()
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
    let (parts, in_file) = match parts_of(path, &text, name) {
        Ok(found) => found,
        Err(why) => return Ok(Err(why)),
    };
    let Some(one_test) = languages::of_file(path).and_then(|language| language.one_test.as_ref())
    else {
        return Ok(Err(format!("no known command runs one test of {path}")));
    };
    Ok(Ok(Runnable { path: path.to_owned(), parts, in_file, one_test }))
}

pub(super) fn text_at(run: &Run<'_>, tree: &Oid, path: &str) -> anyhow::Result<Option<String>> {
    let blob = git::snapshot::blob_ids(run.env.git, tree, &[path])?.pop().flatten();
    let Some(blob) = blob else { return Ok(None) };
    let bytes = run.env.git.reader().blob(Object::Id(&blob))?.filter(|b| b.len() <= LARGEST);
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}
