//! A change request: the records it started with, its scope, its changes to the records, and
//! reviewers' comments that reopen a delivered session.

pub(crate) mod reviewer_feedback;
pub(crate) mod scope;
