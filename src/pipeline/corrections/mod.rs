//! From check back to coding, when what was checked before no longer holds: corrections on top of
//! what is there, a bounded number of times (row B9).

pub(crate) mod earlier_stages;

use crate::artifact::{Feedback, Origin};
use crate::error::Error;
use crate::gate::LimitDecision;
use crate::pipeline::Pipeline;
use crate::pipeline::evidence::Evidence;
use crate::pipeline::history::rewind::WayBack;
use crate::pipeline::stage_loop::StageEnd;
use crate::pipeline::table::StageSpec;
use crate::session::{KeptDraft, Kind, kept_draft};
use crate::stage::Stage;

impl Pipeline<'_> {
    /// True when corrections were begun and are not recorded: feedback on the code that was
    /// recorded last, or a draft of corrections.
    pub(crate) fn rework_is_open(&self) -> anyhow::Result<bool> {
        let drafts = self.earlier_drafts(Stage::Coding);
        let kept = kept_draft(self.env.git, &self.session, Stage::Coding)?;
        let begun = matches!(kept, Some(KeptDraft::Live(entry)) if entry.iterations() > drafts);
        Ok(begun || self.asked_for_more(Stage::Coding, drafts)?)
    }

    /// Before the check stage asks anybody: does everything that was checked still hold? If not, what
    /// is found in the code is feedback to coding, a bounded number of times, and then a person
    /// decides; what is found in earlier stages goes back there (row B9).
    pub(crate) async fn code_is_wrong(
        &mut self,
        spec: &StageSpec,
        found: &mut Option<Evidence>,
    ) -> anyhow::Result<Option<StageEnd>> {
        let order = self.session.order();
        let earlier: Vec<Stage> = order.into_iter().filter(|one| *one < Stage::Coding).collect();
        let (limits, wrong): (Vec<_>, Vec<_>) =
            self.no_longer_holds(&earlier, None)?.into_iter().partition(|(_, f)| f.is_limit());
        self.tell_findings(&limits);
        if let Some(end) = self.findings_of_earlier(spec, &wrong)? {
            return Ok(Some(end));
        }
        self.look_at_base_again().await?;
        *found = self.evidence(None, &[]).await?;
        let findings = self.no_longer_holds(&[Stage::Coding], found.as_ref())?;
        if findings.is_empty() {
            return Ok(None);
        }
        let drafts = self.earlier_drafts(Stage::Coding);
        if self.reworks()? >= self.env.config.limits.max_replans {
            let details = findings.into_iter().map(|(_, finding)| finding.details).collect();
            return self.rework_is_stuck(spec, drafts, details);
        }
        let at = crate::pipeline::now();
        let entries = findings
            .iter()
            .map(|(_, finding)| finding.to_feedback(&at, Stage::Coding, drafts))
            .collect();
        self.give_feedback(entries)?;
        Ok(Some(StageEnd::Rework))
    }

    /// How often coding was corrected because check found it wrong, since a person last spoke
    /// about it.
    fn reworks(&self) -> anyhow::Result<u32> {
        let feedback = self.feedback_so_far()?;
        let human = |entry: &&Feedback| {
            entry.stage == Stage::Coding
                && entry.from == Origin::Human
                && !entry.is_of_dropped_draft()
        };
        let spoken = feedback.iter().filter(human).map(|entry| entry.iteration).max();
        let coding =
            self.session.history.iter().filter(|entry| entry.kind == Kind::Stage(Stage::Coding));
        let mut drafts = 0_u32;
        let commits = coding.filter(|entry| {
            drafts = drafts.saturating_add(entry.iterations());
            spoken.is_none_or(|spoken| drafts > spoken)
        });
        let commits = u32::try_from(commits.count()).unwrap_or(u32::MAX);
        Ok(if spoken.is_some() { commits } else { commits.saturating_sub(1) })
    }

    fn rework_is_stuck(
        &mut self,
        spec: &StageSpec,
        drafts: u32,
        details: Vec<String>,
    ) -> anyhow::Result<Option<StageEnd>> {
        let times = self.env.config.limits.max_replans;
        let title = "going back again and again";
        let words = format!("checks still fail after {times} corrections of the code");
        self.alert(spec.stage, title, &words);
        let words = match self.ask_what_now(spec, title, &details, false)? {
            None => {
                return Err(Error::failed(format!("{words}:\n{}", details.join("\n")))
                    .hint("everything is kept; say what to do: git cowork resume on a terminal")
                    .hint("or mend it yourself and commit it, then: git cowork resume")
                    .into());
            }
            Some(LimitDecision::Retry) => format!("these must hold:\n{}", details.join("\n")),
            Some(LimitDecision::Guide(text)) => text,
            Some(LimitDecision::GoBack(stage)) => {
                let way = WayBack::decided(spec.stage, stage, &words, None);
                return Ok(Some(StageEnd::GoBack(way)));
            }
            Some(LimitDecision::Abort) => return Err(self.aborted(spec).into()),
            Some(LimitDecision::Stop | LimitDecision::Review) => {
                return Err(self.undecided(spec.stage).into());
            }
        };
        let entry = self.feedback(Stage::Coding, drafts, Origin::Human, &words);
        self.give_feedback(vec![entry])?;
        Ok(Some(StageEnd::Rework))
    }
}
