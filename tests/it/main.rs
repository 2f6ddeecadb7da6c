//! Black-box tests of the real binary, with real git and a scripted model server over HTTP.
//!
//! `support` is the harness; every other file is one theme. Nothing here sleeps, depends on
//! order, or sees the machine it runs on. A case is a sandbox, what the model says where it
//! differs from the happy path of `support::todo`, a command, and what git and the server saw:
//!
//! ```text
//! let sandbox = Sandbox::new();                       // a repository, a home, a model server
//! sandbox.server.times(1, at("prd", "critic").iteration(1), reject("REQ-002 is vague"));
//! sandbox.auto(&["--stop-after", "prd"]).exits(0);    // git-cowork new … --review auto …
//! assert_eq!(sandbox.stages("main.."), ["start", "idea", "prd"]);
//! assert!(sandbox.server.requests_of("prd", "actor")[2].text().contains("vague"));
//! sandbox.assert_sound();                             // git fsck, a clean tree
//! ```
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, its helpers too"
)]

mod back;
mod budget;
mod changes;
#[cfg(unix)]
mod circles;
mod coding;
mod critic;
#[cfg(unix)]
mod disk;
#[cfg(unix)]
mod edit;
mod faults;
mod feedback;
mod git_hooks;
mod harness;
mod hooks;
#[cfg(target_os = "linux")]
mod hostile;
mod init;
mod json;
mod kill;
mod log;
#[cfg(unix)]
mod loss;
mod machines;
mod meanwhile;
mod modify;
mod moved;
mod new;
#[cfg(unix)]
mod notify;
mod outage;
mod pipeline;
mod replay;
mod repos;
mod review;
mod size;
mod status;
#[cfg(unix)]
mod stop;
#[cfg(unix)]
mod stuck;
mod support;
#[cfg(unix)]
mod terminal;
mod tidy;
mod usage;
mod verify;
mod yours;
