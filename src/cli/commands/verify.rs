//! `git cowork verify`: checks the sessions of the repository, and the working tree in which one is
//! checked out. Changes nothing without `--fix`, and never switches branches.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::Args;

use crate::artifact::knowledge::KNOWLEDGE;
use crate::artifact::record_diff::count;
use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::find;
use crate::cli::session_cmd::lock::{self, LockedSession};
use crate::cli::session_cmd::workspace::recorder_of;
use crate::config::StageTags;
use crate::error::{Error, Kind, kind_of};
use crate::event::{Event, Sink as _};
use crate::git::{self, Git, Head};
use crate::record;
use crate::session::{RefNames, Session, SessionName, Unreadable, delivered_here, find_in_tree};
use crate::ui::sanitize;
use crate::verify::{
    Problem, UNREADABLE, Verify, follow_documents, in_progress, renumber_collisions,
    restore_unreadable, stray_drafts, working_tree, wrong_tags,
};

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Session names [default: the branch you are on, or the newest unfinished session]
    #[arg(value_name = "SESSION", conflicts_with = "all")]
    names: Vec<SessionName>,
    /// Every session, including archived ones
    #[arg(long)]
    all: bool,
    /// Restore documents and records that cannot be read; renumber ids that collided in a merge;
    /// rebuild missing and wrong tags; drop drafts that no session can use
    #[arg(long)]
    pub(crate) fix: bool,
}

pub(crate) fn run(context: &Context, args: VerifyArgs) -> Answer {
    if args.fix
        && let Some(left) = solve_unmerged(context)?
    {
        return Ok(if left { Kind::Failed.exit_code() } else { 0 });
    }
    let (merged, mut unreadable) =
        if args.all { Default::default() } else { merged(context, &args.names)? };
    let sessions = if !merged.is_empty() {
        merged
    } else if args.all {
        let (heads, broken) = find::every(context, true)?;
        unreadable = broken;
        let mut sessions = Vec::new();
        for head in heads {
            match head.session(context.git()?) {
                Ok(session) => sessions.push(session),
                Err(error) => unreadable.add(head.name().to_string(), &error),
            }
        }
        sessions
    } else if args.names.is_empty() {
        vec![session(context, None)?]
    } else {
        args.names.iter().map(|name| session(context, Some(name))).collect::<Result<_, _>>()?
    };
    let mut found = !unreadable.is_empty();
    let mut told = BTreeSet::new();
    find::tell_of_unreadable(context, &unreadable);
    for mut session in sessions {
        let mut problems = match examine(context, &session) {
            Err(error) if args.all && kind_of(&error) == Kind::Repository => {
                // Damage of one session says nothing about the others.
                let mut unreadable = Unreadable::default();
                unreadable.add(session.name.to_string(), &error);
                find::tell_of_unreadable(context, &unreadable);
                found = true;
                continue;
            }
            problems => problems?,
        };
        // Missing tags are not always reported; --fix always rebuilds them.
        let fixable = problems.iter().any(|problem| problem.fixable);
        if args.fix && (fixable || is_a_branch_here(context, &session)?) {
            session = fix(context, session, &problems)?;
            problems = examine(context, &session)?;
        }
        if is_elsewhere(context, &session)? {
            // All sessions share the knowledge file: report each of its problems once.
            problems.retain(|one| one.about != KNOWLEDGE || told.insert(one.details.clone()));
        }
        found |= problems.iter().any(Problem::is_error);
        print(context, &session, &problems)?;
    }
    Ok(if found { Kind::Failed.exit_code() } else { 0 })
}

/// In an unfinished merge, rebase or cherry-pick: merges the records of every session with unmerged
/// paths, and stages them. Returns true if conflicts are left for a person, and `None` if no
/// session has unmerged paths.
fn solve_unmerged(context: &Context) -> anyhow::Result<Option<bool>> {
    let sessions = record::unmerged::sessions(context.git()?)?;
    if sessions.is_empty() {
        return Ok(None);
    }
    let (mut left, mut out) = (false, String::new());
    for (name, paths) in sessions {
        let held = lock::hold(context, &name, "git cowork verify --fix")?;
        let solution = record::unmerged::solve(&held.git, &name, &paths)?;
        solution.told.into_iter().for_each(|text| context.ui.emit(Event::Note { text }));
        for details in solution.left {
            left = true;
            if context.global.json {
                let problem = Problem::unmerged(&name, details);
                let _ = writeln!(out, "{}", serde_json::to_string(&problem)?);
            } else {
                let _ = writeln!(out, "{name}: {} (merge-conflict)", sanitize(&details));
            }
        }
    }
    context.print(&out)?;
    let text = match left {
        true => "resolve the rest by hand, then run again: git cowork verify --fix",
        false => "all records are merged and staged; now continue the merge, rebase or cherry-pick",
    };
    context.ui.emit(Event::Note { text: text.to_owned() });
    Ok(Some(left))
}

/// For `pre-push`: prints the problems of these sessions; fails if there are any.
pub(crate) fn before_push(context: &Context, names: &[SessionName]) -> Answer {
    let mut found = false;
    for name in names {
        let session = find::session(context, Some(name))?;
        let mut problems = committed(context, &session, None)?;
        // Tags and other labels are local, so problems with them do not affect what is pushed.
        problems.retain(|problem| !problem.is_label());
        if !problems.is_empty() {
            found = true;
            print(context, &session, &problems)?;
        }
    }
    if !found {
        return Ok(0);
    }
    Err(Error::failed("a session that you are pushing has problems")
        .hint("fix them, or let git-cowork fix what it can: git cowork verify --fix")
        .hint("push anyway: git push --no-verify")
        .into())
}

/// Finds the session, even if its `session.json` is unreadable at the tip.
fn session(context: &Context, name: Option<&SessionName>) -> anyhow::Result<Session> {
    let found = find::session(context, name).or_else(|error| {
        let (git, refs) = (context.git()?, context.refs()?);
        let name = find::session_name(context, name)?;
        let Some(tip) = git.resolve(refs.branch(&name).as_str())? else { return Err(error) };
        Session::load_broken(git, &name, &tip)?.ok_or(error)
    })?;
    find::warn_if_cut_off(context, &found)?;
    Ok(found)
}

/// All findings about a session: its problems, and the work in progress.
fn examine(context: &Context, session: &Session) -> anyhow::Result<Vec<Problem>> {
    let (git, refs) = (context.git()?, context.refs()?);
    let there = working_tree(git, &refs, session)?;
    let mut problems = committed(context, session, there.as_ref())?;
    problems.extend(in_progress(git, &refs, session, there.as_ref())?.1);
    Ok(problems)
}

/// Finds problems in the session's commits and in the working tree `there`.
fn committed(
    context: &Context,
    session: &Session,
    there: Option<&Git>,
) -> anyhow::Result<Vec<Problem>> {
    let refs = context.refs()?;
    let secrets = context.secrets()?;
    let verify = Verify {
        git: context.git()?,
        refs: &refs,
        config: context.config()?,
        secrets: &secrets,
        there,
    };
    let elsewhere = is_elsewhere(context, session)?;
    if elsewhere { verify.merged(session) } else { verify.session(session) }
}

fn is_a_branch_here(context: &Context, session: &Session) -> anyhow::Result<bool> {
    let branch = context.refs()?.branch(&session.name);
    Ok(context.git()?.resolve(branch.as_str())?.as_ref() == Some(&session.tip))
}

/// True for a session that was read from the branch it was merged into.
fn is_elsewhere(context: &Context, session: &Session) -> anyhow::Result<bool> {
    let (git, refs) = (context.git()?, context.refs()?);
    let branches = git::refs::remote_branches(git, &refs.short_branch(&session.name))?;
    let places = [refs.branch(&session.name), RefNames::archive(&session.name)];
    for place in places.iter().chain(&branches) {
        if git.resolve(place.as_str())?.as_ref() == Some(&session.tip) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The sessions that are verified as HEAD's tree has them. Without names: all delivered sessions
/// there, unless HEAD is on a session's branch. With names: the named sessions, unless one of them
/// still has a branch.
fn merged(context: &Context, names: &[SessionName]) -> anyhow::Result<(Vec<Session>, Unreadable)> {
    let (git, refs) = (context.git()?, context.refs()?);
    if names.is_empty() && context.global.session.is_none() {
        let on_session = match git.head()? {
            Head::Branch { name, .. } => refs.session_of(name.as_str()).is_some(),
            _ => false,
        };
        return if on_session { Ok(Default::default()) } else { delivered_here(git) };
    }
    let mut gone = Vec::new();
    for name in names {
        gone.extend(find_in_tree(git, name)?);
    }
    for session in std::mem::take(&mut gone) {
        let branch = refs.short_branch(&session.name);
        if !git::refs::branch_exists(git, &branch)?
            && git::refs::remote_branches(git, &branch)?.is_empty()
        {
            gone.push(session);
        }
    }
    // If one of these sessions still has a branch, all of them are checked on their branches
    // instead.
    Ok((if gone.len() == names.len() { gone } else { Vec::new() }, Unreadable::default()))
}

/// Restores unreadable files, renumbers ids that collided in a merge, removes wrong tags and adds
/// missing ones. Returns the session after these changes.
fn fix(context: &Context, session: Session, problems: &[Problem]) -> anyhow::Result<Session> {
    let name = session.name.clone();
    let held = lock::hold(context, &name, "git cowork verify --fix")?;
    let say = |told: Vec<String>| {
        told.into_iter().for_each(|text| context.ui.emit(Event::Note { text }));
    };
    let fixable = |code| problems.iter().any(|problem| problem.code == code && problem.fixable);
    let mut session = session;
    if UNREADABLE.into_iter().any(fixable) {
        recorder_of(context, &held, &session, |recorder| {
            say(restore_unreadable(&held.git, &session, recorder)?);
            Ok(())
        })?;
        session = at_head(&held, &session)?;
    }
    if fixable("duplicate-id") {
        recorder_of(context, &held, &session, |recorder| {
            say(renumber_collisions(&held.git, &session, recorder)?);
            Ok(())
        })?;
        session = at_head(&held, &session)?;
    }
    if ["records-differ", "schema"].into_iter().any(fixable) {
        recorder_of(context, &held, &session, |recorder| {
            say(follow_documents(&held.git, &session, recorder, true)?);
            Ok(())
        })?;
        session = at_head(&held, &session)?;
    }
    let mut gone = stray_drafts(&held.git, &session)?;
    if context.config()?.project.tags != StageTags::Never {
        gone.extend(wrong_tags(&held.git, &session)?);
    }
    recorder_of(context, &held, &session, |recorder| {
        say(record::repair::set_aside(recorder, &gone)?);
        record::tags::add_missing(recorder, &session).map(drop)
    })?;
    Ok(session)
}

/// Reads the session again, after a commit was added to the branch that is checked out.
fn at_head(held: &LockedSession, session: &Session) -> anyhow::Result<Session> {
    let tip = held.git.head()?.oid().cloned().unwrap_or_else(|| session.tip.clone());
    Session::load(&held.git, &session.name, &tip)
}

fn print(context: &Context, session: &Session, problems: &[Problem]) -> anyhow::Result<()> {
    let mut out = String::new();
    if context.global.json {
        for problem in problems {
            let _ = writeln!(out, "{}", serde_json::to_string(problem)?);
        }
        return context.print(&out);
    }
    let name = &session.name;
    if !problems.iter().any(Problem::is_error) {
        let (commits, tip) = (session.history.len(), session.tip.short());
        let noun = if commits == 1 { "commit" } else { "commits" };
        let well = match problems.len() {
            0 => "all is well".to_owned(),
            notes => format!("no errors, {}", count(notes, "note")),
        };
        let _ = writeln!(out, "{name}: {well} ({commits} {noun}, tip {tip})");
    }
    for problem in problems {
        let details = sanitize(&problem.details).replace('\n', "\n    ");
        let _ = writeln!(out, "{name}: {details} ({})", problem.code);
        if let Some(fix) = &problem.suggested_fix {
            let _ = writeln!(out, "    {}", sanitize(fix).replace('\n', "\n    "));
        }
    }
    context.print(&out)
}
