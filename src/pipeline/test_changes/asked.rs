//! Finds new tests for which neither the idea, the PRD nor the repository's conventions ask.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::artifact::{Artifact, Store, Task};
use crate::config::TestsPolicy;
use crate::git::{self, Oid};
use crate::pipeline::files::instructions::instructions;
use crate::pipeline::run::Run;
use crate::pipeline::test_changes::compare::{LARGEST, TestChanges};
use crate::pipeline::test_changes::request::Request;
use crate::pipeline::test_changes::test_finder::{is_test_path, knows, tests_in};
use crate::session::start_of_code;

/// Maximum number of files of a language that are searched for a first test.
const LOOKED_INTO: usize = 400;

/// What prompts say about writing tests, by the setting `[project] tests`.
pub(crate) const fn tests_rule(policy: TestsPolicy) -> &'static str {
    match policy {
        TestsPolicy::Asked => {
            "Write tests only where the idea, the PRD or the repository's conventions ask for them."
        }
        TestsPolicy::Always => "Write tests for what you add.",
        TestsPolicy::Never => "Do not write tests.",
    }
}

/// New tests that nobody asked for.
pub(crate) struct UnaskedTests {
    /// The files that contain them.
    pub(crate) files: Vec<String>,
    /// The subset of `files` that tasks name.
    pub(crate) planned: Vec<String>,
    /// The subset of `files` that no task names.
    pub(crate) beside_plan: Vec<String>,
    why: String,
}

impl UnaskedTests {
    /// One line about some of the files, for all who judge the code.
    pub(crate) fn words(&self, files: &[String]) -> String {
        let named = |path: &String| {
            let plan = if self.planned.contains(path) { " (named in the plan)" } else { "" };
            format!("{path}{plan}")
        };
        let files: Vec<String> = files.iter().map(named).collect();
        format!("new tests in {}: {}", files.join(", "), self.why)
    }
}

/// The new tests in these changes that nobody asked for; `None` if there are none.
pub(crate) fn unasked_tests(
    run: &Run<'_>,
    changes: &TestChanges,
) -> anyhow::Result<Option<UnaskedTests>> {
    let policy = run.env.config.project.tests;
    if changes.added.is_empty() || policy == TestsPolicy::Always {
        return Ok(None);
    }
    let store = run.store();
    // A criterion that names a test asks for it.
    let named = files_of_criteria(&store)?;
    let mut added = changes.added.clone();
    added.retain(|path| !named.contains(path));
    if added.is_empty() {
        return Ok(None);
    }
    let why = match policy {
        TestsPolicy::Never => "this project wants none (project.tests is \"never\")".to_owned(),
        _ => match no_request(run, &store, &added)? {
            Some(why) => why,
            None => return Ok(None),
        },
    };
    let plan = store.plan()?;
    let named: BTreeSet<&str> = plan.tasks.iter().flat_map(Task::files).collect();
    let (planned, beside_plan) =
        added.iter().cloned().partition(|path| named.contains(path.as_str()));
    Ok(Some(UnaskedTests { files: added, planned, beside_plan, why }))
}

/// The files of tests that criteria name.
fn files_of_criteria(store: &Store<'_>) -> anyhow::Result<BTreeSet<String>> {
    let requirements = store.requirements()?.requirements;
    let criteria = requirements.iter().flat_map(|one| &one.acceptance_criteria);
    let tests = criteria.filter_map(|one| one.test.as_deref()?.split_once("::"));
    Ok(tests.map(|(path, _)| path.to_owned()).collect())
}

/// The reason why these tests count as not asked for; `None` if they were. The idea takes
/// precedence over the documents made from it, and both over the repository's conventions.
fn no_request(
    run: &Run<'_>,
    store: &Store<'_>,
    added: &[String],
) -> anyhow::Result<Option<String>> {
    let mut unclear = None;
    for (whose, said) in [
        ("the idea", request_of_idea(run, store)?),
        ("the PRD", request_of_prd(store)?),
        ("the repository's conventions", request_of_conventions(run, added)?),
    ] {
        match said {
            Request::Asked => return Ok(None),
            Request::Refused(words) => {
                return Ok(Some(format!("not wanted by {whose}: \"{words}\"")));
            }
            Request::Unclear(words) => {
                unclear = unclear.or(Some(format!(" (unclear words in {whose}: \"{words}\")")));
            }
            Request::Nothing => {}
        }
    }
    let unclear = unclear.unwrap_or_default();
    Ok(Some(format!("the idea, the PRD and the conventions do not ask for them{unclear}")))
}

/// What the original idea and the change request say about tests.
fn request_of_idea(run: &Run<'_>, store: &Store<'_>) -> anyhow::Result<Request> {
    let mut said = Request::of(&run.session.file.idea);
    if let Some(change) = store.change_request()? {
        let texts = change.constraints.iter().chain(&change.acceptance_criteria);
        for text in texts.chain([&change.summary]) {
            said = said.and(Request::of(text));
        }
    }
    Ok(said)
}

fn request_of_prd(store: &Store<'_>) -> anyhow::Result<Request> {
    let mut said = Request::Nothing;
    for artifact in [Artifact::Idea, Artifact::Prd] {
        said = said.and(Request::of(&store.text(artifact)?.unwrap_or_default()));
    }
    for requirement in store.requirements()?.requirements {
        let texts = requirement.acceptance_criteria.iter().map(|one| &one.text);
        for text in texts.chain([&requirement.title, &requirement.description]) {
            said = said.and(Request::of(text));
        }
    }
    for feature in store.features()?.features {
        for text in feature.completion_criteria.iter().chain([&feature.description]) {
            said = said.and(Request::of(text));
        }
    }
    Ok(said)
}

/// A repository that has tests wants tests, unless its conventions say otherwise.
fn request_of_conventions(run: &Run<'_>, added: &[String]) -> anyhow::Result<Request> {
    // Conventions that a model wrote do not count; a person's line counts at once.
    let mut ours: BTreeSet<String> = run.env.workspace.written().paths().into_iter().collect();
    for entry in &run.session.history {
        if entry.brings_code()
            && let Some(parent) = entry.parents.first()
        {
            ours.extend(git::paths::changed(run.env.git, parent, &entry.commit)?);
        }
    }
    let mut said = Request::Nothing;
    let all = instructions(run, added.iter().map(String::as_str));
    for one in all.iter().filter(|one| !ours.contains(&one.path)) {
        said = said.and(Request::of(&one.text));
    }
    let start = start_of_code(run.env.git, &run.session);
    let start = start.unwrap_or_else(|| run.session.tip.clone());
    let decided = matches!(said, Request::Asked | Request::Refused(_));
    Ok(if !decided && had_tests(run, &start, added)? { Request::Asked } else { said })
}

/// True if a commit has tests: a file in a usual place, or a test in a file of the same languages.
fn had_tests(run: &Run<'_>, commit: &Oid, added: &[String]) -> anyhow::Result<bool> {
    let git = run.env.git;
    let extension = |path: &str| path.rsplit_once('.').map(|(_, name)| name.to_owned());
    let languages: BTreeSet<_> = added.iter().filter_map(|path| extension(path)).collect();
    let mut by_its_place = false;
    let (mut paths, mut blobs) = (Vec::new(), Vec::new());
    git::files::each(git, commit, &mut |path, blob| {
        if !knows(path) || path.starts_with(".cowork/") {
            return ControlFlow::Continue(());
        }
        if is_test_path(path) {
            by_its_place = true;
            return ControlFlow::Break(());
        }
        if blobs.len() < LOOKED_INTO && extension(path).is_some_and(|e| languages.contains(&e)) {
            paths.push(path.to_owned());
            blobs.push(blob.clone());
        }
        ControlFlow::Continue(())
    })?;
    if by_its_place {
        return Ok(true);
    }
    let mut found = false;
    git::files::each_content(git, &blobs, LARGEST as u64, &mut |at, bytes| {
        let bytes = bytes.unwrap_or_default();
        let tests = tests_in(&paths[at], &String::from_utf8_lossy(&bytes));
        found = tests.is_some_and(|tests| !tests.is_empty());
        Ok(if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(found)
}
