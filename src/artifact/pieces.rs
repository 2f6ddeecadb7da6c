//! Splits a session's file into its records and the lines of prose between them. This allows
//! comparing two versions whose order or ids may differ.

use super::sections::{Document, Documents, Record, RecordFiles, Records, read_plainly};
use super::{Artifact, Files, RECORDS, Renumbered, renumber_text};

/// Returns the records in a version of a file, and the lines that belong to no record. Ids are
/// first replaced according to the entries of `done` with side 0; entries that come from
/// `Cowork-Renumbered` trailers always have side 0. Returns `None` for a file that contains no
/// records or cannot be read. `files` determines which documents exist.
///
/// # Errors
///
/// If a file of `files` cannot be read.
pub fn pieces(
    files: &dyn Files,
    artifact: Artifact,
    text: &str,
    done: &[Renumbered],
) -> anyhow::Result<Option<Vec<String>>> {
    let text = renumber_text(text, 0, done);
    if let Some(document) = Document::of_artifact(artifact) {
        let kinds = Documents::existing(files)?.kinds(document);
        let reading = read_plainly(&text, kinds, &Records::default());
        let prose = reading.without(&text, |_| true);
        let lines = prose.lines().map(str::trim).filter(|line| !line.is_empty());
        let records = reading.records().into_records().map(|record| described(&record));
        return Ok(Some(records.chain(lines.map(str::to_owned)).collect()));
    }
    let mut json = RecordFiles::default();
    let is_read = RECORDS.contains(&artifact) && json.read(artifact, &text).is_ok();
    let records = json.records().into_records().map(|record| described(&record));
    Ok(is_read.then(|| records.collect()))
}

fn described(record: &Record) -> String {
    format!("{:?}", record.written())
}
