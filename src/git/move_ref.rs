//! Creates or moves one reference in process, if git would run no hook and write no other file than
//! the reference and its reflog. Its lock, its reflog and the check of its old value are those of
//! `git update-ref --create-reflog`.

use anyhow::{Context as _, Result, ensure};
use git2::{Signature, Time};

use super::configuration::as_bool;
use super::libgit2::{Libgit2, raw};
use super::ref_files::RefFiles;
use super::variables::Who;
use super::{Git, Oid, RefName};
use crate::git::{child, hooks, made};
use crate::moment;

/// A reference, its new commit, its current commit (`None` if the reference does not exist), and
/// the message for its reflog.
#[derive(Clone, Copy, Debug)]
pub(super) struct MoveRef<'a> {
    pub(super) name: &'a RefName,
    pub(super) new: &'a Oid,
    pub(super) old: Option<&'a Oid>,
    pub(super) reason: &'a str,
}

/// Moves a reference; false, with nothing changed, if that cannot be done in process.
pub(super) fn step(git: &Git, step: MoveRef<'_>) -> bool {
    let is_branch = step.name.as_str().starts_with("refs/heads/");
    let Some(who) = is_in_process(git).then(|| log_signature(git)).flatten() else {
        return false;
    };
    // libgit2 has opened the shared git directory, so it would not write the reflog of a linked
    // working tree's HEAD.
    if is_branch && git.git_dir != git.common_dir {
        return false;
    }
    let moved = child::as_child(git, "update-ref", || step_as(git, step, &who));
    if is_branch {
        moment::end();
    }
    moved
}

/// Like [`step`], for a caller that has already made the checks of `step` and called
/// [`child::as_child`].
pub(super) fn step_as(git: &Git, step: MoveRef<'_>, who: &Signature<'_>) -> bool {
    git.in_process(|fast| fast.move_ref(git, step, who)).is_some()
}

/// True if git would do no more than libgit2 when a reference moves.
pub(super) fn is_in_process(git: &Git) -> bool {
    git.format.has_ref_files
        && made::writes_in_process(git)
        && !hooks::has(git, "reference-transaction")
        && git.configuration().is_ok_and(|all| {
            all.value("core.logallrefupdates").is_none_or(|v| as_bool(v) == Some(true))
        })
}

/// The committer and the current time, for a reflog.
pub(super) fn log_signature(git: &Git) -> Option<Signature<'static>> {
    let line = String::from_utf8(made::ident(git, Who::Committer).ok()?).ok()?;
    let (name, rest) = line.split_once(" <")?;
    let (email, when) = rest.split_once("> ")?;
    let (seconds, zone) = when.split_once(' ')?;
    let zone: i32 = zone.parse().ok()?;
    let minutes = zone / 100 * 60 + zone % 100;
    Signature::new(name, email, &Time::new(seconds.parse().ok()?, minutes)).ok()
}

impl Libgit2 {
    fn move_ref(&self, git: &Git, step: MoveRef<'_>, who: &Signature<'_>) -> Result<()> {
        let MoveRef { name, new, old, reason } = step;
        let mut transaction = self.repository.transaction()?;
        transaction.lock_ref(name.as_str())?;
        let files = RefFiles::of(git)?;
        let now = files.one(name.as_str())?;
        ensure!(now.as_ref().map(|now| &now.object) == old, "{name} has changed");
        let text = std::fs::read(self.repository.path().join(name.as_str())).unwrap_or_default();
        ensure!(!text.starts_with(b"ref:"), "{name} is a symbolic reference");
        if old.is_none() {
            ensure!(
                files.list(&[format!("{name}/")])?.is_empty(),
                "there are references below {name}"
            );
            for (end, _) in name.as_str().match_indices('/').skip(2) {
                let above = &name.as_str()[..end];
                ensure!(files.one(above)?.is_none(), "{above} is in the way");
            }
        }
        self.repository.reference_ensure_log(name.as_str())?;
        transaction.set_target(name.as_str(), raw(new)?, Some(who), reason)?;
        transaction.commit().context("moving a reference")
    }
}

#[cfg(test)]
mod tests {
    use super::super::RefTransaction;
    use super::super::test_repo::Repo;
    use super::*;

    fn created(repo: &Repo, name: &str, new: &Oid, old: Option<&Oid>) -> bool {
        let name = RefName::new(name).unwrap();
        step(&repo.git(), MoveRef { name: &name, new, old, reason: "why" })
    }

    /// The log as git shows it, without the time.
    fn log(repo: &Repo, name: &str) -> Vec<String> {
        let path = repo.path(".git/logs").join(name);
        let text = std::fs::read_to_string(path).unwrap();
        let line = |line: &str| {
            let (who, why) = line.split_once('\t').unwrap();
            let ids = &who[..who.find('>').unwrap()];
            format!("{ids} {why} {}", who.rsplit(' ').next().unwrap())
        };
        text.lines().map(line).collect()
    }

    #[test]
    fn reference_and_logs_are_as_git_would_have_them() {
        for format in [&[][..], &["--object-format=sha256"]] {
            compared(&Repo::with_commit_in(format), &Repo::with_commit_in(format));
        }
    }

    fn compared(ours: &Repo, gits: &Repo) {
        let steps = [("refs/tags/a/b", false), ("refs/heads/main", true), ("refs/cowork/x", false)];
        for (name, moves) in steps {
            for (repo, in_process) in [(ours, true), (gits, false)] {
                let first = repo.head();
                let tree = repo.run(&["rev-parse", "HEAD^{tree}"]);
                let date = [("GIT_COMMITTER_DATE", "1700000000 +0130")]
                    .map(|(key, value)| (key.into(), value.into()));
                let git = repo.git().with_env(date.to_vec());
                let new = made::commit_tree(&git, &tree.parse().unwrap(), &[], "new").unwrap();
                let (name, old) = (RefName::new(name).unwrap(), moves.then_some(&first));
                if in_process {
                    assert!(step(&git, MoveRef { name: &name, new: &new, old, reason: "why" }));
                } else {
                    let update = git.write(["update-ref", "--create-reflog", "-m", "why"]);
                    let old = old.map_or_else(|| first.zero_like(), Clone::clone);
                    update.args([name.as_str(), new.as_str(), old.as_str()]).checked().unwrap();
                }
                assert_eq!(repo.run(&["rev-parse", name.as_str()]), new.as_str());
            }
        }
        let ids =
            |repo: &Repo| repo.run(&["for-each-ref", "--format=%(refname)"]).replace('\n', " ");
        assert_eq!(ids(ours), ids(gits));
        for name in ["refs/tags/a/b", "refs/heads/main", "refs/cowork/x", "HEAD"] {
            let without_ids = |repo: &Repo| {
                let lines = log(repo, name).into_iter();
                lines.map(|line| line[line.find(" Ana").unwrap()..].to_owned()).collect::<Vec<_>>()
            };
            assert_eq!(without_ids(ours), without_ids(gits), "{name}");
        }
        ours.run(&["fsck", "--strict"]);
    }

    #[test]
    fn only_from_the_old_value_and_with_nothing_in_the_way() {
        let repo = Repo::with_commit();
        let first = repo.head();
        let second = repo.commit_all("second");
        for packed in [false, true] {
            for (name, old, done) in [
                ("refs/heads/main", Some(&first), false),
                ("refs/heads/main", None, false),
                ("refs/tags/none", Some(&first), false),
                ("refs/heads/main/x", None, false),
            ] {
                assert_eq!(created(&repo, name, &first, old), done, "{name}");
            }
            repo.run(&["update-ref", "refs/cowork/a/b", first.as_str()]);
            if packed {
                repo.run(&["pack-refs", "--all"]);
            }
            assert!(!created(&repo, "refs/cowork/a", &second, None));
            assert!(!created(&repo, "refs/cowork/a/b/c", &second, None));
            assert!(created(&repo, "refs/cowork/a/b", &second, Some(&first)));
            repo.run(&["symbolic-ref", "refs/cowork/link", "refs/cowork/a/b"]);
            assert!(!created(&repo, "refs/cowork/link", &first, Some(&second)));
            repo.run(&["symbolic-ref", "-d", "refs/cowork/link"]);
            assert_eq!(repo.head(), second);
        }
        repo.file(".git/refs/heads/main.lock", "");
        assert!(!created(&repo, "refs/heads/main", &first, Some(&second)));
        std::fs::remove_file(repo.path(".git/refs/heads/main.lock")).unwrap();
        repo.hook("reference-transaction", "exit 1");
        assert!(!created(&repo, "refs/heads/main", &first, Some(&second)));
        let name = RefName::branch("main").unwrap();
        let git = repo.git();
        assert!(RefTransaction::new("why").update(&name, &first, &second).commit(&git).is_err());
        assert_eq!(repo.head(), second);
    }
}
