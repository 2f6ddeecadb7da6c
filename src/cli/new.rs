//! `git cowork new`: a session from an idea.

use std::path::PathBuf;

use clap::Args;

use super::context::Context;
use super::run::{self, Extent};
use super::start::{self, Beginning};
use super::{Answer, dependencies, idea, parse_stage};
use crate::artifact::{Artifact, Base, Depth, SCHEMA_VERSION, SessionFile};
use crate::clock;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::{Tty, choose};
use crate::git::{Git, Head, Oid, StatusEntry};
use crate::record::ending;
use crate::session::{
    Inheritance, RefNames, Session, SessionName, StageOf, artifact_path, slug, subject_line, taken,
};
use crate::stage::Stage;
use crate::stages::{TABLE, row};
use crate::workspace::is_manifest;

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
    pub(super) fn for_demo(idea: &str, name: &str) -> Self {
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

pub(super) fn run(context: &Context, args: NewArgs) -> Answer {
    let git = context.git()?;
    preflight(git)?;
    let refs = context.refs()?;
    let from = args.from.as_ref().map(|from| Inheritance::of(git, &refs, from)).transpose()?;
    let (idea, title) = match &from {
        Some(from) if args.idea.is_empty() && args.file.is_none() => {
            (from.idea.clone(), from.title.clone())
        }
        _ => {
            let idea = idea::text(context, &args.idea, args.file.as_deref(), "idea")?;
            let title = subject_line(first_line(&idea));
            (idea, title)
        }
    };
    context.mode()?;
    let named = args.name.as_ref().or(context.global.session.as_ref());
    let name = free_name(git, &refs, named, &idea)?;
    room_for_branches(git, &context.config()?.project.branch_prefix)?;
    require_not_sparse(git, &name)?;
    let worktree = worktree(context, args.worktree.as_ref())?;
    context.ui.set_session(&name);
    let held = run::hold(context, &name, "git cowork new")?;
    let beginning = || match &from {
        Some(from) if args.base.is_none() => base_of(git, from),
        _ => base(context, git, &refs, &name, args.base.as_deref()),
    };
    // An unborn HEAD gets its first commit only when all else is well.
    let unborn = matches!(git.head()?, Head::Unborn { .. });
    let found = if unborn { None } else { Some(beginning()?) };
    let here = worktree.is_none()
        && found.as_ref().map_or(Ok(true), |(_, start)| begins_here(git, start))?;
    if here {
        dependencies::require(context, &held, &name, AGAIN)?;
    }
    let models = run::models(context)?;
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
    let beginning = Beginning { file, start, artifacts, from, worktree };
    let (held, session) = start::begin(context, held, &refs, &name, beginning)?;
    context.ui.emit(Event::SessionStarted { branch: refs.short_branch(&name), resumed: false });
    if !here {
        let then = dependencies::resume_in(context, &held, &name)?;
        dependencies::require(context, &held, &name, &then)?;
    }
    let extent = Extent { stop_after: args.stop_after, ..Extent::default() };
    run::run_session(context, &held, &models, session, extent)
}

/// What to do when dependencies were fetched by hand and nothing was made yet.
pub(super) const AGAIN: &str = "then give the same command again; nothing was changed";

/// Whether what the working tree depends on is what a session depends on that begins at `start`. Else
/// that can be looked at only when the tree of the session is there.
pub(super) fn begins_here(git: &Git, start: &Oid) -> anyhow::Result<bool> {
    let Some(head) = git.resolve("HEAD")? else { return Ok(true) };
    Ok(!git.changed_paths(&head, start)?.iter().any(|path| is_manifest(path)))
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
        let blob = git.blob_id(&from.commit, &there)?;
        files.extend(blob.map(|blob| (artifact_path(name, *artifact), blob)));
    }
    git.tree_with(start, &files)
}

/// What must be so before anything is looked at.
pub(super) fn preflight(git: &Git) -> anyhow::Result<()> {
    git.require_identity()?;
    if let Some(operation) = git.operation_in_progress()? {
        return Err(Error::repository(format!("a {operation} is in progress"))
            .hint(format!("finish it, or: {}", ending(operation)))
            .into());
    }
    Ok(())
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
        require_free(git, refs, name)?;
        return Ok(name.clone());
    }
    first_free(git, refs, &slug(first_line(idea)))
}

/// # Errors
/// Exit 5: somebody has the name.
pub(super) fn require_free(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<()> {
    if taken(git, refs, name)? {
        return Err(Error::repository(format!("a session named '{name}' already exists"))
            .hint(format!("continue it: git cowork resume {name}"))
            .hint("or take another name")
            .into());
    }
    Ok(())
}

/// The name, or with the first number nobody has.
pub(super) fn first_free(
    git: &Git,
    refs: &RefNames,
    first: &SessionName,
) -> anyhow::Result<SessionName> {
    for number in 1.. {
        let name = first.numbered(number);
        if !taken(git, refs, &name)? {
            return Ok(name);
        }
    }
    Ok(first.clone())
}

/// A branch called `cowork` leaves no room for `cowork/NAME`.
pub(super) fn room_for_branches(git: &Git, prefix: &str) -> anyhow::Result<()> {
    if git.branch_exists(prefix)? {
        return Err(Error::repository(format!(
            "a branch named '{prefix}' leaves no room for branches named '{prefix}/…'"
        ))
        .hint("use another prefix here ([project] branch_prefix): git config cowork.project.branchprefix sessions")
        .hint(format!("or rename the branch: git branch -m {prefix} old-{prefix}"))
        .into());
    }
    Ok(())
}

pub(super) fn require_not_sparse(git: &Git, name: &SessionName) -> anyhow::Result<()> {
    let dir = name.record_dir();
    if git.sparse_excludes(&format!("{dir}/session.json"))? {
        return Err(Error::repository(".cowork is outside this sparse checkout")
            .hint("take it in: git sparse-checkout add .cowork")
            .into());
    }
    Ok(())
}

/// Where to work: as the options say, else as a person answers who has changes of their own here.
#[expect(clippy::option_option, reason = "as clap gives it: no worktree, the default one, a path")]
pub(super) fn worktree(
    context: &Context,
    asked: Option<&Option<PathBuf>>,
) -> anyhow::Result<Option<Option<PathBuf>>> {
    let dirty = match asked {
        Some(path) => return Ok(Some(path.clone())),
        None => context.git()?.status()?,
    };
    // Who hides changes from git wants no question about them; they are protected all the same.
    if dirty.iter().all(|entry| entry.hidden.is_some()) {
        return Ok(None);
    }
    ask_about_dirty_tree(context, &dirty)
}

/// On a terminal: what to do with the user's own changes. The answer is a worktree or none.
#[expect(clippy::option_option, reason = "as clap gives it: no worktree, the default one, a path")]
fn ask_about_dirty_tree(
    context: &Context,
    dirty: &[StatusEntry],
) -> anyhow::Result<Option<Option<PathBuf>>> {
    if !context.attended {
        return Ok(None);
    }
    context.ui.clear();
    let prompt = format!(
        "{} of your files {} not committed",
        dirty.len(),
        if dirty.len() == 1 { "is" } else { "are" }
    );
    // What to give for the option, or nothing.
    let answers = [
        (Some(Some(None)), "work in a linked worktree, this one stays as it is"),
        (Some(None), "go on here; these files are protected, never written or committed"),
        (None, "cancel"),
    ];
    let answer = choose(&Tty::new(context.color), &prompt, &answers, Some(0))?.flatten();
    answer.ok_or_else(|| {
        Error::new(crate::error::Kind::Interrupted, "cancelled; nothing was changed").into()
    })
}

pub(super) fn first_line(idea: &str) -> &str {
    idea.lines().find(|line| !line.trim().is_empty()).unwrap_or(idea)
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
            let branch = if git.branch_exists(rev)? { rev.to_owned() } else { String::new() };
            (branch, start)
        }
        (None, Head::Unborn { branch }) => {
            let root = git.create_root_commit("Start of the repository\n")?;
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
                let tip = git.resolve(&format!("refs/heads/{}", file.base.branch))?;
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
