//! Finding the passage an edit means, and replacing it.

pub(crate) mod apply;
mod fuzzy_match;
mod nearest;
mod normalize;
pub(crate) mod placeholder;
