//! Prepares agent programs that write nothing: confined like commands, with an empty working
//! directory and read-only access to the tree.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::cli::context::Context;
use crate::cli::session_cmd::workspace;
use crate::config::{AGENT_CONFIGURATION, AgentFiles, Trust, TrustRecords};
use crate::git::paths;
use crate::model::{AgentNeeds, Confines, ModelError, Reach, Workplace};
use crate::pipeline::{own_files, reachable, workplace};
use crate::workspace::{CommandSettings, Refusal, RefusalKind, WorkspaceOptions};

/// Confines the agent programs of a run.
struct AgentPlaces {
    options: WorkspaceOptions,
    /// True if agent programs may see their configuration files in the tree, because the user
    /// trusts these files.
    shows_configuration: bool,
    /// Kept alive because dropping them removes their folders and settings.
    kept: RefCell<Vec<CommandSettings>>,
}

/// Returns the confinement for the agent programs of a run.
pub(crate) fn new(context: &Context) -> anyhow::Result<Rc<dyn Confines>> {
    let git = context.git()?;
    let options = workspace::options(context, git)?;
    let files = AgentFiles::among(&paths::tracked(git)?, git.top()).unwrap_or_default();
    let records = TrustRecords::for_agents(&git.state_dir());
    let shows_configuration = !files.is_empty() && records.about(&files.text())? == Trust::Given;
    Ok(Rc::new(AgentPlaces { options, shows_configuration, kept: RefCell::default() }))
}

impl Confines for AgentPlaces {
    fn place(&self, needs: &AgentNeeds, folder: &Path) -> Result<Workplace, ModelError> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let mut options = self.options.clone();
        let tree = std::mem::replace(&mut options.root, folder.clone());
        let confinement = &mut options.confinement;
        confinement.fetching = None;
        confinement.own = own_files(needs);
        confinement.readable.extend(needs.program.iter().cloned());
        match options.private.is_set() {
            true => confinement.hidden.push(tree),
            false => {
                let is_own = |path: &PathBuf| {
                    self.shows_configuration
                        || needs.stores.iter().any(|own| own.at.starts_with(path))
                };
                let all = AGENT_CONFIGURATION.iter().map(|name| tree.join(name));
                confinement.hidden.extend(all.filter(|path| !is_own(path)));
                confinement.readable.push(tree);
            }
        }
        confinement.network |= needs.reach == Reach::All;
        confinement.hosts = reachable(&needs.reach).hosts;
        let settings = CommandSettings::of(&options);
        let place = workplace(&settings, needs, folder);
        self.kept.borrow_mut().push(settings);
        place.map_err(|error| not_run(&needs.title, &error))
    }
}

/// The error for a program that is not run, with a hint.
fn not_run(title: &str, error: &anyhow::Error) -> ModelError {
    let declined =
        error.downcast_ref::<Refusal>().is_some_and(|one| one.kind == RefusalKind::Protected);
    let (message, hint) = match (declined, error.is::<Refusal>()) {
        (true, _) => (format!("{title} is not run: you did not allow it"), "name another model"),
        (_, true) => (
            format!(
                "{title} is not run: nothing confines it on this machine, and there is no terminal to \
                 ask you on"
            ),
            "find out what is missing: git cowork doctor",
        ),
        _ => (
            format!("{title} cannot be started: {error:#}"),
            "fix the reported problem, then run the command again",
        ),
    };
    ModelError::Agent { message, hint: hint.to_owned() }
}
