//! Does what `git commit --only` does, in process. Only used if nothing that the user has set up
//! affects the commit: no hook, no signature, no filter, no index format that libgit2 cannot write.
//! Objects, index, reference and reflogs are what git would write, and in the same order: the index
//! is locked and written, the branch moves, the new index replaces the old one.

use std::fs::Metadata;

use anyhow::Result;
use git2::Signature;

use super::blobs::AtPath;
use super::configuration::{Configuration, as_bool};
use super::move_ref::MoveRef;
use super::next_index::{Entry, NextIndex};
use super::snapshot::relative;
use super::unfinished::Step;
use super::{Git, Head, Oid, RefName};
use crate::git::{
    child, hooks, index, libgit2, made, move_ref, snapshot, state, status, unfinished,
};
use crate::moment;

/// The hooks that a commit runs.
const HOOKS: [&str; 6] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
];

/// Settings that change a commit or the index that it writes.
const ON: [&str; 7] = [
    "commit.gpgsign",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.sparsecheckout",
    "core.splitindex",
    "core.untrackedcache",
    "feature.manyfiles",
];

/// Files in the git directory that a commit deletes.
const LEFT_BY_OTHERS: [&str; 3] = ["SQUASH_MSG", "MERGE_MSG", "AUTO_MERGE"];

/// A commit that no reference points to yet.
struct Made {
    commit: Oid,
    /// The new index entries of its paths.
    entries: Vec<(String, Entry)>,
    /// The message for the reflogs.
    reason: String,
    who: Signature<'static>,
}

/// Commits these paths, each of which git could commit; `None`, with nothing changed, if git has to
/// make the commit.
///
/// # Errors
/// The commit is made, but the index cannot be updated to match it.
pub(super) fn commit(git: &Git, paths: &[String], message: &str) -> Result<Option<Oid>> {
    let Ok(Head::Branch { name: branch, oid: tip }) = git.head() else { return Ok(None) };
    if !commits_here(git) || !may_be_indexed_here(git, paths) {
        return Ok(None);
    }
    git.require_new_enough()?;
    let Some(made) = make_here(git, &tip, paths, message) else { return Ok(None) };
    let step = || Ok(Step::Commit { tip: Some(tip.clone()), paths: paths.to_vec() });
    let land = || child::as_child(git, "commit", || land(git, &branch, &tip, &made));
    match unfinished::noting(git, step, land) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(error) => {
            // The branch may have moved.
            moment::end();
            return Err(error);
        }
    }
    status::note_committed(git, paths);
    moment::wrote();
    Ok(Some(made.commit))
}

/// Writes the objects of a commit of these paths on `tip`.
fn make_here(git: &Git, tip: &Oid, paths: &[String], message: &str) -> Option<Made> {
    // Metadata is read before content: a later write has a later time.
    let seen = |meta: &Metadata| meta.is_dir() || state::is_recorded(meta);
    let files = paths.iter().map(|path| (path.as_str(), state::lies_at(git, path).filter(seen)));
    let files: Vec<AtPath<'_>> = files.collect();
    if files.iter().any(|(_, meta)| meta.as_ref().is_some_and(Metadata::is_dir)) {
        return None;
    }
    let tree = match paths {
        [] => snapshot::tree_of(git, tip.as_str()).ok()??,
        _ => snapshot::tree_in_process(git, tip, &files)?,
    };
    let names: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
    let made = git.reader().entries(&tree, &names).ok()?;
    let mut entries = Vec::new();
    for ((path, meta), made) in files.into_iter().zip(made) {
        let entry = match meta {
            None => None,
            Some(meta) => {
                let made = made?;
                Some((meta, made.mode, libgit2::raw(&made.oid).ok()?))
            }
        };
        entries.push((path.to_owned(), entry));
    }
    let message = git2::message_prettify(message, None).ok()?;
    let reason = format!("commit: {}", message.lines().next()?);
    let commit = made::commit_in_process(git, &tree, std::slice::from_ref(tip), &message)?;
    Some(Made { commit, entries, reason, who: move_ref::log_signature(git)? })
}

/// Moves the branch to a commit and updates the index; false if nothing has changed.
fn land(git: &Git, branch: &RefName, tip: &Oid, made: &Made) -> Result<bool> {
    let next = match made.entries.as_slice() {
        [] => None,
        entries => match NextIndex::write(git, entries) {
            Ok(next) => Some(next),
            Err(error) => {
                tracing::debug!("git has to write this index: {error:#}");
                return Ok(false);
            }
        },
    };
    let Made { commit, reason, who, .. } = made;
    let movement = MoveRef { name: branch, new: commit, old: Some(tip), reason };
    let is_here = git.head().is_ok_and(|head| head.branch() == Some(branch));
    if !is_here || !move_ref::step_as(git, movement, who) {
        return Ok(false);
    }
    next.map_or(Ok(()), NextIndex::replace)?;
    Ok(true)
}

/// True if no hook, setting or operation in progress affects a commit of plain files here.
fn commits_here(git: &Git) -> bool {
    let plain = |all: &Configuration| {
        let on = |key| all.value(key).is_some_and(|value| as_bool(value) != Some(false));
        !ON.into_iter().any(on) && !all.all().any(|(key, _)| key.starts_with("index."))
    };
    git.git_dir == git.common_dir
        && move_ref::is_in_process(git)
        && git.configuration().is_ok_and(|all| plain(&all))
        && !HOOKS.iter().any(|hook| hooks::has(git, hook))
        && git.variable("GIT_REFLOG_ACTION").is_none()
        && matches!(state::operation_in_progress(git), Ok(None))
        && !LEFT_BY_OTHERS.iter().any(|name| git.git_dir.join(name).exists())
}

/// True if the index has no submodules, and none of these paths is marked (skip-worktree,
/// assume-unchanged).
fn may_be_indexed_here(git: &Git, paths: &[String]) -> bool {
    let Ok(facts) = index::facts(git) else { return false };
    let Some(more) = facts.more.as_ref() else { return false };
    let marked = |path: &String| facts.marked.iter().any(|(other, _)| other == path);
    let usual = |path: &String| relative(path).is_ok() && !marked(path);
    more.submodules.is_empty() && paths.iter().all(usual)
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;
    use super::super::{CommitOptions, CommitOutcome};
    use super::*;
    use crate::git::commit;

    const MESSAGE: &str = "\n\ncoding: x  \n\n\nTrailer: y\n# no comment\n\n";

    /// Paths in every combination of states in HEAD, index and working tree.
    fn prepared(format: &[&str]) -> Repo {
        let repo = Repo::with_commit_in(format);
        for name in ["old", "gone", "staged-away", "kept", "d/x"] {
            repo.file(name, name);
        }
        repo.commit_all("second");
        repo.file("users", "staged");
        repo.file("old", "staged, too");
        repo.run(&["add", "users", "old"]);
        repo.file("users", "and changed again");
        repo.file("old", "new");
        repo.run(&["rm", "-q", "staged-away"]);
        std::fs::remove_file(repo.path("gone")).unwrap();
        std::fs::remove_dir_all(repo.path("d")).unwrap();
        repo.file("d", "a file now");
        repo.file("added/a b\n", "new");
        repo.run(&["add", "-N", "added"]);
        repo.script("run.sh", "exit 0");
        #[cfg(unix)]
        std::os::unix::fs::symlink("no/where", repo.path("link")).unwrap();
        repo
    }

    const PATHS: [&str; 8] =
        ["old", "gone", "staged-away", "d", "d/x", "added/a b\n", "run.sh", "link"];

    fn commit(repo: &Repo, paths: &[&str], settings: &[(&str, &str)]) -> (Option<Oid>, Oid) {
        let mut env = repo.env();
        env.push(("GIT_CONFIG_COUNT".into(), settings.len().to_string().into()));
        for (at, (key, value)) in settings.iter().enumerate() {
            env.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
            env.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
        }
        env.push(("GIT_AUTHOR_DATE".into(), "1700000000 +0130".into()));
        env.push(("GIT_COMMITTER_DATE".into(), "1700000000 +0130".into()));
        let git = Git::discover_with(&repo.path(""), env).unwrap();
        let before = repo.head();
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let here = super::commit(&git, &paths, MESSAGE).unwrap();
        if here.is_none() {
            assert_eq!(repo.head(), before);
            assert!(!repo.path(".git/index.lock").exists());
            match commit::only(&git, &paths, MESSAGE, CommitOptions::default()).unwrap() {
                CommitOutcome::Committed(commit) => assert_eq!(commit, repo.head()),
                CommitOutcome::HookRefused { .. } => {}
            }
        }
        (here, repo.head())
    }

    /// Everything git shows about the commit, except ids that depend on the times of earlier
    /// commits.
    fn shown(repo: &Repo) -> Vec<String> {
        let log = |name: &str| {
            let text = std::fs::read_to_string(repo.path(".git/logs").join(name)).unwrap();
            let line = text.lines().last().unwrap();
            line[line.find(" Ana").unwrap()..].to_owned()
        };
        repo.run(&["fsck", "--strict"]);
        vec![
            repo.run(&["ls-files", "--stage"]),
            repo.run(&["status", "--porcelain=v2", "-z"]),
            repo.run(&["ls-tree", "-r", "HEAD"]),
            repo.run(&["log", "-1", "--format=%an %ae %ai %cn %ci%n%B"]),
            repo.run(&["diff-files", "--name-only"]),
            log("HEAD"),
            log("refs/heads/main"),
        ]
    }

    #[test]
    fn a_commit_made_here_is_the_one_git_makes() {
        let sha256 = &["--object-format=sha256"][..];
        for (format, paths) in [
            (&[][..], &PATHS[..]),
            (&[], &[]),
            (&[], &["old"]),
            (sha256, &PATHS),
            (sha256, &["d", "d/x"]),
        ] {
            let (ours, gits) = (prepared(format), prepared(format));
            assert!(commit(&ours, paths, &[]).0.is_some(), "{paths:?}");
            assert!(commit(&gits, paths, &[("core.fsync", "none")]).0.is_none());
            assert_eq!(shown(&ours), shown(&gits), "{paths:?}");
            // The user's next commit contains what was staged.
            for repo in [&ours, &gits] {
                repo.run(&["commit", "-q", "-m", "users"]);
            }
            let last = |repo: &Repo| repo.run(&["show", "--format=", "--name-status", "HEAD"]);
            assert_eq!(last(&ours), last(&gits));
        }
    }

    #[test]
    fn commits_that_hooks_or_settings_affect_are_left_to_git() {
        for (key, value) in [
            ("commit.gpgSign", "true"),
            ("core.ignoreCase", "true"),
            ("core.splitIndex", "true"),
            ("core.untrackedCache", "true"),
            ("core.logAllRefUpdates", "always"),
            ("index.version", "4"),
            ("i18n.commitEncoding", "UTF-8"),
        ] {
            let repo = Repo::with_commit();
            repo.file("a", "a");
            if key == "commit.gpgSign" {
                repo.run(&["config", "gpg.program", "true"]);
                let git = repo.git().with_env(vec![
                    ("GIT_CONFIG_COUNT".into(), "1".into()),
                    ("GIT_CONFIG_KEY_0".into(), key.into()),
                    ("GIT_CONFIG_VALUE_0".into(), value.into()),
                ]);
                assert_eq!(super::commit(&git, &["a".to_owned()], MESSAGE).unwrap(), None);
                continue;
            }
            assert_eq!(commit(&repo, &["a"], &[(key, value)]).0, None, "{key}");
        }
        for hook in HOOKS {
            let repo = Repo::with_commit();
            repo.file("a", "a");
            repo.hook(hook, "exit 0");
            assert_eq!(commit(&repo, &["a"], &[]).0, None, "{hook}");
        }
        let repo = Repo::with_commit();
        repo.file("b", "b");
        repo.run(&["update-index", "--untracked-cache"]);
        repo.run(&["status"]);
        assert_eq!(commit(&repo, &["b"], &[]).0, None, "an untracked cache is kept");
        let index = std::fs::read(repo.path(".git/index")).unwrap();
        assert!(memchr::memmem::find(&index, b"UNTR").is_some());
        repo.run(&["update-index", "--no-untracked-cache"]);
        repo.run(&["update-index", "--assume-unchanged", "b"]);
        repo.file("b", "other");
        let git = repo.git();
        assert_eq!(super::commit(&git, &["b".to_owned()], MESSAGE).unwrap(), None, "it is marked");
        repo.file(".git/index.lock", "");
        repo.file("c", "c");
        assert_eq!(super::commit(&git, &["c".to_owned()], MESSAGE).unwrap(), None, "it is locked");
        assert!(repo.path(".git/index.lock").exists());
        assert_eq!(
            std::fs::read_dir(repo.path(".git"))
                .unwrap()
                .flatten()
                .filter(|entry| { entry.file_name().to_string_lossy().starts_with("next-index") })
                .count(),
            0
        );
    }

    /// As if git-cowork was killed at the worst moment: the branch has moved, the index has not.
    #[test]
    fn a_commit_that_was_killed_half_done_is_finished_by_the_next_run() {
        let repo = Repo::with_commit();
        repo.file("gone", "gone");
        let tip = repo.commit_all("second");
        repo.file("users", "staged");
        repo.run(&["add", "users"]);
        repo.file("a", "a");
        std::fs::remove_file(repo.path("gone")).unwrap();
        let paths = ["a".to_owned(), "gone".to_owned()];
        let file = repo.root().join("child");
        let git = repo.git().with_children_in(&file, &[], &|_| ()).unwrap();
        let made = make_here(&git, &tip, &paths, MESSAGE).unwrap();
        let name = RefName::branch("main").unwrap();
        let (new, old, reason) = (&made.commit, Some(&tip), made.reason.as_str());
        let step = || Ok(Step::Commit { tip: Some(tip.clone()), paths: paths.to_vec() });
        let killed: Result<()> = unfinished::noting(&git, step, || {
            let next = NextIndex::write(&git, &made.entries).unwrap();
            assert!(move_ref::step_as(&git, MoveRef { name: &name, new, old, reason }, &made.who));
            std::mem::forget(next);
            anyhow::bail!("killed")
        });
        assert!(killed.is_err() && repo.path(".git/index.lock").exists());
        drop(git);
        // The record that `as_child` had written.
        let since = serde_json::to_string(&std::time::SystemTime::UNIX_EPOCH).unwrap();
        let top = repo.path("").canonicalize().unwrap();
        let note = format!(r#"{{"args":"commit","top":{:?},"since":{since}}}"#, top.display());
        std::fs::write(&file, format!("{:10}\n{note}", "")).unwrap();
        repo.git().with_children_in(&file, &[], &|_| ()).unwrap();
        let left = std::fs::read_dir(repo.path(".git")).unwrap().flatten();
        let left = left.filter(|entry| entry.path().extension().is_some_and(|e| e == "lock"));
        assert_eq!(left.count(), 0);
        assert_eq!(repo.run(&["status", "--porcelain"]), "A  users");
        assert_eq!(repo.head(), made.commit);
    }

    /// A file that changes in the same second in which it was indexed, and keeps its size.
    #[cfg(unix)]
    #[test]
    fn a_change_with_the_same_size_and_time_is_seen_after_the_next_index() {
        use std::time::{Duration, SystemTime};
        let repo = Repo::with_commit();
        let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let dated = |path: &str| {
            let file = std::fs::File::options().append(true).open(repo.path(path)).unwrap();
            file.set_modified(second).unwrap();
        };
        for name in ["changed", "same"] {
            repo.file(name, "one");
            dated(name);
        }
        repo.run(&["config", "core.trustctime", "false"]);
        repo.commit_all("both");
        dated(".git/index");
        std::fs::write(repo.path("changed"), "two").unwrap();
        dated("changed");
        repo.file("a", "a");
        assert!(commit(&repo, &["a"], &[]).0.is_some());
        assert_eq!(repo.run(&["status", "--porcelain"]), " M changed");
    }
}
