//! `git cowork trust`: the user accepts the project's configuration exactly as it is. What it sets
//! is shown first; without a terminal the command itself is the consent.

use std::fmt::Write as _;

use clap::Args;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::config::{self, PROJECT_FILE, Restricted, Trust, TrustRecords};
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::{Tty, confirm};

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Revoke all trust in this repository
    #[arg(long)]
    revoke: bool,
}

pub(crate) fn run(context: &Context, args: &TrustArgs) -> Answer {
    let git = context.git()?;
    let records = TrustRecords::of(&git.state_dir());
    let say = |text: String| context.ui.emit(Event::Note { text });
    if args.revoke {
        let was = records.revoke()?;
        if context.global.json {
            return print_json(context, None, "", false);
        }
        say(match was {
            true => format!("{PROJECT_FILE} is no longer trusted here, in no version of it"),
            false => format!("no {PROJECT_FILE} was trusted here; nothing was changed"),
        });
        return Ok(0);
    }
    let Some(text) = config::project_file(git.top())? else {
        return Err(Error::repository(format!("there is no {PROJECT_FILE} to trust"))
            .hint("write one: git cowork init")
            .into());
    };
    // What would be refused by every later command is not accepted here.
    context.load_with(git, text.clone(), Trust::Given)?;
    let keys = context.load_with(git, text.clone(), Trust::None)?.restricted;
    if keys.is_empty() && !context.global.json {
        say(format!("{PROJECT_FILE} sets nothing that must be trusted; all of it counts already"));
        return Ok(0);
    }
    let known = records.about(&text)?;
    if !context.global.json {
        let mut out = String::new();
        for Restricted { key, value, .. } in &keys {
            let _ = writeln!(out, "{key} = {value}");
        }
        context.print(&out)?;
        if known == Trust::Given {
            say(format!("{PROJECT_FILE} is trusted already, exactly as it is"));
            return Ok(0);
        }
    }
    if context.attended && known != Trust::Given {
        let question = format!("let {PROJECT_FILE} set this, for you, in this repository?");
        if !confirm(&Tty::new(context.color), &question)? {
            return Err(Error::failed(format!("{PROJECT_FILE} is not trusted")).into());
        }
    }
    let hash = records.give(&text)?;
    if context.global.json {
        return print_json(context, Some(&keys), &hash, true);
    }
    say(format!(
        "{PROJECT_FILE} is trusted exactly as it is (sha256 {}); take it back: git cowork trust --revoke",
        hash.get(..12).unwrap_or_default()
    ));
    Ok(0)
}

fn print_json(context: &Context, keys: Option<&[Restricted]>, hash: &str, trusted: bool) -> Answer {
    let keys: serde_json::Map<String, serde_json::Value> = keys
        .unwrap_or_default()
        .iter()
        .map(|set| (set.key.clone(), set.value.clone().into()))
        .collect();
    let mut object = serde_json::json!({ "file": PROJECT_FILE, "trusted": trusted });
    if trusted {
        object["sha256"] = hash.into();
        object["keys"] = keys.into();
    }
    context.print(&format!("{object}\n"))?;
    Ok(0)
}
