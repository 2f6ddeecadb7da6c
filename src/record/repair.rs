//! The changes of `verify --fix`: ids that collided in a merge get new numbers and unreadable files
//! are restored, each in a separate commit; tags that point elsewhere and drafts that no run can
//! resume are removed. The commits they pointed to are first saved as attempts, in the same
//! transaction.

use super::{Recorded, Recorder, Refused, attempt, commit, point};
use crate::git::{self, CommitOutcome, Oid, RefInfo, RefTransaction};
use crate::session::{Message, RefNames, key};

/// Maximum length of a line that is the subject of a commit.
const SUBJECT: usize = 60;

/// Deletes these refs of the session; returns a line for each, with the attempt that replaces it.
pub fn set_aside(recorder: &Recorder<'_>, refs: &[RefInfo]) -> anyhow::Result<Vec<String>> {
    let mut number = attempt::numbers(recorder)?.into_iter().max().unwrap_or(0);
    let mut transaction = RefTransaction::new("cowork: verify --fix");
    let mut kept = Vec::new();
    for info in refs {
        number = number.saturating_add(1);
        let attempt = RefNames::attempt(recorder.name, number);
        transaction = transaction.create(&attempt, &info.oid);
        transaction = transaction.delete(&info.name, &info.object);
        kept.push(format!("{} is now {attempt}", info.name));
    }
    point("set-aside.before-refs");
    transaction.commit(recorder.git)?;
    point("set-aside.after-refs");
    Ok(kept)
}

/// Commits what `verify --fix` renumbered, on the branch that is checked out: it need not be the
/// session's own, because collisions come with merges. `moved`: a change request, an id that it
/// assigned, and the new id of that record.
pub fn commit_renumbered(
    recorder: &Recorder<'_>,
    tip: &Oid,
    moved: &[[String; 3]],
) -> anyhow::Result<Recorded> {
    let told: Vec<String> =
        moved.iter().map(|[name, from, to]| format!("{from} of {name} is {to} now")).collect();
    let subject = match &told[..] {
        [one] => format!("Renumber: {one}"),
        all => format!("Renumber {} ids that collided in a merge", all.len()),
    };
    let body: Vec<String> = told.iter().map(|line| format!("- {line}")).collect();
    let mut trailers = recorder.base_trailers();
    for one in moved {
        trailers.push(key::RENUMBERED, one.join(" "));
    }
    let message = Message { subject, body: body.join("\n"), trailers };
    let folder = recorder.name.artifact_dir();
    let dirty = git::status::of(recorder.git, &[&folder])?;
    let paths: Vec<String> = dirty.into_iter().map(|entry| entry.path).collect();
    let recorded = commit_here(recorder, tip, &paths, &message)?;
    recorder.workspace.written().clear()?;
    Ok(recorded)
}

/// Commits the JSON in `paths`, which was regenerated from the documents, on the branch that is
/// checked out; `lines` name the files.
pub fn commit_derived(
    recorder: &Recorder<'_>,
    tip: &Oid,
    paths: &[String],
    lines: &[String],
) -> anyhow::Result<Recorded> {
    let subject = match lines {
        [one] if one.len() <= SUBJECT => format!("Records: {one}"),
        _ => "Records: regenerate from the documents".to_owned(),
    };
    let body: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    let message = Message { subject, body: body.join("\n"), trailers: recorder.base_trailers() };
    let recorded = commit_here(recorder, tip, paths, &message)?;
    recorder.workspace.written().forget(paths)?;
    Ok(recorded)
}

/// Commits files that `verify --fix` restored, on the branch that is checked out; `lines` name the
/// files and their origin.
pub fn commit_restored(
    recorder: &Recorder<'_>,
    tip: &Oid,
    paths: &[String],
    lines: &[String],
) -> anyhow::Result<Recorded> {
    let subject = match lines {
        [one] => format!("Restore {}", one.split(':').next().unwrap_or(one)),
        all => format!("Restore {} files that could not be read", all.len()),
    };
    let body: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    // It completes nothing, and is not an event of the session either.
    let message = Message { subject, body: body.join("\n"), trailers: recorder.base_trailers() };
    point("restored.before-commit");
    let recorded = commit_here(recorder, tip, paths, &message);
    point("restored.after-commit");
    recorded
}

/// Makes a commit on the branch that is checked out, whichever it is.
fn commit_here(
    recorder: &Recorder<'_>,
    tip: &Oid,
    paths: &[String],
    message: &Message,
) -> anyhow::Result<Recorded> {
    if recorder.git.head()?.oid() != Some(tip) {
        return Err(
            crate::error::Error::repository("HEAD moved while git-cowork was working").into()
        );
    }
    Ok(match commit::with_hooks(recorder, tip, paths, &message.render())?.0 {
        CommitOutcome::Committed(commit) => Recorded::Done(commit),
        CommitOutcome::HookRefused { hook, output } => {
            Recorded::Refused(Refused::Hook { hook, output })
        }
    })
}
