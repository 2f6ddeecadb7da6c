//! The table of depths: how much process a session gets, beside the stages. A row selects from the
//! stage table: which stages, who judges, where a person decides.

use std::fmt;
use std::str::FromStr;

use super::tools::READ_FILES;
use crate::artifact::Scope;
use crate::stage::{Depth, Stage};

/// A row.
#[derive(Debug)]
pub struct DepthSpec {
    /// Which depth.
    pub depth: Depth,
    /// The stages a session passes; a change request those of them that its scope names.
    pub stages: &'static [Stage],
    /// Stages that the actor goes through in one conversation, with all their drafts and tasks; of
    /// others each draft and each task is one.
    pub conversations: &'static [&'static [Stage]],
    /// The tools that all roles of these stages are told of, where they are few: what requests have in
    /// common begins with the tools, and a provider that has seen a beginning charges less for it.
    /// Each may call those that are its own.
    pub tools: &'static [&'static [&'static str]],
    /// Stages whose first draft the program writes by itself.
    pub written_here: &'static [(Stage, WrittenHere)],
    /// Stages where a person decides unless the configuration says otherwise.
    pub gates: &'static [Stage],
    /// Stages whose critic judges.
    pub critics: &'static [Stage],
    /// Stages whose first draft the actor reads again unless the configuration says otherwise.
    pub self_review: &'static [Stage],
    /// The fewest records there may be of each kind, where the configuration's limits ask for more.
    pub fewest: Option<u32>,
}

/// When the program writes a first draft by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenHere {
    /// Whatever it knows.
    Always,
    /// Where that says all there is to say.
    WhereItSuffices,
}

/// The rows, from the least to the most.
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
                "provide_feedback",
                "exit_loop",
            ],
        ],
        written_here: &[(Stage::Delivery, WrittenHere::Always)],
        gates: &[Stage::Triage, Stage::Plan, Stage::Coding],
        critics: &[Stage::Coding],
        self_review: &[],
        fewest: Some(1),
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
    },
];

/// The row of a depth.
pub const fn depth(depth: Depth) -> &'static DepthSpec {
    // `DEPTHS` is in the order of `Depth::ALL`; a test holds it to that.
    const ROWS: &[DepthSpec] = &DEPTHS;
    &ROWS[depth as usize]
}

impl DepthSpec {
    /// Whether a session of this depth has the stage.
    pub fn has(&self, stage: Stage) -> bool {
        self.stages.contains(&stage)
    }

    /// The stage that does the work of one that the depth lacks.
    pub fn in_place_of(&self, stage: Stage) -> Option<Stage> {
        let is_before = |stage: Stage| super::row(stage).is_before_code();
        let mut before = self.stages.iter().copied().filter(|stage| is_before(*stage));
        let instead = if is_before(stage) { before.next_back() } else { None };
        (!self.has(stage)).then(|| instead.unwrap_or(super::code_stage()))
    }

    /// Whether a conversation goes on from one stage to the other.
    pub fn joins(&self, earlier: Stage, later: Stage) -> bool {
        let stages = self.conversation(earlier);
        stages.contains(&earlier) && stages.contains(&later)
    }

    /// When the program writes the first draft of a stage by itself.
    pub fn written_here(&self, stage: Stage) -> Option<WrittenHere> {
        self.written_here.iter().find(|(own, _)| *own == stage).map(|(_, when)| *when)
    }

    /// The stages of a stage's conversation; none where each of its drafts is one of its own.
    pub fn conversation(&self, of: Stage) -> &'static [Stage] {
        let mut all = self.conversations.iter();
        all.find(|stages| stages.contains(&of)).copied().unwrap_or_default()
    }

    /// The tools that all roles of a stage are told of; none where each is told of its own.
    pub fn shared_tools(&self, of: Stage) -> Vec<&'static str> {
        match self.conversation(of) {
            [] => Vec::new(),
            _ => self.tools.concat(),
        }
    }

    /// Whether a person decides on the drafts of a stage in a session that passes `order`.
    pub fn gate(&self, stage: Stage, order: &[Stage]) -> bool {
        self.judged(self.gates, stage, order)
    }

    /// Whether a critic judges the drafts of a stage in a session that passes `order`.
    pub fn critic(&self, stage: Stage, order: &[Stage]) -> bool {
        self.judged(self.critics, stage, order)
    }

    /// What is judged with the last stage of a conversation is judged by itself where that is missing.
    fn judged(&self, at: &[Stage], stage: Stage, order: &[Stage]) -> bool {
        let last = self.conversation(stage).last().filter(|last| !order.contains(last));
        at.contains(last.unwrap_or(&stage))
    }

    /// Whether a change of this scope needs the plan because the depth lacks what it would change.
    pub fn plans_for(&self, scope: Scope) -> bool {
        (scope.prd && !self.has(Stage::Prd)) || (scope.design && !self.has(Stage::Design))
    }
}

/// A depth as people choose it, from the least to the most: what is chosen by the work stands
/// between what it can become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DepthChoice {
    /// As little as there is.
    Quick,
    /// By the work.
    #[default]
    Auto,
    /// Every document, few stops.
    Standard,
    /// Every stage by itself.
    Thorough,
}

impl DepthChoice {
    /// Every choice, as the command line names them.
    pub const NAMES: [&str; 4] = ["auto", "quick", "standard", "thorough"];

    /// The depth, where it is not chosen by the work.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_depth_has_its_row_and_more_of_it_is_more() {
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
    fn what_a_row_names_it_has() {
        for row in DEPTHS {
            let named = [row.gates, row.critics, row.self_review, &row.conversations.concat()[..]];
            assert!(named.concat().into_iter().all(|stage| row.has(stage)), "{}", row.depth);
        }
    }

    #[test]
    fn what_a_depth_lacks_another_stage_does() {
        let quick = depth(Depth::Quick);
        assert_eq!(quick.in_place_of(Stage::Design), Some(Stage::Plan));
        assert_eq!(quick.in_place_of(Stage::Check), Some(Stage::Coding));
        assert_eq!(quick.in_place_of(Stage::Plan), None);
    }

    #[test]
    fn a_choice_is_named_as_it_is_read() {
        for name in DepthChoice::NAMES {
            let choice: DepthChoice = name.parse().unwrap();
            assert_eq!(choice.to_string(), name);
        }
        assert!(
            DepthChoice::Quick < DepthChoice::Auto && DepthChoice::Auto < DepthChoice::Standard
        );
    }
}
