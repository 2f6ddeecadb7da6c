//! `git cowork log`: what happened to a session, told from history; with `--json` an audit log.

use std::fmt::Write as _;

use clap::Args;

use crate::cli::args::{Answer, SessionArg};
use crate::cli::commands::status;
use crate::cli::context::Context;
use crate::cli::session_cmd::find;
use crate::cli::terminal::lanes::{Drawn, Mark, lanes};
use crate::cli::terminal::paint::Paint;
use crate::error::Error;
use crate::git::{Git, Oid};
use crate::session::{
    Attempt, RefNames, Session, StateDir, Step, Used, attempts, log, name_files, once,
};
use crate::spent::tokens;
use crate::stage::Stage;
use crate::ui::one_line;

/// Longest text of a line that is not asked for in full.
const TEXT: usize = 100;
/// What stands before the text of a line: moment, commit, stage.
const INDENT: usize = 37;

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    #[command(flatten)]
    session: SessionArg,
    /// Draw the branch and the attempts that left it beside the steps
    #[arg(long)]
    graph: bool,
}

pub(crate) fn run(context: &Context, args: LogArgs) -> Answer {
    if args.graph && context.global.json {
        let error = Error::usage("--graph draws for people, and --json writes for programs");
        return Err(error.hint("each line of --json names the attempt it is part of").into());
    }
    let git = context.git()?;
    let session = find::session(context, args.session.name.as_ref())?;
    find::warn_of_unreadable(context, &session)?;
    let mut steps = log(git, &session)?;
    if context.global.json {
        name_files(git, &mut steps)?;
        let mut out = String::new();
        for step in &steps {
            let _ = writeln!(out, "{}", serde_json::to_string(step)?);
        }
        context.print(&out)?;
        return Ok(0);
    }
    let paint = Paint { on: context.color_stdout() };
    let verbose = context.global.verbose;
    let mut out = String::new();
    let shown = if verbose { all(&steps) } else { once(&steps) };
    let drawn = if args.graph { graph(git, &shown) } else { vec![Drawn::default(); shown.len()] };
    for ((step, more), drawn) in shown.into_iter().zip(drawn) {
        out.extend(drawn.fork.map(|fork| format!("{fork}\n")));
        for (at, line) in lines(step, more, verbose, &paint).lines().enumerate() {
            let before = if at == 0 { &drawn.first } else { &drawn.rest };
            let _ = writeln!(out, "{before}{line}");
        }
    }
    let transcripts = StateDir::at(&git.state_dir(), &session.name).transcripts();
    out += &comparisons(git, &context.refs()?, &session)?;
    let status = find::status(context, session)?;
    if let Some(used) = status::used(&status, &context.config()?.budget) {
        let _ = writeln!(out, "Used     {used}");
        if verbose {
            out += &by_stage(&status.used);
        }
    }
    if transcripts.is_dir() {
        let _ = writeln!(out, "Transcripts {}", transcripts.display());
    }
    context.page(&out)?;
    Ok(0)
}

/// What each stage took, and what no commit tells of.
fn by_stage(used: &Used) -> String {
    let stages = used.stages.iter().map(|(stage, spent)| (stage.name(), *spent));
    let others =
        [("draft in progress", used.draft), ("work that no commit holds", used.elsewhere())];
    let mut out = String::new();
    for (what, spent) in stages.chain(others).filter(|(_, spent)| spent.requests > 0) {
        let count = if spent.requests == 1 { "request" } else { "requests" };
        let cost = spent.cost().map(|cost| format!(", {cost}")).unwrap_or_default();
        let all = match spent.tokens() {
            0 => String::new(),
            all => format!("{} tokens, ", tokens(all)),
        };
        let _ = writeln!(out, "         {what}: {all}{} {count}{cost}", spent.requests);
    }
    out
}

/// What is drawn beside the steps.
fn graph(git: &Git, steps: &[(&Step, usize)]) -> Vec<Drawn> {
    let reader = git.reader();
    // The lane of the step a commit stands on, where one tells of it.
    let below = |step: &Step| {
        let id: Oid = step.commit.as_deref()?.parse().ok()?;
        let commit = reader.commit(&id).ok()?;
        let below = commit.parents.first()?;
        let is_it = |(step, _): &&(&Step, usize)| step.commit.as_deref() == Some(below.as_str());
        Some(steps.iter().find(is_it)?.0.lane())
    };
    let mut marks: Vec<Mark> = Vec::new();
    for (step, _) in steps {
        let lane = step.lane();
        // Of what is said about a draft no commit tells; it forks where its attempt's first commit does.
        let is_first = lane.is_some() && !marks.iter().any(|mark| mark.lane == lane);
        let first = || {
            let mut of_lane = steps.iter().filter(|(step, _)| step.lane() == lane);
            of_lane.find_map(|(step, _)| below(step).filter(|other| *other != lane))
        };
        let fork = if is_first { first() } else { None };
        let sign = match step.event {
            "draft_kept" => 'o',
            _ if step.commit.is_some() => '*',
            _ => '|',
        };
        marks.push(Mark { lane, fork, sign });
    }
    lanes(&marks)
}

/// Every step, with nothing left out.
fn all(steps: &[Step]) -> Vec<(&Step, usize)> {
    steps.iter().map(|step| (step, 0)).collect()
}

/// How each tip that was left behind is compared with the present one: its commits, its documents.
fn comparisons(git: &Git, refs: &RefNames, session: &Session) -> anyhow::Result<String> {
    let mut out = String::new();
    let branch = refs.short_branch(&session.name);
    for attempt in attempts(git, Some(&session.name))? {
        let Attempt { number, tip, .. } = &attempt;
        if *tip == session.tip {
            continue;
        }
        let (kept, dir) = (attempt.ref_name(), session.name.artifact_dir());
        let _ = writeln!(out, "Attempt {number} git range-diff {}...{branch}", tip.abbreviated());
        let _ = writeln!(out, "          git diff {kept} {branch} -- {dir}");
    }
    Ok(out)
}

/// A step as people read it; `more` were left out that say as much.
pub(crate) fn lines(step: &Step, more: usize, verbose: bool, paint: &Paint) -> String {
    let most = if verbose { usize::MAX } else { TEXT };
    let moment = step.timestamp.get(..16).unwrap_or_default().replace('T', " ");
    let commit = step.commit.as_deref().and_then(|id| id.get(..7)).unwrap_or_default();
    let what = match step.event {
        "session_started" => "start",
        _ => step.stage.map_or("", Stage::name),
    };
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    let left = step.attempt.filter(|_| !matches!(step.event, "went_back" | "copy_kept"));
    let left = left.map(|n| format!(" (left behind in attempt {n})")).unwrap_or_default();
    let mut out = format!(
        "{moment}  {}  {what:<9} {}{more}{left}\n",
        paint.yellow(&format!("{commit:<7}")),
        one_line(&step.words(), most)
    );
    let facts = step.facts();
    if !facts.is_empty() {
        let _ = writeln!(out, "{:INDENT$}{}", "", one_line(&facts.join(" · "), usize::MAX));
    }
    if step.event == "stage_completed" && !step.reason.is_empty() {
        let _ = writeln!(out, "{:INDENT$}critic: {}", "", one_line(&step.reason, most));
    }
    for path in step.transcripts.iter().filter(|_| verbose) {
        let _ = writeln!(out, "{:INDENT$}{}", "", path.display());
    }
    out
}
