//! `git cowork merge`: a delivered session becomes part of its base branch.

use clap::Args;
use serde_json::json;

use super::Answer;
use super::context::Context;
use super::new;
use super::restore::with_recorder;
use super::run::{self, Held};
use crate::clock;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::{Change, Git, Head, Oid, RefName, StatusKind, listed_again};
use crate::record::{self, Delivery};
use crate::session::{
    Head as SessionHead, Merged, RefNames, Session, SessionName, State, Status, base_branch,
    default_session, heads, merged_heads, merged_in,
};

/// Paths an error names.
const NAMED_PATHS: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Session name [default: the branch you are on, else the newest one that is delivered]
    #[arg(value_name = "SESSION")]
    name: Option<SessionName>,
    /// Merge into this branch instead of the session's base
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// Merge only the code, as one commit, without .cowork/sessions; the session is kept
    #[arg(long)]
    without_artifacts: bool,
}

pub(super) fn run(context: &Context, args: &MergeArgs) -> Answer {
    let refs = context.refs()?;
    let name = delivered_name(context, args.name.as_ref())?;
    let held = run::hold(context, &name, "git cowork merge")?;
    let git = &held.git;
    let session = completed(context, &name)?;
    with_recorder(context, &held, &name, &session.tip, |recorder| {
        record::merge::end_unfinished(recorder)?;
        Ok(())
    })?;
    new::preflight(git)?;
    let into = match &args.into {
        Some(into) => into.clone(),
        None => base_branch(git, &refs, &session)?.ok_or_else(|| {
            Error::repository(format!("'{name}' was started on no branch"))
                .hint(format!("say where it belongs: git cowork merge {name} --into BRANCH"))
        })?,
    };
    let (branch, onto) = target(git, &into, &name)?;
    let earlier = merged_in(git, &session, &onto)?;
    if let Some(merged) = earlier.as_ref().filter(|merged| merged.whole) {
        let by = said_by(merged, &session);
        let text = format!("{name} is merged into {into} already{by}");
        context.ui.emit(Event::Note { text });
        return Ok(0);
    }
    require_room(git, &branch, &onto, &session, &name)?;
    let attribution = context.config()?.project.attribution;
    let delivery = Delivery::of(git, &session, attribution, &context.secrets()?)?;
    let from = git.head()?;
    if from.branch() != Some(&branch) {
        git.switch(branch.short())?;
    }
    let merged = with_recorder(context, &held, &name, &session.tip, |recorder| {
        let message = delivery.message();
        if args.without_artifacts {
            record::merge::merge_code(recorder, &session, &onto, earlier.as_ref(), &message)
        } else {
            record::merge::merge(recorder, &session, &onto, &message)
        }
    });
    let short = refs.short_branch(&name);
    let merged = merged.and_then(|merged| {
        merged.map_err(|obstacle| obstacle.error(&short, branch.short(), &name).into())
    });
    match merged {
        Ok(commit) => say(context, &held, &session, &branch, &commit, args.without_artifacts),
        Err(error) => {
            if let Err(stuck) = go_back(git, &from) {
                let text = format!("you are on {} now: {stuck:#}", branch.short());
                context.ui.emit(Event::Warning { text });
            }
            Err(error)
        }
    }
}

/// The session a command about delivered ones means: named, the branch we are on, or the newest
/// that is delivered and not merged, which is said.
pub(super) fn delivered_name(
    context: &Context,
    named: Option<&SessionName>,
) -> anyhow::Result<SessionName> {
    let git = context.git()?;
    let refs = context.refs()?;
    let on_a_session = || -> anyhow::Result<bool> {
        Ok(git.head()?.branch().is_some_and(|branch| refs.session_of(branch.as_str()).is_some()))
    };
    if named.is_some() || context.global.session.is_some() || on_a_session()? {
        return context.session_name(named);
    }
    let (heads, _) = heads(git, &refs)?;
    let delivered: Vec<&SessionHead> = heads.iter().filter(|head| head.is_completed()).collect();
    let merged = merged_heads(git, &refs, &delivered)?;
    if let Some((head, _)) = delivered.iter().zip(merged).find(|(_, merged)| !merged) {
        let name = head.name().clone();
        context.ui.set_session(&name);
        let text = format!("session {name}, the newest delivered one");
        context.ui.emit(Event::Note { text });
        return Ok(name);
    }
    match default_session(git, &refs) {
        Ok(_) => context.session_name(None),
        Err(_) => Err(Error::repository("there is no delivered session that is not merged")
            .hint("git cowork list --all shows the sessions of this repository")
            .into()),
    }
}

/// The commit that brought a session in, where it is not just its own: `: 1a2b3c4`.
pub(super) fn said_by(merged: &Merged, session: &Session) -> String {
    if merged.commit == session.tip {
        return String::new();
    }
    format!(": {}", merged.commit.short())
}

/// The session, which must be delivered.
pub(super) fn completed(context: &Context, name: &SessionName) -> anyhow::Result<Session> {
    let git = context.git()?;
    let refs = context.refs()?;
    if git.resolve(refs.branch(name).as_str())?.is_none()
        && !git.remote_branches(&refs.short_branch(name))?.is_empty()
    {
        git.track_remote(&refs.short_branch(name))?;
    }
    if git.resolve(refs.branch(name).as_str())?.is_none()
        && git.resolve(RefNames::archive(name).as_str())?.is_some()
    {
        return Err(Error::repository(format!("'{name}' is in the archive"))
            .hint(format!("bring it back first: git cowork restore {name}"))
            .into());
    }
    let session = Session::find(git, &refs, name)?;
    if session.is_completed() && session.waiting().is_none() {
        return Ok(session);
    }
    let status = Status::of(git, &refs, session)?;
    let stage =
        status.stage.map_or_else(|| "it is not done".to_owned(), |s| format!("{s} is next"));
    let (stands, next) = match status.state {
        State::Waiting => ("a draft waits for review".to_owned(), status.next_command()),
        _ => (stage, format!("git cowork resume {name}")),
    };
    Err(Error::repository(format!("'{name}' is not delivered yet: {stands}"))
        .hint(format!("continue: {next}"))
        .into())
}

/// The branch merged into, which must be there and free.
fn target(git: &Git, into: &str, name: &SessionName) -> anyhow::Result<(RefName, Oid)> {
    let branch = RefName::branch(into)?;
    let found = git.list_refs(&[branch.as_str()])?.into_iter().find(|info| info.name == branch);
    let Some(info) = found else {
        let mut error = Error::repository(format!("there is no branch {into} to merge into"));
        error = match git.remote_branches(into)?.first() {
            Some(remote) => {
                error.hint(format!("take it from its remote: git branch {into} {}", remote.short()))
            }
            None => error.hint(format!("another one: git cowork merge {name} --into BRANCH")),
        };
        return Err(error.into());
    };
    let same = |path: &std::path::Path| path.canonicalize().ok() == git.top().canonicalize().ok();
    if let Some(path) = info.worktree.filter(|path| !same(path)) {
        let path = path.display();
        return Err(Error::repository(format!("{into} is checked out in {path}"))
            .hint(format!("merge there: cd {path} && git cowork merge {name}"))
            .into());
    }
    Ok((branch, info.oid))
}

/// Makes sure that nothing of the user's lies where the merge has to write.
fn require_room(
    git: &Git,
    branch: &RefName,
    onto: &Oid,
    session: &Session,
    name: &SessionName,
) -> anyhow::Result<()> {
    let status = git.status()?;
    let mut way: Vec<String> = git.overwritten_by(onto)?;
    way.extend(git.overwritten_by(&session.tip)?);
    let mut written = git.changed_paths(onto, &session.tip)?;
    if let Some(head) = git.head()?.oid() {
        written.extend(git.changed_paths(head, onto)?);
    }
    let mut hidden = Vec::new();
    for entry in status.into_iter().filter(|entry| entry.kind != StatusKind::Untracked) {
        if entry.hidden.is_some() && written.contains(&entry.path) {
            hidden.push(entry.path.clone());
        }
        // git merges on top of a clean index only.
        if is_staged(entry.kind) || written.contains(&entry.path) {
            way.push(entry.path);
        }
    }
    way.sort();
    way.dedup();
    if way.is_empty() {
        return Ok(());
    }
    let more = way.len().saturating_sub(NAMED_PATHS);
    way.truncate(NAMED_PATHS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let error = Error::repository(format!(
        "your uncommitted work is in the way of merging into {}: {}{more}",
        branch.short(),
        way.join(", ")
    ));
    let error = if hidden.is_empty() { error } else { error.hint(listed_again(&hidden)) };
    Err(error
        .hint("commit it, or put it aside: git stash -u -- PATHS (back: git stash pop)")
        .hint(format!("then again: git cowork merge {name}"))
        .into())
}

fn is_staged(kind: StatusKind) -> bool {
    match kind {
        StatusKind::Untracked => false,
        StatusKind::Unmerged => true,
        StatusKind::Tracked { staged, .. } => staged != Change::None,
    }
}

/// Back to where the user was.
fn go_back(git: &Git, from: &Head) -> anyhow::Result<()> {
    if git.head()? == *from {
        return Ok(());
    }
    match from {
        Head::Branch { name, .. } => git.switch(name.short()),
        Head::Detached { oid } => git.detach(oid),
        Head::Unborn { .. } => Ok(()),
    }
}

fn say(
    context: &Context,
    held: &Held,
    session: &Session,
    branch: &RefName,
    commit: &Oid,
    without_artifacts: bool,
) -> Answer {
    let name = &session.name;
    if context.global.json {
        let line = json!({
            "event": "merged", "at": clock::rfc3339(clock::now()), "session": name.as_str(), "branch": branch.short(),
            "commit": commit.as_str(), "artifacts": !without_artifacts,
        });
        context.print(&format!("{line}\n"))?;
        return Ok(0);
    }
    let note = |text: String| context.ui.emit(Event::Note { text });
    let subject = held.git.read(["log", "-1", "--format=%s", commit.as_str()]).capture()?;
    note(format!("{name} is merged into {}: {} {subject}", branch.short(), commit.short()));
    if without_artifacts {
        note(format!(
            "its artifacts stay in {} and the archive",
            context.refs()?.short_branch(name)
        ));
    }
    note(format!("nothing was pushed; take it back: git reset --keep {commit}^"));
    Ok(0)
}
