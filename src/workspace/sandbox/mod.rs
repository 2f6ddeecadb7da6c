//! Confinement of commands by the kernel: git-cowork starts itself as a small helper, which drops
//! privileges and then executes the command (`helper`). `spec` describes the confinement to the
//! helper.
//!
//! Levels, from the strongest to none:
//!
//! - namespaces: own processes, network, IPC and mounts, everything but the tree mounted read-only;
//!   then Landlock and a system call filter.
//! - bubblewrap: the same, arranged by the system's bubblewrap where only it may create namespaces.
//! - Landlock: Landlock and a system call filter. Weaker: no new entries at the top of the tree or
//!   beside a nested `.git`, no TCP even on the loopback, UDP open, no UNIX sockets, no private
//!   shared memory or terminals, modes and times can be changed.
//! - sandbox-exec: macOS, with a profile (`seatbelt`) instead of a helper. Weaker: no servers of a
//!   command's own, no resource limits.
//! - none: a person is asked before each command. Nothing is confined.

mod beside;
#[cfg(target_os = "linux")]
mod bubblewrap;
mod commands;
mod confinement;
mod covers;
#[cfg(target_os = "linux")]
mod door;
mod fetched;
mod fetching;
#[cfg(target_os = "linux")]
mod filter;
mod found;
#[cfg(target_os = "linux")]
mod helper;
mod hidden;
mod homes;
#[cfg(target_os = "linux")]
mod landlock;
mod logins;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
mod nested;
mod own_files;
mod place;
#[cfg(target_os = "linux")]
mod refused_ports;
mod seatbelt;
mod settings;
#[cfg(target_os = "linux")]
mod sockets;
mod spec;
mod start;
mod store_links;
mod sweep;
mod told;
mod toolchains;
#[cfg(target_os = "linux")]
mod users;
mod why;

pub use beside::Beside;
pub(super) use commands::{Confined, Sandbox};
pub use confinement::{Confinement, Consent, Level, Overlay, Weaker};
#[cfg(all(test, target_os = "linux"))]
pub(super) use door::hand_out;
#[cfg(target_os = "linux")]
pub(super) use door::{pair as door_pair, word as door_word};
pub use fetching::{Fetching, MayFetch, Wanted};
pub use found::{Found, find as find_confinement};
#[cfg(target_os = "linux")]
pub use helper::run as run_helper;
pub use own_files::OwnFiles;
pub(super) use place::HomeOf;
pub use settings::OF_GIT;
pub use spec::HELPER_WORD;
pub use sweep::Cache;
pub(super) use toolchains::INSTALLED;
