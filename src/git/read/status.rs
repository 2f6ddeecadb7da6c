//! The output of `git status` for paths: how they differ from HEAD, which are tracked, which
//! ignored.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use crate::git::arguments::chunks;
use crate::git::hashed_files::HashedFiles;
use crate::git::output::nul_texts;
use crate::git::snapshot::relative;
use crate::git::status_entry::{Change, StatusEntry, StatusKind, parse_status};
use crate::git::{Git, Object};
use crate::git::{blobs, hidden, index, snapshot};
use crate::moment::Moment;

/// The last result, valid as long as nobody else can have changed anything ([`Moment`]).
type Looks = Mutex<Option<Look>>;

/// A result of `git status`.
struct Look {
    at: Moment,
    /// The files and folders it covers; empty for all.
    places: Vec<String>,
    entries: Vec<StatusEntry>,
    /// What git ignores, if it covers all.
    ignored: Vec<String>,
}

impl Look {
    /// The entries at these places; `None` if this result does not cover them, or is too old.
    fn answer<S: AsRef<str>>(&self, places: &[S]) -> Option<Vec<StatusEntry>> {
        let is_covered =
            |place: &S| self.places.iter().any(|seen| is_at_or_below(place.as_ref(), seen));
        let covers =
            self.places.is_empty() || (!places.is_empty() && places.iter().all(is_covered));
        (self.at.lasts() && covers).then(|| self.about(places))
    }

    /// The entries at these places; all if none is given.
    fn about<S: AsRef<str>>(&self, places: &[S]) -> Vec<StatusEntry> {
        let is_in_question = |entry: &&StatusEntry| {
            places.is_empty()
                || places.iter().any(|place| {
                    // The path of a nested repository ends in `/`, and its content is not listed.
                    let is_repository = entry.path.ends_with('/');
                    is_at_or_below(&entry.path, place.as_ref())
                        || (is_repository && is_at_or_below(place.as_ref(), &entry.path))
                })
        };
        self.entries.iter().filter(is_in_question).cloned().collect()
    }
}

/// True if a path is this place, or in this folder.
fn is_at_or_below(path: &str, place: &str) -> bool {
    let place = place.trim_end_matches('/');
    let rest = path.trim_end_matches('/').strip_prefix(place);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Git {
    /// Every path whose index or working tree differs from HEAD, including files with flags that
    /// hide the difference ([`Hidden`]), and every untracked file that is not ignored. A rename is
    /// a deletion and an addition.
    ///
    /// The result is that of the current [`Moment`]: the next step reuses it, unless a model, a
    /// command, a hook or a person was active in between, or git-cowork wrote something.
    ///
    /// # Errors
    /// Git fails.
    pub fn status(&self) -> Result<Vec<StatusEntry>> {
        of::<&str>(self, &[])
    }
}

/// [`Git::status`] of these files or folders; its cost depends on them, not on the repository. If
/// `paths` is empty, the status of all.
///
/// # Errors
/// Git fails.
pub fn of<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<Vec<StatusEntry>> {
    looked(git, paths)
}

/// Untracked files and folders that git ignores. For a folder that matches an ignore rule, only the
/// folder, with a slash at its end.
///
/// # Errors
/// Git fails.
pub fn all_ignored(git: &Git) -> Result<Vec<String>> {
    // Git looks for both at the same time.
    git.status()?;
    let looks = git.caches.get::<Looks>();
    let last = looks.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(last.as_ref().map(|look| look.ignored.clone()).unwrap_or_default())
}

fn looked<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<Vec<StatusEntry>> {
    let looks = git.caches.get::<Looks>();
    let mut last = looks.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(entries) = last.as_ref().and_then(|look| look.answer(paths)) {
        return Ok(entries);
    }
    // The second question of a moment is about everything, and answers all that follow; so is one
    // about more paths than fit on a command line.
    let is_second = last.take().is_some_and(|look| look.at.lasts());
    let chunks = chunks(paths);
    let places_in_question: &[S] = match chunks.as_slice() {
        [paths] if !is_second => paths,
        _ => &[],
    };
    let at = Moment::now();
    let (entries, ignored) = look_at(git, places_in_question)?;
    let places = places_in_question.iter().map(|place| place.as_ref().to_owned()).collect();
    let look = Look { at, places, entries, ignored };
    let answer = look.about(paths);
    *last = Some(look);
    Ok(answer)
}

/// Records that git-cowork itself has written a file: the last result of `git status` stays valid,
/// and only the entry of this path is updated; also for an ignored file, because it belongs to the
/// session.
pub fn note_written(git: &Git, path: &str) {
    git.caches.get::<HashedFiles>().forget(path);
    let looks = git.caches.get::<Looks>();
    let mut last = looks.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(look) = last.as_mut().filter(|look| look.at.lasts()) else { return };
    let kind_before = look.entries.iter().find(|entry| entry.path == path).map(|entry| entry.kind);
    let was_deleted = matches!(
        kind_before,
        Some(StatusKind::Tracked { unstaged: Change::Deleted, .. } | StatusKind::Unmerged)
    );
    match committed(git, path) {
        // Only git knows what is staged, and which filters apply.
        Ok(Committed { same, .. }) if was_deleted || (same && kind_before.is_some()) => {
            *last = None
        }
        Ok(Committed { same: true, .. }) => {}
        _ if kind_before.is_some() => {}
        Ok(Committed { exists, .. }) => {
            let (staged, unstaged) = (Change::None, Change::Modified);
            let kind = StatusKind::Tracked { staged, unstaged };
            let kind = if exists { kind } else { StatusKind::Untracked };
            let path = path.to_owned();
            look.entries.push(StatusEntry { path, kind, submodule: false, hidden: None });
            look.entries.sort_by(|a, b| a.path.cmp(&b.path));
        }
        Err(_) => *last = None,
    }
}

/// Records that git-cowork itself has just committed these paths as they are on disk, while nobody
/// else was working: the last result of `git status` stays valid, without these paths.
pub(crate) fn note_committed(git: &Git, paths: &[String]) {
    let looks = git.caches.get::<Looks>();
    let mut last = looks.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(look) = last.as_mut() {
        look.entries.retain(|entry| !paths.contains(&entry.path));
    }
}

/// True if each of these files has the bytes and the mode that it has in HEAD, or is in neither. What
/// is staged makes no difference.
///
/// # Errors
/// Git fails.
pub fn are_as_committed<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<bool> {
    for path in paths {
        let Committed { exists, same } = committed(git, path.as_ref())?;
        if !same && (exists || git.lies_at(path.as_ref()).is_some()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A file in HEAD.
struct Committed {
    exists: bool,
    /// It has the bytes and the mode of the file on disk.
    same: bool,
}

fn committed(git: &Git, path: &str) -> Result<Committed> {
    relative(path)?;
    let head = git.head()?;
    let Some(head) = head.oid() else { return Ok(Committed { exists: false, same: false }) };
    let Some(entry) = snapshot::entries(git, head, &[path])?.pop().flatten() else {
        return Ok(Committed { exists: false, same: false });
    };
    let has_mode = git.lies_at(path).is_some_and(|meta| blobs::mode(&meta) == entry.mode);
    let same = has_mode
        && git
            .reader()
            .blob(Object::Id(&entry.oid))?
            .is_some_and(|blob| std::fs::read(git.top.join(path)).is_ok_and(|bytes| bytes == blob));
    Ok(Committed { exists: true, same })
}

fn look_at<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<(Vec<StatusEntry>, Vec<String>)> {
    let status = git.read(["status", "--porcelain=v2", "-z", "--untracked-files=all"]);
    // Git looks for both at the same time; an error comes again below.
    let list = || drop(index::facts(git));
    let status = status.meanwhile(&list);
    let ignored = if paths.is_empty() { "--ignored=matching" } else { "--ignored=no" };
    let status = status.args(["--no-renames", ignored, "--"]);
    let status = status.args(paths.iter().map(AsRef::as_ref));
    let output = status.checked()?.stdout;
    let mut entries = parse_status(&output)?;
    let ignored = nul_texts(&output).filter_map(|line| line.strip_prefix("! ").map(str::to_owned));
    let hidden = hidden::edits(git, paths)?;
    if !hidden.is_empty() {
        // Git lists the staged change of a marked file, but not the one on disk.
        entries.retain(|entry| hidden.iter().all(|other| other.path != entry.path));
        entries.extend(hidden);
        entries.sort_by(|a, b| a.path.cmp(&b.path));
    }
    Ok((entries, ignored.collect()))
}

/// The paths among these that are in the index.
///
/// # Errors
/// Git fails.
pub fn tracked<S: AsRef<str>>(git: &Git, paths: &[S]) -> Result<BTreeSet<String>> {
    let names: BTreeSet<&str> = paths.iter().map(AsRef::as_ref).collect();
    let mut tracked = BTreeSet::new();
    for chunk in chunks(paths) {
        let list = git.read(["ls-files", "-z", "--"]).args(chunk.iter().map(AsRef::as_ref));
        let output = list.checked()?;
        // For a directory, git lists its content.
        tracked.extend(nul_texts(&output.stdout).filter(|path| names.contains(path.as_str())));
    }
    Ok(tracked)
}

/// True if [`Git::status`] lists this path.
///
/// # Errors
/// Git fails.
pub fn is_uncommitted(git: &Git, path: &str) -> Result<bool> {
    Ok(!of(git, &[path])?.is_empty())
}

/// True if anything below this folder is tracked.
///
/// # Errors
/// Git fails.
pub fn tracks_below(git: &Git, folder: &str) -> Result<bool> {
    let list = git.read(["ls-files", "-z", "--"]).arg(format!("{folder}/"));
    Ok(!list.checked()?.stdout.is_empty())
}

/// True if git tracks a file of this name.
///
/// # Errors
/// Git fails.
pub fn tracks(git: &Git, path: &str) -> Result<bool> {
    let list = git.read(["ls-files", "-z", "--", path]).checked()?;
    Ok(nul_texts(&list.stdout).any(|tracked| tracked == path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::check_ignore::{ignored, ignoring_rules};
    use crate::git::test_repo::Repo;
    use crate::git::{CommitOptions, commit};

    #[test]
    fn status_lists_staged_unstaged_and_untracked_changes() {
        let repo = Repo::with_commit();
        repo.file("gone", "x");
        repo.file("moved", "some text that git would see as a rename\n");
        repo.commit_all("second");
        repo.file("README.md", "changed");
        std::fs::remove_file(repo.path("gone")).unwrap();
        repo.run(&["mv", "moved", "to here"]);
        repo.file("new/é\n1", "x");
        repo.file("new/x.log", "x");
        repo.file(".git/info/exclude", "*.log");
        let tracked = |staged, unstaged| StatusKind::Tracked { staged, unstaged };
        let status = repo.git().status().unwrap();
        let seen: Vec<_> = status.iter().map(|e| (e.path.as_str(), e.kind)).collect();
        assert_eq!(
            seen,
            [
                ("README.md", tracked(Change::None, Change::Modified)),
                ("gone", tracked(Change::None, Change::Deleted)),
                ("moved", tracked(Change::Deleted, Change::None)),
                ("to here", tracked(Change::Added, Change::None)),
                ("new/é\n1", StatusKind::Untracked),
            ]
        );
        let git = repo.git();
        assert_eq!(ignored(&git, &["new/x.log", "gone", ":[z]\n.log"]).unwrap().len(), 2);
        assert!(ignored(&git, &["gone"]).unwrap().is_empty());
        repo.file(".gitignore", "!keep.log\n");
        let rules = ignoring_rules(&git, &["new/x.log", "gone", "keep.log"]).unwrap();
        let rules: Vec<_> = rules.into_iter().collect();
        assert_eq!(rules, [("new/x.log".into(), ".git/info/exclude, line 1 (*.log)".into())]);
        let tracked = super::tracked(&git, &["to here", "new", "README.md", "nope"]).unwrap();
        assert_eq!(tracked.into_iter().collect::<Vec<_>>(), ["README.md", "to here"]);
    }

    #[test]
    fn tracked_paths_are_found_in_every_kind_of_index() {
        let kinds: [&[&str]; 6] = [
            &["status", "--short"],
            &["update-index", "--index-version=4"],
            &["update-index", "--split-index"],
            &["update-index", "--untracked-cache"],
            &["sparse-checkout", "set", "--cone", "--sparse-index", "in"],
            &["-c", "index.skipHash=true", "update-index", "--force-write-index"],
        ];
        for kind in kinds {
            let repo = Repo::with_commit();
            for path in ["both", "in/x", "out/x", "out/deep/x", "a b\nü"] {
                repo.file(path, "x");
            }
            repo.commit_all("two");
            repo.run(&["checkout", "-q", "-b", "side"]);
            repo.file("both", "theirs");
            repo.commit_all("side");
            repo.run(&["checkout", "-q", "main"]);
            repo.file("both", "ours");
            repo.commit_all("ours");
            assert!(!repo.git().write(["merge", "-q", "side"]).output().unwrap().success());
            repo.run(kind);
            repo.file("in/promised", "x");
            repo.run(&["add", "--intent-to-add", "in/promised"]);
            repo.run(&["rm", "-q", "--cached", "in/x"]);
            let paths = [
                "both",
                "in/x",
                "in/promised",
                "out/x",
                "out",
                "out/deep/x",
                "a b\nü",
                "Both",
                "nope/x",
            ];
            let tracked: Vec<String> =
                super::tracked(&repo.git(), &paths).unwrap().into_iter().collect();
            let expected = ["a b\nü", "both", "in/promised", "out/deep/x", "out/x"];
            assert_eq!(tracked, expected, "{kind:?}");
            assert!(super::tracked(&repo.git(), &["/etc/passwd"]).is_err());
            assert!(super::tracked(&repo.git(), &["./both"]).unwrap().is_empty());
        }
    }

    #[test]
    fn a_status_expires_when_anybody_can_have_changed_files() {
        let repo = Repo::with_commit();
        repo.file("dir/a", "a");
        repo.file("dirt", "a");
        let git = repo.git();
        let paths = |places: &[&str]| -> Vec<String> {
            of(&git, places).unwrap().into_iter().map(|entry| entry.path).collect()
        };
        // Other tests may call `moment::end` in this process as well: that can only cause another
        // `git status`.
        crate::moment::end();
        assert_eq!(paths(&[]), ["dir/a", "dirt"]);
        assert_eq!(paths(&["dir"]), ["dir/a"]);
        assert_eq!(paths(&["dir/a", "nope"]), ["dir/a"]);
        for end in [
            (|_| crate::moment::end()) as fn(&Git),
            |git| drop(git.write(["update-index", "--refresh"]).output()),
            |git| drop(git.hooked(["status"]).output()),
        ] {
            paths(&[]);
            std::fs::write(repo.path("dir/b"), "b").unwrap();
            end(&git);
            assert_eq!(paths(&["dir/"]), ["dir/a", "dir/b"]);
            std::fs::remove_file(repo.path("dir/b")).unwrap();
            end(&git);
            assert_eq!(paths(&[]), ["dir/a", "dirt"]);
        }
    }

    /// A look that git-cowork's own writes have kept valid says what a new one says.
    #[test]
    fn own_writes_and_commits_are_noted() {
        let mut random = fastrand::Rng::with_seed(5);
        let paths = ["a", "d/b", "d/c.log", "e"];
        let repo = Repo::with_commit();
        repo.file(".gitignore", "*.log\n");
        repo.file("a", "1\n");
        repo.file("d/b", "1\n");
        repo.commit_all("files");
        let git = repo.git();
        for _ in 0..80 {
            let path = paths[random.usize(..paths.len())];
            match random.u8(..6) {
                0 => drop(git.write(["add", "--force", path]).output()),
                1 => drop(git.write(["rm", "-q", "--cached", path]).output()),
                2 => {
                    let some: Vec<&str> = paths.into_iter().filter(|_| random.bool()).collect();
                    git.status().unwrap();
                    commit::only(&git, &some, "some", CommitOptions::default()).unwrap();
                }
                _ => {
                    git.status().unwrap();
                    repo.file(path, random.choice(["1\n", "2\n"]).unwrap());
                    note_written(&git, path);
                }
            }
            let kept = git.status().unwrap();
            crate::moment::end();
            let listed = |entries: &[StatusEntry]| -> BTreeSet<String> {
                // A written file is listed even if it is ignored.
                let paths = entries.iter().map(|entry| entry.path.clone());
                paths.filter(|path| path != "d/c.log").collect()
            };
            assert_eq!(listed(&kept), listed(&git.status().unwrap()));
        }
    }

    #[test]
    fn one_file_is_uncommitted_unless_head_and_index_have_its_bytes() {
        let repo = Repo::with_commit();
        repo.file("dir/a", "1\n");
        repo.commit_all("a");
        let git = repo.git();
        assert!(!is_uncommitted(&git, "dir/a").unwrap());
        repo.file("dir/a", "2\n");
        crate::moment::end();
        assert!(is_uncommitted(&git, "dir/a").unwrap());
        // Staged, then reverted on disk: a commit by git-cowork would lose the staged change.
        repo.run(&["add", "dir/a"]);
        repo.file("dir/a", "1\n");
        crate::moment::end();
        assert!(is_uncommitted(&git, "dir/a").unwrap());
        repo.run(&["reset", "-q"]);
        crate::moment::end();
        assert!(!is_uncommitted(&git, "dir/a").unwrap());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(repo.path("dir/a"), mode).unwrap();
            crate::moment::end();
            assert!(is_uncommitted(&git, "dir/a").unwrap());
        }
    }
}
