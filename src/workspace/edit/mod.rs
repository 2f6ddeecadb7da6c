//! Finding the passage an edit means, and replacing it.

pub(crate) mod apply;
mod fuzzy_match;
pub(crate) mod line_count;
mod nearest;
mod normalize;
pub(crate) mod placeholder;
