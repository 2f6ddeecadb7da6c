//! Renders events as lines for a person, all on stderr, readable without colour.
//!
//! On a terminal, the last lines are a live status, and typed keys are not echoed into it; below
//! it, the user can type a note for the actor. The status is removed before anything else is
//! written; code that prompts calls [`Terminal::clear`] first.

mod ending;
mod flow;
mod lines;
mod live_status;
mod stage_row;

pub(crate) use live_status::bar;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::live::{Live, Screen};
use super::out::{Out, Output};
use super::title::Knows;
use super::typing::Typing;
use crate::clean::{Cleaner, one_line, sanitize};
use crate::error::hints_of;
use crate::keyboard;
use crate::markers::MarkerFilter;
use crate::palette::{Slot, paint};
use crate::session::TypedNotes;
use crate::spent::Spent;
use crate::stage::Role;
use crate::wrap::{hanging_command, stderr_columns};
use flow::Flow;
use live_status::{Line, Now, Progress};

/// How much output is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Only warnings and results.
    Quiet,
    /// Also progress.
    #[default]
    Normal,
    /// Also every model request and the results of tools.
    Verbose,
}

/// Properties of the terminal and the user's preferences.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// How much.
    pub verbosity: Verbosity,
    /// Show answer text as it arrives.
    pub stream: bool,
    /// Use colours.
    pub color: bool,
    /// Show a live status: stderr is a terminal, and not a dumb one.
    pub live: bool,
    /// Columns; 0 = unknown.
    pub width: usize,
    /// Further features of the terminal.
    pub knows: Knows,
}

/// Writes events for people.
pub struct Terminal {
    look: Look,
    state: Mutex<State>,
    size: Screen,
    /// Time since the renderer was created.
    age: Box<dyn Fn() -> Duration + Send + Sync>,
    /// Typed keys are not echoed while the status is shown.
    takes_keyboard: bool,
}

struct State {
    out: Screen,
    live: Live,
    now: Now,
    /// The current title of the window.
    told: String,
    /// Tests whose failure has been shown.
    failed: BTreeSet<String>,
    /// Lines that the last tool added and removed in a file.
    changed: Option<(usize, usize)>,
    /// Removes control sequences from streamed text.
    cleaner: Cleaner,
    /// Removes markers from streamed text.
    markers: MarkerFilter,
    /// Breaks streamed text between words.
    flow: Flow,
    /// The role whose text is streamed, if known.
    speaker: Option<Role>,
    /// Part of the current answer has been shown.
    answering: bool,
    /// The cursor is inside an answer.
    streaming: bool,
    /// Time of the last piece of text.
    last_text: Duration,
    /// The last streamed text ended with a line break.
    at_line_start: bool,
    stage: Option<Progress>,
    /// When git-cowork started to wait for a person; `None` if it is not waiting.
    waits: Option<Duration>,
    /// Total time spent waiting for a person.
    waited: Duration,
    /// The line that the user types for the actor.
    typing: Option<Typing>,
    /// The last, incomplete line of streamed text. It is held back while the user types below it.
    held: String,
}

/// After this long without text, an answer counts as paused.
const PAUSE: Duration = Duration::from_secs(1);

/// Widest horizontal rule.
const RULE: usize = 80;

/// Maximum number of characters of a tool line; a warning is not truncated.
const LINE: usize = 160;

/// A space at which lines are not broken.
const JOINT: &str = "\u{a0}";

/// Keeps a text on one line: `0 s`, `120 tokens`.
fn together(text: &str) -> String {
    text.replace(' ', JOINT)
}

impl Terminal {
    /// Creates a renderer that writes to `stderr`.
    pub fn new(stderr: Output, look: Look) -> Self {
        let born = Instant::now();
        let out = Screen::new(Out::new(stderr), look.width);
        let size = out.clone();
        let screen = State {
            live: Live::new(&out),
            out,
            now: Now::default(),
            changed: None,
            failed: BTreeSet::new(),
            told: String::new(),
            cleaner: Cleaner::default(),
            markers: MarkerFilter::default(),
            flow: Flow::new(look.color, look.live),
            speaker: None,
            answering: false,
            streaming: false,
            last_text: Duration::ZERO,
            at_line_start: false,
            stage: None,
            waits: None,
            waited: Duration::ZERO,
            typing: None,
            held: String::new(),
        };
        let age = Box::new(move || born.elapsed());
        Self { look, state: Mutex::new(screen), size, age, takes_keyboard: look.live }
    }

    /// True if writing to stderr has failed.
    pub fn broken(&self) -> bool {
        self.lock().out.broken()
    }

    /// Shows a desktop notification if the terminal supports it.
    pub fn message(&self, text: &str) {
        self.lock().out.put(&self.look.knows.message(text));
    }

    /// Leaves the cursor at the start of an empty line, with keys echoed, for a prompt.
    pub fn clear(&self) {
        let mut screen = self.lock();
        screen.clear();
        self.give_back(&mut screen);
    }

    /// From now on, lets the user type notes while the status is shown; `None` ends this.
    pub fn listen(&self, notes: Option<Arc<TypedNotes>>) {
        self.lock().typing = notes.filter(|_| self.takes_keyboard).map(Typing::new);
    }

    /// Processes typed keys; call it often, so that typed keys appear without delay.
    pub fn keys(&self) {
        let mut screen = self.lock();
        let Some(typing) = &mut screen.typing else { return };
        let typed = typing.take(&keyboard::read());
        if typed.suspends {
            screen.clear();
            keyboard::suspend();
        }
        if typed.changed {
            if screen.is_typed_in() {
                screen.pause();
            }
            self.draw_status(&mut screen);
        }
    }

    /// Updates the status; call it about once a second. If an answer's text pauses (the model
    /// writes a long tool call), the status is shown again.
    pub fn tick(&self) {
        let mut screen = self.lock();
        self.resize(&mut screen);
        let silent = (self.age)().saturating_sub(screen.last_text) >= PAUSE;
        let paused = screen.streaming && silent;
        if paused {
            screen.pause();
        }
        if paused || screen.live.is_shown() || screen.is_typed_in() {
            self.draw_status(&mut screen);
        }
    }

    /// Prints why the run ends: the error, its causes and the hints.
    pub fn error(&self, error: &anyhow::Error) {
        let mut screen = self.lock();
        screen.clear();
        let text = self.labelled("", Slot::Error, "error:", &sanitize(&error.to_string()));
        screen.out.put(&format!("{text}\n"));
        for cause in error.chain().skip(1) {
            let text = self.wrapped(&format!("  caused by: {}", sanitize(&cause.to_string())), 4);
            screen.out.put(&format!("{text}\n"));
        }
        for hint in hints_of(error) {
            let text = self.labelled("", Slot::Warning, "hint:", &sanitize(hint));
            screen.out.put(&format!("{text}\n"));
        }
        self.give_back(&mut screen);
    }

    /// Wraps a text to the width of the terminal, with continuation lines indented. Parts joined by
    /// [`together`] are not broken.
    fn wrapped(&self, text: &str, indent: usize) -> String {
        let width = self.size.width();
        if !self.look.live || width == 0 {
            return text.replace(JOINT, " ");
        }
        let lines: Vec<_> = text.lines().map(|line| hanging_command(line, width, indent)).collect();
        lines.join("\n").replace(JOINT, " ")
    }

    /// Formats a label in colour, followed by a text.
    fn labelled(&self, indent: &str, slot: Slot, label: &str, text: &str) -> String {
        let plain = self.wrapped(&format!("{indent}{label} {text}"), indent.len() + 2);
        plain.replacen(label, &self.paint(slot, label), 1)
    }

    /// Restores the keyboard for a prompt. Everything typed until now was typed for the actor.
    fn give_back(&self, screen: &mut State) {
        if self.takes_keyboard {
            if let Some(typing) = &mut screen.typing {
                typing.take(&keyboard::read());
            }
            keyboard::give_back();
        }
    }

    fn paint(&self, slot: Slot, text: &str) -> String {
        if self.look.color { paint(slot, text) } else { text.to_owned() }
    }

    /// Writes one line if the verbosity is at least `least`.
    fn line(&self, screen: &mut State, least: Verbosity, text: &str) {
        if self.look.verbosity >= least {
            screen.clear();
            screen.out.put(&format!("{text}\n"));
        }
    }

    fn completed(&self, screen: &mut State, color: Slot, what: &str, facts: &[String]) {
        self.ended(screen, ("✓", color), what, facts);
    }

    fn ended(&self, screen: &mut State, (mark, color): (&str, Slot), what: &str, facts: &[String]) {
        let facts: Vec<String> = facts.iter().map(|fact| together(fact)).collect();
        let text = format!("{mark} {} · {}", one_line(what, LINE), facts.join(" · "));
        let text = self.wrapped(&text, 2).replacen(mark, &self.paint(color, mark), 1);
        self.line(screen, Verbosity::Quiet, &text);
    }

    fn text(&self, screen: &mut State, piece: &str) {
        if !self.look.stream || self.look.verbosity < Verbosity::Normal {
            return;
        }
        let clean = screen.cleaner.push(piece);
        let clean = screen.markers.push(&clean);
        // White space at the start of an answer is noise.
        let goes_on = screen.streaming || !screen.held.is_empty();
        let clean = if goes_on { clean.as_str() } else { clean.trim_start() };
        if clean.is_empty() {
            return;
        }
        if screen.is_typed_in() {
            return self.text_above(screen, clean);
        }
        let clean = &(std::mem::take(&mut screen.held) + clean);
        if !screen.streaming {
            screen.clear_status();
            screen.streaming = true;
            screen.flow.begin(0);
        }
        if !screen.answering {
            screen.answering = true;
            if let Some(role) = screen.speaker.filter(|role| *role != Role::Actor) {
                let label = format!("{role}: ");
                screen.flow.begin(label.len());
                screen.out.put(&label);
            }
        }
        screen.last_text = (self.age)();
        screen.at_line_start = clean.ends_with('\n');
        let width = screen.out.width();
        let text = screen.flow.push(clean, width);
        screen.out.put(&text);
    }

    /// Writes the complete lines of an answer while the user types below them.
    fn text_above(&self, screen: &mut State, clean: &str) {
        if !screen.answering {
            screen.answering = true;
            if let Some(role) = screen.speaker.filter(|role| *role != Role::Actor) {
                screen.held.push_str(&format!("{role}: "));
            }
        }
        screen.last_text = (self.age)();
        screen.held.push_str(clean);
        if let Some(end) = screen.held.rfind('\n') {
            let lines: String = screen.held.drain(..=end).collect();
            screen.clear_status();
            screen.flow.begin(0);
            let width = screen.out.width();
            let text = screen.flow.push(&lines, width);
            screen.out.put(&text);
            self.draw_status(screen);
        }
    }

    fn draw_status(&self, screen: &mut State) {
        if !self.look.live || self.look.verbosity < Verbosity::Normal || screen.streaming {
            return;
        }
        if screen.stage.is_none() && screen.now.is_idle() {
            screen.clear_status();
            return self.give_back(screen);
        }
        let State { stage, now, live, out, told, typing, .. } = screen;
        // Some terminals wrap a line that reaches the last column.
        let most = if out.width() == 0 { 79 } else { out.width().saturating_sub(1) };
        let typed = typing.as_ref().map(|typing| typing.lines(most));
        let invites = typed.as_ref().is_some_and(Vec::is_empty);
        let lines =
            live_status::lines(stage.as_ref(), now, (self.age)(), most, self.look.stream, invites);
        if self.takes_keyboard {
            keyboard::take(typing.is_some());
        }
        if let Some((title, percent)) = stage.as_ref().map(Progress::title)
            && *told != title
        {
            out.put(&self.look.knows.set(&title, percent));
            *told = title;
        }
        let color = |line: &Line| if line.is_failure { Slot::Error } else { Slot::Dim };
        let lines = lines.iter().map(|line| self.paint(color(line), &line.text));
        live.show(lines.chain(typed.unwrap_or_default()).collect());
    }

    /// Reads the terminal's current width: it may have changed while a gate was open.
    fn resize(&self, screen: &mut State) {
        if self.takes_keyboard && screen.out.width() > 0 {
            screen.resize();
        }
    }

    /// Sets the session's usage and its budget.
    pub fn uses(&self, used: Spent, budget: f64) {
        self.lock().now.uses(used, budget);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends the wait for a person.
    fn ends_wait(&mut self, now: Duration) {
        let Some(since) = self.waits.take() else { return };
        self.now.resume(now);
        let waited = now.saturating_sub(since);
        self.waited += waited;
        if let Some(progress) = &mut self.stage {
            progress.began += waited;
        }
    }

    /// True if the user has typed something that is shown.
    fn is_typed_in(&self) -> bool {
        self.typing.as_ref().is_some_and(Typing::is_active)
    }

    /// Ends the answer and removes the status.
    fn clear(&mut self) {
        self.clear_status();
        let held = std::mem::take(&mut self.held) + &self.markers.end();
        if self.streaming {
            self.at_line_start &= held.is_empty();
            let width = self.out.width();
            let text = self.flow.push(&held, width);
            self.out.put(&text);
        } else if !held.trim().is_empty() {
            self.out.put(&format!("{held}\n"));
        }
        self.pause();
        self.answering = false;
        self.cleaner = Cleaner::default();
    }

    /// Ends the current line of an answer that may continue.
    fn pause(&mut self) {
        let width = self.out.width();
        let text = self.flow.end(width);
        self.out.put(&text);
        if std::mem::take(&mut self.streaming) && !self.at_line_start {
            self.out.put("\n");
        }
    }

    fn clear_status(&mut self) {
        self.live.hide();
    }

    fn resize(&mut self) {
        let width = stderr_columns();
        if width != self.out.width() {
            self.live.hide();
            self.out.resize(width);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.clear();
        self.lock().out.put(&self.look.knows.end());
    }
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
