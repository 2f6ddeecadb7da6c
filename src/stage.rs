//! The coordinates of all work: which [`Stage`], and in which [`Role`].
//!
//! What a stage *does* is its row in the stage table (`pipeline::table`); this module is only
//! the names, because history, configuration, tools and requests all speak them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A stage of a session, in the order a session passes them.
///
/// [`Stage::Triage`] exists only in a patch session, where it stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// What a change request touches and risks (patch sessions only).
    Triage,
    /// The raw idea, written up.
    Idea,
    /// Requirements and features.
    Prd,
    /// Components and architecture.
    Design,
    /// Tasks and their order.
    Plan,
    /// The code, task by task.
    Coding,
    /// What holds and what does not, mostly found mechanically.
    Check,
    /// The report a reviewer reads first.
    Delivery,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Self; 8] = [
        Self::Triage,
        Self::Idea,
        Self::Prd,
        Self::Design,
        Self::Plan,
        Self::Coding,
        Self::Check,
        Self::Delivery,
    ];

    /// What `resume` does after a draft of this stage was aborted.
    pub const fn after_abort(self) -> &'static str {
        match self {
            Self::Coding => "keeps its tasks and has the whole corrected",
            _ => "begins the stage afresh",
        }
    }

    /// The name in trailers, tags, refs, prompts and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Triage => "triage",
            Self::Idea => "idea",
            Self::Prd => "prd",
            Self::Design => "design",
            Self::Plan => "plan",
            Self::Coding => "coding",
            Self::Check => "check",
            Self::Delivery => "delivery",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Stage {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|stage| stage.name() == s).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|stage| stage.name()).collect();
            format!("unknown stage '{s}' (one of: {})", names.join(", "))
        })
    }
}

/// Who a model plays in one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Drafts.
    Actor,
    /// Judges a draft, read-only.
    Critic,
    /// A second opinion, read-only.
    Challenger,
    /// The actor reading its own first draft once.
    SelfReview,
}

impl Role {
    /// The value of the `Cowork-Role` request header.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Actor => "actor",
            Self::Critic => "critic",
            Self::Challenger => "challenger",
            Self::SelfReview => "self-review",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for stage in Stage::ALL {
            assert_eq!(stage.name().parse::<Stage>(), Ok(stage));
        }
        assert!("prds".parse::<Stage>().is_err_and(|e| e.contains("prd")));
    }
}
