//! `git cowork diff [SESSION]`: shows the changes of a session against its base, like `git diff`.

use std::io::IsTerminal as _;

use clap::Args;
use serde_json::json;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::find;
use crate::gate::clean::{clean, clean_colored};
use crate::git::diff::{self, DiffStyle};
use crate::git::{self, Git, Oid};
use crate::session::{RefNames, SESSIONS, Session, SessionName, began, review_base};

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Session name [default: the branch you are on, or the newest unfinished session]
    #[arg(value_name = "SESSION")]
    name: Option<SessionName>,
    /// Show a line for each file instead of the changes
    #[arg(long)]
    stat: bool,
    /// Leave out .cowork/sessions
    #[arg(long)]
    without_artifacts: bool,
}

pub(crate) fn run(context: &Context, args: &DiffArgs) -> Answer {
    let git = context.git()?;
    let session = find::readable(context, args.name.as_ref())?;
    let from = left_base(git, &context.refs()?, &session)?;
    let mut paths = Vec::new();
    if args.without_artifacts {
        paths = git::paths::changed(git, &from, &session.tip)?;
        paths.retain(|path| !path.starts_with(SESSIONS));
    }
    // An empty list of paths must not be passed to git, which would then compare all files.
    let is_empty = args.without_artifacts && paths.is_empty();
    let style = if args.stat { DiffStyle::Stat } else { DiffStyle::Patch };
    let text = |color| match is_empty {
        true => Ok(String::new()),
        false => diff::text(git, &from, &session.tip, &paths, style, color),
    };
    let plain = text(false)?;
    if context.global.json {
        let object = json!({
            "session": session.name.as_str(), "from": from.as_str(), "to": session.tip.as_str(),
            "diff": plain,
        });
        return context.print(&format!("{object}\n")).map(|()| 0);
    }
    let shown = match context.color_stdout() {
        true => clean_colored(&plain, &text(true)?).unwrap_or_else(|| clean(&plain)),
        // A pipe may lead to `git apply`, so the text is not cleaned.
        false if !std::io::stdout().is_terminal() => plain,
        false => clean(&plain),
    };
    context.page_with(&git::settings::diff_pager(git)?, &shown).map(|()| 0)
}

/// The merge base of the session and its base branch, or the session's start commit if the base
/// branch already contains the session.
fn left_base(git: &Git, refs: &RefNames, session: &Session) -> anyhow::Result<Oid> {
    let began: Oid = began(git, session)?;
    let Some(base) = review_base(git, refs, session)? else { return Ok(began) };
    let Some(onto) = git.resolve(&RefNames::local(&base))? else { return Ok(began) };
    let parted = git.read(["merge-base", onto.as_str(), session.tip.as_str()]).output()?;
    let parted = parted.text().trim().parse().ok().filter(|parted| *parted != session.tip);
    Ok(parted.unwrap_or(began))
}
