//! Chooses between the two readers, and tests both: each is compared with the other.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;

use crate::git::binary::Binary;
use crate::git::libgit2::Libgit2;
use crate::git::object_text::{Commit, Content};
use crate::git::reader::{Reader, TreeChange, tree_of};
use crate::git::ref_list::RefList;
use crate::git::tree_diff::KeptDiffs;
use crate::git::{Git, Oid};
use crate::git::{filter, tree_diff};

/// Uses libgit2 if it can read the repository, otherwise git: where objects are replaced or
/// grafted, and for objects that a partial clone has not fetched yet.
pub(crate) struct Fallback {
    git: Git,
    sure: Binary,
}

/// The repository opened by libgit2, once for all users; the inner `None` means that libgit2 cannot
/// open it. libgit2 notices by itself what other processes write later.
type Opened = Mutex<Option<Option<Libgit2>>>;

impl Fallback {
    pub(crate) fn new(git: &Git) -> Self {
        Self { git: git.clone(), sure: Binary::new(git.clone()) }
    }

    /// The answer of libgit2, otherwise that of git.
    pub(crate) fn ask<T>(&self, question: impl Fn(&dyn Reader) -> Result<T>) -> Result<T> {
        match self.git.in_process(|fast| question(fast)) {
            Some(answer) => Ok(answer),
            None => question(&self.sure),
        }
    }
}

impl Git {
    /// Reads objects: in process if libgit2 can, otherwise through the binary.
    pub fn reader(&self) -> Box<dyn Reader> {
        Box::new(Fallback::new(self))
    }

    /// The result of libgit2; `None` if it cannot read this repository or fails.
    pub(crate) fn in_process<T>(&self, question: impl FnOnce(&Libgit2) -> Result<T>) -> Option<T> {
        if has_other_history(self) {
            return None;
        }
        let slot = self.shared_caches.get::<Opened>();
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let fast = slot.get_or_insert_with(|| {
            let opening = Libgit2::open(self);
            opening.inspect_err(|error| tracing::debug!("cannot use libgit2: {error:#}")).ok()
        });
        let answer = question(fast.as_ref()?);
        answer.inspect_err(|error| tracing::debug!("libgit2 could not answer: {error:#}")).ok()
    }
}

/// True if grafts or replaced objects make git see another history. They may appear at any time.
fn has_other_history(git: &Git) -> bool {
    let is_replaced = |list: Arc<RefList>| !list.matching(&["refs/replace/"]).is_empty();
    git.common_dir().join("info/grafts").exists()
        || git.ref_list(&["refs/replace"]).map_or(true, is_replaced)
}

/// True if libgit2 can read this repository and the parents of every commit are those named in its
/// object: no commit is cut off (shallow) or replaced.
pub fn is_history_as_written(git: &Git) -> bool {
    git.in_process(|fast| Ok(!fast.is_shallow)).unwrap_or(false)
}

/// True if libgit2 can read this repository.
pub fn is_read_in_process(git: &Git) -> bool {
    git.in_process(|_| Ok(())).is_some()
}

impl Reader for Fallback {
    fn object(&self, id: &Oid) -> Result<Option<Content>> {
        self.ask(|reader| reader.object(id))
    }

    fn commit(&self, oid: &Oid) -> Result<Commit> {
        self.ask(|reader| reader.commit(oid))
    }

    fn walk(&self, tips: &[Oid], hide: &[Oid]) -> Result<Vec<Commit>> {
        self.ask(|reader| reader.walk(tips, hide))
    }

    fn undo_filter(&self, blob: &Oid, commit: &Oid, path: &str, bytes: Vec<u8>) -> Result<Vec<u8>> {
        match path.starts_with(".cowork/") && filter::made(&bytes) {
            true => filter::undone(&self.git, blob, commit, path, bytes),
            false => Ok(bytes),
        }
    }

    fn diff(&self, from: Option<&Oid>, to: &Oid) -> Result<Vec<TreeChange>> {
        let from = from.map(|oid| tree_of(self, oid)).transpose()?;
        let sides = (from, tree_of(self, to)?);
        if let Some(known) = self.git.caches.get::<KeptDiffs>().get(&sides) {
            return Ok(known);
        }
        let changes = tree_diff::changes(self, sides.0.clone(), sides.1.clone())?;
        self.git.caches.get::<KeptDiffs>().keep(sides, &changes);
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Kind, hints_of, kind_of};
    use crate::git::object_text::EntryKind;
    use crate::git::reader::{Object, Part, TreeChangeKind};
    use crate::git::test_repo::Repo;
    use crate::git::{files, ref_list, refs, snapshot, walk, worktree};

    /// Every reader that can read a repository of this format, by name.
    fn readers(repo: &Repo) -> Vec<(&'static str, Box<dyn Reader>)> {
        let git = repo.git();
        let mut readers: Vec<(&str, Box<dyn Reader>)> =
            vec![("git", Box::new(Binary::new(git.clone()))), ("both", git.reader())];
        if let Ok(fast) = Libgit2::open(&git) {
            readers.push(("libgit2", Box::new(fast)));
        }
        readers
    }

    use crate::git::test_repo::FORMATS;

    #[test]
    fn libgit2_reads_what_it_knows() {
        let known = FORMATS.map(|options| {
            let repo = Repo::with_commit_in(options);
            let linked =
                worktree::add(&repo.git(), &repo.root().join("l"), "side", Some(&repo.head()))
                    .unwrap();
            Libgit2::open(&linked).is_ok()
        });
        assert_eq!(known, [true; 4]);
    }

    #[test]
    fn blobs() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            repo.file("a/b c/ü\n", "odd\0bytes\n");
            repo.file("a/empty", "");
            let head = repo.commit_all("second");
            let id = snapshot::blob_id(&repo.git(), &head, "a/empty").unwrap().unwrap();
            for (name, reader) in readers(&repo) {
                let at = |path: &str| reader.blob(Object::At(&head, path)).unwrap();
                assert_eq!(at("a/b c/ü\n").unwrap(), b"odd\0bytes\n", "{name}");
                assert_eq!(at("README.md").unwrap(), b"read me\n", "{name}");
                for nothing in ["a", "nope", "a/nope/x", "README.md/x"] {
                    assert_eq!(at(nothing), None, "{name} {nothing}");
                }
                assert_eq!(reader.blob(Object::Id(&id)).unwrap().unwrap(), b"", "{name}");
                if name != "libgit2" {
                    assert_eq!(reader.blob(Object::Id(&head.zero_like())).unwrap(), None);
                    assert_eq!(reader.blob(Object::Id(&head)).unwrap(), None);
                }
            }
        }
    }

    #[test]
    fn history() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let first = repo.head();
            repo.run(&["checkout", "-q", "-b", "side"]);
            let side = repo.commit_all("side\n\n# not a comment\n\nKey: välue\n");
            repo.run(&["checkout", "-q", "main"]);
            let main = repo.commit_all("main");
            repo.run(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
            let tip = repo.head();
            for (name, reader) in readers(&repo) {
                let all = reader.walk(std::slice::from_ref(&tip), &[]).unwrap();
                let place = |oid: &Oid| all.iter().position(|commit| commit.id == *oid).unwrap();
                assert_eq!((all.len(), place(&tip), place(&first)), (4, 0, 3), "{name}");
                assert_eq!(all[0].parents, [main.clone(), side.clone()], "{name}");
                assert_eq!(reader.commit(&tip).unwrap(), all[0], "{name}");
                assert!(reader.commit(&tip.zero_like()).is_err(), "{name}");
                let commit = &all[place(&side)];
                assert_eq!(commit.author, "Ana <ana@example.com>");
                assert_eq!(commit.message, "side\n\n# not a comment\n\nKey: välue", "{name}");
                assert_eq!(
                    Some(&commit.tree),
                    snapshot::tree_of(&repo.git(), "side").unwrap().as_ref()
                );
                assert!(commit.author_time > 1_000_000_000 && commit.subject() == "side");
                let some =
                    reader.walk(&[tip.clone(), side.clone()], std::slice::from_ref(&main)).unwrap();
                let ids: Vec<&Oid> = some.iter().map(|commit| &commit.id).collect();
                assert_eq!(ids, [&tip, &side], "{name}");
                assert!(reader.walk(&[], &[]).unwrap().is_empty(), "{name}");
                assert!(reader.walk(&[tip.zero_like()], &[]).is_err(), "{name}");
            }
        }
    }

    #[test]
    fn parts_of_commits() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let first = repo.head();
            let second = repo.commit_all("second");
            let blob = snapshot::blob_id(&repo.git(), &first, "README.md").unwrap().unwrap();
            repo.run(&["tag", "-a", "-m", "x", "t"]);
            let tag: Oid = repo.run(&["rev-parse", "t"]).parse().unwrap();
            let tree = snapshot::tree_of(&repo.git(), "HEAD").unwrap().unwrap();
            for (name, reader) in readers(&repo) {
                let part = |oid: &Oid, part| match reader.part(oid, part) {
                    // If libgit2 fails, the binary is used.
                    Err(_) if name == "libgit2" => None,
                    found => found.unwrap(),
                };
                for oid in [&second, &tag] {
                    assert_eq!(part(oid, Part::Commit), Some(second.clone()), "{name}");
                    assert_eq!(part(oid, Part::Parent(1)), Some(first.clone()), "{name}");
                    assert_eq!(part(oid, Part::Tree), Some(tree.clone()), "{name}");
                }
                assert_eq!(part(&tree, Part::Tree), Some(tree.clone()), "{name}");
                assert_eq!(part(&second, Part::Parent(2)), None, "{name}");
                assert_eq!(part(&first, Part::Parent(1)), None, "{name}");
                for nothing in [&blob, &first.zero_like()] {
                    assert_eq!(part(nothing, Part::Commit), None, "{name}");
                    assert_eq!(part(nothing, Part::Tree), None, "{name}");
                }
            }
        }
    }

    #[test]
    fn entries_of_trees() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            repo.file("a/b c/ü\n", "x");
            repo.file("a/x", "x");
            repo.file("a.txt", "x");
            let head = repo.commit_all("second");
            let tree = snapshot::tree_of(&repo.git(), "HEAD").unwrap().unwrap();
            let paths = ["a/b c/ü\n", "a", "nope", "a.txt/x", "a/x", "a/", "./a", ":(glob)*"];
            use EntryKind::{File, Tree};
            let kinds = [Some(File), Some(Tree), None, None, Some(File), None, None, None];
            for (name, reader) in readers(&repo) {
                for of in [&head, &tree] {
                    let entries = reader.entries(of, &paths).unwrap();
                    let found: Vec<_> =
                        entries.iter().map(|e| e.as_ref().map(|e| e.kind)).collect();
                    assert_eq!(found, kinds, "{name}");
                    assert_eq!(reader.names_in(of, "a").unwrap(), ["b c", "x"], "{name}");
                    assert!(reader.names_in(of, "a.txt").unwrap().is_empty(), "{name}");
                    let folders = reader.folders_in(of, "a").unwrap();
                    let inside: Oid = repo.run(&["rev-parse", "HEAD:a/b c"]).parse().unwrap();
                    assert_eq!(folders, [("b c".to_owned(), inside)], "{name}");
                    assert!(reader.folders_in(of, "nope/x").unwrap().is_empty(), "{name}");
                    assert!(reader.folders_in(of, "a.txt").unwrap().is_empty(), "{name}");
                    assert!(reader.names_in(of, "nope/x").unwrap().is_empty(), "{name}");
                }
                assert!(reader.entries(&head.zero_like(), &["a"]).is_err(), "{name}");
            }
            let found = files::at(&repo.git(), &head, &["a/x", "a", "nope", "README.md"]).unwrap();
            let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
            assert_eq!(paths, ["README.md", "a/x"]);
        }
    }

    #[test]
    fn an_open_repository_sees_later_changes() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let reader = git.reader();
        assert_eq!(git.resolve("refs/heads/side").unwrap(), None);
        repo.run(&["checkout", "-q", "-b", "side"]);
        let new = repo.commit_all("later");
        assert_eq!(git.head().unwrap().oid(), Some(&new));
        repo.run(&["gc", "-q", "--prune=now"]);
        repo.run(&["pack-refs", "--all"]);
        assert_eq!(git.resolve("refs/heads/side").unwrap(), Some(new.clone()));
        assert_eq!(reader.part(&new, Part::Commit).unwrap(), Some(new));
    }

    #[test]
    fn differences() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let first = repo.head();
            repo.file("b/é\n", "x");
            repo.file("link", "x");
            repo.file("run", "x");
            let second = repo.commit_all("second");
            std::fs::remove_file(repo.path("README.md")).unwrap();
            repo.run(&["update-index", "--chmod=+x", "run"]);
            #[cfg(unix)]
            {
                std::fs::remove_file(repo.path("link")).unwrap();
                std::os::unix::fs::symlink("b", repo.path("link")).unwrap();
            }
            repo.run(&["add", "README.md", "link"]);
            repo.run(&["commit", "-q", "-m", "third"]);
            let third = repo.head();
            let id =
                |commit: &Oid, path: &str| snapshot::blob_id(&repo.git(), commit, path).unwrap();
            for (name, reader) in readers(&repo) {
                let seen = |from, to| -> Vec<(String, TreeChangeKind)> {
                    let changes = reader.diff(from, to).unwrap();
                    for change in &changes {
                        let old = from.and_then(|from| id(from, &change.path));
                        assert_eq!((&change.old, &change.new), (&old, &id(to, &change.path)));
                    }
                    changes.into_iter().map(|change| (change.path, change.kind)).collect()
                };
                use TreeChangeKind::{Added, Deleted, Modified, Type};
                let pairs = |list: &[(&str, TreeChangeKind)]| -> Vec<_> {
                    list.iter().map(|(path, kind)| ((*path).to_owned(), *kind)).collect()
                };
                let added = pairs(&[("b/é\n", Added), ("link", Added), ("run", Added)]);
                assert_eq!(seen(Some(&first), &second), added, "{name}");
                let changed = pairs(&[("README.md", Deleted), ("link", Type), ("run", Modified)]);
                assert_eq!(seen(Some(&second), &third), changed, "{name}");
                assert_eq!(seen(None, &first), pairs(&[("README.md", Added)]), "{name}");
                assert!(seen(Some(&third), &third).is_empty(), "{name}");
            }
        }
    }

    #[test]
    fn references() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let head = repo.head();
            repo.run(&["branch", "cowork/s"]);
            repo.run(&["tag", "-a", "-m", "x", "cowork/s"]);
            repo.run(&["tag", "tree", "HEAD^{tree}"]);
            repo.run(&["symbolic-ref", "refs/heads/nowhere", "refs/heads/nope"]);
            let check = || {
                for (name, there) in [
                    ("refs/heads/cowork/s", true),
                    ("refs/tags/cowork/s", true),
                    ("refs/heads/cowork", false),
                    ("refs/heads/cowork/s/prd", false),
                    ("refs/heads/nowhere", false),
                    ("refs/tags/tree", false),
                    ("refs/heads/a b", false),
                ] {
                    let (found, commit) = (repo.git().resolve(name), format!("{name}^{{commit}}"));
                    assert_eq!(found.unwrap(), there.then(|| head.clone()), "{name}");
                    let sure = ref_list::verified(&repo.git(), &commit).unwrap();
                    assert_eq!(sure, there.then(|| head.clone()), "{name}");
                }
            };
            check();
            repo.run(&["pack-refs", "--all"]);
            check();
        }
    }

    /// For replaced, grafted and shallow histories, every reader returns what git reports.
    #[test]
    fn history_that_differs_from_the_commit_objects() {
        let told = |git: &Git, fast: bool| {
            assert_eq!(is_read_in_process(git), fast);
            let tip = git.head().unwrap().oid().unwrap().clone();
            let sure = Binary::new(git.clone());
            let walk = |reader: &dyn Reader| reader.walk(std::slice::from_ref(&tip), &[]).unwrap();
            let commits = walk(&sure);
            assert_eq!(walk(git.reader().as_ref()), commits);
            for commit in &commits {
                assert!(refs::is_ancestor(git, &commit.id, &tip).unwrap());
            }
            commits.len()
        };
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let first = repo.head();
            for message in ["second", "third", "fourth"] {
                repo.commit_all(message);
            }
            assert_eq!(told(&repo.git(), true), 4);
            repo.run(&["replace", "--graft", "HEAD", first.as_str()]);
            assert_eq!(told(&repo.git(), false), 2);
            repo.run(&["replace", "-d", "HEAD"]);
            assert_eq!(told(&repo.git(), true), 4);
            if !options.contains(&"--object-format=sha256") {
                let head = repo.head();
                repo.file(".git/info/grafts", &format!("{head} {first}\n"));
                assert_eq!(told(&repo.git(), false), 2);
                std::fs::remove_file(repo.path(".git/info/grafts")).unwrap();
            }
            let url = format!("file://{}", repo.path("").display());
            repo.run(&["clone", "-q", "--depth=2", &url, "../cut"]);
            let git = Git::discover_with(&repo.root().join("cut"), repo.env()).unwrap();
            assert_eq!(told(&git, Libgit2::open(&git).is_ok()), 2, "{options:?}");
            std::fs::remove_dir_all(repo.root().join("cut")).unwrap();
        }
    }

    #[test]
    fn objects_are_read_wherever_git_keeps_them() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let first = repo.head();
            for n in 0..20 {
                repo.file(&format!("d{}/f", n % 3), &format!("{n}\n").repeat(n * 50));
                repo.commit_all(&format!("commit {n}"));
                if n == 10 {
                    repo.run(&["repack", "-dq"]);
                }
            }
            repo.run(&["tag", "-a", "-m", "x", "t"]);
            let tip = repo.head();
            let check = |git: &Git, place: &str| {
                let (fast, sure) = (Libgit2::open(git).unwrap(), Binary::new(git.clone()));
                let list = git.read(["cat-file", "--batch-all-objects", "--batch-check"]);
                let list = list.checked().unwrap().text();
                assert!(list.lines().count() > 60, "{place}");
                for line in list.lines() {
                    let (id, kind) = line.split_once(' ').unwrap();
                    let id: Oid = id.parse().unwrap();
                    if kind.starts_with("blob") {
                        let read = |reader: &dyn Reader| reader.blob(Object::Id(&id)).unwrap();
                        assert_eq!(read(&fast), read(&sure), "{place}");
                        let short = fast.abbreviated(&id.as_str()[..20]).unwrap();
                        assert_eq!(short, Some(id), "{place}");
                    } else if kind.starts_with("commit") {
                        assert_eq!(fast.commit(&id).unwrap(), sure.commit(&id).unwrap());
                    }
                }
                for hidden in [&[][..], std::slice::from_ref(&first)] {
                    let tips = std::slice::from_ref(&tip);
                    let walk = |reader: &dyn Reader| reader.walk(tips, hidden).unwrap();
                    assert_eq!(walk(&fast), walk(&sure), "{place}");
                }
                let diff = |reader: &dyn Reader| reader.diff(Some(&first), &tip).unwrap();
                assert_eq!(diff(&fast), diff(&sure), "{place}");
                assert!(walk::is_ancestor(&fast, &first, &tip).unwrap(), "{place}");
                let counts = walk::ahead_behind(&fast, &tip, &first).unwrap();
                assert_eq!(counts, (20, 0), "{place}");
                assert!(fast.commit(&tip.zero_like()).is_err(), "{place}");
            };
            check(&repo.git(), "some packed");
            repo.run(&["repack", "-dq"]);
            repo.run(&["multi-pack-index", "write"]);
            check(&repo.git(), "several packs with an index of them all");
            repo.run(&["commit-graph", "write", "--reachable", "--changed-paths"]);
            check(&repo.git(), "a commit-graph");
            repo.run(&["clone", "-q", "--shared", ".", "../shared"]);
            let shared = Git::discover_with(&repo.root().join("shared"), repo.env()).unwrap();
            check(&shared, "alternates");
            repo.run(&["gc", "-q", "--prune=now"]);
            check(&repo.git(), "one pack");
        }
    }

    /// A missing or broken object is an error that names it, never another answer.
    #[test]
    fn damage_is_reported() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let commit = repo.head();
            let of = |name: &str| -> Oid { repo.run(&["rev-parse", name]).parse().unwrap() };
            let (tree, blob) = (of("HEAD^{tree}"), of("HEAD:README.md"));
            for (id, is_tree) in [(&blob, false), (&tree, true)] {
                let path = format!(".git/objects/{}/{}", &id.as_str()[..2], &id.as_str()[2..]);
                let whole = std::fs::read(repo.path(&path)).unwrap();
                std::fs::remove_file(repo.path(&path)).unwrap();
                for damage in
                    [None, Some(&b""[..]), Some(b"broken"), Some(&whole[..whole.len() / 2])]
                {
                    if let Some(bytes) = damage {
                        std::fs::write(repo.path(&path), bytes).unwrap();
                    }
                    let reader = repo.git().reader();
                    let failed = |found: anyhow::Error| {
                        assert_eq!(kind_of(&found), Kind::Repository, "{found:#}");
                        let hints = hints_of(&found).concat();
                        let told = format!("{found:#} {hints}");
                        assert!(told.contains(id.as_str()) && told.contains("git fsck"), "{told}");
                    };
                    failed(reader.blob(Object::At(&commit, "README.md")).unwrap_err());
                    if is_tree {
                        failed(reader.entries(&commit, &["README.md"]).unwrap_err());
                        failed(reader.names_in(&commit, "").unwrap_err());
                        failed(reader.diff(None, &commit).unwrap_err());
                    }
                }
                std::fs::remove_file(repo.path(&path)).unwrap();
                std::fs::write(repo.path(&path), whole).unwrap();
            }
        }
    }

    #[test]
    fn a_partial_clone_fetches_what_it_lacks() {
        let repo = Repo::with_commit();
        repo.file("README.md", "newer\n");
        repo.commit_all("second");
        repo.run(&["config", "uploadpack.allowFilter", "true"]);
        repo.run(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        let url = format!("file://{}", repo.path("").display());
        repo.run(&["clone", "-q", "--filter=blob:none", &url, "../partial"]);
        let git = Git::discover_with(&repo.root().join("partial"), repo.env()).unwrap();
        let first = git.resolve("HEAD^").unwrap().unwrap();
        assert!(Libgit2::open(&git).unwrap().blob(Object::At(&first, "README.md")).is_err());
        let text = git.reader().blob(Object::At(&first, "README.md")).unwrap().unwrap();
        assert_eq!(text, b"read me\n");
    }
}
