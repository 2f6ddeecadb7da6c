//! What a stage's work took: from the meter while it is done, for its commit and for the delivery
//! report.

use std::fmt::Write as _;

use super::Pipeline;
use super::progress::Progress;
use crate::record::Credit;
use crate::session::Kind;
use crate::spent::{Spent, tokens};
use crate::stage::Stage;

/// The heading of the part of `delivery_report.md` the program writes itself.
pub(super) const USAGE: &str = "## Usage";

impl Pipeline<'_> {
    /// What was used since the last look.
    pub(super) fn taken(&self) -> Credit {
        self.env.models.meter.take().into_iter().collect()
    }

    /// What the ledger tells of the stage's work since the last stage was completed, tasks apart.
    /// A run that was killed has told nobody else.
    pub(super) fn credit_so_far(&self, stage: Stage) -> Credit {
        let since = self.since_last_stage();
        let wanted = self.env.models.meter.of(|place| {
            place.stage == stage && place.task.is_none() && since.contains(&place.on.as_str())
        });
        wanted.into_iter().collect()
    }

    /// What the ledger tells of a task's work in this draft.
    pub(super) fn task_credit(&self, task: &str, iteration: u32) -> Credit {
        let since = self.since_last_stage();
        let wanted = self.env.models.meter.of(|place| {
            place.task.as_deref() == Some(task)
                && place.iteration == iteration
                && since.contains(&place.on.as_str())
        });
        wanted.into_iter().collect()
    }

    /// The newest completed stage's commit (or the start) and what came after it.
    fn since_last_stage(&self) -> Vec<&str> {
        let history = &self.session.history;
        let recent = self.session.since_last_stage().len() + 1;
        let from = history.len().saturating_sub(recent);
        history[from..].iter().map(|entry| entry.commit.as_str()).collect()
    }

    /// What the whole session took, stage by stage, as a section of the delivery report.
    pub(super) fn usage_section(&self, progress: &Progress) -> String {
        let history = self.session.history.iter();
        let mut parts: Vec<(Stage, Spent)> = history
            .filter_map(|entry| match entry.kind {
                Kind::Stage(stage) => Some((stage, entry.spent())),
                Kind::Task(_) => Some((Stage::Coding, entry.spent())),
                _ => None,
            })
            .collect();
        parts.push((Stage::Delivery, progress.credit.spent));
        let mut sum = Spent::default();
        parts.iter().for_each(|(_, spent)| sum += *spent);
        let mut out = format!("Models used {}", sum.words());
        if let Some(cost) = sum.cost() {
            let _ = write!(out, ", {cost}");
        }
        out += ".\n";
        for stage in self.session.order() {
            let mut of_stage = Spent::default();
            let same = parts.iter().filter(|(part, _)| *part == stage);
            same.for_each(|(_, spent)| of_stage += *spent);
            if of_stage.tokens() > 0 {
                let cost = of_stage.cost().map(|cost| format!(", {cost}")).unwrap_or_default();
                let _ = write!(out, "\n- {stage}: {} tokens{cost}", tokens(of_stage.tokens()));
            }
        }
        out.push('\n');
        out
    }
}
