//! Branches of remotes: what is pushed, and what is newer there.

pub(crate) mod push;
pub(crate) mod upstream;
