//! `git cowork prune`: drops old attempts and drafts.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::lock::{self, LockedSession};
use crate::clock;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::{Tty, confirm};
use crate::git::{self, Git, RefName};
use crate::record;
use crate::session::{
    Guard, Leftover, NEWEST, RefNames, Retention, Selection, leftovers, retentions,
};
use crate::ui::one_line;

/// Maximum length of an attempt's reason.
const ABOUT: usize = 80;
/// Seconds in a day.
const DAY: i64 = 24 * 60 * 60;

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Refs of attempts and drafts to drop (for example refs/cowork/attempts/todo/1). Refs named
    /// here are dropped even if they are new or contain uncommitted edits
    #[arg(value_name = "REF", conflicts_with_all = ["older_than", "keep"])]
    refs: Vec<String>,
    /// Drop only those older than this: 12h, 30d, 2w, 1y, or a date that git understands
    #[arg(long, value_name = "AGE")]
    older_than: Option<String>,
    /// Keep the N newest attempts and the N newest drafts of each session; N must be at least 5
    #[arg(long, value_name = "N", default_value_t = NEWEST, value_parser = at_least_five)]
    keep: usize,
    /// Only list what would be dropped
    #[arg(long)]
    dry_run: bool,
}

fn at_least_five(text: &str) -> Result<usize, Error> {
    match text.parse() {
        Ok(number) if number >= NEWEST => Ok(number),
        Ok(_) => Err(Error::usage(format!("the newest {NEWEST} are always kept"))
            .hint("to drop them, name the refs: git cowork prune REF")),
        Err(_) => Err(Error::usage(format!("'{text}' is not a number"))
            .hint(format!("use {NEWEST} or more: git cowork prune --keep {NEWEST}"))),
    }
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    r#ref: &'a str,
    oid: &'a str,
    session: &'a str,
    kind: &'a str,
    about: &'a str,
    created_at: String,
    /// True if the ref was dropped, or would be without `--dry-run`.
    dropped: bool,
    /// Why the ref is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<&'static str>,
    dry_run: bool,
}

pub(crate) fn run(context: &Context, args: &PruneArgs) -> Answer {
    let git = context.git()?;
    let selection = Selection {
        named: args.refs.iter().map(|word| named(git, word)).collect::<anyhow::Result<_>>()?,
        before: args.older_than.as_deref().map_or(Ok(i64::MAX), |age| moment(git, age))?,
        newest: args.keep,
    };
    let found = find(context, git, &selection)?;
    let going = going(&found);
    if args.dry_run || going.is_empty() {
        tell(context, &found, args.dry_run)?;
        return Ok(0);
    }
    if !context.global.json {
        context.print(&listing(&found, context.global.verbose))?;
    }
    if context.attended() {
        context.ui.clear();
        // With --json, standard output contains only the result, so the list is part of the
        // question.
        let list = if context.global.json { listing(&found, false) } else { String::new() };
        let question = format!("{list}drop {}?", count(going.len()));
        if !confirm(&Tty::new(context.color), &question)? {
            return Err(Error::failed("nothing was dropped").into());
        }
    }
    let held = hold(context, &going)?;
    // Drop only the refs that the user confirmed, and only if none has changed since.
    let now = find(context, git, &selection)?;
    let unchanged = |one: &&Leftover| {
        now.iter().any(|(other, retention)| {
            *retention == Retention::Dropped && other.name == one.name && other.commit == one.commit
        })
    };
    if let Some(changed) = going.iter().find(|one| !unchanged(one)) {
        return Err(Error::repository(format!("{} changed meanwhile", changed.name))
            .hint("nothing was dropped; list them again: git cowork prune --dry-run")
            .into());
    }
    let with = held.first().map_or(git, |held| &held.git);
    record::prune(with, going.iter().copied())?;
    if context.global.json {
        context.print(&json(&found, false)?)?;
        return Ok(0);
    }
    note(context, format!("dropped {}", count(going.len())));
    note(context, "bring one back before git gc removes its commits: git update-ref REF OBJECT-ID");
    Ok(0)
}

/// The attempts and drafts, and whether each is kept or dropped.
///
/// # Errors
/// Exit 5: a named ref is not an attempt or a draft, or it is the draft of a stage in progress.
fn find(
    context: &Context,
    git: &Git,
    selection: &Selection,
) -> anyhow::Result<Vec<(Leftover, Retention)>> {
    let all = leftovers(git, &context.refs()?, context.global.session.as_ref())?;
    let found = retentions(&all, selection);
    if let Some(missing) =
        selection.named.iter().find(|name| !found.iter().any(|(one, _)| one.name == **name))
    {
        return Err(Error::repository(format!("{missing} is not an attempt or a draft here"))
            .hint("list them: git cowork prune --dry-run --verbose")
            .into());
    }
    let in_progress = |(_, retention): &&(Leftover, Retention)| {
        *retention == Retention::Guarded(Guard::InProgress)
    };
    if !selection.named.is_empty()
        && let Some((draft, _)) = found.iter().find(in_progress)
    {
        let stage = draft.name.as_str().rsplit('/').next().unwrap_or_default();
        let session = &draft.session;
        return Err(Error::repository(format!(
            "{} is the draft of a stage in progress",
            draft.name
        ))
        .hint(format!("finish {stage} first: git cowork resume {session}"))
        .hint(format!("or abandon the draft: git cowork revert {session} --to {stage} --no-run"))
        .into());
    }
    Ok(found)
}

fn going(found: &[(Leftover, Retention)]) -> Vec<&Leftover> {
    found
        .iter()
        .filter(|(_, retention)| *retention == Retention::Dropped)
        .map(|(one, _)| one)
        .collect()
}

/// Locks all sessions whose refs are dropped.
///
/// # Errors
/// Exit 5: another process has locked one of the sessions; the error names it.
fn hold(context: &Context, going: &[&Leftover]) -> anyhow::Result<Vec<LockedSession>> {
    let sessions: BTreeSet<_> = going.iter().map(|one| &one.session).collect();
    sessions.into_iter().map(|name| lock::hold_session(context, name, "git cowork prune")).collect()
}

/// The full name of an attempt's or a draft's ref; `refs/cowork/` is optional in `word`.
fn named(git: &Git, word: &str) -> anyhow::Result<RefName> {
    let short = word.strip_prefix("refs/").unwrap_or(word);
    let short = short.strip_prefix("cowork/").unwrap_or(short);
    let name = RefName::new(format!("{}{short}", RefNames::OWN));
    let kind = short.split('/').next().unwrap_or_default();
    match name {
        Ok(name) if ["attempts", "drafts"].contains(&kind) => match git.resolve(name.as_str())? {
            Some(_) => Ok(name),
            None => Err(Error::repository(format!("there is no {name}"))
                .hint("list attempts and drafts: git cowork prune --dry-run --verbose")
                .into()),
        },
        _ => Err(Error::usage(format!("'{word}' is not an attempt or a draft"))
            .hint("name refs such as refs/cowork/attempts/todo/1 or refs/cowork/drafts/todo/prd")
            .into()),
    }
}

/// The time `age` ago, in Unix seconds. Git reads `30d` as the thirtieth of a month, so a number
/// with one letter is spelled out for git.
fn moment(git: &Git, age: &str) -> anyhow::Result<i64> {
    let digits = age.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = age.split_at(digits);
    let spelled = match unit {
        "h" => format!("{number} hours ago"),
        "d" => format!("{number} days ago"),
        "w" => format!("{number} weeks ago"),
        "y" => format!("{number} years ago"),
        _ => age.to_owned(),
    };
    let unknown = || {
        Error::usage(format!("'{age}' is not an age"))
            .hint("give one as 12h, 30d, 2w, 1y, '6 months ago' or 2026-01-31")
    };
    if digits > 0 && unit.len() < 2 && spelled == age || age.is_empty() {
        return Err(unknown().into());
    }
    let before = git::settings::expiry_date(git, &spelled)?.ok_or_else(unknown)?;
    let now = clock::parse_rfc3339(&clock::rfc3339(clock::now())).unwrap_or(i64::MAX);
    if before != i64::MAX && before > now {
        return Err(unknown().hint("it is in the future").into());
    }
    Ok(before)
}

fn tell(context: &Context, found: &[(Leftover, Retention)], dry_run: bool) -> anyhow::Result<()> {
    if context.global.json {
        return context.print(&json(found, dry_run)?);
    }
    context.print(&listing(found, context.global.verbose))?;
    let dropped = going(found).len();
    note(
        context,
        match dropped {
            0 => "there is nothing to drop".to_owned(),
            _ => format!("would drop {}", count(dropped)),
        },
    );
    Ok(())
}

/// One line for each ref to drop, and for each ref that is kept only because it is guarded; with
/// `all`, for every ref.
fn listing(found: &[(Leftover, Retention)], all: bool) -> String {
    let now = clock::parse_rfc3339(&clock::rfc3339(clock::now())).unwrap_or_default();
    let mut out = String::new();
    for (one, retention) in found {
        let verb = match retention {
            Retention::Dropped => "drop",
            Retention::Guarded(_) => "keep",
            Retention::Newest | Retention::Younger if all => "keep",
            Retention::Newest | Retention::Younger => continue,
        };
        let days = (now - one.time).max(0) / DAY;
        let age = if days == 1 { "1 day".to_owned() } else { format!("{days} days") };
        let about = one_line(&one.about, ABOUT);
        let why = kept(*retention).map(|why| format!(" ({why})")).unwrap_or_default();
        let _ = writeln!(out, "{verb} {} {}  {age} old: {about}{why}", one.name, one.commit);
    }
    out
}

fn json(found: &[(Leftover, Retention)], dry_run: bool) -> anyhow::Result<String> {
    let mut out = String::new();
    for (one, retention) in found {
        let time = std::time::Duration::from_secs(u64::try_from(one.time).unwrap_or_default());
        let line = Line {
            r#ref: one.name.as_str(),
            oid: one.commit.as_str(),
            session: one.session.as_str(),
            kind: one.kind,
            about: &one.about,
            created_at: clock::rfc3339(std::time::UNIX_EPOCH + time),
            dropped: *retention == Retention::Dropped,
            kept: kept(*retention),
            dry_run,
        };
        let _ = writeln!(out, "{}", serde_json::to_string(&line)?);
    }
    Ok(out)
}

/// Why a ref is kept.
const fn kept(retention: Retention) -> Option<&'static str> {
    match retention {
        Retention::Dropped => None,
        Retention::Guarded(Guard::Edits) => Some("contains uncommitted edits; name it to drop it"),
        Retention::Guarded(Guard::InProgress) => Some("its stage is in progress"),
        Retention::Newest => Some("one of the newest"),
        Retention::Younger => Some("not old enough"),
    }
}

fn count(number: usize) -> String {
    if number == 1 { "1 ref".to_owned() } else { format!("{number} refs") }
}

fn note(context: &Context, text: impl Into<String>) {
    context.ui.emit(Event::Note { text: text.into() });
}
