//! Forges: hosts that publish repositories and accept pull requests. Parses a remote's URL and runs
//! the user's own `gh` and `glab`, the only programs started here. Nothing here depends on git,
//! sessions or reports.

mod address;
mod program;

pub use address::{Address, Forge, LONGEST_BODY, without_credentials};
pub use program::{OpenPullRequest, Program, ProgramState, PullRequest};
