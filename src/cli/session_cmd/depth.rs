//! How much process a session gets: what is chosen for a new one, and what one lacks.

use crate::cli::context::Context;
use crate::config::Config;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::{self, Git, Oid};
use crate::languages;
use crate::session::{Inheritance, Session};
use crate::stage::{Depth, Stage};
use crate::stages::{self, DepthChoice};

/// Characters of an idea that need no more than a plan.
const SHORT_IDEA: usize = 400;

/// A depth and why it was chosen.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The depth.
    pub depth: Depth,
    /// In a few words, for the person.
    pub why: String,
}

/// What a depth is chosen by.
pub(crate) struct ChosenBy<'a> {
    /// The idea, as it was given.
    pub idea: &'a str,
    /// What the session starts from; `None` in a repository without a commit.
    pub start: Option<&'a Oid>,
    /// What another session left that it begins with.
    pub from: Option<&'a Inheritance>,
    /// A folder says what is required, and with which tasks it is done.
    pub planned: bool,
    /// The stage it is to stop after.
    pub stop_after: Option<Stage>,
    /// What the first request has found fit, with its reason.
    pub suggested: Option<(Depth, String)>,
}

/// Chooses the depth of a new session.
///
/// # Errors
/// Exit 2: an option names a stage that the depth chosen lacks.
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
            .hint(format!("give it more process: --depth {}", least_with(stage)))
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
    let fixed = option.unwrap_or(config.project.depth).fixed();
    if let Some(from) = work.from {
        let asked = fixed.filter(|_| option.is_some()).unwrap_or(from.depth);
        if asked < from.depth || (asked > from.depth && from.depth == Depth::Quick) {
            return Err(Error::usage(format!(
                "it begins with what a {} session left, so it cannot be {asked}",
                from.depth
            ))
            .hint("leave --depth out; once it has begun: git cowork resume --depth DEPTH raises it")
            .into());
        }
        return because(asked, "of the session it starts from".to_owned());
    }
    if let Some(depth) = fixed {
        let by = if option.is_some() { "--depth" } else { "[project] depth" };
        return because(depth, by.to_owned());
    }
    let lacks = |stage: &Stage| !stages::depth(Depth::Quick).has(*stage);
    if let Some(stage) = work.stop_after.filter(lacks) {
        return because(Depth::Standard, format!("it is to stop after {stage}"));
    }
    if let Some(stage) = config.review.gates.on().into_iter().find(lacks) {
        return because(Depth::Standard, format!("{stage} is among your gates"));
    }
    if work.planned {
        return because(Depth::Quick, "its requirements and tasks are written".to_owned());
    }
    if let Some((Depth::Standard | Depth::Thorough, why)) = &work.suggested {
        let why = if why.is_empty() { "the model finds it fit" } else { why.as_str() };
        return because(Depth::Standard, why.to_owned());
    }
    let length = work.idea.trim().chars().count();
    if length > SHORT_IDEA {
        return because(Depth::Standard, format!("an idea of {length} characters"));
    }
    match work.start.map_or(Ok(false), |start| holds_code(git, start))? {
        true => because(Depth::Quick, "a short idea in a repository with code".to_owned()),
        false => because(Depth::Standard, "a repository without code".to_owned()),
    }
}

/// Says how much process a new session gets, why, and how that is changed.
pub(crate) fn tell(context: &Context, session: &Session, chosen: &Chosen) {
    let Chosen { depth, why } = chosen;
    let name = &session.name;
    let more = match depth {
        Depth::Thorough => String::new(),
        Depth::Standard => format!("; more: git cowork resume {name} --depth thorough"),
        Depth::Quick => format!("; more: git cowork resume {name} --depth standard"),
    };
    context.ui.emit(Event::Note { text: format!("depth {depth} ({why}){more}") });
}

/// Whether a commit holds files of a language we know.
fn holds_code(git: &Git, commit: &Oid) -> anyhow::Result<bool> {
    let paths = git::paths::changed(git, &git::in_the_way::empty_tree(git)?, commit)?;
    let code = |path: &String| !path.starts_with(".cowork/") && languages::of_file(path).is_some();
    Ok(paths.iter().any(code))
}

/// The least depth that has a stage.
fn least_with(stage: Stage) -> Depth {
    let mut depths = Depth::ALL.into_iter();
    depths.find(|depth| stages::depth(*depth).has(stage)).unwrap_or_default()
}

/// Makes sure that a session has a stage, or will have it at the depth it is raised to.
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
    let error = Error::repository(format!("'{name}' is {depth} and has no stage {stage}"));
    Err(error.hint(format!("give it more process: git cowork resume {name} --depth {more}")).into())
}
