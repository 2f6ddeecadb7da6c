//! Writes objects: blobs, and the commits of drafts, attempts and notes. They are written in
//! process if the result is byte for byte what git would write, otherwise by the binary. No
//! reference moves, nothing is signed and no hook runs: git runs none for such objects.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use git2::ObjectType;

use crate::git::configuration::Configuration;
use crate::git::libgit2::{Libgit2, oid};
use crate::git::variables;
use crate::git::variables::Who;
use crate::git::{Git, Oid};

/// True for settings that change how git writes an object and that are not implemented in process:
/// permissions of a shared repository, flushing to disk, the encoding of messages.
fn is_unknown_here(key: &str) -> bool {
    matches!(key, "core.sharedrepository" | "i18n.commitencoding") || key.starts_with("core.fsync")
}

/// Writes a blob of these bytes.
///
/// # Errors
/// Git fails.
pub fn store_blob(git: &Git, bytes: impl Into<Vec<u8>>) -> Result<Oid> {
    let bytes = bytes.into();
    match write_objects(git, |fast| fast.put(ObjectType::Blob, &bytes)) {
        Some(blob) => Ok(blob),
        None => git.write(["hash-object", "-w", "--stdin"]).stdin(bytes).oid(),
    }
}

/// Writes the empty tree.
///
/// # Errors
/// Git fails.
pub(crate) fn store_empty_tree(git: &Git) -> Result<Oid> {
    match write_objects(git, |fast| fast.put(ObjectType::Tree, b"")) {
        Some(tree) => Ok(tree),
        None => git.write(["hash-object", "-w", "-t", "tree", "--stdin"]).oid(),
    }
}

/// Writes a commit object of this tree under the user's name; no reference moves.
///
/// # Errors
/// Git fails, or an identity is missing.
pub fn commit_tree(git: &Git, tree: &Oid, parents: &[Oid], message: &str) -> Result<Oid> {
    // If libgit2 cannot write it, git writes it or reports the reason.
    if let Some(commit) = commit_in_process(git, tree, parents, message) {
        return Ok(commit);
    }
    let mut commit = git.write(["-c", "commit.gpgSign=false", "commit-tree", "-F", "-"]);
    for parent in parents {
        commit = commit.args(["-p", parent.as_str()]);
    }
    commit.arg(tree.as_str()).stdin(message).oid()
}

pub(crate) fn commit_in_process(
    git: &Git,
    tree: &Oid,
    parents: &[Oid],
    message: &str,
) -> Option<Oid> {
    if !writes_in_process(git) {
        return None;
    }
    let (author, committer) = (ident(git, Who::Author).ok()?, ident(git, Who::Committer).ok()?);
    git.in_process(|fast| fast.commit(tree, parents, (&author, &committer), message))
}

/// The result of `write`, called in process; `None` if it fails there, or if git would write
/// something else.
pub(crate) fn write_objects<T>(git: &Git, write: impl FnOnce(&Libgit2) -> Result<T>) -> Option<T> {
    if writes_in_process(git) { git.in_process(write) } else { None }
}

pub(crate) fn writes_in_process(git: &Git) -> bool {
    let is_plain = |all: Arc<Configuration>| !all.all().any(|(key, _)| is_unknown_here(key));
    git.in_process(|_| Ok(())).is_some() && git.configuration().is_ok_and(is_plain)
}

/// The identity for a commit that is made now.
pub(crate) fn ident(git: &Git, who: Who) -> Result<Vec<u8>> {
    let line = variables::identity(git, who)?;
    let is_fixed = git.variable(who.date_variable()).is_some_and(|date| !date.is_empty());
    if is_fixed { Ok(line) } else { at_this_moment(&line).context("git var printed no date") }
}

/// An identity line with the current time, in the time zone that the line has.
fn at_this_moment(line: &[u8]) -> Option<Vec<u8>> {
    let end = line.iter().rposition(|&b| b == b'>')? + 1;
    let zone = line.rsplit(|&b| b == b' ').next().filter(|zone| zone.len() == 5)?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let mut now = line.get(..end)?.to_vec();
    now.extend_from_slice(format!(" {seconds} ").as_bytes());
    now.extend_from_slice(zone);
    Some(now)
}

impl Libgit2 {
    /// Writes one object.
    ///
    /// # Errors
    /// The object database cannot be written.
    pub(crate) fn put(&self, kind: ObjectType, bytes: &[u8]) -> Result<Oid> {
        let id = self.repository.odb()?.write(kind, bytes)?;
        // The next steps read it to count the lines of a task's files and to compare trees.
        self.kept.keep(id, kind, bytes);
        oid(id)
    }

    /// Writes a commit in the same way as `git commit-tree`.
    fn commit(
        &self,
        tree: &Oid,
        parents: &[Oid],
        (author, committer): (&[u8], &[u8]),
        message: &str,
    ) -> Result<Oid> {
        let is = |id: &Oid, kind| -> Result<()> {
            let actual = self.header(id)?.0;
            if actual == kind { Ok(()) } else { Err(anyhow::anyhow!("{id} is a {actual}")) }
        };
        is(tree, ObjectType::Tree)?;
        anyhow::ensure!(!message.contains('\0'), "a message with a NUL byte");
        let mut bytes = format!("tree {tree}\n").into_bytes();
        for (index, parent) in parents.iter().enumerate() {
            is(parent, ObjectType::Commit)?;
            // Git leaves out a repeated parent.
            if !parents[..index].contains(parent) {
                bytes.extend_from_slice(format!("parent {parent}\n").as_bytes());
            }
        }
        for (key, ident) in [("author ", author), ("committer ", committer)] {
            // A commit that is not in UTF-8 would need a header that names its encoding.
            std::str::from_utf8(ident).context("a name that is not UTF-8")?;
            bytes.extend_from_slice(key.as_bytes());
            bytes.extend_from_slice(ident);
            bytes.push(b'\n');
        }
        bytes.push(b'\n');
        bytes.extend_from_slice(message.as_bytes());
        self.put(ObjectType::Commit, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::{FORMATS, Repo};
    use crate::git::{snapshot, state};

    /// The same repository at a fixed time, so that a commit's id is known.
    fn at_a_fixed_time(repo: &Repo) -> Git {
        let date = |name: &str| (name.into(), "1700000000 +0545".into());
        repo.git().with_env(vec![date("GIT_AUTHOR_DATE"), date("GIT_COMMITTER_DATE")])
    }

    fn by_git(git: &Git, tree: &Oid, parents: &[Oid], message: &str) -> Oid {
        let mut commit = git.write(["commit-tree", "-F", "-"]);
        for parent in parents {
            commit = commit.args(["-p", parent.as_str()]);
        }
        commit.arg(tree.as_str()).stdin(message).oid().unwrap()
    }

    #[test]
    fn commits_are_those_that_git_makes() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let git = at_a_fixed_time(&repo).with_env(vec![
                ("GIT_AUTHOR_NAME".into(), " Zoë  <x>, ".into()),
                ("GIT_COMMITTER_EMAIL".into(), "a b@example.com".into()),
            ]);
            let first = repo.head();
            let second = repo.commit_all("second");
            let tree = snapshot::tree_of(&git, "HEAD").unwrap().unwrap();
            let parents = [second.clone(), first.clone(), second.clone()];
            for message in ["", "no newline", "two\n\nlines\n\n\n", "# ü\n\nKey: value\n"] {
                for parents in [&parents[..], &parents[..1], &[]] {
                    let made = commit_tree(&git, &tree, parents, message).unwrap();
                    assert_eq!(made, by_git(&git, &tree, parents, message), "{message:?}");
                }
            }
            let blob = store_blob(&git, "text\r\n\0").unwrap();
            assert_eq!(
                git.reader().blob(crate::git::Object::Id(&blob)).unwrap().unwrap(),
                b"text\r\n\0"
            );
            assert!(write_objects(&git, |_| Ok(())).is_some(), "{options:?}");
            repo.run(&["fsck", "--strict"]);
            for wrong in [&blob, &tree] {
                assert!(commit_tree(&git, &tree, std::slice::from_ref(wrong), "x").is_err());
            }
            assert!(commit_tree(&git, &blob, &[], "x").is_err());
            assert!(commit_tree(&git, &tree.zero_like(), &[], "x").is_err());
        }
    }

    #[test]
    fn what_libgit2_would_write_differently_is_written_by_git() {
        for (key, value) in [
            ("core.sharedRepository", "group"),
            ("core.fsync", "all"),
            ("core.fsyncMethod", "batch"),
            ("i18n.commitEncoding", "ISO-8859-1"),
        ] {
            let repo = Repo::with_commit();
            repo.run(&["config", key, value]);
            let git = at_a_fixed_time(&repo);
            assert!(write_objects(&git, |_| Ok(())).is_none(), "{key}");
            let tree = snapshot::tree_of(&git, "HEAD").unwrap().unwrap();
            let made = commit_tree(&git, &tree, &[repo.head()], "ü\n").unwrap();
            assert_eq!(made, by_git(&git, &tree, &[repo.head()], "ü\n"), "{key}");
        }
        let repo = Repo::with_commit();
        let parameter = |value: &str| vec![("GIT_CONFIG_PARAMETERS".into(), value.into())];
        let git = repo.git().with_env(parameter("'core.sharedRepository=0660'"));
        assert!(write_objects(&git, |_| Ok(())).is_none(), "git -c");
    }

    #[test]
    fn a_newly_configured_identity_is_used() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let author =
            |commit: &Oid| repo.run(&["show", "-s", "--format=%an <%ae>", commit.as_str()]);
        let tree = snapshot::tree_of(&git, "HEAD").unwrap().unwrap();
        let ana = commit_tree(&git, &tree, &[], "x").unwrap();
        repo.run(&["config", "author.name", "Eve"]);
        assert_eq!(author(&ana), "Ana <ana@example.com>");
        // A variable takes precedence over the configuration.
        let env = repo.env().into_iter().filter(|(key, _)| key != "GIT_AUTHOR_NAME").collect();
        let git = Git::discover_with(&repo.path(""), env).unwrap();
        let eve = commit_tree(&git, &tree, &[], "x").unwrap();
        let again = commit_tree(&git, &tree, &[], "y").unwrap();
        repo.run(&["config", "author.name", "Uli"]);
        let uli = commit_tree(&git, &tree, &[], "x").unwrap();
        assert_eq!(
            [&eve, &again, &uli].map(author),
            ["Eve", "Eve", "Uli"].map(|name| format!("{name} <ana@example.com>"))
        );
        assert_eq!(state::author(&git).unwrap(), "Uli <ana@example.com>");
    }

    #[test]
    fn the_time_of_an_identity_is_now() {
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let line = at_this_moment(b"A > B <a@b> 1700000000 -0330").unwrap();
        let line = String::from_utf8(line).unwrap();
        let rest = line.strip_prefix("A > B <a@b> ").unwrap().strip_suffix(" -0330").unwrap();
        assert!(rest.parse::<u64>().unwrap() >= before, "{line}");
        assert_eq!(at_this_moment(b"nobody"), None);
    }
}
