//! Makes merges as the user's own `git merge` would, and computes their expected result as a tree,
//! without touching the working tree.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::error::Error;
use crate::git::hook_trace::{Hooks, said};
use crate::git::output::nul_texts;
use crate::git::unfinished::Goal;
use crate::git::{Cmd, CommitOutcome, Git, Oid};
use crate::git::{commit, in_the_way, made, refs, settings, snapshot, take_back};

/// Git's exit code for an unknown option.
const UNKNOWN_OPTION: i32 = 129;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// HEAD is this merge commit.
    Merged(Oid),
    /// These paths have conflicts. The merge was aborted: index and working tree are unchanged.
    Conflicts(Vec<String>),
    /// A hook of the user refused the merge. It was aborted as well.
    HookRefused {
        /// `pre-merge-commit`, `commit-msg`, …
        hook: String,
        /// The hook's output.
        output: String,
    },
}

/// The expected result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergedTree {
    /// The tree of the merge.
    Clean(Oid),
    /// These paths have conflicts.
    Conflicts(Vec<String>),
}

/// Files for a command that may run hooks: its message, and a trace that names the hooks.
struct WithMessage {
    scratch: tempfile::TempDir,
}

impl WithMessage {
    fn new(message: &str) -> Result<Self> {
        let scratch = tempfile::tempdir().context("creating a temporary directory")?;
        std::fs::write(scratch.path().join("message"), message).context("writing the message")?;
        Ok(Self { scratch })
    }

    fn message(&self) -> PathBuf {
        self.scratch.path().join("message")
    }

    fn trace(&self) -> PathBuf {
        self.scratch.path().join("trace")
    }

    /// The command with its environment.
    fn given<'a>(&self, command: Cmd<'a>) -> Cmd<'a> {
        command.env("GIT_EDITOR", ":").env("GIT_TRACE2_EVENT", self.trace())
    }

    /// True if no hook ran. There is no retry after a hook has run, even if it failed because of a
    /// lock or was killed.
    fn no_hook_ran(&self) -> bool {
        Hooks::read(&self.trace()).is_ok_and(|hooks| hooks.exits.is_empty())
    }
}

/// Merges a commit into HEAD with a merge commit of this message, whatever the user has configured
/// about fast-forwards. Hooks and signing apply.
///
/// # Errors
/// Any failure other than a conflict or a hook's refusal: changes in the way, a failed signature.
pub fn no_ff(git: &Git, theirs: &Oid, message: &str, signoff: bool) -> Result<MergeOutcome> {
    // If `git merge` cannot begin, it resets, which discards changes that `git status` does not
    // list.
    in_the_way::refuse_overwriting(git, theirs)?;
    let with = WithMessage::new(message)?;
    let before = git.resolve("HEAD")?;
    let tree = match before.as_ref().map(|head| merged_tree(git, head, theirs)).transpose() {
        Ok(Some(MergedTree::Clean(tree))) => Some(tree),
        Ok(Some(MergedTree::Conflicts(paths))) if !has_merge_options(git)? => {
            return Ok(MergeOutcome::Conflicts(paths));
        }
        // An older git, or a merge whose result cannot be predicted.
        _ => None,
    };
    let mut merge = git
        .hooked(["merge", "--no-ff", "--no-squash", "--commit", "--no-edit", "--no-log"])
        .args(["--no-autostash", "--no-stat", "--quiet", "--cleanup=whitespace", "-F"])
        .arg(with.message());
    if signoff {
        merge = merge.arg("--signoff");
    }
    let merge = with.given(merge.arg(theirs.as_str()));
    let output = match &tree {
        Some(tree) => {
            let step = take_back::move_to(git, Goal::Merged(theirs.clone()), None, tree)?;
            take_back::go(git, &step, &|| with.no_hook_ran(), &|_| Ok(merge.clone()))?.1
        }
        None => merge.attempt(|| with.no_hook_ran(), || false)?,
    };
    let failure = merge.failure(&output);
    let head = git.resolve("HEAD")?;
    if let Some(head) = head.filter(|head| Some(head) != before.as_ref()) {
        return Ok(MergeOutcome::Merged(head));
    }
    if output.killed() {
        return Err(failure.into());
    }
    let conflicts = unmerged(git)?;
    let hook = Hooks::read(&with.trace())?.refusing();
    if git.resolve("MERGE_HEAD")?.is_some() {
        abort(git)?;
    }
    Ok(match (conflicts.is_empty(), hook) {
        (false, _) => MergeOutcome::Conflicts(conflicts),
        (true, Some(hook)) => MergeOutcome::HookRefused { hook, output: said(&output) },
        (true, None) => return Err(commit::explain(git, failure).into()),
    })
}

/// Merges a commit that conflicts with HEAD: `solve` resolves the conflicts in the working tree,
/// stages the result and returns the message of the merge, or `None` if a person has to resolve
/// them. In that case the merge is aborted, and index and working tree are as before. Hooks and
/// signing apply.
///
/// # Errors
/// Git or `solve` fails.
pub fn solved(
    git: &Git,
    theirs: &Oid,
    signoff: bool,
    solve: &dyn Fn() -> Result<Option<String>>,
) -> Result<Option<MergeOutcome>> {
    in_the_way::refuse_overwriting(git, theirs)?;
    let merge = git.write(["merge", "--no-ff", "--no-squash", "--no-commit", "--no-log"]);
    let merge = merge.args(["--no-autostash", "--no-stat", "--quiet"]).arg(theirs.as_str());
    merge.output()?;
    let outcome = match solve() {
        Ok(Some(message)) if unmerged(git)?.is_empty() => {
            commit_staged(git, &message, signoff).map(Some)
        }
        Ok(_) => Ok(None),
        Err(error) => Err(error),
    };
    if !matches!(outcome, Ok(Some(CommitOutcome::Committed(_))))
        && git.resolve("MERGE_HEAD")?.is_some()
    {
        abort(git)?;
    }
    Ok(outcome?.map(|outcome| match outcome {
        CommitOutcome::Committed(head) => MergeOutcome::Merged(head),
        CommitOutcome::HookRefused { hook, output } => MergeOutcome::HookRefused { hook, output },
    }))
}

/// Aborts an unfinished merge.
///
/// # Errors
/// Git fails, or there is no such merge.
pub fn abort(git: &Git) -> Result<()> {
    // An index with conflicts cannot be written as a tree.
    let (Ok(from), Some(head)) = (index_tree(git), git.resolve("HEAD")?) else {
        return git.write(["merge", "--abort"]).checked().map(|_| ());
    };
    let step = take_back::move_to(git, Goal::MergeAborted, Some(from), &head)?;
    let (abort, output) =
        take_back::go(git, &step, &|| true, &|_| Ok(git.write(["merge", "--abort"])))?;
    if output.success() || take_back::has_arrived(git, &step)? {
        return Ok(());
    }
    Err(abort.failure(&output).into())
}

/// True if `git merge` is configured so that its result may differ from that of `git merge-tree`.
fn has_merge_options(git: &Git) -> Result<bool> {
    let has = |key: &str| {
        key == "pull.twohead" || (key.starts_with("branch.") && key.ends_with(".mergeoptions"))
    };
    Ok(git.configuration()?.all().any(|(key, _)| has(key)))
}

/// The unmerged paths of an unfinished merge, rebase or cherry-pick.
///
/// # Errors
/// Git fails.
pub fn unmerged(git: &Git) -> Result<Vec<String>> {
    let diff = git.read(["diff", "--name-only", "--diff-filter=U", "--no-relative", "-z"]);
    let mut paths: Vec<String> = nul_texts(&diff.checked()?.stdout).collect();
    paths.dedup();
    Ok(paths)
}

/// Stages these paths as they are in the working tree: their conflicts are resolved.
///
/// # Errors
/// Git fails.
pub fn stage(git: &Git, paths: &[String]) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let add = git.write(["add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul"]);
    add.stdin_nul(paths).checked().map(|_| ())
}

/// A text with the changes of both sides, merged line by line as git does; `None` if they conflict.
///
/// # Errors
/// Git fails, or a temporary file cannot be written.
pub fn merged_text(git: &Git, base: &str, ours: &str, theirs: &str) -> Result<Option<String>> {
    let scratch = tempfile::tempdir().context("creating a temporary directory")?;
    let mut merge = git.read(["merge-file", "-p"]);
    for (name, text) in [("ours", ours), ("base", base), ("theirs", theirs)] {
        let path = scratch.path().join(name);
        std::fs::write(&path, text).context("writing a version to merge")?;
        merge = merge.arg(path);
    }
    let output = merge.output()?;
    match output.code {
        Some(0) => Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
        // The number of conflicts; 255 means an error.
        Some(code) if code < 128 => Ok(None),
        _ => Err(merge.failure(&output).into()),
    }
}

/// The tree that `git merge` would make of two commits; only objects are written.
///
/// # Errors
/// Git fails, or is older than 2.38 and both sides have new commits.
pub fn merged_tree(git: &Git, ours: &Oid, theirs: &Oid) -> Result<MergedTree> {
    if refs::is_ancestor(git, ours, theirs)? {
        return Ok(MergedTree::Clean(must_tree(git, theirs)?));
    }
    if refs::is_ancestor(git, theirs, ours)? {
        return Ok(MergedTree::Clean(must_tree(git, ours)?));
    }
    let merge = git.write(["merge-tree", "--write-tree", "--name-only", "--no-messages"]);
    let merge = merge.args(["-z", ours.as_str(), theirs.as_str()]);
    let output = merge.output()?;
    let mut words = nul_texts(&output.stdout);
    match output.code {
        Some(0) => Ok(MergedTree::Clean(words.next().unwrap_or_default().trim().parse()?)),
        Some(1) => {
            let mut paths: Vec<String> = words.skip(1).collect();
            paths.dedup();
            Ok(MergedTree::Conflicts(paths))
        }
        Some(UNKNOWN_OPTION) => Err(Error::repository(
            "both branches have new commits: git 2.38 or newer is needed to merge them",
        )
        .hint("merge the base branch into the session's branch, then run the command again")
        .into()),
        _ => Err(merge.failure(&output).into()),
    }
}

/// The best common ancestor of two commits; `None` if their histories are unrelated.
///
/// # Errors
/// One of them is missing.
pub fn base(git: &Git, a: &Oid, b: &Oid) -> Result<Option<Oid>> {
    let ask = git.read(["merge-base", a.as_str(), b.as_str()]);
    let output = ask.output()?;
    match output.code {
        Some(0) => Ok(Some(output.text().trim_end().parse()?)),
        Some(1) => Ok(None),
        _ => Err(ask.failure(&output).into()),
    }
}

/// The tree of `commit` with these files and directories from `other`, or without those that `other`
/// does not have. Everything else keeps its content, mode and name.
///
/// # Errors
/// Git fails, or one of the commits is missing.
pub fn tree_with_paths_of(git: &Git, commit: &Oid, paths: &[&str], other: &Oid) -> Result<Oid> {
    let scratch = tempfile::tempdir().context("creating a temporary directory")?;
    let index = scratch.path().join("index");
    let read_tree = git.in_index(&index, ["read-tree", "--no-sparse-checkout"]);
    read_tree.arg(commit.as_str()).checked()?;
    let list =
        git.in_index(&index, ["ls-files", "-z", "--cached", "--full-name", "--"]).args(paths);
    let own_paths: Vec<String> = nul_texts(&list.checked()?.stdout).collect();
    let remove = git.in_index(&index, ["update-index", "--force-remove", "-z", "--stdin"]);
    remove.stdin_nul(&own_paths).checked()?;
    let list = git.read(["ls-tree", "-r", "-z", "--full-tree", other.as_str(), "--"]).args(paths);
    let other_paths: Vec<String> = nul_texts(&list.checked()?.stdout).collect();
    let put = git.in_index(&index, ["update-index", "-z", "--index-info"]);
    put.stdin_nul(&other_paths).checked()?;
    git.in_index(&index, ["write-tree"]).oid()
}

/// Writes a commit object under the user's name, signed if commits are signed; no reference moves
/// and no hook runs.
///
/// # Errors
/// Git fails, or a signature cannot be made.
pub fn signed_commit(git: &Git, tree: &Oid, parents: &[Oid], message: &str) -> Result<Oid> {
    if !settings::config_bool(git, "commit.gpgSign")? {
        return made::commit_tree(git, tree, parents, message);
    }
    let mut commit = git.write(["commit-tree", "-S", "-F", "-"]);
    for parent in parents {
        commit = commit.args(["-p", parent.as_str()]);
    }
    let commit = commit.arg(tree.as_str()).stdin(message);
    let output = commit.output()?;
    if !output.success() {
        return Err(commit::explain(git, commit.failure(&output)).into());
    }
    Ok(output.text().trim_end().parse()?)
}

/// Moves index and working tree from one tree to another; HEAD stays. Other changes in the working
/// tree stay as well.
///
/// # Errors
/// A change or an untracked file is in the way; nothing has moved.
pub fn move_tree(git: &Git, from: &Oid, to: &Oid) -> Result<()> {
    let step = take_back::move_to(git, Goal::Tree, Some(from.clone()), to)?;
    let (read, output) = take_back::go(git, &step, &|| true, &|_| {
        Ok(git.write(["read-tree", "-m", "-u", from.as_str(), to.as_str()]))
    })?;
    if output.success() { Ok(()) } else { Err(read.failure(&output).into()) }
}

/// The tree of the index.
///
/// # Errors
/// The index has conflicts.
pub fn index_tree(git: &Git) -> Result<Oid> {
    git.write(["write-tree"]).oid()
}

/// Commits everything that is staged, with this message. Hooks and signing apply.
///
/// # Errors
/// Any failure other than a hook's refusal; nothing was committed.
pub fn commit_staged(git: &Git, message: &str, signoff: bool) -> Result<CommitOutcome> {
    let with = WithMessage::new(message)?;
    let before = git.resolve("HEAD")?;
    let mut commit =
        git.hooked(["commit", "--quiet", "--allow-empty", "--cleanup=whitespace", "-F"]);
    commit = commit.arg(with.message());
    if signoff {
        commit = commit.arg("--signoff");
    }
    let commit = with.given(commit);
    let not_landed = || matches!(git.resolve("HEAD"), Ok(head) if head == before);
    let output = commit.attempt(|| with.no_hook_ran(), || with.no_hook_ran() && not_landed())?;
    let failure = commit.failure(&output);
    let head = git.resolve("HEAD")?;
    if let Some(head) = head.filter(|head| Some(head) != before.as_ref()) {
        return Ok(CommitOutcome::Committed(head));
    }
    if output.killed() {
        return Err(failure.into());
    }
    match Hooks::read(&with.trace())?.refusing() {
        Some(hook) => Ok(CommitOutcome::HookRefused { hook, output: said(&output) }),
        None => Err(commit::explain(git, failure).into()),
    }
}

fn must_tree(git: &Git, commit: &Oid) -> Result<Oid> {
    let tree = snapshot::tree_of(git, commit.as_str())?;
    tree.ok_or_else(|| Error::repository(format!("there is no commit {commit}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::state;
    use crate::git::test_repo::Repo;

    /// `main` and `side`, which both change `code`; `side` adds files in a folder of their own as
    /// well.
    fn forked(on_main: &str) -> (Repo, Oid, Oid) {
        let repo = Repo::with_commit();
        repo.file("code", "1\n2\n3\n4\n5\n6\n7\n");
        repo.commit_all("base");
        repo.run(&["checkout", "-q", "-b", "side"]);
        repo.file("code", "1\n2\n3\n4\n5\n6\nside\n");
        repo.file("notes/s/a b", "artifact");
        repo.file("notes/keep", "kept");
        let side = repo.commit_all("side");
        repo.run(&["checkout", "-q", "main"]);
        repo.file("code", on_main);
        let main = repo.commit_all("main");
        (repo, main, side)
    }

    #[test]
    fn the_expected_tree_is_the_merged_tree() {
        let (repo, main, side) = forked("main\n2\n3\n4\n5\n6\n7\n");
        let git = repo.git();
        let MergedTree::Clean(tree) = merged_tree(&git, &main, &side).unwrap() else { panic!() };
        let outcome = no_ff(&git, &side, "Subject\n\nKey: value\n", true).unwrap();
        assert_eq!(outcome, MergeOutcome::Merged(repo.head()));
        assert_eq!(snapshot::tree_of(&git, "HEAD").unwrap(), Some(tree));
        assert_eq!(
            repo.run(&["log", "-1", "--format=%P %B"]),
            format!("{main} {side} Subject\n\nKey: value\nSigned-off-by: Ana <ana@example.com>")
        );
    }

    #[test]
    fn a_conflict_leaves_everything_as_it_was() {
        let (repo, main, side) = forked("1\n2\n3\n4\n5\n6\nmain\n");
        let git = repo.git();
        repo.file("untracked", "mine");
        let expected = vec!["code".to_owned()];
        assert_eq!(
            merged_tree(&git, &main, &side).unwrap(),
            MergedTree::Conflicts(expected.clone())
        );
        let outcome = no_ff(&git, &side, "x\n", false).unwrap();
        assert_eq!(outcome, MergeOutcome::Conflicts(expected));
        assert_eq!(repo.head(), main);
        assert_eq!(repo.run(&["status", "--short"]), "?? untracked");
        assert_eq!(state::operation_in_progress(&git).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_hook_that_refuses_is_named_and_nothing_stays() {
        for hook in ["pre-merge-commit", "commit-msg"] {
            let (repo, main, side) = forked("main\n2\n3\n4\n5\n6\n7\n");
            repo.hook(hook, "echo not today; exit 1");
            let git = repo.git();
            match no_ff(&git, &side, "x\n", false).unwrap() {
                MergeOutcome::HookRefused { hook: named, output } => {
                    assert_eq!((named.as_str(), output.contains("not today")), (hook, true));
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(repo.head(), main);
            assert_eq!(repo.run(&["status", "--short"]), "");
            assert_eq!(state::operation_in_progress(&git).unwrap(), None);
        }
    }

    #[test]
    fn a_directory_is_taken_out_of_a_tree_and_nothing_else() {
        let (repo, main, side) = forked("x");
        let git = repo.git();
        let tree = tree_with_paths_of(&git, &side, &["notes/s"], &main).unwrap();
        let list = |rev: &str| repo.run(&["ls-tree", "-r", "-z", rev]).replace('\0', "\n");
        let without: Vec<String> =
            list(side.as_str()).lines().filter(|l| !l.contains("a b")).map(str::to_owned).collect();
        assert_eq!(list(tree.as_str()).trim_end(), without.join("\n"));
        let back = tree_with_paths_of(&git, &tree, &["notes/s"], &side).unwrap();
        assert_eq!(Some(back), snapshot::tree_of(&git, side.as_str()).unwrap());
    }

    #[test]
    fn a_staged_tree_is_committed_and_can_be_taken_back() {
        let (repo, main, side) = forked("x");
        let git = repo.git();
        repo.file("README.md", "edited, not staged");
        move_tree(&git, &main, &side).unwrap();
        assert_eq!(
            Some(index_tree(&git).unwrap()),
            snapshot::tree_of(&git, side.as_str()).unwrap()
        );
        move_tree(&git, &side, &main).unwrap();
        assert_eq!(repo.run(&["status", "--short"]), " M README.md");
        move_tree(&git, &main, &side).unwrap();
        let outcome = commit_staged(&git, "one\n", false).unwrap();
        assert_eq!(outcome, CommitOutcome::Committed(repo.head()));
        assert_eq!(repo.run(&["rev-parse", "HEAD^"]), main.to_string());
        assert_eq!(repo.run(&["status", "--short"]), " M README.md");
    }
}
