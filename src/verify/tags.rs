//! Checks that each stage commit has its tag, and that each tag points to a stage commit.

use std::collections::BTreeSet;

use super::problem::{Problem, short};
use crate::git::{self, Git, RefInfo};
use crate::session::{Entry, Kind, RefNames, Session};

pub(super) fn problems(
    git: &Git,
    refs: &RefNames,
    session: &Session,
    root: &str,
) -> anyhow::Result<Vec<Problem>> {
    let tags = tags_of(git, session)?;
    let mut problems = Vec::new();
    for tag in wrong_tags(git, session)? {
        let details = format!(
            "{} points to {}, which is not a commit of that stage in this session",
            tag.name.short(),
            short(&tag.oid)
        );
        problems.push(Problem::new(session, "tag-elsewhere", tag.name.as_str(), details).fixable());
    }
    let made_here = made_here(git, refs, session)?;
    for entry in &session.history {
        let Kind::Stage(stage) = entry.kind else { continue };
        // Commits made elsewhere or rebased get their tags at the next `resume`.
        if !made_here.contains(entry.commit.as_str()) {
            continue;
        }
        let is_labelled = |tag: &&RefInfo| tag.oid == entry.commit && is_label(tag, stage.name());
        let labels: Vec<&RefInfo> = tags.iter().filter(is_labelled).collect();
        if !labels.iter().any(|label| label.name.as_str().starts_with(root)) {
            let lacks = match labels.first() {
                Some(label) => format!("is labelled by {}, not below {root}", label.name),
                None if root.starts_with(RefNames::TAGS) => "has no tag".to_owned(),
                None => "has no label".to_owned(),
            };
            let details = format!("the {stage} commit {} {lacks}", short(&entry.commit));
            let about = short(&entry.commit);
            problems.push(Problem::new(session, "tag-missing", about, details).fixable());
        }
    }
    Ok(problems)
}

/// The commits made on the session's branch in this repository, according to its reflog.
fn made_here(git: &Git, refs: &RefNames, session: &Session) -> anyhow::Result<BTreeSet<String>> {
    let branch = refs.branch(&session.name);
    let log = git.read(["reflog", "show", "--format=%H %gs", branch.as_str(), "--"]);
    // A branch that is not in this repository has no reflog.
    let log = log.output()?.text();
    let made = log.lines().filter_map(|line| line.split_once(' '));
    let made = made.filter(|(_, what)| what.starts_with("commit"));
    Ok(made.map(|(commit, _)| commit.to_owned()).collect())
}

/// Tags of the session that do not point to a commit of their stage. Tags of stages abandoned by a
/// revert count as correct.
pub fn wrong_tags(git: &Git, session: &Session) -> anyhow::Result<Vec<RefInfo>> {
    let mut wrong = Vec::new();
    for tag in tags_of(git, session)? {
        let commit = git.reader().commit(&tag.oid).ok();
        let entry = commit.and_then(|commit| Entry::from_commit(&commit, &session.file.id));
        let right = entry.is_some_and(
            |entry| matches!(entry.kind, Kind::Stage(stage) if is_label(&tag, stage.name())),
        );
        if !right {
            wrong.push(tag);
        }
    }
    Ok(wrong)
}

fn tags_of(git: &Git, session: &Session) -> anyhow::Result<Vec<RefInfo>> {
    git::refs::list(git, &RefNames::labels(&session.name))
}

/// True for `prd` or `prd-2`, if the stage is `prd`.
fn is_label(tag: &RefInfo, stage: &str) -> bool {
    let label = tag.name.as_str().rsplit('/').next().unwrap_or_default();
    let rest = label.strip_prefix(stage);
    rest.is_some_and(|rest| {
        rest.is_empty()
            || rest.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok_and(|n| n >= 2))
    })
}
