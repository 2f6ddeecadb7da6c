//! Facts about the project: proposals of a session's actors, and a person's decisions on them.

mod decide;
mod proposed;

pub(crate) use decide::{offer, take_back};
pub(crate) use proposed::{acceptable, proposed_by_code, trailers};
