//! The coding stage: writes the code, task by task.

use super::common_subjects::{count, runs};
use super::row::{Approves, ESCALATE, READ_FILES, RoleSpec, StageSpec, USUAL, VERDICT, Work};
use crate::artifact::{Artifact, TaskStatus, check};
use crate::stage::Stage;

pub(super) const CODING: StageSpec = StageSpec {
    stage: Stage::Coding,
    actor: RoleSpec {
        prompt: prompt!("coding-actor.md"),
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
        prompt: prompt!("coding-critic.md"),
        tools: &[
            READ_FILES,
            &["get_plan", "get_design", "get_requirements", "load_feedback_history"],
            VERDICT,
            ESCALATE,
        ],
    }),
    work: Work::Tasks {
        correction: prompt!("coding-correct.md"),
        change: prompt!("coding-change.md"),
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
