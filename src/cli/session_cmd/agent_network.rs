//! Agent programs of a run: which servers they may reach, and where those work that write nothing:
//! confined like commands, with an empty working directory and read-only access to the tree. If the
//! sandbox cannot limit them to some servers, asks the user.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::cli::context::Context;
use crate::cli::session_cmd::{confinement, workspace};
use crate::config::{
    AGENT, AGENT_CONFIGURATION, AgentFiles, ModelConfig, SandboxConfig, Trust, TrustRecords,
};
use crate::error::Error;
use crate::gate::{Tty, confirm};
use crate::git::{Git, paths};
use crate::model::{AgentNeeds, Confines, ModelError, Reach, Workplace};
use crate::pipeline::{own_files, reachable, workplace};
use crate::shell_quote;
use crate::workspace::{CommandSettings, Found, Level, Refusal, RefusalKind, WorkspaceOptions};

/// The setting that lets agent programs reach every server.
const KEY: &str = "cowork.sandbox.hosts";
/// The command line that also gives the project's commands network access.
const OPEN: &str = "git config cowork.sandbox.network true";

/// Hints with the commands that let agent programs reach every server.
pub(crate) fn ways_to_open(set: &SandboxConfig) -> [String; 2] {
    let all = shell_quote::quoted(&set.hosts_with_every());
    [
        format!("let agent programs reach every server: git config {KEY} {all}"),
        format!("let commands reach every server as well: {OPEN}"),
    ]
}

/// The servers that the agent programs among these models may reach, in addition to the servers
/// they are known to need.
///
/// # Errors
/// Exit 4: the sandbox here cannot limit programs to some servers, and nobody allows all servers.
pub(crate) fn reach(context: &Context, asked: &[(String, ModelConfig)]) -> anyhow::Result<Reach> {
    let set = &context.config()?.sandbox;
    let mut agents = asked.iter().filter(|(_, model)| model.provider == AGENT);
    let Some((name, _)) = agents.next() else { return Ok(Reach::default()) };
    if set.opens_to_agents() {
        return Ok(Reach::All);
    }
    let hosts = set.hosts.iter().filter_map(|host| host.parse().ok()).collect();
    let some = Reach::Some { hosts, listed: set.hosts.clone() };
    let Some((cause, remedy)) = unlimited(context, context.git()?)? else { return Ok(some) };
    let why = format!(
        "'{name}' is an agent program, and cannot be limited to its own servers here: {cause}"
    );
    if context.attended() {
        context.ui.clear();
        let question = format!(
            "{why}.\nLet agent programs reach every server, in this repository from now on?"
        );
        if confirm(&Tty::new(context.color), &question)? {
            open(context, set)?;
            return Ok(Reach::All);
        }
        return Err(Error::model(format!("'{name}' is not run: you did not allow it")).into());
    }
    let mut error = Error::model(why);
    if !remedy.is_empty() {
        error = error.hint(remedy);
    }
    error = ways_to_open(set).into_iter().fold(error, Error::hint);
    Err(error.hint("or answer on a terminal: run this command there").into())
}

/// Stores the permission in git's configuration, and prints how to revoke it.
fn open(context: &Context, set: &SandboxConfig) -> anyhow::Result<()> {
    context.git()?.write(["config", KEY, &set.hosts_with_every()]).checked()?;
    let back = match set.hosts.is_empty() {
        true => format!("git config --unset {KEY}"),
        false => format!("git config {KEY} {}", shell_quote::quoted(&set.hosts.join(", "))),
    };
    let change =
        "from now on, agent programs in this repository can connect to any server".to_owned();
    // The command is on a line of its own, so that it can be pasted.
    for text in [change, format!("take it back: {back}")] {
        context.note(text);
    }
    Ok(())
}

/// The reason why an agent program cannot be limited to its own servers here, and a remedy (empty
/// if none is known); `None` if it can be limited, or if the user's own program confines it.
///
/// # Errors
/// The sandbox cannot be tested.
pub(crate) fn unlimited(context: &Context, git: &Git) -> anyhow::Result<Option<(String, String)>> {
    let sandbox = confinement::found(context, git)?;
    let Some(Found { level: Level::Landlock | Level::Seatbelt, weaker, .. }) = sandbox else {
        return Ok(None);
    };
    Ok(Some(weaker.map(|weaker| (weaker.cause, weaker.remedy)).unwrap_or_default()))
}

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
pub(crate) fn confines(context: &Context) -> anyhow::Result<Rc<dyn Confines>> {
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
    let is_declined =
        error.downcast_ref::<Refusal>().is_some_and(|one| one.kind == RefusalKind::Protected);
    let (message, hint) = match (is_declined, error.is::<Refusal>()) {
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
