//! The end of a run that delivers: a summary of the results and the next commands.

use console::measure_text_width;

use super::{Duration, JOINT, RULE, State, Terminal, Verbosity, together};
use crate::clean::one_line;
use crate::event::Delivered;
use crate::palette::Slot;
use crate::spent::{Spent, tokens};
use crate::ui::out::elapsed;
use crate::wrap::{shortened, wrap};

/// Below this width, each fact is below its label.
const NARROW: usize = 70;
/// Width of the label column on a wide screen.
const LABEL: usize = 27;
/// Width of the words before a command.
const WORDS: usize = 12;

impl Terminal {
    /// Prints the summary: a title, facts, and the next commands.
    pub(super) fn delivered(&self, screen: &mut State, told: &Delivered, spent: &Spent) {
        let width = if screen.out.width() == 0 { RULE } else { screen.out.width() };
        let mut out = format!("\n{}", self.rule(&one_line(&told.title, width), width));
        for (label, value) in facts(told, spent, screen.waited) {
            self.fact(&mut out, &label, &value, width);
        }
        out.push('\n');
        for (words, command) in commands(told) {
            let line = format!("  {words:<WORDS$}");
            let fits = measure_text_width(&line) + measure_text_width(&command) <= width;
            out += &match fits {
                true => format!("{line}{}\n", self.paint(Slot::Code, &command)),
                // In one piece, so that it can be copied.
                false => format!("  {words}\n    {}\n", self.paint(Slot::Code, &command)),
            };
        }
        self.line(screen, Verbosity::Normal, out.trim_end_matches('\n'));
    }

    fn rule(&self, title: &str, width: usize) -> String {
        let begin = "━━ delivered ━━ ";
        let room = width.saturating_sub(measure_text_width(begin) + 3);
        let title = shortened(title, room);
        let used = measure_text_width(begin) + measure_text_width(&title) + 1;
        let rest = "━".repeat(width.saturating_sub(used).max(2));
        format!("{}\n", self.paint(Slot::Header, &format!("{begin}{title} {rest}")))
    }

    fn fact(&self, out: &mut String, label: &str, value: &str, width: usize) {
        let marked = |line: &str| {
            let line = line.replace(JOINT, " ");
            let good = line.replace('✓', &self.paint(Slot::Success, "✓"));
            good.replace('✗', &self.paint(Slot::Error, "✗"))
        };
        if value.is_empty() {
            *out += &format!("  {label}\n");
            return;
        }
        if width >= NARROW {
            let indent = 2 + LABEL;
            let parts = wrap(value, width.saturating_sub(indent).max(10));
            for (at, part) in parts.iter().enumerate() {
                let label = if at == 0 { label } else { "" };
                *out += &format!("  {label:<LABEL$}{}\n", marked(part));
            }
            return;
        }
        let line = format!("  {label}  {value}");
        if measure_text_width(&line) <= width {
            *out += &format!("  {label}  {}\n", marked(value));
            return;
        }
        *out += &format!("  {label}\n");
        for part in wrap(value, width.saturating_sub(4).max(10)) {
            *out += &format!("    {}\n", marked(&part));
        }
    }
}

/// Returns labels and values, in reading order.
fn facts(told: &Delivered, spent: &Spent, waited: Duration) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let all = told.requirements.len();
    if all > 0 {
        let met = told.requirements.iter().filter(|(_, met)| *met).count();
        let s = if all == 1 { "" } else { "s" };
        // A check mark is for what a test has shown.
        let met_mark = if told.criteria.0 > 0 { "✓" } else { "(review)" };
        // An id and its mark stay on one line.
        let each = told.requirements.iter().map(|(id, met)| {
            format!("{}\u{a0}{}", one_line(id, 40), if *met { met_mark } else { "✗" })
        });
        let each = each.collect::<Vec<_>>().join("  ");
        facts.push((format!("{met} of {all} requirement{s} met"), each));
        let (shown, reviewed) = told.criteria;
        let s = if shown + reviewed == 1 { "on" } else { "a" };
        let by = format!("{shown} by a test, {reviewed} by review");
        facts.push((format!("{} criteri{s}", shown + reviewed), by));
    }
    let count = told.files.len();
    let s = if count == 1 { "" } else { "s" };
    let (added, removed) = told.lines;
    let names: Vec<String> = told.files.iter().map(|path| one_line(path, 60)).collect();
    facts.push((format!("{count} file{s}, +{added} −{removed}"), listed(&names)));
    facts.push((
        "tests".to_owned(),
        match told.tests.is_empty() {
            true => "not run: no test command is known".to_owned(),
            false => one_line(&told.tests.join("; "), 400),
        },
    ));
    if !told.rejected.is_empty() {
        facts.push(("rejected on the way".to_owned(), told.rejected.clone()));
    }
    facts.push(("took".to_owned(), took(spent, waited)));
    facts
}

/// Maximum number of names that are listed.
const NAMED: usize = 12;

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown = names[..names.len() - more].join("  ");
    if more > 0 { format!("{shown}  and {more} more") } else { shown }
}

/// `6 min 2 s (you: 3 min 1 s) · 110k tokens (48 % cached) · $0.29`
fn took(spent: &Spent, waited: Duration) -> String {
    let mut time = elapsed(Duration::from_millis(spent.millis) + waited);
    if waited >= Duration::from_secs(1) {
        time += &format!(" (you: {})", elapsed(waited));
    }
    let mut parts = vec![time];
    if spent.tokens() > 0 {
        let cached = spent.usage.cached.saturating_mul(100).checked_div(spent.usage.input);
        let cached = match cached.unwrap_or(0) {
            0 => String::new(),
            share => format!(" ({share} % cached)"),
        };
        parts.push(format!("{} tokens{cached}", tokens(spent.tokens())));
    }
    parts.extend(spent.cost());
    parts.iter().map(|part| together(part)).collect::<Vec<_>>().join(" · ")
}

/// Returns the next commands and what each is for.
fn commands(told: &Delivered) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    if let Some(command) = &told.try_it {
        all.push(("try it", one_line(command, 200)));
    }
    all.push(("read it", "git cowork show report".to_owned()));
    all.extend(told.take_it.as_ref().map(|command| ("take it", one_line(command, 200))));
    if told.has_remote {
        all.push(("or review", "git cowork pr --draft".to_owned()));
    }
    all.push(("change it", "git cowork modify \"what to change\"".to_owned()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Usage;

    fn told() -> Delivered {
        Delivered {
            title: "Add a todo list".into(),
            requirements: vec![("REQ-001".into(), true), ("REQ-002".into(), false)],
            criteria: (4, 1),
            files: vec!["cli.py".into()],
            lines: (11, 2),
            tests: vec!["cargo test: 31 passed, 0 failed (tree cb18d6e, exit 0)".into()],
            rejected: "1 draft of prd".into(),
            try_it: Some("cargo run".into()),
            take_it: Some("git cowork merge".into()),
            has_remote: true,
        }
    }

    #[test]
    fn only_known_facts_are_shown() {
        let usage = Usage { input: 100_000, output: 10_000, cached: 48_000 };
        let spent = Spent { usage, micros: 290_000, millis: 181_000, ..Spent::default() };
        let shown = |told: &Delivered, waited| -> Vec<String> {
            let facts = facts(told, &spent, Duration::from_secs(waited)).into_iter();
            facts.map(|(label, value)| format!("{label}: {value}").replace(JOINT, " ")).collect()
        };
        assert_eq!(
            shown(&told(), 180),
            [
                "1 of 2 requirements met: REQ-001 ✓  REQ-002 ✗",
                "5 criteria: 4 by a test, 1 by review",
                "1 file, +11 −2: cli.py",
                "tests: cargo test: 31 passed, 0 failed (tree cb18d6e, exit 0)",
                "rejected on the way: 1 draft of prd",
                "took: 6 min 1 s (you: 3 min 0 s) · 110k tokens (48 % cached) · $0.29",
            ]
        );
        let reviewed = Delivered { criteria: (0, 3), ..told() };
        assert_eq!(
            shown(&reviewed, 0)[..2],
            [
                "1 of 2 requirements met: REQ-001 (review)  REQ-002 ✗",
                "3 criteria: 0 by a test, 3 by review"
            ]
        );
        let bare = Delivered::default();
        assert_eq!(
            shown(&bare, 0),
            [
                "0 files, +0 −0: ",
                "tests: not run: no test command is known",
                "took: 3 min 1 s · 110k tokens (48 % cached) · $0.29",
            ]
        );
    }

    #[test]
    fn only_possible_commands_are_offered() {
        let words = |told| commands(&told).into_iter().map(|(words, _)| words).collect::<Vec<_>>();
        assert_eq!(words(told()), ["try it", "read it", "take it", "or review", "change it"]);
        let bare = Delivered::default();
        assert_eq!(words(bare), ["read it", "change it"], "there is no branch to merge into");
    }
}
