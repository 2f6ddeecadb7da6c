//! The reply to a critic or challenger that has not given a verdict.

use super::brief::Brief;
use crate::markers::{challenge_verdict, review_verdict};
use crate::model::Message;
use crate::stage::Role;

/// The beginning of every reminder.
const REMINDER: &str = "You have not given your verdict. ";

/// True if a message reminds of the verdict.
pub(super) fn is_reminder(message: &Message) -> bool {
    matches!(message, Message::User { content } if content.starts_with(REMINDER))
}

/// Returns what to tell a critic or challenger whose closing words contain no verdict.
pub(super) fn missing(brief: &Brief, words: &str) -> Option<&'static str> {
    match brief.role {
        Role::Challenger if challenge_verdict(words).is_none() => Some(
            "You have not given your verdict. End with one of these words alone on a line: \
             APPROVED, NEEDS_REVISION or REJECTED.",
        ),
        Role::Critic if review_verdict(words).is_some() => None,
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
