//! A repository and git's child processes in it: what a command is, how it is run to its end, which locks
//! it holds. Knows nothing of what the commands mean.

pub mod arguments;
pub mod caches;
pub mod child;
pub mod command;
pub mod environment;
pub mod execute;
pub mod file_stamp;
pub mod format;
pub mod hook_trace;
pub mod locks;
pub mod name;
pub mod output;
pub mod processes;
pub mod repository;
pub mod version;
