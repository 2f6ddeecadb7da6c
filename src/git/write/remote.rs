//! Remotes: their names and URLs, and pushing exactly the requested references. The reason for a
//! rejected push is read from git's machine-readable output.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

use crate::git::hook_trace::Hooks;
use crate::git::settings;
use crate::git::{Git, Oid, RefName};
use crate::moment;

/// A reference to push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// Its new commit.
    pub from: Oid,
    /// The reference on the remote.
    pub to: RefName,
    /// With `Some(Some(id))`, the reference may be replaced if it still has this value; with
    /// `Some(None)`, it may be created if it does not exist. With `None`, it may only be
    /// fast-forwarded.
    pub lease: Option<Option<Oid>>,
}

/// The result of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushOutcome {
    /// The remote has everything that was pushed; false if it had everything before the push.
    Done(bool),
    /// The remote, or git on its behalf, rejected a reference.
    Rejected {
        /// The reference on the remote.
        reference: String,
        /// In git's words (`non-fast-forward`, `fetch first`, `stale info`), or in the remote's.
        reason: String,
        /// The output of the remote's hooks.
        said: String,
    },
    /// The local `pre-push` hook refused.
    HookRefused {
        /// The hook's output.
        output: String,
    },
    /// The remote cannot be reached, or denies access.
    Unreachable {
        /// Git's error message.
        said: String,
    },
}

/// Names of the remotes.
///
/// # Errors
/// Git fails.
pub fn all(git: &Git) -> Result<Vec<String>> {
    let all = git.configuration()?;
    // `remote.NAME.KEY`; git treats a name that begins with a slash as a path.
    let names = all.all().filter_map(|(key, _)| {
        let (name, _) = key.strip_prefix("remote.")?.rsplit_once('.')?;
        (!name.is_empty() && !name.starts_with('/')).then(|| name.to_owned())
    });
    Ok(names.collect::<BTreeSet<String>>().into_iter().collect())
}

/// The URL to which git would push for this remote. It may contain a password.
///
/// # Errors
/// There is no such remote.
pub fn push_url(git: &Git, remote: &str) -> Result<String> {
    let url = git.read(["remote", "get-url", "--push", "--", remote]).capture()?;
    Ok(url.lines().next().unwrap_or_default().to_owned())
}

/// The remote to which a branch is pushed by the user's configuration: the branch's push remote,
/// the default push remote, the remote it tracks, the only one, or `origin`.
///
/// # Errors
/// Git fails.
pub fn default_remote(git: &Git, branch: &str) -> Result<Option<String>> {
    let remotes = all(git)?;
    let keys = [
        format!("branch.{branch}.pushRemote"),
        "remote.pushDefault".to_owned(),
        format!("branch.{branch}.remote"),
    ];
    for key in keys {
        if let Some(remote) = settings::get(git, &key)?
            && remotes.contains(&remote)
        {
            return Ok(Some(remote));
        }
    }
    Ok(match remotes.as_slice() {
        [only] => Some(only.clone()),
        several => several.iter().find(|name| *name == "origin").cloned(),
    })
}

/// The remote of a branch: the one it tracks, otherwise the one it would be pushed to.
///
/// # Errors
/// Git fails.
pub fn upstream_remote(git: &Git, branch: &str) -> Result<Option<String>> {
    let follows = settings::get(git, &format!("branch.{branch}.remote"))?;
    let remotes = all(git)?;
    match follows.filter(|name| remotes.contains(name)) {
        Some(name) => Ok(Some(name)),
        None => default_remote(git, branch),
    }
}

/// Fetches this many more commits of a branch into a shallow clone. A password is only asked for on
/// a terminal.
///
/// # Errors
/// The remote cannot be reached.
pub fn deepen(git: &Git, remote: &str, branch: &str, by: usize, attended: bool) -> Result<()> {
    let more = format!("--deepen={by}");
    let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", &more, "--", remote];
    let fetch_branch = git.write(fetch).arg(RefName::branch(branch)?.as_str());
    let fetch_branch =
        fetch_branch.env("GIT_TERMINAL_PROMPT", if attended { "1" } else { "0" }).checked();
    moment::end();
    fetch_branch.map(drop)
}

/// True if a remote has this branch now; contacts the remote.
///
/// # Errors
/// It does not answer.
pub fn has_branch(git: &Git, remote: &str, branch: &str) -> Result<bool> {
    let full = RefName::branch(branch)?;
    let ask = git.read(["ls-remote", "--heads", "--", remote, full.as_str()]);
    let answer = ask.checked();
    // A remote may take long, and ask for a password.
    moment::end();
    Ok(!answer?.stdout.is_empty())
}

/// Pushes exactly these references: all or none of them, where the remote can. Hooks, credential
/// helpers and signing are the user's; a password is only asked for on a terminal.
///
/// # Errors
/// Git cannot be started.
pub fn push(git: &Git, remote: &str, refs: &[Push], attended: bool) -> Result<PushOutcome> {
    if refs.len() > 1 {
        match push_with(git, remote, refs, attended, &["--atomic"])? {
            PushOutcome::Unreachable { said } if said.contains(NOT_ATOMIC) => {}
            outcome => return Ok(outcome),
        }
    }
    push_with(git, remote, refs, attended, &[])
}

/// Git's words for a remote that cannot take all references or none (dumb HTTP, some servers).
const NOT_ATOMIC: &str = "does not support --atomic";

fn push_with(
    git: &Git,
    remote: &str,
    refs: &[Push],
    attended: bool,
    options: &[&str],
) -> Result<PushOutcome> {
    let scratch = tempfile::tempdir().context("creating a temporary directory")?;
    let trace = scratch.path().join("trace");
    let push = git.hooked(["push", "--porcelain", "--no-follow-tags"]);
    let mut push = push
        .args(options)
        .env("GIT_TERMINAL_PROMPT", if attended { "1" } else { "0" })
        .env("GIT_TRACE2_EVENT", &trace)
        .once();
    for item in refs {
        if let Some(old) = &item.lease {
            let old = old.as_ref().map_or("", Oid::as_str);
            push = push.arg(format!("--force-with-lease={}:{old}", item.to));
        }
    }
    push = push.args(["--", remote]);
    push = push.args(refs.iter().map(|item| format!("{}:{}", item.from, item.to)));
    let output = push.output()?;
    let text = output.text();
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split('\t').collect::<Vec<_>>()).collect();
    if output.success() {
        let news = |fields: &Vec<&str>| fields.len() > 2 && !fields[0].starts_with('=');
        return Ok(PushOutcome::Done(lines.iter().any(news)));
    }
    let is_rejection = |fields: &&Vec<&str>| fields.len() > 2 && fields[0].starts_with('!');
    let mut rejections: Vec<&Vec<&str>> = lines.iter().filter(is_rejection).collect();
    // The others fail because of the first one: `atomic push failed`, `atomic transaction failed`.
    rejections.sort_by_key(|fields| fields[2].contains("(atomic "));
    if let Some(fields) = rejections.first() {
        let reason = fields[2].split_once(" (").map_or(fields[2], |(_, reason)| reason);
        let reference = fields[1].rsplit(':').next().unwrap_or_default();
        return Ok(PushOutcome::Rejected {
            reference: reference.to_owned(),
            reason: reason.trim_end_matches(')').to_owned(),
            said: remote_said(&output.stderr),
        });
    }
    if Hooks::read(&trace)?.refusing().is_some() {
        let is_reason = |line: &&str| !line.starts_with("error: failed to push");
        let reasons: Vec<&str> = output.stderr.lines().filter(is_reason).collect();
        return Ok(PushOutcome::HookRefused { output: reasons.join("\n") });
    }
    Ok(PushOutcome::Unreachable { said: output.complaint() })
}

/// The text of `git request-pull` for a pushed reference; `None` if git cannot produce it (the
/// script needs perl).
///
/// # Errors
/// Git cannot be started.
pub fn request_pull(
    git: &Git,
    since: &Oid,
    remote: &str,
    what: &RefName,
) -> Result<Option<String>> {
    let ask = git.read(["request-pull", since.as_str(), remote, what.as_str()]);
    let output = ask.output()?;
    let text = output.text();
    Ok((output.success() && !text.trim().is_empty()).then_some(text))
}

/// The messages of the remote, without the `remote:` that git puts before them.
fn remote_said(stderr: &str) -> String {
    let lines = stderr.lines().filter_map(|line| line.strip_prefix("remote:"));
    let lines: Vec<&str> =
        lines.map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::Repo;

    fn with_remote() -> (Repo, Oid) {
        let repo = Repo::with_commit();
        repo.run(&["init", "-q", "--bare", "../far.git"]);
        repo.run(&["remote", "add", "far", "../far.git"]);
        let head = repo.head();
        (repo, head)
    }

    fn item(from: &Oid, lease: Option<Option<Oid>>) -> Push {
        Push { from: from.clone(), to: RefName::branch("x/y").unwrap(), lease }
    }

    #[test]
    fn a_push_is_a_fast_forward_or_is_rejected_with_a_reason() {
        let (repo, first) = with_remote();
        let git = repo.git();
        let push = |from: &Oid, lease| push(&git, "far", &[item(from, lease)], false).unwrap();
        assert_eq!(push(&first, None), PushOutcome::Done(true));
        assert_eq!(push(&first, None), PushOutcome::Done(false));
        assert!(has_branch(&git, "far", "x/y").unwrap());
        assert!(!has_branch(&git, "far", "y").unwrap());
        let second = repo.commit_all("second");
        assert_eq!(push(&second, None), PushOutcome::Done(true));
        match push(&first, None) {
            PushOutcome::Rejected { reference, reason, .. } => {
                assert_eq!(reference, "refs/heads/x/y");
                assert_eq!(reason, "non-fast-forward");
            }
            other => panic!("{other:?}"),
        }
        let stale = push(&first, Some(Some(first.clone())));
        assert!(
            matches!(&stale, PushOutcome::Rejected { reason, .. } if reason == "stale info"),
            "{stale:?}"
        );
        let absent = push(&first, Some(None));
        assert!(
            matches!(&absent, PushOutcome::Rejected { reason, .. } if reason == "stale info"),
            "{absent:?}"
        );
        assert_eq!(push(&first, Some(Some(second))), PushOutcome::Done(true));
    }

    #[test]
    fn several_references_are_pushed_together_or_not_at_all() {
        let (repo, first) = with_remote();
        let git = repo.git();
        let second = repo.commit_all("second");
        let to = |name: &str, from: &Oid| Push {
            to: RefName::branch(name).unwrap(),
            ..item(from, None)
        };
        push(&git, "far", &[to("b", &second)], false).unwrap();
        let both = [to("a", &first), to("b", &first)];
        match push(&git, "far", &both, false).unwrap() {
            PushOutcome::Rejected { reference, reason, .. } => {
                assert_eq!((&*reference, &*reason), ("refs/heads/b", "non-fast-forward"));
            }
            other => panic!("{other:?}"),
        }
        assert!(!has_branch(&git, "far", "a").unwrap(), "pushed without the other");
        repo.run(&["--git-dir=../far.git", "config", "receive.advertiseAtomic", "false"]);
        let both = [to("a", &first), to("b", &second)];
        assert_eq!(push(&git, "far", &both, false).unwrap(), PushOutcome::Done(true));
        assert!(has_branch(&git, "far", "a").unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn hooks_on_both_sides_and_a_remote_that_is_not_there() {
        let (repo, first) = with_remote();
        let git = repo.git();
        let push = |remote: &str| push(&git, remote, &[item(&first, None)], false).unwrap();
        repo.script("../far.git/hooks/pre-receive", "echo no branches like that >&2; exit 1");
        match push("far") {
            PushOutcome::Rejected { reason, said, .. } => {
                assert_eq!(reason, "pre-receive hook declined");
                assert!(said.contains("no branches like that"), "{said}");
            }
            other => panic!("{other:?}"),
        }
        repo.hook("pre-push", "echo tests first >&2; exit 1");
        assert_eq!(push("far"), PushOutcome::HookRefused { output: "tests first".to_owned() });
        std::fs::remove_file(repo.path(".git/hooks/pre-push")).unwrap();
        repo.run(&["remote", "add", "gone", "../gone.git"]);
        assert!(matches!(push("gone"), PushOutcome::Unreachable { .. }));
    }

    #[test]
    fn the_remote_a_branch_goes_to() {
        let (repo, _) = with_remote();
        let git = repo.git();
        let remote = || default_remote(&git, "cowork/s").unwrap();
        assert_eq!(remote().as_deref(), Some("far"));
        repo.run(&["remote", "add", "near", "../far.git"]);
        assert_eq!(remote(), None);
        repo.run(&["remote", "add", "origin", "../far.git"]);
        assert_eq!(remote().as_deref(), Some("origin"));
        for (key, name) in [
            ("branch.cowork/s.remote", "far"),
            ("remote.pushDefault", "near"),
            ("branch.cowork/s.pushRemote", "far"),
        ] {
            repo.run(&["config", key, name]);
            assert_eq!(remote().as_deref(), Some(name), "{key}");
        }
        assert_eq!(upstream_remote(&git, "cowork/s").unwrap().as_deref(), Some("far"));
        for key in ["remote.z z.prune", "remote./p.url", "remote.a.b.url", "remote.y.x"] {
            repo.run(&["config", key, "true"]);
        }
        assert_eq!(all(&git).unwrap().join("\n"), repo.run(&["remote"]));
        repo.run(&["config", "branch.cowork/s.pushRemote", "no-more"]);
        assert_eq!(remote().as_deref(), Some("near"));
    }
}
