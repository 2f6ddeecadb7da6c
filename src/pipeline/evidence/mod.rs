//! Evidence: the results of the project's own build, tests and lint, which git-cowork runs on a
//! known tree instead of believing a model. Failures from before the session's first change do not
//! count.

pub(crate) mod base;
pub(crate) mod base_note;
mod check_run;
pub(crate) mod counted;
pub(crate) mod failed_before;
pub(crate) mod failing;
pub(crate) mod gather;
pub(crate) mod named_tests;
pub(crate) mod recorded;
mod refused;
mod results;

pub use check_run::{CheckRun, Which};
pub(crate) use refused::refused_in;
pub use results::Evidence;
pub(crate) use results::trailer;
