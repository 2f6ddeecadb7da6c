//! A change request: what it began with and may touch, what it has made of the records, and the
//! comments of reviewers that open a delivered session again.

pub(crate) mod depth;
pub(crate) mod reviewer_feedback;
pub(crate) mod scope;
