//! Updates the records from documents that a person edited, without a model.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::artifact::sections::Writer;
use crate::artifact::{Artifact, Files, Ledger, Settled, is_settled};
use crate::gate::comments;
use crate::git::Oid;
use crate::pipeline::brief::draft_ids;
use crate::pipeline::protected_files;
use crate::pipeline::run::Run;
use crate::session::recorded_files;
use crate::verify;

/// Runs `look` on the [`Ledger`] of the session's working tree.
fn with_ledger<T: Default>(
    run: &Run<'_>,
    files: &dyn Files,
    look: impl FnOnce(&Ledger<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if is_settled(files)? {
        // The whole history is read only if something was changed.
        return Ok(T::default());
    }
    let records = run.known_records()?;
    let committed_files = recorded_files(run.env.git, &run.session)?;
    let history = draft_ids::load(run).after(records.as_ref(), Writer::Person);
    look(&Ledger { files, recorded: &committed_files, history: &history })
}

/// Puts back a person's edits of the JSON, which is generated from the documents. Returns true if
/// there were any.
pub(crate) fn put_back_json(run: &Run<'_>) -> anyhow::Result<bool> {
    protected_files::tell_of_user_files(run);
    let lines = verify::put_back_json(run.env.git, &run.session, &run.recorder())?;
    let is_put_back = !lines.is_empty();
    lines.into_iter().for_each(|line| run.warn(line));
    // The attempt contains what was written over.
    run.env.workspace.command_effects().take_user_files();
    Ok(is_put_back)
}

/// Reads the documents as a person left them, and writes the JSON derived from them. Reports the
/// notes; the caller handles refusals.
pub(crate) fn settle(run: &Run<'_>) -> anyhow::Result<Settled> {
    put_back_json(run)?;
    let result = with_ledger(run, &run.files, |ledger| {
        let result = ledger.settle(Writer::Person)?;
        // A number that was given here is not given again if its record is deleted.
        draft_ids::see(run, ledger)?;
        Ok(result)
    })?;
    // The copies of documents with a person's edits need no report: they got numbers only.
    run.env.workspace.command_effects().take_user_files();
    if result.refusals.is_empty() {
        result.notes.iter().for_each(|note| run.note(note.clone()));
    }
    Ok(result)
}

/// The parts of a person's edits that cannot be parsed, ignoring comments on the draft they were
/// shown.
pub(crate) fn unreadable(run: &Run<'_>, shown: Option<&Oid>) -> anyhow::Result<Vec<String>> {
    let commit = shown.unwrap_or(&run.session.tip);
    let files = WithoutComments {
        files: &run.files,
        shown: &run.files_at(commit),
        prefix: &run.env.config.review.comment_prefix,
    };
    let look: fn(&Ledger<'_>) -> anyhow::Result<Vec<String>> = |ledger| Ledger::unreadable(ledger);
    with_ledger(run, &files, look)
}

/// Calls `look` with the session's files as they will be after the records have been adapted to the
/// person's edits. Writes nothing to disk.
pub(crate) fn as_settled<T>(
    run: &Run<'_>,
    look: impl FnOnce(&dyn Files) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let overlay = InMemory { files: &run.files, written: RefCell::default() };
    with_ledger(run, &overlay, |ledger| ledger.settle(Writer::Person))?;
    look(&overlay)
}

/// Files read from disk, with writes held in memory.
struct InMemory<'a> {
    files: &'a dyn Files,
    written: RefCell<BTreeMap<Artifact, String>>,
}

impl Files for InMemory<'_> {
    fn read(&self, artifact: Artifact) -> anyhow::Result<Option<String>> {
        match self.written.borrow().get(&artifact) {
            Some(text) => Ok(Some(text.clone())),
            None => self.files.read(artifact),
        }
    }

    fn write(&self, artifact: Artifact, text: &str) -> anyhow::Result<()> {
        self.written.borrow_mut().insert(artifact, text.to_owned());
        Ok(())
    }
}

/// Files without the comments that were added to them since they were shown.
struct WithoutComments<'a> {
    files: &'a dyn Files,
    shown: &'a dyn Files,
    prefix: &'a str,
}

impl Files for WithoutComments<'_> {
    fn read(&self, artifact: Artifact) -> anyhow::Result<Option<String>> {
        let Some(text) = self.files.read(artifact)? else { return Ok(None) };
        let before = self.shown.read(artifact)?.unwrap_or_default();
        Ok(Some(comments::take(&text, &before, self.prefix).text))
    }

    fn write(&self, artifact: Artifact, text: &str) -> anyhow::Result<()> {
        self.files.write(artifact, text)
    }
}
