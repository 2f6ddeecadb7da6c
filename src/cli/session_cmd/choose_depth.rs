//! Chooses the depth of a session (how much process it gets), and checks that the session has a
//! given stage at that depth.

use crate::cli::context::Context;
use crate::config::{Config, DEFAULT_MODEL};
use crate::error::Error;
use crate::event::Usage;
use crate::git::{self, Git, Oid};
use crate::languages;
use crate::pipeline::Models;
use crate::session::{self, Inheritance, RefNames, Session};
use crate::spent::tokens;
use crate::stage::{Depth, Stage};
use crate::stages::{self, Cost, DepthChoice};

/// A depth and why it was chosen.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The depth.
    pub depth: Depth,
    /// The reason in a few words, for the user.
    pub why: String,
}

/// The facts from which a depth is chosen.
pub(crate) struct ChosenBy<'a> {
    /// The idea, as it was given.
    pub idea: &'a str,
    /// What the session starts from; `None` in a repository without a commit.
    pub start: Option<&'a Oid>,
    /// The stage of another session from which the new session starts.
    pub from: Option<&'a Inheritance>,
    /// True if a specification folder contains the requirements and the tasks.
    pub planned: bool,
    /// The stage to stop after.
    pub stop_after: Option<Stage>,
    /// The depth that the model suggested in the first request, with its reason.
    pub suggested: Option<(Depth, String)>,
}

/// Chooses the depth of a new session.
///
/// # Errors
/// Exit 2: an option names a stage that the chosen depth lacks.
pub(crate) fn choose(
    git: &Git,
    config: &Config,
    option: Option<DepthChoice>,
    work: &ChosenBy<'_>,
) -> anyhow::Result<Chosen> {
    let chosen = unchecked(git, config, option, work)?;
    if let Some(stage) = work.stop_after.filter(|stage| !stages::depth(chosen.depth).has(*stage)) {
        let message = format!("a {} session has no stage {stage}", chosen.depth);
        return Err(Error::usage(message)
            .hint(format!("raise the depth: --depth {}", least_with(stage)))
            .into());
    }
    Ok(chosen)
}

fn unchecked(
    git: &Git,
    config: &Config,
    option: Option<DepthChoice>,
    work: &ChosenBy<'_>,
) -> anyhow::Result<Chosen> {
    let because = |depth, why: String| Ok(Chosen { depth, why });
    let choice = option.unwrap_or(config.project.depth).fixed();
    if let Some(from) = work.from {
        let target = choice.filter(|_| option.is_some()).unwrap_or(from.depth);
        if target < from.depth || (target > from.depth && from.depth == Depth::Quick) {
            return Err(Error::usage(format!(
                "a session that starts from a {} session cannot be {target}",
                from.depth
            ))
            .hint("leave out --depth; to raise it later: git cowork resume --depth DEPTH")
            .into());
        }
        let by =
            if target > from.depth { "--depth" } else { "the depth of the session it starts from" };
        return because(target, by.to_owned());
    }
    if let Some(depth) = choice {
        let by = if option.is_some() { "--depth" } else { "[project] depth" };
        return because(depth, by.to_owned());
    }
    let lacks = |stage: &Stage| !stages::depth(Depth::Quick).has(*stage);
    if let Some(stage) = work.stop_after.filter(lacks) {
        return because(Depth::Standard, format!("the run stops after {stage}"));
    }
    if let Some(stage) = config.review.gates.on().into_iter().find(lacks) {
        return because(Depth::Standard, format!("{stage} is among your gates"));
    }
    if work.planned {
        return because(Depth::Quick, "the requirements and tasks already exist".to_owned());
    }
    if let Some((depth, why)) = &work.suggested {
        let why = if why.is_empty() { "suggested by the model" } else { why.as_str() };
        return because(*depth, why.to_owned());
    }
    let has_code = || work.start.map_or(Ok(false), |start| holds_code(git, start));
    let (depth, why) = stages::depth_for_idea(work.idea, has_code)?;
    because(depth, why)
}

/// Prints the depth of a new session, the reason, and how to get more or less process. An existing
/// session's depth cannot be lowered: another one is started.
pub(crate) fn tell(context: &Context, session: &Session, chosen: &Chosen) {
    let Chosen { depth, why } = chosen;
    let name = &session.name;
    let raise = |to: Depth| format!("; raise it: git cowork resume {name} --depth {to}");
    let lower = |to: Depth| format!("; with less process: git cowork new --depth {to}");
    let ways = match depth {
        Depth::Thorough => lower(Depth::Standard),
        Depth::Standard => raise(Depth::Thorough) + &lower(Depth::Quick),
        Depth::Quick => raise(Depth::Standard),
    };
    context.note(format!("depth {depth} ({why}){ways}"));
}

/// Before the first session of a repository: what a session of each depth took, with its price if
/// the model has one.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn tell_costs(
    context: &Context,
    git: &Git,
    refs: &RefNames,
    models: &Models,
) -> anyhow::Result<()> {
    // A recording costs nothing.
    let Some(model) = models.settings.get(DEFAULT_MODEL) else { return Ok(()) };
    if !session::names(git, refs)?.is_empty() {
        return Ok(());
    }
    context.note("what a session took, for small work with no draft rejected:".to_owned());
    for depth in Depth::ALL {
        let Cost { requests, input, output } = stages::depth(depth).cost;
        let usage = Usage { input, output, cached: 0 };
        let (input, output) = (tokens(input), tokens(output));
        let dollars = models.meter.cost(&model.model, usage);
        let dollars = dollars.map(|dollars| format!(", ${dollars:.2}")).unwrap_or_default();
        context.note(format!(
            "{depth}: {requests} requests, {input} tokens in, {output} out{dollars}"
        ));
    }
    Ok(())
}

/// True if a commit contains files of a known programming language.
fn holds_code(git: &Git, commit: &Oid) -> anyhow::Result<bool> {
    let paths = git::paths::changed(git, &git::in_the_way::empty_tree(git)?, commit)?;
    let code = |path: &String| !path.starts_with(".cowork/") && languages::of_file(path).is_some();
    Ok(paths.iter().any(code))
}

/// The lowest depth at which sessions have this stage.
fn least_with(stage: Stage) -> Depth {
    let mut depths = Depth::ALL.into_iter();
    depths.find(|depth| stages::depth(*depth).has(stage)).unwrap_or_default()
}

/// Makes sure that a session has the stage, or will have it at the depth that it is being raised
/// to.
///
/// # Errors
/// Exit 5, with the command that gives it the stage.
pub(crate) fn require_stage(
    session: &Session,
    stage: Stage,
    raised: Option<Depth>,
) -> anyhow::Result<()> {
    let depth = raised.map_or(session.depth(), |raised| raised.max(session.depth()));
    if stages::depth(depth).has(stage) {
        return Ok(());
    }
    let (name, more) = (&session.name, least_with(stage));
    let error = Error::repository(format!("'{name}' is a {depth} session without stage {stage}"));
    Err(error.hint(format!("raise its depth: git cowork resume {name} --depth {more}")).into())
}
