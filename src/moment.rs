//! How long what was seen may be believed: until somebody else has had time to act.
//!
//! A person edits files while a model answers, a command runs, a hook runs or a question waits at
//! the terminal. Between two such pauses nothing of ours needs to look at the working tree twice,
//! so [`crate::git::Git::status`] answers from its last look as long as the moment lasts. What ends
//! a moment says so itself, here: every git child that writes, every write to the tree, every
//! command, every request to a model, every question to a person; and, so that nothing can be
//! forgotten, every pause of the run ([`watched`]).

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

static ENDED: AtomicU64 = AtomicU64::new(0);

/// A stretch of time in which only this program acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(u64);

impl Moment {
    /// The present one. What is looked at for it is looked at after this call.
    pub fn now() -> Self {
        Self(ENDED.load(Ordering::SeqCst))
    }

    /// Whether it lasts still.
    pub fn lasts(self) -> bool {
        self == Self::now()
    }
}

/// Ends the present moment: somebody else may have acted, or we have changed something.
pub fn end() {
    ENDED.fetch_add(1, Ordering::SeqCst);
}

/// A future that ends the moment whenever it has had to wait.
pub async fn watched<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        end();
        future.as_mut().poll(context)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pause_ends_a_moment() {
        watched(async {
            let before = Moment::now();
            tokio::task::yield_now().await;
            assert!(!before.lasts());
        })
        .await;
        let before = Moment::now();
        end();
        assert!(!before.lasts());
    }
}
