//! Whether somebody asked the program to stop: the one word about signals all rooms share.
//!
//! `cli` hears the signal and says so here; whoever works ends the write in hand and asks.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::error::{Error, Kind};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static WAKE: Notify = Notify::const_new();

/// Somebody wants us to stop.
pub fn request() {
    REQUESTED.store(true, Ordering::SeqCst);
    WAKE.notify_one();
}

/// Whether somebody does.
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// Resolves when somebody does. One waiter at a time.
pub async fn requested() {
    if !is_requested() {
        WAKE.notified().await;
    }
}

/// Between two steps: goes on, or ends the run.
///
/// # Errors
/// Interrupted (exit 130) when somebody wants us to stop.
pub fn check() -> anyhow::Result<()> {
    if is_requested() { Err(Error::new(Kind::Interrupted, "interrupted").into()) } else { Ok(()) }
}
