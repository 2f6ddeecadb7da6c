//! The section with the timeline: drafts, verdicts, tasks and abandoned attempts.

use super::html::Html;
use super::overview::moment;
use super::room::{Room, STEPS};
use super::source::Source;
use crate::clean::one_line;
use crate::session::{Step, once};
use crate::stage::Stage;

/// Maximum length of a text that is not folded.
const TEXT: usize = 240;

pub(super) fn write(
    source: &Source<'_>,
    room: &mut Room,
    html: &mut Html<'_>,
) -> anyhow::Result<()> {
    let steps = source.steps()?;
    let steps = once(&steps);
    let (shown, more) = room.first(&steps, STEPS);
    html.raw("<ol class=\"time\">\n");
    for (step, like_it) in shown {
        line(step, *like_it, html);
    }
    html.close("ol");
    if more > 0 {
        html.raw("<p class=\"note\">").text(&format!("{more} later steps are left out here: "));
        let command = format!("git cowork log {}", source.session().name);
        html.element("code", &[], &command).raw("</p>\n");
    }
    Ok(())
}

/// A step; `like_it` is the number of further steps that say the same.
fn line(step: &Step, like_it: usize, html: &mut Html<'_>) {
    let kind = match step.event {
        "feedback" if step.decision == Some("rejected") => "refused",
        event => event,
    };
    let class = if step.attempt.is_some() { format!("{kind} left") } else { kind.to_owned() };
    html.open("li", &[("class", &class)]);
    let when = moment(&step.timestamp);
    html.element("time", &[("class", "when"), ("datetime", &step.timestamp)], &when);
    let what = match step.event {
        "session_started" => "start",
        "stage_completed" => "stage",
        _ => "",
    };
    let stage = step.stage.map_or(what, Stage::name);
    if !stage.is_empty() {
        html.element("span", &[("class", "tag")], stage);
    }
    let sign = match kind {
        "stage_completed" => "✓ ",
        "refused" => "✗ ",
        "went_back" => "↩ ",
        _ => "",
    };
    html.short(&format!("{sign}{}", step.words()), TEXT);
    let mut facts = step.facts();
    if let Some(number) = step.attempt.filter(|_| !matches!(step.event, "went_back" | "copy_kept"))
    {
        facts.push(format!("left behind in attempt {number}"));
    }
    if like_it > 0 {
        facts.push(format!("and {like_it} more"));
    }
    facts.extend(step.commit.as_ref().and_then(|id| id.as_str().get(..7)).map(str::to_owned));
    if !facts.is_empty() {
        html.raw("<div class=\"facts\">").isolated(&one_line(&facts.join(" · "), 2 * TEXT));
        html.close("div");
    }
    if step.event == "stage_completed" && !step.reason.is_empty() {
        html.raw("<div class=\"facts\">").short(&format!("critic: {}", step.reason), TEXT);
        html.close("div");
    }
    html.close("li");
}
