//! When a run stops: saves the draft in progress and resets the session's paths to the tip.

use crate::error::{self, ErrorSubject};
use crate::pipeline::run::{CurrentDraft, Run};
use crate::pipeline::usage;
use crate::record;
use crate::session::RefNames;

/// Saves the draft in progress in its ref and resets the session's paths to the tip. `reason` is
/// the error that ended the run, which is reported anyway.
pub(crate) fn stop_cleanly(run: &Run<'_>, reason: Option<&anyhow::Error>) -> anyhow::Result<()> {
    let Some(CurrentDraft { iteration, ending, mut notes }) = run.current_draft.take() else {
        return Ok(());
    };
    notes.credit.at_least(usage::credit_so_far(run, run.stage.get()));
    let recorder = run.recorder();
    let tip = &run.session.tip;
    // Without its records a draft would delete them.
    let here = recorder.expect_tip(tip).and_then(|()| run.env.workspace.require_branch());
    if let Err(error) = here {
        // HEAD or the branch moved, or the records are gone. If that ended the run, `reason` says
        // so already.
        run.warn(match reason.map(error::about) {
            Some(ErrorSubject::Moved) => "files left unchanged".to_owned(),
            Some(ErrorSubject::Other | ErrorSubject::NoSession) | None => {
                format!("files left unchanged: {error}")
            }
        });
        run.kept.replace(Some("the files were left unchanged".to_owned()));
        return Ok(());
    }
    let stage = run.stage.get();
    let name = RefNames::draft(&run.session.name, stage);
    // Why the stage is blocked must be known even if no file was written.
    if notes.stuck.is_some() || recorder.differs_from(tip)? {
        record::draft_refs::keep(&recorder, tip, stage, iteration, ending, &notes)?;
        run.kept.replace(Some(format!("draft {iteration} of {stage} is saved: git show {name}")));
    }
    record::draft_refs::reset_files(&recorder, tip)
}
