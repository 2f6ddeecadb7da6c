//! `git cowork list`: lists the sessions with their state.

use clap::Args;
use console::measure_text_width;

use crate::cli::args::Answer;
use crate::cli::commands::status::TITLE;
use crate::cli::context::Context;
use crate::cli::session_cmd::{find, next_step};
use crate::event::{Event, Sink as _};
use crate::git::{self, Git, RefName};
use crate::session::{Head, RefNames, State, Stop, in_tree, states};
use crate::ui::one_line;
use crate::wrap::hanging;

/// Maximum length of the reason why a session is stopped.
const WHY: usize = 100;

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
    let (refs, config, width) = (context.refs()?, context.config()?, context.width());
    let drafts = next_step::drafts(context.git()?)?;
    each(context.git()?, &refs, heads, archived, |git, head, state| {
        let here = current == Some(&refs.branch(head.name()));
        if next_step::is_told_by(git, config, head, state, &drafts) {
            return Ok(fitted(&line(head, state, None, here), width));
        }
        let status = next_step::status(git, &refs, config, head.session(git)?, state)?;
        Ok(fitted(&line(head, status.state, status.stop.as_ref(), here), width))
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

/// Wraps a line that is wider than the screen. The gaps between its columns become single spaces.
fn fitted(line: &str, screen: Option<usize>) -> String {
    match screen {
        Some(screen) if measure_text_width(line.trim_end()) > screen => {
            let mark = &line[..line.len().min(2)];
            let words: Vec<&str> = line[mark.len()..].split_whitespace().collect();
            format!("{mark}{}\n", hanging(&words.join(" "), screen, 2))
        }
        _ => line.to_owned(),
    }
}

fn line(head: &Head, state: State, stop: Option<&Stop>, here: bool) -> String {
    let stage = head.stage().map_or_else(|| "done".to_owned(), |stage| stage.to_string());
    let why = stop.map(|stop| format!(" ({})", one_line(&stop.why, WHY)));
    format!(
        "{} {:<24} {:<11} {:<9} {}{}\n",
        if here { '*' } else { ' ' },
        head.name(),
        state.name().replace('_', " "),
        stage,
        one_line(&head.file().title, TITLE),
        why.unwrap_or_default()
    )
}
