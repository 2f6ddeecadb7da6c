//! Criteria and the evidence that they are met: a named test, or else a review.

mod batch;
mod look;
mod on_base;
mod runnable;

pub(crate) use look::look_at_named_tests;
