//! The settings of libgit2 itself: limits on its memory, and the formats that it may open.

use std::sync::Once;

/// Bytes of a pack that are mapped at once, and of all packs together. By default, libgit2 maps
/// whole packs, and every page it touches counts as memory of this process.
const WINDOW: usize = 1024 * 1024;
const MAPPED_MAX: usize = 8 * WINDOW;
/// Bytes of objects that libgit2 caches; the default is 256 MiB.
const REMEMBERED: isize = 2 * 1024 * 1024;

/// Extensions of a repository that change nothing in its objects. libgit2 knows the others that
/// git-cowork can read (`objectFormat`, `worktreeConfig`, `preciousObjects`, `relativeWorktrees`).
/// Where references are in tables, libgit2 reads objects only.
const EXTENSIONS: [&str; 2] = ["refstorage", "partialclone"];

/// Limits libgit2's memory, whatever the size of a repository, and lets it open every format in
/// which it can read objects. Has to be called before a repository is opened.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: these calls set numbers and a list of the C library that only opening and open
        // repositories read, and no repository is opened before this is done.
        let set = unsafe {
            git2::opts::set_mwindow_size(WINDOW)
                .and_then(|()| git2::opts::set_mwindow_mapped_limit(MAPPED_MAX))
                .and_then(|()| git2::opts::set_cache_max_size(REMEMBERED))
                .and_then(|()| git2::opts::set_extensions(&EXTENSIONS))
        };
        // Git does not verify the hashes of objects it reads, either.
        git2::opts::strict_hash_verification(false);
        if let Err(error) = set {
            tracing::debug!("cannot set up libgit2: {error}");
        }
    });
}
