//! The reply to a critic or challenger that has not given a verdict.

use super::brief::Brief;
use crate::model::prose::{challenge_marker, verdict_marker};
use crate::stage::Role;

/// Returns what to tell a critic or challenger whose closing words contain no verdict.
pub(super) fn missing(brief: &Brief, words: &str) -> Option<&'static str> {
    match brief.role {
        Role::Challenger if challenge_marker(words).is_none() => Some(
            "You have not given your verdict. End with one of these words alone on a line: \
             APPROVED, NEEDS_REVISION or REJECTED.",
        ),
        Role::Critic if verdict_marker(words).is_some() => None,
        Role::Critic if brief.tools.is_empty() => Some(
            "You have not given your verdict. End with <review>PASS</review> or \
             <review>NEEDS_REVISION</review> on a line of its own.",
        ),
        Role::Critic => Some(
            "You have not given your verdict. Call exit_loop to approve, provide_feedback to say \
             what must change, or request_replanning if an earlier stage is wrong.",
        ),
        _ => None,
    }
}
