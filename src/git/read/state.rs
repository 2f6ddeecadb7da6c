//! The current state of the repository: HEAD, an operation in progress, sparse checkout, identity.
//! Nothing here changes it.

use anyhow::{Context as _, Result};

use crate::error::Error;
use crate::git::output::lossy;
use crate::git::settings::config_bool;
use crate::git::variables;
use crate::git::variables::Who;
use crate::git::{Git, Head, Oid, RefName};

impl Git {
    /// Where HEAD points.
    ///
    /// # Errors
    /// Git fails, or HEAD is neither a branch nor a commit.
    pub fn head(&self) -> Result<Head> {
        let list = self.ref_list(&[] as &[&str])?;
        let on_branch =
            list.branch.as_ref().and_then(|name| Some((name, list.object(name.as_str())?)));
        if let Some((name, oid)) = on_branch {
            return Ok(Head::Branch { name: name.clone(), oid: oid.clone() });
        }
        if let Some(head) = list.other_head.get() {
            return Ok(head.clone());
        }
        let head = other_head(self)?;
        Ok(list.other_head.get_or_init(|| head).clone())
    }
}

/// HEAD, if it is not on a branch that has a commit.
fn other_head(git: &Git) -> Result<Head> {
    // For a branch git prints its name, otherwise `HEAD`.
    let both = git.read(["rev-parse", "--quiet", "HEAD^{commit}", "--symbolic-full-name"]);
    let both = both.arg("HEAD").output()?;
    let text = both.text();
    if let (true, [oid, name]) = (both.success(), text.lines().collect::<Vec<_>>().as_slice()) {
        let oid = oid.parse()?;
        return Ok(match *name {
            "HEAD" => Head::Detached { oid },
            name => Head::Branch { name: RefName::new(name)?, oid },
        });
    }
    let name = git.read(["symbolic-ref", "-q", "HEAD"]).output()?;
    if !name.success() {
        return Err(Error::repository("HEAD is broken").into());
    }
    Ok(Head::Unborn { branch: RefName::new(name.text().trim_end())? })
}

/// A git operation that is carried on by later commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `git merge`.
    Merge,
    /// `git rebase`.
    Rebase,
    /// `git am`.
    Am,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git bisect`.
    Bisect,
}

impl Operation {
    /// The message that it is in progress.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Merge => "a merge is in progress",
            Self::Rebase => "a rebase is in progress",
            Self::Am => "git am is in progress",
            Self::CherryPick => "a cherry-pick is in progress",
            Self::Revert => "a revert is in progress",
            Self::Bisect => "a bisect is in progress",
        }
    }

    /// The error for a command that cannot run meanwhile.
    pub fn refusal(self) -> Error {
        Error::repository(self.message()).hint(format!("finish it, or abort it: {}", self.abort()))
    }

    /// The command that continues it; `None` for a bisect, which goes on by marking commits.
    pub const fn goes_on(self) -> Option<&'static str> {
        match self {
            Self::Merge => Some("git merge --continue"),
            Self::Rebase => Some("git rebase --continue"),
            Self::Am => Some("git am --continue"),
            Self::CherryPick => Some("git cherry-pick --continue"),
            Self::Revert => Some("git revert --continue"),
            Self::Bisect => None,
        }
    }

    /// The command that aborts it.
    pub const fn abort(self) -> &'static str {
        match self {
            Self::Merge => "git merge --abort",
            Self::Rebase => "git rebase --abort",
            Self::Am => "git am --abort",
            Self::CherryPick => "git cherry-pick --abort",
            Self::Revert => "git revert --abort",
            Self::Bisect => "git bisect reset",
        }
    }
}

/// The git operation in progress.
///
/// # Errors
/// Git fails.
pub fn operation_in_progress(git: &Git) -> Result<Option<Operation>> {
    let has = |name: &str| git.git_dir.join(name).exists();
    if has("rebase-merge") {
        return Ok(Some(Operation::Rebase));
    }
    if has("rebase-apply") {
        let applies = has("rebase-apply/applying");
        return Ok(Some(if applies { Operation::Am } else { Operation::Rebase }));
    }
    if has("MERGE_HEAD") {
        return Ok(Some(Operation::Merge));
    }
    let heads = [("CHERRY_PICK_HEAD", Operation::CherryPick), ("REVERT_HEAD", Operation::Revert)];
    for (name, operation) in heads {
        // A reftable repository stores these references in its tables.
        if has(name) || git.ref_list(&[] as &[&str])?.roots.contains(name) {
            return Ok(Some(operation));
        }
    }
    // Between two picks of a series there is only the list of the remaining ones.
    if let Ok(todo) = std::fs::read_to_string(git.git_dir.join("sequencer/todo")) {
        let revert = todo.trim_start().starts_with("revert");
        return Ok(Some(if revert { Operation::Revert } else { Operation::CherryPick }));
    }
    Ok(has("BISECT_LOG").then_some(Operation::Bisect))
}

/// True if a sparse checkout excludes this path from the working tree. Also true if git cannot tell
/// (before 2.41, without cone mode).
///
/// # Errors
/// Git fails.
pub fn sparse_excludes(git: &Git, path: &str) -> Result<bool> {
    if !config_bool(git, "core.sparseCheckout")? {
        return Ok(false);
    }
    let rules = git.read(["sparse-checkout", "check-rules", "-z"]).stdin_nul(&[path]);
    let output = rules.output()?;
    if output.success() {
        return Ok(output.stdout.is_empty());
    }
    if !config_bool(git, "core.sparseCheckoutCone")? {
        return Ok(true);
    }
    let file = git.read(["rev-parse", "--path-format=absolute", "--git-path"]);
    let file = file.arg("info/sparse-checkout").capture()?;
    let rules = std::fs::read_to_string(&file).with_context(|| format!("reading {file}"))?;
    Ok(!cone_includes(&rules, path))
}

/// True if git accepts a commit's signature, by the user's own trust settings.
///
/// # Errors
/// Git cannot be run.
pub fn is_signed(git: &Git, commit: &Oid) -> Result<bool> {
    Ok(git.read(["verify-commit", commit.as_str()]).output()?.code == Some(0))
}

/// The user's identity for authorship, `Name <email>`.
///
/// # Errors
/// No identity is configured: exit 5, and the error names the command that sets it.
pub fn author(git: &Git) -> Result<String> {
    identity(git, Who::Author)
}

/// The user's identity as a committer, `Name <email>`.
///
/// # Errors
/// No identity is configured: exit 5, and the error names the command that sets it.
pub fn committer(git: &Git) -> Result<String> {
    identity(git, Who::Committer)
}

/// Fails unless commits can be made under the user's name.
///
/// # Errors
/// No identity is configured: exit 5, and the error names the commands that set it.
pub fn require_identity(git: &Git) -> Result<()> {
    committer(git)?;
    author(git).map(|_| ())
}

/// True if this clone lacks objects that its remote promised.
///
/// # Errors
/// The configuration cannot be read.
pub fn is_partial_clone(git: &Git) -> Result<bool> {
    let all = git.configuration()?;
    Ok(all.all().any(|(key, _)| key.ends_with(".partialclonefilter")))
}

fn identity(git: &Git, who: Who) -> Result<String> {
    let line = lossy(&variables::identity(git, who)?);
    // `Name <email> 1700000000 +0100`
    Ok(line.rfind('>').map_or_else(|| line.clone(), |end| line[..=end].to_owned()))
}

/// True if cone rules include a path: files at the top and beside every named directory, and
/// everything below a named one.
fn cone_includes(rules: &str, path: &str) -> bool {
    let Some((parent, _)) = path.rsplit_once('/') else { return true };
    let parent_rule = format!("/{parent}/");
    let rules: Vec<&str> = rules.lines().collect();
    rules.iter().any(|rule| {
        let only_its_files = || rules.contains(&format!("!{rule}*/").as_str());
        *rule == parent_rule
            || (rule.starts_with('/') && parent_rule.starts_with(rule) && !only_its_files())
            || (*rule == "/*" && !rules.contains(&"!/*/"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::hints_of;
    use crate::git::test_repo::Repo;

    #[test]
    fn head_in_all_its_states() {
        for format in ["files", "reftable"] {
            let repo = Repo::init(&[&format!("--ref-format={format}")]);
            let branch = RefName::branch("main").unwrap();
            let git = repo.git();
            assert_eq!(git.head().unwrap(), Head::Unborn { branch: branch.clone() }, "{format}");
            let oid = repo.commit_all("first");
            let on_branch = Head::Branch { name: branch, oid: oid.clone() };
            assert_eq!(git.head().unwrap(), on_branch, "{format}");
            repo.run(&["pack-refs", "--all"]);
            assert_eq!(git.head().unwrap(), on_branch, "{format}");
            repo.run(&["symbolic-ref", "refs/heads/other", "refs/heads/main"]);
            repo.run(&["symbolic-ref", "HEAD", "refs/heads/other"]);
            assert_eq!(git.head().unwrap(), on_branch, "{format}: the name git gives it");
            repo.run(&["checkout", "-q", "--detach"]);
            assert_eq!(git.head().unwrap(), Head::Detached { oid }, "{format}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn head_may_be_a_link_to_its_branch() {
        let repo = Repo::with_commit();
        std::fs::remove_file(repo.path(".git/HEAD")).unwrap();
        std::os::unix::fs::symlink("refs/heads/main", repo.path(".git/HEAD")).unwrap();
        let oid = repo.head();
        let name = RefName::branch("main").unwrap();
        assert_eq!(repo.git().head().unwrap(), Head::Branch { name, oid });
    }

    #[test]
    fn operations_in_progress() {
        for format in ["files", "reftable"] {
            let repo = Repo::with_commit_in(&[&format!("--ref-format={format}")]);
            let git = repo.git();
            repo.run(&["checkout", "-q", "-b", "side"]);
            repo.file("README.md", "side");
            repo.commit_all("side");
            repo.run(&["checkout", "-q", "main"]);
            repo.file("README.md", "main");
            repo.commit_all("main");
            assert_eq!(operation_in_progress(&git).unwrap(), None);
            let patch = repo.run(&["format-patch", "-1", "side", "-o", "../patches"]);
            for (start, end, expected) in [
                (&["merge", "side"][..], &["merge", "--abort"][..], Operation::Merge),
                (&["rebase", "side"], &["rebase", "--abort"], Operation::Rebase),
                (&["rebase", "--apply", "side"], &["rebase", "--abort"], Operation::Rebase),
                (&["am", &patch], &["am", "--abort"], Operation::Am),
                (&["cherry-pick", "side"], &["cherry-pick", "--abort"], Operation::CherryPick),
                (&["revert", "--no-edit", "HEAD^"], &["revert", "--abort"], Operation::Revert),
                (&["bisect", "start"], &["bisect", "reset"], Operation::Bisect),
            ] {
                git.write(start).output().unwrap();
                assert_eq!(operation_in_progress(&git).unwrap(), Some(expected), "{format}");
                assert_eq!(expected.abort(), format!("git {}", end.join(" ")));
                repo.run(end);
                assert_eq!(operation_in_progress(&git).unwrap(), None, "{format} {expected:?}");
            }
        }
    }

    #[test]
    fn a_sparse_checkout_keeps_paths_out() {
        let repo = Repo::with_commit();
        repo.file("in/x", "x");
        repo.file("out/x", "x");
        repo.commit_all("two");
        let git = repo.git();
        assert!(!sparse_excludes(&git, ".cowork/x").unwrap());
        repo.run(&["sparse-checkout", "set", "--cone", "in"]);
        assert!(sparse_excludes(&git, ".cowork/x").unwrap());
        assert!(!sparse_excludes(&git, "in/deep/x").unwrap());
        repo.run(&["sparse-checkout", "set", "--no-cone", "/*", "!/out/"]);
        assert!(!sparse_excludes(&git, ".cowork/x").unwrap());
        assert!(sparse_excludes(&git, "out/x").unwrap());
    }

    #[test]
    fn cone_rules_without_the_help_of_git() {
        let rules = "/*\n!/*/\n/a/\n!/a/*/\n/a/b/\n";
        for (path, included) in
            [("x", true), ("a/x", true), ("a/b/c/x", true), ("a/c/x", false), (".cowork/x", false)]
        {
            assert_eq!(cone_includes(rules, path), included, "{path}");
        }
    }

    #[test]
    fn identity_is_asked_for() {
        let repo = Repo::with_commit();
        assert_eq!(author(&repo.git()).unwrap(), "Ana <ana@example.com>");
        require_identity(&repo.git()).unwrap();
        repo.run(&["config", "user.useConfigOnly", "true"]);
        let mut env = repo.env();
        env.retain(|(key, _)| !key.to_string_lossy().ends_with("_EMAIL"));
        let error =
            require_identity(&Git::discover_with(&repo.path(""), env).unwrap()).unwrap_err();
        assert!(hints_of(&error).iter().any(|hint| hint.contains("user.email")));
    }
}
