//! How much process a change request gets: its triage decides, where nobody else has.

use crate::artifact::Store;
use crate::pipeline::run::Run;
use crate::stage::Depth;
use crate::stages::{self, StageSpec};

/// The depth that the commit of a stage says.
///
/// # Errors
/// The change request cannot be read.
pub(crate) fn depth_from(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<Depth> {
    let session = &run.session;
    let decides = session.is_patch() && !session.says_depth() && !spec.is_in_new();
    if !decides {
        return Ok(session.depth());
    }
    if let Some(depth) = run.env.config.project.depth.fixed() {
        return Ok(depth);
    }
    let files = run.files();
    let scope = Store::new(&files).change_request()?.unwrap_or_default().scope;
    let quick = stages::depth(Depth::Quick);
    let more = quick.plans_for(scope) && !session.lacks_prd();
    let named = run.env.stop_after.is_some_and(|stage| !quick.has(stage));
    Ok(if more || named { Depth::Standard } else { Depth::Quick })
}
