//! Tasks and their order.

use super::row::{Prompt, RoleSpec, Selected, StageSpec, USUAL};
use super::summary::{count, list, signs};
use super::tools::{READ_FILES, VERDICT};
use crate::artifact::{Artifact, check};
use crate::stage::Stage;

pub(super) const PLAN: StageSpec = StageSpec {
    stage: Stage::Plan,
    selected: Selected::Scoped(|scope| scope.plan),
    actor: RoleSpec {
        prompt: Prompt {
            file_name: "plan-actor.md",
            built_in: include_str!("../../prompts/plan-actor.md"),
        },
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
        prompt: Prompt {
            file_name: "plan-critic.md",
            built_in: include_str!("../../prompts/plan-critic.md"),
        },
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
    context: &[Artifact::Idea, Artifact::Prd, Artifact::Design],
    guidance: true,
    artifacts: &[Artifact::Plan, Artifact::ImplementationPlan],
    check: |input| {
        let mut report = check::plan(&input.store, &input.sizes, input.baseline);
        if input.drafting {
            let known = |path: &str| input.files.known(path);
            report.merge(check::planned_files(&input.store, &known, input.baseline));
        }
        report
    },
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
    gate: true,
    self_review: true,
    called: "plan",
    issues: &["missing_dependency"],
    ..USUAL
};
