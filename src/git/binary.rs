//! The reader that runs the git binary: it knows replaced objects and grafts, and fetches objects
//! that a partial clone lacks.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use git2::ObjectType;

use super::reader::{Commit, Content, Reader};
use super::spawn::cat_file;
use super::{Git, Oid};
use crate::error::Error;
use crate::git::lookup;
use crate::moment::Moment;

pub(super) struct Binary {
    git: Git,
}

impl Binary {
    pub(super) fn new(git: Git) -> Self {
        Self { git }
    }

    /// The commit in a line of `git rev-list --parents`: `<id> SP <parent> …`. Grafts and a shallow
    /// clone change the parents, but not the object.
    fn listed(&self, line: &str) -> Result<Commit> {
        let mut ids = line.split_whitespace().map(str::parse::<Oid>);
        let id = ids.next().context("git rev-list printed nothing")??;
        Ok(Commit { parents: ids.collect::<Result<_, _>>()?, ..self.written(&id)? })
    }

    /// A commit as its object says.
    fn written(&self, id: &Oid) -> Result<Commit> {
        match lookup::required(self, id)? {
            (ObjectType::Commit, text) => lookup::commit(id, &text),
            (kind, _) => Err(Error::repository(format!("{id} is a {kind}, not a commit")).into()),
        }
    }

    /// True if some commits have other parents than those named in their objects.
    fn has_other_parents(&self) -> bool {
        let is_file = |name: &&str| self.git.common_dir().join(name).exists();
        let is_set = |name: &&str| self.git.variable(name).is_some();
        ["info/grafts", "shallow"].iter().any(is_file)
            || ["GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"].iter().any(is_set)
    }
}

impl Reader for Binary {
    fn object(&self, id: &Oid) -> Result<Option<Content>> {
        cat_file::object(&self.git, id)
    }

    fn commit(&self, oid: &Oid) -> Result<Commit> {
        if !self.has_other_parents() {
            return self.written(oid);
        }
        let list = self.git.read(["rev-list", "--no-walk", "--parents", oid.as_str(), "--"]);
        self.listed(&list.capture()?)
    }

    fn walk(&self, tips: &[Oid], hide: &[Oid]) -> Result<Vec<Commit>> {
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let now = Moment::now();
        let walks = self.git.caches.get::<Walks>();
        let kept = || walks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) =
            kept().as_ref().filter(|walk| walk.at.lasts()).and_then(|walk| walk.part(tips, hide))
        {
            return Ok(part);
        }
        let mut revisions = String::new();
        for tip in tips {
            revisions.push_str(&format!("{tip}\n"));
        }
        for hidden in hide {
            revisions.push_str(&format!("^{hidden}\n"));
        }
        let list = self.git.read(["rev-list", "--date-order", "--parents", "--stdin"]);
        let lines = list.stdin(revisions).capture()?;
        let commits = lines.lines().map(|line| self.listed(line)).collect::<Result<Vec<_>>>()?;
        *kept() = Some(Walk { at: now, hide: hide.to_vec(), commits: commits.clone() });
        Ok(commits)
    }
}

/// The last walk: with replaced objects, each one is a process, and most are parts of one history.
type Walks = Mutex<Option<Walk>>;

/// The commits of a walk, in its order, valid until anybody may have moved a replacement.
struct Walk {
    at: Moment,
    hide: Vec<Oid>,
    commits: Vec<Commit>,
}

impl Walk {
    /// The commits that another walk would find, if it goes no further than this one.
    fn part(&self, tips: &[Oid], hide: &[Oid]) -> Option<Vec<Commit>> {
        let seen: HashMap<&Oid, &Commit> = self.commits.iter().map(|one| (&one.id, one)).collect();
        if !tips.iter().all(|tip| seen.contains_key(tip)) {
            return None;
        }
        let reached = |from: &[Oid]| {
            let (mut found, mut next) = (HashSet::new(), from.to_vec());
            while let Some(id) = next.pop() {
                if found.insert(id.clone()) {
                    next.extend(seen.get(&id).iter().flat_map(|one| one.parents.clone()));
                }
            }
            found
        };
        // What was hidden then has to be hidden now: otherwise it would be found too.
        let hidden = reached(hide);
        let known = |id: &Oid| seen.contains_key(id) || self.hide.contains(id);
        if !self.hide.iter().all(|id| hidden.contains(id)) || !hide.iter().all(known) {
            return None;
        }
        let found = reached(tips);
        let is_part = |one: &&Commit| found.contains(&one.id) && !hidden.contains(&one.id);
        Some(self.commits.iter().filter(is_part).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;
    use super::*;
    use crate::git::made;

    /// Two ways to each of many merges are not two walks.
    #[test]
    fn every_commit_of_a_part_is_looked_at_once() {
        let id = |number: usize| -> Oid { format!("{:040x}", number + 1).parse().unwrap() };
        let repo = Repo::with_commit();
        let first = repo.git().reader().commit(&repo.head()).unwrap();
        // Each third commit merges the two after it, which have the same parent.
        let parents = |number: usize| match (number % 3, number / 3) {
            (0, _) => vec![id(number + 1), id(number + 2)],
            (_, 100) => Vec::new(),
            (_, merge) => vec![id(3 * merge + 3)],
        };
        let one = |number| Commit { id: id(number), parents: parents(number), ..first.clone() };
        let commits: Vec<Commit> = (0..303).map(one).collect();
        let tip = commits[0].id.clone();
        let walk = Walk { at: Moment::now(), hide: Vec::new(), commits };
        assert_eq!(walk.part(&[tip], &[]).unwrap().len(), 303);
    }

    /// Parts of a walk are what git finds, whatever is merged into what.
    #[test]
    fn a_part_of_a_walk_is_what_another_walk_finds() {
        let (repo, mut random) = (Repo::with_commit(), fastrand::Rng::with_seed(3));
        let git = repo.git();
        let tree = repo.run(&["rev-parse", "HEAD^{tree}"]).parse().unwrap();
        let mut all = vec![repo.head()];
        for n in 0..40_i64 {
            let date = format!("{} +0000", 1_900_000_000 + n);
            let dated = repo.git().with_env(vec![("GIT_COMMITTER_DATE".into(), date.into())]);
            let near = all.len().saturating_sub(6);
            let mut parents: Vec<Oid> = (0..random.usize(1..3))
                .map(|_| all[random.usize(near..all.len())].clone())
                .collect();
            parents.dedup();
            all.push(made::commit_tree(&dated, &tree, &parents, &n.to_string()).unwrap());
        }
        let mut parts = 0;
        for _ in 0..150 {
            let mut some = |most: usize| -> Vec<Oid> {
                (0..random.usize(0..=most)).map(|_| random.choice(&all).unwrap().clone()).collect()
            };
            let kept = Binary::new(git.clone());
            let (whole, hidden) = (vec![all[all.len() - 1].clone()], some(1));
            // Whether an earlier walk is still valid depends on what other tests do.
            *git.caches.get::<Walks>().lock().unwrap() = None;
            kept.walk(&whole, &hidden).unwrap();
            for _ in 0..4 {
                let (tips, hide) = (some(2), some(2));
                let walk = git.caches.get::<Walks>().lock().unwrap().take().unwrap();
                let part = walk.part(&tips, &hide);
                *git.caches.get::<Walks>().lock().unwrap() = Some(walk);
                if let Some(part) = part.filter(|_| !tips.is_empty()) {
                    let ids = |walk: &[Commit]| -> HashSet<Oid> {
                        walk.iter().map(|one| one.id.clone()).collect()
                    };
                    let told = Binary::new(repo.git()).walk(&tips, &hide).unwrap();
                    assert_eq!(ids(&part), ids(&told));
                    parts += usize::from(!part.is_empty());
                }
            }
        }
        assert!(parts > 20, "{parts}");
    }
}
