//! Limits on libgit2's memory.

use std::sync::Once;

/// Bytes of a pack that are mapped at once, and of all packs together. By default, libgit2 maps
/// whole packs, and every page it touches counts as memory of this process.
const WINDOW: usize = 1024 * 1024;
const MAPPED_MAX: usize = 8 * WINDOW;
/// Bytes of objects that libgit2 caches; the default is 256 MiB.
const REMEMBERED: isize = 2 * 1024 * 1024;

/// Limits libgit2's memory, whatever the size of a repository.
pub(super) fn bound_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: these calls set numbers of the C library that only open repositories read, and no
        // repository is opened before this is done.
        let set = unsafe {
            git2::opts::set_mwindow_size(WINDOW)
                .and_then(|()| git2::opts::set_mwindow_mapped_limit(MAPPED_MAX))
                .and_then(|()| git2::opts::set_cache_max_size(REMEMBERED))
        };
        // Git does not verify the hashes of objects it reads, either.
        git2::opts::strict_hash_verification(false);
        if let Err(error) = set {
            tracing::debug!("cannot limit libgit2's memory: {error}");
        }
    });
}
