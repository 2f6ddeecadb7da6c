//! `git cowork config`: prints every setting with its effective value and its origin.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use clap::Args;
use serde_json::json;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::suggest::corrected;
use crate::config::{self, ConfigProblem, Entry, Loaded, Restricted, ShownValue};
use crate::error::{Error, Kind};
use crate::event::{Event, Sink as _};

/// Maximum width of the column with origins; a longer origin does not make the column wider.
const WIDEST: usize = 40;

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Key or section to show, such as llm.model or limits [default: everything]
    #[arg(value_name = "KEY")]
    key: Option<String>,
    /// Show where each value comes from: a file with its line, git config, a variable, an option
    #[arg(long)]
    show_origin: bool,
}

pub(crate) fn run(context: &Context, args: &ConfigArgs) -> Answer {
    let git = match context.git() {
        Ok(git) => Some(git),
        Err(error) => {
            let text = format!("{error}: the settings of a repository are not listed");
            context.ui.emit(Event::Warning { text });
            None
        }
    };
    let (loaded, entries) = config::list(&context.tolerant_sources(git)?)?;
    for text in &loaded.warnings {
        context.ui.emit(Event::Warning { text: text.clone() });
    }
    let (shown, ignored): (Vec<&Entry>, Vec<&Restricted>) = match &args.key {
        None => (entries.iter().collect(), loaded.restricted.iter().collect()),
        Some(key) => {
            let of_key = |restricted: &&Restricted| config::is_named(&restricted.key, key);
            let ignored = loaded.restricted.iter().filter(of_key).collect();
            (named(context, &entries, key)?, ignored)
        }
    };
    for entry in &shown {
        if let ShownValue::Missing(why) = &entry.value {
            context.ui.emit(Event::Warning { text: why.clone() });
        }
    }
    if context.global.json {
        let lines = shown.into_iter().map(object).chain(ignored.into_iter().map(ignored_object));
        context.print(&lines.map(|line| format!("{line}\n")).collect::<String>())?;
        return Ok(told(context, &loaded));
    }
    let home = context.env.get("HOME").map(String::as_str).unwrap_or_default();
    let mut lines: Vec<(String, String)> = shown.into_iter().map(line).collect();
    lines.extend(ignored.into_iter().map(ignored_line));
    for (origin, _) in &mut lines {
        *origin = if args.show_origin { at_home(origin, home) } else { String::new() };
    }
    let text = columns(&lines);
    match git {
        Some(_) if std::io::stdout().is_terminal() => context.page(&text)?,
        _ => context.print(&text)?,
    }
    Ok(told(context, &loaded))
}

/// Reports invalid settings as errors, like the commands that fail because of them; returns the
/// exit code.
fn told(context: &Context, loaded: &Loaded) -> u8 {
    for ConfigProblem { text, hints } in &loaded.problems {
        let error = hints.iter().fold(Error::model(text), Error::hint);
        context.ui.error(&error.into());
    }
    if loaded.problems.is_empty() { 0 } else { Kind::Model.exit_code() }
}

/// # Errors
/// Exit 2: there is no such key.
fn named<'a>(context: &Context, entries: &'a [Entry], key: &str) -> anyhow::Result<Vec<&'a Entry>> {
    let found = config::named(entries, key);
    if found.is_empty() && !config::is_known(key) {
        let error = Error::usage(format!("there is no configuration key '{key}'"));
        return Err(match config::nearest_key(key) {
            Some(right) => error.hint(format!("did you mean: {}", corrected(key, &right))),
            None => error.hint("see all of them: git cowork config"),
        }
        .into());
    }
    if found.is_empty() {
        let text = format!("nothing is configured under {key}");
        context.ui.emit(Event::Note { text });
    }
    Ok(found)
}

/// The origin of a setting, and the setting with its value.
fn line(entry: &Entry) -> (String, String) {
    let value = match &entry.value {
        ShownValue::Value(toml, _) => toml.as_str(),
        ShownValue::Secret => "(set)",
        ShownValue::ByDepth => "(by depth)",
        ShownValue::Missing(_) => "(its variable is not set)",
    };
    (entry.origin.clone(), format!("{} = {value}", entry.key))
}

fn ignored_line(ignored: &Restricted) -> (String, String) {
    let Restricted { key, value, origin, .. } = ignored;
    (origin.clone(), format!("# ignored until git cowork trust: {key} = {value}"))
}

/// Shortens the user's home directory to `~`.
fn at_home(origin: &str, home: &str) -> String {
    match origin.strip_prefix(home).filter(|_| home.len() > 1) {
        Some(rest) if rest.starts_with('/') => format!("~{rest}"),
        _ => origin.to_owned(),
    }
}

/// One line for each setting. If a line has an origin, a tab follows the origin, as in `git config
/// --list --show-origin`.
fn columns(lines: &[(String, String)]) -> String {
    let widths = lines.iter().map(|(origin, _)| origin.chars().count());
    let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
    let mut out = String::new();
    for (origin, text) in lines {
        let _ = match origin.is_empty() {
            true => writeln!(out, "{text}"),
            false => writeln!(out, "{origin:<width$}\t{text}"),
        };
    }
    out
}

fn object(entry: &Entry) -> serde_json::Value {
    let Entry { key, value, origin } = entry;
    match value {
        ShownValue::Value(_, value) => json!({ "key": key, "value": value, "origin": origin }),
        ShownValue::Secret => {
            json!({ "key": key, "value": null, "secret": true, "origin": origin })
        }
        ShownValue::ByDepth => {
            json!({ "key": key, "value": null, "by_depth": true, "origin": origin })
        }
        ShownValue::Missing(why) => {
            json!({ "key": key, "value": null, "missing": why, "origin": origin })
        }
    }
}

fn ignored_object(ignored: &Restricted) -> serde_json::Value {
    let Restricted { key, value, origin, .. } = ignored;
    json!({ "key": key, "value": value, "origin": origin, "ignored": true })
}
