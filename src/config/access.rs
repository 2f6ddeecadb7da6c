//! Values for a stage or a role that depend on several keys.

use anyhow::Result;

use std::collections::BTreeMap;

use super::{Config, DEFAULT_MODEL, LimitsConfig, ModelConfig, Project};
use crate::artifact::check::Sizes;
use crate::error::Error;
use crate::stage::{Depth, Role, Stage};
use crate::stages::{depth, row};

/// The stages that configuration switches on or off; for every other stage the session's depth
/// decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches(pub(super) BTreeMap<Stage, bool>);

impl Switches {
    /// Returns the stages for which a switch is set.
    pub(super) fn read(set: impl Fn(&str) -> Option<bool>) -> Self {
        Self(Stage::ALL.into_iter().filter_map(|stage| Some((stage, set(stage.name())?))).collect())
    }

    /// Returns whether a stage is switched on or off; `None` if it is not configured.
    pub fn get(&self, stage: Stage) -> Option<bool> {
        self.0.get(&stage).copied()
    }

    /// Returns the stages that are switched on.
    pub fn on(&self) -> Vec<Stage> {
        self.0.iter().filter(|(_, is_on)| **is_on).map(|(stage, _)| *stage).collect()
    }
}

impl LimitsConfig {
    /// Returns the allowed numbers of records.
    pub const fn sizes(&self) -> Sizes {
        let Self { requirements, features, components, tasks, .. } = *self;
        Sizes { requirements, features, components, tasks }
    }

    /// Returns the limits for a session of this depth.
    #[must_use]
    pub fn at(&self, session_depth: Depth) -> Self {
        let mut limits = self.clone();
        if let Some(fewest) = depth(session_depth).fewest {
            let Self { requirements, features, components, tasks, .. } = &mut limits;
            for [least, _] in [requirements, features, components, tasks] {
                *least = fewest.min(*least);
            }
        }
        limits
    }

    /// Returns the limits of a session that started with this many requirements, features and
    /// tasks: the limits are raised so that records that the user imported do not exceed them.
    #[must_use]
    pub fn with_at_least(mut self, counts: [u32; 3]) -> Self {
        let limits = [&mut self.requirements, &mut self.features, &mut self.tasks];
        for ([_, most], count) in limits.into_iter().zip(counts) {
            *most = count.clamp(*most, MOST_BROUGHT.max(*most));
        }
        self
    }
}

/// Maximum number of records of one kind that a session may start with.
const MOST_BROUGHT: u32 = 200;

impl Config {
    /// Returns the temperature of a role. The judging roles (critic, challenger, the actor
    /// reviewing its own draft) use the critic's.
    pub fn temperature(&self, stage: Stage, role: Role) -> f64 {
        let set = self.stages.get(&stage);
        match role {
            Role::Actor => {
                set.and_then(|s| s.actor_temperature).unwrap_or(row(stage).actor_temperature)
            }
            Role::Critic | Role::Challenger | Role::SelfReview => {
                set.and_then(|s| s.critic_temperature).unwrap_or(row(stage).critic_temperature)
            }
        }
    }

    /// Returns how many drafts a stage may take.
    pub fn iterations(&self, stage: Stage) -> u32 {
        let set = self.stages.get(&stage).and_then(|set| set.iterations);
        set.unwrap_or(row(stage).iterations)
    }

    /// Returns the model for `role` in `stage`, and its name in `[models]` (or `default`).
    ///
    /// `[stages.STAGE] model` sets the actor's model of a stage. The critic uses the same model
    /// unless `[roles] critic` names another.
    ///
    /// # Errors
    ///
    /// Kind `Model` if there is no `[models.NAME]`, if the model's configuration uses a variable
    /// that is not set, or if there is no challenger.
    pub fn model_for(&self, stage: Stage, role: Role) -> Result<(&str, &ModelConfig)> {
        let of_stage = self.stages.get(&stage).and_then(|set| set.model.as_deref());
        let name = match role {
            Role::Actor | Role::SelfReview => of_stage.unwrap_or(&self.roles.actor),
            Role::Critic if self.roles.critic == DEFAULT_MODEL => of_stage.unwrap_or(DEFAULT_MODEL),
            Role::Critic => &self.roles.critic,
            Role::Challenger => self.roles.challenger.as_deref().ok_or_else(|| {
                Error::model("no challenger is configured").hint("set challenger under [roles]")
            })?,
        };
        self.model(name)
    }

    /// Returns the model named `name` in `[models]`, or `default`.
    ///
    /// # Errors
    ///
    /// Kind `Model` if there is no such model or a variable it needs is not set.
    pub fn model(&self, name: &str) -> Result<(&str, &ModelConfig)> {
        let model = match name {
            DEFAULT_MODEL => Some((DEFAULT_MODEL, &self.llm)),
            _ => self.models.get_key_value(name).map(|(name, model)| (name.as_str(), model)),
        };
        let Some(model) = model else {
            let mut names = vec![DEFAULT_MODEL];
            names.extend(self.models.keys().map(String::as_str));
            return Err(Error::model(format!("no model is called '{name}'"))
                .hint(format!("known: {}", names.join(", ")))
                .hint(format!("or describe it under [models.{name}]"))
                .into());
        };
        match self.unusable.get(name) {
            Some(problem) => Err(Error::model(problem.clone())
                .hint(
                    "set the variable, or put the value into `git config` or a file that only you \
                     can read",
                )
                .into()),
            None => Ok(model),
        }
    }

    /// True if the challenger reviews the drafts of `stage`.
    pub fn challenged(&self, stage: Stage) -> bool {
        self.roles.challenger.is_some() && self.is_for_challenge(stage)
    }

    /// True if the drafts of `stage` are meant for a challenger, whether or not one is configured.
    pub(super) fn is_for_challenge(&self, stage: Stage) -> bool {
        self.review.challenge.get(stage).unwrap_or(row(stage).writes_code())
    }

    /// True if a person approves the drafts of `stage` in a session of this depth.
    pub fn gated(&self, session_depth: Depth, stage: Stage) -> bool {
        self.gate_named(session_depth, stage).unwrap_or(depth(session_depth).gates.contains(&stage))
    }

    /// Returns whether the configuration sets a gate on `stage`. A gate on a stage that the depth
    /// lacks moves to the stage that does its work.
    pub fn gate_named(&self, session_depth: Depth, stage: Stage) -> Option<bool> {
        let gates = self.review.gates.on();
        let is_moved =
            gates.iter().any(|gate| depth(session_depth).in_place_of(*gate) == Some(stage));
        if is_moved { Some(true) } else { self.review.gates.get(stage) }
    }

    /// True if the actor reviews its own draft of `stage` in a session of this depth.
    pub fn self_reviewed(&self, session_depth: Depth, stage: Stage) -> bool {
        self.project
            .self_review
            .get(stage)
            .unwrap_or(depth(session_depth).self_review.contains(&stage))
    }
}

impl Project {
    /// The subject line of a commit, made from the project's template and not truncated.
    pub fn subject_for(&self, stage: &str, summary: &str) -> String {
        filled(&self.subject, stage, summary)
    }

    /// The subject line of a merge: the report's title, in the project's template if it has its own.
    pub fn subject_of_merge(&self, title: &str) -> String {
        match self.subject == Self::default().subject {
            true => title.to_owned(),
            false => self.subject_for("merge", title),
        }
    }
}

/// Fills a subject template in one pass, so that `{stage}` in a summary is not replaced.
fn filled(template: &str, stage: &str, summary: &str) -> String {
    let lower = summary.to_lowercase();
    let values = [("{stage}", stage), ("{summary}", summary), ("{summary_lower}", &lower)];
    let mut out = String::with_capacity(template.len() + summary.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (name, value) =
            values.into_iter().find(|(name, _)| rest.starts_with(name)).unwrap_or(("{", "{"));
        out.push_str(value);
        rest = &rest[name.len()..];
    }
    out.push_str(rest);
    out
}
