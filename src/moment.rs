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
use std::sync::{Mutex, PoisonError};

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

/// Writes of ours that do not end a moment, because whoever looks at the tree is told of each.
static WROTE: AtomicU64 = AtomicU64::new(0);

/// A file of ours was written, and those who look at the tree in this moment were told.
pub fn wrote() {
    WROTE.fetch_add(1, Ordering::SeqCst);
}

/// A stretch of time in which not even this program wrote to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untouched(Moment, u64);

impl Untouched {
    /// The present one. What is read for it is read after this call.
    pub fn now() -> Self {
        Self(Moment::now(), WROTE.load(Ordering::SeqCst))
    }
}

/// What was found out last, for as long as the tree is untouched.
pub struct Kept<K, T>(Mutex<Option<(Untouched, K, T)>>);

impl<K, T> Default for Kept<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, T: Clone> Kept<K, T> {
    /// What was found about `key` while the tree is untouched, else what `find` says now.
    ///
    /// # Errors
    /// Those of `find`, which are not kept.
    pub fn or_find<E>(&self, key: K, find: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let now = Untouched::now();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, found)) =
            kept.as_ref().filter(|(at, about, _)| (at, about) == (&now, &key))
        {
            return Ok(found.clone());
        }
        let found = find()?;
        *kept = Some((now, key, found.clone()));
        Ok(found)
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

    #[test]
    fn what_is_kept_is_kept_until_something_is_written_and_for_a_key() {
        let (kept, mut asked) = (Kept::default(), 0);
        let mut find = |key: &'static str, fails: bool| {
            kept.or_find(key, || {
                asked += 1;
                if fails { Err(()) } else { Ok(asked) }
            })
        };
        // Other tests of this process end moments, too.
        while find("a", false) != find("a", false) {}
        let before = find("a", false);
        end();
        assert_ne!(find("a", false), before);
        assert_ne!(find("b", false), find("a", false));
        let before = find("a", false);
        wrote();
        assert_ne!(find("a", false), before);
        end();
        assert!(find("a", true).is_err());
        assert!(find("a", false).is_ok());
    }

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
