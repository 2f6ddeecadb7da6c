//! The references of a repository, whatever keeps them (files or tables), listed by
//! `git for-each-ref`: those in the folders that were asked for. The list is valid while git-cowork
//! alone acts ([`crate::moment`]), and after that while their stamp is the same
//! ([`crate::git::ref_stamp`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Bound::{Included, Unbounded};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Result;

use crate::git::locate::same_place;
use crate::git::output::{lossy, path_buf};
use crate::git::ref_pattern::{is_in, joined, matches, place_of};
use crate::git::ref_stamp::{self, Stamp};
use crate::git::{Git, Oid, RefName};
use crate::moment::Untouched;
use crate::present::present;

/// A reference and the object it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ref {
    /// Full name.
    pub name: RefName,
    /// The object it points to; for an annotated tag, the tag itself.
    pub object: Oid,
}

/// Where HEAD points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// On a branch that has no commit yet.
    Unborn {
        /// The branch that the first commit will create.
        branch: RefName,
    },
    /// On a branch.
    Branch {
        /// Its full name.
        name: RefName,
        /// Its tip.
        oid: Oid,
    },
    /// On a commit.
    Detached {
        /// The commit.
        oid: Oid,
    },
}

impl Head {
    /// The commit, if there is one.
    pub fn oid(&self) -> Option<&Oid> {
        match self {
            Self::Unborn { .. } => None,
            Self::Branch { oid, .. } | Self::Detached { oid } => Some(oid),
        }
    }

    /// The branch, born or not.
    pub fn branch(&self) -> Option<&RefName> {
        match self {
            Self::Unborn { branch: name } | Self::Branch { name, .. } => Some(name),
            Self::Detached { .. } => None,
        }
    }
}

/// The list that was read last.
type Kept = Mutex<Lists>;

#[derive(Default)]
struct Lists {
    known: Option<Known>,
    /// Folders and names that are listed together with the next ones.
    expected: Vec<String>,
}

/// A list that was valid at a time.
#[derive(Clone)]
struct Known {
    at: Untouched,
    /// The folders and names it covers, without a slash at the end.
    places: Vec<String>,
    /// `None` if the files do not show whether references have changed.
    stamp: Option<Stamp>,
    list: Arc<RefList>,
}

/// What is always listed: branches, and what makes git see other objects.
const PLACES: [&str; 3] = ["refs/heads", "refs/remotes", "refs/replace"];

/// The most folders and names that are listed one by one: with more, all references are.
const MOST_PLACES: usize = 30;

/// References outside `refs/` that show an operation in progress. In files, they are files.
const ROOTS: [&str; 2] = ["CHERRY_PICK_HEAD", "REVERT_HEAD"];

/// References, as git lists them.
#[derive(Clone, Default)]
pub(crate) struct RefList {
    /// Their objects; for a symbolic one, that of its target.
    objects: BTreeMap<RefName, Oid>,
    /// The symbolic ones, with the names of their targets.
    symbolic: Vec<(String, String)>,
    /// The working trees that have a branch checked out, by the full name of the branch.
    pub(crate) worktrees: BTreeMap<String, PathBuf>,
    /// The branch that this working tree has checked out, if it has a commit.
    pub(crate) branch: Option<RefName>,
    /// HEAD, if it is not on a branch with a commit and has been asked for.
    pub(crate) other_head: OnceLock<Head>,
    /// Those of [`ROOTS`] in this working tree that are in tables.
    pub(crate) roots: BTreeSet<String>,
}

impl RefList {
    /// The references that match one of the patterns, sorted by name.
    pub(crate) fn matching<S: AsRef<str>>(&self, patterns: &[S]) -> Vec<Ref> {
        let mut result = BTreeMap::new();
        for pattern in patterns.iter().map(AsRef::as_ref) {
            let prefix = pattern.split('*').next().unwrap_or_default();
            let from = self.objects.range::<str, _>((Included(prefix), Unbounded));
            let candidates = from.take_while(|(name, _)| name.as_str().starts_with(prefix));
            result.extend(candidates.filter(|(name, _)| matches(pattern, name.as_str())));
        }
        let one =
            |(name, object): (&RefName, &Oid)| Ref { name: name.clone(), object: object.clone() };
        result.into_iter().map(one).collect()
    }

    fn extend(&mut self, more: Self) {
        self.objects.extend(more.objects);
        self.symbolic.extend(more.symbolic);
        self.worktrees.extend(more.worktrees);
    }

    /// The object of one reference.
    pub(crate) fn object(&self, name: &str) -> Option<&Oid> {
        self.objects.get(name)
    }

    /// The matching symbolic references, with the names of their targets.
    pub(crate) fn symbolic<S: AsRef<str>>(&self, patterns: &[S]) -> Option<&(String, String)> {
        let fits = |name: &str| patterns.iter().any(|one| matches(one.as_ref(), name));
        self.symbolic.iter().find(|(name, _)| fits(name))
    }
}

/// In a linked working tree, git 2.47 prints a wrong target for a symbolic reference that comes
/// after one without a target: the branch of HEAD is asked for by another field.
const FIELDS: [&str; 5] =
    ["%(refname)", "%(objectname)", "%(symref)", "%(worktreepath)", "%(HEAD)"];

impl Git {
    /// The current references, of which those that match a pattern, and all branches, are listed.
    /// The cost depends on the number of references in the folders that were asked for.
    ///
    /// # Errors
    /// Git fails, or a table is missing (exit 5).
    pub(crate) fn ref_list<S: AsRef<str>>(&self, patterns: &[S]) -> Result<Arc<RefList>> {
        let lists = self.caches.get::<Kept>();
        let mut lists = lists.lock().unwrap_or_else(PoisonError::into_inner);
        let at = Untouched::now();
        let stamp = |places: &[String]| {
            Stamp::of(self, places).inspect_err(|error| tracing::debug!("{error:#}")).ok()
        };
        let mut known = lists.known.take();
        // Most commands ask only once, and looking at thousands of files takes long.
        let is_first = known.is_none();
        let mut is_current = known.as_ref().is_some_and(|known| known.at == at);
        if let Some(known) = known.as_mut().filter(|known| !is_current && known.stamp.is_some()) {
            is_current = stamp(&known.places) == known.stamp;
            known.at = at;
        }
        let had = known.as_ref().map_or(&[][..], |known| &known.places);
        let new_places = patterns.iter().map(|pattern| place_of(pattern.as_ref()));
        let mut new: Vec<String> = new_places.filter(|place| !is_in(place, had)).collect();
        if !new.is_empty() || !is_current {
            let more = PLACES.map(str::to_owned).into_iter().chain(lists.expected.drain(..));
            new.extend(more.filter(|place| !is_in(place, had)));
        }
        new.sort();
        new.dedup();
        if had.len() + new.len() > MOST_PLACES {
            new = vec!["refs".to_owned()];
        }
        let known = match known {
            Some(known) if is_current && new.is_empty() => known,
            Some(mut known) if is_current => {
                // The stamp comes first: what changes meanwhile is seen as a change.
                known.stamp = known.stamp.zip(stamp(&new)).map(|(old, new)| new.with(old));
                let mut list = RefList::clone(&known.list);
                list.extend(read(self, &new)?);
                let places = joined(&known.places, new);
                Known { list: Arc::new(list), places, ..known }
            }
            _ => {
                let places = joined(had, new);
                let stamp = if is_first { None } else { stamp(&places) };
                let list = Arc::new(read(self, &places)?);
                Known { at, places, stamp, list }
            }
        };
        Ok(Arc::clone(&lists.known.insert(known).list))
    }

    /// Says which references will be asked for, so that git lists them with the next ones.
    pub fn expect_refs(&self, places: impl IntoIterator<Item = String>) {
        let lists = self.caches.get::<Kept>();
        let mut lists = lists.lock().unwrap_or_else(PoisonError::into_inner);
        for place in places.into_iter().map(|place| place_of(&place)) {
            let is_listed = lists.known.as_ref().is_some_and(|known| is_in(&place, &known.places));
            if !is_listed && !is_in(&place, &lists.expected) {
                lists.expected.push(place);
            }
        }
    }
}

fn read(git: &Git, places: &[String]) -> Result<RefList> {
    let mut list = RefList::default();
    let one = |[name, object, target, tree, mark]: [&[u8]; FIELDS.len()]| {
        let name = lossy(name);
        if !name.starts_with("refs/") {
            list.roots.insert(name);
            return Ok(());
        }
        // For the `HEAD` of a bare repository, which has nothing checked out, git prints the git
        // directory.
        let tree = path_buf(tree);
        if !tree.as_os_str().is_empty() && !same_place(&tree, git.common_dir()) {
            list.worktrees.insert(name.clone(), tree);
        }
        if !target.is_empty() {
            list.symbolic.push((name.clone(), lossy(target)));
        }
        // Git warns of invalid names and lists them.
        let Ok(name) = RefName::new(name) else { return Ok(()) };
        if mark == b"*" {
            list.branch = Some(name.clone());
        }
        list.objects.insert(name, lossy(object).parse()?);
        Ok(())
    };
    let mut options: Vec<&str> = Vec::new();
    if !git.format.has_ref_files {
        // Every git that knows tables knows this option.
        options.push("--include-root-refs");
        options.extend(ROOTS);
    }
    options.extend(places.iter().map(String::as_str));
    printed_refs(git, FIELDS, options, one)?;
    Ok(list)
}

/// What `one` makes of these fields of each reference that `git for-each-ref` prints.
///
/// # Errors
/// Git fails, a table of references is missing, or `one` fails.
pub(crate) fn printed_refs<'a, T, const N: usize>(
    git: &Git,
    fields: [&str; N],
    options: impl IntoIterator<Item = &'a str>,
    mut one: impl FnMut([&[u8]; N]) -> Result<T>,
) -> Result<Vec<T>> {
    ref_stamp::require_tables(git)?;
    let format: String = fields.iter().flat_map(|field| [field, "%00"]).collect();
    let list = git.read(["for-each-ref", &format!("--format={format}")]);
    let output = list.args(options).checked()?;
    let texts: Vec<&[u8]> = output.stdout.split(|&b| b == 0).collect();
    let record = |texts: &[&[u8]]| {
        let mut fields = std::array::from_fn(|at| texts.get(at).copied().unwrap_or_default());
        // A line break ended the previous record.
        fields[0] = fields[0].trim_ascii_start();
        one(fields)
    };
    texts.chunks_exact(N).map(record).collect()
}

/// Resolves one object with `git rev-parse --verify`.
pub(crate) fn verified(git: &Git, rev: &str) -> Result<Option<Oid>> {
    ref_stamp::require_tables(git)?;
    let ask = git.read(["rev-parse", "--verify", "--quiet", "--end-of-options", rev]);
    let output = ask.output()?;
    Ok(if output.success() { Some(output.text().trim_end().parse()?) } else { None })
}

/// The list before a change of references by git-cowork itself.
pub(crate) struct Before {
    places: Vec<String>,
    stamp: Stamp,
    list: Arc<RefList>,
}

impl Before {
    /// `None` if the current list is not known.
    pub(crate) fn of(git: &Git) -> Option<Self> {
        let lists = git.caches.get::<Kept>();
        let known = lists.lock().unwrap_or_else(PoisonError::into_inner).known.clone()?;
        let Known { places, stamp, list, .. } = known;
        let now = Stamp::of(git, &places).ok()?;
        (stamp.as_ref() == Some(&now)).then_some(Self { places, stamp: now, list })
    }

    /// Records that git-cowork itself has just made these changes to references that are not
    /// symbolic (`None` for a deletion): the list is updated, if the files show that nobody else
    /// has changed anything. A branch that is created or deleted may be the one of a HEAD.
    pub(crate) fn note<'a>(
        self,
        git: &Git,
        changes: impl Iterator<Item = (&'a RefName, Option<&'a Oid>)>,
    ) -> Option<()> {
        let at = Untouched::now();
        let now = Stamp::of(git, &self.places).ok()?;
        let mut list = RefList::clone(&self.list);
        let mut own_files = BTreeSet::new();
        for (name, new) in changes {
            let is_target = list.symbolic.iter().any(|(_, target)| target == name.as_str());
            let had = list.objects.contains_key(name);
            if is_target || (name.as_str().starts_with("refs/heads/") && had != new.is_some()) {
                return None;
            }
            let file = git.common_dir.join(name.as_str());
            // Read after the stamp: somebody else may have moved it again before.
            let text = present(fs::read(&file)).ok()?;
            let is_ours = text.as_deref().map(<[u8]>::trim_ascii_end)
                == new.map(|new| new.as_str().as_bytes());
            if git.format.has_ref_files && !is_ours {
                return None;
            }
            own_files.insert(file);
            match new {
                Some(_) if !is_in(name.as_str(), &self.places) => None,
                Some(new) => list.objects.insert(name.clone(), new.clone()),
                None => list.objects.remove(name),
            };
        }
        if !self.stamp.is_one_change_before(&now, &own_files) {
            return None;
        }
        let known = Known { at, places: self.places, stamp: Some(now), list: Arc::new(list) };
        let lists = git.caches.get::<Kept>();
        lists.lock().unwrap_or_else(PoisonError::into_inner).known = Some(known);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::refs::tests::{asked_refs, listed_by_git};
    use crate::git::test_repo::{FORMATS, Repo};
    use crate::git::{RefTransaction, refs, state, worktree};

    const PATTERNS: [&[&str]; 12] = [
        &["refs/"],
        &["refs/heads/"],
        &["refs/heads"],
        &["refs/heads/main"],
        &["refs/heads/main/"],
        &["refs/heads/cowork/", "refs/remotes/*/cowork/*"],
        &["refs/remotes/*/main"],
        &["refs/heads/cowork/a*--*", "refs/heads/cowork/a"],
        &["refs/tags/", "refs/tags/t"],
        &["refs/cowork/attempts/s/"],
        &["refs/heads/cow"],
        &["refs/w*"],
    ];

    fn full(options: &[&str]) -> Repo {
        let repo = Repo::with_commit_in(options);
        for branch in ["cowork/a", "cowork/a--b", "cowork/ab--c--d", "cowork-x/y", "other"] {
            repo.run(&["branch", branch]);
        }
        repo.run(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        repo.run(&["update-ref", "refs/remotes/fork/cowork/a", "HEAD"]);
        repo.run(&["update-ref", "refs/remotes/fork/cowork/deep/er", "HEAD"]);
        repo.run(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
        repo.run(&["symbolic-ref", "refs/heads/nowhere", "refs/heads/nope"]);
        repo.run(&["symbolic-ref", "refs/heads/round", "refs/heads/round"]);
        repo.run(&["update-ref", "refs/cowork/attempts/s/1", "HEAD"]);
        repo.run(&["update-ref", "refs/worktree/own", "HEAD"]);
        repo.run(&["tag", "-a", "-m", "first\nline\n\nbody\n", "t"]);
        repo.run(&["tag", "-a", "-m", "of a tag", "tt", "t"]);
        repo.run(&["tag", "tree", "HEAD^{tree}"]);
        repo.run(&["tag", "light"]);
        repo
    }

    /// The names that match, each compared with what git lists.
    fn compared(git: &Git, patterns: &[&str]) -> Vec<String> {
        let found = git.refs(patterns).unwrap();
        assert_eq!(found, asked_refs(git, patterns).unwrap(), "{patterns:?}");
        assert_eq!(refs::list(git, patterns).unwrap(), listed_by_git(git, patterns));
        found.into_iter().map(|one| one.name.to_string()).collect()
    }

    #[test]
    fn patterns_match_as_in_git() {
        for options in FORMATS {
            let repo = full(options);
            let git = repo.git();
            let check = || PATTERNS.map(|patterns| compared(&git, patterns));
            let loose = check();
            assert_eq!(loose[3], ["refs/heads/main"]);
            assert_eq!(loose[5].len(), 4, "{:?}", loose[5]);
            repo.run(&["pack-refs", "--all", "--prune"]);
            assert_eq!(check(), loose, "packed");
            // Some are packed, some are not, and one has moved since it was packed.
            repo.commit_all("second\n\nwith a body\n\nKey: value\n");
            repo.run(&["branch", "cowork/later"]);
            repo.run(&["branch", "-D", "other"]);
            check();
        }
    }

    #[test]
    fn what_is_broken_is_left_out_as_git_does() {
        let repo = full(&[]);
        repo.run(&["pack-refs", "--all"]);
        let zero = "0".repeat(40);
        let git = repo.git();
        for text in ["", "x", &zero, "ref: \n", &"a".repeat(39), &format!("{}x", "a".repeat(40))] {
            repo.file(".git/refs/heads/cowork/a", text);
            repo.file(".git/refs/heads/a b", &repo.head().to_string());
            repo.file(".git/refs/heads/half.lock", text);
            let listed = git.refs(&["refs/heads/"]).unwrap();
            // The older, packed value is not used.
            assert!(listed.iter().all(|one| one.name.short() != "cowork/a"), "{text:?}");
            assert_eq!(git.resolve("refs/heads/cowork/a").unwrap(), None);
        }
        repo.file(".git/packed-refs", "# pack-refs with: peeled fully-peeled sorted \nnonsense\n");
        assert!(git.refs(&["refs/tags/"]).is_err());
    }

    /// Each change, by git, is seen by a repository that has already listed its references.
    #[cfg(unix)]
    #[test]
    fn a_list_is_read_again_after_each_change() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let (git, first) = (repo.git(), repo.head());
            let listed = |name: &str| {
                compared(&git, &["refs/"]);
                git.resolve(name).unwrap()
            };
            assert_eq!(listed("refs/heads/a"), None);
            repo.run(&["branch", "a"]);
            assert_eq!(listed("refs/heads/a"), Some(first.clone()));
            let second = repo.commit_all("second");
            repo.run(&["update-ref", "refs/heads/a", second.as_str()]);
            assert_eq!(listed("refs/heads/a"), Some(second.clone()));
            repo.run(&["pack-refs", "--all"]);
            assert_eq!(listed("refs/heads/a"), Some(second.clone()));
            repo.run(&["symbolic-ref", "refs/heads/link", "refs/heads/a"]);
            assert_eq!(listed("refs/heads/link"), Some(second));
            assert!(refs::refuse_symbolic(&git, &["refs/heads/link"]).is_err());
            assert!(refs::refuse_symbolic(&git, &["refs/heads/a"]).is_ok());
            repo.run(&["branch", "-D", "a"]);
            assert_eq!(listed("refs/heads/a"), None);
            assert_eq!(listed("refs/heads/link"), None, "its target is gone");

            let main = RefName::branch("main").unwrap();
            assert_eq!(git.head().unwrap().branch(), Some(&main));
            let linked =
                worktree::add(&git, &repo.root().join("l w"), "side", Some(&first)).unwrap();
            let side = RefName::branch("side").unwrap();
            let on_side = Head::Branch { name: side.clone(), oid: first.clone() };
            assert_eq!(linked.head().unwrap(), on_side);
            assert_eq!(refs::checked_out_in(&git, &side).unwrap().as_deref(), Some(linked.top()));
            linked.write(["checkout", "-q", "--detach"]).checked().unwrap();
            assert_eq!(refs::checked_out_in(&git, &side).unwrap(), None);
            assert_eq!(linked.head().unwrap(), Head::Detached { oid: first.clone() });
            linked.write(["update-ref", "refs/worktree/x", first.as_str()]).checked().unwrap();
            assert!(git.refs(&["refs/worktree/"]).unwrap().is_empty());
            assert_eq!(linked.refs(&["refs/worktree/"]).unwrap().len(), 1);
            linked.write(["update-ref", "-d", "refs/worktree/x"]).checked().unwrap();
            assert!(linked.refs(&["refs/worktree/"]).unwrap().is_empty());
            repo.run(&["checkout", "-q", "--orphan", "new"]);
            let new = RefName::branch("new").unwrap();
            assert_eq!(git.head().unwrap(), Head::Unborn { branch: new });
            assert!(listed("refs/heads/main").is_some());
            repo.run(&["checkout", "-q", "main"]);
            assert_eq!(state::operation_in_progress(&git).unwrap(), None);
            repo.run(&["update-ref", "REVERT_HEAD", "HEAD"]);
            let revert = Some(state::Operation::Revert);
            assert_eq!(state::operation_in_progress(&git).unwrap(), revert);
            assert_eq!(state::operation_in_progress(&linked).unwrap(), None);
        }
    }

    /// With a link in place of a file there is no stamp: the references are listed each time.
    #[cfg(unix)]
    #[test]
    fn links_in_place_of_files() {
        let repo = Repo::with_commit();
        repo.run(&["branch", "a"]);
        let git = repo.git();
        std::os::unix::fs::symlink("a", repo.path(".git/refs/heads/link")).unwrap();
        assert_eq!(git.resolve("refs/heads/link").unwrap(), Some(repo.head()));
        let second = repo.commit_all("second");
        repo.run(&["update-ref", "refs/heads/a", second.as_str()]);
        assert_eq!(git.resolve("refs/heads/link").unwrap(), Some(second));
    }

    /// The list is kept over own changes, unless somebody else makes another.
    #[test]
    fn own_changes_are_noted_in_the_list() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let (git, first) = (repo.git(), repo.head());
            let second = repo.commit_all("second");
            let name = |n: usize| RefName::new(format!("refs/cowork/{n}")).unwrap();
            let mut kept = 0;
            for n in 0..40 {
                git.refs(&["refs/"]).unwrap();
                let mut change = RefTransaction::new("x").create(&name(n), &first);
                if n > 0 {
                    change = change.update(&name(n - 1), &second, &first);
                }
                if n > 1 {
                    change = change.delete(&name(n - 2), &second);
                }
                change.commit(&git).unwrap();
                kept += usize::from(Before::of(&git).is_some());
                compared(&git, &["refs/"]);
                if n % 4 == 0 {
                    repo.run(&["update-ref", "refs/heads/other", first.as_str()]);
                    repo.run(&["update-ref", "-d", "refs/heads/other"]);
                }
                if n == 20 {
                    repo.run(&["symbolic-ref", "refs/cowork/link", name(20).as_str()]);
                }
                compared(&git, &["refs/"]);
            }
            assert!(kept > 30, "{options:?} {kept}");
            // Two changes since the list was read: only one of them is known.
            let before = Before::of(&git).unwrap();
            repo.run(&["update-ref", "refs/heads/other", first.as_str()]);
            RefTransaction::new("x").create(&name(99), &first).commit(&git).unwrap();
            assert_eq!(before.note(&git, [(&name(99), Some(&first))].into_iter()), None);
        }
    }

    #[test]
    fn a_missing_table_is_an_error() {
        let repo = Repo::with_commit_in(&["--ref-format=reftable"]);
        let git = repo.git();
        repo.file(".git/reftable/tables.list", "no-such-table.ref\n");
        assert!(git.refs(&["refs/heads/"]).is_err());
        assert!(git.resolve("refs/heads/main").is_err());
        assert!(git.head().is_err());
    }
}
