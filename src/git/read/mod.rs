//! Questions about history and the working tree: status, differences, who wrote a line.

pub mod also_read;
pub mod blame;
pub mod check_ignore;
pub mod diff;
pub mod embedded;
pub mod hidden;
pub mod in_the_way;
pub mod nested;
pub mod patches;
pub mod paths;
pub mod refs;
pub mod special_files;
pub mod state;
pub mod status;
pub mod status_entry;
