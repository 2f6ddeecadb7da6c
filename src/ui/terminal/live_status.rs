//! The live lines: current activity, progress, usage, and how to stop.

use std::time::Duration;

use console::measure_text_width;

use crate::activity::Activity;
use crate::clean::one_line;
use crate::spent::{Spent, dollars, tokens};
use crate::stage::Stage;
use crate::ui::out::elapsed;
use crate::wrap::shortened;

/// After this long without output, a model is reported as silent.
const SILENT: Duration = Duration::from_secs(30);
/// Frames of the spinner.
const TURNS: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Width of a progress bar.
const BAR: usize = 12;
/// The invitation to type a note, long and short.
const INVITATIONS: [&str; 2] = ["type a note for the actor and press Enter", "type a note"];
/// Below this width, shorter texts are used.
const NARROW: usize = 60;

/// The current stage.
pub(super) struct Progress {
    pub(super) stage: Stage,
    pub(super) number: usize,
    pub(super) of: usize,
    pub(super) began: Duration,
    pub(super) draft: Option<(u32, u32)>,
    /// The task's id, the number of completed tasks, and the number of all tasks.
    pub(super) task: Option<(String, usize, usize)>,
}

impl Progress {
    /// Returns the title of the window, and the progress in percent.
    pub(super) fn title(&self) -> (String, usize) {
        let (stage, of) = (self.number.saturating_sub(1), self.of.max(1));
        let (n, all, done) = match self.task {
            Some((_, done, all)) if all > 0 => ((done + 1).min(all), all, done * 100 / all),
            _ => (self.number, self.of, 0),
        };
        (format!("{} {n}/{all} · git cowork", self.stage), (stage * 100 + done) / of)
    }
}

/// The current activity and usage.
#[derive(Default)]
pub(super) struct Now {
    activity: Option<Activity>,
    /// When the activity started, and when its last sign of life came.
    since: Duration,
    heard: Duration,
    /// The model that was asked, and its server.
    model: String,
    server: String,
    gives_up: Duration,
    /// The last line that a command printed, and whether it reports a failure.
    printed: Option<(String, bool)>,
    /// The session's usage and its budget.
    used: Spent,
    budget: f64,
}

impl Now {
    /// Records an activity.
    pub(super) fn take(&mut self, activity: Activity, now: Duration) {
        self.heard = now;
        let same =
            |old: &Activity| std::mem::discriminant(old) == std::mem::discriminant(&activity);
        match activity {
            Activity::Prints { line, failed } => {
                self.printed = Some((line, failed.is_some()));
                return;
            }
            Activity::Answered | Activity::Ran => {
                self.activity = None;
                self.printed = None;
                self.since = now;
                return;
            }
            Activity::Changed { .. } => return,
            Activity::Asks { ref model, ref server, gives_up } => {
                (self.model, self.server) = (model.clone(), server.clone());
                self.gives_up = gives_up;
                self.since = now;
            }
            _ if self.activity.as_ref().is_some_and(same) => {}
            _ => self.since = now,
        }
        self.activity = Some(activity);
    }

    pub(super) fn uses(&mut self, used: Spent, budget: f64) {
        (self.used, self.budget) = (used, budget);
    }

    /// True if nothing is reported to be in progress.
    pub(super) fn is_idle(&self) -> bool {
        self.activity.is_none()
    }

    /// Restarts the clock after waiting for a person.
    pub(super) fn resume(&mut self, now: Duration) {
        (self.since, self.heard) = (now, now);
    }

    /// Returns the model's name; empty if no model was asked.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Returns the tokens of the answer in progress.
    fn coming(&self) -> u64 {
        match self.activity {
            Some(
                Activity::Thinks { tokens }
                | Activity::Answers { tokens }
                | Activity::Calls { tokens, .. },
            ) => tokens,
            _ => 0,
        }
    }

    /// Describes the activity and its duration.
    fn words(&self, now: Duration) -> String {
        let silent = now.saturating_sub(self.heard);
        let took = elapsed(now.saturating_sub(self.since));
        let counted = |what: &str, count: u64| match count {
            0 => format!("{what} · {took}"),
            _ => format!("{what} · {took} · {} tokens", tokens(count)),
        };
        let is_model = !matches!(self.activity, Some(Activity::Runs { .. }) | None);
        if is_model && silent >= SILENT {
            return self.silence(silent);
        }
        match &self.activity {
            Some(Activity::Asks { model, .. }) => format!("waiting for {model} · {took}"),
            Some(Activity::Thinks { tokens }) => counted("thinking", *tokens),
            Some(Activity::Answers { tokens }) => counted("answering", *tokens),
            Some(Activity::Calls { tool, path, lines, tokens: count, .. }) => {
                let what = call(tool, path);
                match lines {
                    0 => counted(&what, *count),
                    _ => format!("{what} · {lines} lines · {} tokens", tokens(*count)),
                }
            }
            Some(Activity::Runs { command }) => {
                format!("running {} · {took}", one_line(command, usize::MAX))
            }
            _ => format!("working · {took}"),
        }
    }

    /// Describes how long the server has been silent, and when git-cowork gives up on it.
    fn silence(&self, silent: Duration) -> String {
        let server = one_line(&self.server, 60);
        let minutes = |time: Duration| match time.as_secs() {
            seconds @ 0..60 => format!("{seconds} s"),
            seconds => format!("{} min", seconds / 60),
        };
        let gives_up = match self.gives_up.is_zero() {
            true => "Ctrl-C is safe".to_owned(),
            false => format!("gives up after {}; Ctrl-C is safe", minutes(self.gives_up)),
        };
        format!("no answer from {server} for {} ({gives_up})", minutes(silent))
    }

    /// Returns the last lines that are being written or were printed; true for a line that reports
    /// a failure.
    fn details(&self) -> Vec<(String, bool)> {
        match &self.activity {
            Some(Activity::Calls { tail, .. }) => {
                tail.iter().map(|line| (line.clone(), false)).collect()
            }
            Some(Activity::Runs { .. }) => self.printed.clone().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Formats the tokens used, including the answer in progress, and the cost with its budget.
    fn cost(&self) -> (String, String) {
        let used = self.used.tokens() + self.coming();
        let counted = if used == 0 { String::new() } else { format!("{} tokens", tokens(used)) };
        let budget = (self.budget * 1e6) as u64;
        let money = match (self.used.cost(), budget) {
            (None, _) => String::new(),
            (Some(cost), 0) => cost,
            (Some(cost), _) => format!("{cost} of {}", dollars(budget)),
        };
        (counted, money)
    }
}

/// Describes a tool call that is being written: action and object.
fn call(tool: &str, path: &str) -> String {
    let path = one_line(path, 80);
    let document = tool.strip_prefix("save_").map(|name| name.trim_end_matches("_doc"));
    match (tool, document) {
        (_, Some(document)) => format!("writing {document}.md"),
        ("write_file", _) => format!("writing {path}"),
        ("edit_file", _) => format!("editing {path}"),
        _ => format!("calling {tool} {path}"),
    }
    .trim_end()
    .to_owned()
}

/// One of the live lines.
pub(super) struct Line {
    pub(super) text: String,
    pub(super) is_failure: bool,
}

/// Returns the live lines, none wider than `width`; without `progress` there is no stage yet.
/// `invites`: the user can type a note.
pub(super) fn lines(
    progress: Option<&Progress>,
    spent: &Now,
    now: Duration,
    width: usize,
    is_streamed: bool,
    invites: bool,
) -> Vec<Line> {
    let plain = |text: String| Line { text, is_failure: false };
    let mut lines = Vec::new();
    if is_streamed {
        for (text, is_failure) in spent.details() {
            let text = format!("  │ {}", one_line(&text, usize::MAX));
            lines.push(Line { text: shortened(&text, width), is_failure });
        }
    }
    let turn = (now.as_millis() / 100) as usize % TURNS.len();
    let doing = shortened(&format!("{} {}", TURNS[turn], spent.words(now)), width);
    let (counted, money) = spent.cost();
    let facts = fitted(
        &[
            (
                3,
                progress
                    .and_then(|stage| stage.draft)
                    .map_or_else(String::new, |(n, _)| format!("draft {n}")),
            ),
            (
                1,
                progress.map_or_else(String::new, |stage| elapsed(now.saturating_sub(stage.began))),
            ),
            (2, counted),
            (2, money),
        ],
        width.saturating_sub(measure_text_width(&doing) + 2),
    );
    let facts = facts.unwrap_or_default();
    let gap = width.saturating_sub(measure_text_width(&doing) + measure_text_width(&facts));
    lines.push(plain(format!("{doing}{}{facts}", " ".repeat(gap)).trim_end().to_owned()));
    // Narrow screens get shorter texts.
    let is_wide = width >= NARROW;
    let stage = progress.map(|Progress { stage, number, of, .. }| match is_wide {
        true => format!("{stage}, stage {number} of {of}"),
        false => format!("{stage} {number}/{of}"),
    });
    let stage = stage.unwrap_or_default();
    let (count, task) = match progress.and_then(|stage| stage.task.as_ref()) {
        Some((id, done, all)) if *all > 0 => {
            let n = (done + 1).min(*all);
            let count = if is_wide { format!("({n} of {all})") } else { format!("{n}/{all}") };
            (format!("{id} {count}"), bar(*done, *all))
        }
        _ => (String::new(), String::new()),
    };
    let stop = if is_wide { "Ctrl-C stops safely" } else { "Ctrl-C stops" };
    let room = width.saturating_sub(2);
    let mut parts = vec![
        (0, stage.clone()),
        (4, task),
        (1, count),
        (3, one_line(spent.model(), 40)),
        (2, stop.to_owned()),
    ];
    // The invitation is shown only if there is room beside all other parts.
    let all = fitted(&parts, usize::MAX).map_or(0, |line| measure_text_width(&line) + 3);
    let invitations = INVITATIONS.iter().filter(|text| invites && all + text.len() <= room);
    parts.extend(invitations.take(1).map(|text| (5, (*text).to_owned())));
    let where_it_is = fitted(&parts, room);
    let where_it_is = where_it_is.filter(|line| !line.is_empty()).unwrap_or(stage);
    lines.push(plain(shortened(&format!("  {where_it_is}"), width)));
    lines
}

/// Formats a progress bar: `████░░░░░░░░` for a third.
pub(crate) fn bar(done: usize, all: usize) -> String {
    let full = (done * BAR).checked_div(all).unwrap_or_default().min(BAR);
    format!("{}{}", "█".repeat(full), "░".repeat(BAR - full))
}

/// Joins the parts that fit, in order; parts with the highest number are left out first.
pub(super) fn fitted(parts: &[(u8, String)], width: usize) -> Option<String> {
    let mut parts: Vec<_> = parts.iter().filter(|(_, text)| !text.is_empty()).collect();
    loop {
        let line = parts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" · ");
        if measure_text_width(&line) <= width {
            return Some(line);
        }
        let last = (0..parts.len()).max_by_key(|at| parts[*at].0)?;
        parts.remove(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn progress() -> Progress {
        Progress {
            stage: Stage::Coding,
            number: 5,
            of: 7,
            began: at(10),
            draft: Some((1, 3)),
            task: Some(("TASK-003".to_owned(), 2, 5)),
        }
    }

    fn shown(now: &Now, seconds: u64, width: usize) -> Vec<String> {
        let lines = lines(Some(&progress()), now, at(seconds), width, true, true);
        lines.into_iter().map(|line| line.text).collect()
    }

    fn asked() -> Now {
        let mut now = Now::default();
        let (model, server) = ("gpt-4.1".to_owned(), "127.0.0.1:11434".to_owned());
        now.take(Activity::Asks { model, server, gives_up: at(1200) }, at(20));
        now
    }

    #[test]
    fn activity_place_and_cost_are_shown() {
        let mut now = asked();
        let usage = crate::event::Usage { input: 40_000, output: 1_000, cached: 0 };
        now.uses(Spent { usage, micros: 110_000, ..Spent::default() }, 2.0);
        assert_eq!(
            shown(&now, 28, 100),
            [
                "⠋ waiting for gpt-4.1 · 8 s                             draft 1 · 18 s · 41k tokens · $0.11 of $2.00",
                "  coding, stage 5 of 7 · ████░░░░░░░░ · TASK-003 (3 of 5) · gpt-4.1 · Ctrl-C stops safely",
            ]
        );
        now.take(Activity::Thinks { tokens: 640 }, at(30));
        assert!(shown(&now, 33, 100)[0].contains("thinking · 3 s · 640 tokens"));
        let tail = vec!["fn add() {".to_owned(), "}".to_owned()];
        let (tool, path) = ("write_file".to_owned(), "src/add.rs".to_owned());
        now.take(Activity::Calls { tool, path, lines: 61, tail, tokens: 1_200 }, at(34));
        let lines = shown(&now, 35, 100);
        assert_eq!(lines[..2], ["  │ fn add() {", "  │ }"]);
        assert!(lines[2].contains("writing src/add.rs · 61 lines · 1.2k tokens"), "{lines:?}");
        assert!(lines[2].contains("42k tokens"), "includes the answer: {lines:?}");
        now.take(Activity::Answered, at(36));
        now.take(Activity::Runs { command: "cargo test".to_owned() }, at(36));
        now.take(Activity::Prints { line: "test a ... ok".to_owned(), failed: None }, at(40));
        let lines = shown(&now, 95, 100);
        assert_eq!(lines[0], "  │ test a ... ok");
        assert!(lines[1].contains("running cargo test · 59 s"), "{lines:?}");
    }

    #[test]
    fn a_silent_server_is_named() {
        let now = asked();
        assert!(shown(&now, 49, 100)[0].contains("waiting for gpt-4.1 · 29 s"));
        let said =
            "no answer from 127.0.0.1:11434 for 2 min (gives up after 20 min; Ctrl-C is safe)";
        assert!(shown(&now, 140, 100)[0].contains(said), "{:?}", shown(&now, 140, 100));
    }

    #[test]
    fn no_line_is_too_wide_or_cut_in_a_word() {
        let mut now = asked();
        let command = "cargo test --workspace --all-features -- --nocapture".to_owned();
        now.take(Activity::Runs { command }, at(20));
        for width in [10, 20, 30, 40, 60, 100, 200] {
            for line in shown(&now, 25, width) {
                assert!(measure_text_width(&line) <= width, "{width}: {line}");
            }
        }
        assert_eq!(
            shown(&now, 25, 40),
            ["⠸ running cargo test --workspace…   15 s", "  coding 5/7 · TASK-003 3/5"]
        );
    }
}
