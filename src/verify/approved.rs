//! Which approved files of a session have changed since.

use std::{fmt, slice};

use anyhow::Result;

use super::approvals::{Approvals, approved_blob};
use super::passed_pieces::{Passed, PassedIn};
use super::problem::{Problem, short};
use crate::artifact::Artifact;
use crate::git::{self, DiffStyle, Git, Oid};
use crate::record::ApprovedContent;
use crate::session::{
    Entry, Kind, MergedChange, Session, approval_of, artifact_path, key, merged_changes,
};
use crate::stage::Stage;
use crate::stages::{self, Approves, code_stage};

/// A file that differs from the approved one.
struct Changed {
    stage: Stage,
    file: String,
    /// The commit with the approved file, if it is not the stage's own.
    passed_in: Option<Oid>,
}

/// Files that were approved with a stage and have changed since.
#[derive(Clone, Debug)]
pub struct ChangedAfterApproval {
    /// The stage.
    pub stage: Stage,
    /// The files.
    pub files: Vec<String>,
    /// Authors of the commits.
    pub by: Vec<String>,
    /// Lines added and removed.
    pub lines: u64,
}

impl fmt::Display for ChangedAfterApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count =
            if self.lines == 1 { "1 line".to_owned() } else { format!("{} lines", self.lines) };
        let (by, files) = (self.by.join(", "), self.files.join(", "));
        write!(f, "{}: changed after approval by {by}, {count}: {files}", self.stage)
    }
}

impl Approvals<'_> {
    /// Reports approved files that have changed.
    pub(super) fn problems(&self) -> Result<Vec<Problem>> {
        let Self { git, refs, session } = *self;
        let mut problems = Vec::new();
        let changes = merged_changes(git, refs, session)?;
        for Changed { stage, file, passed_in } in self.changed(&changes)? {
            let Some(approval) = approval_of(session, stage) else { continue };
            let commit = short(passed_in.as_ref().unwrap_or(&approval.commit));
            let details = format!("{file} is not what was approved with {stage} in {commit}");
            let name = &session.name;
            let mut ways =
                vec![format!("compare: git diff {commit} {} -- {file}", short(&session.tip))];
            let back = match &passed_in {
                Some(_) => Some(format!("git checkout {commit} -- {file}")),
                None => take_back(git, approval, &file)?,
            };
            ways.extend(back.map(|command| {
                format!(
                    "restore the approved version: {command} && git commit -m \"{stage}: as approved\""
                )
            }));
            let again = format!("git cowork review {name} --stage {stage} --pass");
            match approval.kind {
                // Another session approved this stage, and this session cannot be rewound to before its
                // own start.
                _ if approval.is_start() => ways.push(format!(
                    "or start from the stage before: git cowork new --from {}@STAGE",
                    approval.from().unwrap_or(name.as_str()).split('@').next().unwrap_or_default()
                )),
                Kind::Review(..) if Self::waits(session, stage) => {
                    ways.push(format!("or review {stage} again: git cowork resume {name}"));
                }
                _ => ways.push(format!("or approve it as it is now: {again}")),
            }
            let back = matches!(approval.kind, Kind::Stage(_)) && !approval.is_start();
            if back && !changes.is_empty() {
                // A revert would abandon later merges.
                ways.push(format!(
                    "or have it approved in a change request: git cowork modify --session {name} \"what to change\""
                ));
            } else if back {
                ways.push(format!(
                    "or approve {stage} again and redo the stages after it: git cowork revert {name} --to {stage}"
                ));
            }
            let problem = Problem::new(session, "changed-after-approval", file, details);
            problems.push(problem.fix(ways.join("; ")));
        }
        Ok(problems)
    }

    /// Files that were approved at a gate and have changed since, whoever changed them: documents
    /// (ignoring `status` fields), and code added after coding was approved.
    ///
    /// # Errors
    /// Git cannot be read.
    pub fn changed_since(&self) -> Result<Vec<(Stage, String)>> {
        let changes = merged_changes(self.git, self.refs, self.session)?;
        let changed = self.changed(&changes)?.into_iter();
        Ok(changed.map(|one| (one.stage, one.file)).collect())
    }

    fn changed(&self, changes: &[MergedChange]) -> Result<Vec<Changed>> {
        let Self { session, .. } = *self;
        let mut changed = Vec::new();
        for stage in session.order() {
            let files: Vec<(String, Option<Oid>)> = match stages::row(stage).approves {
                // A change request merged into the session changed the code, and its own gate approved
                // that.
                Approves::Tree if !changes.is_empty() => continue,
                Approves::Tree => match approval_of(session, stage) {
                    Some(entry) if entry.trailers.get(key::APPROVED).is_some() => {
                        let files = self.code(entry)?.into_iter();
                        files.map(|file| (file, None)).collect()
                    }
                    _ => continue,
                },
                Approves::Artifacts => self.documents(changes, stage)?,
            };
            let files = files.into_iter();
            changed.extend(files.map(|(file, passed_in)| Changed { stage, file, passed_in }));
        }
        Ok(changed)
    }

    /// True if a draft of this stage waits for review or for `resume`.
    fn waits(session: &Session, stage: Stage) -> bool {
        session.waiting().is_some_and(|waiting| waiting.stage == stage)
    }

    /// Like [`Self::changed_since`], by stage, with authors and number of lines.
    ///
    /// # Errors
    /// Git cannot be read.
    pub fn changed_after(&self) -> Result<Vec<ChangedAfterApproval>> {
        let Self { git, session, .. } = *self;
        let mut found: Vec<ChangedAfterApproval> = Vec::new();
        for (stage, file) in self.changed_since()? {
            match found.iter_mut().find(|one| one.stage == stage) {
                Some(one) => one.files.push(file),
                None => {
                    let (by, lines) = (Vec::new(), 0);
                    found.push(ChangedAfterApproval { stage, files: vec![file], by, lines });
                }
            }
        }
        for one in &mut found {
            let Some(entry) = approval_of(session, one.stage) else { continue };
            let counts = git::diff::text(
                git,
                &entry.commit,
                &session.tip,
                &one.files,
                DiffStyle::Counts,
                false,
            )?;
            let numbers = counts.lines().flat_map(|line| line.split('\t').take(2));
            one.lines = numbers.filter_map(|number| number.parse::<u64>().ok()).sum();
            let range = format!("{}..{}", entry.commit, session.tip);
            one.by = git::paths::authors(git, &range, &one.files)?;
        }
        Ok(found)
    }

    /// The documents of a stage that are not as approved, each with the commit that approved it if
    /// that is not the stage's own.
    fn documents(
        &self,
        changes: &[MergedChange],
        stage: Stage,
    ) -> Result<Vec<(String, Option<Oid>)>> {
        let Self { git, session, .. } = *self;
        let mut changed = Vec::new();
        for artifact in session.row(stage).artifacts {
            let name = artifact.file_name();
            let path = artifact_path(&session.name, *artifact);
            let blob = |commit: &Oid| git::snapshot::blob_id(git, commit, &path);
            // A file that did not exist when the stage was approved was not approved either.
            let Some((id, own)) = approved_blob(&session.history, name) else { continue };
            let Some(met) = passed_by_change(git, &path, own, changes)? else {
                // Two versions were approved independently: a person has merged the file.
                continue;
            };
            let mut now = blob(&session.tip)?;
            let mut renumbered = None;
            let is_passed = |now: Option<&Oid>| -> Result<bool> {
                let passed = match &met {
                    Some((_, left)) => left.clone(),
                    None if now.is_some_and(|now| now.as_str().starts_with(id)) => return Ok(true),
                    None => git::refs::object_id_at(git, id, &own.commit, &path)?,
                };
                let (Some(passed), Some(now)) = (passed, now) else { return Ok(false) };
                let content = |oid: &Oid| ApprovedContent(vec![(name.to_owned(), oid.clone())]);
                content(&passed).same_words(git, session, &content(now))
            };
            let mut same = is_passed(now.as_ref())?;
            // If git-cowork renumbered colliding ids, compare the version from before that.
            let renumbering = |entry: &&Entry| entry.trailers.get(key::RENUMBERED).is_some();
            for entry in session.history.iter().rev().filter(renumbering) {
                let after = if same { None } else { blob(&entry.commit)? };
                let before = entry.parents.first().map(blob).transpose()?.flatten();
                if after.is_none() || before == after {
                    continue;
                }
                if after == now {
                    now = before;
                    same = is_passed(now.as_ref())?;
                } else {
                    renumbered = renumbered.or_else(|| Some(entry.commit.clone()));
                }
            }
            if !same && met.is_none() {
                same = self.is_held((stage, *artifact), (own, id))?;
            }
            if !same {
                changed.push((path, renumbered.or(met.map(|(tip, _)| tip))));
            }
        }
        Ok(changed)
    }

    /// True if the session contains a file as approved in a commit, apart from renumbered ids and parts
    /// that were approved elsewhere.
    pub(super) fn is_held(
        &self,
        (stage, artifact): (Stage, Artifact),
        (approval, id): (&Entry, &str),
    ) -> Result<bool> {
        let Self { git, refs, session } = *self;
        let path = artifact_path(&session.name, artifact);
        let Some(blob) = git::refs::object_id_at(git, id, &approval.commit, &path)? else {
            return Ok(false);
        };
        let passed_in = |there: &Session| -> Result<Option<PassedIn>> {
            let Some((_, entry)) = approved_blob(&there.history, artifact.file_name()) else {
                return Ok(None);
            };
            let changes = merged_changes(git, refs, there)?;
            let changed = Approvals { git, refs, session: there }.documents(&changes, stage)?;
            let is_same = changed.iter().all(|(changed, _)| *changed != path);
            Ok(Some((entry.commit.clone(), is_same)))
        };
        Passed { git, session, artifact, approval, passed_in: &passed_in }.is_held(&blob)
    }

    /// Files of code that changed after coding was approved, unless coding is in progress again.
    fn code(&self, entry: &Entry) -> Result<Vec<String>> {
        let Self { git, session, .. } = *self;
        let later: Vec<&Entry> = session
            .history
            .iter()
            .skip_while(|other| other.commit != entry.commit)
            .filter(|other| other.commit != entry.commit)
            // A review alone, whoever made it, begins no work.
            .filter(|other| matches!(other.kind, Kind::Task(_) | Kind::Draft(_)))
            .collect();
        if later.iter().any(|other| other.trailers.get(key::STAGE) == Some(code_stage().name())) {
            // Coding is in progress again and will be approved again.
            return Ok(Vec::new());
        }
        let mut paths = git::paths::changed(git, &entry.commit, &session.tip)?;
        paths.retain(|path| !path.starts_with(".cowork/"));
        Ok(paths)
    }
}

/// The command that restores the approved version of a file in the working tree and the index, if
/// that version still exists.
fn take_back(git: &Git, approval: &Entry, path: &str) -> Result<Option<String>> {
    let there = git::snapshot::blob_id(git, &approval.commit, path)?;
    let commit = short(&approval.commit);
    let file = path.rsplit('/').next().unwrap_or(path);
    let id = approved_blob(slice::from_ref(approval), file).map(|(id, _)| id);
    Ok(match (there, id) {
        // The approving commit was amended.
        (Some(there), Some(id)) if !there.as_str().starts_with(id) => {
            let known = git::refs::object_id(git, id)?.is_some();
            known.then(|| format!("git show {id} >{path} && git add {path}"))
        }
        (Some(_), _) => Some(format!("git checkout {commit} -- {path}")),
        (None, Some(_)) => None,
        // A file of code that was added later.
        (None, None) => Some(format!("git rm {path}")),
    })
}

/// The tip of a change request, and the blob of the file there; `None` if it does not have the
/// file.
type Left = (Oid, Option<Oid>);

/// The approved version of a file in the only change request that changed it after the session
/// approved it: this version replaces the session's. The inner `None` means that there is no such
/// change request. The outer `None` means that it is not clear which version counts: several change
/// requests changed the file, or the session approved it again while the change request was in
/// progress.
fn passed_by_change(
    git: &Git,
    path: &str,
    own: &Entry,
    changes: &[MergedChange],
) -> Result<Option<Option<Left>>> {
    let of_session = git::snapshot::blob_id(git, &own.commit, path)?;
    let mut met: Option<Left> = None;
    for change in changes {
        let began = match &change.start {
            Some(start) => git::snapshot::blob_id(git, start, path)?,
            None => of_session.clone(),
        };
        let left = git::snapshot::blob_id(git, &change.tip, path)?;
        if left == began || git::refs::is_ancestor(git, &change.tip, &own.commit)? {
            continue;
        }
        let both = match &change.start {
            Some(start) => of_session != began && !git::refs::is_ancestor(git, &own.commit, start)?,
            None => false,
        };
        if both || met.is_some() {
            return Ok(None);
        }
        met = Some((change.tip.clone(), left));
    }
    Ok(Some(met))
}
