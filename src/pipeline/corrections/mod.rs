//! Goes back from the check stage to coding if earlier checks no longer pass: coding corrects the
//! existing code, a limited number of times.

pub(crate) mod earlier_stages;

use crate::artifact::{Feedback, Origin};
use crate::error::Error;
use crate::gate::LimitDecision;
use crate::pipeline::criteria;
use crate::pipeline::evidence::{Evidence, base, gather};
use crate::pipeline::limits;
use crate::pipeline::outcome::{self, StageEnd, WayBack};
use crate::pipeline::run::{Run, now};
use crate::session::Kind;
use crate::stage::Stage;
use crate::stages::StageSpec;
use crate::stages::{code_stage, row};

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
    let (limits, wrong): (Vec<_>, Vec<_>) = earlier_stages::no_longer_holds(run, &earlier, None)?
        .into_iter()
        .partition(|(_, f)| f.is_limit());
    earlier_stages::tell_findings(run, &limits);
    if let Some(end) = earlier_stages::findings_of_earlier(run, spec, &wrong)? {
        return Ok(Some(end));
    }
    base::look_at_base_again(run).await?;
    // The same code passed in this run: what a suite of ten minutes said once, it does not say again.
    let known = found.take().filter(Evidence::ran);
    let known = known.map(|known| Evidence { tests: Vec::new(), test_runs: Vec::new(), ..known });
    *found = gather::gather_evidence(run, known, &[]).await?;
    criteria::look_at_named_tests(run, found).await?;
    let findings = earlier_stages::no_longer_holds(run, &[code_stage()], found.as_ref())?;
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
