//! `git cowork trust`: the user accepts the project's configuration exactly as it is, and the files
//! in the tree that configure agent programs. The settings are shown first; without a terminal the
//! command itself is the consent.

use std::fmt::Write as _;

use clap::Args;

use crate::clean;
use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::config::{self, AgentFiles, PROJECT_FILE, Restricted, Trust, TrustRecords};
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::{Tty, confirm};
use crate::git::paths;

/// The words that messages use for the files that configure agent programs.
const AGENTS: &str = "the configuration of agent programs here";

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Revoke all trust in this repository
    #[arg(long)]
    revoke: bool,
}

pub(crate) fn run(context: &Context, args: &TrustArgs) -> Answer {
    let git = context.git()?;
    let (project, agents) =
        (TrustRecords::for_project(&git.state_dir()), TrustRecords::for_agents(&git.state_dir()));
    if args.revoke {
        return revoke(context, &project, &agents);
    }
    let text = config::project_file(git.top())?;
    let files = AgentFiles::among(&paths::tracked(git)?, git.top())?;
    if text.is_none() && files.is_empty() {
        return Err(Error::repository(format!("there is no {PROJECT_FILE} to trust"))
            .hint("write one: git cowork init")
            .into());
    }
    let mut object = serde_json::json!({ "file": PROJECT_FILE, "trusted": true });
    if let Some(text) = text {
        let (keys, hash) = trust_project(context, &project, &text)?;
        let keys: serde_json::Map<String, serde_json::Value> =
            keys.iter().map(|set| (set.key.clone(), set.value.clone().into())).collect();
        object["sha256"] = hash.into();
        object["keys"] = keys.into();
    }
    if !files.is_empty() {
        trust_agents(context, &agents, &files)?;
        object["agent_files"] = files.paths().collect::<Vec<_>>().into();
    }
    if context.global.json {
        context.print(&format!("{object}\n"))?;
    }
    Ok(0)
}

fn say(context: &Context, text: String) {
    if !context.global.json {
        context.ui.emit(Event::Note { text });
    }
}

/// Accepts the project's file; returns its settings and its hash.
fn trust_project(
    context: &Context,
    records: &TrustRecords,
    text: &str,
) -> anyhow::Result<(Vec<Restricted>, String)> {
    let git = context.git()?;
    // Do not accept a file that every later command would refuse.
    context.load_with(git, text.to_owned(), Trust::Given)?;
    let keys = context.load_with(git, text.to_owned(), Trust::None)?.restricted;
    if keys.is_empty() && !context.global.json {
        say(
            context,
            format!("{PROJECT_FILE} sets nothing that must be trusted; all of it already applies"),
        );
        return Ok((keys, String::new()));
    }
    let known = records.about(text)?;
    if !context.global.json {
        let mut out = String::new();
        for Restricted { key, value, .. } in &keys {
            let _ = writeln!(out, "{key} = {value}");
        }
        context.print(&out)?;
        if known == Trust::Given {
            say(context, format!("{PROJECT_FILE} is already trusted, exactly as it is"));
            return Ok((keys, String::new()));
        }
    }
    if context.attended() && known != Trust::Given {
        let question = format!("let {PROJECT_FILE} set this, for you, in this repository?");
        if !confirm(&Tty::new(context.color), &question)? {
            return Err(Error::failed(format!("{PROJECT_FILE} is not trusted")).into());
        }
    }
    let hash = records.give(text)?;
    say(
        context,
        format!(
            "{PROJECT_FILE} is trusted exactly as it is (sha256 {}); revoke it: git cowork trust --revoke",
            hash.get(..12).unwrap_or_default()
        ),
    );
    Ok((keys, hash))
}

/// Accepts the files in the tree that configure agent programs.
fn trust_agents(
    context: &Context,
    records: &TrustRecords,
    files: &AgentFiles,
) -> anyhow::Result<()> {
    let text = files.text();
    let known = records.about(&text)? == Trust::Given;
    if !context.global.json {
        let names = files.paths().map(|path| format!("{}\n", clean::sanitize(path)));
        context.print(&names.collect::<String>())?;
    }
    if known {
        say(context, format!("{AGENTS} is already trusted, exactly as it is"));
        return Ok(());
    }
    if context.attended() {
        let question = "let these files configure agent programs, for you, in this repository? \
             They can name programs to run";
        if !confirm(&Tty::new(context.color), question)? {
            return Err(Error::failed(format!("{AGENTS} is not trusted")).into());
        }
    }
    records.give(&text)?;
    say(
        context,
        format!("{AGENTS} is trusted exactly as it is; revoke it: git cowork trust --revoke"),
    );
    Ok(())
}

fn revoke(context: &Context, project: &TrustRecords, agents: &TrustRecords) -> Answer {
    let (was, agents_were) = (project.revoke()?, agents.revoke()?);
    if context.global.json {
        let object = serde_json::json!({ "file": PROJECT_FILE, "trusted": false });
        context.print(&format!("{object}\n"))?;
        return Ok(0);
    }
    if was {
        say(context, format!("{PROJECT_FILE} is no longer trusted here, in any version"));
    }
    if agents_were {
        say(context, format!("{AGENTS} is no longer trusted here, in any version"));
    }
    if !was && !agents_were {
        say(context, format!("no {PROJECT_FILE} was trusted here; nothing was changed"));
    }
    Ok(0)
}
