//! The table of depths: how much process a session gets. A row selects from the stage table: the
//! stages, the critics, the gates.

use std::fmt;
use std::str::FromStr;

use super::row::READ_FILES;
use crate::artifact::Scope;
use crate::stage::{Depth, Stage};

/// A row of the table of depths.
#[derive(Debug)]
pub struct DepthSpec {
    /// The depth.
    pub depth: Depth,
    /// The stages of a session; a change request has only those that its scope names.
    pub stages: &'static [Stage],
    /// Groups of stages that the actor works on in one conversation, with all their drafts and
    /// tasks. In other stages each draft and each task has its own conversation.
    pub conversations: &'static [&'static [Stage]],
    /// Groups of tools that all actors declare in the stages of `conversations`, so that their
    /// requests begin alike: a provider charges less for a prefix it has seen. Empty if that would
    /// be too many tools. An actor may still call only its own tools.
    pub tools: &'static [&'static [&'static str]],
    /// Stages whose first draft git-cowork may write without a model.
    pub written_here: &'static [(Stage, WrittenHere)],
    /// Stages with a gate, unless the configuration says otherwise.
    pub gates: &'static [Stage],
    /// Stages with a critic.
    pub critics: &'static [Stage],
    /// Stages whose first draft the actor reviews itself, unless the configuration says otherwise.
    pub self_review: &'static [Stage],
    /// The usual least number of records of each kind; it replaces a higher one in the
    /// configuration.
    pub fewest: Option<u32>,
    /// What a small session took.
    pub cost: Cost,
}

/// What a session of small work took whose drafts were all accepted, without the request that names
/// it. `benches/economy` measures it and tells by how much it is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Requests to the model.
    pub requests: u32,
    /// Tokens sent, four bytes each.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
}

/// When git-cowork writes a first draft without a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenHere {
    /// Always.
    Always,
    /// Only if git-cowork's data covers everything that the document must say.
    WhereItSuffices,
}

/// The rows, from the least to the most process.
const DEPTHS: [DepthSpec; Depth::ALL.len()] = [
    DepthSpec {
        depth: Depth::Quick,
        stages: &[Stage::Triage, Stage::Plan, Stage::Coding, Stage::Delivery],
        conversations: &[&[Stage::Plan], &[Stage::Coding]],
        tools: &[
            READ_FILES,
            &[
                "write_file",
                "edit_file",
                "delete_file",
                "run_command",
                "save_plan_doc",
                "update_task_status",
                "ask_user",
                "goto_stage",
            ],
        ],
        written_here: &[(Stage::Delivery, WrittenHere::Always)],
        gates: &[Stage::Triage, Stage::Plan, Stage::Coding],
        critics: &[Stage::Coding],
        self_review: &[],
        fewest: Some(1),
        cost: Cost { requests: 3, input: 9_000, output: 1_000 },
    },
    DepthSpec {
        depth: Depth::Standard,
        stages: &Stage::ALL,
        conversations: &[
            &[Stage::Idea, Stage::Prd],
            &[Stage::Design, Stage::Plan],
            &[Stage::Coding],
        ],
        tools: &[],
        written_here: &[
            (Stage::Check, WrittenHere::WhereItSuffices),
            (Stage::Delivery, WrittenHere::WhereItSuffices),
        ],
        gates: &[Stage::Triage, Stage::Prd, Stage::Plan, Stage::Coding],
        critics: &[Stage::Prd, Stage::Plan, Stage::Coding],
        self_review: &[],
        fewest: None,
        cost: Cost { requests: 12, input: 55_000, output: 6_000 },
    },
    DepthSpec {
        depth: Depth::Thorough,
        stages: &Stage::ALL,
        conversations: &[
            &[Stage::Triage],
            &[Stage::Idea],
            &[Stage::Prd],
            &[Stage::Design],
            &[Stage::Plan],
        ],
        tools: &[],
        written_here: &[],
        gates: &[Stage::Triage, Stage::Idea, Stage::Prd, Stage::Design, Stage::Plan, Stage::Coding],
        critics: &[Stage::Prd, Stage::Design, Stage::Plan, Stage::Coding],
        self_review: &[Stage::Plan],
        fewest: None,
        cost: Cost { requests: 16, input: 56_000, output: 6_000 },
    },
];

/// The row of a depth.
pub const fn depth(depth: Depth) -> &'static DepthSpec {
    // `DEPTHS` is in the order of `Depth::ALL`, as a test checks.
    const ROWS: &[DepthSpec] = &DEPTHS;
    &ROWS[depth as usize]
}

impl DepthSpec {
    /// True if a session of this depth has the stage.
    pub fn has(&self, stage: Stage) -> bool {
        self.stages.contains(&stage)
    }

    /// If the depth lacks `stage`, the stage that does its work instead.
    pub fn in_place_of(&self, stage: Stage) -> Option<Stage> {
        let is_before = |stage: Stage| super::row(stage).is_before_code();
        let mut before = self.stages.iter().copied().filter(|stage| is_before(*stage));
        let instead = if is_before(stage) { before.next_back() } else { None };
        (!self.has(stage)).then(|| instead.unwrap_or(super::code_stage()))
    }

    /// True if a conversation continues from one stage to the other.
    pub fn joins(&self, earlier: Stage, later: Stage) -> bool {
        let stages = self.conversation(earlier);
        stages.contains(&earlier) && stages.contains(&later)
    }

    /// When git-cowork writes the first draft of a stage without a model.
    pub fn written_here(&self, stage: Stage) -> Option<WrittenHere> {
        self.written_here.iter().find(|(own, _)| *own == stage).map(|(_, when)| *when)
    }

    /// The stages that share a stage's conversation; empty if each draft has its own.
    pub fn conversation(&self, of: Stage) -> &'static [Stage] {
        let mut all = self.conversations.iter();
        all.find(|stages| stages.contains(&of)).copied().unwrap_or_default()
    }

    /// The tools that all actors of a stage declare; empty if each actor declares its own.
    pub fn shared_tools(&self, of: Stage) -> Vec<&'static str> {
        match self.conversation(of) {
            [] => Vec::new(),
            _ => self.tools.concat(),
        }
    }

    /// True if a person decides on the drafts of a stage in a session with the stages `order`.
    pub fn gate(&self, stage: Stage, order: &[Stage]) -> bool {
        self.judged(self.gates, stage, order)
    }

    /// True if a critic judges the drafts of a stage in a session with the stages `order`.
    pub fn critic(&self, stage: Stage, order: &[Stage]) -> bool {
        self.judged(self.critics, stage, order)
    }

    /// True if the drafts of a stage are judged, that is, if `at` contains the stage. If the
    /// session lacks the last stage of this stage's conversation, `at` must contain that last stage
    /// instead: in a session that has it, both are judged together there.
    fn judged(&self, at: &[Stage], stage: Stage, order: &[Stage]) -> bool {
        let last = self.conversation(stage).last().filter(|last| !order.contains(last));
        at.contains(last.unwrap_or(&stage))
    }

    /// True if a change of this scope needs the plan, because it changes a document that the depth
    /// lacks.
    pub fn plans_for(&self, scope: Scope) -> bool {
        (scope.prd && !self.has(Stage::Prd)) || (scope.design && !self.has(Stage::Design))
    }
}

/// A depth as users choose it, from the least to the most process: `auto` comes between the depths
/// it can become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DepthChoice {
    /// The least process.
    Quick,
    /// Chosen by the amount of work.
    #[default]
    Auto,
    /// Every document, few stops.
    Standard,
    /// Every stage by itself.
    Thorough,
}

impl DepthChoice {
    /// The names of all choices on the command line.
    pub const NAMES: [&str; 4] = ["auto", "quick", "standard", "thorough"];

    /// The depth, unless it is chosen by the amount of work.
    pub const fn fixed(self) -> Option<Depth> {
        match self {
            Self::Auto => None,
            Self::Quick => Some(Depth::Quick),
            Self::Standard => Some(Depth::Standard),
            Self::Thorough => Some(Depth::Thorough),
        }
    }
}

impl From<Depth> for DepthChoice {
    fn from(depth: Depth) -> Self {
        match depth {
            Depth::Quick => Self::Quick,
            Depth::Standard => Self::Standard,
            Depth::Thorough => Self::Thorough,
        }
    }
}

impl fmt::Display for DepthChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.fixed().map_or("auto", Depth::name))
    }
}

impl FromStr for DepthChoice {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match s {
            "auto" => Ok(Self::Auto),
            fixed => fixed.parse::<Depth>().map(Self::from),
        }
    }
}

/// Maximum length, in characters, of an idea for which a plan is enough.
const SHORT_IDEA: usize = 400;

/// Returns the depth for an idea if nobody chose one, and the reason in a few words. `has_code` tells
/// whether the repository contains code; it is called for short ideas only.
///
/// # Errors
/// Those of `has_code`.
pub fn depth_for_idea(
    idea: &str,
    has_code: impl FnOnce() -> anyhow::Result<bool>,
) -> anyhow::Result<(Depth, String)> {
    let length = idea.trim().chars().count();
    if length > SHORT_IDEA {
        return Ok((Depth::Standard, format!("an idea of {length} characters")));
    }
    Ok(match has_code()? {
        true => (Depth::Quick, "a short idea in a repository with code".to_owned()),
        false => (Depth::Standard, "a repository without code".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_depth_has_its_row_and_includes_the_smaller_ones() {
        for (at, one) in Depth::ALL.into_iter().enumerate() {
            assert_eq!(depth(one).depth, one);
            let more = DEPTHS.iter().skip(at + 1);
            let all = |of: fn(&DepthSpec) -> &'static [Stage]| {
                more.clone().all(|more| of(depth(one)).iter().all(|stage| of(more).contains(stage)))
            };
            assert!(all(|row| row.stages) && all(|row| row.gates) && all(|row| row.critics));
        }
    }

    #[test]
    fn a_row_names_only_its_own_stages() {
        for row in DEPTHS {
            let named = [row.gates, row.critics, row.self_review, &row.conversations.concat()[..]];
            assert!(named.concat().into_iter().all(|stage| row.has(stage)), "{}", row.depth);
        }
    }

    #[test]
    fn another_stage_replaces_a_missing_one() {
        let quick = depth(Depth::Quick);
        assert_eq!(quick.in_place_of(Stage::Design), Some(Stage::Plan));
        assert_eq!(quick.in_place_of(Stage::Check), Some(Stage::Coding));
        assert_eq!(quick.in_place_of(Stage::Plan), None);
    }

    #[test]
    fn names_of_choices_parse_back() {
        for name in DepthChoice::NAMES {
            let choice: DepthChoice = name.parse().unwrap();
            assert_eq!(choice.to_string(), name);
        }
        assert!(
            DepthChoice::Quick < DepthChoice::Auto && DepthChoice::Auto < DepthChoice::Standard
        );
    }
}
