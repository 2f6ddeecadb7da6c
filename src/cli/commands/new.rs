//! `git cowork new`: a session from an idea.

use std::path::PathBuf;

use clap::Args;

use crate::artifact::{Artifact, Base, Depth, SCHEMA_VERSION, SessionFile};
use crate::cli::args::{Answer, parse_stage};
use crate::cli::context::Context;
use crate::cli::session_cmd::new_session::{self, NewSession};
use crate::cli::session_cmd::run::{self, Extent};
use crate::cli::session_cmd::{dependencies, lock, models, preflight, text_input};
use crate::clock;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::{self, Git, Head, Oid};
use crate::session::{
    Inheritance, RefNames, Session, SessionName, StageOf, artifact_path, slug, subject_line,
};
use crate::stage::Stage;
use crate::stages::{TABLE, row};

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// What to build
    #[arg(value_name = "IDEA")]
    idea: Vec<String>,
    /// Read the idea from a file, or from standard input with -
    #[arg(short = 'F', long, value_name = "FILE|-", conflicts_with = "idea")]
    file: Option<PathBuf>,
    /// Session name [default: made from the idea]
    #[arg(short, long, visible_alias = "project", value_name = "NAME")]
    name: Option<SessionName>,
    /// Start from this revision instead of HEAD
    #[arg(short, long, value_name = "REV")]
    base: Option<String>,
    /// Start from a completed stage of another session, up to its plan: copy its artifacts and
    /// continue with the next stage
    #[arg(long, value_name = "S@STAGE")]
    from: Option<StageOf>,
    /// Work in a linked worktree
    #[arg(short, long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    worktree: Option<Option<PathBuf>>,
    /// How thorough; only recorded for now
    #[arg(long, value_enum, default_value = "standard")]
    depth: Depth,
    /// Stop after this stage
    #[arg(long, value_name = "STAGE", value_parser = stage_of_new)]
    stop_after: Option<Stage>,
}

impl NewArgs {
    /// The demo's arguments.
    pub(crate) fn for_demo(idea: &str, name: &str) -> Self {
        Self {
            idea: vec![idea.to_owned()],
            file: None,
            name: name.parse().ok(),
            base: None,
            from: None,
            worktree: None,
            depth: Depth::Standard,
            stop_after: None,
        }
    }
}

/// A stage that a new session has; waiting for another one would never end.
fn stage_of_new(text: &str) -> Result<Stage, String> {
    match parse_stage(text)? {
        stage if !row(stage).is_in_new() => {
            Err("only a change request has it (git cowork modify)".to_owned())
        }
        stage => Ok(stage),
    }
}

pub(crate) fn run(context: &Context, args: NewArgs) -> Answer {
    let git = context.git()?;
    preflight::check(git)?;
    let refs = context.refs()?;
    let from = args.from.as_ref().map(|from| Inheritance::of(git, &refs, from)).transpose()?;
    let (idea, title) = match &from {
        Some(from) if args.idea.is_empty() && args.file.is_none() => {
            (from.idea.clone(), from.title.clone())
        }
        _ => {
            let idea = text_input::text(context, &args.idea, args.file.as_deref(), "idea")?;
            let title = subject_line(preflight::first_line(&idea));
            (idea, title)
        }
    };
    context.mode()?;
    let named = args.name.as_ref().or(context.global.session.as_ref());
    let name = free_name(git, &refs, named, &idea)?;
    preflight::room_for_branches(git, &context.config()?.project.branch_prefix)?;
    preflight::require_not_sparse(git, &name)?;
    let worktree = preflight::worktree(context, args.worktree.as_ref())?;
    context.ui.set_session(&name);
    let held = lock::hold(context, &name, "git cowork new")?;
    let beginning = || match &from {
        Some(from) if args.base.is_none() => base_of(git, from),
        _ => base(context, git, &refs, &name, args.base.as_deref()),
    };
    // An unborn HEAD gets its first commit only when all else is well.
    let unborn = matches!(git.head()?, Head::Unborn { .. });
    let found = if unborn { None } else { Some(beginning()?) };
    let here = worktree.is_none()
        && found.as_ref().map_or(Ok(true), |(_, start)| dependencies::begins_here(git, start))?;
    if here {
        dependencies::require(context, &held, &name, dependencies::AGAIN)?;
    }
    let models = models::open(context)?;
    let (base, start) = found.map_or_else(beginning, Ok)?;
    let artifacts = match (&from, &args.from) {
        (Some(from), Some(of)) => Some(artifacts(git, from, of, &name, &start)?),
        _ => None,
    };
    let file = SessionFile {
        schema_version: SCHEMA_VERSION.to_owned(),
        id: uuid::Uuid::now_v7().to_string(),
        name: name.to_string(),
        title,
        idea,
        depth: args.depth,
        base,
        created_at: clock::rfc3339(clock::now()),
        ..SessionFile::default()
    };
    let beginning = NewSession { file, start, artifacts, from, worktree };
    let (held, session) = new_session::begin(context, held, &refs, &name, beginning)?;
    context.ui.emit(Event::SessionStarted { branch: refs.short_branch(&name), resumed: false });
    if !here {
        let then = dependencies::resume_in(context, &held, &name)?;
        dependencies::require(context, &held, &name, &then)?;
    }
    let extent = Extent { stop_after: args.stop_after, ..Extent::default() };
    run::run_session(context, &held, &models, session, extent)
}

/// What another session was started from.
fn base_of(git: &Git, from: &Inheritance) -> anyhow::Result<(Base, Oid)> {
    let commit = &from.base.commit;
    let Some(start) = git.resolve(commit)? else {
        return Err(Error::repository(format!(
            "the commit it was started from is not here: {commit}"
        ))
        .hint("fetch it: git fetch --unshallow")
        .hint("or start from another one: -b REV")
        .into());
    };
    Ok((from.base.clone(), start))
}

/// The tree of `start` with copies of the artifacts that a stage of another session had.
fn artifacts(
    git: &Git,
    from: &Inheritance,
    of: &StageOf,
    name: &SessionName,
    start: &Oid,
) -> anyhow::Result<Oid> {
    let stages = TABLE.iter().filter(|row| row.is_in_new() && row.stage <= of.stage);
    let artifacts = stages.flat_map(|row| row.artifacts).chain([&Artifact::Feedback]);
    let mut files = Vec::new();
    for artifact in artifacts {
        let there = artifact_path(&of.session, *artifact);
        let blob = git::snapshot::blob_id(git, &from.commit, &there)?;
        files.extend(blob.map(|blob| (artifact_path(name, *artifact), blob)));
    }
    git::snapshot::tree_with(git, start, &files)
}

fn free_name(
    git: &Git,
    refs: &RefNames,
    named: Option<&SessionName>,
    idea: &str,
) -> anyhow::Result<SessionName> {
    if let Some(name) = named {
        if name.patch_parts().is_some() {
            return Err(Error::usage(format!("'{name}' is the name of a change request"))
                .hint("a name of a new session has no double dash")
                .into());
        }
        preflight::require_free(git, refs, name)?;
        return Ok(name.clone());
    }
    preflight::first_free(git, refs, &slug(preflight::first_line(idea)))
}

/// What the session starts from: the base as `session.json` has it, and the commit.
fn base(
    context: &Context,
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
    asked: Option<&str>,
) -> anyhow::Result<(Base, Oid)> {
    let (branch, start) = match (asked, git.head()?) {
        (Some(rev), _) => {
            let Some(start) = git.resolve(rev)? else {
                return Err(Error::usage(format!("'{rev}' names no commit")).into());
            };
            let branch =
                if git::refs::branch_exists(git, rev)? { rev.to_owned() } else { String::new() };
            (branch, start)
        }
        (None, Head::Unborn { branch }) => {
            let root = git::commit::create_root(git, "Start of the repository\n")?;
            context.ui.emit(Event::Note {
                text: format!("{} had no commit yet; made an empty one", branch.short()),
            });
            (branch.short().to_owned(), root)
        }
        (None, Head::Detached { oid }) => (String::new(), oid),
        (None, Head::Branch { name: branch, oid }) => match refs.session_of(branch.as_str()) {
            // On a session's branch a new session starts where that one did.
            Some(other) if other != *name => {
                let file = Session::find(git, refs, &other)?.file;
                let tip = git.resolve(&RefNames::local(&file.base.branch))?;
                let commit = match tip {
                    Some(tip) => tip,
                    None => file.base.commit.parse()?,
                };
                (file.base.branch, commit)
            }
            _ => (branch.short().to_owned(), oid),
        },
    };
    Ok((Base { branch, commit: start.to_string() }, start))
}
