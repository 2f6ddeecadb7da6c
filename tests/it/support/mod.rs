//! Shared code of the tests: a sandbox, a scripted model server, a terminal, and ways to kill.

pub mod at_once;
pub mod base_dir;
pub mod change;
pub mod children;
pub mod confinement;
pub mod copied;
pub mod history;
pub mod http;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod inject;
pub mod kill;
pub mod many;
pub mod messages;
pub mod outcome;
pub mod page;
pub mod prepared;
#[cfg(target_os = "linux")]
pub mod probe;
#[cfg(unix)]
pub mod pty;
pub mod received;
pub mod reply;
pub mod responses;
mod running;
pub mod sandbox;
pub mod script;
pub mod server;
pub mod sessions;
pub mod skip;
#[cfg(unix)]
pub mod snapshot;
#[cfg(unix)]
pub mod strike;
pub mod svg;
pub mod todo;
pub mod trials;
pub mod vendor;
#[cfg(unix)]
pub mod wrapper;

pub use at_once::at_once;
pub use reply::{Fault, Reply, Wire};
pub use sandbox::Sandbox;
pub use script::{anywhere, at};
