//! The commits that branches gained since a time. One walk for all branches finds which of them
//! reach each commit. It goes from newest to oldest, and no further back than requested: the
//! commits of a base branch are read once for any number of sessions that may be merged there.

use std::collections::{BinaryHeap, HashMap};

use anyhow::Result;

use crate::git::{Commit, Git, Oid};

/// A path of the walk ends after more than this many commits in a row that are too old, not after
/// the first, so that a single commit from a machine with a wrong clock hides nothing.
const OLD_IN_A_ROW: u8 = 16;

/// The commits that a walk has visited, and the tips from which it reached them.
#[derive(Debug, Default)]
pub struct Gained(HashMap<Oid, Visited>);

impl Gained {
    /// The marks of the tips that reach this commit; 0 if the walk did not visit it.
    pub fn marks_of(&self, commit: &Oid) -> u64 {
        self.0.get(commit).map_or(0, |visited| visited.marks)
    }
}

#[derive(Clone, Copy, Debug)]
struct Visited {
    marks: u64,
    /// The number of commits in a row on the way here that are too old, including this one.
    old: u8,
}

/// The limits of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// The oldest commit time (Unix seconds).
    pub since: i64,
    /// The known linear history of some commits: newest first, without the commit itself. All
    /// commits of a history but its last are marked without being read.
    pub lines: &'a HashMap<&'a Oid, &'a [Oid]>,
}

/// Walks from `tips`, each with its mark. Calls `see` once with each commit that is read.
///
/// # Errors
/// A tip is missing, or git fails.
pub fn find(
    git: &Git,
    tips: &[(Oid, u64)],
    limits: &Limits<'_>,
    see: &mut dyn FnMut(&Commit),
) -> Result<Gained> {
    let reader = git.reader();
    let mut visits: HashMap<Oid, Visited> = HashMap::new();
    let mut queue: BinaryHeap<(i64, Oid, Vec<Oid>)> = BinaryHeap::new();
    let mut reach = |id: Oid, marks: u64, old: u8, visits: &mut HashMap<Oid, Visited>| {
        let last = visits.get(&id).copied();
        let (marks, old) = match last {
            Some(last) if last.marks | marks == last.marks && last.old <= old => return Ok(None),
            Some(last) => (last.marks | marks, last.old.min(old)),
            None => (marks, old),
        };
        let commit = reader.commit(&id)?;
        let old = if commit.committer_time < limits.since { old } else { 0 };
        visits.insert(id, Visited { marks, old });
        if last.is_none() {
            see(&commit);
        }
        let next = (commit.committer_time, commit.id, commit.parents);
        anyhow::Ok(Some(next).filter(|_| old <= OLD_IN_A_ROW))
    };
    for (tip, marks) in tips {
        queue.extend(reach(tip.clone(), *marks, 1, &mut visits)?);
    }
    while let Some((_, id, parents)) = queue.pop() {
        let Visited { marks, old } = visits[&id];
        if let Some((last, line)) = limits.lines.get(&id).and_then(|line| line.split_last()) {
            for id in line {
                visits.entry(id.clone()).or_insert(Visited { marks, old: 0 }).marks |= marks;
            }
            queue.extend(reach(last.clone(), marks, 1, &mut visits)?);
            continue;
        }
        for parent in parents {
            queue.extend(reach(parent, marks, old + 1, &mut visits)?);
        }
    }
    Ok(Gained(visits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::refs;
    use crate::git::test_repo::{FORMATS, Repo};

    /// Makes a commit with this time (Unix seconds) on the current branch.
    fn at(repo: &Repo, time: i64, message: &str) -> Oid {
        repo.git()
            .with_env(vec![("GIT_COMMITTER_DATE".into(), format!("@{time} +0000").into())])
            .write(["commit", "-q", "--allow-empty", "-m", message])
            .checked()
            .unwrap();
        repo.head()
    }

    /// The result of git: the marks of the tips that reach the commit.
    fn slow(git: &Git, tips: &[(Oid, u64)], commit: &Oid) -> u64 {
        let reached = tips.iter().filter(|(tip, _)| refs::is_ancestor(git, commit, tip).unwrap());
        reached.fold(0, |marks, (_, mark)| marks | mark)
    }

    #[test]
    fn a_walk_finds_the_tips_that_reach_each_commit() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let git = repo.git();
            let first = at(&repo, 2_000_000_000, "first\n\nCowork-Session-Id: 0");
            let second = at(&repo, 2_000_000_100, "second\n\ncowork-session-ID: 1");
            repo.run(&["checkout", "-q", "-b", "side", first.as_str()]);
            // Newer than the commit that merges it.
            let side = at(&repo, 2_000_009_000, "side\n\nCowork-Session-Id: 2\n");
            repo.run(&["checkout", "-q", "-b", "other", first.as_str()]);
            let other = at(&repo, 2_000_000_300, "other");
            repo.run(&["checkout", "-q", "main"]);
            let unmerged = repo.head();
            repo.run(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
            let tips =
                [(repo.head(), 1), (other.clone(), 2), (unmerged.clone(), 4), (side.clone(), 8)];
            let mut seen = Vec::new();
            let limits = Limits { since: 2_000_000_000, lines: &HashMap::new() };
            let gained = find(&git, &tips, &limits, &mut |commit| {
                seen.push((commit.id.clone(), commit.subject().to_owned()));
            })
            .unwrap();
            for commit in [&first, &second, &side, &other, &unmerged, &repo.head()] {
                assert_eq!(gained.marks_of(commit), slow(&git, &tips, commit), "{options:?}");
            }
            assert_eq!(gained.marks_of(&first.zero_like()), 0);
            for (id, subject) in [(&first, "first"), (&second, "second"), (&side, "side")] {
                let times = seen.iter().filter(|one| **one == (id.clone(), subject.to_owned()));
                assert_eq!(times.count(), 1, "{options:?} {subject}");
            }
        }
    }

    #[test]
    fn one_wrong_clock_hides_nothing_and_a_long_past_is_not_read() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let past: Vec<Oid> = (0..40).map(|n| at(&repo, 1_500_000_000 + n, "past")).collect();
        let session = at(&repo, 2_000_000_000, "session");
        at(&repo, 5, "a clock that was never set");
        let tip = at(&repo, 2_000_000_200, "newest");
        let limits = Limits { since: 2_000_000_000, lines: &HashMap::new() };
        let gained = find(&git, &[(tip, 1)], &limits, &mut |_| {}).unwrap();
        assert_eq!(gained.marks_of(&session), 1);
        assert_eq!((gained.marks_of(&past[39]), gained.marks_of(&past[0])), (1, 0));
    }

    #[test]
    fn replaced_and_grafted_parents_are_followed() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let first = repo.head();
        let second = at(&repo, 2_000_000_000, "second");
        let tip = at(&repo, 2_000_000_100, "third");
        let limits = Limits { since: 0, lines: &HashMap::new() };
        let marks = || {
            let gained = find(&git, &[(tip.clone(), 1)], &limits, &mut |_| {}).unwrap();
            gained.marks_of(&second)
        };
        assert_eq!(marks(), 1);
        repo.run(&["replace", "--graft", tip.as_str(), first.as_str()]);
        assert_eq!(marks(), 0);
        repo.run(&["replace", "-d", tip.as_str()]);
        repo.file(".git/info/grafts", &format!("{tip} {first}\n"));
        assert_eq!(marks(), 0);
    }

    #[test]
    fn what_is_known_to_be_one_line_is_reached_without_being_read() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let git = repo.git();
            let base = at(&repo, 2_000_000_000, "base");
            repo.run(&["checkout", "-q", "-b", "side"]);
            let mut line: Vec<Oid> =
                (1..5).map(|n| at(&repo, 2_000_000_000 + n, "one delivery")).collect();
            let tip = line.pop().unwrap();
            line.reverse();
            let inside = line[1].clone();
            line.push(base.clone());
            repo.run(&["checkout", "-q", "main"]);
            at(&repo, 2_000_000_050, "main");
            repo.run(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
            for tips in [
                vec![(repo.head(), 1)],
                vec![(repo.head(), 1), (inside.clone(), 2), (base.clone(), 4)],
                vec![(inside.clone(), 2), (tip.clone(), 4), (repo.head(), 1)],
            ] {
                let lines = HashMap::from([(&tip, line.as_slice())]);
                let mut told = Vec::new();
                let mut see = |commit: &Commit| told.push(commit.id.clone());
                let limits = Limits { since: 0, lines: &lines };
                let gained = find(&git, &tips, &limits, &mut see).unwrap();
                for commit in line.iter().chain([&tip, &base, &repo.head()]) {
                    assert_eq!(gained.marks_of(commit), slow(&git, &tips, commit), "{options:?}");
                }
                assert!([&tip, &base].iter().all(|commit| told.contains(commit)), "{options:?}");
                assert!(!told.contains(&line[0]), "{options:?}: it is read");
            }
        }
    }
}
