//! The stage table: one row per stage, and everything a stage is stands in its row.
//!
//! Adding a stage is adding a row here, its name to [`Stage`], and its prompts. There is one loop
//! (`pipeline::stage_loop`), one runner and one recorder for all rows.

use super::checks::Check;
use super::prompts::Prompt;
use crate::artifact::Artifact;
use crate::stage::Stage;

/// One role's part in a stage.
#[derive(Debug)]
pub struct RoleSpec {
    /// Its brief.
    pub prompt: Prompt,
    /// The tools it is offered, in groups; calling any other is refused.
    pub tools: &'static [&'static [&'static str]],
}

impl RoleSpec {
    /// The names of its tools.
    pub fn tools(&self) -> Vec<&'static str> {
        self.tools.concat()
    }
}

/// How the actor works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One conversation makes the whole draft.
    Whole,
    /// The first draft is one conversation and one commit for each task of the plan; later drafts
    /// are one conversation of corrections with this brief.
    Tasks {
        /// Brief of a correction.
        correction: Prompt,
        /// Brief of a change request that needs no plan.
        change: Prompt,
    },
}

/// What a person's approval names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approves {
    /// The stage's own artifacts.
    Artifacts,
    /// The whole tree.
    Tree,
}

/// A row.
#[derive(Debug)]
pub struct StageSpec {
    /// Which stage.
    pub stage: Stage,
    /// Who drafts.
    pub actor: RoleSpec,
    /// Who judges, if anybody.
    pub critic: Option<RoleSpec>,
    /// How the actor works.
    pub work: Work,
    /// Earlier artifacts every role of the stage gets, in this order.
    pub context: &'static [Artifact],
    /// What the stage leaves, the document a person reads first.
    pub artifacts: &'static [Artifact],
    /// What must hold before anybody judges.
    pub check: Check,
    /// What an approval names.
    pub approves: Approves,
    /// The program runs the project's build, tests and lint on this stage's tree.
    pub runs_checks: bool,
}

/// One of the two forms a stage's result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The Markdown document people read.
    Document,
    /// The JSON records programs read.
    Records,
}

impl Side {
    /// Which an artifact belongs to.
    pub fn of(artifact: Artifact) -> Self {
        if artifact.is_json() { Self::Records } else { Self::Document }
    }
}

impl StageSpec {
    /// The artifacts of one side.
    pub fn side(&self, side: Side) -> impl Iterator<Item = Artifact> {
        self.artifacts.iter().copied().filter(move |artifact| Side::of(*artifact) == side)
    }

    /// What has to follow when a person edited these: the other side, if the stage has both and
    /// only one was edited.
    pub fn follows(&self, edited: &[Artifact]) -> Option<Side> {
        let touched = |side| edited.iter().any(|artifact| Side::of(*artifact) == side);
        let both = [Side::Document, Side::Records].map(|side| self.side(side).next().is_some());
        match (both, touched(Side::Document), touched(Side::Records)) {
            ([true, true], true, false) => Some(Side::Records),
            ([true, true], false, true) => Some(Side::Document),
            _ => None,
        }
    }

    /// The actor's tools that write this side, and those that only look at the stage's own
    /// artifacts: all that may be called while this side is brought in line with the other.
    pub fn tools_of(&self, side: Side) -> Vec<&'static str> {
        let fits = |name: &&str| match name.split_once('_').map(|(verb, _)| verb) {
            Some("save") => side == Side::Document,
            Some("create" | "add" | "update" | "delete") => side == Side::Records,
            Some("load" | "get" | "check") => true,
            _ => false,
        };
        self.actor.tools().into_iter().filter(fits).collect()
    }
}

const READ_FILES: &[&str] = &["list_files", "read_file", "search_files"];

/// What the session has come to so far, for the stages that look back on it.
const READ_SESSION: &[&str] = &[
    "get_requirements",
    "get_design",
    "get_plan",
    "load_idea",
    "load_prd_doc",
    "load_design_doc",
    "load_plan_doc",
    "load_feedback_history",
];

/// How a critic ends its reading.
const VERDICT: &[&str] =
    &["provide_feedback", "exit_loop", "request_replanning", "goto_stage", "request_human_review"];

/// A row of prd.
const fn prd(
    tools: &'static [&'static [&'static str]],
    context: &'static [Artifact],
    artifacts: &'static [Artifact],
) -> StageSpec {
    StageSpec {
        stage: Stage::Prd,
        actor: RoleSpec { prompt: Prompt::PrdActor, tools },
        critic: Some(RoleSpec {
            prompt: Prompt::PrdCritic,
            tools: &[&["load_prd_doc", "get_requirements", "read_file", "search_files"], VERDICT],
        }),
        work: Work::Whole,
        context,
        artifacts,
        check: Check::Prd,
        approves: Approves::Artifacts,
        runs_checks: false,
    }
}

const WRITE_PRD: &[&str] = &[
    "save_prd_doc",
    "load_prd_doc",
    "create_requirement",
    "update_requirement",
    "delete_requirement",
    "add_feature",
    "update_feature",
    "delete_feature",
    "get_requirements",
    "check_data_format",
];

/// How an actor asks for a person.
const ASK: &[&str] = &["ask_user", "request_human_review", "review_with_feedback_content"];

/// The row of prd in a change request, which keeps idea.md true: the parent's idea is drafted on, too.
const PRD_OF_A_CHANGE: StageSpec = prd(
    &[WRITE_PRD, &["save_idea", "load_idea"], READ_FILES, ASK],
    &[],
    &[Artifact::Prd, Artifact::Requirements, Artifact::Features, Artifact::Idea],
);

/// The rows, in order.
pub const TABLE: &[StageSpec] = &[
    StageSpec {
        stage: Stage::Triage,
        actor: RoleSpec {
            prompt: Prompt::Triage,
            tools: &[
                &[
                    "save_change_request",
                    "load_change_request",
                    "get_requirements",
                    "get_design",
                    "get_plan",
                ],
                READ_FILES,
                &["ask_user"],
            ],
        },
        critic: None,
        work: Work::Whole,
        context: &[
            Artifact::Requirements,
            Artifact::Features,
            Artifact::DesignSpec,
            Artifact::ImplementationPlan,
        ],
        artifacts: &[Artifact::ChangeRequest],
        check: Check::Triage,
        approves: Approves::Artifacts,
        runs_checks: false,
    },
    StageSpec {
        stage: Stage::Idea,
        actor: RoleSpec {
            prompt: Prompt::Idea,
            tools: &[&["save_idea", "load_idea"], READ_FILES, &["review_and_edit_content"]],
        },
        critic: None,
        work: Work::Whole,
        context: &[],
        artifacts: &[Artifact::Idea],
        check: Check::Idea,
        approves: Approves::Artifacts,
        runs_checks: false,
    },
    prd(
        &[WRITE_PRD, READ_FILES, ASK],
        &[Artifact::Idea],
        &[Artifact::Prd, Artifact::Requirements, Artifact::Features],
    ),
    StageSpec {
        stage: Stage::Design,
        actor: RoleSpec {
            prompt: Prompt::DesignActor,
            tools: &[
                &[
                    "save_design_doc",
                    "load_design_doc",
                    "create_design_component",
                    "update_design_component",
                    "delete_design_component",
                    "get_design",
                    "get_requirements",
                    "check_feature_coverage",
                    "check_data_format",
                ],
                READ_FILES,
                &["ask_user", "goto_stage", "request_human_review", "review_with_feedback_content"],
            ],
        },
        critic: Some(RoleSpec {
            prompt: Prompt::DesignCritic,
            tools: &[
                &["load_design_doc", "get_design", "get_requirements", "check_feature_coverage"],
                READ_FILES,
                VERDICT,
            ],
        }),
        work: Work::Whole,
        context: &[Artifact::Idea, Artifact::Prd, Artifact::Requirements, Artifact::Features],
        artifacts: &[Artifact::Design, Artifact::DesignSpec],
        check: Check::Design,
        approves: Approves::Artifacts,
        runs_checks: false,
    },
    StageSpec {
        stage: Stage::Plan,
        actor: RoleSpec {
            prompt: Prompt::PlanActor,
            tools: &[
                &[
                    "save_plan_doc",
                    "load_plan_doc",
                    "create_task",
                    "update_task",
                    "delete_task",
                    "get_plan",
                    "get_design",
                    "get_requirements",
                    "check_task_dependencies",
                    "check_data_format",
                ],
                READ_FILES,
                &["ask_user", "goto_stage", "request_human_review", "review_with_feedback_content"],
            ],
        },
        critic: Some(RoleSpec {
            prompt: Prompt::PlanCritic,
            tools: &[
                &[
                    "load_plan_doc",
                    "get_plan",
                    "get_design",
                    "get_requirements",
                    "check_task_dependencies",
                ],
                READ_FILES,
                VERDICT,
            ],
        }),
        work: Work::Whole,
        context: &[
            Artifact::Idea,
            Artifact::Prd,
            Artifact::Requirements,
            Artifact::Features,
            Artifact::Design,
            Artifact::DesignSpec,
        ],
        artifacts: &[Artifact::Plan, Artifact::ImplementationPlan],
        check: Check::Plan,
        approves: Approves::Artifacts,
        runs_checks: false,
    },
    StageSpec {
        stage: Stage::Coding,
        actor: RoleSpec {
            prompt: Prompt::CodingActor,
            tools: &[
                READ_FILES,
                &[
                    "write_file",
                    "edit_file",
                    "delete_file",
                    "run_command",
                    "check_tests",
                    "check_lint",
                    "get_plan",
                    "get_design",
                    "update_task_status",
                    "update_feature_status",
                    "load_feedback_history",
                    "load_change_request",
                    "ask_user",
                    "request_replanning",
                    "goto_stage",
                    "request_human_review",
                ],
            ],
        },
        critic: Some(RoleSpec {
            prompt: Prompt::CodingCritic,
            tools: &[
                READ_FILES,
                &["get_plan", "get_design", "get_requirements", "load_feedback_history"],
                VERDICT,
            ],
        }),
        work: Work::Tasks { correction: Prompt::CodingCorrect, change: Prompt::CodingChange },
        context: &[
            Artifact::Requirements,
            Artifact::Features,
            Artifact::Design,
            Artifact::DesignSpec,
            Artifact::ImplementationPlan,
        ],
        artifacts: &[Artifact::ImplementationPlan],
        check: Check::Coding,
        approves: Approves::Tree,
        runs_checks: true,
    },
    StageSpec {
        stage: Stage::Check,
        actor: RoleSpec {
            prompt: Prompt::Check,
            tools: &[
                &["save_check_report"],
                READ_FILES,
                READ_SESSION,
                &[
                    "check_data_format",
                    "check_feature_coverage",
                    "check_task_dependencies",
                    "request_replanning",
                    "goto_stage",
                    "request_human_review",
                ],
            ],
        },
        critic: None,
        work: Work::Whole,
        context: &[
            Artifact::Requirements,
            Artifact::Features,
            Artifact::DesignSpec,
            Artifact::ImplementationPlan,
        ],
        artifacts: &[Artifact::CheckReport],
        check: Check::Report,
        approves: Approves::Artifacts,
        runs_checks: true,
    },
    StageSpec {
        stage: Stage::Delivery,
        actor: RoleSpec {
            prompt: Prompt::Delivery,
            tools: &[&["save_delivery_report"], READ_FILES, READ_SESSION, &["load_change_request"]],
        },
        critic: None,
        work: Work::Whole,
        context: &[
            Artifact::Idea,
            Artifact::Requirements,
            Artifact::Features,
            Artifact::DesignSpec,
            Artifact::ImplementationPlan,
            Artifact::CheckReport,
        ],
        artifacts: &[Artifact::DeliveryReport],
        check: Check::Delivery,
        approves: Approves::Artifacts,
        runs_checks: false,
    },
];

/// The row of a stage in a session of this kind.
pub fn row_of(stage: Stage, is_patch: bool) -> &'static StageSpec {
    match stage {
        Stage::Prd if is_patch => &PRD_OF_A_CHANGE,
        _ => row(stage),
    }
}

/// The row of a stage in a session of its own.
pub fn row(stage: Stage) -> &'static StageSpec {
    // `TABLE` is in the order of `Stage::ALL`; a test holds it to that.
    &TABLE[stage as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{self, Access};

    #[test]
    fn every_stage_has_its_row() {
        for stage in Stage::ALL {
            assert_eq!(row(stage).stage, stage);
        }
        assert_eq!(TABLE.len(), Stage::ALL.len());
    }

    #[test]
    fn critics_and_check_only_look() {
        for spec in TABLE {
            let readers =
                spec.critic.iter().chain((spec.stage == Stage::Check).then_some(&spec.actor));
            for role in readers {
                for name in role.tools() {
                    let tool = tool::find(name).unwrap_or_else(|| panic!("no tool {name}"));
                    assert!(
                        tool.access() == Access::Read || name == "save_check_report",
                        "{name} in {}",
                        spec.stage
                    );
                }
            }
        }
    }

    #[test]
    fn one_side_follows_the_other() {
        let prd = row(Stage::Prd);
        let (document, records) = (Artifact::Prd, Artifact::Features);
        assert_eq!(prd.follows(&[document]), Some(Side::Records));
        assert_eq!(prd.follows(&[records]), Some(Side::Document));
        assert_eq!(prd.follows(&[document, records]), None);
        assert_eq!(row(Stage::Idea).follows(&[Artifact::Idea]), None);
        for spec in [prd, row(Stage::Design), row(Stage::Plan)] {
            let writes = |side| -> Vec<&str> {
                let tools = spec.tools_of(side).into_iter();
                tools.filter(|n| tool::find(n).unwrap().access() == Access::Write).collect()
            };
            assert_eq!(writes(Side::Document).len(), 1, "{}", spec.stage);
            assert!(writes(Side::Document)[0].starts_with("save_"));
            assert!(writes(Side::Records).len() >= 3, "{}", spec.stage);
            assert!(!writes(Side::Records).iter().any(|name| name.starts_with("save_")));
        }
    }

    #[test]
    fn every_tool_of_a_row_exists_and_code_is_written_in_coding_only() {
        for spec in TABLE {
            for name in spec.actor.tools() {
                assert!(tool::find(name).is_some(), "no tool {name}");
                let writes =
                    ["write_file", "edit_file", "delete_file", "run_command"].contains(&name);
                assert!(!writes || spec.stage == Stage::Coding, "{name} in {}", spec.stage);
            }
        }
    }
}
