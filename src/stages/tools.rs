//! Groups of tools that several rows offer.

pub(super) const READ_FILES: &[&str] = &["list_files", "read_file", "search_files"];

/// What the session has come to so far, for the stages that look back on it.
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

/// How a critic ends its reading.
pub(super) const VERDICT: &[&str] =
    &["provide_feedback", "exit_loop", "request_replanning", "goto_stage", "request_human_review"];
