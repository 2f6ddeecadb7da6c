//! Which servers the agent programs of a run may reach, and who is asked where they cannot be kept to
//! some.

use crate::cli::context::Context;
use crate::cli::session_cmd::confinement;
use crate::config::{AGENT, ModelConfig};
use crate::error::Error;
use crate::gate::{Tty, confirm};
use crate::git::Git;
use crate::model::Reach;
use crate::workspace::{Found, Level};

/// The setting that opens the network to all of them.
pub(crate) const OPEN: &str = "git config cowork.sandbox.network true";

/// What the agent programs among these models may reach besides the servers that they are known to need.
///
/// # Errors
/// Exit 4: what confines programs here cannot limit them to some servers, and nobody allows all.
pub(crate) fn reach(context: &Context, asked: &[(String, ModelConfig)]) -> anyhow::Result<Reach> {
    let set = &context.config()?.sandbox;
    let mut agents = asked.iter().filter(|(_, model)| model.provider == AGENT);
    let Some((name, _)) = agents.next() else { return Ok(Reach::default()) };
    if set.network {
        return Ok(Reach::All);
    }
    let hosts = set.hosts.iter().filter_map(|host| host.parse().ok()).collect();
    let some = Reach::Some { hosts, listed: set.hosts.clone() };
    let Some((cause, remedy)) = unlimited(context, context.git()?)? else { return Ok(some) };
    let why = format!(
        "'{name}' is an agent program, and cannot be limited to its own servers here: {cause}"
    );
    if context.attended {
        context.ui.clear();
        let question = format!("{why}.\nLet it reach every server, in this run?");
        if confirm(&Tty::new(context.color), &question)? {
            return Ok(Reach::All);
        }
        return Err(Error::model(format!("'{name}' is not asked: you did not allow it")).into());
    }
    let mut error = Error::model(why);
    if !remedy.is_empty() {
        error = error.hint(remedy);
    }
    Err(error
        .hint(format!("let commands and agent programs reach every server: {OPEN}"))
        .hint("or allow it for one run on a terminal: run this command there")
        .into())
}

/// Why an agent program cannot be limited to its own servers here, and what would help (empty where that
/// is not known); `None` where it can, or where the user's own program confines it.
///
/// # Errors
/// No command can be tried.
pub(crate) fn unlimited(context: &Context, git: &Git) -> anyhow::Result<Option<(String, String)>> {
    let found = confinement::found(context, git)?;
    let Some(Found { level: Level::Landlock | Level::Seatbelt, weaker, .. }) = found else {
        return Ok(None);
    };
    Ok(Some(weaker.map(|weaker| (weaker.cause, weaker.remedy)).unwrap_or_default()))
}
