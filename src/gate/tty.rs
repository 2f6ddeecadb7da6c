//! The real terminal: writes to stderr, reads stdin.
//!
//! `dialoguer` asks for a yes or no and shows lists. On Unix, the keys and lines of the gate are
//! read here, byte by byte in raw mode: Ctrl-C must arrive as a key (a handler elsewhere may
//! swallow the signal), a closed terminal must be an end of input and not a busy loop, and input
//! typed ahead must stay in the kernel's queue for the editor or the next question.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{Confirm, Select};

use crate::ascii::{self, on_terminal};
use crate::gate::terminal::{Key, Line, SHOW_CURSOR, Terminal, interrupted};
use crate::interrupt;
use crate::moment;
use crate::wrap::{shortened, stderr_columns, stderr_rows};

/// The terminal of this process.
pub struct Tty {
    color: bool,
    before: Option<Box<dyn Fn()>>,
}

impl Tty {
    /// The terminal; `color` is the result of `--color` and `NO_COLOR`.
    pub const fn new(color: bool) -> Self {
        Self { color, before: None }
    }

    /// Calls `before` before each output, so that another writer to this terminal can remove its
    /// live line. `before` must be cheap if there is nothing to do.
    #[must_use]
    pub fn before(mut self, before: impl Fn() + 'static) -> Self {
        self.before = Some(Box::new(before));
        self
    }
}

impl Terminal for Tty {
    fn write(&self, text: &str) -> Result<()> {
        if let Some(before) = &self.before {
            before();
        }
        let mut stderr = std::io::stderr().lock();
        stderr
            .write_all(on_terminal(text).as_bytes())
            .and_then(|()| stderr.flush())
            .context("writing to the terminal")
    }

    fn read_key(&self) -> Result<Key> {
        Ok(self.read_key_unless(&|| false)?.unwrap_or(Key::End))
    }

    fn read_key_unless(&self, ends: &dyn Fn() -> bool) -> Result<Option<Key>> {
        let key = reading::key(ends);
        moment::end();
        key
    }

    fn read_line(&self, prompt: &str, first: &str) -> Result<Line> {
        let line = reading::line(self, prompt, first);
        moment::end();
        line
    }

    fn yes_or_no(&self, question: &str) -> Result<Option<bool>> {
        // The library removes only one line after the answer.
        let (above, last) = question.rsplit_once('\n').unwrap_or(("", question));
        self.write(&if above.is_empty() { String::new() } else { format!("{above}\n") })?;
        let theme = self.theme();
        let confirm = Confirm::with_theme(&*theme).with_prompt(on_terminal(last)).default(false);
        self.answer(|| confirm.interact_opt())
    }

    fn one_of(&self, items: &[String], default: Option<usize>) -> Result<Option<usize>> {
        // Leave room for the mark before each item: the library would not remove all of
        // a row that wraps.
        let room = self.width().saturating_sub(4);
        let rows = items.iter().map(|item| shortened(item, room));
        let rows = rows.map(|row| on_terminal(&row).into_owned());
        let theme = self.theme();
        let select = Select::with_theme(&*theme).items(rows);
        let select = default.into_iter().fold(select, Select::default);
        self.write("")?;
        self.answer(|| select.interact_opt())
    }

    fn take_pasted(&self) -> String {
        reading::pasted()
    }

    fn discard_typed(&self) {
        reading::discard();
    }

    fn width(&self) -> usize {
        stderr_columns()
    }

    fn height(&self) -> usize {
        stderr_rows()
    }

    fn colors(&self) -> bool {
        self.color
    }
}

impl Tty {
    fn theme(&self) -> Box<dyn Theme> {
        match self.color {
            // The marks of the colourful theme are not ASCII.
            true if !ascii::is_on() => Box::new(ColorfulTheme::default()),
            _ => Box::new(SimpleTheme),
        }
    }

    /// Asks a question with dialoguer; `None` if the terminal is closed.
    fn answer<T>(&self, ask: impl FnOnce() -> dialoguer::Result<Option<T>>) -> Result<Option<T>> {
        if interrupt::is_requested() || !reading::wait_for_foreground(&|| false) {
            return Err(interrupted(self));
        }
        let modes = reading::remember();
        let answer = ask();
        drop(modes);
        moment::end();
        let Err(dialoguer::Error::IO(error)) = answer else { return Ok(answer.ok().flatten()) };
        if error.kind() == std::io::ErrorKind::Interrupted || reading::closed() == Key::Interrupt {
            return Err(interrupted(self));
        }
        self.write(SHOW_CURSOR)?;
        Ok(None)
    }
}

/// Restores the terminal for the shell: echo on, cursor shown. Can be called by a thread that ends
/// the process while another one waits for a key.
pub fn restore() {
    reading::restore();
    let _ = std::io::stderr().write_all(SHOW_CURSOR.as_bytes());
}

#[cfg(unix)]
#[path = "tty_reading.rs"]
mod reading;

#[cfg(not(unix))]
mod reading {
    use std::io::ErrorKind;

    use super::{Key, Line, Result, Terminal};

    pub(super) const fn restore() {}

    pub(super) const fn remember() {}

    pub(super) const fn wait_for_foreground(_ends: &dyn Fn() -> bool) -> bool {
        true
    }

    pub(super) const fn closed() -> Key {
        Key::End
    }

    pub(super) const fn discard() {}

    pub(super) const fn pasted() -> String {
        String::new()
    }

    pub(super) fn key(ends: &dyn Fn() -> bool) -> Result<Option<Key>> {
        // It is not possible here to wait for a key and check `ends` at the same time.
        if ends() {
            return Ok(None);
        }
        Ok(Some(match console::Term::stderr().read_key_raw() {
            Ok(console::Key::Char('\u{4}' | '\u{1a}')) => Key::End,
            Ok(console::Key::Char('\u{3}') | console::Key::CtrlC) => Key::Interrupt,
            Ok(console::Key::Char(c)) => Key::Char(c),
            Ok(console::Key::Enter) => Key::Enter,
            Ok(console::Key::Escape) => Key::Escape,
            Ok(_) => Key::Other,
            Err(error) if error.kind() == ErrorKind::Interrupted => Key::Interrupt,
            Err(_) => Key::End,
        }))
    }

    pub(super) fn line(terminal: &dyn Terminal, _prompt: &str, first: &str) -> Result<Line> {
        // `first` cannot be edited here: new text is appended to it.
        terminal.write(first)?;
        let mut text = String::new();
        Ok(match std::io::stdin().read_line(&mut text) {
            Ok(0) => Line::End,
            Ok(_) => Line::Text(format!("{first}{}", text.trim_end_matches(['\r', '\n']))),
            Err(error) if error.kind() == ErrorKind::Interrupted => Line::Interrupt,
            Err(_) => Line::End,
        })
    }
}

#[cfg(unix)]
#[cfg(test)]
#[path = "tty_tests.rs"]
mod tests;
