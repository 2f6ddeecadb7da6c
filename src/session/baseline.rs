//! The records of a change request's parent at its start.

use super::{CommittedFiles, Session, changes_within};
use crate::artifact::Store;
use crate::artifact::check::Baseline;
use crate::git::Git;

/// The records at a change request's start; `None` for a session that is not a change request.
///
/// # Errors
/// The start commit cannot be read.
pub(crate) fn baseline(git: &Git, session: &Session) -> anyhow::Result<Option<Baseline>> {
    let Some(before) = parents_files(git, session) else {
        // Merged change requests were checked against the limits separately.
        return with_merged(git, session, None);
    };
    let mut baseline = Baseline::in_store(&Store::new(&before))?;
    baseline.plans = session.scope.is_none_or(|scope| scope.plan);
    // Records that were merged since the start do not count as the change request's own.
    with_merged(git, session, Some(baseline))
}

/// Adds the records brought in by the parent and by other change requests that were merged.
fn with_merged(
    git: &Git,
    session: &Session,
    mut baseline: Option<Baseline>,
) -> anyhow::Result<Option<Baseline>> {
    for (_, entry) in changes_within(git, session)? {
        let theirs = CommittedFiles::new(git, &session.name, &entry.commit);
        let theirs = Baseline::in_store(&Store::new(&theirs))?;
        match &mut baseline {
            Some(baseline) => {
                // What another change request removed, this one did not.
                baseline.code.retain(|code| theirs.ids.contains(&code.record));
                baseline.ids.extend(theirs.ids);
                for (id, criteria) in theirs.criteria {
                    baseline.criteria.entry(id).or_default().extend(criteria);
                }
            }
            None => baseline = Some(Baseline { code: Vec::new(), ..theirs }),
        }
    }
    Ok(baseline)
}

/// The artifacts at a change request's start.
pub(crate) fn parents_files(git: &Git, session: &Session) -> Option<CommittedFiles> {
    let start = session.history.first().filter(|_| session.is_patch())?;
    Some(CommittedFiles::new(git, &session.name, &start.commit))
}
