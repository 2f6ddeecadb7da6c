//! Bounds on the memory that libgit2 takes.

use std::sync::Once;

/// Bytes of a pack that are mapped at once, and of all packs together. By itself libgit2 maps whole
/// packs, of which all that is touched counts as ours.
const WINDOW: usize = 1024 * 1024;
const MAPPED_MAX: usize = 8 * WINDOW;
/// Bytes of objects it remembers; by itself 256 MiB.
const REMEMBERED: isize = 2 * 1024 * 1024;

/// Keeps libgit2's memory small, whatever the size of a repository.
pub(super) fn bound_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: they set numbers of the C library that only open repositories read, and nobody
        // opens one before this is done.
        let set = unsafe {
            git2::opts::set_mwindow_size(WINDOW)
                .and_then(|()| git2::opts::set_mwindow_mapped_limit(MAPPED_MAX))
                .and_then(|()| git2::opts::set_cache_max_size(REMEMBERED))
        };
        // Git, too, reads without hashing what it has read.
        git2::opts::strict_hash_verification(false);
        if let Err(error) = set {
            tracing::debug!("libgit2 takes the memory it likes: {error}");
        }
    });
}
