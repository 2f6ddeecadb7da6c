//! Finds errors in documents that a person saved: text that cannot be parsed, and findings of the
//! checks.

use crate::artifact::Files;
use crate::artifact::check::Finding;
use crate::gate::Broken;
use crate::git::Oid;
use crate::pipeline::checks;
use crate::pipeline::draft_state::DraftState;
use crate::pipeline::edits::records;
use crate::pipeline::run::Run;
use crate::stages::{Approves, StageSpec};

/// Returns the errors in the documents on disk, ignoring comments on the draft that was `shown`.
/// `with_checks` also checks the records that follow from them.
pub(crate) fn broken(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
    shown: Option<&Oid>,
    with_checks: bool,
) -> anyhow::Result<Broken> {
    let lines = records::unreadable(run, shown)?;
    if !lines.is_empty() {
        return Ok(Broken { lines, is_readable: false });
    }
    let runs_checks = with_checks && spec.approves == Approves::Artifacts;
    let lines = match runs_checks {
        true => records::as_settled(run, |files| refused(run, spec, draft, files))?,
        false => Vec::new(),
    };
    Ok(Broken { lines, is_readable: true })
}

/// The findings of the checks, each with its file and line if known.
fn refused(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
    files: &dyn Files,
) -> anyhow::Result<Vec<String>> {
    let report = checks::report_on(run, spec, draft, files)?;
    report.findings.iter().map(|finding| placed(spec, files, finding)).collect()
}

/// `prd.md:12: REQ-002 has no acceptance criterion`
fn placed(spec: &StageSpec, files: &dyn Files, finding: &Finding) -> anyhow::Result<String> {
    let Some(id) = &finding.about else { return Ok(finding.details.clone()) };
    for document in spec.artifacts.iter().filter(|artifact| !artifact.is_json()) {
        let text = files.read(*document)?.unwrap_or_default();
        let heads = |line: &str| {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '.');
            line.starts_with('#') && words.any(|word| word == id)
        };
        if let Some(at) = text.lines().position(heads) {
            return Ok(format!("{}:{}: {}", document.file_name(), at + 1, finding.details));
        }
    }
    Ok(finding.details.clone())
}
