//! Everything that moves a reference, the index or the working tree, and what the next run does when
//! that was interrupted.

pub mod commit;
pub mod init;
pub mod merge;
pub mod notes;
pub mod put_back;
pub mod recover;
pub mod ref_transaction;
pub mod remote;
pub mod switch;
pub mod take_back;
pub mod unfinished;
pub mod worktree;
