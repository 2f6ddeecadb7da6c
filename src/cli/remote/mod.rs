//! Branches on remotes: pushes them, and checks for newer commits there.

pub(crate) mod push;
pub(crate) mod upstream;
