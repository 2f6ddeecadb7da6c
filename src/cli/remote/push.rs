//! Where a session is pushed to, and what a refused push means for who ran it.

use crate::error::Error;
use crate::forge::without_credentials;
use crate::git::{self, Git, PushOutcome, RefName};
use crate::session::{RefNames, SessionName};

/// The remote that is pushed to.
///
/// # Errors
/// Exit 5: there is none, or it has to be said which.
pub(crate) fn remote(git: &Git, asked: Option<&str>, branch: &str) -> anyhow::Result<String> {
    let known = git::remote::all(git)?;
    if known.is_empty() {
        return Err(Error::repository("there is no remote to push to")
            .hint("add one: git remote add origin URL")
            .hint("or stay here: git cowork merge")
            .into());
    }
    let all = known.join(", ");
    match asked {
        Some(asked) if known.iter().any(|name| name == asked) => Ok(asked.to_owned()),
        Some(asked) => Err(Error::repository(format!("there is no remote '{asked}'"))
            .hint(format!("there is: {all}"))
            .into()),
        None => git::remote::default_remote(git, branch)?.ok_or_else(|| {
            Error::repository(format!("which remote? There is {all}"))
                .hint("say it: git cowork pr --remote NAME")
                .hint("for always: git config remote.pushDefault NAME")
                .into()
        }),
    }
}

/// Short name of the branch a remote has by default, as far as we know.
pub(crate) fn remote_head(git: &Git, remote: &str) -> anyhow::Result<Option<String>> {
    let head = git.read(["symbolic-ref", "-q", &RefNames::remote(remote, "HEAD")]).output()?;
    let root = RefNames::remote(remote, "");
    Ok(head.text().trim().strip_prefix(&root).map(str::to_owned))
}

/// Explains what a push came to.
///
/// # Errors
/// Exit 5 when it was refused, with the ways on.
pub(crate) fn refused(
    outcome: PushOutcome,
    branch: &RefName,
    remote: &str,
    url: &str,
    name: &SessionName,
) -> anyhow::Result<()> {
    let short = branch.short();
    let clean = |text: &str| text.replace(url, &without_credentials(url));
    let again = format!("then again: git cowork pr {name}");
    let error = match outcome {
        PushOutcome::Done(_) => return Ok(()),
        PushOutcome::HookRefused { output } => {
            Error::repository(format!("the pre-push hook here refused the push:\n{}", clean(&output)))
                .hint("fix the reported problem").hint(again)
        }
        PushOutcome::Unreachable { said } => {
            Error::repository(format!("{remote} could not be pushed to: {}", clean(&said)))
                .hint(format!("see whether it answers and lets you in: git ls-remote {remote}"))
                .hint("without the right to push there: fork it, and git cowork pr --remote FORK")
        }
        PushOutcome::Rejected { reference, reason, said } if reference.starts_with(RefNames::TAGS) => {
            let tag = reference.trim_start_matches(RefNames::TAGS);
            let words = words(&reason, &clean(&said));
            Error::repository(format!("{remote} refused the tag {tag}: {words}"))
                .hint("tags are never moved: another clone has pushed a tag of that name")
                .hint(format!("without tags: git cowork pr {name}"))
        }
        PushOutcome::Rejected { reason, said, .. } => match reason.as_str() {
            "non-fast-forward" | "fetch first" => Error::repository(format!(
                "{remote} has commits on {short} that are not here: somebody else pushed, or you went back (a revert, an amend, a rebase)"
            ))
            .hint(format!("see them: git fetch {remote} && git log --oneline --graph {short} {remote}/{short}"))
            .hint(format!("to keep theirs: git switch {short} && git merge {remote}/{short}"))
            .hint(format!("if yours is to stand: git push --force-with-lease {remote} {short}"))
            .hint(again),
            "stale info" => Error::repository(format!(
                "{short} on {remote} is not what was pushed last: somebody else changed it"
            ))
            .hint(format!("see it: git fetch {remote} {short} && git log -p FETCH_HEAD"))
            .hint(format!("if it may go: git push {remote} --delete {short} && git branch -D {short}"))
            .hint(again),
            // Another push is on its way there, or one died there and left its lock.
            "failed to update ref" if said.contains(".lock'") => Error::repository(format!(
                "{remote} holds a lock on {short}: {}", words(&reason, &clean(&said))
            ))
            .hint("somebody pushes there just now, or a push ended halfway: wait a moment")
            .hint(again)
            .hint("if it stays: who keeps that repository removes the lock"),
            _ => Error::repository(format!("{remote} refused {short}: {}", words(&reason, &clean(&said))))
                .hint("that is a rule of the other side (a hook, a protected branch, your rights): ask who keeps it")
                .hint(format!("or push elsewhere: git cowork pr {name} --remote NAME")),
        },
    };
    Err(error.into())
}

fn words(reason: &str, said: &str) -> String {
    if said.is_empty() { reason.to_owned() } else { format!("{reason}\n{said}") }
}
