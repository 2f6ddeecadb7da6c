//! Runs one command: the command policy, its environment, its captured output, and the end of all
//! its processes.

mod capture;
mod environment;
pub(crate) mod policy;
pub(crate) mod process;
pub(crate) mod process_tree;
pub(crate) mod program;
pub(crate) mod settings;
pub(crate) mod shell;
mod watched;
pub(crate) mod way_out;
