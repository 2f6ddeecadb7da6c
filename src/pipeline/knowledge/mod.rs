//! What the session learns about the project: what its actors propose, and what a person decides.

mod decide;
mod proposed;

pub(crate) use decide::{offer, take_back};
pub(crate) use proposed::{acceptable, proposed_by_code, trailers};
