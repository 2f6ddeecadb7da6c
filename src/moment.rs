//! How long cached observations of the working tree and of references are valid: until another
//! process or a person could have acted.
//!
//! A person edits files while a model responds, a command or hook runs, or a prompt waits at the
//! terminal. Between two such pauses git-cowork need not examine the working tree twice, so
//! [`crate::git::Git::status`] returns its last result within the same moment. Everything that ends
//! a moment calls this module: every git child that writes (but see `Cmd::beside`), every write to the
//! tree, every command, every request to a model, every prompt; and, so that nothing is forgotten, every pause of the
//! run ([`watched`]).

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

static ENDED: AtomicU64 = AtomicU64::new(0);

/// A period in which only git-cowork acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(u64);

impl Moment {
    /// Returns the current moment. Call this before the observation whose validity it limits.
    pub fn now() -> Self {
        Self(ENDED.load(Ordering::SeqCst))
    }

    /// True if the moment has not ended.
    pub fn lasts(self) -> bool {
        self == Self::now()
    }
}

/// Number of git-cowork's own writes that do not end a moment, because observers of the tree are
/// notified of each; also of git's own children that change only what their caller notes
/// (`Cmd::beside`).
static WROTE: AtomicU64 = AtomicU64::new(0);

/// Records a write by git-cowork itself that observers of the tree were notified of.
pub fn wrote() {
    WROTE.fetch_add(1, Ordering::SeqCst);
}

/// A period in which nothing wrote to the tree or moved a reference, not even git-cowork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untouched(Moment, u64);

impl Untouched {
    /// Returns the current period. Call this before reading the data whose validity it limits.
    pub fn now() -> Self {
        Self(Moment::now(), WROTE.load(Ordering::SeqCst))
    }
}

/// The last result of a lookup, cached while the tree is unchanged.
pub struct TreeCache<K, T>(Mutex<Option<(Untouched, K, T)>>);

impl<K, T> Default for TreeCache<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, T: Clone> TreeCache<K, T> {
    /// Returns the cached result for `key` if the tree is unchanged, otherwise the result of
    /// `find`.
    ///
    /// # Errors
    /// Errors of `find`, which are not cached.
    pub fn or_find<E>(&self, key: K, find: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let now = Untouched::now();
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, value)) =
            slot.as_ref().filter(|(at, about, _)| (at, about) == (&now, &key))
        {
            return Ok(value.clone());
        }
        let value = find()?;
        *slot = Some((now, key, value.clone()));
        Ok(value)
    }
}

/// Ends the current moment: another process may have acted, or git-cowork has changed something.
pub fn end() {
    ENDED.fetch_add(1, Ordering::SeqCst);
}

/// Wraps a future: each time it is polled, the current [`Moment`] ends.
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
    fn results_are_cached_per_key_until_a_write() {
        let (kept, mut asked) = (TreeCache::default(), 0);
        let mut find = |key: &'static str, fails: bool| {
            kept.or_find(key, || {
                asked += 1;
                if fails { Err(()) } else { Ok(asked) }
            })
        };
        // Other tests of this process end moments too.
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
