//! Makes the first request of a session before the session exists, and takes the session's name
//! from the response.

use crate::agent::{FirstAnswer, FirstRequest};
use crate::cli::context::Context;
use crate::cli::session_cmd::asking::unless_interrupted;
use crate::cli::session_cmd::lock::{self, LockedSession};
use crate::cli::terminal::runtime;
use crate::pipeline::Models;
use crate::pipeline::prompts::{Prompts, START, Variables};
use crate::session::{SessionName, makes_a_name};

/// What the first request is about.
pub(crate) struct Work<'a> {
    /// The idea or change, as the user gave it.
    pub idea: &'a str,
    /// The session's name, if the user gave one.
    pub named: Option<&'a SessionName>,
    /// The session to change.
    pub parent: Option<&'a SessionName>,
}

/// Asks the model that will be the first stage's actor.
///
/// # Errors
/// Exit 4: the request failed. Interrupted by the user.
pub(crate) fn ask(
    context: &Context,
    models: &Models,
    work: &Work<'_>,
) -> anyhow::Result<FirstAnswer> {
    let name = |name: Option<&SessionName>| name.map(ToString::to_string).unwrap_or_default();
    let patch = work.parent.is_some();
    let variables = Variables { patch, session: name(work.parent), ..Variables::default() };
    let request = FirstRequest {
        session: name(work.named),
        prompt: Prompts { folder: context.prompt_folder() }.render(START, &variables)?,
        idea: work.idea.to_owned(),
    };
    let config = context.config()?;
    let model = models.first(config, patch)?;
    let secrets = context.secrets()?;
    let _working = models.meter.work("");
    let asking = request.ask(model.as_ref(), &secrets);
    runtime::current_thread()?.block_on(unless_interrupted(context, Some(&models.meter), asking))?
}

/// The words for the session's name, if the model returned any.
pub(crate) fn words(answer: &FirstAnswer) -> Option<&str> {
    let both = [&answer.name, &answer.title].into_iter().flatten();
    both.map(String::as_str).find(|words| makes_a_name(words))
}

/// Locks the session `name`, if a session of another name was locked during the first request.
///
/// # Errors
/// Exit 5: another process has locked it.
pub(crate) fn hold_as(
    context: &Context,
    held: LockedSession,
    locked: &SessionName,
    name: &SessionName,
    command: &str,
) -> anyhow::Result<LockedSession> {
    context.ui.set_session(name);
    if name == locked {
        return Ok(held);
    }
    // The tree stays locked: nothing may switch its branch meanwhile.
    let mut session = held;
    let mut tree = session.tree.take();
    // Before the next one: its end would let the first signal end the process at once.
    drop(session);
    if let Some(tree) = &mut tree {
        tree.rename(name)?;
    }
    let mut session = lock::hold_session(context, name, command)?;
    session.tree = tree;
    Ok(session)
}
