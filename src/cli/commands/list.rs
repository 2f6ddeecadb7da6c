//! `git cowork list`: lists the sessions with their state.

use clap::Args;
use console::{Alignment, measure_text_width, pad_str};

use crate::cli::args::Answer;
use crate::cli::commands::status::TITLE;
use crate::cli::context::Context;
use crate::cli::session_cmd::{find, next_step};
use crate::event::{Event, Sink as _};
use crate::git::{self, Git, RefName};
use crate::session::{Head, RefNames, State, Stop, in_tree, states};
use crate::ui::one_line;
use crate::wrap::{hanging, shortened, without_middle};

/// Maximum length of the reason why a session is stopped.
const WHY: usize = 100;
/// Width of the column with names, if no name is longer.
const NAME: usize = 24;
/// On a screen with less room than this for titles, a line is wrapped as a whole.
const TITLE_LEAST: usize = 12;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Include archived sessions
    #[arg(long)]
    pub(crate) all: bool,
}

pub(crate) fn run(context: &Context, args: ListArgs) -> Answer {
    let git = context.git()?;
    git.expect_refs([RefNames::DRAFTS, RefNames::ARCHIVE].map(str::to_owned));
    let (heads, unreadable) = find::every(context, args.all)?;
    find::tell_of_unreadable(context, &unreadable);
    let (refs, current) = (context.refs()?, git.head()?);
    let here = |head: &&Head| current.branch() == Some(&refs.branch(head.name()));
    if let Some(head) = heads.iter().find(here) {
        find::warn_of_unreadable(context, &head.session(git)?)?;
    }
    let out = if context.global.json {
        json(context, &heads, args.all)?
    } else {
        lines(context, &heads, args.all, current.branch())?
    };
    if out.is_empty() && unreadable.broken.is_empty() && !context.global.json {
        let others = || Ok::<_, anyhow::Error>(!git.refs(&[RefNames::ARCHIVE])?.is_empty());
        let are_others = !args.all && (others()? || !in_tree(git)?.is_empty());
        let text = match are_others {
            true => "no session has a branch; look at all: git cowork list --all",
            false => "no sessions here; start one: git cowork new \"what you want built\"",
        };
        context.ui.emit(Event::Note { text: text.to_owned() });
    }
    context.page(&out)?;
    Ok(0)
}

/// One line of JSON for each of these sessions; archived sessions only if `archived` is true.
pub(crate) fn json(context: &Context, heads: &[Head], archived: bool) -> anyhow::Result<String> {
    let (refs, config) = (context.refs()?, context.config()?);
    each(context.git()?, &refs, heads, archived, |git, head, state| {
        let status = next_step::status(git, &refs, config, head.session(git)?, state)?;
        Ok(format!("{}\n", serde_json::to_string(&status.json())?))
    })
}

fn lines(
    context: &Context,
    heads: &[Head],
    archived: bool,
    current: Option<&RefName>,
) -> anyhow::Result<String> {
    let (refs, config, screen) = (context.refs()?, context.config()?, context.width());
    let names = heads.iter().map(|head| measure_text_width(head.name().as_str())).max();
    // Long names get a third of the screen; without one, nothing is cut.
    let name = screen.map_or(NAME, |screen| names.unwrap_or(0).min(screen / 3).max(NAME));
    let drafts = next_step::drafts(context.git()?)?;
    each(context.git()?, &refs, heads, archived, |git, head, state| {
        let here = current == Some(&refs.branch(head.name()));
        if next_step::is_told_by(git, config, head, state, &drafts) {
            return Ok(line(head, (state, None), here, name, screen));
        }
        let status = next_step::status(git, &refs, config, head.session(git)?, state)?;
        Ok(line(head, (status.state, status.stop.as_ref()), here, name, screen))
    })
}

/// Joins the texts that `tell` returns for the sessions.
fn each(
    git: &Git,
    refs: &RefNames,
    heads: &[Head],
    archived: bool,
    tell: impl Fn(&Git, &Head, State) -> anyhow::Result<String> + Sync,
) -> anyhow::Result<String> {
    let states = states(git, refs, heads)?;
    let mut shown: Vec<(&Head, State)> = heads.iter().zip(states).collect();
    shown.retain(|(_, state)| archived || *state != State::Archived);
    let told = git::many::ask_each(git, &shown, |git, (head, state)| tell(git, head, *state));
    told.into_iter().collect()
}

/// The line of a session. On a screen, a long name loses its middle and a long title its end; the
/// reason why the session is stopped is then below.
fn line(
    head: &Head,
    (state, stop): (State, Option<&Stop>),
    here: bool,
    width: usize,
    screen: Option<usize>,
) -> String {
    let mark = if here { '*' } else { ' ' };
    let stage = head.stage().map_or_else(|| "done".to_owned(), |stage| stage.to_string());
    let (name, state) = (head.name().as_str(), state.name().replace('_', " "));
    let shown = screen.map_or_else(|| name.to_owned(), |_| without_middle(name, width));
    let before =
        format!("{} {state:<11} {stage:<9}", pad_str(&shown, width, Alignment::Left, None));
    let title = one_line(&head.file().title, TITLE);
    let why = stop.map(|stop| format!("({})", one_line(&stop.why, WHY)));
    let all =
        [Some(title.clone()), why.clone()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let screen = screen.unwrap_or(usize::MAX);
    let room = screen.saturating_sub(measure_text_width(&before) + 3);
    if measure_text_width(&all) <= room {
        return format!("{mark} {before} {all}\n");
    }
    if room < TITLE_LEAST {
        let words = format!("{name} {state} {stage} {all}");
        return format!("{mark} {}\n", hanging(&words, screen, 2));
    }
    let below = why.map(|why| format!("  {}\n", hanging(&why, screen, 2)));
    format!("{mark} {before} {}\n{}", shortened(&title, room), below.unwrap_or_default())
}
