//! Commits made like the user's: `git commit --only` on exactly the given paths, with hooks,
//! signing, filters and attributes. The hook that refused is read from trace2, not from messages.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::error::Error;
use crate::git::hook_trace::{Hooks, said};
use crate::git::output::nul_texts;
use crate::git::ref_list::Before;
use crate::git::repository::is_recorded;
use crate::git::unfinished::Step;
use crate::git::{Change, EntryKind, Git, Head, Oid, Output, StatusKind};
use crate::git::{
    hooks, index, made, paths, settings, snapshot, special_files, status, unfinished,
};
use crate::moment::{self, Moment};

/// The hooks that a commit may run.
const HOOKS: [&str; 6] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
];

/// Options of one commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitOptions {
    /// Add `Signed-off-by` (the caller also checks `format.signOff`).
    pub signoff: bool,
    /// Fail instead of making a commit without changes.
    pub refuse_empty: bool,
}

/// The result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// HEAD is this commit.
    Committed(Oid),
    /// A hook of the user refused the commit. Index and HEAD are as before, unless the hook has
    /// changed them.
    HookRefused {
        /// `pre-commit`, `commit-msg`, …
        hook: String,
        /// The hook's output.
        output: String,
    },
}

/// Commits the current working tree content of these paths (new, changed or deleted; ignored ones
/// too) on HEAD, and nothing else: what the user staged stays staged and is not committed. Paths
/// that are neither tracked nor on disk are skipped; without paths, the commit is empty. The
/// message is used as given, without trailing white space.
///
/// # Errors
/// Any failure other than a hook's refusal: a failed signature, an unfinished merge, a full disk.
pub fn only<S: AsRef<str>>(
    git: &Git,
    paths: &[S],
    message: &str,
    options: CommitOptions,
) -> Result<CommitOutcome> {
    let Selection { paths, new } = select(git, paths)?;
    // Nobody else acts while git makes such a commit, and it changes nothing but these paths.
    let now = Moment::now();
    let is_alone = !HOOKS.iter().any(|hook| hooks::has(git, hook))
        && !settings::config_bool(git, "commit.gpgSign")?;
    let facts = if is_alone { index::before_commit(git, &paths) } else { None };
    let is_alone = facts.is_some();
    let scratch = tempfile::tempdir().context("creating a temporary directory")?;
    let message_file = scratch.path().join("message");
    let trace = scratch.path().join("trace");
    std::fs::write(&message_file, message).context("writing the commit message")?;

    if !new.is_empty() {
        // Only record the intent to add them: if a hook refuses the commit, that can be undone
        // without a trace.
        let add = git.write(["add", "--force", "--intent-to-add"]).beside(is_alone);
        let add = add.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
        add.stdin_nul(&new).checked().inspect_err(|_| moment::end())?;
    }
    let special = special_files::at(git, &paths);
    let became_folders: Vec<String> =
        paths.iter().filter(|path| is_now_folder(git, path, &new)).cloned().collect();
    let prints_id = is_alone && !options.refuse_empty;
    let mut commit = if special.is_empty() {
        let named = paths.iter().filter(|path| !became_folders.contains(path));
        let literal: Vec<_> = named.map(|path| format!(":(top,literal){path}")).collect();
        let only = ["-c", "core.abbrev=no", "commit", "--only", "--pathspec-from-file=-"];
        git.hooked(only).arg("--pathspec-file-nul").stdin_nul(&literal)
    } else {
        let index = scratch.path().join("index");
        special_files::index(git, &index, &paths, &special)?;
        git.hooked(["commit"]).env("GIT_INDEX_FILE", index)
    };
    commit = commit
        .args((!prints_id).then_some("--quiet"))
        .args(["--cleanup=whitespace", "-F"])
        .arg(&message_file)
        .env("GIT_EDITOR", ":")
        .env("GIT_TRACE2_EVENT", &trace)
        .beside(is_alone && special.is_empty());
    if !options.refuse_empty {
        commit = commit.arg("--allow-empty");
    }
    if options.signoff {
        commit = commit.arg("--signoff");
    }
    let (head, before) = (git.head()?, Before::of(git));
    let tip = head.oid().cloned();
    let step = || Ok(Step::Commit { tip: tip.clone(), paths: paths.clone() });
    // No retry after a hook has run, even if git failed because of a lock or was killed.
    let no_hook_ran = || Hooks::read(&trace).is_ok_and(|hooks| hooks.exits.is_empty());
    // A hook that refuses may have made a commit itself.
    let is_refusal = || Hooks::read(&trace).is_ok_and(|hooks| hooks.refusing().is_some());
    // After a failure, a commit on the tip with another message is somebody else's. If no room is
    // left, git cannot even say why it failed.
    let is_ours = |head: &Oid| {
        let new_commit = git.reader().commit(head);
        new_commit.is_ok_and(|new_commit| {
            let mut words = new_commit.message.split_whitespace();
            message.split_whitespace().all(|word| words.next() == Some(word))
        })
    };
    let has_committed = |output: &Output, head: &Option<Oid>| -> Result<bool> {
        let is_new = *head != tip && !is_refusal() && git.resolve("HEAD^1")? == tip;
        Ok(is_new && (output.killed() || head.as_ref().is_some_and(is_ours)))
    };
    let output = unfinished::noting(git, step, || {
        let not_landed = || matches!(git.resolve("HEAD"), Ok(head) if head == tip);
        let output = commit.attempt(no_hook_ran, || no_hook_ran() && not_landed())?;
        if !output.success() && has_committed(&output, &git.resolve("HEAD")?)? {
            // Git died after it had moved the branch; or it failed to join the tables of references
            // (no room is left, say), and has not written the index either.
            index_as_committed(git, &paths)?;
        }
        Ok(output)
    })?;
    if prints_id && output.success() {
        note_moved(git, before, &head, &output);
    }
    let head = git.resolve("HEAD")?;
    if output.success() || has_committed(&output, &head)? {
        let head = head.ok_or_else(|| Error::repository("HEAD is gone after the commit"))?;
        if let Some(facts) = facts
            && special.is_empty()
            && output.success()
            && now.lasts()
        {
            status::note_committed(git, &paths);
            index::note_committed(git, facts, &paths);
        } else {
            moment::end();
            if !no_hook_ran() || !special.is_empty() {
                index_what_hooks_changed(git, &head, paths)?;
            }
        }
        return Ok(CommitOutcome::Committed(head));
    }
    moment::end();
    if output.killed() {
        forget_uncommitted(git, &new)?;
        index_as_committed(git, &became_folders)?;
        return Err(commit.failure(&output).into());
    }
    forget(git, &new)?;
    index_as_committed(git, &became_folders)?;
    match Hooks::read(&trace)?.refusing() {
        Some(hook) => Ok(CommitOutcome::HookRefused { hook, output: said(&output) }),
        None => Err(explain(git, commit.failure(&output)).into()),
    }
}

/// Notes that the branch of HEAD was moved to the commit that git has printed:
/// `[main 5fba798…] subject`. What git prints before the id may be translated.
fn note_moved(git: &Git, before: Option<Before>, head: &Head, output: &Output) -> Option<()> {
    let text = output.text();
    let mut words = text.lines().next()?.split(' ');
    let commit: Oid = words.find_map(|word| word.strip_suffix(']')?.parse().ok())?;
    let Head::Branch { name, .. } = head else { return None };
    before?.note(git, [(name, Some(&commit))].into_iter())
}

/// Gives an unborn branch an empty root commit, without touching index or working tree. The commit
/// is signed if commits are signed; no hook runs, because there is nothing to check.
///
/// # Errors
/// HEAD already has a commit, or git fails.
pub fn create_root(git: &Git, message: &str) -> Result<Oid> {
    let tree = made::store_empty_tree(git)?;
    let oid = if settings::config_bool(git, "commit.gpgSign")? {
        let commit = git.write(["commit-tree", "-S", "-F", "-", tree.as_str()]).stdin(message);
        let output = commit.output()?;
        if !output.success() {
            return Err(explain(git, commit.failure(&output)).into());
        }
        output.text().trim_end().parse()?
    } else {
        made::commit_tree(git, &tree, &[], message)?
    };
    let reason = "commit (initial): root of a session";
    let update = git.write(["update-ref", "--create-reflog", "-m", reason, "HEAD"]);
    let update = update.args([oid.as_str(), oid.zero_like().as_str()]);
    let output = update.attempt(|| true, || matches!(git.resolve("HEAD"), Ok(None)))?;
    if output.success() || (output.killed() && git.resolve("HEAD")?.as_ref() == Some(&oid)) {
        return Ok(oid);
    }
    Err(update.failure(&output).into())
}

/// How long `doctor` waits for a signature: a key may want a person's touch.
const SIGNATURE_PATIENCE: Duration = Duration::from_secs(5);

/// Signs a commit that nothing names; returns why that fails, `None` if it does not.
///
/// # Errors
/// Git cannot be started.
pub fn why_unsigned(git: &Git) -> Result<Option<String>> {
    let tree = made::store_empty_tree(git)?;
    let sign = git.write(["commit-tree", "-S", "-m", "signed by doctor", tree.as_str()]);
    let output = sign.at_most(SIGNATURE_PATIENCE).attempt(|| false, || false)?;
    let no_signature = || "no signature came within 5 seconds".to_owned();
    let why = || if output.killed() { no_signature() } else { output.complaint() };
    Ok((!output.success()).then(why))
}

/// The paths that can be committed, and those of them that are not in the index yet.
fn select<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<Selection> {
    let mut wanted: Vec<String> = paths.iter().map(|p| p.as_ref().to_owned()).collect();
    wanted.sort();
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(Selection { paths: wanted, new: Vec::new() });
    }
    let listed = status::of(git, &wanted)?;
    let in_head = in_head(git, &wanted)?;
    let (mut committed, mut new) = (Vec::new(), Vec::new());
    for path in wanted {
        let mut kinds = listed.iter().filter(|entry| entry.path == path).map(|entry| entry.kind);
        let is_tracked = match kinds.next() {
            Some(StatusKind::Untracked) => false,
            // Removed from the index; but perhaps it is intended to be added again.
            Some(StatusKind::Tracked { staged: Change::Deleted, unstaged }) => {
                unstaged == Change::Added
            }
            Some(_) => true,
            // Unchanged; otherwise ignored, or missing. A folder in HEAD is not the file.
            None => in_head.get(&path).is_some_and(|kind| *kind != EntryKind::Tree),
        };
        let is_file = || git.lies_at(&path).is_some_and(|meta| is_recorded(&meta));
        if is_tracked {
            committed.push(path);
        } else if is_file() {
            new.push(path.clone());
            committed.push(path);
        } else if in_head.contains_key(&path) {
            committed.push(path);
        }
    }
    Ok(Selection { paths: committed, new })
}

/// True for a tracked file that is a folder now, with files that are committed: these take its place
/// in the index. Git takes such a path for a submodule (`does not have a commit checked out`).
fn is_now_folder(git: &Git, path: &str, new: &[String]) -> bool {
    let is_within =
        |other: &String| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    new.iter().any(is_within) && git.lies_at(path).is_some_and(|meta| meta.is_dir())
}

/// The kinds of those of these paths that HEAD has.
fn in_head(git: &Git, paths: &[String]) -> Result<BTreeMap<String, EntryKind>> {
    if paths.is_empty() {
        return Ok(BTreeMap::new());
    }
    let Some(head) = git.resolve("HEAD")? else { return Ok(BTreeMap::new()) };
    let entries = paths.iter().zip(snapshot::entries(git, &head, paths)?);
    Ok(entries.filter_map(|(path, entry)| Some((path.clone(), entry?.kind))).collect())
}

/// Updates the index after a commit in which hooks changed content: `git commit --only` leaves in
/// the index the content from before the hooks, also for paths that only a hook added to the
/// commit. Such a path is not updated if the user had staged it.
fn index_what_hooks_changed(git: &Git, head: &Oid, mut paths: Vec<String>) -> Result<()> {
    if let Some(before) = git.resolve(&format!("{head}^1"))? {
        let mut additions = paths::changed(git, &before, head)?;
        additions.retain(|path| !paths.contains(path));
        if !additions.is_empty() {
            let diff_index = git.read(["diff-index", "--cached", "-z", "--name-only"]);
            let output = diff_index.args([before.as_str(), "--"]).checked()?;
            let staged: Vec<String> = nul_texts(&output.stdout).collect();
            additions.retain(|path| !staged.contains(path));
            paths.extend(additions);
        }
    }
    index_as_committed(git, &paths)
}

/// Sets these paths in the index to their content in HEAD.
///
/// # Errors
/// Git cannot write the index.
pub fn index_as_committed(git: &Git, paths: &[String]) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let reset = git.write(["reset", "--quiet", "HEAD", "--pathspec-from-file=-"]);
    reset.arg("--pathspec-file-nul").stdin_nul(paths).checked().map(|_| ())
}

/// Undoes the intent to add these paths.
fn forget(git: &Git, new: &[String]) -> Result<()> {
    if !new.is_empty() {
        let forget = git.write(["update-index", "--force-remove", "-z", "--stdin"]);
        forget.stdin_nul(new).checked()?;
    }
    Ok(())
}

/// Like [`forget`], but after git was killed: skips the paths that it had already committed.
fn forget_uncommitted(git: &Git, new: &[String]) -> Result<()> {
    let entries = in_head(git, new)?;
    let deletions: Vec<String> =
        new.iter().filter(|path| !entries.contains_key(*path)).cloned().collect();
    forget(git, &deletions)
}

/// Adds hints to an error that was not caused by a hook.
pub(crate) fn explain(git: &Git, error: Error) -> Error {
    match settings::config_bool(git, "commit.gpgSign") {
        Ok(true) => error
            .hint("commits are signed here (commit.gpgSign): check the key and its agent")
            .hint("try it by hand: git commit --allow-empty -S -m test"),
        _ => error.hint("to see the state of the repository: git status"),
    }
}

struct Selection {
    paths: Vec<String>,
    new: Vec<String>,
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::error::hints_of;
    use crate::git::test_repo::Repo;
    use crate::git::{blobs, worktree};

    const PATHS: [&str; 8] =
        ["a", "b.log", "d/x", "d/e/x.o", "d/Build/y", "d/[z]", "n/x", "f/deep"];

    const RULES: [&str; 16] = [
        "*.log", "x", "/a", "d/", "!d/e/x.o", "build", "e/**/x.*", "*.[oa]", "\\[z\\]", "{a,b}*",
        "# a", "other", "dx*", "*~ ", "f/d?", "d/e x",
    ];

    /// Puts something at a path, or nothing.
    fn put(repo: &Repo, random: &mut Rng, path: &str) {
        let full = repo.path(path);
        let _ = std::fs::remove_file(&full);
        let above = full.parent().unwrap();
        if std::fs::create_dir_all(above).is_err() || full.is_dir() {
            return;
        }
        match random.u32(0..12) {
            0..6 => std::fs::write(&full, ["1", "2", "1\r\n"][random.usize(0..3)]).unwrap(),
            #[cfg(unix)]
            6 => repo.script(path, "exit 0"),
            #[cfg(unix)]
            7 => std::os::unix::fs::symlink("1", &full).unwrap(),
            8 if path != "d/x" => std::fs::create_dir(&full).unwrap(),
            _ => {}
        }
    }

    /// Changes the index, the configuration or the rules.
    fn confuse(repo: &Repo, random: &mut Rng) {
        let path = PATHS[random.usize(0..PATHS.len())];
        let rule = RULES[random.usize(0..RULES.len())];
        let files = [".gitignore", "d/.gitignore", ".git/info/exclude"];
        match random.u32(0..20) {
            0..10 => repo.file(files[random.usize(0..3)], &format!("{rule}\n")),
            10 => drop(repo.git().write(["add", "-f", path]).output()),
            11 => drop(repo.git().write(["add", "-N", "-f", path]).output()),
            12 => drop(repo.git().write(["rm", "-rq", "--cached", path]).output()),
            13 => drop(repo.git().write(["update-index", "--skip-worktree", path]).output()),
            14 => drop(repo.git().write(["update-index", "--assume-unchanged", path]).output()),
            15 => drop(repo.git().write(["config", "core.autocrlf", "input"]).output()),
            16 => drop(repo.git().write(["config", "core.fileMode", "false"]).output()),
            17 => drop(repo.git().write(["init", "-q", "n"]).output()),
            18 => repo.file(".gitattributes", "*.o filter=none\n"),
            _ => drop(repo.git().write(["config", "core.excludesFile", "own"]).output()),
        }
    }

    /// While git commits, somebody else moves the branch: their commit is not taken for ours.
    #[test]
    fn a_commit_that_somebody_else_makes_meanwhile_is_theirs() {
        let repo = Repo::with_commit();
        let before = repo.head();
        repo.hook(
            "pre-commit",
            "git update-ref refs/heads/main $(git commit-tree -p HEAD -m theirs HEAD^{tree})",
        );
        repo.file("a", "ours");
        let failed = only(&repo.git(), &["a"], "ours", CommitOptions::default());
        assert!(failed.is_err(), "{failed:?}");
        assert_eq!(repo.run(&["log", "--format=%s", &format!("{before}..")]), "theirs");
        assert_eq!(repo.text("a").unwrap(), "ours");
    }

    /// A file that is ignored and takes the place of a folder in HEAD.
    #[test]
    fn an_ignored_file_in_place_of_a_folder_is_committed() {
        let repo = Repo::with_commit();
        repo.file("build/x", "x");
        repo.commit_all("a folder");
        std::fs::remove_dir_all(repo.path("build")).unwrap();
        repo.file("build", "a file now");
        repo.file(".git/info/exclude", "build\n");
        committed(&repo, &["build", "build/x"]);
        assert_eq!(changed(&repo), "A build D build/x ");
    }

    /// In any state of the index, exactly the files that git does not track are new.
    #[test]
    fn what_is_selected_is_what_git_would_add() {
        let mut random = Rng::with_seed(21);
        for _ in 0..60 {
            let repo = Repo::with_commit();
            repo.file("own", "deep\n");
            PATHS.iter().for_each(|path| put(&repo, &mut random, path));
            repo.commit_all("all");
            PATHS.iter().for_each(|path| put(&repo, &mut random, path));
            for _ in 0..random.u32(0..3) {
                confuse(&repo, &mut random);
            }
            let git = repo.git();
            let found = select(&git, &PATHS).unwrap();
            let index = status::tracked(&git, &PATHS).unwrap();
            let state = || repo.run(&["status", "--short", "--ignored"]);
            for path in PATHS.map(str::to_owned) {
                let meta = git.lies_at(&path);
                let is_file = meta.is_some_and(|meta| is_recorded(&meta));
                let is_new = is_file && !index.contains(&path);
                assert_eq!(found.new.contains(&path), is_new, "{path} in\n{}", state());
                let in_head = !in_head(&git, std::slice::from_ref(&path)).unwrap().is_empty();
                let takes = is_new || index.contains(&path) || in_head;
                assert_eq!(found.paths.contains(&path), takes, "{path} in\n{}", state());
            }
        }
    }

    fn commit(repo: &Repo, paths: &[&str]) -> CommitOutcome {
        only(&repo.git(), paths, "coding: x\n\nTrailer: y\n", CommitOptions::default()).unwrap()
    }

    fn committed(repo: &Repo, paths: &[&str]) -> Oid {
        match commit(repo, paths) {
            CommitOutcome::Committed(oid) => oid,
            CommitOutcome::HookRefused { hook, output } => panic!("{hook}: {output}"),
        }
    }

    /// The files that the last commit changed.
    fn changed(repo: &Repo) -> String {
        repo.run(&["show", "--format=", "--name-status", "-z", "HEAD"]).replace('\0', " ")
    }

    #[test]
    fn exactly_the_paths_and_the_users_staged_work_stays() {
        let repo = Repo::with_commit();
        repo.file("old", "old");
        repo.file("gone", "gone");
        repo.file("staged-away", "x");
        repo.commit_all("second");
        repo.file("users", "staged");
        repo.run(&["add", "users"]);
        repo.file("users", "and changed again");
        repo.file("old", "new");
        std::fs::remove_file(repo.path("gone")).unwrap();
        repo.run(&["rm", "-q", "staged-away"]);
        repo.file(".gitignore", "*.log\n");
        repo.file("a b\nc é.log", "ignored, odd name");
        repo.file("[o]ld", "a pathspec to those who glob");
        repo.file("other", "untracked");
        let paths = ["old", "gone", "staged-away", "a b\nc é.log", "[o]ld", "never/was", "old"];
        committed(&repo, &paths);
        assert_eq!(changed(&repo), "A [o]ld A a b\nc é.log D gone M old D staged-away ");
        assert_eq!(repo.run(&["show", ":users"]), "staged");
        assert_eq!(repo.run(&["status", "--short"]), "AM users\n?? .gitignore\n?? other");
        assert_eq!(repo.run(&["log", "-1", "--format=%B"]), "coding: x\n\nTrailer: y");
    }

    #[test]
    fn no_path_makes_an_empty_commit() {
        let repo = Repo::with_commit();
        repo.file("users", "staged");
        repo.run(&["add", "users"]);
        for paths in [&[][..], &["never/was"]] {
            let before = repo.head();
            let oid = committed(&repo, paths);
            assert_eq!(repo.run(&["rev-parse", "HEAD^"]), before.to_string());
            assert_eq!((changed(&repo), repo.head()), (String::new(), oid));
        }
        assert_eq!(repo.run(&["status", "--short"]), "A  users");
        let options = CommitOptions { refuse_empty: true, signoff: true };
        assert!(only::<&str>(&repo.git(), &[], "x", options).is_err());
    }

    #[test]
    fn a_refusing_hook_is_named_and_leaves_no_trace() {
        let repo = Repo::with_commit();
        repo.hook("pre-commit", "git status --short; echo 'fatal: lint' >&2; exit 3");
        repo.file("users", "staged");
        repo.run(&["add", "users"]);
        repo.file("README.md", "changed");
        repo.file("new", "new");
        let before = repo.run(&["status", "--short"]);
        let CommitOutcome::HookRefused { hook, output } = commit(&repo, &["README.md", "new"])
        else {
            panic!("not refused");
        };
        assert_eq!(hook, "pre-commit");
        assert!(output.contains("fatal: lint") && output.contains("A  new"), "{output}");
        assert_eq!(repo.run(&["status", "--short"]), before);

        repo.hook("pre-commit", "git log -1 >/dev/null; false | true");
        repo.hook("commit-msg", "grep -q '^feat' \"$1\" || { echo not conventional; exit 1; }");
        let CommitOutcome::HookRefused { hook, output } = commit(&repo, &["README.md"]) else {
            panic!("not refused");
        };
        assert_eq!((hook.as_str(), output.as_str()), ("commit-msg", "not conventional"));
    }

    #[test]
    fn hooks_that_work_differently() {
        let repo = Repo::with_commit();
        // husky: hooks in the tree, by a relative core.hooksPath; a formatter adds its changes.
        repo.script(".husky/_/pre-commit", "echo formatted > README.md; git add '*.md'");
        repo.script(".husky/_/post-commit", "exit 1");
        repo.run(&["config", "core.hooksPath", ".husky/_"]);
        repo.file("README.md", "unformatted");
        committed(&repo, &["README.md"]);
        assert_eq!(repo.run(&["show", "HEAD:README.md"]), "formatted");
        // A process that a hook leaves running does not delay the commit.
        repo.script(".husky/_/pre-commit", "sleep 30 & echo $! > .git/left");
        let begin = std::time::Instant::now();
        committed(&repo, &[]);
        assert!(begin.elapsed().as_secs() < 20);
        std::process::Command::new("kill")
            .arg(repo.text(".git/left").unwrap().trim())
            .status()
            .unwrap();
    }

    #[test]
    fn other_failures_are_errors_with_hints() {
        let repo = Repo::with_commit();
        repo.hook("pre-commit", "true");
        repo.run(&["config", "commit.gpgSign", "true"]);
        repo.run(&["config", "gpg.program", "/bin/false"]);
        repo.file("new", "new");
        let git = repo.git();
        let error = only(&git, &["new"], "x", CommitOptions::default()).unwrap_err();
        assert!(error.to_string().contains("gpg"), "{error}");
        assert!(hints_of(&error)[0].contains("commit.gpgSign"));
        assert_eq!(repo.run(&["status", "--short"]), "?? new");
        // Drafts are never signed.
        made::commit_tree(&git, &snapshot::tree_of(&git, "HEAD").unwrap().unwrap(), &[], "draft")
            .unwrap();
    }

    #[test]
    fn filters_apply() {
        let repo = Repo::with_commit();
        repo.file(".gitattributes", "*.txt filter=loud\n");
        repo.run(&["config", "filter.loud.clean", "tr a-z A-Z"]);
        repo.run(&["config", "filter.loud.smudge", "cat"]);
        repo.file("a.txt", "hello");
        let git = repo.git();
        let clean = blobs::hash_files(&git, &["a.txt"], crate::git::Store::No).unwrap();
        let tree = snapshot::tree(&git, &repo.head(), &["a.txt"]).unwrap();
        assert_eq!(snapshot::blob_id(&git, &tree, "a.txt").unwrap(), clean[0]);
        committed(&repo, &["a.txt"]);
        assert_eq!(repo.run(&["show", "HEAD:a.txt"]), "HELLO");
        assert_eq!(snapshot::blob_id(&git, &repo.head(), "a.txt").unwrap(), clean[0]);
    }

    #[test]
    fn an_unborn_branch_gets_an_empty_root() {
        let repo = Repo::init(&[]);
        repo.file("users", "staged");
        repo.run(&["add", "users"]);
        let git = repo.git();
        let root = create_root(&git, "root\n").unwrap();
        assert_eq!(git.head().unwrap().oid(), Some(&root));
        assert_eq!(repo.run(&["symbolic-ref", "HEAD"]), "refs/heads/main");
        assert_eq!(repo.run(&["ls-tree", "HEAD"]), "");
        assert_eq!(repo.run(&["status", "--short"]), "A  users");
        assert!(create_root(&git, "again").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_became_a_folder_is_committed_or_left_as_it_was() {
        for options in [&[][..], &["--object-format=sha256"]] {
            let repo = Repo::with_commit_in(options);
            repo.file("lib", "a file");
            let before = repo.commit_all("second");
            std::fs::remove_file(repo.path("lib")).unwrap();
            repo.file("lib/x", "in a folder");
            repo.hook("pre-commit", "exit 1");
            let outcome = commit(&repo, &["lib", "lib/x"]);
            assert!(matches!(outcome, CommitOutcome::HookRefused { .. }), "{outcome:?}");
            assert_eq!(repo.run(&["diff", "--cached", "--name-status"]), "", "a trace is left");
            std::fs::remove_file(repo.path(".git/hooks/pre-commit")).unwrap();
            committed(&repo, &["lib", "lib/x"]);
            assert_eq!(
                repo.run(&["diff", "--name-status", before.as_str(), "HEAD"]),
                "D\tlib\nA\tlib/x"
            );
            assert_eq!(repo.run(&["status", "--porcelain"]), "");
        }
    }

    #[test]
    fn in_a_linked_worktree_and_with_a_subdirectory_replaced_by_a_file() {
        let repo = Repo::with_commit();
        repo.file("dir/file", "x");
        repo.commit_all("second");
        let linked =
            worktree::add(&repo.git(), &repo.root().join("l"), "side", Some(&repo.head())).unwrap();
        std::fs::remove_dir_all(linked.top().join("dir")).unwrap();
        std::fs::write(linked.top().join("dir"), "now a file").unwrap();
        let tree = snapshot::tree(&linked, &repo.head(), &["dir/file", "dir"]).unwrap();
        let outcome = only(&linked, &["dir/file", "dir"], "x", CommitOptions::default()).unwrap();
        let CommitOutcome::Committed(oid) = outcome else { panic!("{outcome:?}") };
        assert_eq!(snapshot::tree_of(&linked, oid.as_str()).unwrap(), Some(tree));
        assert_ne!(repo.head(), oid);
        assert!(linked.status().unwrap().is_empty());
    }
}
