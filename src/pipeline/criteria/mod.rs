//! Criteria and what shows that they are met: a test that one names, or else a review.

mod look;
mod on_base;
mod resolve;
mod runnable;
mod wanted;

pub(crate) use look::look_at_named_tests;
