//! The only module that uses git2 or the git binary.
//!
//! [`Git`] is a repository with a working tree; it starts commands and provides what most callers
//! need. Everything else is a function in the module of its topic: `refs::list(git, …)`.
//!
//! Everything that writes, touches index, working tree, configuration or hooks, or depends on the
//! user's configuration, runs the `git` binary through [`Cmd`]; anything already named by an
//! object id is read through [`Reader`]. Objects that git would write identically are written in
//! process ([`made`]). Sessions, stages and artifacts are unknown to this module.

mod objects;
mod read;
mod repo;
mod run;
#[cfg(test)]
mod test_repo;
mod write;

pub use objects::{blobs, fallback, files, filter, gained, made, many, snapshot};
pub use read::{
    also_read, blame, check_ignore, diff, embedded, hidden, in_the_way, nested, patches, paths,
    refs, state, status,
};
pub use repo::{browse, hooks, settings, without_logins, would_run};
pub use run::locks;
pub use write::{commit, init, merge, notes, put_back, remote, switch, worktree};

use objects::{
    binary, bounded, cat_file, hashed_files, index, kept_objects, libgit2, loose, object_text,
    plain, reader, tree_diff, walk,
};
use read::{special_files, status_entry};
use repo::{configuration, locate, ref_list, ref_pattern, ref_stamp, variables};
use run::{
    arguments, caches, child, command, environment, execute, file_stamp, format, hook_trace, name,
    output, processes, repository, version,
};
use write::{ref_transaction, take_back, unfinished};

pub use also_read::AlsoRead;
pub use blobs::Store;
pub use command::Cmd;
pub use commit::{CommitOptions, CommitOutcome};
pub use diff::DiffStyle;
pub use gained::Gained;
pub use hooks::HookChange;
pub use in_the_way::listed_again;
pub use merge::{MergeOutcome, MergedTree};
pub use name::{Oid, RefName};
pub use object_text::{Commit, EntryKind, NOBODY, TreeEntry};
pub use output::Output;
pub use reader::{Object, Part, Reader, TreeChange, TreeChangeKind};
pub use ref_list::{Head, Ref};
pub use ref_transaction::RefTransaction;
pub use refs::RefInfo;
pub use remote::{Push, PushOutcome};
pub use repository::Git;
pub use version::installed;

pub use index::Hidden;
pub use status_entry::{Change, StatusEntry, StatusKind};
pub use unfinished::UNFINISHED;
