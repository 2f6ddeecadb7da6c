//! Groups of tools that several rows use, and the challenger, which is the same in all of them.

use super::row::{Prompt, RoleSpec};

pub(super) const READ_FILES: &[&str] = &["list_files", "read_file", "search_files"];

/// Tools that read the session's results, for stages that look back on it.
pub(super) const READ_SESSION: &[&str] = &[
    "get_requirements",
    "get_design",
    "get_plan",
    "load_idea",
    "load_prd_doc",
    "load_design_doc",
    "load_plan_doc",
    "load_feedback_history",
];

/// The role that gives a second opinion, in any stage: it reads, and gives its verdict in prose.
pub const CHALLENGER: RoleSpec = RoleSpec {
    prompt: Prompt {
        file_name: "challenger.md",
        built_in: include_str!("../../prompts/challenger.md"),
    },
    tools: &[READ_FILES, READ_SESSION],
};

/// The tools with which a critic gives its verdict.
pub const VERDICT: &[&str] = &["provide_feedback", "exit_loop"];

/// The tools with which a critic asks for an earlier stage or a person instead.
pub(super) const ESCALATE: &[&str] = &["request_replanning", "goto_stage", "request_human_review"];
