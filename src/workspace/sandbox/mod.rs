//! What the kernel keeps commands from: this program starts itself again as a small helper, which
//! gives up rights and then becomes the command (`helper`). What that helper is told stands in `spec`.
//!
//! | level | how | weaker |
//! | --- | --- | --- |
//! | namespaces | own processes, network, IPC and mounts, all but the tree mounted read-only; then Landlock and a filter of system calls | |
//! | bubblewrap | the same, arranged by the system's bubblewrap where only it may make namespaces | |
//! | Landlock | Landlock and a filter of system calls | no new entries at the top of the tree nor beside a nested `.git`, no network at all, UDP open, no UNIX sockets, shared memory and terminals of a command's own, modes and times changed |
//! | sandbox-exec | macOS: a profile (`seatbelt`) instead of a helper | no servers of a command's own, no limits of resources |
//! | none | a person is asked before each command | everything |

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
mod installed;
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
mod sweep;
mod told;
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
pub(super) use installed::INSTALLED;
pub use own_files::OwnFiles;
pub use settings::OF_GIT;
pub use spec::HELPER_WORD;
pub use sweep::Cache;
