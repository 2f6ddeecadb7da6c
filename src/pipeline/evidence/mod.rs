//! Evidence: the project's own build, tests and lint, run by the program at a known tree, not told
//! by a model. And what of it is new: what failed before the session touched anything is nobody's
//! fault here.

pub(crate) mod base;
pub(crate) mod base_worktree;
pub(crate) mod before;
mod check_run;
pub(crate) mod counted;
pub(crate) mod failing;
pub(crate) mod gather;
pub(crate) mod named_tests;
pub(crate) mod recorded;
mod refused;
mod results;

pub use base::leave_base;
pub use check_run::{CheckRun, Which};
pub(crate) use refused::refused_in;
pub use results::Evidence;
pub(crate) use results::trailer;
