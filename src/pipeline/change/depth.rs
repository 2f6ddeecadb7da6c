//! The depth of a change request: its triage decides, unless the user or the configuration did.

use crate::pipeline::run::Run;
use crate::session::{Entry, key};
use crate::stage::Depth;
use crate::stages;

/// The depth of the session. If its triage has no commit yet, the depth that the triage implies.
///
/// # Errors
/// The change request cannot be read.
pub(crate) fn depth(run: &Run<'_>) -> anyhow::Result<Depth> {
    let session = &run.session;
    let has_depth = |entry: &Entry| entry.trailers.get(key::DEPTH).is_some();
    let said = session.history.iter().any(has_depth) || session.last_stage().is_some();
    if said || !session.is_patch() {
        return Ok(session.depth());
    }
    if let Some(depth) = run.env.config.project.depth.fixed() {
        return Ok(depth);
    }
    let scope = run.store().change_request()?.unwrap_or_default().scope;
    let quick = stages::depth(Depth::Quick);
    let more = quick.plans_for(scope) && !session.lacks_prd();
    let named = run.env.stop_after.is_some_and(|stage| !quick.has(stage));
    Ok(if more || named { Depth::Standard } else { Depth::Quick })
}
