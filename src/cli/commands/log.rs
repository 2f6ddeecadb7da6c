//! `git cowork log`: what happened to a session, told from history; with `--json` an audit log.

use std::fmt::Write as _;

use crate::cli::args::{Answer, SessionArg};
use crate::cli::commands::status;
use crate::cli::context::Context;
use crate::cli::session_cmd::find;
use crate::cli::terminal::paint::Paint;
use crate::git::Git;
use crate::session::{Attempt, RefNames, Session, StateDir, Step, Used, attempts, log};
use crate::spent::tokens;
use crate::stage::Stage;
use crate::ui::one_line;

/// Longest text of a line that is not asked for in full.
const TEXT: usize = 100;
/// What stands before the text of a line: moment, commit, stage.
const INDENT: usize = 37;

pub(crate) fn run(context: &Context, args: SessionArg) -> Answer {
    let git = context.git()?;
    let session = find::session(context, args.name.as_ref())?;
    find::warn_of_unreadable(context, &session)?;
    let steps = log(git, &session)?;
    if context.global.json {
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
    for (step, more) in if verbose { all(&steps) } else { once(&steps) } {
        out.push_str(&lines(step, more, verbose, &paint));
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

/// Every step, with nothing left out.
fn all(steps: &[Step]) -> Vec<(&Step, usize)> {
    steps.iter().map(|step| (step, 0)).collect()
}

/// Steps without what another line says, too; with each how many that say as much were left out:
/// a draft kept again, what a review repeats, the further findings about one draft.
fn once(steps: &[Step]) -> Vec<(&Step, usize)> {
    let about = |step: &Step| (step.stage, step.iteration, step.attempt);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let repeated = |step: &Step| {
        step.event == "feedback"
            && step.decision == Some("feedback")
            && steps.iter().any(|other| {
                other.event == "review_answered"
                    && (other.stage, other.iteration) == (step.stage, step.iteration)
                    && words(&other.reason).contains(&words(&step.reason))
            })
    };
    let mut out: Vec<(&Step, usize)> = Vec::new();
    for step in steps.iter().filter(|step| !repeated(step)) {
        match out.last_mut().filter(|(last, _)| about(last) == about(step)) {
            Some((last, _)) if last.event == "draft_kept" && step.event == "draft_kept" => {
                *last = step;
            }
            Some((last, more))
                if step.decision == Some("rejected")
                    && last.decision == step.decision
                    && last.actor == step.actor =>
            {
                *more += 1;
            }
            _ => out.push((step, 0)),
        }
    }
    out
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
fn lines(step: &Step, more: usize, verbose: bool, paint: &Paint) -> String {
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
        one_line(&text(step), most)
    );
    let facts = facts(step);
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

fn text(step: &Step) -> String {
    let draft = step.iteration.map(|n| format!("draft {n}")).unwrap_or_default();
    let who = person(&step.actor);
    let why = if step.reason.is_empty() { String::new() } else { format!(": {}", step.reason) };
    match step.event {
        "feedback" if step.decision == Some("edited") => {
            format!("{draft}, {who} edited {}", step.reason)
        }
        "feedback" if step.from != step.to => {
            format!("{draft}, {who} asked to go back to {}{why}", step.to.as_deref().unwrap_or("?"))
        }
        "feedback" if step.decision == Some("feedback") && who == "self-review" => {
            format!("{draft}, {who} could not fix{why}")
        }
        "feedback" if step.decision == Some("feedback") => format!("{draft}, {who} said{why}"),
        "feedback" => format!("{draft} rejected by {who}{why}"),
        "draft_kept" => draft,
        "review_requested" => format!("{draft} waits for review{why}"),
        "review_answered" => {
            let how = if step.claimed { "claimed" } else { step.decision.unwrap_or_default() };
            format!("{draft} {how} by {who}{why}")
        }
        "went_back" | "copy_kept" => match step.attempt {
            Some(number) => format!("attempt {number}{why}"),
            None => step.reason.clone(),
        },
        _ => step.summary.clone(),
    }
}

fn facts(step: &Step) -> Vec<String> {
    let mut facts = Vec::new();
    let who = person(&step.actor);
    match step.event {
        "stage_completed" => {
            let drafts = step.iteration.unwrap_or(1);
            facts.push(if drafts == 1 { "1 draft".to_owned() } else { format!("{drafts} drafts") });
            facts.push(match step.decision {
                Some(_) if step.claimed => format!("claimed by {who}"),
                Some(how @ ("passed" | "edited")) => format!("{how} by {who}"),
                Some(how) => how.to_owned(),
                None => who.to_owned(),
            });
            facts.extend(
                step.self_review
                    .as_ref()
                    .map(|outcome| format!("self-review {}", outcome.replace('_', " "))),
            );
        }
        "went_back" => {
            let stage = |stage: &Option<String>| stage.clone().unwrap_or_default();
            let by = match (step.decision, step.stage, step.iteration) {
                (Some("auto"), Some(stage), Some(draft)) => {
                    format!("the {stage} {who} (draft {draft})")
                }
                (Some("auto"), ..) => "a model".to_owned(),
                _ => who.to_owned(),
            };
            let (from, to) = (stage(&step.from), stage(&step.to));
            facts.push(match from == to {
                true if from == "completed" => format!("was completed, by {by}"),
                true => format!("stood at {from}, by {by}"),
                false => format!("from {from} to {to}, by {by}"),
            });
        }
        _ => {}
    }
    facts.extend(step.checks.clone().filter(|checks| checks != "none"));
    if step.spent.tokens() > 0 {
        facts.push(step.spent.words());
        facts.extend(step.spent.cost());
    }
    if step.cost.is_some() {
        facts.push(step.models.join(", "));
    }
    facts
}

/// A name without its address.
fn person(actor: &str) -> &str {
    actor.split(" <").next().unwrap_or(actor)
}
