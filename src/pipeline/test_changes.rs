//! What a session did to the project's tests: deleted, skipped or weakened ones are told to
//! everybody who judges the code, by the program, because a model that made its tests pass that
//! way does not say so. And tests nobody asked for.

mod compare;
mod languages;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::Pipeline;
use super::progress::Progress;
use super::repository::{CONVENTION, CONVENTIONS};
use super::table::{Approves, StageSpec};
use crate::artifact::check::{Finding, Report};
use crate::artifact::{Artifact, Store, Task};
use crate::config::TestsPolicy;
use crate::git::{Object, Oid};
use crate::session::{Entry, Kind};
use crate::stage::Stage;
use compare::{Changed, TestChanges, compare};
use languages::{is_test_path, knows};

/// Larger files are not looked into, in bytes.
const LARGEST: usize = 1024 * 1024;
/// Weakened tests that are told one by one.
const TOLD: usize = 20;

/// Says that tests are wanted, somehow.
static ASKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i-u)\b(?:unit|integration|e2e|end-to-end|regression)?[ -]?(?:tests?|testing|tested|TDD|pytest|specs)\b").ok()
});

impl Pipeline<'_> {
    /// What became of the project's tests up to a commit or tree: of those the session found at
    /// its start, and of those its own tasks and corrections have left since.
    pub(super) fn test_changes(&self, to: &Oid) -> anyhow::Result<TestChanges> {
        let Some((start, since)) = self.session.history.split_first() else {
            return Ok(TestChanges::default());
        };
        let own = |entry: &&Entry| matches!(entry.kind, Kind::Task(_) | Kind::Stage(Stage::Coding));
        let own: Vec<&Entry> = since.iter().filter(own).collect();
        // A file of the session's own that is gone again is no difference from its start.
        let reader = self.env.git.reader();
        let mut ours: BTreeSet<String> = self.code_since_start(to)?.into_iter().collect();
        ours.extend(reader.diff(Some(&self.session.tip), to)?.into_iter().map(|c| c.path));
        for entry in &own {
            let changed = reader.diff(entry.parents.first(), &entry.commit)?;
            ours.extend(changed.into_iter().map(|change| change.path));
        }
        let mut changes = self.tests_since(&start.commit, to, &ours)?;
        for entry in own {
            changes.add_weakened(self.tests_since(&entry.commit, to, &ours)?);
        }
        Ok(changes)
    }

    fn tests_since(
        &self,
        from: &Oid,
        to: &Oid,
        ours: &BTreeSet<String>,
    ) -> anyhow::Result<TestChanges> {
        let reader = self.env.git.reader();
        let text = |oid: Option<&Oid>| -> anyhow::Result<Option<String>> {
            let Some(oid) = oid else { return Ok(None) };
            let bytes = reader.blob(Object::Id(oid))?.filter(|bytes| bytes.len() <= LARGEST);
            Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        };
        let mut files = Vec::new();
        for change in reader.diff(Some(from), to)? {
            let tells = knows(&change.path) || is_test_path(&change.path);
            if tells && ours.contains(&change.path) {
                let (before, after) = (text(change.old.as_ref())?, text(change.new.as_ref())?);
                files.push(Changed { path: change.path, before, after });
            }
        }
        Ok(compare(&files))
    }

    /// The part of a report on coding that is about tests: weakened ones and those nobody asked
    /// for are shown to a person, those that are forbidden are refused.
    pub(super) fn look_at_tests(
        &self,
        spec: &StageSpec,
        progress: &Progress,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        if spec.approves != Approves::Tree {
            return Ok(());
        }
        let changes = self.test_changes(progress.draft.as_ref().unwrap_or(&self.session.tip))?;
        report.warnings.extend(told(&changes));
        let files = self.files();
        let store = Store::new(&files);
        let plan = store.plan()?;
        let planned: BTreeSet<&str> = plan.tasks.iter().flat_map(Task::files).collect();
        let mut added = changes.added;
        // The plan's files were passed by whoever passed the plan.
        added.retain(|path| !planned.contains(path.as_str()));
        if added.is_empty() {
            return Ok(());
        }
        let names = added.join(", ");
        match self.env.config.project.tests {
            TestsPolicy::Always => {}
            TestsPolicy::Never => report.findings.push(
                Finding::wrong(
                    "unwanted-tests",
                    format!("new tests in {names}, and this project wants none ([project] tests is \"never\")"),
                )
                .fix("delete these tests"),
            ),
            TestsPolicy::Asked if self.tests_are_asked_for(&store)? => {}
            TestsPolicy::Asked => report.warnings.push(format!(
                "new tests in {names}: neither idea, PRD nor the repository's conventions ask for them"
            )),
        }
        Ok(())
    }

    /// Whether idea, PRD or the repository's conventions ask for tests.
    fn tests_are_asked_for(&self, store: &Store<'_>) -> anyhow::Result<bool> {
        let asks = |text: &str| ASKS.as_ref().is_none_or(|asks| asks.is_match(text));
        let git = self.env.git;
        if !self.env.config.project.test.is_empty() || asks(&self.session.file.idea) {
            return Ok(true);
        }
        for artifact in
            [Artifact::Idea, Artifact::Prd, Artifact::Requirements, Artifact::ChangeRequest]
        {
            if store.text(artifact)?.is_some_and(|text| asks(&text)) {
                return Ok(true);
            }
        }
        let ours: BTreeSet<String> =
            self.code_since_start(&self.session.tip)?.into_iter().collect();
        let had_tests = |path: &String| {
            is_test_path(path)
                && knows(path)
                && !path.starts_with(".cowork/")
                && !ours.contains(path)
        };
        let head = |name: &&str| self.env.workspace.head(name, CONVENTION);
        let mut conventions = CONVENTIONS.iter().map(head);
        Ok(git.ls_files()?.iter().any(had_tests) || conventions.any(|text| asks(&text)))
    }

    /// Warns once of each test that a draft weakens.
    pub(super) fn warn_of_weakened(&self, draft: &Oid) -> anyhow::Result<()> {
        for weakened in told(&self.test_changes(draft)?) {
            self.warn_once(weakened);
        }
        Ok(())
    }

    /// For critics and the check: what became of the tests; empty when none is weaker.
    pub(super) fn tests_for_readers(&self, to: &Oid) -> anyhow::Result<String> {
        let told = told(&self.test_changes(to)?);
        if told.is_empty() {
            return Ok(String::new());
        }
        let list: String = told.iter().map(|line| format!("- {line}\n")).collect();
        Ok(format!(
            "\n\nThe program compared the tests with those the session found and those it wrote itself before. Unless it was asked for or is a rename, a test that checks less is a critical fault:\n\n{list}"
        ))
    }
}

/// A line for each test that checks less than before.
fn told(changes: &TestChanges) -> Vec<String> {
    let weakened = changes.weakened.iter().take(TOLD).map(|weakened| format!("test: {weakened}"));
    let more = changes.weakened.len().saturating_sub(TOLD);
    let more = (more > 0).then(|| format!("tests: {more} more are deleted or weakened"));
    weakened.chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_ask_for_tests() {
        let asks = |text: &str| ASKS.as_ref().unwrap().is_match(text);
        for text in ["with unit tests", "Tested on Linux", "a test for each", "TDD"] {
            assert!(asks(text), "{text}");
        }
        for text in ["the latest news", "a contest", "to attest"] {
            assert!(!asks(text), "{text}");
        }
    }
}
