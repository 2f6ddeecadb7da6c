//! The linked working tree of an agent program, in the state directory: detached at the session's
//! tip, with the draft's files and the files that builds need. It exists until the run ends, so
//! that the next task finds the build results. If the run is killed, the next run removes it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use crate::artifact::Artifact;
use crate::clean;
use crate::config::{AGENT_CONFIGURATION, AgentFiles, Trust, TrustRecords};
use crate::git::{self, Git, worktree};
use crate::model::{AgentNeeds, Reach, Workplace};
use crate::pipeline::brief::part::Part;
use crate::pipeline::draft::agent_program::bring_in::{self, Brought, FOLDER};
use crate::pipeline::draft::agent_program::way_out;
use crate::pipeline::run::Run;
use crate::record::point;
use crate::session::StateDir;
use crate::workspace::{self, Lent, ShownFiles, Workspace};

/// Maximum number of files that a warning names.
const NAMED: usize = 5;
/// Maximum number of characters of a name in a warning.
const NAME_MAX: usize = 80;
/// Longer than a tick of the kernel's clock, so that later writes get another timestamp.
const TICK: Duration = Duration::from_millis(12);

/// A linked working tree in which an agent program works.
pub(super) struct AgentWorktree<'a> {
    run: &'a Run<'a>,
    /// The program's display name.
    pub(super) title: String,
    pub(super) place: Workplace,
    linked: Git,
    workspace: Workspace,
    /// The files as they were shown to the program, until its changes are copied.
    shown: RefCell<Option<ShownFiles>>,
    /// The documents of a killed turn, for the program to continue.
    left: RefCell<Vec<(Artifact, String)>>,
}

impl<'a> AgentWorktree<'a> {
    /// Creates the working tree, or opens the one that an earlier conversation of this run created.
    pub(super) fn open(
        run: &'a Run<'_>,
        part: &Part<'_>,
        needs: AgentNeeds,
    ) -> anyhow::Result<Self> {
        let run: &'a Run<'a> = run;
        let (git, state) = (run.env.git, run.env.state);
        let (tree, notes) = places(state);
        let is_new = !(run.has_agent_worktree.get() && tree.exists());
        let documents = match is_new && bring_in::is_there(state, &tree) {
            true => left_by_killed(run, part, &needs),
            false => Vec::new(),
        };
        let repository = match is_new {
            true => make(run, &tree, &notes)?,
            false => worktree::take_up(git, &tree)?,
        };
        let files = workspace::linked(run.env.workspace);
        let folders = files.for_builds(&git::status::all_ignored(git)?);
        let overlays = files.overlays(&tree, &notes, &folders).context("making folders")?;
        let lent = Lent { overlays, ..lent(&needs) };
        let commands = run.env.workspace.commands();
        let options = commands.beside_lending(&tree, &notes, git.common_dir(), lent)?;
        let workspace = Workspace::open(options)?;
        if is_new && !folders.is_empty() && !workspace.commands().shows_overlays()? {
            for (folder, why) in files.copy_folders(&tree, &folders) {
                let title = &needs.title;
                run.warn(format!("{folder} is not in the working tree of {title}: {why}"));
            }
        }
        let place = way_out::workplace(workspace.commands(), &needs, tree)?;
        Ok(Self {
            run,
            title: needs.title,
            place,
            linked: repository,
            workspace,
            shown: RefCell::default(),
            left: RefCell::new(documents),
        })
    }

    /// Shows the program the draft as it is now, on the session's tip.
    pub(super) async fn show(&self, part: &Part<'_>) -> anyhow::Result<()> {
        let run = self.run;
        if let Some(shown) = self.shown.take() {
            workspace::linked(&self.workspace).remove_new(&shown);
        }
        let tree = run.tree()?;
        worktree::show_at(&self.linked, &run.session.tip, &tree)?;
        let paths = git::paths::tracked(&self.linked)?;
        self.hide_configuration(&paths)?;
        let files = workspace::linked(&self.workspace).shown(paths);
        bring_in::note(run, part, &tree, &files);
        self.shown.replace(Some(files));
        tokio::time::sleep(TICK).await;
        // The documents of a killed turn differ from what is shown, and so are copied even if the
        // program does not change them.
        for (artifact, text) in self.left.take() {
            let path = run.path_of(artifact);
            workspace::linked(&self.workspace).put(&path, &text)?;
        }
        Ok(())
    }

    /// Removes the repository's files that configure agent programs from the linked working tree,
    /// unless the user has trusted exactly these files.
    fn hide_configuration(&self, paths: &[String]) -> anyhow::Result<()> {
        let (folder, run) = (&self.place.folder, self.run);
        // Files that cannot be read cannot have been trusted.
        let files = AgentFiles::among(paths, folder);
        if files.as_ref().is_ok_and(AgentFiles::is_empty) {
            return Ok(());
        }
        let records = TrustRecords::for_agents(&run.env.git.state_dir());
        if let Ok(files) = &files
            && records.about(&files.text())? == Trust::Given
        {
            return Ok(());
        }
        for name in AGENT_CONFIGURATION {
            let path = folder.join(name);
            let removal = match path.symlink_metadata() {
                Ok(found) if found.is_dir() => std::fs::remove_dir_all(&path),
                Ok(_) => std::fs::remove_file(&path),
                Err(_) => continue,
            };
            removal.with_context(|| format!("removing {}", path.display()))?;
        }
        let names = files.map_or_else(|error| format!("{error:#}"), |files| named(&files));
        run.warn_once(format!(
            "{} does not see the agent configuration of this repository ({names}); \
             read it, then accept it: git cowork trust",
            self.title
        ));
        Ok(())
    }

    /// Copies the program's changes since it was shown the draft; a second call does nothing.
    pub(super) fn bring_in(&self, part: &Part<'_>) -> anyhow::Result<Brought> {
        let Some(shown) = self.shown.take() else { return Ok(Brought::default()) };
        self.run.env.workspace.require_branch()?;
        workspace::open_folders(&self.place.folder);
        let changes = workspace::linked(&self.workspace).changes(&shown);
        let brought = bring_in::bring_in(self.run, part, changes);
        workspace::linked(&self.workspace).remove_new(&shown);
        bring_in::forget(self.run.env.state);
        for (path, why) in &brought.refused {
            self.run.warn_once(format!("{}: {path} was not copied: {why}", self.title));
        }
        self.run.env.workspace.io_errors().require_room()?;
        Ok(brought)
    }
}

/// Copies the files that a killed run left; returns the documents it left.
fn left_by_killed(run: &Run<'_>, part: &Part<'_>, needs: &AgentNeeds) -> Vec<(Artifact, String)> {
    let (tree, notes) = places(run.env.state);
    workspace::open_folders(&tree);
    let (commands, data) = (run.env.workspace.commands(), run.env.git.common_dir());
    let recovery = commands
        .beside_lending(&tree, &notes, data, lent(needs))
        .and_then(Workspace::open)
        .and_then(|left| bring_in::take_over(run, part, &needs.title, &left));
    match recovery {
        Ok(brought) => brought.documents,
        Err(error) => {
            let title = &needs.title;
            run.warn(format!(
                "the changes {title} had made when the run was killed are lost: {error:#}"
            ));
            Vec::new()
        }
    }
}

fn make(run: &Run<'_>, tree: &Path, notes: &Path) -> anyhow::Result<Git> {
    let (git, state) = (run.env.git, run.env.state);
    discard(git, state)?;
    std::fs::create_dir_all(notes).with_context(|| format!("creating {}", notes.display()))?;
    let repository = worktree::add_empty(git, tree, &run.session.tip)?;
    run.has_agent_worktree.set(true);
    let draft = run.tree()?;
    worktree::show_at(&repository, &run.session.tip, &draft)?;
    point("agent.worktree-made");
    Ok(repository)
}

/// What the program may access besides its working tree.
fn lent(needs: &AgentNeeds) -> Lent {
    Lent {
        own: way_out::own_files(needs),
        network: needs.reach == Reach::All,
        hosts: way_out::reachable(&needs.reach),
        readable: needs.program.iter().cloned().collect(),
        overlays: Vec::new(),
    }
}

/// The paths of the first [`NAMED`] files, with `…` at the end if there are more.
fn named(files: &AgentFiles) -> String {
    let mut names: Vec<String> =
        files.paths().take(NAMED).map(|path| clean::one_line(path, NAME_MAX)).collect();
    if files.paths().nth(NAMED).is_some() {
        names.push("…".to_owned());
    }
    names.join(", ")
}

/// Removes the working tree, even if a killed run left it.
pub(crate) fn discard(git: &Git, state: &StateDir) -> anyhow::Result<()> {
    let folder = state.path().join(FOLDER);
    if !folder.exists() {
        return Ok(());
    }
    let (tree, _) = places(state);
    bring_in::forget(state);
    workspace::open_folders(&folder);
    worktree::discard(git, &tree)?;
    std::fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))
}

/// Like [`discard`], but keeps a working tree with a turn of a killed run, which may still be
/// recovered.
pub(crate) fn discard_empty(git: &Git, state: &StateDir) -> anyhow::Result<()> {
    let (tree, _) = places(state);
    if bring_in::is_there(state, &tree) { Ok(()) } else { discard(git, state) }
}

fn places(state: &StateDir) -> (PathBuf, PathBuf) {
    let folder = state.path().join(FOLDER);
    (folder.join("tree"), folder.join("notes"))
}
