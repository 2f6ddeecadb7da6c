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
use crate::wrap::stderr_columns;

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

    fn read_line(&self) -> Result<Line> {
        let line = reading::line(self);
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
        let rows = items.iter().map(|item| console::truncate_str(item, room, "…"));
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
mod reading {
    use std::sync::{Mutex, PoisonError};

    use rustix::io::Errno;
    use rustix::process::Signal;
    use rustix::stdio::stdin;
    use rustix::termios::{
        OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcsetattr,
    };

    use super::{Key, Line, Result, Terminal};
    use crate::interrupt;

    /// The modes to go back to, while raw mode is on.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    pub(super) fn restore() {
        if let Some(modes) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = tcsetattr(stdin(), OptionalActions::Drain, &modes);
        }
    }

    /// Has [`restore`] go back to the present modes, whoever changes them meanwhile.
    pub(super) fn remember() -> Option<Remembered> {
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(tcgetattr(stdin()).ok()?);
        Some(Remembered)
    }

    /// Goes back to the modes when it is dropped.
    pub(super) struct Remembered;

    impl Drop for Remembered {
        fn drop(&mut self) {
            restore();
        }
    }

    pub(super) fn discard() {
        let _ = tcflush(stdin(), QueueSelector::IFlush);
    }

    /// What is in the kernel's queue, or comes faster than anybody types.
    pub(super) fn pasted() -> String {
        const PATIENCE: std::time::Duration = std::time::Duration::from_millis(15);
        let Ok(_raw) = Raw::on() else { return String::new() };
        let mut bytes = Vec::new();
        loop {
            std::thread::sleep(PATIENCE);
            // A terminal that is gone has nothing, forever.
            let Ok(waiting @ 1..) = rustix::io::ioctl_fionread(stdin()) else { break };
            let mut more = vec![0; usize::try_from(waiting).unwrap_or(1)];
            match rustix::io::read(stdin(), &mut more[..]) {
                Ok(read @ 1..) => bytes.extend_from_slice(&more[..read]),
                _ => break,
            }
        }
        String::from_utf8_lossy(&bytes).replace("\r\n", "\n").replace('\r', "\n")
    }

    /// How long a signal that came with a hang-up may take to be heard.
    const HEARD_WITHIN: std::time::Duration = std::time::Duration::from_secs(1);

    /// Raw mode for as long as it lives.
    struct Raw {
        modes: Termios,
    }

    impl Raw {
        fn on() -> rustix::io::Result<Self> {
            let before = tcgetattr(stdin())?;
            let mut modes = before.clone();
            modes.make_raw();
            modes.output_modes = before.output_modes;
            // A read ends after a tenth of a second, so that a signal is noticed.
            modes.special_codes[SpecialCodeIndex::VMIN] = 0;
            modes.special_codes[SpecialCodeIndex::VTIME] = 1;
            let raw = Self { modes };
            *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            tcsetattr(stdin(), OptionalActions::Drain, &raw.modes)?;
            Ok(raw)
        }

        /// A byte that is already there or comes within a tenth of a second.
        fn soon(&self) -> Option<u8> {
            let mut byte = [0];
            (rustix::io::read(stdin(), &mut byte) == Ok(1)).then_some(byte[0])
        }
    }

    impl Drop for Raw {
        fn drop(&mut self) {
            restore();
        }
    }

    /// What a byte, or the bytes that belong to it, mean.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Input {
        Key(Key),
        Erase,
        EraseWord,
        EraseLine,
        /// Nobody need press a key any more.
        Ends,
    }

    pub(super) fn key(ends: &dyn Fn() -> bool) -> Result<Option<Key>> {
        loop {
            let Ok(raw) = Raw::on() else { return Ok(Some(Key::End)) };
            match read(&raw, ends) {
                Some(Input::Key(key)) => return Ok(Some(key)),
                Some(Input::Ends) => return Ok(None),
                Some(_) => return Ok(Some(Key::Other)),
                None => {
                    drop(raw);
                    suspend();
                }
            }
        }
    }

    pub(super) fn line(terminal: &dyn Terminal) -> Result<Line> {
        let mut text = String::new();
        loop {
            let Ok(raw) = Raw::on() else { return Ok(Line::End) };
            while let Some(input) = read(&raw, &|| false) {
                match input {
                    Input::Key(Key::Char(c)) => {
                        text.push(c);
                        terminal.write(c.encode_utf8(&mut [0; 4]))?;
                    }
                    Input::Key(Key::Enter) => {
                        terminal.write("\n")?;
                        return Ok(Line::Text(text));
                    }
                    Input::Key(Key::Escape) => {
                        terminal.write("\n")?;
                        return Ok(Line::Escape);
                    }
                    Input::Key(Key::Interrupt) => return Ok(Line::Interrupt),
                    // As in a shell: Ctrl-D ends the input only at the start of a line.
                    Input::Key(Key::End) if text.is_empty() || hung_up() => {
                        terminal.write("\n")?;
                        return Ok(Line::End);
                    }
                    Input::Key(Key::End | Key::Other) | Input::Ends => {}
                    Input::Erase => erase(terminal, &mut text, 1)?,
                    Input::EraseWord => {
                        let kept = text.trim_end().rfind(char::is_whitespace).map_or(0, |i| i + 1);
                        let count = text[kept..].chars().count();
                        erase(terminal, &mut text, count)?;
                    }
                    Input::EraseLine => {
                        let count = text.chars().count();
                        erase(terminal, &mut text, count)?;
                    }
                }
            }
            drop(raw);
            suspend();
            terminal.write(&text)?;
        }
    }

    fn erase(terminal: &dyn Terminal, text: &mut String, count: usize) -> Result<()> {
        for _ in 0..count {
            let Some(c) = text.pop() else { break };
            let columns = console::measure_text_width(c.encode_utf8(&mut [0; 4]));
            terminal.write(&"\x08 \x08".repeat(columns))?;
        }
        Ok(())
    }

    /// The next input; `None` is Ctrl-Z.
    fn read(raw: &Raw, ends: &dyn Fn() -> bool) -> Option<Input> {
        let mut byte = [0];
        let read = loop {
            match rustix::io::read(stdin(), &mut byte) {
                _ if interrupt::is_requested() => return Some(Input::Key(Key::Interrupt)),
                Ok(0) if ends() => return Some(Input::Ends),
                Ok(0) if !hung_up() => {}
                read => break read,
            }
        };
        let key = match read {
            Ok(0) => closed(),
            Ok(_) => match byte[0] {
                b'\r' | b'\n' => Key::Enter,
                0x03 => Key::Interrupt,
                0x04 => Key::End,
                0x08 | 0x7f => return Some(Input::Erase),
                0x15 => return Some(Input::EraseLine),
                0x17 => return Some(Input::EraseWord),
                0x1a => return None,
                0x1b => escape(raw),
                b'\t' => Key::Char(' '),
                first @ 0x20..=0x7e => Key::Char(first.into()),
                first @ 0x80.. => character(raw, first),
                _ => Key::Other,
            },
            // Only a handler that does not restart reads lets a signal through to here: it
            // means us.
            Err(Errno::INTR) => Key::Interrupt,
            Err(_) => closed(),
        };
        Some(Input::Key(key))
    }

    /// A terminal that is gone: the signal that says so may come a little later.
    pub(super) fn closed() -> Key {
        let since = std::time::Instant::now();
        while since.elapsed() < HEARD_WITHIN {
            if interrupt::is_requested() {
                return Key::Interrupt;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Key::End
    }

    /// Escape alone, or a function key's sequence, swallowed whole.
    fn escape(raw: &Raw) -> Key {
        let Some(first) = raw.soon() else { return Key::Escape };
        if first == b'[' || first == b'O' {
            while raw.soon().is_some_and(|byte| !(0x40..=0x7e).contains(&byte)) {}
        }
        Key::Other
    }

    /// The rest of a UTF-8 character.
    fn character(raw: &Raw, first: u8) -> Key {
        let length = match first {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return Key::Other,
        };
        let mut bytes = vec![first];
        while bytes.len() < length {
            match raw.soon() {
                Some(byte) => bytes.push(byte),
                None => return Key::Other,
            }
        }
        std::str::from_utf8(&bytes)
            .ok()
            .and_then(|text| text.chars().next())
            .filter(|c| !c.is_control())
            .map_or(Key::Other, Key::Char)
    }

    /// Whether an end of input was not a Ctrl-D: a terminal that is gone has no modes.
    fn hung_up() -> bool {
        tcgetattr(stdin()).is_err()
    }

    /// Does what Ctrl-Z does when raw mode is off: stops the whole job, git that started us
    /// included. Returns when it is continued.
    fn suspend() {
        let _ = rustix::process::kill_current_process_group(Signal::TSTP);
    }
}

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

    pub(super) fn line(_terminal: &dyn Terminal) -> Result<Line> {
        let mut text = String::new();
        Ok(match std::io::stdin().read_line(&mut text) {
            Ok(0) => Line::End,
            Ok(_) => Line::Text(text.trim_end_matches(['\r', '\n']).to_owned()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Line::Interrupt,
            Err(_) => Line::End,
        })
    }
}

#[cfg(unix)]
#[cfg(test)]
#[path = "tty_tests.rs"]
mod tests;
