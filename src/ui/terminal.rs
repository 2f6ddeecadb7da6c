//! Events as lines a person follows, all on stderr, understandable without colour.
//!
//! On a terminal the last lines are a live status, and keys are not echoed into it; a person may type a
//! line for the actor below it. It is taken away before anything else is written; whoever prompts calls
//! [`Terminal::clear`] first.

mod ending;
mod flow;
mod lines;
mod stage_row;
mod status;

pub(crate) use status::bar;

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
use crate::markers::Markers;
use crate::palette::{Slot, paint};
use crate::session::TypedNotes;
use crate::spent::Spent;
use crate::stage::Role;
use crate::wrap::{hanging_command, stderr_columns};
use flow::Flow;
use status::{Now, Progress};

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Warnings and what was completed.
    Quiet,
    /// What is going on.
    #[default]
    Normal,
    /// Every model request, and what tools answered.
    Verbose,
}

/// What a terminal is like and what its owner wants to see.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// How much.
    pub verbosity: Verbosity,
    /// Show answer text as it arrives.
    pub stream: bool,
    /// Use colours.
    pub color: bool,
    /// Keep a status line: stderr is a terminal, and not a dumb one.
    pub live: bool,
    /// Columns; 0 = unknown.
    pub width: usize,
    /// What else the terminal knows.
    pub knows: Knows,
}

/// Writes for people.
pub struct Terminal {
    look: Look,
    state: Mutex<State>,
    size: Screen,
    /// Time since the renderer was made.
    age: Box<dyn Fn() -> Duration + Send + Sync>,
    /// Typed keys are not echoed while there is a status line.
    takes_keyboard: bool,
}

struct State {
    out: Screen,
    live: Live,
    now: Now,
    /// The title that the window has.
    told: String,
    /// Tests that were told to fail.
    failed: BTreeSet<String>,
    /// What the last tool did to a file.
    changed: Option<(usize, usize)>,
    /// Of the text being streamed.
    cleaner: Cleaner,
    /// In the text being streamed.
    markers: Markers,
    /// Breaks it between words.
    flow: Flow,
    /// Whose text is streamed, as far as known.
    speaker: Option<Role>,
    /// Some of the present answer was shown.
    answering: bool,
    /// The cursor stands in an answer.
    streaming: bool,
    /// When the last piece came.
    last_text: Duration,
    /// What was streamed last ended a line.
    at_line_start: bool,
    stage: Option<Progress>,
    /// Since when a person is waited for.
    waits: Option<Duration>,
    /// How long one was waited for, in all.
    waited: Duration,
    /// Where a person types for the actor.
    typing: Option<Typing>,
    /// Of the text being streamed, what is no whole line yet: one that is typed stands below.
    held: String,
}

/// Without text for so long, an answer is thought to have stopped.
const PAUSE: Duration = Duration::from_secs(1);

/// Widest rule.
const RULE: usize = 80;

/// Characters of a tool line, a warning's line stays whole.
const LINE: usize = 160;

/// A space at which no line is broken.
const JOINT: &str = "\u{a0}";

/// A text that stays on one line: `0 s`, `120 tokens`.
fn together(text: &str) -> String {
    text.replace(' ', JOINT)
}

impl Terminal {
    /// A renderer on `stderr`.
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
            markers: Markers::default(),
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

    /// Whether stderr went away.
    pub fn broken(&self) -> bool {
        self.lock().out.broken()
    }

    /// Shows a message on the desktop, where the terminal can.
    pub fn message(&self, text: &str) {
        self.lock().out.put(&self.look.knows.message(text));
    }

    /// Leaves the cursor at the beginning of an empty line and keys echoed, for a prompt.
    pub fn clear(&self) {
        let mut screen = self.lock();
        screen.clear();
        self.give_back(&mut screen);
    }

    /// From now on a person may type notes while the status line is there; or no longer.
    pub fn listen(&self, notes: Option<Arc<TypedNotes>>) {
        self.lock().typing = notes.filter(|_| self.takes_keyboard).map(Typing::new);
    }

    /// Takes in what was typed; to be called as often as a key is to be seen.
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

    /// Keeps the status line going; to be called about once a second. An answer whose text does
    /// not go on (a model that writes a long tool call) makes room for it.
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

    /// Says why the run ends: what failed, what caused it, what to do next.
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

    /// A text no line of which is wider than the terminal, further parts indented.
    /// What [`together`] has joined stays on one line.
    fn wrapped(&self, text: &str, indent: usize) -> String {
        let width = self.size.width();
        if !self.look.live || width == 0 {
            return text.replace(JOINT, " ");
        }
        let lines: Vec<_> = text.lines().map(|line| hanging_command(line, width, indent)).collect();
        lines.join("\n").replace(JOINT, " ")
    }

    /// A label in colour, and what it is about.
    fn labelled(&self, indent: &str, slot: Slot, label: &str, text: &str) -> String {
        let plain = self.wrapped(&format!("{indent}{label} {text}"), indent.len() + 2);
        plain.replacen(label, &self.paint(slot, label), 1)
    }

    /// Gives the keyboard to whoever prompts. What was typed until now was typed for the actor.
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

    /// One finished line, if it is told at this verbosity.
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
        // White space at the beginning of an answer says nothing.
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

    /// Whole lines of an answer, while somebody types below them.
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
        if screen.stage.is_none() {
            return self.give_back(screen);
        }
        let State { stage: Some(progress), now, live, out, told, typing, .. } = screen else {
            return;
        };
        // A line that reaches the last column could wrap.
        let most = if out.width() == 0 { 79 } else { out.width().saturating_sub(1) };
        let typed = typing.as_ref().map(|typing| typing.lines(most));
        let invites = typed.as_ref().is_some_and(Vec::is_empty);
        let lines = status::lines(progress, now, (self.age)(), most, self.look.stream, invites);
        if self.takes_keyboard {
            keyboard::take(typing.is_some());
        }
        let (title, percent) = progress.title();
        if *told != title {
            out.put(&self.look.knows.set(&title, percent));
            *told = title;
        }
        let color = |line: &status::Line| if line.is_failure { Slot::Error } else { Slot::Dim };
        let lines = lines.iter().map(|line| self.paint(color(line), &line.text));
        live.show(lines.chain(typed.unwrap_or_default()).collect());
    }

    /// Takes the width that the terminal has now: while a gate was open nobody looked.
    fn resize(&self, screen: &mut State) {
        if self.takes_keyboard && screen.out.width() > 0 {
            screen.resize();
        }
    }

    /// What the session has used, and what it may.
    pub fn uses(&self, used: Spent, budget: f64) {
        self.lock().now.uses(used, budget);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whoever was waited for has answered.
    fn ends_wait(&mut self, now: Duration) {
        let Some(since) = self.waits.take() else { return };
        self.now.resume(now);
        let waited = now.saturating_sub(since);
        self.waited += waited;
        if let Some(progress) = &mut self.stage {
            progress.began += waited;
        }
    }

    /// Whether a person has typed something that is shown.
    fn is_typed_in(&self) -> bool {
        self.typing.as_ref().is_some_and(Typing::is_active)
    }

    /// Ends whatever is in progress.
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

    /// Ends the line of an answer that may go on.
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
