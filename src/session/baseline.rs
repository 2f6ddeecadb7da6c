//! What a change request began with: its parent's records.

use super::{CommittedFiles, Session, changes_within};
use crate::artifact::Store;
use crate::artifact::check::Baseline;
use crate::git::Git;

/// What a change request began with; `None` for a session of its own.
///
/// # Errors
/// The start commit cannot be read.
pub(crate) fn baseline(git: &Git, session: &Session) -> anyhow::Result<Option<Baseline>> {
    let Some(before) = parents_files(git, session) else {
        // Changes it has taken in were held to the limits by themselves.
        return with_merged(git, session, None);
    };
    let mut baseline = Baseline::of(&Store::new(&before))?;
    baseline.plans = session.scope.is_none_or(|scope| scope.plan);
    // What it has taken in since is not its own either.
    with_merged(git, session, Some(baseline))
}

/// The ids that the session it changes and its other change requests have brought in beside these.
fn with_merged(
    git: &Git,
    session: &Session,
    mut baseline: Option<Baseline>,
) -> anyhow::Result<Option<Baseline>> {
    for (_, entry) in changes_within(git, session)? {
        let theirs = CommittedFiles::new(git, &session.name, &entry.commit);
        let theirs = Baseline::of(&Store::new(&theirs))?;
        match &mut baseline {
            Some(baseline) => baseline.ids.extend(theirs.ids),
            None => baseline = Some(theirs),
        }
    }
    Ok(baseline)
}

/// The artifacts as a change request found them.
pub(crate) fn parents_files(git: &Git, session: &Session) -> Option<CommittedFiles> {
    let start = session.history.first().filter(|_| session.is_patch())?;
    Some(CommittedFiles::new(git, &session.name, &start.commit))
}
