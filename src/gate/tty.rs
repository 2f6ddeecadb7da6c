//! The real terminal: writes to stderr, reads stdin.
//!
//! Yes or no and lists to choose from are `dialoguer`'s. The keys and lines of the gate are read here
//! on Unix, byte by byte in raw mode: Ctrl-C must arrive as a key (a handler elsewhere may swallow
//! the signal), a hung-up terminal must be an end and not a busy loop, and what was typed ahead must
//! stay in the kernel's queue for the editor or the next question.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{Confirm, Select};

use crate::ascii::{self, on_terminal};
use crate::gate::terminal::{Key, Line, SHOW_CURSOR, Terminal, interrupted};
use crate::interrupt;
use crate::moment;
use crate::wrap::{shortened, stderr_columns, stderr_rows};

/// The process's own terminal.
pub struct Tty {
    color: bool,
    before: Option<Box<dyn Fn()>>,
}

impl Tty {
    /// The terminal; `color` is what `--color` and `NO_COLOR` came to.
    pub const fn new(color: bool) -> Self {
        Self { color, before: None }
    }

    /// Calls `before` ahead of everything that is written: whoever else draws on this terminal
    /// takes a live line away there. It must be cheap to call when there is nothing to do.
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
        // The library takes one line away when it is answered.
        let (above, last) = question.rsplit_once('\n').unwrap_or(("", question));
        self.write(&if above.is_empty() { String::new() } else { format!("{above}\n") })?;
        let theme = self.theme();
        let confirm = Confirm::with_theme(&*theme).with_prompt(on_terminal(last)).default(false);
        self.answer(|| confirm.interact_opt())
    }

    fn one_of(&self, items: &[String], default: Option<usize>) -> Result<Option<usize>> {
        // Before each item stands its mark; a row that wraps would not be taken away whole.
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
            // Its marks are not ASCII.
            true if !ascii::is_on() => Box::new(ColorfulTheme::default()),
            _ => Box::new(SimpleTheme),
        }
    }

    /// What came of a question of the library; nothing where the terminal is gone.
    fn answer<T>(&self, ask: impl FnOnce() -> dialoguer::Result<Option<T>>) -> Result<Option<T>> {
        if interrupt::is_requested() {
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

/// Leaves the terminal as a shell wants it: echo on, cursor shown. For whoever ends the process
/// from another thread while a key is waited for.
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

    pub(super) const fn closed() -> Key {
        Key::End
    }

    pub(super) const fn discard() {}

    pub(super) const fn pasted() -> String {
        String::new()
    }

    pub(super) fn key(ends: &dyn Fn() -> bool) -> Result<Option<Key>> {
        // A key cannot be waited for and something else looked at here.
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
        // Nothing that was typed can be taken back here: what is typed goes behind it.
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
