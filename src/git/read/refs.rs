//! References: resolves and lists them.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use git2::ObjectType;

use crate::error::Error;
use crate::git::locate::same_place;
use crate::git::output::lossy;
use crate::git::reader::{peeled, required};
use crate::git::ref_list::{Ref, verified};
use crate::git::{Git, Oid, Part, Reader, RefName};
use crate::git::{fallback, walk};
use crate::shell_quote::quoted;

/// A reference and the commit it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefInfo {
    /// Full name.
    pub name: RefName,
    /// The object it peels to: for an annotated tag, the tagged object.
    pub oid: Oid,
    /// The object it points to directly, which a transaction compares: for an annotated tag, the
    /// tag itself.
    pub object: Oid,
    /// The working tree that has this branch checked out.
    pub worktree: Option<PathBuf>,
    /// Time of the commit or annotated tag (Unix seconds); 0 for other objects.
    pub committer_time: i64,
    /// First paragraph of the message in one line.
    pub subject: String,
    /// The whole message.
    pub message: String,
}

/// Checks that no matching reference is symbolic: git would read or move its target instead.
/// The references of git-cowork never are.
///
/// # Errors
/// A reference is symbolic: exit 5, with its name. Git fails.
pub fn refuse_symbolic<S: AsRef<str>>(git: &Git, patterns: &[S]) -> Result<()> {
    let list = git.ref_list(patterns)?;
    list.symbolic(patterns).map_or(Ok(()), |(name, to)| Err(symbolic(name, to).into()))
}

/// Checks that a branch that is about to be created is not a symbolic reference to nothing, which
/// git does not list: git would create its target.
///
/// # Errors
/// It is: exit 5, with its name. Git fails.
pub(crate) fn refuse_dangling(git: &Git, name: &RefName) -> Result<()> {
    let target = git.read(["symbolic-ref", "--quiet", name.as_str()]).output()?;
    match target.success() {
        true => Err(symbolic(name.as_str(), target.text().trim_end()).into()),
        false => Ok(()),
    }
}

fn symbolic(name: &str, to: &str) -> Error {
    Error::repository(format!("{name} must not be a symbolic reference, but points to {to}")).hint(
        format!(
            "find out what created it, then delete the reference: git symbolic-ref --delete {}",
            quoted(name)
        ),
    )
}

impl Git {
    /// Returns the commit that a revision names; `None` if there is none. Prefer full reference
    /// names: a tag hides a branch of the same short name.
    ///
    /// # Errors
    /// Git cannot be started.
    pub fn resolve(&self, rev: &str) -> Result<Option<Oid>> {
        if rev.starts_with("refs/") && RefName::new(rev).is_ok() {
            return commit_of(self, rev);
        }
        match head_or_id(self, rev)? {
            Some((Some(oid), part)) => self.reader().part(&oid, part),
            Some((None, _)) => Ok(None),
            None => verified(self, &format!("{rev}^{{commit}}")),
        }
    }

    /// Returns the references that match one of the patterns, sorted by name. As in
    /// `git for-each-ref`, a pattern is a full name, a prefix up to a slash, or contains `*`, which
    /// does not match slashes. No objects are read.
    ///
    /// # Errors
    /// Git fails.
    pub fn refs<S: AsRef<str>>(&self, patterns: &[S]) -> Result<Vec<Ref>> {
        Ok(self.ref_list(patterns)?.matching(patterns))
    }
}

/// The commit to which the reference with this full name points, also through an annotated tag;
/// `None` if there is no such reference, or it points to something else.
fn commit_of(git: &Git, name: &str) -> Result<Option<Oid>> {
    let list = git.ref_list(&[name])?;
    list.object(name).map_or(Ok(None), |object| git.reader().part(object, Part::Commit))
}

/// Parses `HEAD` or a full id, alone or with `^` and the number of a parent. Returns the commit and
/// the requested part of it; `None` if only git can parse the revision.
fn head_or_id(git: &Git, rev: &str) -> Result<Option<(Option<Oid>, Part)>> {
    let (name, part) = match rev.split_once('^') {
        None => (rev, Part::Commit),
        Some((name, number)) => match number.parse() {
            Ok(number @ 1..) => (name, Part::Parent(number)),
            _ => return Ok(None),
        },
    };
    Ok(match name.parse::<Oid>() {
        Ok(oid) => Some((Some(oid), part)),
        Err(_) if name == "HEAD" => Some((git.head()?.oid().cloned(), part)),
        Err(_) => None,
    })
}

/// Returns the object that an abbreviated id names; `None` if there is none or more than one.
///
/// # Errors
/// Git cannot be started.
pub fn object_id(git: &Git, short: &str) -> Result<Option<Oid>> {
    // An object that libgit2 does not find may be in a directory named only by the environment.
    let answer = git.in_process(|fast| fast.abbreviated(short));
    let sure = git.variable("GIT_ALTERNATE_OBJECT_DIRECTORIES").is_none();
    match answer.filter(|answer| sure || answer.is_some()) {
        Some(answer) => Ok(answer),
        None => verified(git, short),
    }
}

/// [`object_id`] of a file's blob, which is probably the one at `path` of `commit`: a partial clone
/// does not find an object by its abbreviated id before it was fetched.
///
/// # Errors
/// Git cannot be started, or there is no such commit.
pub fn object_id_at(git: &Git, short: &str, commit: &Oid, path: &str) -> Result<Option<Oid>> {
    let entry = git.reader().entries(commit, &[path])?.pop().flatten();
    match entry.filter(|entry| entry.kind.is_blob() && entry.oid.as_str().starts_with(short)) {
        Some(entry) => Ok(Some(entry.oid)),
        None => object_id(git, short),
    }
}

/// [`Git::refs`] with the times and messages of their commits, and the working trees that have them
/// checked out.
///
/// # Errors
/// Git fails.
pub fn list<S: AsRef<str>>(git: &Git, patterns: &[S]) -> Result<Vec<RefInfo>> {
    let refs = git.refs(patterns)?;
    if refs.is_empty() {
        return Ok(Vec::new());
    }
    let (list, reader) = (git.ref_list(patterns)?, git.reader());
    let info = |found: Ref| {
        let worktree = list.worktrees.get(found.name.as_str()).cloned();
        Ok(RefInfo { worktree, ..info_of(reader.as_ref(), found)? })
    };
    refs.into_iter().map(info).collect()
}

/// The [`RefInfo`] of a reference, apart from the working tree.
fn info_of(reader: &dyn Reader, Ref { name, object }: Ref) -> Result<RefInfo> {
    let (kind, bytes) = required(reader, &object)?;
    let text = lossy(&bytes);
    let (mut committer_time, mut subject, mut message) = (0, String::new(), String::new());
    if let ObjectType::Commit | ObjectType::Tag = kind {
        let (header, body) = text.split_once("\n\n").unwrap_or((&text, ""));
        let body = body.trim_start_matches('\n');
        // Git ends the subject at the beginning of a signature.
        let unsigned_body = body.find("-----BEGIN ").map_or(body, |at| &body[..at]);
        committer_time = made_at(header);
        (subject, message) = (subject_of(unsigned_body), body.to_owned());
    }
    let oid = match kind {
        ObjectType::Tag => peeled(reader, &object)?.context("a tag of nothing")?.0,
        _ => object.clone(),
    };
    Ok(RefInfo { name, oid, object, worktree: None, committer_time, subject, message })
}

/// The time of a commit or a tag, from its header; 0 if the header does not contain it.
fn made_at(header: &str) -> i64 {
    let mut lines = header.lines();
    let line = lines.find(|line| line.starts_with("committer ") || line.starts_with("tagger "));
    let time = line.and_then(|line| line.rsplit_once("> "));
    time.and_then(|(_, time)| time.split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// The first paragraph of a message in one line.
fn subject_of(body: &str) -> String {
    let end = body.find("\n\n").or_else(|| body.find("\r\n\r\n")).unwrap_or(body.len());
    let paragraph = body[..end].trim_end_matches(['\n', '\r']);
    paragraph.replace("\r\n", "\n").replace('\n', " ")
}

/// Returns the working tree that has this branch checked out.
///
/// # Errors
/// Git fails.
pub fn checked_out_in(git: &Git, branch: &RefName) -> Result<Option<PathBuf>> {
    let list = git.ref_list(&[branch.as_str()])?;
    let place = list.worktrees.get(branch.as_str());
    Ok(place.filter(|path| !same_place(path, git.common_dir())).cloned())
}

/// True if there is a local branch of this short name.
///
/// # Errors
/// Git fails.
pub fn branch_exists(git: &Git, short: &str) -> Result<bool> {
    let Ok(name) = RefName::branch(short) else { return Ok(false) };
    Ok(git.resolve(name.as_str())?.is_some())
}

/// The remote-tracking branches of this short name, one for each remote that has it.
///
/// # Errors
/// Git fails.
pub fn remote_branches(git: &Git, short: &str) -> Result<Vec<RefName>> {
    RefName::branch(short)?;
    let branches = git.refs(&[format!("refs/remotes/*/{short}")])?;
    Ok(branches.into_iter().map(|one| one.name).collect())
}

/// True if `ancestor` is `of` or one of its ancestors.
///
/// # Errors
/// One of the commits is missing.
pub fn is_ancestor(git: &Git, ancestor: &Oid, of: &Oid) -> Result<bool> {
    fallback::Fallback::new(git).ask(|reader| walk::is_ancestor(reader, ancestor, of))
}

/// Returns the number of commits that `a` has and `b` has not, and the reverse.
///
/// # Errors
/// One of the commits is missing.
pub fn ahead_behind(git: &Git, a: &Oid, b: &Oid) -> Result<(usize, usize)> {
    fallback::Fallback::new(git).ask(|reader| walk::ahead_behind(reader, a, b))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::git::output::path_buf;
    use crate::git::ref_list::printed_refs;
    use crate::git::test_repo::Repo;
    use crate::git::{made, snapshot, worktree};

    /// What [`Git::refs`] should return, from a new `git for-each-ref`.
    pub(crate) fn asked_refs(git: &Git, patterns: &[&str]) -> Result<Vec<Ref>> {
        let one = |[name, object]: [&[u8]; 2]| {
            Ok(Ref { name: RefName::new(lossy(name))?, object: lossy(object).parse()? })
        };
        printed_refs(git, ["%(refname)", "%(objectname)"], patterns.iter().copied(), one)
    }

    /// [`list`], all by git.
    pub(crate) fn listed_by_git(git: &Git, patterns: &[&str]) -> Vec<RefInfo> {
        let fields = [
            "%(refname)",
            "%(objectname)",
            "%(*objectname)",
            "%(worktreepath)",
            "%(creatordate:unix)",
            "%(contents:subject)",
            "%(contents)",
        ];
        let info = |[name, object, peeled, path, time, subject, message]: [&[u8]; 7]| {
            let worktree = (!path.is_empty()).then(|| path_buf(path));
            let object: Oid = lossy(object).parse()?;
            Ok(RefInfo {
                name: RefName::new(lossy(name))?,
                oid: if peeled.is_empty() { object.clone() } else { lossy(peeled).parse()? },
                object,
                worktree,
                committer_time: lossy(time).parse().unwrap_or(0),
                subject: lossy(subject),
                message: lossy(message),
            })
        };
        printed_refs(git, fields, patterns.iter().copied(), info).unwrap()
    }

    #[test]
    fn references_are_listed_with_what_one_wants_to_know() {
        let repo = Repo::with_commit();
        let git = repo.git();
        assert!(list(&git, &["refs/heads/cowork/"]).unwrap().is_empty());
        let first = repo.head();
        repo.run(&["commit", "-q", "--allow-empty", "-m", "two\n\nbody\n\nKey: value"]);
        let linked =
            worktree::add(&git, &repo.root().join("l w"), "cowork/s", Some(&first)).unwrap();
        repo.run(&["tag", "-a", "-m", "annotated", "t"]);
        let refs = list(&git, &["refs/heads/", "refs/tags/t"]).unwrap();
        let names: Vec<&str> = refs.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["refs/heads/cowork/s", "refs/heads/main", "refs/tags/t"]);
        assert_eq!(refs[0].worktree.as_deref(), Some(linked.top()));
        assert_eq!(refs[1].worktree.as_deref(), Some(git.top()));
        assert_eq!((refs[1].subject.as_str(), &refs[2].oid), ("two", &refs[1].oid));
        assert!(refs[1].message.contains("body\n\nKey: value"));
        assert!(refs.iter().all(|r| r.committer_time > 1_000_000_000));
    }

    #[test]
    fn abbreviated_ids() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let blob = snapshot::blob_id(&git, &repo.head(), "README.md").unwrap().unwrap();
        for long in [4, 7, 12, 39, 40] {
            let short = &blob.as_str()[..long];
            assert_eq!(object_id(&git, short).unwrap(), verified(&git, short).unwrap(), "{short}");
            assert_eq!(object_id(&git, short).unwrap().as_ref(), Some(&blob));
        }
        // Creates objects until two have the same abbreviated id.
        let mut seen = std::collections::HashMap::new();
        let ambiguous = (0..).find_map(|number: u32| {
            let oid = made::store_blob(&git, number.to_string()).unwrap();
            let short = oid.as_str()[..4].to_owned();
            if seen.insert(short.clone(), oid).is_some() { Some(short) } else { None }
        });
        let none = "a1".repeat(20);
        for short in [ambiguous.unwrap().as_str(), "a1a1a1a1a1a1", "a1a", "HEAD", "main", &none] {
            assert_eq!(object_id(&git, short).unwrap(), verified(&git, short).unwrap(), "{short}");
        }
    }

    #[test]
    fn relations_of_commits() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let base = repo.head();
        let one = repo.commit_all("one");
        repo.run(&["checkout", "-q", "-b", "side", base.as_str()]);
        repo.commit_all("two");
        let two = repo.commit_all("three");
        assert!(is_ancestor(&git, &base, &one).unwrap() && !is_ancestor(&git, &one, &two).unwrap());
        assert_eq!(ahead_behind(&git, &one, &two).unwrap(), (1, 2));
        assert!(is_ancestor(&git, &base, &base).unwrap());
        for missing in [base.zero_like(), "a1".repeat(20).parse().unwrap()] {
            assert!(is_ancestor(&git, &base, &missing).is_err());
            assert!(is_ancestor(&git, &missing, &missing).is_err());
            assert!(ahead_behind(&git, &base, &missing).is_err());
        }
        assert_eq!(ahead_behind(&git, &one, &one).unwrap(), (0, 0));
        assert!(branch_exists(&git, "side").unwrap() && !branch_exists(&git, "nope").unwrap());
        assert!(!branch_exists(&git, "a b").unwrap());
        assert_eq!(git.resolve("no such thing").unwrap(), None);
        assert_eq!(git.resolve("--help").unwrap(), None);
    }
}
