//! Forges: the hosts that show a repository to people and take pull requests. What the address of
//! a remote means, and the user's own `gh` and `glab`, which are the only programs started here.
//! Git, sessions and reports, nobody knows here.

mod address;
mod program;

pub use address::{Address, Forge, without_credentials};
pub use program::{Opened, Program, Ready, Request};
