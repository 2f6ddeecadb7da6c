//! Merges the documents and the JSON of a session: documents by section, JSON derived from the
//! merged documents.

use std::collections::BTreeMap;

use super::derived::{readable_json, rendered};
use super::ledger::replace;
use super::sections::{
    self, Document, Documents, MergeProse, Records, Texts, further_status, read_plainly,
};
use super::{Artifact, Files, IdFloors, IdKind, Renumbered, renumber_text};

/// The result of a merge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergedFiles {
    /// The merged documents and record files.
    pub files: Vec<(Artifact, String)>,
    /// Records of the other side (`theirs`) that got new ids.
    pub renumbered: Vec<Renumbered>,
}

/// Files in which the old ids that `done` lists for side 1 are replaced when the files are read.
pub struct RenumberedFiles<'a> {
    /// The files before renumbering.
    pub files: &'a dyn Files,
    /// The new ids of records of side 1.
    pub done: &'a [Renumbered],
}

impl Files for RenumberedFiles<'_> {
    fn read(&self, artifact: Artifact) -> anyhow::Result<Option<String>> {
        Ok(self.files.read(artifact)?.map(|text| renumber_text(&text, 1, self.done)))
    }

    fn write(&self, artifact: Artifact, text: &str) -> anyhow::Result<()> {
        self.files.write(artifact, text)
    }
}

/// Merges two versions of a session's files. `resolved` are documents that a person has merged.
///
/// # Errors
///
/// If a file cannot be read. The inner error lists conflicts that only a person can resolve:
/// `prd.md: …`.
pub fn merge_files(
    [base, ours, theirs]: [&dyn Files; 3],
    resolved: &BTreeMap<Document, String>,
    floors: &mut IdFloors,
    prose: &MergeProse<'_>,
) -> anyhow::Result<Result<MergedFiles, Vec<String>>> {
    let [old, our, their] = texts_of([base, ours, theirs], resolved)?;
    let merged = match sections::merge(&old, &our, &their, floors, prose) {
        Ok(merged) => merged,
        Err(conflicts) => {
            let told = conflicts.iter().map(|conflict| {
                format!("{}: {}", conflict.document.artifact().file_name(), conflict.text)
            });
            return Ok(Err(told.collect()));
        }
    };
    let theirs = RenumberedFiles { files: theirs, done: &merged.renumbered };
    let json = json_of(&merged.texts, base, ours, &theirs)?;
    let documents = merged.texts.iter().map(|(document, text)| (document.artifact(), text.clone()));
    let files = documents.chain(json).collect();
    Ok(Ok(MergedFiles { files, renumbered: merged.renumbered }))
}

/// Returns the documents of three versions.
fn texts_of(
    versions: [&dyn Files; 3],
    resolved: &BTreeMap<Document, String>,
) -> anyhow::Result<[Texts; 3]> {
    let mut texts = [Texts::new(), Texts::new(), Texts::new()];
    for document in Document::ALL {
        for (files, texts) in versions.into_iter().zip(&mut texts) {
            let text = match resolved.get(&document) {
                Some(text) => Some(text.clone()),
                None => files.read(document.artifact())?,
            };
            texts.extend(text.map(|text| (document, text)));
        }
    }
    Ok(texts)
}

/// Returns the JSON for merged documents. Fields that exist only in JSON come from both sides; of
/// two statuses, the more advanced one is used.
fn json_of(
    texts: &Texts,
    base: &dyn Files,
    ours: &dyn Files,
    theirs: &dyn Files,
) -> anyhow::Result<Vec<(Artifact, String)>> {
    let (old, _) = readable_json(ours, base)?;
    let their = readable_json(theirs, base)?.0.records();
    let ours_only = old.records();
    let more = their.iter().filter(|record| !ours_only.has(record.id()));
    let present: Records = ours_only.iter().chain(more).collect();
    let mut documents = Documents::default();
    texts.keys().for_each(|document| documents.add(*document));
    let mut records = present.clone();
    for (document, text) in texts {
        let kinds = documents.kinds(*document);
        replace(&mut records, kinds, &read_plainly(text, kinds, &present));
    }
    let mut new = old.derived(&records, &IdKind::ALL);
    let further = further_status(new.records(), &their);
    new.set_records(further);
    let mut json = Vec::new();
    for (artifact, text, _) in rendered(&old, &new, documents)? {
        if ours.read(artifact)?.is_some() || theirs.read(artifact)?.is_some() {
            json.push((artifact, text));
        }
    }
    Ok(json)
}
