//! Resumes a session from its history, draft refs and working tree, and rewinds it.

pub(crate) mod discarded;
pub(crate) mod from_files;
pub(crate) mod raise;
pub(crate) mod resume_stage;
pub(crate) mod rewind;
pub(crate) mod waiting_draft;

use crate::pipeline::draft_count;
use crate::pipeline::run::Run;
use crate::session::{KeptDraft, kept_draft};
use crate::stage::Stage;
use crate::stages::{self, code_stage, row};

/// True if corrections were started and not committed: there is feedback on the newest coding
/// commit, or a draft of corrections.
pub(crate) fn corrections_are_open(run: &Run<'_>) -> anyhow::Result<bool> {
    let drafts = run.earlier_drafts(code_stage());
    let draft = kept_draft(run.env.git, &run.session, code_stage())?;
    let begun = matches!(draft, Some(KeptDraft::Live(entry)) if entry.iterations() > drafts);
    Ok(begun || draft_count::asked_for_more(run, code_stage(), drafts)?)
}

/// The next stage, or coding while its corrections are open.
pub(crate) fn present_stage(run: &Run<'_>) -> anyhow::Result<Stage> {
    let next = run.session.next_stage().unwrap_or(stages::last());
    let is_correction = row(next).rechecks && corrections_are_open(run)?;
    Ok(if is_correction { code_stage() } else { next })
}
