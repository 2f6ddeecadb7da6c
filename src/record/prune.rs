//! Deletes attempts and drafts.

use super::point;
use crate::git::{Git, RefTransaction};
use crate::session::Leftover;

/// Deletes these refs, all of them or none.
///
/// # Errors
/// One of them has moved since it was read: exit 5.
pub fn prune<'a>(git: &Git, refs: impl IntoIterator<Item = &'a Leftover>) -> anyhow::Result<()> {
    let transaction = refs
        .into_iter()
        .fold(RefTransaction::new("cowork: prune"), |all, one| all.delete(&one.name, &one.commit));
    point("prune.before-refs");
    transaction.commit(git)?;
    point("prune.after-refs");
    Ok(())
}
