//! Chooses the remote of a push, and explains a refused push.

use crate::error::Error;
use crate::forge::without_credentials;
use crate::git::{self, Git, PushOutcome, RefName};
use crate::session::{RefNames, SessionName};

/// The remote to push to.
///
/// # Errors
/// Exit 5: there is no remote, or there are several and none is chosen.
pub(crate) fn remote(git: &Git, asked: Option<&str>, branch: &str) -> anyhow::Result<String> {
    let known = git::remote::all(git)?;
    if known.is_empty() {
        return Err(Error::repository("there is no remote to push to")
            .hint("add one: git remote add origin URL")
            .hint("or merge it here: git cowork merge")
            .into());
    }
    let all = known.join(", ");
    match asked {
        Some(asked) if known.iter().any(|name| name == asked) => Ok(asked.to_owned()),
        Some(asked) => Err(Error::repository(format!("there is no remote '{asked}'"))
            .hint(format!("the remotes are: {all}"))
            .into()),
        None => git::remote::default_remote(git, branch)?.ok_or_else(|| {
            Error::repository(format!("there are several remotes, and none is chosen: {all}"))
                .hint("choose one: git cowork pr --remote NAME")
                .hint("choose one for every push: git config remote.pushDefault NAME")
                .into()
        }),
    }
}

/// Short name of a remote's default branch, if it is known here.
pub(crate) fn remote_head(git: &Git, remote: &str) -> anyhow::Result<Option<String>> {
    let head = git.read(["symbolic-ref", "-q", &RefNames::remote(remote, "HEAD")]).output()?;
    let root = RefNames::remote(remote, "");
    Ok(head.text().trim().strip_prefix(&root).map(str::to_owned))
}

/// Explains the outcome of a push.
///
/// # Errors
/// Exit 5: the push was refused; the hints say what to do.
pub(crate) fn refused(
    outcome: PushOutcome,
    branch: &RefName,
    remote: &str,
    url: &str,
    name: &SessionName,
) -> anyhow::Result<()> {
    let short = branch.short();
    let clean = |text: &str| text.replace(url, &without_credentials(url));
    let again = format!("then run again: git cowork pr {name}");
    let error = match outcome {
        PushOutcome::Done(_) => return Ok(()),
        PushOutcome::HookRefused { output } => {
            Error::repository(format!("the pre-push hook here refused the push:\n{}", clean(&output)))
                .hint("fix the reported problem").hint(again)
        }
        PushOutcome::Unreachable { said } => {
            Error::repository(format!("could not push to {remote}: {}", clean(&said)))
                .hint(format!("check the connection and your access: git ls-remote {remote}"))
                .hint("if you cannot push there, fork it, then: git cowork pr --remote FORK")
        }
        PushOutcome::Rejected { reference, reason, said }
            if [RefNames::TAGS, RefNames::STAGES].iter().any(|root| reference.starts_with(root)) =>
        {
            let tag = reference.trim_start_matches(RefNames::TAGS);
            let words = words(&reason, &clean(&said));
            Error::repository(format!("{remote} refused the tag {tag}: {words}"))
                .hint("tags are never moved: another clone has pushed a tag of that name")
                .hint(format!("push without tags: git cowork pr {name}"))
        }
        PushOutcome::Rejected { reason, said, .. } => match reason.as_str() {
            "non-fast-forward" | "fetch first" => Error::repository(format!(
                "{remote} has commits on {short} that are not here: somebody else pushed, or you went back (a revert, an amend, a rebase)"
            ))
            .hint(format!("see them: git fetch {remote} && git log --oneline --graph {short} {remote}/{short}"))
            .hint(format!("to keep theirs: git switch {short} && git merge {remote}/{short}"))
            .hint(format!("to replace them with yours: git push --force-with-lease {remote} {short}"))
            .hint(again),
            "stale info" => Error::repository(format!(
                "{short} on {remote} is not what was pushed last: somebody else changed it"
            ))
            .hint(format!("see it: git fetch {remote} {short} && git log -p FETCH_HEAD"))
            .hint(format!("if it can be deleted: git push {remote} --delete {short} && git branch -D {short}"))
            .hint(again),
            // Another push is in progress there, or one was killed and left its lock.
            "failed to update ref" if said.contains(".lock'") => Error::repository(format!(
                "{remote} holds a lock on {short}: {}", words(&reason, &clean(&said))
            ))
            .hint("another push is in progress there or was interrupted: wait a moment")
            .hint(again)
            .hint("if the lock stays, ask the administrator of that repository to remove it"),
            _ => Error::repository(format!("{remote} refused {short}: {}", words(&reason, &clean(&said))))
                .hint("a rule of the remote refuses it (a hook, a protected branch, your permissions): ask its administrator")
                .hint(format!("or push elsewhere: git cowork pr {name} --remote NAME")),
        },
    };
    Err(error.into())
}

fn words(reason: &str, said: &str) -> String {
    if said.is_empty() { reason.to_owned() } else { format!("{reason}\n{said}") }
}
