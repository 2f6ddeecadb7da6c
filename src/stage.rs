//! The names of [`Stage`]s, [`Role`]s and [`Depth`]s.
//!
//! A stage's behaviour is its row in the stage table (`stages`). This module only defines the
//! names, which history, configuration, tools and requests share.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! stages {
    ($($(#[$doc:meta])* $stage:ident = $name:literal,)*) => {
        /// A stage of a session, in the order a session passes them.
        ///
        /// [`Stage::Triage`] exists only in a patch session, where it comes first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Stage {
            $($(#[$doc])* #[serde(rename = $name)] $stage,)*
        }

        impl Stage {
            /// Every stage, in order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$stage),*];

            /// The name in trailers, tags, refs, prompts and on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$stage => $name,)*
                }
            }
        }
    };
}

stages! {
    /// The scope and risks of a change request (patch sessions only).
    Triage = "triage",
    /// The raw idea, written up.
    Idea = "idea",
    /// Requirements and features.
    Prd = "prd",
    /// Components and architecture.
    Design = "design",
    /// Tasks and their order.
    Plan = "plan",
    /// The code, task by task.
    Coding = "coding",
    /// The findings of the check, which is mostly mechanical.
    Check = "check",
    /// The report a reviewer reads first.
    Delivery = "delivery",
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

/// How many documents and gates a session has, in increasing order. The table of depths (`stages`)
/// defines the details.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// One document and the code.
    Quick,
    /// Every document, with few gates.
    Standard,
    /// Each stage separately, most of them with a gate.
    #[default]
    Thorough,
}

impl Depth {
    /// Every depth, in order.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Standard, Self::Thorough];

    /// The depth with more process, if there is one.
    pub const fn next(self) -> Option<Self> {
        match self {
            Self::Quick => Some(Self::Standard),
            Self::Standard => Some(Self::Thorough),
            Self::Thorough => None,
        }
    }

    /// The name in trailers, files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Thorough => "thorough",
        }
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Depth {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|depth| depth.name() == s).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|depth| depth.name()).collect();
            format!("unknown depth '{s}' (one of: {})", names.join(", "))
        })
    }
}

/// The role of a model in one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Drafts.
    Actor,
    /// Judges a draft, read-only.
    Critic,
    /// A second opinion, read-only.
    Challenger,
    /// The actor reviewing its own first draft once.
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
        for depth in Depth::ALL {
            assert_eq!(depth.name().parse::<Depth>(), Ok(depth));
        }
        assert!("deep".parse::<Depth>().is_err_and(|e| e.contains("quick, standard, thorough")));
    }
}
