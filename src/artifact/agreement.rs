//! Whether documents agree with the JSON that is derived from them. A run checks the same bytes at
//! every step, so results are cached.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};
use std::sync::{LazyLock, Mutex, PoisonError};

use super::ledger::records_of;
use super::sections::{self, Document, Documents};
use super::{Artifact, Files, RECORDS};

/// Maximum number of cached results: enough for three documents in the current and
/// the recorded version, and for some drafts.
const KEPT: usize = 32;

/// Hashes texts with a random key of this process.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Cached results by the hash of the texts, the newest last.
static ANSWERS: Mutex<VecDeque<(u64, bool)>> = Mutex::new(VecDeque::new());

/// True if every document agrees with its JSON.
///
/// # Errors
///
/// If a file cannot be read.
pub fn is_settled(files: &dyn Files) -> anyhow::Result<bool> {
    let files = &ReadOnce::new(files);
    for document in Document::ALL {
        if !agrees(files, document)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if a document is missing or its sections have the same records as its JSON.
fn agrees(files: &dyn Files, document: Document) -> anyhow::Result<bool> {
    let Some(text) = files.read(document.artifact())? else { return Ok(true) };
    let kinds = Documents::existing(files)?.kinds(document);
    let mut asked = HASHER.build_hasher();
    (document.artifact(), &text, kinds).hash(&mut asked);
    for json in RECORDS {
        files.read(json)?.hash(&mut asked);
    }
    let asked = asked.finish();
    let kept = || ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept().iter().find(|(key, _)| *key == asked).map(|(_, answer)| *answer);
    if let Some(answer) = known {
        return Ok(answer);
    }
    let answer = sections::gives(&text, &records_of(files)?, kinds);
    let mut kept = kept();
    if kept.len() >= KEPT {
        kept.pop_front();
    }
    kept.push_back((asked, answer));
    Ok(answer)
}

/// The same files, with each file read only once: for a check that reads them many times.
pub struct ReadOnce<'a> {
    files: &'a dyn Files,
    read: RefCell<BTreeMap<Artifact, Option<String>>>,
}

impl<'a> ReadOnce<'a> {
    /// Wraps `files`; nothing has been read yet.
    pub fn new(files: &'a dyn Files) -> Self {
        Self { files, read: RefCell::default() }
    }
}

impl Files for ReadOnce<'_> {
    fn read(&self, artifact: Artifact) -> anyhow::Result<Option<String>> {
        if let Some(text) = self.read.borrow().get(&artifact) {
            return Ok(text.clone());
        }
        let text = self.files.read(artifact)?;
        self.read.borrow_mut().insert(artifact, text.clone());
        Ok(text)
    }

    fn write(&self, artifact: Artifact, text: &str) -> anyhow::Result<()> {
        self.read.borrow_mut().remove(&artifact);
        self.files.write(artifact, text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::testing::Memory;
    use super::*;

    #[test]
    fn a_cached_result_is_not_used_for_changed_files() {
        let files = Memory::default();
        files.write(Artifact::Prd, "# P\n").unwrap();
        assert!(is_settled(&files).unwrap());
        let one = r#"{"requirements":[{"id":"REQ-001","title":"a"}]}"#;
        files.write(Artifact::Requirements, one).unwrap();
        assert!(!is_settled(&files).unwrap());
        files.write(Artifact::Requirements, r#"{"requirements":[]}"#).unwrap();
        assert!(is_settled(&files).unwrap());
    }

    #[test]
    fn a_file_is_read_once_unless_it_is_written() {
        let files = Memory::default();
        let once = ReadOnce::new(&files);
        once.write(Artifact::Prd, "a").unwrap();
        assert_eq!(once.read(Artifact::Prd).unwrap().as_deref(), Some("a"));
        files.write(Artifact::Prd, "b").unwrap();
        assert_eq!(once.read(Artifact::Prd).unwrap().as_deref(), Some("a"));
        once.write(Artifact::Prd, "c").unwrap();
        assert_eq!(once.read(Artifact::Prd).unwrap().as_deref(), Some("c"));
    }
}
