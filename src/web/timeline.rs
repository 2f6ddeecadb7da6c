//! The section with the timeline: drafts, verdicts, tasks and abandoned attempts.

use serde_json::{Value, json};

use super::overview::moment;
use super::room::{PageRoom, STEPS, more};
use super::source::PageSource;
use super::template::short;
use crate::clean::one_line;
use crate::session::{Step, once};
use crate::stage::Stage;

/// Maximum length of a text that is not folded.
const TEXT: usize = 240;

pub(super) fn read(source: &PageSource<'_>, room: &mut PageRoom) -> anyhow::Result<Value> {
    let steps = source.steps()?;
    let steps = once(&steps);
    let (first, rest) = room.first(&steps, STEPS);
    let lines: Vec<Value> = first.iter().map(|(step, like_it)| line(step, *like_it)).collect();
    let command = format!("git cowork log {}", source.session().name);
    Ok(json!({"steps": lines, "more": more(rest, "later steps", &command)}))
}

/// A step; `like_it` is the number of further steps that say the same.
fn line(step: &Step, like_it: usize) -> Value {
    let kind = match step.event {
        "feedback" if step.decision == Some("rejected") => "refused",
        event => event,
    };
    let label = match step.event {
        "session_started" => "start",
        "stage_completed" => "stage",
        _ => "",
    };
    let sign = match kind {
        "stage_completed" => "✓ ",
        "refused" => "✗ ",
        "went_back" => "↩ ",
        _ => "",
    };
    let mut facts = step.facts();
    if let Some(number) = step.attempt.filter(|_| !matches!(step.event, "went_back" | "copy_kept"))
    {
        facts.push(format!("left behind in attempt {number}"));
    }
    if like_it > 0 {
        facts.push(format!("and {like_it} more"));
    }
    facts.extend(step.commit.as_ref().and_then(|id| id.as_str().get(..7)).map(str::to_owned));
    let has_verdict = step.event == "stage_completed" && !step.reason.is_empty();
    json!({
        "class": if step.attempt.is_some() { format!("{kind} left") } else { kind.to_owned() },
        "timestamp": step.timestamp,
        "when": moment(&step.timestamp),
        "stage": step.stage.map_or(label, Stage::name),
        "words": short(&format!("{sign}{}", step.words()), TEXT),
        "facts": one_line(&facts.join(" · "), 2 * TEXT),
        "critic": has_verdict.then(|| short(&format!("critic: {}", step.reason), TEXT)),
    })
}
