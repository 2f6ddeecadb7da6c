//! The usage of a session: one sum for everything that reports it (`status`, `list`, `log`, the
//! last line of a run, the budget).

use super::{Kind, Session, present_draft};
use crate::git::Git;
use crate::spent::{Spent, tokens};
use crate::stage::Stage;
use crate::stages;

/// The usage of a session.
#[derive(Clone, Debug, Default)]
pub struct Used {
    /// Everything: from history, or from the records of this machine if they show more.
    pub total: Spent,
    /// Usage from the commits of each stage; task commits count as coding.
    pub stages: Vec<(Stage, Spent)>,
    /// Usage of the draft in progress.
    pub draft: Spent,
}

impl Used {
    /// Usage in no commit and not in the draft in progress: abandoned work, and requests that
    /// failed or were sent again.
    pub fn elsewhere(&self) -> Spent {
        let mut told = self.draft;
        self.stages.iter().for_each(|(_, spent)| told += *spent);
        self.total.since(told)
    }

    /// The total in words: `1.2k tokens in (0% cached), 240 out (120 of them in work that no commit
    /// holds)`.
    pub fn words(&self) -> String {
        let elsewhere = self.elsewhere().tokens();
        let mut out = self.total.words();
        if elsewhere > 0 {
            out += &format!(" ({} of them in work that no commit holds)", tokens(elsewhere));
        }
        out
    }
}

impl Session {
    /// The usage, from that of the draft in progress and the total `known` on this machine. Once a
    /// stage is committed, its usage includes that of its drafts.
    pub fn used(&self, draft: Spent, known: Spent) -> Used {
        let mut stages: Vec<(Stage, Spent)> = Vec::new();
        let mut total = draft;
        for entry in &self.history {
            let stage = match entry.kind {
                Kind::Stage(stage) => stage,
                Kind::Task(_) => stages::code_stage(),
                _ => continue,
            };
            let spent = entry.spent();
            total += spent;
            match stages.iter_mut().find(|(known, _)| *known == stage) {
                Some((_, sum)) => *sum += spent,
                None => stages.push((stage, spent)),
            }
        }
        Used { total: total.max(known), stages, draft }
    }

    /// Usage in task commits of the stage in progress.
    pub fn tasks_spent(&self) -> Spent {
        let mut sum = Spent::default();
        let tasks = self.since_last_stage().iter();
        let tasks = tasks.filter(|entry| matches!(entry.kind, Kind::Task(_)));
        tasks.for_each(|entry| sum += entry.spent());
        sum
    }

    /// Usage in history and in the draft in progress.
    pub fn spent(&self, git: &Git) -> anyhow::Result<Spent> {
        let draft = present_draft(git, self)?.map(|draft| draft.spent()).unwrap_or_default();
        Ok(self.used(draft, Spent::default()).total)
    }
}
