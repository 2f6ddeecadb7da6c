//! `git cowork log`: shows the events of a session, read from history; with `--json` an audit log.

use std::fmt::Write as _;

use clap::Args;
use console::measure_text_width;

use crate::cli::args::{Answer, SessionArg};
use crate::cli::commands::status;
use crate::cli::context::Context;
use crate::cli::session_cmd::find;
use crate::cli::terminal::lanes::{Drawn, Mark, lanes};
use crate::cli::terminal::log_row::Row;
use crate::cli::terminal::log_table::Columns;
use crate::cli::terminal::log_table::details;
use crate::cli::terminal::paint::Paint;
use crate::cli::terminal::stage_table::count;
use crate::config::Budget;
use crate::error::Error;
use crate::git::{self, Git, Oid};
use crate::model::budget;
use crate::session::{
    Attempt, LineCounts, Session, StateDir, Status, Step, Used, attempts, log, once,
};
use crate::spent::tokens;
use crate::ui::one_line;

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    #[command(flatten)]
    session: SessionArg,
    /// Draw the branch and its abandoned attempts beside the steps
    #[arg(long)]
    graph: bool,
}

pub(crate) fn run(context: &Context, args: LogArgs) -> Answer {
    if args.graph && context.global.json {
        let error = Error::usage("--graph cannot be used with --json");
        return Err(error.hint("each line of --json names its attempt").into());
    }
    let git = context.git()?;
    let session = find::readable(context, args.session.name.as_ref())?;
    find::warn_of_unreadable(context, &session)?;
    let lines = if context.global.json { LineCounts::Unwanted } else { LineCounts::Wanted };
    let steps = log(git, &session, lines)?;
    match context.global.json {
        true => context.print(&json(&steps)?)?,
        false => context.page(&text(context, git, session, steps, args.graph)?)?,
    }
    Ok(0)
}

/// One line of JSON for each event.
fn json(steps: &[Step]) -> anyhow::Result<String> {
    let mut out = String::new();
    for step in steps {
        let _ = writeln!(out, "{}", serde_json::to_string(step)?);
    }
    Ok(out)
}

/// One line of text for each event.
fn text(
    context: &Context,
    git: &Git,
    session: Session,
    steps: Vec<Step>,
    is_graph: bool,
) -> anyhow::Result<String> {
    let verbose = context.global.verbose;
    let told = if verbose { all(&steps) } else { that_count(once(&steps)) };
    let (paint, width) = (Paint { on: context.color_stdout() }, context.width());
    let view = View { paint, width, verbose, is_graph };
    let left = attempts(git, Some(&session.name))?;
    // On a terminal, the log shows `you` instead of the user's own name.
    let me = width.and_then(|_| git::state::author(git).ok());
    let lines = Lines::of(git, &told, &left, &session.tip, me.as_deref(), is_graph);
    let status = find::status(context, session)?;
    let budget = &context.config()?.budget;
    let Session { name, file, .. } = &status.session;
    let title = format!("{name} · {}", one_line(&file.title, status::TITLE));
    let mut out = view.text(&lines, (&title, &totals(&status, budget)));
    if verbose {
        let branch = context.refs()?.short_branch(name);
        out += &comparisons(&left, &status.session.tip, &branch, &name.artifact_dir());
        if let Some(used) = status::used(&status, budget) {
            let _ = writeln!(out, "Used     {used}");
            out += &by_stage(&status.used);
        }
        let transcripts = StateDir::at(&git.state_dir(), name).transcripts();
        if transcripts.is_dir() {
            let _ = writeln!(out, "Transcripts {}", transcripts.display());
        }
    }
    Ok(out)
}

/// `14 commits · 110k tokens · $0.29`
fn totals(status: &Status, budget: &Budget) -> String {
    let commits = status.session.history.len();
    let spent = &status.used.total;
    let used = match spent.tokens() {
        0 => (spent.requests > 0).then(|| spent.words()),
        count => Some(format!("{} tokens", tokens(count))),
    };
    let parts = [Some(count(commits, "commit")), used, budget::money(budget, spent)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// How the events are shown.
struct View {
    paint: Paint,
    width: Option<usize>,
    verbose: bool,
    is_graph: bool,
}

/// The rows to show, the event of each row (if any), and the graph or margin beside each row.
struct Lines<'a> {
    rows: Vec<Row>,
    steps: Vec<Option<&'a Step>>,
    drawn: Vec<Drawn>,
}

impl<'a> Lines<'a> {
    fn of(
        git: &Git,
        told: &[(&'a Step, usize)],
        left: &[Attempt],
        tip: &Oid,
        me: Option<&str>,
        is_graph: bool,
    ) -> Self {
        let mut lines = Self {
            rows: told.iter().map(|(step, more)| Row::of(step, *more, me)).collect(),
            steps: told.iter().map(|(step, _)| Some(*step)).collect(),
            drawn: if is_graph { graph(git, told) } else { margins(told) },
        };
        // Add a row for each attempt whose steps do not say why the attempt was abandoned.
        let is_told = |number: u32| {
            told.iter().any(|(step, _)| {
                step.attempt == Some(number) && matches!(step.event, "went_back" | "copy_kept")
            })
        };
        for attempt in left.iter().filter(|one| one.tip != *tip && !is_told(one.number)) {
            let of_it =
                |step: &Option<&Step>| step.is_some_and(|step| step.lane() == Some(attempt.number));
            let at = lines.steps.iter().rposition(of_it).map_or(lines.rows.len(), |at| at + 1);
            let rest = at.checked_sub(1).and_then(|at| lines.drawn.get(at));
            let rest = rest.map(|drawn| drawn.rest.clone()).unwrap_or_default();
            let first = if is_graph { rest.clone() } else { LEFT.to_owned() };
            lines.rows.insert(at, Row::of_attempt(attempt));
            lines.steps.insert(at, None);
            lines.drawn.insert(at, Drawn { fork: None, first, rest });
        }
        lines
    }
}

impl View {
    fn text(&self, lines: &Lines<'_>, (left, right): (&str, &str)) -> String {
        let margin = lines.drawn.iter().map(|drawn| measure_text_width(&drawn.first)).max();
        let with_date = self.width.is_none() || self.is_graph;
        let columns = Columns::of(&lines.rows, margin.unwrap_or(0), self.width, with_date);
        let mut out = columns.header(left, right, &self.paint);
        let mut day = "";
        for ((row, step), drawn) in lines.rows.iter().zip(&lines.steps).zip(&lines.drawn) {
            let of_row = row.time.split(' ').next().unwrap_or_default();
            if !with_date && !of_row.is_empty() && of_row != day {
                day = of_row;
                let text = format!("{:width$}{day} UTC", "", width = margin.unwrap_or(0));
                let _ = writeln!(out, "{}", self.paint.dim(&text));
            }
            out.extend(drawn.fork.iter().map(|fork| format!("{fork}\n")));
            let mut shown = columns.lines(row, &self.paint);
            if let Some(step) = step.filter(|_| self.verbose) {
                shown.extend(details(step, row, &shown[0], &columns));
            }
            for (at, line) in shown.iter().enumerate() {
                let before = if at == 0 { &drawn.first } else { &drawn.rest };
                let line = format!("{before}{line}");
                let _ = writeln!(out, "{}", line.trim_end());
            }
        }
        out
    }
}

/// The usage of each stage, and the usage that no commit records.
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

/// Draws the graph beside the steps.
fn graph(git: &Git, steps: &[(&Step, usize)]) -> Vec<Drawn> {
    let reader = git.reader();
    // The lane of a step's parent commit, if there is a step for that commit.
    let below = |step: &Step| {
        let commit = reader.commit(step.commit.as_ref()?).ok()?;
        let below = commit.parents.first();
        let is_it = |(step, _): &&(&Step, usize)| below.is_some() && step.commit.as_ref() == below;
        Some(steps.iter().find(is_it)?.0.lane())
    };
    let mut marks: Vec<Mark> = Vec::new();
    for (step, _) in steps {
        let lane = step.lane();
        // The first step of a lane may be about a draft and have no commit: the lane then forks
        // where its first commit forks.
        let is_first = lane.is_some() && !marks.iter().any(|mark| mark.lane == lane);
        let first = || {
            let mut of_lane = steps.iter().filter(|(step, _)| step.lane() == lane);
            of_lane.find_map(|(step, _)| below(step).filter(|other| *other != lane))
        };
        let fork = if is_first { first() } else { None };
        let sign = match step.event {
            "draft_kept" | "question_answered" => 'o',
            _ if step.commit.is_some() => '*',
            _ => '|',
        };
        marks.push(Mark { lane, fork, sign });
    }
    lanes(&marks)
}

/// The margin beside the steps of an attempt.
const LEFT: &str = "│ ";

/// The margins without a graph: a mark beside the steps of attempts.
fn margins(steps: &[(&Step, usize)]) -> Vec<Drawn> {
    let of = |(step, _): &(&Step, usize)| {
        let first = if step.lane().is_some() { LEFT } else { "  " }.to_owned();
        Drawn { fork: None, rest: first.clone(), first }
    };
    steps.iter().map(of).collect()
}

/// All steps, none of them left out.
fn all(steps: &[Step]) -> Vec<(&Step, usize)> {
    steps.iter().map(|step| (step, 0)).collect()
}

/// Leaves out a step about a saved draft if a later step also shows the draft: as waiting, refused,
/// or committed as a stage.
fn that_count(steps: Vec<(&Step, usize)>) -> Vec<(&Step, usize)> {
    let mut later: Vec<&Step> = Vec::new();
    let mut kept: Vec<(&Step, usize)> = Vec::new();
    for (step, more) in steps.into_iter().rev() {
        let tells = |other: &&Step| match other.event {
            "stage_completed" => other.lane() == step.lane(),
            "review_requested" | "review_answered" | "feedback" => {
                other.iteration == step.iteration
            }
            _ => false,
        };
        let mut same = later.iter().filter(|other| other.stage == step.stage);
        if step.event == "draft_kept" && same.any(tells) {
            continue;
        }
        later.push(step);
        kept.push((step, more));
    }
    kept.reverse();
    kept
}

/// Commands that compare the commits and documents of each attempt with those of the current tip.
fn comparisons(left: &[Attempt], present: &Oid, branch: &str, dir: &str) -> String {
    let mut out = String::new();
    for attempt in left.iter().filter(|attempt| attempt.tip != *present) {
        let Attempt { number, tip, .. } = attempt;
        let kept = attempt.ref_name();
        let _ = writeln!(out, "Attempt {number} git range-diff {}...{branch}", tip.abbreviated());
        let _ = writeln!(out, "          git diff {kept} {branch} -- {dir}");
    }
    out
}
