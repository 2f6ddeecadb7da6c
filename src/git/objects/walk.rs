//! Walks through history. Each commit is read like any other object: libgit2's own walks never return
//! from a commit whose file was cut off.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use anyhow::Result;

use crate::git::Oid;
use crate::git::object_text::Commit;
use crate::git::reader::Reader;

/// The commits that reach a commit, as bits: those asked for, and those whose history is left out.
const TIPS: u8 = 1;
const HIDDEN: u8 = 2;

/// How many commits are read after the last one that can be part of the result, because a clock may
/// have been wrong. Git reads as many (`SLOP` in its `revision.c`).
const SLOP: usize = 5;

/// A commit that was reached.
struct Reached {
    commit: Commit,
    from: u8,
    /// Its parents are not reached yet.
    is_queued: bool,
}

/// The commits reached so far.
struct Walk<'a, R: Reader + ?Sized> {
    reader: &'a R,
    reached: HashMap<Oid, Reached>,
    /// The next commits, the newest first.
    queue: Newest,
    /// What is reached from all of these is not followed for its own sake.
    settled: u8,
    /// The commits in the queue that are followed.
    followed: usize,
}

/// Commits by their dates, the newest first; those of one second in the order in which they came.
#[derive(Default)]
struct Newest {
    heap: BinaryHeap<(i64, Reverse<usize>, Oid)>,
    count: usize,
}

impl Newest {
    fn push(&mut self, commit: &Commit) {
        self.count += 1;
        self.heap.push((commit.committer_time, Reverse(self.count), commit.id.clone()));
    }

    fn pop(&mut self) -> Option<Oid> {
        self.heap.pop().map(|(.., id)| id)
    }

    fn next_time(&self) -> Option<i64> {
        self.heap.peek().map(|(time, ..)| *time)
    }
}

impl<'a, R: Reader + ?Sized> Walk<'a, R> {
    fn new(reader: &'a R, settled: u8) -> Self {
        let (reached, queue) = (HashMap::new(), Newest::default());
        Self { reader, reached, queue, settled, followed: 0 }
    }

    /// Notes that a commit is reached from these; if that is known of its parents, of them as well.
    fn reach(&mut self, id: &Oid, from: u8) -> Result<()> {
        let is_settled = |from| from & self.settled == self.settled;
        let mut next = vec![id.clone()];
        while let Some(id) = next.pop() {
            let Some(known) = self.reached.get_mut(&id) else {
                let mut commit = self.reader.commit(&id)?;
                if from & HIDDEN != 0 {
                    // There may be very many of them.
                    commit.message = String::new();
                }
                self.queue.push(&commit);
                self.followed += usize::from(!is_settled(from));
                self.reached.insert(id, Reached { commit, from, is_queued: true });
                continue;
            };
            let before = known.from;
            known.from |= from;
            if known.is_queued {
                self.followed -= usize::from(!is_settled(before) && is_settled(known.from));
            } else if before != known.from {
                next.extend(known.commit.parents.iter().cloned());
            }
        }
        Ok(())
    }

    /// Follows the commits to their parents until only settled ones are left. Returns the commits
    /// in the order in which they were followed.
    fn run(&mut self) -> Result<Vec<Oid>> {
        let (mut order, mut oldest, mut rest) = (Vec::new(), i64::MAX, SLOP);
        while let Some(id) = self.queue.pop() {
            let Some(next) = self.reached.get_mut(&id) else { continue };
            next.is_queued = false;
            let (from, time) = (next.from, next.commit.committer_time);
            for parent in next.commit.parents.clone() {
                self.reach(&parent, from)?;
            }
            order.push(id);
            if from & self.settled != self.settled {
                self.followed -= 1;
                (oldest, rest) = (time, SLOP);
            } else if self.followed > 0 || self.queue.next_time().is_some_and(|at| at >= oldest) {
                rest = SLOP;
            } else if rest == 1 {
                break;
            } else {
                rest -= 1;
            }
        }
        Ok(order)
    }

    /// From where a commit is reached.
    fn from(&self, id: &Oid) -> u8 {
        self.reached.get(id).map_or(0, |known| known.from)
    }
}

/// The commits reachable from `tips` but not from `hide`, each before its parents, otherwise newest
/// first, like `git rev-list --date-order`.
pub(crate) fn walk<R: Reader + ?Sized>(
    reader: &R,
    tips: &[Oid],
    hide: &[Oid],
) -> Result<Vec<Commit>> {
    let mut walk = Walk::new(reader, HIDDEN);
    tips.iter().try_for_each(|tip| walk.reach(tip, TIPS))?;
    hide.iter().try_for_each(|hidden| walk.reach(hidden, HIDDEN))?;
    let mut order = walk.run()?;
    order.retain(|id| walk.from(id) == TIPS);
    let mut children: HashMap<Oid, usize> = order.iter().map(|id| (id.clone(), 0)).collect();
    for parent in order.iter().flat_map(|id| &walk.reached[id].commit.parents) {
        children.entry(parent.clone()).and_modify(|count| *count += 1);
    }
    let mut ready = Newest::default();
    for id in order.iter().filter(|id| children[*id] == 0) {
        ready.push(&walk.reached[id].commit);
    }
    let mut commits = Vec::with_capacity(order.len());
    while let Some(Reached { commit, .. }) = ready.pop().and_then(|id| walk.reached.remove(&id)) {
        for parent in &commit.parents {
            let Some(count) = children.get_mut(parent) else { continue };
            *count -= 1;
            if *count == 0 {
                ready.push(&walk.reached[parent].commit);
            }
        }
        commits.push(commit);
    }
    Ok(commits)
}

/// True if `ancestor` is `of` or one of its ancestors.
pub(crate) fn is_ancestor(reader: &dyn Reader, ancestor: &Oid, of: &Oid) -> Result<bool> {
    let (walk, _) = both(reader, ancestor, of)?;
    Ok(walk.from(ancestor) == TIPS | HIDDEN)
}

/// The number of commits that `a` has and `b` has not, and the reverse.
pub(crate) fn ahead_behind(reader: &dyn Reader, a: &Oid, b: &Oid) -> Result<(usize, usize)> {
    let (walk, order) = both(reader, a, b)?;
    let count = |from| order.iter().filter(|id| walk.from(id) == from).count();
    Ok((count(TIPS), count(HIDDEN)))
}

/// The histories of two commits down to where they are the same, and the commits in them.
type Both<'a> = (Walk<'a, dyn Reader + 'a>, Vec<Oid>);

/// Follows both commits.
fn both<'a>(reader: &'a dyn Reader, a: &Oid, b: &Oid) -> Result<Both<'a>> {
    let mut walk = Walk::new(reader, TIPS | HIDDEN);
    walk.reach(a, TIPS)?;
    walk.reach(b, HIDDEN)?;
    let order = walk.run()?;
    Ok((walk, order))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::binary::Binary;
    use crate::git::libgit2::Libgit2;
    use crate::git::made;
    use crate::git::test_repo::{FORMATS, Repo};

    /// Walks through random histories, of commits in the same second and of wrong clocks, find what
    /// git finds.
    #[test]
    fn random_histories_are_walked_as_by_git() {
        let mut random = fastrand::Rng::with_seed(5);
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let (fast, sure) = (Libgit2::open(&repo.git()).unwrap(), Binary::new(repo.git()));
            let tree = repo.run(&["rev-parse", "HEAD^{tree}"]).parse().unwrap();
            let mut all = vec![repo.head()];
            for n in 0..60_i64 {
                let clock = if random.u8(..8) == 0 { random.i64(-30..30) } else { 0 };
                let date = format!("{} +0000", 1_900_000_000 + n / 3 + clock);
                let dated = repo.git().with_env(vec![("GIT_COMMITTER_DATE".into(), date.into())]);
                let near = all.len().saturating_sub(8);
                let mut parents: Vec<Oid> = (0..random.usize(0..3))
                    .map(|_| all[random.usize(near..all.len())].clone())
                    .collect();
                parents.dedup();
                all.push(made::commit_tree(&dated, &tree, &parents, &n.to_string()).unwrap());
            }
            for _ in 0..15 {
                let mut some = |least: usize| -> Vec<Oid> {
                    (0..random.usize(least..3))
                        .map(|_| random.choice(&all).unwrap().clone())
                        .collect()
                };
                let (mut tips, hide) = (some(1), some(0));
                tips.dedup();
                let (a, b) = (some(1).remove(0), some(1).remove(0));
                let mut list = vec!["rev-list", "--date-order"];
                list.extend(tips.iter().map(Oid::as_str));
                list.push("--not");
                list.extend(hide.iter().map(Oid::as_str));
                let walked = repo.run(&list);
                let is_ancestor = ["merge-base", "--is-ancestor", a.as_str(), b.as_str()];
                let is_ancestor = repo.git().read(is_ancestor).output().unwrap().success();
                let counts = ["rev-list", "--left-right", "--count", &format!("{a}...{b}")];
                let counts = repo.run(&counts);
                for reader in [&fast as &dyn Reader, &sure] {
                    let commits = reader.walk(&tips, &hide).unwrap();
                    let ids: Vec<&str> = commits.iter().map(|commit| commit.id.as_str()).collect();
                    assert_eq!(ids, walked.lines().collect::<Vec<_>>());
                    assert_eq!(super::is_ancestor(reader, &a, &b).unwrap(), is_ancestor);
                    let (ahead, behind) = ahead_behind(reader, &a, &b).unwrap();
                    assert_eq!(counts, format!("{ahead}\t{behind}"));
                }
            }
        }
    }

    /// A repository borrows objects, and the file of one of them was cut off.
    #[test]
    fn a_borrowed_commit_that_was_cut_off_is_an_error() {
        let repo = Repo::with_commit();
        let (first, tip) = (repo.head(), repo.commit_all("second"));
        repo.run(&["clone", "-q", "--shared", ".", "../shared"]);
        let (folder, name) = first.as_str().split_at(2);
        let file = repo.path(".git/objects").join(folder).join(name);
        let whole = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
        let shared = repo.root().join("shared");
        let git = crate::git::Git::discover_with(&shared, repo.env()).unwrap();
        let fast = Libgit2::open(&git).unwrap();
        assert!(fast.commit(&tip).is_ok());
        assert!(fast.walk(std::slice::from_ref(&tip), &[]).is_err());
        assert!(is_ancestor(&fast, &first, &tip).is_err());
    }
}
