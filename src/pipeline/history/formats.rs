//! Upgrades a session of an older version to the present format before its next stage.

use crate::artifact::{Artifact, SCHEMA_VERSION, render_json};
use crate::error::Error;
use crate::pipeline::run::Run;
use crate::record::{self, Recorded};
use crate::session::{KeptDraft, kept_draft};
use crate::stage::Stage;

/// Commits `session.json` in the present format if it has an older one. Waits while a draft is in
/// progress: drafts and reviews refer to the tip they are based on.
///
/// # Errors
/// HEAD is elsewhere, a hook refuses, git fails.
pub(crate) fn raise_format(run: &mut Run<'_>, stage: Stage) -> anyhow::Result<()> {
    let Some(from) = run.session.older.clone() else { return Ok(()) };
    let tip = run.session.tip.clone();
    let recorder = run.recorder();
    let draft = kept_draft(run.env.git, &run.session, stage)?;
    if run.session.waiting().is_some()
        || matches!(draft, Some(KeptDraft::Live(_)))
        || record::draft_refs::has_files(&recorder, &tip)?
    {
        return Ok(());
    }
    let path = run.path_of(Artifact::Session);
    let text = render_json(&run.session.file)?;
    let recorded = record::format::raise(&recorder, &tip, &path, &text, (&from, SCHEMA_VERSION))?;
    match recorded {
        Some(Recorded::Done(commit)) => {
            run.note(format!(
                "{path} is now in format {SCHEMA_VERSION} (was {from}): {}",
                commit.short()
            ));
            run.advance(&commit)
        }
        Some(Recorded::Refused(why)) => Err(Error::repository(format!(
            "cannot convert {path} to format {SCHEMA_VERSION}: {why}"
        ))
        .hint("fix the reported problem, then run the command again; nothing was changed")
        .into()),
        None => {
            run.warn(format!("{path} stays in format {from}: you have uncommitted changes there"));
            Ok(())
        }
    }
}
