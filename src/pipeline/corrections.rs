//! Before the check stage asks a model, all earlier checks run again: an exceeded limit is only
//! reported, findings in the code go back to coding a limited number of times, and other findings
//! go back to the stage they belong to.

use std::collections::BTreeSet;

use crate::artifact::check::{Finding, Report};
use crate::artifact::{Feedback, Files, Origin, Store};
use crate::error::Error;
use crate::gate::{LimitDecision, Mode};
use crate::pipeline::edits::records;
use crate::pipeline::evidence::{Evidence, base, gather};
use crate::pipeline::files::project_files;
use crate::pipeline::outcome::{self, Asked, StageEnd, WayBack};
use crate::pipeline::run::{Run, now};
use crate::pipeline::{criteria, limits};
use crate::record;
use crate::session::Kind;
use crate::stage::Stage;
use crate::stages::{CheckInput, StageSpec, code_stage, lasting_checks, row};
use crate::tool::GoBack;

/// Before the check stage asks a model, tests whether all earlier checks still pass. If not,
/// findings in the code become feedback to coding, a limited number of times, after which a person
/// decides; findings in earlier stages go back to those stages. `found` are this run's results of
/// the stage before, and then those for the present code.
pub(crate) async fn code_is_wrong(
    run: &mut Run<'_>,
    spec: &StageSpec,
    found: &mut Option<Evidence>,
) -> anyhow::Result<Option<StageEnd>> {
    let order = run.session.order();
    let earlier: Vec<Stage> = order.into_iter().filter(|one| row(*one).is_before_code()).collect();
    let (limits, wrong): (Vec<_>, Vec<_>) =
        no_longer_holds(run, &earlier, None)?.into_iter().partition(|(_, f)| f.is_limit());
    tell_findings(run, &limits);
    if let Some(end) = findings_of_earlier(run, spec, &wrong)? {
        return Ok(Some(end));
    }
    base::look_at_base_again(run).await?;
    // The same code passed in this run: what a suite of ten minutes said once, it does not say again.
    let evidence = found.take().filter(Evidence::ran);
    let evidence =
        evidence.map(|evidence| Evidence { tests: Vec::new(), test_runs: Vec::new(), ..evidence });
    *found = gather::gather_evidence(run, evidence, &[]).await?;
    criteria::look_at_named_tests(run, found).await?;
    let findings = no_longer_holds(run, &[code_stage()], found.as_ref())?;
    if findings.is_empty() {
        return Ok(None);
    }
    let drafts = run.earlier_drafts(code_stage());
    if corrections_made(run)? >= run.env.config.limits.max_replans {
        let details = findings.into_iter().map(|(_, finding)| finding.details).collect();
        return corrections_are_stuck(run, spec, drafts, details);
    }
    let at = now();
    let entries = findings
        .iter()
        .map(|(_, finding)| finding.to_feedback(&at, code_stage(), drafts))
        .collect();
    run.give_feedback(entries)?;
    Ok(Some(StageEnd::Rework))
}

/// Number of corrections that the check stage caused since a person's last feedback on coding.
fn corrections_made(run: &Run<'_>) -> anyhow::Result<u32> {
    let feedback = run.feedback_so_far()?;
    let human = |entry: &&Feedback| {
        entry.stage == code_stage() && entry.is_persons_word() && !entry.is_of_dropped_draft()
    };
    let spoken = feedback.iter().filter(human).map(|entry| entry.iteration).max();
    let coding = run.session.history.iter().filter(|entry| entry.kind == Kind::Stage(code_stage()));
    let mut drafts = 0_u32;
    let commits = coding.filter(|entry| {
        drafts = drafts.saturating_add(entry.iterations());
        spoken.is_none_or(|spoken| drafts > spoken)
    });
    let commits = u32::try_from(commits.count()).unwrap_or(u32::MAX);
    Ok(if spoken.is_some() { commits } else { commits.saturating_sub(1) })
}

fn corrections_are_stuck(
    run: &mut Run<'_>,
    spec: &StageSpec,
    drafts: u32,
    details: Vec<String>,
) -> anyhow::Result<Option<StageEnd>> {
    let times = run.env.config.limits.max_replans;
    let title = "going back again and again";
    let words =
        format!("checks still fail, and max_replans = {times} allows no further correction");
    limits::alert(run, spec.stage, title, &words);
    let words = match limits::ask_what_now(run, spec, title, &details, false)? {
        None => {
            return Err(Error::failed(format!("{words}:\n{}", details.join("\n")))
                .hint("nothing is lost; on a terminal, choose how to continue: git cowork resume")
                .hint("or fix it yourself, commit it, then: git cowork resume")
                .hint(format!(
                    "or start {0} again: git cowork revert {1} --to {0}",
                    code_stage(),
                    run.session.name
                ))
                .into());
        }
        Some(LimitDecision::Retry) => format!("fix these problems:\n{}", details.join("\n")),
        Some(LimitDecision::Guide(text)) => text,
        Some(LimitDecision::GoBack(stage)) => {
            let way = WayBack::decided(spec.stage, stage, &words, None);
            return Ok(Some(StageEnd::GoBack(way)));
        }
        Some(LimitDecision::Abort) => return Err(outcome::aborted(spec).into()),
        Some(LimitDecision::Stop | LimitDecision::Review) => {
            return Err(outcome::undecided(spec.stage).into());
        }
    };
    let entry = run.feedback(code_stage(), drafts, Origin::Human, &words);
    run.give_feedback(vec![entry])?;
    Ok(Some(StageEnd::Rework))
}

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
        records::as_settled(run, |files| Ok(checks(files))).unwrap_or_else(|_| checks(&run.files));
    let findings = |(stage, report): (Stage, Report)| {
        report.findings.into_iter().map(move |finding| (stage, finding))
    };
    Ok(reports.into_iter().flat_map(findings).collect())
}

/// Warns about checks of finished stages that no longer pass, before another stage runs. The check
/// stage itself reports how they are handled.
pub(crate) fn tell_what_no_longer_holds(run: &Run<'_>, stage: Stage) -> anyhow::Result<()> {
    let mut stages = run.session.done();
    stages.retain(|stages| *stages < stage && row(*stages).is_before_code());
    if stages.is_empty() || row(stage).rechecks {
        return Ok(());
    }
    tell_findings(run, &no_longer_holds(run, &stages, None)?);
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
    let request = Asked {
        by: Origin::Validator,
        stage: spec.stage,
        iteration: run.earlier_drafts(spec.stage),
        wish: GoBack { stage, reason },
    };
    let limit = run.env.config.limits.max_replans;
    let auto = run.env.mode == Mode::Auto;
    if auto && record::attempt::replans(&run.recorder())? < limit {
        return Ok(Some(StageEnd::GoBack(WayBack::followed(request))));
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
            let mut request = request;
            request.wish.reason.push_str(&format!("; a person adds: {text}"));
            Ok(Some(StageEnd::GoBack(WayBack::decided(spec.stage, stage, &text, Some(request)))))
        }
        Some(LimitDecision::GoBack(to)) => {
            let words = request.wish.reason.clone();
            let request = Some(request).filter(|_| to == stage);
            Ok(Some(StageEnd::GoBack(WayBack::decided(spec.stage, to, &words, request))))
        }
        Some(LimitDecision::Abort) => Err(outcome::aborted(spec).into()),
        Some(LimitDecision::Stop | LimitDecision::Review) => {
            Err(outcome::undecided(spec.stage).into())
        }
    }
}
