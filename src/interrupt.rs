//! The request to stop the run, shared by all modules.
//!
//! `cli` receives the signal and sets the request here; running code finishes the current write and
//! checks for it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::error::{Error, Kind};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static WAKE: Notify = Notify::const_new();

/// Requests the run to stop.
pub fn request() {
    REQUESTED.store(true, Ordering::SeqCst);
    WAKE.notify_one();
}

/// True if a stop was requested.
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// Resolves when a stop is requested. Only one waiter at a time.
pub async fn requested() {
    if !is_requested() {
        WAKE.notified().await;
    }
}

/// Checks for a stop request between two steps: continues, or ends the run.
///
/// # Errors
/// Interrupted (exit 130) if a stop was requested.
pub fn check() -> anyhow::Result<()> {
    if is_requested() { Err(Error::new(Kind::Interrupted, "interrupted").into()) } else { Ok(()) }
}
