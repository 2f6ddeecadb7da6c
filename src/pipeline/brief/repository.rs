//! What every role is told of the repository.
//!
//! First, and the same in all requests of a session: the repository *as the session found it*, read
//! from its start commit: the tree in short, the manifests, the symbols most used, the README. A
//! draft, a task's commit or a person's edit changes none of it, so that a provider's cache holds
//! what stands before the documents from the first request to the last; what the session's idea
//! names comes first among the symbols, what later documents name does not, for the same reason.
//! The text is kept in the session's room of J: what is found once is not looked for again, and a
//! later run, or a later release, does not word it differently in mid-session.
//!
//! Then the conventions as they are now: a person who adds a line to AGENTS.md is heard at once.
//!
//! After the documents, because it grows with each task: *what the session has written so far*,
//! from the tip; and the project's commands, which may appear with the code.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, Store, Task};
use crate::codebase::{self, Manifests, Map, Source, Tree};
use crate::git::{self, Git, Oid, TreeFile};
use crate::languages;
use crate::pipeline::brief::sections::section;
use crate::pipeline::files::project_files;
use crate::pipeline::prompts::{GUIDANCE, Variables};
use crate::pipeline::run::Run;
use crate::pipeline::test_changes::{CONVENTION, CONVENTIONS};
use crate::stages::StageSpec;

/// Bytes of the tree.
const TREE: usize = 2_500;
/// Bytes of each manifest.
const MANIFEST: usize = 1_200;
/// Bytes of the map of symbols.
const SYMBOLS: usize = 6_000;
/// Bytes of the README's beginning.
const README: usize = 1_200;
/// Bytes of the list of files the session has changed.
const CHANGED: usize = 1_500;
/// Bytes of the map of what it has written.
const WRITTEN: usize = 4_000;

/// The note in the session's room that keeps the text.
const NOTE: &str = "repository.json";

/// What was found at a start commit.
#[derive(Serialize, Deserialize)]
struct Found {
    start: String,
    text: String,
}

/// The repository as the session found it, and how people work in it.
pub(crate) fn repository_section(run: &Run<'_>) -> anyhow::Result<String> {
    let mut out = as_found(run)?;
    for name in CONVENTIONS {
        let text = run.env.workspace.head(name, CONVENTION);
        section(&mut out, name, &text, CONVENTION);
    }
    Ok(out)
}

fn as_found(run: &Run<'_>) -> anyhow::Result<String> {
    let start = run.session.history.first().map_or(&run.session.tip, |entry| &entry.commit);
    // Half a note, or one of another session of this name, is none.
    let kept: Option<Found> = run.env.state.note(NOTE).ok().flatten();
    if let Some(found) = kept.filter(|found| found.start == start.as_str()) {
        return Ok(found.text);
    }
    let text = describe(run.env.git, start, &run.session.file.idea)?;
    let found = Found { start: start.to_string(), text };
    if let Err(error) = run.env.state.set_note(NOTE, Some(&found)) {
        run.warn(format!("the map of the code cannot be kept: {error:#}"));
    }
    Ok(found.text)
}

/// What the session has written so far: its files and what they define. Empty before there is
/// code of its own.
pub(crate) fn code_so_far(run: &Run<'_>, task: Option<&Task>) -> anyhow::Result<String> {
    let (git, tip) = (run.env.git, &run.session.tip);
    let changed = project_files::code_since_start(run, tip)?;
    let mut out = String::new();
    if changed.is_empty() {
        return Ok(out);
    }
    let files = Files { git, files: git::files::at(git, tip, &changed)? };
    let mut paths: Vec<&str> = changed.iter().map(String::as_str).collect();
    paths.sort_unstable();
    section(
        &mut out,
        "Files this session has changed so far",
        &codebase::tree(&paths, CHANGED),
        CHANGED,
    );
    let mut about = run.session.file.idea.clone();
    if let Some(task) = task {
        let _ = write!(about, " {} {}", task.title, task.description);
    }
    let map = Map { source: &files, cache: None, about: &about };
    let symbols = codebase::symbols(&map, WRITTEN)?;
    section(&mut out, "What they define (LINE: head)", &symbols, WRITTEN);
    Ok(out)
}

/// The project's own commands by name; empty where none is known.
pub(crate) fn own_commands(run: &Run<'_>) -> String {
    let commands = (run.env.commands)();
    let mut list = String::new();
    for (what, command) in
        [("build", commands.build), ("test", commands.test), ("lint", commands.lint)]
    {
        if !command.is_empty() {
            let _ = writeln!(list, "- {what}: `{command}`");
        }
    }
    let mut out = String::new();
    section(&mut out, "The project's own commands", &list, 1_000);
    out
}

/// How the project's language is written, for a stage: the template's, or else those of its files
/// and of the files the plan is to create, or else those the design names. Only what earlier
/// stages have left counts, so that author and critic read the same.
pub(crate) fn guidance_text(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<String> {
    let template = run.env.config.project.template.as_str();
    let languages = if template.is_empty() { language_names(run, spec)? } else { vec![template] };
    let mut guidance = Vec::new();
    for language in languages.into_iter().take(2) {
        let text = run.env.prompts.guidance(language)?;
        guidance.extend(Some(text.trim().to_owned()).filter(|text| !text.is_empty()));
    }
    if !guidance.is_empty() {
        let yields = run.env.prompts.render(GUIDANCE, &Variables::default())?;
        guidance.insert(0, yields.trim().to_owned());
    }
    Ok(guidance.join("\n\n"))
}

fn language_names(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<Vec<&'static str>> {
    let files = run.files();
    let store = Store::new(&files);
    let mut paths: BTreeSet<String> = git::paths::tracked(run.env.git)?.into_iter().collect();
    if spec.context.contains(&Artifact::Plan) {
        let plan = store.plan()?;
        paths.extend(plan.tasks.iter().flat_map(Task::files).map(str::to_owned));
    }
    let languages = codebase::main_languages(paths.iter().map(String::as_str));
    if !spec.context.contains(&Artifact::Design) || !languages.is_empty() {
        return Ok(languages);
    }
    let technologies = store.design()?.components.into_iter().map(|c| c.technology);
    Ok(languages::named_in(&technologies.collect::<Vec<_>>().join("\n")))
}

/// The repository at a commit, as a session's first request tells it. `about` is what is to be done,
/// in words: what it names is looked into first.
///
/// # Errors
/// The commit cannot be read, or the program was asked to stop.
pub fn describe(git: &Git, commit: &Oid, about: &str) -> anyhow::Result<String> {
    let source = AsFound { git, commit };
    let (mut tree, mut manifests) = (Tree::new(TREE), Manifests::default());
    source.each_file(&mut |path, content| {
        tree.add(path);
        manifests.add(path, content);
        ControlFlow::Continue(())
    })?;
    let mut out = String::new();
    section(&mut out, "Files in the repository, as the session found it", &tree.text(), TREE);
    for (path, text) in manifests.texts(&source)? {
        section(&mut out, &path, &text, MANIFEST);
    }
    // Beside the rooms of the sessions: what one has read, the next need not read again.
    let cache: PathBuf = git.state_dir().join("symbols.jsonl");
    let map = Map { source: &source, cache: Some(&cache), about };
    let symbols = codebase::symbols(&map, SYMBOLS)?;
    section(&mut out, "What is most used in it (LINE: head)", &symbols, SYMBOLS);
    if let Some((path, text)) = manifests.readme(&source)? {
        section(&mut out, &format!("{path} (its beginning)"), &text, README);
    }
    Ok(out)
}

/// The files of a commit without our own.
struct AsFound<'a> {
    git: &'a Git,
    commit: &'a Oid,
}

impl Source for AsFound<'_> {
    fn each_file(
        &self,
        visit: &mut dyn FnMut(&str, &str) -> ControlFlow<()>,
    ) -> anyhow::Result<()> {
        git::files::each(self.git, self.commit, &mut |path, blob| {
            if path.starts_with(".cowork/") {
                return ControlFlow::Continue(());
            }
            visit(path, blob.as_str())
        })
    }

    fn each_content(
        &self,
        contents: &[&str],
        most: u64,
        visit: &mut dyn FnMut(usize, Option<Vec<u8>>) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        each_blob(self.git, contents, most, visit)
    }
}

/// A few files.
struct Files<'a> {
    git: &'a Git,
    files: Vec<TreeFile>,
}

impl Source for Files<'_> {
    fn each_file(
        &self,
        visit: &mut dyn FnMut(&str, &str) -> ControlFlow<()>,
    ) -> anyhow::Result<()> {
        let _ = self.files.iter().try_for_each(|file| visit(&file.path, file.blob.as_str()));
        Ok(())
    }

    fn each_content(
        &self,
        contents: &[&str],
        most: u64,
        visit: &mut dyn FnMut(usize, Option<Vec<u8>>) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        each_blob(self.git, contents, most, visit)
    }
}

fn each_blob(
    git: &Git,
    blobs: &[&str],
    most: u64,
    visit: &mut dyn FnMut(usize, Option<Vec<u8>>) -> anyhow::Result<ControlFlow<()>>,
) -> anyhow::Result<()> {
    let blobs: Vec<Oid> = blobs.iter().map(|blob| blob.parse()).collect::<Result<_, _>>()?;
    git::files::each_content(git, &blobs, most, visit)
}
