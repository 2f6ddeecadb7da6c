//! What a gate needs of a terminal, small enough to be scripted in tests.
//!
//! The real one is [`crate::gate::Tty`]. Questions use [`key`] and [`line`], which turn Ctrl-C
//! into an error in one place.

use anyhow::Result;

use crate::error::{Error, Kind};

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A printable character.
    Char(char),
    /// Enter, as line feed or carriage return.
    Enter,
    /// Escape alone.
    Escape,
    /// Arrows and the like, which mean nothing here.
    Other,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, end of input or a closed terminal.
    End,
}

/// A line of text as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Ended with Enter, which is not part of it.
    Text(String),
    /// Given up with Escape.
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D on an empty line, end of input or a closed terminal.
    End,
}

/// Where a person sits.
pub trait Terminal {
    /// Writes text as it is.
    ///
    /// # Errors
    /// When it cannot be written.
    fn write(&self, text: &str) -> Result<()>;

    /// Waits for a key, unechoed.
    ///
    /// # Errors
    /// When the terminal cannot be read for another reason than being closed.
    fn read_key(&self) -> Result<Key>;

    /// Waits for a key as [`Terminal::read_key`], unless `ends` says that nobody need press one any more.
    ///
    /// # Errors
    /// As [`Terminal::read_key`].
    fn read_key_unless(&self, ends: &dyn Fn() -> bool) -> Result<Option<Key>> {
        if ends() { Ok(None) } else { self.read_key().map(Some) }
    }

    /// Waits for a line, echoed and editable, that begins with `first`, behind this prompt, which was
    /// written.
    ///
    /// # Errors
    /// As [`Terminal::read_key`].
    fn read_line(&self, prompt: &str, first: &str) -> Result<Line>;

    /// Asks for a yes or a no. `None` when it was left open: Escape, or a closed terminal.
    ///
    /// # Errors
    /// Interrupted on Ctrl-C or another signal.
    fn yes_or_no(&self, question: &str) -> Result<Option<bool>>;

    /// Lets one of several be chosen, by its place; the `default` is the first one marked. `None` as
    /// for [`Terminal::yes_or_no`].
    ///
    /// # Errors
    /// Interrupted on Ctrl-C or another signal.
    fn one_of(&self, items: &[String], default: Option<usize>) -> Result<Option<usize>>;

    /// Takes what came together with the key or line just read, a paste, with line feeds for
    /// Enter; empty when it came alone.
    fn take_pasted(&self) -> String {
        String::new()
    }

    /// Forgets what was typed and not yet read: nobody answers a question before it is asked.
    fn discard_typed(&self);

    /// Columns.
    fn width(&self) -> usize;

    /// Rows; 0 where nobody knows.
    fn height(&self) -> usize;

    /// Whether to colour.
    fn colors(&self) -> bool;
}

/// Shows the cursor, whoever hid it.
pub(crate) const SHOW_CURSOR: &str = "\x1b[?25h";

/// The next key, unless `ends` says that nobody need press one any more; never [`Key::Interrupt`].
///
/// # Errors
/// Interrupted on Ctrl-C, with the cursor shown.
pub(crate) fn key(terminal: &dyn Terminal, ends: &dyn Fn() -> bool) -> Result<Option<Key>> {
    match terminal.read_key_unless(ends)? {
        Some(Key::Interrupt) => Err(interrupted(terminal)),
        key => Ok(key),
    }
}

/// As [`menu_key`], unless `ends` says that nobody need press one any more.
///
/// # Errors
/// As [`key`].
pub(crate) fn menu_key_unless(
    terminal: &dyn Terminal,
    texts: &[char],
    ends: &dyn Fn() -> bool,
) -> Result<Option<Key>> {
    loop {
        let Some(key) = key(terminal, ends)? else { return Ok(None) };
        if matches!(key, Key::Char(c) if texts.contains(&c)) || !was_pasted(terminal)? {
            return Ok(Some(key));
        }
    }
}

/// The next key of a menu. What was pasted is no decision: it is dropped and said, but for a
/// key of `texts`, behind which a text may follow.
///
/// # Errors
/// As [`key`].
pub(crate) fn menu_key(terminal: &dyn Terminal, texts: &[char]) -> Result<Key> {
    // Nothing ends it but a key.
    Ok(menu_key_unless(terminal, texts, &|| false)?.unwrap_or(Key::End))
}

/// Whether the answer just read came with more behind it, which is said.
pub(crate) fn was_pasted(terminal: &dyn Terminal) -> Result<bool> {
    let pasted = !terminal.take_pasted().chars().all(|c| c == '\n');
    if pasted {
        terminal.write("that was a paste, not a key: nothing is decided\n")?;
    }
    Ok(pasted)
}

/// The next line after a prompt, which follows what stands on the line `before` it and begins with the
/// text `first`; never [`Line::Interrupt`].
///
/// # Errors
/// As [`key`].
pub(crate) fn line(
    terminal: &dyn Terminal,
    before: &str,
    prompt: &str,
    first: &str,
) -> Result<Line> {
    terminal.write(prompt)?;
    match terminal.read_line(&format!("{before}{prompt}"), first)? {
        Line::Interrupt => Err(interrupted(terminal)),
        line => Ok(line),
    }
}

/// What came of asking for text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// Something that is not only white space, trimmed.
    Given(String),
    /// Nothing, twice, or Escape.
    Nothing,
    /// The terminal is closed.
    End,
}

/// Asks for text, several lines where they were pasted. The first empty line is asked again: it may be the
/// Enter after a menu key.
pub(crate) fn text(terminal: &dyn Terminal, prompt: &str) -> Result<Text> {
    text_from(terminal, "", prompt, "")
}

/// The same where something stands before the prompt already.
pub(crate) fn text_behind(terminal: &dyn Terminal, before: &str, prompt: &str) -> Result<Text> {
    text_from(terminal, before, prompt, "")
}

/// The same where the line begins with a text.
pub(crate) fn text_from(
    terminal: &dyn Terminal,
    before: &str,
    prompt: &str,
    first: &str,
) -> Result<Text> {
    for (before, first) in [(before, first), ("", "")] {
        match line(terminal, before, prompt, first)? {
            Line::Text(text) if text.trim().is_empty() => {}
            Line::Text(mut text) => {
                let more = crate::gate::clean::clean(&terminal.take_pasted());
                if !more.trim().is_empty() {
                    terminal.write(&format!("{}\n", more.trim_end()))?;
                    text = format!("{text}\n{more}");
                }
                return Ok(Text::Given(text.trim().to_owned()));
            }
            Line::Escape => break,
            Line::Interrupt | Line::End => return Ok(Text::End),
        }
    }
    Ok(Text::Nothing)
}

/// The way out of a question, with the cursor shown.
pub(crate) fn interrupted(terminal: &dyn Terminal) -> anyhow::Error {
    // The way out must not depend on the terminal still being there.
    let _ = terminal.write(&format!("{SHOW_CURSOR}\n"));
    Error::new(Kind::Interrupted, "interrupted").into()
}

#[cfg(test)]
pub(crate) mod scripted {
    //! A terminal whose keys are known beforehand.

    use std::cell::RefCell;
    use std::collections::VecDeque;

    use super::*;

    /// Types the characters of a script: `\r` is Enter, `\x03` Ctrl-C, the end of the script the
    /// end of input.
    pub(crate) struct Scripted {
        input: RefCell<VecDeque<char>>,
        output: RefCell<String>,
        pub(crate) discarded: RefCell<u32>,
        pub(crate) width: usize,
        pub(crate) height: usize,
        bursts: bool,
    }

    impl Scripted {
        pub(crate) fn new(script: &str) -> Self {
            Self {
                input: RefCell::new(script.chars().collect()),
                output: RefCell::default(),
                discarded: RefCell::default(),
                width: 80,
                height: 24,
                bursts: false,
            }
        }

        /// Each of these arrives at once, and the next one later.
        pub(crate) fn bursts(bursts: &[&str]) -> Self {
            Self { bursts: true, ..Self::new(&bursts.join("\0")) }
        }

        pub(crate) fn output(&self) -> String {
            self.output.borrow().clone()
        }

        pub(crate) fn unread(&self) -> String {
            self.input.borrow().iter().collect()
        }
    }

    impl Terminal for Scripted {
        fn write(&self, text: &str) -> Result<()> {
            self.output.borrow_mut().push_str(text);
            Ok(())
        }

        fn read_key(&self) -> Result<Key> {
            let mut input = self.input.borrow_mut();
            while input.pop_front_if(|c| *c == '\0').is_some() {}
            Ok(match input.pop_front() {
                None | Some('\x04') => Key::End,
                Some('\x03') => Key::Interrupt,
                Some('\x1b') => Key::Escape,
                Some('\r' | '\n') => Key::Enter,
                Some(c) => Key::Char(c),
            })
        }

        fn read_line(&self, _prompt: &str, first: &str) -> Result<Line> {
            let mut text = first.to_owned();
            self.write(first)?;
            loop {
                match self.read_key()? {
                    Key::Char('\x15') => text.clear(),
                    Key::Char(c) => text.push(c),
                    Key::Enter => return Ok(Line::Text(text)),
                    Key::Escape | Key::Other => return Ok(Line::Escape),
                    Key::Interrupt => return Ok(Line::Interrupt),
                    Key::End => return Ok(Line::End),
                }
            }
        }

        fn yes_or_no(&self, question: &str) -> Result<Option<bool>> {
            self.write(&format!("{question} [y/N] "))?;
            loop {
                return Ok(match key(self, &|| false)?.unwrap_or(Key::End) {
                    Key::Char('y' | 'Y') => Some(true),
                    Key::Char('n' | 'N') | Key::Enter => Some(false),
                    Key::Escape | Key::End => None,
                    _ => continue,
                });
            }
        }

        fn one_of(&self, items: &[String], default: Option<usize>) -> Result<Option<usize>> {
            self.write(&items.join("\n"))?;
            let mut at = default;
            loop {
                match key(self, &|| false)?.unwrap_or(Key::End) {
                    Key::Char('j') => at = Some(at.map_or(0, |at| (at + 1) % items.len())),
                    Key::Enter if at.is_some() => return Ok(at),
                    Key::Escape | Key::End | Key::Char('q') => return Ok(None),
                    _ => {}
                }
            }
        }

        fn take_pasted(&self) -> String {
            let mut pasted = String::new();
            let mut input = self.input.borrow_mut();
            while let Some(c) = input.front().filter(|c| self.bursts && **c != '\0') {
                pasted.push(if *c == '\r' { '\n' } else { *c });
                input.pop_front();
            }
            pasted
        }

        fn discard_typed(&self) {
            *self.discarded.borrow_mut() += 1;
        }

        fn width(&self) -> usize {
            self.width
        }

        fn height(&self) -> usize {
            self.height
        }

        fn colors(&self) -> bool {
            false
        }
    }
}
