//! The plan stage: tasks and their order.

use super::common_subjects::{count, list, signs};
use super::input::CheckInput;
use super::row::{ESCALATE, Prompt, READ_FILES, RoleSpec, Selected, StageSpec, USUAL, VERDICT};
use crate::artifact::{Artifact, check};
use crate::stage::Stage;

const WRITE: &[&str] = &[
    "save_plan_doc",
    "load_plan_doc",
    "edit_file",
    "create_task",
    "update_task",
    "delete_task",
    "get_plan",
    "check_task_dependencies",
];

/// Tools with which the actor asks for a person.
const ASK: &[&str] =
    &["ask_user", "goto_stage", "request_human_review", "review_with_feedback_content"];

const ACTOR: Prompt = prompt!("plan-actor.md");

pub(super) const PLAN: StageSpec = StageSpec {
    with_earlier: Some((Stage::Design, &PLAN_WITH_DESIGN)),
    alone: Some(&PLAN_ALONE),
    ..plan(
        RoleSpec { prompt: ACTOR, tools: &[WRITE, READ_FILES, ASK] },
        &[Artifact::Plan, Artifact::ImplementationPlan],
    )
};

/// The row if design.md is reviewed together with the plan.
const PLAN_WITH_DESIGN: StageSpec = StageSpec {
    check: |input| {
        let mut report = check::design(&input.store, &input.sizes, input.baseline);
        report.merge(check_plan(input));
        report
    },
    ..plan(
        RoleSpec {
            prompt: ACTOR,
            // Records are changed by editing their sections of the documents. Additional
            // tools for single records would make requests too long.
            tools: &[
                &[
                    "save_plan_doc",
                    "save_design_doc",
                    "edit_file",
                    "delete_task",
                    "delete_design_component",
                    "check_task_dependencies",
                ],
                READ_FILES,
                ASK,
            ],
        },
        &[Artifact::Plan, Artifact::ImplementationPlan, Artifact::Design, Artifact::DesignSpec],
    )
};

/// The row if the plan is the only document: it contains requirements and features as well.
const PLAN_ALONE: StageSpec = StageSpec {
    context: &[],
    critic: None,
    subject: |facts| {
        let plan = facts.store.plan()?;
        let tasks = plan.tasks.iter().filter(|task| task.is_top_level()).count();
        let requirements = facts.store.requirements()?.requirements.len();
        Ok(signs(facts).unwrap_or_else(|| {
            format!("{}, {}", count(requirements, "requirement"), count(tasks, "task"))
        }))
    },
    ..plan(
        RoleSpec {
            prompt: prompt!("plan-alone.md"),
            // A record is created by writing its section of plan.md; a tool would create the first
            // record in prd.md.
            tools: &[
                &[
                    "save_plan_doc",
                    "edit_file",
                    "delete_requirement",
                    "delete_feature",
                    "delete_task",
                    "check_data_format",
                ],
                READ_FILES,
                ASK,
            ],
        },
        &[Artifact::Plan, Artifact::Requirements, Artifact::Features, Artifact::ImplementationPlan],
    )
};

fn check_plan(input: &CheckInput<'_>) -> check::Report {
    let mut report = check::plan(&input.store, &input.sizes, input.baseline);
    if input.drafting {
        let known = |path: &str| input.files.known(path);
        let ignored = |paths: &[&str]| input.files.ignored(paths);
        report.merge(check::planned_files(&input.store, &known, &ignored, input.baseline));
    }
    report
}

const fn plan(actor: RoleSpec, artifacts: &'static [Artifact]) -> StageSpec {
    StageSpec {
        stage: Stage::Plan,
        selected: Selected::Scoped(|scope| scope.plan),
        actor,
        closing: &["save_plan_doc"],
        critic: Some(RoleSpec {
            prompt: prompt!("plan-critic.md"),
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
                ESCALATE,
            ],
        }),
        context: &[Artifact::Idea, Artifact::Prd, Artifact::Design],
        artifacts,
        check: check_plan,
        check_lasts: true,
        subject: |facts| {
            let plan = facts.store.plan()?;
            let tasks = plan.tasks.iter().filter(|task| task.is_top_level()).count();
            Ok(signs(facts).unwrap_or_else(|| count(tasks, "task")))
        },
        names: |facts| {
            let tasks = facts.store.plan()?.tasks;
            let tasks = tasks.iter().filter(|task| task.is_top_level());
            Ok(list(facts, tasks.map(|task| (task.id.as_str(), task.title.as_str()))))
        },
        called: "plan",
        issues: &["missing_dependency"],
        ..USUAL
    }
}
