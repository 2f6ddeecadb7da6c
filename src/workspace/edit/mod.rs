//! Finds and replaces the passages of edits.

pub(crate) mod apply;
mod fuzzy_match;
mod nearest;
mod normalize;
pub(crate) mod placeholder;
