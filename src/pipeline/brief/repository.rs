//! The description of the repository that every role gets.
//!
//! First, and the same in all requests of a session, comes the repository *as the session found
//! it*, read from its start commit: a shortened tree, the manifests, the files and definitions
//! that the idea names, the README, the most used symbols. Stages that write code leave the symbols
//! out: the task's files and their neighbours ([`task_files`]) replace them. A draft, a task's
//! commit or a manual edit changes none of it, so that a provider's cache holds the text before the
//! documents from the first request to the last. For the same reason only the session's idea moves
//! symbols to the front, not the later documents. The text is saved in the session's state
//! directory: it is computed once, and a later run or release does not change its wording in
//! mid-session.
//!
//! Then comes how the project wants work done, as it is now: a line added to AGENTS.md counts at
//! once. What is said of a folder comes with the files of a task there.
//!
//! Then come the project's commands, which may be known only once there is code. *What the session
//! has written so far*, read from the tip, comes after the documents, because it grows with each
//! task.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, Task};
use crate::codebase::{self, FileNames, Manifests, Map, Source, Tree};
use crate::git::{self, Git, Oid};
use crate::languages;
use crate::pipeline::brief::sections::{instruction_sections, section};
use crate::pipeline::files::instructions::instructions;
use crate::pipeline::files::project_files;
use crate::pipeline::prompts::{GUIDANCE, Variables};
use crate::pipeline::run::Run;
use crate::private::PrivateFiles;
use crate::stages::StageSpec;

/// Maximum bytes of the tree.
const TREE: usize = 2_500;
/// Maximum bytes of one file that the idea names, and of all of them.
const NAMED_FILE: usize = 6_000;
const NAMED_FILES: usize = 12_000;
/// Maximum bytes of the definitions that the idea names.
const NAMED: usize = 6_000;
/// Maximum bytes of the map of symbols.
const SYMBOLS: usize = 6_000;
/// Maximum bytes of the README's beginning.
const README: usize = 1_200;
/// Maximum bytes of the list of files the session has changed.
const CHANGED: usize = 1_500;
/// Maximum bytes of the map of the code it has written.
const WRITTEN: usize = 4_000;

/// The note in the session's state directory that caches the text.
const NOTE: &str = "repository.json";

/// The description of the repository at a start commit.
#[derive(Serialize, Deserialize)]
struct Found {
    start: String,
    #[serde(flatten)]
    about: Description,
}

/// The description of a repository at a commit.
#[derive(Serialize, Deserialize)]
pub struct Description {
    /// The tree, the manifests, the files and definitions that the idea names, the README.
    pub head: String,
    /// The most used symbols.
    pub text: String,
}

/// The repository as the session found it, and how the project wants work on these files done.
pub(crate) fn repository_section(
    run: &Run<'_>,
    spec: &StageSpec,
    paths: &[String],
) -> anyhow::Result<String> {
    let Description { head: mut out, text } = as_found(run)?;
    // Who writes code gets the task's files and their neighbours; the requirements of a change name
    // no code, and its request shares no beginning with another.
    let changes_prd = run.session.is_patch() && spec.artifacts.contains(&Artifact::Prd);
    if !spec.writes_code() && !changes_prd {
        out += &text;
    }
    let all = instructions(run, paths.iter().map(String::as_str));
    out += &instruction_sections(run, &all, |one| !one.of_folder);
    Ok(out)
}

fn as_found(run: &Run<'_>) -> anyhow::Result<Description> {
    let start = run.session.history.first().map_or(&run.session.tip, |entry| &entry.commit);
    // An unreadable note, or one of another session of this name, counts as missing.
    let note: Option<Found> = run.env.state.note(NOTE).ok().flatten();
    if let Some(found) = note.filter(|found| found.start == start.as_str()) {
        return Ok(found.about);
    }
    let about = describe(run.env.git, start, &run.session.file.idea, run.env.workspace.private())?;
    let map = Found { start: start.to_string(), about };
    if let Err(error) = run.env.state.set_note(NOTE, Some(&map)) {
        run.warn(format!("cannot save the map of the code: {error:#}"));
    }
    Ok(map.about)
}

/// The code the session has written so far: its files and their definitions. Empty before the
/// session has code.
pub(crate) fn code_so_far(run: &Run<'_>, task: Option<&Task>) -> anyhow::Result<String> {
    let (git, tip) = (run.env.git, &run.session.tip);
    let mut own_paths = project_files::code_since_start(run, tip)?;
    own_paths.retain(|path| !run.env.workspace.private().has(path));
    let mut out = String::new();
    if own_paths.is_empty() {
        return Ok(out);
    }
    let files = Files { git, files: git::files::at(git, tip, &own_paths)? };
    let mut paths: Vec<&str> = own_paths.iter().map(String::as_str).collect();
    paths.sort_unstable();
    out += &section(
        "Files this session has changed so far",
        &codebase::tree(&paths, CHANGED),
        CHANGED,
    );
    let mut about = run.session.file.idea.clone();
    if let Some(task) = task {
        let _ = write!(about, " {} {}", task.title, task.description);
    }
    let map = Map { source: &files, cache: None, about: &about, shown: &[] };
    let symbols = codebase::symbols(&map, WRITTEN, 0)?.most_used;
    out += &section("Definitions in these files (LINE: signature)", &symbols, WRITTEN);
    Ok(out)
}

/// The project's own commands by name; empty if none is known.
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
    section("The project's own commands", &list, 1_000)
}

/// The style guides of the project's languages, for who writes code: the language of the template,
/// else those of the tracked files and of the files the plan is to create, else those the design
/// names.
pub(crate) fn guidance_text(run: &Run<'_>) -> anyhow::Result<String> {
    let template = run.env.config.project.template.as_str();
    let languages = if template.is_empty() { language_names(run)? } else { vec![template] };
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

fn language_names(run: &Run<'_>) -> anyhow::Result<Vec<&'static str>> {
    let store = run.store();
    let mut paths = git::paths::tracked(run.env.git)?;
    paths.extend(store.plan()?.tasks.iter().flat_map(Task::files).map(str::to_owned));
    paths.sort();
    paths.dedup();
    let languages = codebase::main_languages(paths.iter().map(String::as_str));
    if !languages.is_empty() {
        return Ok(languages);
    }
    let technologies = store.design()?.components.into_iter().map(|c| c.technology);
    Ok(languages::named_in(&technologies.collect::<Vec<_>>().join("\n")))
}

/// Describes the repository at a commit, for a session's first request. `about` is the request in
/// words: files and definitions it names come first.
///
/// # Errors
/// The commit cannot be read, or git-cowork was interrupted.
pub fn describe(
    git: &Git,
    commit: &Oid,
    about: &str,
    private: &PrivateFiles,
) -> anyhow::Result<Description> {
    let source = AsFound { git, commit, private };
    let (mut tree, mut manifests) = (Tree::new(TREE), Manifests::default());
    let names = FileNames::in_text(about);
    let mut mentions: Vec<(String, String)> = Vec::new();
    source.each_file(&mut |path, content| {
        tree.add(path);
        manifests.add(path, content);
        if names.has(path) && codebase::is_source_or_text(path) {
            mentions.push((path.to_owned(), content.to_owned()));
        }
        ControlFlow::Continue(())
    })?;
    let mut out = section("Files in the repository, as the session found it", &tree.text(), TREE);
    for (path, text, most) in manifests.texts(&source)? {
        out += &section(&path, &text, most);
    }
    let readme = manifests.readme(&source)?;
    mentions.retain(|(path, _)| readme.as_ref().is_none_or(|(readme, _)| readme != path));
    let whole = add_named_files(&mut out, &source, &mentions)?;
    // Beside the sessions' state directories: sessions share the cache.
    let cache: PathBuf = git.state_dir().join("symbols.jsonl");
    let map = Map { source: &source, cache: Some(&cache), about, shown: &whole };
    let symbols = codebase::symbols(&map, SYMBOLS, NAMED)?;
    out += &section("Definitions that the idea names", &symbols.named, NAMED);
    if let Some((path, text)) = readme {
        out += &section(&format!("{path} (its beginning)"), &text, README);
    }
    let text = section("Most used definitions (LINE: signature)", &symbols.most_used, SYMBOLS);
    Ok(Description { head: out, text })
}

/// Adds the files that the idea names, uncut, while there is room; returns their paths.
fn add_named_files<'a>(
    out: &mut String,
    source: &AsFound<'_>,
    named: &'a [(String, String)],
) -> anyhow::Result<Vec<&'a str>> {
    let contents: Vec<&str> = named.iter().map(|(_, content)| content.as_str()).collect();
    let (mut shown, mut room) = (Vec::new(), NAMED_FILES);
    source.each_content(&contents, NAMED_FILE as u64, &mut |at, bytes| {
        let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        let path = named[at].0.as_str();
        if !text.is_empty() && !text.contains('\0') && text.len() <= room {
            room -= text.len();
            shown.push(path);
            *out += &section(&format!("{path} (as the session found it)"), &text, NAMED_FILE);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(shown)
}

/// The files of a commit without `.cowork` and without private files.
pub(super) struct AsFound<'a> {
    pub(super) git: &'a Git,
    pub(super) commit: &'a Oid,
    pub(super) private: &'a PrivateFiles,
}

impl Source for AsFound<'_> {
    fn each_file(
        &self,
        visit: &mut dyn FnMut(&str, &str) -> ControlFlow<()>,
    ) -> anyhow::Result<()> {
        git::files::each(self.git, self.commit, &mut |path, blob| {
            if path.starts_with(".cowork/") || self.private.has(path) {
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

/// A fixed list of files.
pub(super) struct Files<'a> {
    pub(super) git: &'a Git,
    /// Paths and blobs.
    pub(super) files: Vec<(String, Oid)>,
}

impl Source for Files<'_> {
    fn each_file(
        &self,
        visit: &mut dyn FnMut(&str, &str) -> ControlFlow<()>,
    ) -> anyhow::Result<()> {
        let _ = self.files.iter().try_for_each(|(path, blob)| visit(path, blob.as_str()));
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
