//! Changes several references at once.

use anyhow::Result;

use crate::git::execute::STARTS;
use crate::git::hooks;
use crate::git::ref_list::Before;
use crate::git::ref_list::verified;
use crate::git::refs::refuse_symbolic;
use crate::git::{Git, Oid, RefName};

/// Changes to references, which are made together or not at all. A branch is moved even if it is
/// checked out: check with [`crate::git::refs::list`] first.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before commit"]
pub struct RefTransaction {
    reflog_message: String,
    changes: Vec<RefChange>,
}

/// A change of one reference: its new value (`None` to delete it), and the value it must have
/// before (`None` to create it).
#[derive(Clone, Debug)]
struct RefChange {
    name: RefName,
    new: Option<Oid>,
    old: Option<Oid>,
}

impl RefChange {
    fn command(&self) -> String {
        let name = &self.name;
        // Changes a symbolic reference itself, never its target.
        let itself = "option no-deref\0";
        let change = match (&self.new, &self.old) {
            (Some(new), Some(old)) => format!("update {name}\0{new}\0{old}\0"),
            (Some(new), None) => format!("create {name}\0{new}\0"),
            (None, old) => {
                let old = old.as_ref().map_or("", Oid::as_str);
                format!("delete {name}\0{old}\0")
            }
        };
        format!("{itself}{change}")
    }
}

impl RefTransaction {
    /// A transaction that writes this message to the reflogs. Missing reflogs are created.
    pub fn new(reflog_message: impl Into<String>) -> Self {
        Self { reflog_message: reflog_message.into(), changes: Vec::new() }
    }

    /// Creates `name`, which must not exist.
    pub fn create(self, name: &RefName, new: &Oid) -> Self {
        self.push(name, Some(new), None)
    }

    /// Moves `name`, which must be at `old`, to `new`.
    pub fn update(self, name: &RefName, new: &Oid, old: &Oid) -> Self {
        self.push(name, Some(new), Some(old))
    }

    /// Deletes `name`, which must be at `old`, and its reflog.
    pub fn delete(self, name: &RefName, old: &Oid) -> Self {
        self.push(name, None, Some(old))
    }

    /// True if the transaction has no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Makes all changes.
    ///
    /// # Errors
    /// An old value is not as expected, a name conflicts with another (`a` and `a/b`), or a hook
    /// refuses: exit 5, and nothing has changed.
    pub fn commit(mut self, git: &Git) -> Result<()> {
        let names: Vec<&str> = self.changes.iter().map(|change| change.name.as_str()).collect();
        refuse_symbolic(git, &names)?;
        let before = Before::of(git);
        // A git process that was killed may have made some or all changes: retry the others.
        for start in 1.. {
            if self.is_empty() {
                break;
            }
            let commands: String = self.changes.iter().map(RefChange::command).collect();
            let input = format!("start\0{commands}prepare\0commit\0");
            let update = git.write(["update-ref", "--create-reflog", "-m", &self.reflog_message]);
            let moves_branch =
                self.changes.iter().any(|change| change.name.as_str().starts_with("refs/heads/"));
            let beside = !moves_branch && !hooks::has(git, "reference-transaction");
            let update = update.args(["-z", "--stdin"]).stdin(input).beside(beside);
            let output = update.attempt(|| true, || false)?;
            if output.success() {
                let changes = self.changes.iter().map(|one| (&one.name, one.new.as_ref()));
                before.and_then(|before| before.note(git, changes));
                break;
            }
            let mut remaining = Vec::new();
            for change in self.changes {
                if !output.killed() || verified(git, change.name.as_str())? != change.new {
                    remaining.push(change);
                }
            }
            self.changes = remaining;
            if !self.is_empty() && (!output.killed() || start == STARTS) {
                return Err(update.failure(&output).into());
            }
        }
        Ok(())
    }

    fn push(mut self, name: &RefName, new: Option<&Oid>, old: Option<&Oid>) -> Self {
        let change = RefChange { name: name.clone(), new: new.cloned(), old: old.cloned() };
        self.changes.push(change);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Kind, kind_of};
    use crate::git::test_repo::Repo;

    fn name(name: &str) -> RefName {
        RefName::new(name).unwrap()
    }

    #[test]
    fn all_or_nothing() {
        for options in [&[][..], &["--ref-format=reftable"], &["--object-format=sha256"]] {
            let repo = Repo::with_commit_in(options);
            let git = repo.git();
            let first = repo.head();
            let second = repo.commit_all("second");
            let (a, b) = (name("refs/cowork/attempts/s/1"), name("refs/tags/cowork/s/prd"));
            let create = || RefTransaction::new("cowork: keep").create(&a, &first);
            create().create(&b, &second).commit(&git).unwrap();
            assert_eq!(git.resolve(a.as_str()).unwrap(), Some(first.clone()));
            assert!(repo.run(&["reflog", "show", a.as_str()]).contains("cowork: keep"));

            let stale = RefTransaction::new("x").delete(&b, &second).update(&a, &second, &second);
            let error = stale.commit(&git).unwrap_err();
            assert_eq!(kind_of(&error), Kind::Repository);
            assert_eq!(git.resolve(b.as_str()).unwrap(), Some(second.clone()), "nothing moved");
            assert!(create().commit(&git).is_err(), "it is there");

            let moved = RefTransaction::new("x").update(&a, &second, &first);
            moved.commit(&git).unwrap();
            assert_eq!(git.resolve(a.as_str()).unwrap(), Some(second.clone()));
            RefTransaction::new("x").delete(&a, &second).delete(&b, &second).commit(&git).unwrap();
            assert_eq!(git.resolve(a.as_str()).unwrap(), None);
            RefTransaction::new("nothing").commit(&git).unwrap();
        }
    }

    #[test]
    fn what_a_symbolic_reference_stands_for_is_never_moved() {
        for options in [&[][..], &["--ref-format=reftable"]] {
            let repo = Repo::with_commit_in(options);
            let git = repo.git();
            let first = repo.head();
            let second = repo.commit_all("second");
            let (own, other) = (name("refs/cowork/drafts/s/prd"), name("refs/heads/main"));
            repo.run(&["symbolic-ref", own.as_str(), other.as_str()]);
            let error = refuse_symbolic(&git, &["refs/cowork/"]).unwrap_err().to_string();
            assert!(error.contains(own.as_str()) && error.contains(other.as_str()), "{error}");
            assert!(refuse_symbolic(&git, &["refs/tags/", "refs/heads/"]).is_ok());
            let moves = RefTransaction::new("x").update(&own, &first, &second);
            assert_eq!(kind_of(&moves.clone().commit(&git).unwrap_err()), Kind::Repository);
            // The reference may become symbolic between the check and the update.
            let commands: String = moves.changes.iter().map(RefChange::command).collect();
            git.write(["update-ref", "-z", "--stdin"]).stdin(commands).checked().unwrap();
            assert_eq!(git.resolve(other.as_str()).unwrap(), Some(second.clone()));
            assert_eq!(git.resolve(own.as_str()).unwrap(), Some(first));
        }
    }
}
