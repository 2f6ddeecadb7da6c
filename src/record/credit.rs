//! The models that generated the content of a commit, and their usage.

use crate::config::Attribution;
use crate::session::{Entry, Trailers, key, render_cost, render_usage};
use crate::spent::Spent;

/// Models, tokens and money that went into a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credit {
    /// Model names, in order of appearance.
    pub models: Vec<String>,
    /// Their tokens and cost.
    pub spent: Spent,
}

impl FromIterator<(String, Spent)> for Credit {
    fn from_iter<T: IntoIterator<Item = (String, Spent)>>(parts: T) -> Self {
        let mut credit = Self::default();
        parts.into_iter().for_each(|(model, spent)| credit.add(&model, spent));
        credit
    }
}

impl Credit {
    /// The credit in a commit's trailers.
    pub fn in_entry(entry: &Entry) -> Self {
        let models = entry.trailers.get(key::MODEL).unwrap_or_default().split(", ");
        let models = models.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Self { models, spent: entry.spent() }
    }

    /// Adds the usage of a model.
    pub fn add(&mut self, model: &str, spent: Spent) {
        if !model.is_empty() && !self.models.iter().any(|name| name == model) {
            self.models.push(model.to_owned());
        }
        self.spent += spent;
    }

    /// Adds the usage of another piece of work.
    pub fn merge(&mut self, other: Self) {
        for model in &other.models {
            self.add(model, Spent::default());
        }
        self.spent += other.spent;
    }

    /// Takes the larger of two counts of the same work.
    pub fn at_least(&mut self, other: Self) {
        let spent = self.spent.max(other.spent);
        self.merge(other);
        self.spent = spent;
    }

    /// Adds the trailers about the models and their usage.
    pub fn push(&self, trailers: &mut Trailers, attribution: Attribution) {
        if self.models.is_empty() {
            return;
        }
        trailers.push(key::MODEL, self.models.join(", "));
        // Content taken over from another session cost nothing here.
        if self.spent != Spent::default() {
            // A recording does not always contain counts, and an unknown count is not zero.
            if self.spent.tokens() > 0 {
                trailers.push(key::TOKENS, render_usage(self.spent.usage));
            }
            trailers.push(key::COST, render_cost(&self.spent));
        }
        for model in &self.models {
            match attribution {
                // The Linux kernel's form: AGENT:MODEL
                // (Documentation/process/coding-assistants.rst).
                Attribution::AssistedBy => {
                    trailers.push("Assisted-by", format!("git-cowork:{model}"));
                }
                Attribution::CoAuthoredBy => {
                    trailers.push("Co-authored-by", format!("{model} <model@git-cowork.invalid>"));
                }
                Attribution::None => {}
            }
        }
    }
}
