//! `git cowork modify`: a change request on a completed session, on a branch of its own.

use std::path::PathBuf;

use clap::Args;

use super::context::Context;
use super::run::{self, Extent};
use super::start::{self, Beginning};
use super::{Answer, dependencies, idea, new, parse_stage, upstream};
use crate::artifact::{SCHEMA_VERSION, SessionFile, SessionKind};
use crate::clock;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::{Git, Head};
use crate::session::{Ground, RefNames, SessionName, changeable, ground, subject_line};
use crate::stage::Stage;

#[derive(Debug, Args)]
pub(crate) struct ModifyArgs {
    /// What to change
    #[arg(value_name = "CHANGE")]
    change: Vec<String>,
    /// Read the change from a file, or from standard input with -
    #[arg(short = 'F', long, value_name = "FILE|-", conflicts_with = "change")]
    file: Option<PathBuf>,
    /// Name of the change [default: made from its text]; the session becomes SESSION--NAME
    #[arg(short, long, value_name = "NAME")]
    name: Option<SessionName>,
    /// Session to change (same as --session)
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    project: Option<SessionName>,
    /// Work in a linked worktree
    #[arg(short, long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    worktree: Option<Option<PathBuf>>,
    /// Stop after this stage
    #[arg(long, value_name = "STAGE", value_parser = parse_stage)]
    stop_after: Option<Stage>,
}

pub(super) fn run(context: &Context, args: ModifyArgs) -> Answer {
    let git = context.git()?;
    new::preflight(git)?;
    let refs = context.refs()?;
    let change = idea::text(context, &args.change, args.file.as_deref(), "change")?;
    context.mode()?;
    let parent = parent(context, git, &refs, args.project.as_ref())?;
    upstream::require_not_behind(git, &refs, &parent)?;
    let Ground { parent: found, base, start, artifacts } = ground(git, &refs, &parent)?;
    let name = free_name(git, &refs, &parent, args.name.as_ref(), &change)?;
    new::room_for_branches(git, &context.config()?.project.branch_prefix)?;
    new::require_not_sparse(git, &name)?;
    let worktree = new::worktree(context, args.worktree.as_ref())?;
    context.ui.set_session(&name);
    let held = run::hold(context, &name, "git cowork modify")?;
    let here = worktree.is_none() && new::begins_here(git, &start)?;
    if here {
        dependencies::require(context, &held, &name, new::AGAIN)?;
    }
    let models = run::models(context)?;
    let from = if base.branch.is_empty() { start.short() } else { base.branch.as_str() };
    let text = format!("a change to {parent}, from {from}");
    context.ui.emit(Event::Note { text });
    if let Some((from, _)) = &artifacts {
        let text = format!("its documents are those {from} left: none were merged");
        context.ui.emit(Event::Note { text });
    }
    let artifacts = artifacts.map(|(_, commit)| commit);
    let file = SessionFile {
        schema_version: SCHEMA_VERSION.to_owned(),
        id: uuid::Uuid::now_v7().to_string(),
        name: name.to_string(),
        kind: SessionKind::Patch,
        title: subject_line(new::first_line(&change)),
        idea: change,
        base,
        parent: Some(found),
        created_at: clock::rfc3339(clock::now()),
        ..SessionFile::default()
    };
    let beginning = Beginning { file, start, artifacts, from: None, worktree };
    let (held, session) = start::begin(context, held, &refs, &name, beginning)?;
    context.ui.emit(Event::SessionStarted { branch: refs.short_branch(&name), resumed: false });
    if !here {
        let then = dependencies::resume_in(context, &held, &name)?;
        dependencies::require(context, &held, &name, &then)?;
    }
    let extent = Extent { stop_after: args.stop_after, ..Extent::default() };
    run::run_session(context, &held, &models, session, extent)
}

/// The session to be changed: the one named, the one whose branch we are on, else the newest that
/// is completed, which is said.
fn parent(
    context: &Context,
    git: &Git,
    refs: &RefNames,
    named: Option<&SessionName>,
) -> anyhow::Result<SessionName> {
    if let Some(named) = named.or(context.global.session.as_ref()) {
        return Ok(named.clone());
    }
    if let Head::Branch { name, .. } = git.head()?
        && let Some(session) = refs.session_of(name.as_str())
    {
        return Ok(session);
    }
    let Some(name) = changeable(git, refs)?.into_iter().next() else {
        return Err(Error::repository("there is no completed session here that could be changed")
            .hint("start one: git cowork new \"what you want built\"")
            .hint("or name it: git cowork modify --session S \"what is to change\"")
            .into());
    };
    context.ui.emit(Event::Note { text: format!("session {name}, the newest completed one") });
    Ok(name)
}

fn free_name(
    git: &Git,
    refs: &RefNames,
    parent: &SessionName,
    named: Option<&SessionName>,
    change: &str,
) -> anyhow::Result<SessionName> {
    match named {
        Some(named) => {
            let name = parent.change(named)?;
            new::require_free(git, refs, &name)?;
            Ok(name)
        }
        None => {
            let first = parent.change_named_after(new::first_line(change))?;
            new::first_free(git, refs, &first)
        }
    }
}
