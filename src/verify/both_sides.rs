//! Compares the documents of finished stages with the JSON derived from them.
//!
//! There is a cache of the trees of session folders whose documents match the JSON beside them.
//! `status` and `log` check the same tree each time, and for a plan of 500 tasks the check takes
//! longer than everything else they do. A tree never changes, so an entry stays valid; if the cache file is
//! missing, the check only runs once more.
//!
//! The cache is not used if git may replace objects.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::problem::{Problem, uncommitted};
use crate::artifact::sections::{Document, RemarkKind, Writer};
use crate::artifact::{
    Artifact, Compared, Files, Ledger, RECORDS, RecordProblem, document_of, is_plainly_same,
};
use crate::error::Error;
use crate::git::{self, Git, Object, Oid, Reader};
use crate::record::{self, Recorded, Recorder};
use crate::replace_file::replace_file;
use crate::session::{
    CommittedFiles, KeptDraft, KnownRecords, Session, artifact_path, kept_draft, recorded_files,
};

/// Compares the documents of finished stages at the tip with the JSON.
///
/// # Errors
/// Git cannot be read, or the session is of a format whose documents held no records.
pub(super) fn compared(git: &Git, session: &Session) -> anyhow::Result<Compared> {
    let files = CommittedFiles::new(git, &session.name, &session.tip);
    if is_plainly_same(&files) {
        return Ok(Compared::default());
    }
    if let Some(format) = &session.older {
        // Before 1.1 the JSON was the source: written again from such documents, it lost the records.
        let name = &session.name;
        return Err(Error::repository(format!(
            "the documents of session '{name}', in format {format}, do not hold its records"
        ))
        .hint("use the git-cowork that wrote it")
        .into());
    }
    let (recorded, history) = (recorded_files(git, session)?, KnownRecords::read(git, session)?);
    let ledger = Ledger { files: &files, recorded: &recorded, history: &history };
    ledger.compare(&looked_at(git, session)?)
}

fn looked_at(git: &Git, session: &Session) -> anyhow::Result<Vec<Document>> {
    let finished = Finished::find(git, session, git.reader().as_ref())?;
    let counts = |document: &Document| finished.has_left(document.artifact());
    Ok(Document::ALL.into_iter().filter(counts).collect())
}

/// Describes an unreadable document: `.cowork/sessions/todo/prd.md:12: …`.
fn told(session: &Session, found: &RecordProblem) -> String {
    let path = artifact_path(&session.name, found.artifact);
    match found.line {
        0 => format!("{path} {}", found.text),
        line => format!("{path}:{line}: {}", found.text),
    }
}

/// The problems for `verify`. `tellable` are the duplicate ids whose origins are known.
pub(super) fn problems(
    session: &Session,
    compared: &Compared,
    tellable: &BTreeSet<String>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for found in &compared.unreadable {
        let details = told(session, found);
        let path = artifact_path(&session.name, found.artifact);
        let id = found.id.clone().unwrap_or_default();
        problems.push(match found.kind == RemarkKind::RepeatedId {
            true if tellable.contains(&id) => {
                Problem::new(session, "duplicate-id", id, details).fixable()
            }
            true => Problem::new(session, "duplicate-id", id, details).fix(
                "git-cowork cannot tell which record came first: change the id of one of them by hand, also in references to it, then commit",
            ),
            false => Problem::new(session, "unreadable-record", &path, details)
                .fix(format!("correct it in {path} by hand, then commit")),
        });
    }
    for found in &compared.different {
        let code = if found.line == 0 { "schema" } else { "records-differ" };
        let about =
            found.id.clone().unwrap_or_else(|| artifact_path(&session.name, found.artifact));
        problems.push(Problem::new(session, code, about, told(session, found)).fixable());
    }
    problems
}

/// The reasons why committed documents cannot be read, a line each.
///
/// # Errors
/// Git cannot be read.
pub fn unreadable_records(git: &Git, session: &Session) -> anyhow::Result<Vec<String>> {
    let asked = AskedTree::at_tip(git, session);
    if asked.as_ref().is_some_and(AskedTree::is_known) {
        return Ok(Vec::new());
    }
    let compared = compared(git, session)?;
    if compared.is_same() && compared.broken.is_empty() {
        asked.iter().for_each(AskedTree::keep);
    }
    Ok(compared.unreadable.iter().map(|found| told(session, found)).collect())
}

/// True if an artifact is JSON that is unreadable at the tip, but can be derived from its document.
pub(super) fn is_derivable(git: &Git, session: &Session, artifact: Artifact) -> bool {
    RECORDS.contains(&artifact)
        && compared(git, session).is_ok_and(|compared| {
            compared.unreadable.is_empty() && compared.broken.contains(&artifact)
        })
}

/// Regenerates JSON that differs from the documents and commits it on the checked-out branch.
/// Returns a description of each change. Without `always`, does this only after a merge or if JSON
/// is unreadable; otherwise, the stage in progress does it.
///
/// # Errors
/// Exit 5: a document cannot be read, or a hook rejects the commit.
pub fn follow_documents(
    git: &Git,
    session: &Session,
    recorder: &Recorder<'_>,
    always: bool,
) -> anyhow::Result<Vec<String>> {
    if git.head()?.oid() != Some(&session.tip) {
        return Ok(Vec::new());
    }
    let compared = compared(git, session)?;
    if compared.different.is_empty() || !compared.unreadable.is_empty() {
        return Ok(Vec::new());
    }
    let merged = merged_since(git, session)?;
    if !always && merged.is_empty() && compared.broken.is_empty() {
        return Ok(Vec::new());
    }
    let records = Document::ALL.iter().map(|one| one.artifact()).chain(RECORDS);
    let paths: Vec<String> = records.map(|one| artifact_path(&session.name, one)).collect();
    let dirty = git::status::of(git, &paths)?;
    let path = |json: &Artifact| artifact_path(&session.name, *json);
    let is_edited = |json: &Artifact| dirty.iter().any(|entry| entry.path == path(json));
    if !dirty.is_empty() && (compared.broken.is_empty() || compared.broken.iter().any(is_edited)) {
        // Files being edited are read when the edit is finished.
        return Ok(Vec::new());
    }
    let folder = session.name.artifact_dir();
    let there = recorder.workspace.session_files(folder.clone(), folder);
    // An edit of a document beside broken JSON is not committed with it.
    let committed = CommittedFiles::new(git, &session.name, &session.tip);
    let tip = Tip { committed, there: &there };
    let files: &dyn Files = if dirty.is_empty() { &there } else { &tip };
    let (recorded, history) = (recorded_files(git, session)?, KnownRecords::read(git, session)?);
    let (mut lines, mut changed) = (Vec::new(), Vec::new());
    if merged.is_empty() && compared.broken.is_empty() {
        // New records in a document get their numbers.
        let ledger = Ledger { files: &there, recorded: &recorded, history: &history };
        let settled = ledger.settle(Writer::Person)?;
        if !settled.refusals.is_empty() {
            return Err(Error::repository(settled.refusals.join("\n")).into());
        }
        changed.extend(settled.changed.iter().copied());
        for one in &settled.changed {
            let line = regenerated(&there, *one)?;
            lines.push(line.unwrap_or_else(|| format!("{} has new numbers", one.file_name())));
        }
    }
    let sides: Vec<CommittedFiles> =
        merged.iter().map(|commit| CommittedFiles::new(git, &session.name, commit)).collect();
    let views: Vec<&dyn Files> = sides.iter().map(|side| side as &dyn Files).collect();
    let ledger = Ledger { files, recorded: &recorded, history: &history };
    for artifact in ledger.derive(&looked_at(git, session)?, &views)? {
        if !changed.contains(&artifact) {
            changed.push(artifact);
            lines.extend(regenerated(files, artifact)?);
        }
    }
    if lines.is_empty() {
        return Ok(lines);
    }
    let changed: Vec<String> = changed.iter().map(path).collect();
    match record::repair::commit_derived(recorder, &session.tip, &changed, &lines)? {
        Recorded::Done(_) => Ok(lines),
        Recorded::Refused(why) => Err(uncommitted(&why)),
    }
}

/// The artifacts of the tip; writing changes the working tree.
struct Tip<'a> {
    committed: CommittedFiles,
    there: &'a dyn Files,
}

impl Files for Tip<'_> {
    fn read(&self, artifact: Artifact) -> anyhow::Result<Option<String>> {
        self.committed.read(artifact)
    }

    fn write(&self, artifact: Artifact, text: &str) -> anyhow::Result<()> {
        self.there.write(artifact, text)
    }
}

fn regenerated(files: &dyn Files, json: Artifact) -> anyhow::Result<Option<String>> {
    let document = document_of(files, json)?;
    Ok(document.map(|document| {
        format!("{} was regenerated from {}", json.file_name(), document.file_name())
    }))
}

/// The parents of merges since the newest commit of the session.
fn merged_since(git: &Git, session: &Session) -> anyhow::Result<Vec<Oid>> {
    let newest: Vec<Oid> =
        session.history.last().map(|entry| entry.commit.clone()).into_iter().collect();
    let found = git.reader().walk(std::slice::from_ref(&session.tip), &newest)?;
    let merges = found.into_iter().filter(|commit| commit.parents.len() > 1);
    Ok(merges.flat_map(|commit| commit.parents).collect())
}

/// Name of the file in the state directory.
const FILE: &str = "readable";

/// The first line: format version and git-cowork version.
const FIRST: &str = concat!("readable 1 git-cowork ", env!("CARGO_PKG_VERSION"));

/// Maximum number of trees; then the file is started from scratch.
const MOST: usize = 1024;

/// The tree of a session's folder to check.
pub(super) struct AskedTree {
    tree: Oid,
    path: PathBuf,
    kept: Vec<String>,
}

impl AskedTree {
    /// The tree at a session's tip; `None` if the cache cannot be used.
    pub(super) fn at_tip(git: &Git, session: &Session) -> Option<Self> {
        if !git::fallback::is_history_as_written(git) {
            return None;
        }
        let folder = session.name.artifact_dir();
        let [tree] = &mut git.reader().entries(&session.tip, &[&folder]).ok()?[..] else {
            return None;
        };
        let tree = tree.take()?.oid;
        let path = git.state_dir().join(FILE);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut lines = text.lines();
        // A damaged file is started from scratch.
        let is_ours = lines.next() == Some(FIRST) && text.ends_with('\n');
        let kept = lines.filter(|_| is_ours).map(str::to_owned).collect();
        Some(Self { tree, path, kept })
    }

    /// True if its documents are known to match the JSON.
    pub(super) fn is_known(&self) -> bool {
        self.kept.iter().any(|tree| *tree == self.tree.as_str())
    }

    /// Adds the tree to the cache. If the file cannot be written, the command still succeeds.
    pub(super) fn keep(&self) {
        let earlier = if self.kept.len() < MOST { &self.kept[..] } else { &[] };
        let trees = earlier.iter().map(String::as_str).chain([self.tree.as_str()]);
        let text: String = [FIRST].into_iter().chain(trees).flat_map(|line| [line, "\n"]).collect();
        let made = self.path.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = made.and_then(|()| replace_file(&self.path, text.as_bytes())) {
            tracing::debug!(%error, "cannot save the list of readable trees");
        }
    }

    /// The problem for `verify` if the cache says the documents match the JSON, but they do not.
    pub(super) fn problem(&self, session: &Session) -> Option<Problem> {
        let details = "says that the documents match the JSON, but they do not";
        self.is_known()
            .then(|| Problem::to_remove(session, "kept-answer-differs", &self.path, details))
    }
}

/// The artifacts that must exist.
pub(super) struct Finished {
    artifacts: Vec<Artifact>,
    /// True if a squash removed the information about which stages are finished.
    unknown: bool,
}

impl Finished {
    pub(super) fn find(git: &Git, session: &Session, reader: &dyn Reader) -> anyhow::Result<Self> {
        let done = session.done();
        let mut artifacts = vec![Artifact::Session];
        artifacts.extend(done.iter().flat_map(|stage| session.row(*stage).own_artifacts()));
        if let Some(start) = session.history.first().filter(|_| session.is_patch()) {
            // A change request edits the parent's files in place, so those that existed at its
            // start must exist. The documents of the stage in progress are left out: they are its
            // draft.
            let drafted = match session.next_stage().filter(|stage| !done.contains(stage)) {
                Some(stage) if drafting(git, session, stage)? => session.row(stage).artifacts,
                _ => &[],
            };
            for artifact in Artifact::ALL {
                let path = artifact_path(&session.name, artifact);
                if !drafted.contains(&artifact)
                    && reader.blob(Object::At(&start.commit, &path))?.is_some()
                {
                    artifacts.push(artifact);
                }
            }
        }
        Ok(Self { artifacts, unknown: session.history.is_empty() })
    }

    /// True if the artifact belongs to a finished stage, or if that is unknown.
    pub(super) fn has_left(&self, artifact: Artifact) -> bool {
        self.unknown || self.leaves(artifact)
    }

    pub(super) fn leaves(&self, artifact: Artifact) -> bool {
        self.artifacts.contains(&artifact)
    }

    /// The feedback file belongs to all stages, if it exists.
    pub(super) fn always(&self, artifact: Artifact, there: bool) -> bool {
        there && (artifact == Artifact::Feedback || self.unknown)
    }
}

/// True if the stage has a draft, waiting or saved.
fn drafting(git: &Git, session: &Session, stage: crate::stage::Stage) -> anyhow::Result<bool> {
    Ok(session.waiting().is_some()
        || matches!(kept_draft(git, session, stage)?, Some(KeptDraft::Live(_))))
}
