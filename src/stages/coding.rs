//! The coding stage: writes the code, task by task.

use super::common_subjects::{count, runs};
use super::row::{Approves, Prompt, RoleSpec, StageSpec, USUAL, Work};
use super::tools::{ESCALATE, READ_FILES, VERDICT};
use crate::artifact::{Artifact, TaskStatus, check};
use crate::stage::Stage;

pub(super) const CODING: StageSpec = StageSpec {
    stage: Stage::Coding,
    actor: RoleSpec {
        prompt: Prompt {
            file_name: "coding-actor.md",
            built_in: include_str!("../../prompts/coding-actor.md"),
        },
        tools: &[
            READ_FILES,
            &[
                "write_file",
                "edit_file",
                "delete_file",
                "run_command",
                "check_tests",
                "check_lint",
                "update_task_status",
                "update_feature_status",
                "ask_user",
                "goto_stage",
                "request_human_review",
            ],
        ],
    },
    closing: &["update_task_status"],
    critic: Some(RoleSpec {
        prompt: Prompt {
            file_name: "coding-critic.md",
            built_in: include_str!("../../prompts/coding-critic.md"),
        },
        tools: &[
            READ_FILES,
            &["get_plan", "get_design", "get_requirements", "load_feedback_history"],
            VERDICT,
            ESCALATE,
        ],
    }),
    work: Work::Tasks {
        correction: Prompt {
            file_name: "coding-correct.md",
            built_in: include_str!("../../prompts/coding-correct.md"),
        },
        change: Prompt {
            file_name: "coding-change.md",
            built_in: include_str!("../../prompts/coding-change.md"),
        },
    },
    context: &[Artifact::Prd, Artifact::Design, Artifact::Plan],
    artifacts: &[Artifact::ImplementationPlan],
    runs_checks: true,
    check: |input| {
        let (files, code) = (input.files, input.files.code());
        let exist = |path: &str| files.exist(path);
        let ignored = |paths: &[&str]| files.ignored(paths);
        let mut report = check::coding(&input.store, &exist, &ignored, code, input.baseline);
        report.merge(input.evidence.clone().unwrap_or_default());
        report
    },
    check_lasts: true,
    subject: |facts| {
        let tasks = facts.own_tasks;
        let done = tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
        let files = count(facts.files, "file");
        Ok(match tasks.len() {
            0 => files,
            all => format!("{done} of {}, {files}", count(all, "task")),
        })
    },
    names: runs,
    approves: Approves::Tree,
    iterations: 5,
    called: "code",
    after_abort: "keeps its tasks and corrects the code as a whole",
    ..USUAL
};
