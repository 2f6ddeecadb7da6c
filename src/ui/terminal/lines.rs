//! Formats each event as a line.

use console::measure_text_width;

use super::live_status::fitted;
use super::{Duration, JOINT, LINE, Progress, RULE, State, Terminal, Verbosity};
use crate::activity::Activity;
use crate::artifact::{Artifact, Origin, Severity};
use crate::clean::{one_line, sanitize};
use crate::event::{Event, Sink};
use crate::markers::without_markers;
use crate::palette::Slot;
use crate::spent::{Spent, tokens};
use crate::ui::markdown::markdown;
use crate::ui::out::{elapsed, short};
use crate::wrap::{shortened, wrap};

impl Sink for Terminal {
    fn emit(&self, event: Event) {
        let mut guard = self.lock();
        let screen = &mut *guard;
        let normal = Verbosity::Normal;
        screen.ends_wait((self.age)());
        self.resize(screen);
        match event {
            Event::Text { text } => return self.text(screen, &text),
            Event::Speaker { stage: _, role } => {
                screen.speaker = Some(role);
                // What was written between two requests belongs to no call.
                screen.changed = None;
            }
            Event::SessionStarted { branch, resumed, title } => {
                let how = if resumed { " (resumed)" } else { "" };
                let mut text = format!("on branch {}{how}", one_line(&branch, LINE));
                let width = screen.out.width();
                if self.look.live && width > 0 && !title.is_empty() {
                    text = self.wrapped(&format!("{text} · {}", one_line(&title, LINE)), 2);
                }
                self.line(screen, normal, &text);
            }
            Event::Now(activity) => return self.now(screen, activity),
            Event::StageStarted { stage, number, of, order } => {
                let began = (self.age)();
                screen.now.resume(began);
                screen.stage = Some(Progress { stage, number, of, began, draft: None, task: None });
                let width = if screen.out.width() == 0 { RULE } else { screen.out.width() };
                let title = format!("── {stage} ({number} of {of}) ");
                let rule = "─".repeat(width.saturating_sub(measure_text_width(&title)).max(2));
                let text = self.paint(Slot::Header, &format!("{title}{rule}"));
                self.line(screen, normal, &text);
                let row = self.stage_row(&order, stage, width);
                if self.look.live && !row.is_empty() {
                    self.line(screen, normal, &row);
                }
            }
            Event::DraftStarted { stage: _, iteration, limit, task, tasks: (done, all) } => {
                if let Some(progress) = &mut screen.stage {
                    progress.draft = Some((iteration, limit));
                    let id = task.as_ref().and_then(|task| task.split(' ').next());
                    progress.task = id.map(|id| (one_line(id, 40), done, all));
                }
                let task = task.map(|task| format!(" · {}", one_line(&task, 100)));
                let text = format!("draft {iteration} of {limit}{}", task.unwrap_or_default());
                self.line(screen, normal, &self.wrapped(&text, 2));
            }
            Event::ModelRequest { stage: _, role, iteration: _, turn, usage, millis } => {
                screen.speaker = Some(role);
                let text = format!(
                    "  {role}, turn {turn}: {} tokens in ({} cached), {} out, {}.{} s",
                    tokens(usage.input),
                    tokens(usage.cached),
                    tokens(usage.output),
                    millis / 1000,
                    millis % 1000 / 100
                );
                // Do this even if the line is not shown, because the answer's text ends here.
                screen.clear();
                self.line(screen, Verbosity::Verbose, &self.paint(Slot::Dim, &text));
            }
            Event::ToolCall { tool, brief, ok, command_failed, answer } => {
                let ended = match ok {
                    true if command_failed => Ended::CommandFailed,
                    true => Ended::Well,
                    false => Ended::Badly,
                };
                self.tool(screen, &tool, &brief, ended, &answer);
            }
            // The user knows what they just said at a gate. A typed note reaches the actor later,
            // so it is shown.
            Event::Feedback { from, severity, .. }
                if from == Origin::Human.name()
                    && severity != Severity::Minor.name()
                    && self.look.verbosity < Verbosity::Verbose => {}
            Event::Feedback { stage: _, from, severity, details } => {
                let details = without_markers(&sanitize(details.trim())).replace('\n', "\n    ");
                let label = format!("{} ({severity}):", one_line(&from, 40));
                let text = self.labelled("  ", Slot::Warning, &label, details.trim());
                self.line(screen, normal, &text);
            }
            Event::SelfReview { stage, iteration: _, outcome: _, files, unfixed } => {
                let text = format!("{stage}: self-review {}", self_review(&files, unfixed));
                self.line(screen, normal, &self.wrapped(&one_line(&text, usize::MAX), 2));
            }
            Event::ReviewRequested { stage, iteration, commit, .. } => {
                // Without a commit, a gate opens here; the gate shows all this and rings.
                if let Some(commit) = commit {
                    let commit = short(&commit);
                    let text = format!("{stage}, draft {iteration}: waiting for you · {commit}");
                    self.line(screen, normal, &text);
                    if self.look.live {
                        screen.out.put("\x07");
                    }
                }
                screen.clear();
                screen.waits = Some((self.age)());
                self.give_back(screen);
                // A prompt comes next; a status would be in its way.
                return;
            }
            Event::QuestionAnswered { answer, .. } => {
                let text = without_markers(&sanitize(&answer));
                let text = markdown(&text, screen.out.width(), self.look.color);
                // The user asked, so this is shown even with --quiet.
                self.line(screen, Verbosity::Quiet, &format!("\n{text}"));
                screen.clear();
                self.give_back(screen);
                // The gate's prompt comes next.
                return;
            }
            Event::StageCompleted { stage: _, commit, tag, subject, spent } => {
                let mut facts = vec![short(&commit).to_owned()];
                facts.extend(tag);
                screen.stage = None;
                facts.extend(counted(&spent));
                facts.push(elapsed(Duration::from_millis(spent.millis)));
                self.completed(screen, Slot::Success, &subject, &facts);
            }
            Event::TaskCompleted {
                commit, subject, checks, fails, files, tests, millis, ..
            } => {
                let time = elapsed(Duration::from_millis(millis));
                self.task(screen, &subject, &commit, &checks, fails, [files, tests, time]);
            }
            Event::SessionCompleted { spent, delivered: Some(told), .. } if self.tells_end() => {
                screen.stage = None;
                self.delivered(screen, &told, &spent);
            }
            Event::SessionCompleted { commit, spent, here, .. } => {
                screen.stage = None;
                let mut facts = vec![short(&commit).to_owned()];
                facts.extend(counted(&spent).map(|mut used| {
                    // Earlier runs and other machines may have used tokens as well.
                    if tokens(spent.tokens()) != tokens(here.tokens()) {
                        used += &format!(" ({} in this run)", tokens(here.tokens()));
                    }
                    used
                }));
                facts.push(elapsed(Duration::from_millis(spent.millis)));
                self.completed(screen, Slot::Success, "session completed", &facts);
            }
            Event::Warning { text } => {
                let text =
                    self.labelled("", Slot::Warning, "warning:", &one_line(&text, usize::MAX));
                self.line(screen, Verbosity::Quiet, &text);
            }
            Event::Alert { title, text } => {
                let text = self.boxed(&one_line(&title, usize::MAX), &text);
                self.line(screen, Verbosity::Quiet, text.trim_end());
                // A prompt about it comes next.
                screen.waits = Some((self.age)());
            }
            Event::Note { text } => {
                let text = self.wrapped(&one_line(&text, usize::MAX), 2);
                self.line(screen, normal, &text);
            }
        }
        self.draw_status(screen);
    }
}

/// Maximum width of a line with text at its right edge: in a wider line, that text is hard to match
/// with the rest.
const WIDEST: usize = 120;

/// Formats the number of tokens; `None` if no tokens were counted.
fn counted(spent: &Spent) -> Option<String> {
    let all = spent.tokens();
    (all > 0).then(|| format!("{} tokens", tokens(all)))
}

impl Terminal {
    /// Formats a text in a box, as wide as the text needs and the terminal allows.
    fn boxed(&self, title: &str, text: &str) -> String {
        let most = if self.size.width() == 0 { RULE } else { self.size.width().min(RULE) };
        let room = most.saturating_sub(4).max(10);
        let mut rows = wrap(&format!("⚠ {title}"), room);
        let titles = rows.len();
        rows.extend(sanitize(text.trim()).lines().flat_map(|line| wrap(line, room)));
        let inner = rows.iter().map(|row| measure_text_width(row)).max().unwrap_or_default();
        let bar = "─".repeat(inner + 2);
        let edge =
            |left: &str, right: &str| self.paint(Slot::Warning, &format!("{left}{bar}{right}"));
        let side = self.paint(Slot::Warning, "│");
        let mut out = format!("{}\n", edge("┌", "┐"));
        for (at, row) in rows.iter().enumerate() {
            let gap = " ".repeat(inner - measure_text_width(row));
            let row = if at < titles { self.paint(Slot::Header, row) } else { row.clone() };
            out.push_str(&format!("{side} {row}{gap} {side}\n"));
        }
        out + &edge("└", "┘")
    }

    /// Shows an activity in the live lines; a failing test is also written permanently, at once.
    fn now(&self, screen: &mut State, activity: Activity) {
        match &activity {
            // What the program generates beside a call's own change is not counted.
            Activity::Changed { path, .. } if is_generated(path) => {}
            Activity::Changed { added, removed, .. } => {
                let (before_added, before_removed) = screen.changed.unwrap_or_default();
                screen.changed = Some((before_added + added, before_removed + removed));
            }
            Activity::Prints { failed: Some(test), .. }
                if self.look.live && screen.failed.insert(test.clone()) =>
            {
                let text = self.labelled(
                    "  ",
                    Slot::Error,
                    "✗",
                    &format!("{} failed", one_line(test, LINE)),
                );
                self.line(screen, Verbosity::Normal, &text);
            }
            _ => {}
        }
        // Output lines arrive faster than anybody can read: the next redraw shows the last one.
        let draws = !matches!(activity, Activity::Prints { failed: None, .. });
        screen.now.take(activity, (self.age)());
        if draws {
            self.draw_status(screen);
        }
    }

    /// True if the end of a run is shown as a summary: to a person at a terminal.
    pub(crate) fn tells_end(&self) -> bool {
        self.look.live && self.look.verbosity >= Verbosity::Normal
    }

    /// Writes a completed task, with its changes, tests, time and commit on the right if there is
    /// room.
    fn task(
        &self,
        screen: &mut State,
        subject: &str,
        commit: &str,
        checks: &str,
        fails: bool,
        [files, tests, time]: [String; 3],
    ) {
        let (mark, color) = match (fails, checks.starts_with("failed")) {
            (true, _) => ("✗", Slot::Error),
            // The same checks failed before the session.
            (false, true) => ("✓", Slot::Warning),
            (false, false) => ("✓", Slot::Success),
        };
        let checks = match checks {
            "none" => String::new(),
            checks => one_line(checks, LINE),
        };
        let width = screen.out.width();
        if !self.look.live || width == 0 {
            let mut facts = vec![short(commit).to_owned()];
            if !checks.is_empty() {
                let told = color != Slot::Success;
                facts.push(if told { self.paint(color, &checks) } else { checks });
            }
            return self.ended(screen, (mark, color), subject, &facts);
        }
        let checks = if tests.is_empty() { checks } else { one_line(&tests, LINE) };
        let subject = one_line(subject, LINE);
        // On a very wide screen, text at the right edge is hard to match with its line.
        let width = width.min(WIDEST);
        // Without enough room, the title keeps up to half of the width, and facts are left out.
        let least = measure_text_width(&subject).min(width / 2);
        let commit = short(commit).to_owned();
        let all = [(2, one_line(&files, 60)), (1, checks.clone()), (3, time), (0, commit)];
        let facts = fitted(&all, width.saturating_sub(least + 6)).unwrap_or_default();
        let room = width.saturating_sub(measure_text_width(&facts) + 6);
        let subject = shortened(&subject, room);
        let gap = room - measure_text_width(&subject);
        let facts = match color {
            color if color == Slot::Success || checks.is_empty() => facts,
            color => facts.replace(&checks, &self.paint(color, &checks)),
        };
        let mark = self.paint(color, mark);
        let text = format!("  {mark} {subject}{}  {facts}", " ".repeat(gap));
        self.line(screen, Verbosity::Quiet, text.trim_end());
    }

    fn tool(&self, screen: &mut State, tool: &str, brief: &str, ended: Ended, answer: &str) {
        let ok = ended != Ended::Badly;
        let answer = one_line(answer.lines().next().unwrap_or_default(), LINE);
        let verbose = self.look.verbosity >= Verbosity::Verbose;
        if ok && !verbose {
            match tool {
                // The text of this call arrives as feedback.
                "provide_feedback" => return,
                "exit_loop" => {
                    let who = screen.speaker.map(|role| format!("{role}: ")).unwrap_or_default();
                    let text = format!("  {who}approved · {}", one_line(brief, LINE));
                    let text = self.wrapped(text.trim_end_matches([' ', '·']), 4);
                    return self.line(screen, Verbosity::Normal, &text);
                }
                _ => {}
            }
        }
        let failed = ended == Ended::CommandFailed;
        let mark = if ok && !failed { "·" } else { "✗" };
        let mut text = one_line(&format!("{tool} {brief}"), LINE);
        if let Some((added, removed)) = screen.changed.take().filter(|_| ok) {
            text.push_str(&format!(" +{added}{JOINT}−{removed}"));
        }
        if failed && !verbose {
            let exit = answer.split(" after ").next().unwrap_or(&answer);
            text.push_str(&format!(": {exit}"));
        } else if !ok || verbose {
            text.push_str(&format!(": {answer}"));
        }
        let text = if mark == "·" {
            self.wrapped(&format!("  · {text}"), 4)
        } else {
            self.labelled("  ", Slot::Error, mark, &text)
        };
        self.line(screen, Verbosity::Normal, &text);
    }
}

/// How a tool's call ended, as a person sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Well,
    /// The call went well, but the command that it ran failed, which for the model is a result like
    /// any other.
    CommandFailed,
    Badly,
}

/// Maximum number of files named in a line.
const NAMED: usize = 5;

/// True for files of a session that git-cowork derives from others or appends to by itself.
fn is_generated(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let artifact = Artifact::named(name).filter(|_| path.starts_with(".cowork/sessions/"));
    artifact.is_some_and(|one| one.document().is_some() || one == Artifact::Feedback)
}

/// Formats the result of a self-review: `revised plan.md`, `passed, nothing changed`.
fn self_review(files: &[String], unfixed: usize) -> String {
    // A document's file name is enough to identify it.
    let name = |path: &String| match path.strip_prefix(".cowork/") {
        Some(document) => document.rsplit('/').next().unwrap_or(document).to_owned(),
        None => path.clone(),
    };
    let mut names: Vec<String> = files.iter().take(NAMED).map(name).collect();
    if files.len() > NAMED {
        names.push(format!("{} more", files.len() - NAMED));
    }
    let changed = match (names.is_empty(), unfixed) {
        (true, 0) => return "passed, nothing changed".to_owned(),
        (true, _) => "changed nothing".to_owned(),
        (false, _) => format!("revised {}", names.join(", ")),
    };
    match unfixed {
        0 => changed,
        1 => format!("{changed} and could not fix 1 problem"),
        many => format!("{changed} and could not fix {many} problems"),
    }
}
