//! Merges a delivered session into another branch, which HEAD is on: with a merge commit, or as one
//! commit without the session's artifacts.
//!
//! The merge is first recorded in the state directory, so that the next run can undo what a killed
//! one left half done.

use serde::{Deserialize, Serialize};

use super::attributes::ATTRIBUTES;
use super::commit::{CONVENTIONAL, is_message_hook};
use super::commit_location::trailers_of;
use super::{Recorder, archive, point, unmerged};
use crate::error::Error;
use crate::git::{
    self, CommitOutcome, Git, Head, MergeOutcome, MergedTree, Oid, RefName, RefTransaction,
};
use crate::session::{Merged, RefNames, SESSIONS, Session, SessionName, key};

/// What a delivery without artifacts leaves as it is: the attributes are about sessions, too.
const ARTIFACTS: [&str; 2] = [SESSIONS, ATTRIBUTES];

/// Name of the record in the state directory of a merge in progress.
const MERGING: &str = "merging.json";

#[derive(Serialize, Deserialize)]
struct Merging {
    /// Full name of the branch merged into.
    branch: String,
    /// Its tip before.
    onto: String,
    /// The tip that is merged.
    theirs: String,
    /// The tree to be committed, if the commit is not a merge commit.
    tree: Option<String>,
}

/// The reason why there is no merge; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// These paths have conflicts.
    Conflicts(Vec<String>),
    /// A hook of the repository refused.
    Hook {
        /// Its name.
        hook: String,
        /// The hook's output.
        output: String,
    },
}

impl Obstacle {
    /// The error for the user, with hints.
    pub fn error(&self, branch: &str, into: &str, name: &SessionName) -> Error {
        let again = format!("then run again: git cowork merge {name}");
        match self {
            Self::Conflicts(paths) => Error::repository(format!(
                "{branch} cannot be merged into {into} automatically: conflicts in {}",
                paths.join(", ")
            ))
            .hint("nothing has changed")
            .hint(format!("resolve them in the session: git switch {branch} && git merge {into}"))
            .hint(format!("or rebase it on {into}: git switch {branch} && git rebase {into}"))
            .hint(again),
            Self::Hook { hook, output } => {
                let error = Error::repository(format!(
                    "the {hook} hook refused the merge:\n{}",
                    output.trim()
                ))
                .hint("nothing has changed");
                let error = if is_message_hook(hook) {
                    error
                        .hint(format!(
                            "the message is the delivery report: git cowork show {name} report"
                        ))
                        .hint(format!(
                            "to give its subject the form it expects: git config \
                             cowork.project.subject '{CONVENTIONAL}'"
                        ))
                } else {
                    error.hint(format!("fix the reported problem on {branch}"))
                };
                error.hint(again)
            }
        }
    }
}

/// Undoes what a killed merge of this session left in index and working tree.
pub fn end_unfinished(recorder: &Recorder<'_>) -> anyhow::Result<()> {
    let Some(note) = recorder.state.note::<Merging>(MERGING)? else { return Ok(()) };
    let onto: Oid = note.onto.parse()?;
    let head = recorder.git.head()?;
    let there = head.branch().is_some_and(|branch| branch.as_str() == note.branch)
        && head.oid() == Some(&onto);
    if there {
        let merging = recorder.git.resolve("MERGE_HEAD")?;
        if merging.is_some_and(|theirs| theirs.as_str() == note.theirs) {
            git::merge::abort(recorder.git)?;
        } else if let Some(tree) = note.tree.as_ref().map(|tree| tree.parse::<Oid>()) {
            let tree = tree?;
            if git::merge::index_tree(recorder.git).ok().as_ref() == Some(&tree) {
                git::merge::move_tree(recorder.git, &tree, &onto)?;
            }
        }
    }
    recorder.state.set_note::<Merging>(MERGING, None)
}

/// Merges the session into HEAD's branch.
pub fn merge(
    recorder: &Recorder<'_>,
    session: &Session,
    onto: &Oid,
    message: &str,
) -> anyhow::Result<Result<Oid, Obstacle>> {
    expect_base(recorder, onto)?;
    note_merge(recorder, session, onto, None)?;
    point("merge.before-merge");
    let outcome = git::merge::no_ff(recorder.git, &session.tip, message, recorder.signs_off()?);
    point("merge.after-merge");
    // Do this even if git was interrupted in the middle of the merge.
    end_unfinished(recorder)?;
    let outcome = match outcome? {
        MergeOutcome::Conflicts(paths) => {
            let solved = merge_records(recorder, session, onto, (message, &paths))?;
            solved.unwrap_or(MergeOutcome::Conflicts(paths))
        }
        other => other,
    };
    Ok(match outcome {
        MergeOutcome::Merged(commit) => Ok(commit),
        MergeOutcome::Conflicts(paths) => Err(Obstacle::Conflicts(paths)),
        MergeOutcome::HookRefused { hook, output } => Err(Obstacle::Hook { hook, output }),
    })
}

/// Merges record by record if only files of sessions are in conflict; `None` if a person has to
/// decide.
fn merge_records(
    recorder: &Recorder<'_>,
    session: &Session,
    onto: &Oid,
    (message, conflicts): (&str, &[String]),
) -> anyhow::Result<Option<MergeOutcome>> {
    let git = recorder.git;
    let folder = format!("{SESSIONS}/");
    if !conflicts.iter().all(|path| path.starts_with(&folder)) {
        return Ok(None);
    }
    let solve = || {
        let mut message = message.to_owned();
        for (name, paths) in unmerged::sessions(git)? {
            let solution = unmerged::solve(git, &name, &paths)?;
            if !solution.left.is_empty() {
                return Ok(None);
            }
            for value in solution.renumbered {
                message += &format!("{}: {value}\n", key::RENUMBERED);
            }
        }
        Ok(Some(message))
    };
    note_merge(recorder, session, onto, None)?;
    let outcome = git::merge::solved(git, &session.tip, recorder.signs_off()?, &solve);
    end_unfinished(recorder)?;
    outcome
}

/// Brings the session's code to HEAD's branch, as one commit that changes nothing in the folder of
/// any session. The archive ref is set first, so that the session's artifacts outlive its branch.
/// `earlier` is a merge of this session that the branch already has.
pub fn merge_code(
    recorder: &Recorder<'_>,
    session: &Session,
    onto: &Oid,
    earlier: Option<&Merged>,
    message: &str,
) -> anyhow::Result<Result<Oid, Obstacle>> {
    expect_base(recorder, onto)?;
    let tree = match code_on(recorder.git, session, onto, earlier)? {
        MergedTree::Clean(tree) => tree,
        MergedTree::Conflicts(paths) => return Ok(Err(Obstacle::Conflicts(paths))),
    };
    let keep = RefTransaction::new(format!("cowork: {} is merged", recorder.name));
    archive::keep_in_archive(recorder, keep, &session.tip)?.commit(recorder.git)?;
    point("merge.after-keep");
    note_merge(recorder, session, onto, Some(&tree))?;
    git::merge::move_tree(recorder.git, onto, &tree)?;
    point("merge.before-commit");
    let outcome = git::merge::commit_staged(recorder.git, message, recorder.signs_off()?);
    point("merge.after-commit");
    // Undoes what is staged if nothing was committed.
    end_unfinished(recorder)?;
    match outcome? {
        CommitOutcome::Committed(commit) if says_so(recorder, &commit)? => Ok(Ok(commit)),
        CommitOutcome::Committed(commit) => {
            take_merge_back(recorder, &commit, onto)?;
            Err(Error::repository("a hook took the trailers out of the message")
                .hint("they record that the session is merged: check the commit-msg and prepare-commit-msg hooks")
                .hint(format!("nothing has changed; afterwards run: git cowork merge {}", recorder.name))
                .into())
        }
        CommitOutcome::HookRefused { hook, output } => Ok(Err(Obstacle::Hook { hook, output })),
    }
}

/// The new commit for `cowork-pr/S`: the session's code on top of its merge base with `base`. A
/// commit made before is reused if it is the same.
pub fn code_branch(
    recorder: &Recorder<'_>,
    session: &Session,
    base: &Oid,
    message: &str,
    made_before: &[Oid],
) -> anyhow::Result<Oid> {
    let shared = git::merge::base(recorder.git, &session.tip, base)?.ok_or_else(|| {
        Error::repository(format!("'{}' and its base have no history in common", session.name))
    })?;
    let tree = git::merge::tree_with_paths_of(recorder.git, &session.tip, &ARTIFACTS, &shared)?;
    for old in made_before {
        let same = git::snapshot::tree_of(recorder.git, old.as_str())?.as_ref() == Some(&tree)
            && recorder.git.resolve(&format!("{old}^1"))?.as_ref() == Some(&shared)
            && trailers_of(recorder, old)?.get(key::TIP) == Some(session.tip.as_str());
        if same {
            return Ok(old.clone());
        }
    }
    git::merge::signed_commit(recorder.git, &tree, std::slice::from_ref(&shared), message)
}

/// Makes `cowork-pr/S` point to this commit, which was pushed.
pub fn keep_code_branch(recorder: &Recorder<'_>, commit: &Oid) -> anyhow::Result<()> {
    let name = RefNames::without_artifacts(recorder.name);
    let transaction = RefTransaction::new(format!("cowork: pr of {}", recorder.name));
    match recorder.git.resolve(name.as_str())? {
        Some(old) if old == *commit => Ok(()),
        Some(old) => transaction.update(&name, commit, &old).commit(recorder.git),
        None => transaction.create(&name, commit).commit(recorder.git),
    }
}

fn note_merge(
    recorder: &Recorder<'_>,
    session: &Session,
    onto: &Oid,
    tree: Option<&Oid>,
) -> anyhow::Result<()> {
    let head = recorder.git.head()?;
    let note = Merging {
        branch: head.branch().map(RefName::to_string).unwrap_or_default(),
        onto: onto.to_string(),
        theirs: session.tip.to_string(),
        tree: tree.map(Oid::to_string),
    };
    recorder.state.set_note(MERGING, Some(&note))
}

/// Makes sure that HEAD is on a branch whose tip is `onto`.
fn expect_base(recorder: &Recorder<'_>, onto: &Oid) -> anyhow::Result<()> {
    match recorder.git.head()? {
        Head::Branch { oid, .. } if oid == *onto => Ok(()),
        _ => Err(Error::repository("HEAD moved while git-cowork was working")
            .hint(format!("nothing was merged; to try again: git cowork merge {}", recorder.name))
            .into()),
    }
}

/// True if a commit's trailers mark it as the merge of this session.
fn says_so(recorder: &Recorder<'_>, commit: &Oid) -> anyhow::Result<bool> {
    let trailers = trailers_of(recorder, commit)?;
    let is = |key: &str, value: &str| trailers.get(key) == Some(value);
    Ok(is(key::SESSION_ID, recorder.id) && is(key::EVENT, "merge"))
}

fn take_merge_back(recorder: &Recorder<'_>, commit: &Oid, onto: &Oid) -> anyhow::Result<()> {
    if let Some(branch) = recorder.git.head()?.branch() {
        RefTransaction::new("cowork: a hook removed the trailers")
            .update(branch, onto, commit)
            .commit(recorder.git)?;
        git::merge::move_tree(recorder.git, commit, onto)?;
    }
    Ok(())
}

/// The tree of `onto` with the session's code merged in, as `git merge` does. The folders of all
/// sessions remain as in `onto`, even those of other sessions that this one has merged.
fn code_on(
    git: &Git,
    session: &Session,
    onto: &Oid,
    earlier: Option<&Merged>,
) -> anyhow::Result<MergedTree> {
    let made =
        |tree: &Oid, parents: &[Oid]| git::made::commit_tree(git, tree, parents, "on the way\n");
    let code = git::merge::tree_with_paths_of(git, &session.tip, &ARTIFACTS, onto)?;
    let Some(merged) = earlier.and_then(|earlier| earlier.tip.as_ref()) else {
        return git::merge::merged_tree(
            git,
            onto,
            &made(&code, std::slice::from_ref(&session.tip))?,
        );
    };
    // History does not show that the branch contains the session up to `merged`, so use the
    // state at `merged` as the merge base.
    let since = git::merge::tree_with_paths_of(git, merged, &ARTIFACTS, onto)?;
    let since = made(&since, &[])?;
    let ours = git::snapshot::tree_of(git, onto.as_str())?.unwrap_or_else(|| onto.clone());
    let ours = made(&ours, std::slice::from_ref(&since))?;
    git::merge::merged_tree(git, &ours, &made(&code, std::slice::from_ref(&since))?)
}
