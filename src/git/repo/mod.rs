//! What is known of a repository before an object is read: where it is, its configuration, hooks and
//! references.

pub mod browse;
pub mod configuration;
pub mod hooks;
pub mod locate;
pub mod ref_list;
pub mod ref_pattern;
pub mod ref_stamp;
pub mod settings;
pub mod variables;
pub mod without_logins;
pub mod would_run;
