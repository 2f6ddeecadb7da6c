//! What a session used: one sum, for everybody who tells of it (`status`, `list`, `log`, the last
//! line of a run, the budget).

use super::{Kind, Session, present_draft};
use crate::git::Git;
use crate::spent::{Spent, tokens};
use crate::stage::Stage;
use crate::stages;

/// What a session used.
#[derive(Clone, Debug, Default)]
pub struct Used {
    /// All of it: what history tells, or what this machine knows where that is more.
    pub total: Spent,
    /// What the commits of each stage tell, those of tasks with coding.
    pub stages: Vec<(Stage, Spent)>,
    /// What the draft in progress took.
    pub draft: Spent,
}

impl Used {
    /// What no commit and no draft in progress tells of: work that was left behind, and requests that
    /// came to nothing or were sent again.
    pub fn elsewhere(&self) -> Spent {
        let mut told = self.draft;
        self.stages.iter().for_each(|(_, spent)| told += *spent);
        self.total.since(told)
    }

    /// The total in words: `1.2k tokens in (0% cached), 240 out (120 of them in no commit)`.
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
    /// What was used, where the draft in progress took `draft` and this machine knows of `known` in
    /// all. A draft's count is part of its stage's once that is recorded.
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

    /// What the commits of tasks took that belong to the stage in progress.
    pub fn tasks_spent(&self) -> Spent {
        let mut sum = Spent::default();
        let tasks = self.since_last_stage().iter();
        let tasks = tasks.filter(|entry| matches!(entry.kind, Kind::Task(_)));
        tasks.for_each(|entry| sum += entry.spent());
        sum
    }

    /// What its history and its draft in progress tell that was used.
    pub fn spent(&self, git: &Git) -> anyhow::Result<Spent> {
        let draft = present_draft(git, self)?.map(|draft| draft.spent()).unwrap_or_default();
        Ok(self.used(draft, Spent::default()).total)
    }
}
