//! What finished stages have left, looked at again: a number out of its limits is said and nothing is
//! done again (row B10); what check finds wrong in it goes back to the stage it belongs to (row B9).

use std::collections::BTreeSet;

use crate::artifact::check::{Finding, Report};
use crate::artifact::{Origin, Store};
use crate::error::Error;
use crate::gate::{LimitDecision, Mode};
use crate::pipeline::Pipeline;
use crate::pipeline::checks::{CheckInput, by_stage};
use crate::pipeline::evidence::Evidence;
use crate::pipeline::history::rewind::{Asked, WayBack};
use crate::pipeline::stage_loop::StageEnd;
use crate::pipeline::table::StageSpec;
use crate::stage::Stage;
use crate::tool::GoBack;

impl Pipeline<'_> {
    /// What no longer holds of these stages.
    pub(crate) fn no_longer_holds(
        &self,
        stages: &[Stage],
        evidence: Option<&Evidence>,
    ) -> anyhow::Result<Vec<(Stage, Finding)>> {
        let files = self.files();
        let baseline = self.baseline_of_change()?;
        let project = self.project_files()?;
        let reports = by_stage(
            stages,
            &CheckInput {
                store: Store::new(&files),
                limits: &self.env.config.limits,
                baseline: baseline.as_ref(),
                files: &project,
                evidence,
                drafting: false,
            },
        );
        let findings = |(stage, report): (Stage, Report)| {
            report.findings.into_iter().map(move |finding| (stage, finding))
        };
        Ok(reports.into_iter().flat_map(findings).collect())
    }

    /// Says which checks of finished stages no longer hold, before another one runs. Check itself
    /// says what becomes of it.
    pub(crate) fn tell_what_no_longer_holds(&self, stage: Stage) -> anyhow::Result<()> {
        let mut done = self.session.done();
        done.retain(|done| *done < stage.min(Stage::Coding));
        if done.is_empty() || stage == Stage::Check {
            return Ok(());
        }
        self.tell_findings(&self.no_longer_holds(&done, None)?);
        Ok(())
    }

    pub(crate) fn tell_findings(&self, findings: &[(Stage, Finding)]) {
        for (stage, finding) in findings {
            self.warn_once(format!(
                "{stage} no longer passes its checks: {}; it stays as it is (to do it again: git cowork revert {} --to {stage})",
                finding.details, self.session.name
            ));
        }
    }

    /// Back to the first of the stages that check's findings belong to, by the rules for whatever
    /// wishes to go back: a person decides where one can be asked, `wait` leaves it to them, `auto`
    /// goes, a bounded number of times.
    pub(crate) fn findings_of_earlier(
        &mut self,
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
            iteration: self.earlier_drafts(spec.stage),
            wish: GoBack { stage, reason },
        };
        let limit = self.env.config.limits.max_replans;
        let auto = self.env.mode == Mode::Auto;
        if auto && self.recorder().replans()? < limit {
            return Ok(Some(StageEnd::GoBack(WayBack::followed(asked))));
        }
        let words = match auto {
            true => format!(
                "check finds {} wrong, and going back {limit} times is the limit",
                stages.join(" and ")
            ),
            false => format!("check finds {} wrong", stages.join(" and ")),
        };
        let title = format!("{stage} has to be done again");
        self.alert(spec.stage, &title, &words);
        match self.ask_what_now(spec, &title, &details, false)? {
            None => {
                let name = &self.session.name;
                let message = format!("{words}:\n{}", details.join("\n"));
                let error = if auto { Error::failed(message) } else { Error::waiting(message) };
                Err(error
                    .hint(format!("go back: git cowork revert {name} --to {stage}"))
                    .hint(format!(
                        "or correct it yourself and commit it, then: git cowork resume {name}"
                    ))
                    .into())
            }
            // A person may have corrected it meanwhile.
            Some(LimitDecision::Retry) => Ok(Some(StageEnd::Rework)),
            Some(LimitDecision::Guide(text)) => {
                let mut asked = asked;
                asked.wish.reason.push_str(&format!("; a person says to it: {text}"));
                Ok(Some(StageEnd::GoBack(WayBack::decided(spec.stage, stage, &text, Some(asked)))))
            }
            Some(LimitDecision::GoBack(to)) => {
                let words = asked.wish.reason.clone();
                let asked = Some(asked).filter(|_| to == stage);
                Ok(Some(StageEnd::GoBack(WayBack::decided(spec.stage, to, &words, asked))))
            }
            Some(LimitDecision::Abort) => Err(self.aborted(spec).into()),
            Some(LimitDecision::Stop | LimitDecision::Review) => {
                Err(self.undecided(spec.stage).into())
            }
        }
    }
}
