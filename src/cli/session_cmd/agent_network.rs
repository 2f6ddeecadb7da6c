//! Decides which servers the agent programs of a run may reach. If the sandbox cannot limit them to
//! some servers, asks the user.

use crate::cli::context::Context;
use crate::cli::session_cmd::confinement;
use crate::config::{AGENT, ModelConfig, SandboxConfig};
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::{Tty, confirm};
use crate::git::Git;
use crate::model::Reach;
use crate::shell_quote;
use crate::workspace::{Found, Level};

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
    let kept =
        "from now on, agent programs in this repository can connect to any server".to_owned();
    // The command is on a line of its own, so that it can be pasted.
    for text in [kept, format!("take it back: {back}")] {
        context.ui.emit(Event::Note { text });
    }
    Ok(())
}

/// The reason why an agent program cannot be limited to its own servers here, and a remedy (empty
/// if none is known); `None` if it can be limited, or if the user's own program confines it.
///
/// # Errors
/// The sandbox cannot be tested.
pub(crate) fn unlimited(context: &Context, git: &Git) -> anyhow::Result<Option<(String, String)>> {
    let found = confinement::found(context, git)?;
    let Some(Found { level: Level::Landlock | Level::Seatbelt, weaker, .. }) = found else {
        return Ok(None);
    };
    Ok(Some(weaker.map(|weaker| (weaker.cause, weaker.remedy)).unwrap_or_default()))
}
