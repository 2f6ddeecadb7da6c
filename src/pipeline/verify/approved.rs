//! Whether what a person passed is still what the session holds.

use super::super::table::{self, Approves};
use super::{Problem, short};
use crate::git::{Git, Oid};
use crate::record::Bytes;
use crate::session::{Entry, Kind, Session, SessionName, artifact_path, changes_within, key};
use crate::stage::Stage;

pub(super) fn problems(git: &Git, session: &Session) -> anyhow::Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for (stage, file) in changed_since_approval(git, session)? {
        let Some(approval) = approval(session, stage) else { continue };
        let commit = short(&approval.commit);
        let details = format!("{file} is not what was approved with {stage} in {commit}");
        let name = &session.name;
        let mut ways = vec![format!("look: git diff {commit} {} -- {file}", short(&session.tip))];
        ways.extend(take_back(git, &approval, &file)?.map(|command| {
            format!(
                "take the approved bytes back: {command} && git commit -m \"{stage}: as approved\""
            )
        }));
        ways.push(match approval.kind {
            Kind::Review(..) => format!("or have {stage} ask again: git cowork resume {name}"),
            _ => format!(
                "or have {stage} approved anew, which what follows is done again after: git cowork revert {name} --to {stage}"
            ),
        });
        let problem = Problem::new(session, "changed-after-approval", file, details);
        problems.push(problem.fix(ways.join("; ")));
    }
    Ok(problems)
}

/// The command that puts the approved bytes of a file into the working tree and the index, where
/// they are still known.
fn take_back(git: &Git, approval: &Entry, path: &str) -> anyhow::Result<Option<String>> {
    let there = git.blob_id(&approval.commit, path)?;
    let commit = short(&approval.commit);
    let approved = approval.trailers.get(key::APPROVED).unwrap_or_default();
    let named = approved.split_whitespace().filter_map(|item| item.split_once('@'));
    let file = path.rsplit('/').next().unwrap_or(path);
    let id = named.into_iter().find(|(name, _)| *name == file).map(|(_, id)| id);
    Ok(match (there, id) {
        // The commit that says so was amended.
        (Some(there), Some(id)) if !there.as_str().starts_with(id) => {
            let known = git.object(id)?.is_some();
            known.then(|| format!("git show {id} >{path} && git add {path}"))
        }
        (Some(_), _) => Some(format!("git checkout {commit} -- {path}")),
        (None, Some(_)) => None,
        // Code that came later.
        (None, None) => Some(format!("git rm {path}")),
    })
}

/// What was passed at a gate and is something else at the tip now, whoever changed it: documents,
/// compared without `status` fields, and code that came after coding was approved.
///
/// # Errors
/// Git cannot be read.
pub fn changed_since_approval(
    git: &Git,
    session: &Session,
) -> anyhow::Result<Vec<(Stage, String)>> {
    let mut changed = Vec::new();
    let changes = changes_within(git, session)?;
    for stage in session.order() {
        let files = match table::row(stage).approves {
            // What a change request made of it was passed there.
            Approves::Tree if !changes.is_empty() => continue,
            Approves::Tree => match approval(session, stage) {
                Some(entry) if entry.trailers.get(key::APPROVED).is_some() => {
                    code(git, session, &entry)?
                }
                _ => continue,
            },
            Approves::Artifacts => documents(git, session, &changes, stage)?,
        };
        changed.extend(files.into_iter().map(|file| (stage, file)));
    }
    Ok(changed)
}

/// What says that a stage was passed: the answer to its waiting draft, else its newest commit.
fn approval(session: &Session, stage: Stage) -> Option<Entry> {
    let waiting = session.waiting().filter(|waiting| waiting.stage == stage);
    match waiting.and_then(|waiting| waiting.answer) {
        Some(answer) => Some(answer),
        None => session.stage_entry(stage).cloned(),
    }
}

fn documents(
    git: &Git,
    session: &Session,
    changes: &[(SessionName, Entry)],
    stage: Stage,
) -> anyhow::Result<Vec<String>> {
    let reader = git.reader();
    let mut changed = Vec::new();
    for artifact in table::row(stage).artifacts {
        let name = artifact.file_name();
        let path = artifact_path(&session.name, *artifact);
        // What change requests have passed counts instead; where two of them met, a person has put
        // both together.
        let blob = |commit: &Oid| git.blob_id(commit, &path);
        let own = session.last_stage().map(|(_, entry)| &entry.commit);
        let before = own.map(blob).transpose()?.flatten();
        let mut passed_by_changes = Vec::new();
        for (_, entry) in changes {
            let left = blob(&entry.commit)?;
            if left != before {
                passed_by_changes.push(left);
            }
        }
        let now = blob(&session.tip)?;
        if passed_by_changes.len() > 1
            || (passed_by_changes.len() == 1 && passed_by_changes[0] == now)
        {
            continue;
        }
        let Some(id) = passed(session, name) else {
            // A file that was not there then was not passed either.
            continue;
        };
        let same = match (&now, git.object(id)?) {
            (Some(now), _) if now.as_str().starts_with(id) => true,
            (Some(now), Some(passed)) => {
                let bytes = |oid: &Oid| Bytes(vec![(name.to_owned(), oid.clone())]);
                bytes(&passed).same(reader.as_ref(), &bytes(now))?
                    || !git.differs_beyond_whitespace(&passed, now)?
            }
            _ => false,
        };
        if !same {
            changed.push(path);
        }
    }
    Ok(changed)
}

/// The blob of a file that was passed last, by whichever commit.
fn passed<'s>(session: &'s Session, file: &str) -> Option<&'s str> {
    session.history.iter().rev().find_map(|entry| {
        let approved = entry.trailers.get(key::APPROVED)?;
        let mut items = approved.split_whitespace().filter_map(|item| item.split_once('@'));
        items.find(|(name, _)| *name == file).map(|(_, id)| id)
    })
}

/// Code that is in none of the session's own commits and came after coding was approved.
fn code(git: &Git, session: &Session, entry: &Entry) -> anyhow::Result<Vec<String>> {
    let later: Vec<&Entry> = session
        .history
        .iter()
        .skip_while(|other| other.commit != entry.commit)
        .filter(|other| other.commit != entry.commit)
        .filter(|other| matches!(other.kind, Kind::Task(_) | Kind::Draft(_) | Kind::Review(..)))
        .collect();
    if later.iter().any(|other| other.trailers.get(key::STAGE) == Some(Stage::Coding.name())) {
        // Coding is under way again: what comes out of it is approved anew.
        return Ok(Vec::new());
    }
    let mut paths = git.changed_paths(&entry.commit, &session.tip)?;
    paths.retain(|path| !path.starts_with(".cowork/"));
    Ok(paths)
}
