//! A project's external dependencies: found in its manifests and lock files, and fetched in one
//! step with network access that a person approved (`fetch`).

pub(super) mod fetch;
mod lock_files;
pub(super) mod missing;
mod need;
mod needed;
mod paths;
mod projects;
mod refused;

pub(super) use lock_files::put_back_lock_files;
pub use projects::is_manifest;
