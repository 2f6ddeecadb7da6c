//! `git cowork merge`: merges a delivered session into its base branch.

use clap::Args;
use serde_json::json;

use crate::artifact::record_diff::count;
use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::lock::{self, LockedSession};
use crate::cli::session_cmd::workspace::with_recorder;
use crate::cli::session_cmd::{approved, delivered, preflight};
use crate::clock;
use crate::error::{Error, with_hint};
use crate::event::{Event, Sink as _};
use crate::git::{self, Change, Git, Head, MergedTree, Oid, RefName, StatusKind, listed_again};
use crate::record::merge::Obstacle;
use crate::record::{self, Delivery};
use crate::session::{SESSIONS, Session, SessionName, base_branch, embedded_repository, merged_in};
use crate::shell_quote::quoted;

/// Maximum number of paths that an error lists.
const NAMED_PATHS: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Session name [default: the branch you are on, or the newest delivered session]
    #[arg(value_name = "SESSION")]
    name: Option<SessionName>,
    /// Merge into this branch instead of the session's base
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// Merge even if nobody approved the current content of a stage; this option works only on a
    /// terminal
    #[arg(long)]
    force: bool,
    /// Merge only the code, as one commit, without .cowork/sessions; the session is kept
    #[arg(long)]
    without_artifacts: bool,
    /// Merge its finished change requests, too, oldest first
    #[arg(long, conflicts_with = "without_artifacts")]
    with_changes: bool,
    /// Only print whether the session can be merged, and the merge message it would get
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(context: &Context, args: &MergeArgs) -> Answer {
    let name = delivered::name(context, args.name.as_ref())?;
    let changes = match args.with_changes {
        true => delivered::changes(context, &name)?,
        false => Vec::new(),
    };
    let into = merge(context, args, name, args.into.as_deref())?;
    for (at, change) in changes.iter().enumerate() {
        let merged = merge(context, args, change.clone(), Some(&into));
        merged.map_err(|error| {
            let left: Vec<&str> = changes[at..].iter().map(SessionName::as_str).collect();
            let left = left.join(" and ");
            let text =
                format!("the session and {} are merged; left is {left}", count(at, "change"));
            with_hint(error, text)
        })?;
    }
    Ok(0)
}

/// Merges one session into a branch, or into the one that it was started on; returns that branch.
fn merge(
    context: &Context,
    args: &MergeArgs,
    name: SessionName,
    into: Option<&str>,
) -> anyhow::Result<String> {
    let refs = context.refs()?;
    let held = lock::hold_with(context, &name, "git cowork merge", !args.dry_run)?;
    let git = &held.git;
    let session = delivered::completed(context, &name)?;
    if !args.dry_run {
        with_recorder(context, &held, &name, &session.tip, |recorder| {
            record::merge::end_unfinished(recorder)?;
            Ok(())
        })?;
    }
    preflight::check(git, &refs)?;
    let into = match into {
        Some(into) => into.to_owned(),
        None => base_branch(git, &refs, &session)?.ok_or_else(|| {
            Error::repository(format!("'{name}' was not started on a branch"))
                .hint(format!("name the branch: git cowork merge {name} --into BRANCH"))
        })?,
    };
    let (branch, onto) = target(git, &into, &name)?;
    let earlier = merged_in(git, &session, &onto)?;
    if let Some(merged) = earlier.as_ref().filter(|merged| merged.whole) {
        let by = delivered::said_by(merged, &session);
        let text = format!("{name} is already merged into {into}{by}");
        context.ui.emit(Event::Note { text });
        return Ok(into);
    }
    approved::require(context, git, &session, args.force)?;
    if let Some(found) = embedded_repository(git, &session)? {
        return Err(Error::repository(format!("{found}, also for whoever checks the merge out"))
            .hint(format!(
                "take it out of the session: git switch {} && git rm -r {} && git commit",
                refs.short_branch(&name),
                quoted(&found.folder)
            ))
            .hint(format!("or look at it: git cowork verify {name}"))
            .into());
    }
    require_room(git, &branch, &onto, &session, &name)?;
    let project = &context.config()?.project;
    let delivery = Delivery::of_session(git, &session, project, &context.secrets()?)?;
    if !args.without_artifacts {
        require_signature(git, &session, &refs.short_branch(&name))?;
    }
    if args.dry_run {
        say_what_would_be(context, git, &session, (&branch, &onto), args.without_artifacts)?;
        context.print(&delivery.message())?;
        return Ok(into);
    }
    let from = git.head()?;
    if from.branch() != Some(&branch) {
        git::switch::to(git, branch.short())?;
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
        Ok(commit) => {
            say(context, &held, &session, &branch, &commit, args.without_artifacts)?;
            if from.branch() != Some(&branch) && !context.global.json {
                let back = match &from {
                    Head::Branch { name, .. } => format!("; go back: git switch {}", name.short()),
                    Head::Detached { oid } => format!("; go back: git switch --detach {oid}"),
                    Head::Unborn { .. } => String::new(),
                };
                let text = format!("you are on {} now{back}", branch.short());
                context.ui.emit(Event::Note { text });
            }
            Ok(into)
        }
        Err(error) => {
            if let Err(stuck) = go_back(git, &from) {
                let text = format!(
                    "could not switch back, so you are on {} now: {stuck:#}",
                    branch.short()
                );
                context.ui.emit(Event::Warning { text });
            }
            Err(error)
        }
    }
}

/// Checks what `git merge` would refuse if `merge.verifySignatures` is on.
fn require_signature(git: &Git, session: &Session, short: &str) -> anyhow::Result<()> {
    if !git::settings::config_bool(git, "merge.verifySignatures")?
        || git::state::is_signed(git, &session.tip)?
    {
        return Ok(());
    }
    let name = &session.name;
    Err(Error::repository(format!(
        "merge.verifySignatures is on, and the newest commit of {short} has no valid signature"
    ))
    .hint(format!("sign it: git switch {short} && git commit --amend --no-edit -S && git switch -"))
    .hint(format!(
        "or merge it all the same: git -c merge.verifySignatures=false cowork merge {name}"
    ))
    .into())
}

/// Prints how many files the merge would change, or fails with the conflicts. A merge resolves most
/// conflicts in a session's documents record by record, so only conflicts in other files are
/// reported.
fn say_what_would_be(
    context: &Context,
    git: &Git,
    session: &Session,
    (branch, onto): (&RefName, &Oid),
    without_artifacts: bool,
) -> anyhow::Result<()> {
    let short = context.refs()?.short_branch(&session.name);
    let documents = format!("{SESSIONS}/");
    let mut files = match git::merge::merged_tree(git, onto, &session.tip)? {
        // Compare with the base branch, so that changes made on that branch in the meantime are not
        // counted.
        MergedTree::Clean(tree) => git::paths::changed(git, onto, &tree)?,
        MergedTree::Conflicts(mut paths) => {
            paths.retain(|path| !path.starts_with(&documents));
            if !paths.is_empty() {
                let obstacle = Obstacle::Conflicts(paths);
                return Err(obstacle.error(&short, branch.short(), &session.name).into());
            }
            let shared = git::merge::base(git, onto, &session.tip)?;
            git::paths::changed(git, shared.as_ref().unwrap_or(onto), &session.tip)?
        }
    };
    files.retain(|path| !without_artifacts || !path.starts_with(&documents));
    let text = format!(
        "{short} would be merged into {}: {}; nothing was merged, this was a dry run",
        branch.short(),
        count(files.len(), "file")
    );
    context.ui.emit(Event::Note { text });
    Ok(())
}

/// The branch to merge into, which must exist and must not be checked out in another worktree.
fn target(git: &Git, into: &str, name: &SessionName) -> anyhow::Result<(RefName, Oid)> {
    let branch = RefName::branch(into)?;
    let found =
        git::refs::list(git, &[branch.as_str()])?.into_iter().find(|info| info.name == branch);
    let Some(info) = found else {
        let mut error = Error::repository(format!("there is no branch {into} to merge into"));
        error = match git::refs::remote_branches(git, into)?.first() {
            Some(remote) => error
                .hint(format!("create it from its remote: git branch {into} {}", remote.short())),
            None => {
                error.hint(format!("name another branch: git cowork merge {name} --into BRANCH"))
            }
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

/// Checks that the merge overwrites no uncommitted work of the user.
fn require_room(
    git: &Git,
    branch: &RefName,
    onto: &Oid,
    session: &Session,
    name: &SessionName,
) -> anyhow::Result<()> {
    let status = git.status()?;
    let mut way: Vec<String> = git::in_the_way::overwritten_by(git, onto)?;
    way.extend(git::in_the_way::overwritten_by(git, &session.tip)?);
    let mut written = git::paths::changed(git, onto, &session.tip)?;
    if let Some(head) = git.head()?.oid() {
        written.extend(git::paths::changed(git, head, onto)?);
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
        .hint("commit it, or stash it: git stash -u -- PATHS")
        .hint("bring it back later: git stash pop")
        .hint(format!("then run again: git cowork merge {name}"))
        .into())
}

fn is_staged(kind: StatusKind) -> bool {
    match kind {
        StatusKind::Untracked => false,
        StatusKind::Unmerged => true,
        StatusKind::Tracked { staged, .. } => staged != Change::None,
    }
}

/// Switches back to the user's branch or commit.
fn go_back(git: &Git, from: &Head) -> anyhow::Result<()> {
    if git.head()? == *from {
        return Ok(());
    }
    match from {
        Head::Branch { name, .. } => git::switch::to(git, name.short()),
        Head::Detached { oid } => git::switch::detach(git, oid),
        Head::Unborn { .. } => Ok(()),
    }
}

fn say(
    context: &Context,
    held: &LockedSession,
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
    note(format!("nothing was pushed; undo the merge: git reset --keep {commit}^"));
    Ok(0)
}
