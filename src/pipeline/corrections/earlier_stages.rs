//! Checks the documents of finished stages again: an exceeded limit is only reported;
//! other findings of the check stage go back to the stage they belong to.

use std::collections::BTreeSet;

use crate::artifact::check::{Finding, Report};
use crate::artifact::{Files, Origin, Store};
use crate::error::Error;
use crate::gate::{LimitDecision, Mode};
use crate::pipeline::edits::records;
use crate::pipeline::evidence::Evidence;
use crate::pipeline::files::project_files;
use crate::pipeline::limits;
use crate::pipeline::outcome::{self, Asked, StageEnd, WayBack};
use crate::pipeline::run::Run;
use crate::record;
use crate::stage::Stage;
use crate::stages::StageSpec;
use crate::stages::{CheckInput, lasting_checks, row};
use crate::tool::GoBack;

/// The findings in these stages, which passed their checks when they were completed.
pub(crate) fn no_longer_holds(
    run: &Run<'_>,
    stages: &[Stage],
    evidence: Option<&Evidence>,
) -> anyhow::Result<Vec<(Stage, Finding)>> {
    let baseline = project_files::baseline_of_change(run)?;
    let project = project_files::project_files(run)?;
    let checks = |files: &dyn Files| {
        lasting_checks(
            stages,
            &CheckInput {
                store: Store::new(files),
                sizes: run.limits().sizes(),
                baseline: baseline.as_ref(),
                files: &project,
                evidence: evidence.map(Evidence::report),
                drafting: false,
            },
        )
    };
    // A person may have committed an edit of a document alone: its JSON follows. Where a document
    // cannot be read, its own stage says so.
    let reports =
        records::as_settled(run, |files| Ok(checks(files))).unwrap_or_else(|_| checks(run.files()));
    let findings = |(stage, report): (Stage, Report)| {
        report.findings.into_iter().map(move |finding| (stage, finding))
    };
    Ok(reports.into_iter().flat_map(findings).collect())
}

/// Warns about checks of finished stages that no longer pass, before another stage runs. The check
/// stage itself reports how they are handled.
pub(crate) fn tell_what_no_longer_holds(run: &Run<'_>, stage: Stage) -> anyhow::Result<()> {
    let mut done = run.session.done();
    done.retain(|done| *done < stage && row(*done).is_before_code());
    if done.is_empty() || row(stage).rechecks {
        return Ok(());
    }
    tell_findings(run, &no_longer_holds(run, &done, None)?);
    Ok(())
}

pub(crate) fn tell_findings(run: &Run<'_>, findings: &[(Stage, Finding)]) {
    for (stage, finding) in findings {
        run.warn_once(format!(
            "{stage} no longer passes its checks: {}; it is not redone automatically (to redo it: git cowork revert {} --to {stage})",
            finding.details, run.session.name
        ));
    }
}

/// Goes back to the first stage that findings of the check stage belong to, by the same rules as
/// any request to go back: on a terminal a person decides, `wait` leaves it to them, `auto` goes
/// back up to `max_replans` times.
pub(crate) fn findings_of_earlier(
    run: &mut Run<'_>,
    spec: &StageSpec,
    findings: &[(Stage, Finding)],
) -> anyhow::Result<Option<StageEnd>> {
    let Some(stage) = findings.iter().map(|(stage, _)| *stage).min() else { return Ok(None) };
    let stages: BTreeSet<&str> = findings.iter().map(|(stage, _)| stage.name()).collect();
    let stages: Vec<&str> = stages.into_iter().collect();
    let details: Vec<String> =
        findings.iter().map(|(_, finding)| finding.details.clone()).collect();
    let reason = format!("what check found: {}", details.join("; "));
    let asked = Asked {
        by: Origin::Validator,
        stage: spec.stage,
        iteration: run.earlier_drafts(spec.stage),
        wish: GoBack { stage, reason },
    };
    let limit = run.env.config.limits.max_replans;
    let auto = run.env.mode == Mode::Auto;
    if auto && record::attempt::replans(&run.recorder())? < limit {
        return Ok(Some(StageEnd::GoBack(WayBack::followed(asked))));
    }
    let words = match auto {
        true => format!(
            "the check found a problem in {}, and max_replans = {limit} does not \
             allow going back any more",
            stages.join(" and ")
        ),
        false => format!("the check found a problem in {}", stages.join(" and ")),
    };
    let title = format!("{stage} has to be done again");
    limits::alert(run, spec.stage, &title, &words);
    match limits::ask_what_now(run, spec, &title, &details, false)? {
        None => {
            let name = &run.session.name;
            let message = format!("{words}:\n{}", details.join("\n"));
            let error = if auto { Error::failed(message) } else { Error::waiting(message) };
            Err(error
                .hint(format!("go back: git cowork revert {name} --to {stage}"))
                .hint(format!(
                    "or correct it yourself and commit it, then: git cowork resume {name}"
                ))
                .into())
        }
        // A person may have fixed it in the meantime.
        Some(LimitDecision::Retry) => Ok(Some(StageEnd::Rework)),
        Some(LimitDecision::Guide(text)) => {
            run.env.typed.recorded(&text);
            let mut asked = asked;
            asked.wish.reason.push_str(&format!("; a person adds: {text}"));
            Ok(Some(StageEnd::GoBack(WayBack::decided(spec.stage, stage, &text, Some(asked)))))
        }
        Some(LimitDecision::GoBack(to)) => {
            let words = asked.wish.reason.clone();
            let asked = Some(asked).filter(|_| to == stage);
            Ok(Some(StageEnd::GoBack(WayBack::decided(spec.stage, to, &words, asked))))
        }
        Some(LimitDecision::Abort) => Err(outcome::aborted(spec).into()),
        Some(LimitDecision::Stop | LimitDecision::Review) => {
            Err(outcome::undecided(spec.stage).into())
        }
    }
}
