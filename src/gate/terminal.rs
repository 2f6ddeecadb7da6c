//! The terminal functions that a gate needs, few enough to be scripted in tests.
//!
//! The real terminal is [`crate::gate::Tty`]. Questions use [`key`] and [`line`], which turn Ctrl-C
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
    /// Arrow keys and others without a function here.
    Other,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, end of input or a closed terminal.
    End,
}

/// A line of text as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Ended with Enter; the text is without the line feed.
    Text(String),
    /// Cancelled with Escape.
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D on an empty line, end of input or a closed terminal.
    End,
}

/// A person's terminal.
pub trait Terminal {
    /// Writes text unchanged.
    ///
    /// # Errors
    /// The terminal cannot be written.
    fn write(&self, text: &str) -> Result<()>;

    /// Waits for a key, without echo.
    ///
    /// # Errors
    /// The terminal cannot be read, for a reason other than being closed.
    fn read_key(&self) -> Result<Key>;

    /// Like [`Terminal::read_key`], but returns `None` when `ends` becomes true.
    ///
    /// # Errors
    /// Like [`Terminal::read_key`].
    fn read_key_unless(&self, ends: &dyn Fn() -> bool) -> Result<Option<Key>> {
        if ends() { Ok(None) } else { self.read_key().map(Some) }
    }

    /// Waits for a line, echoed and editable, starting with the text `first`. `prompt` was already
    /// written.
    ///
    /// # Errors
    /// Like [`Terminal::read_key`].
    fn read_line(&self, prompt: &str, first: &str) -> Result<Line>;

    /// Asks for a yes or a no. `None` on Escape or a closed terminal.
    ///
    /// # Errors
    /// Interrupted by Ctrl-C or another signal.
    fn yes_or_no(&self, question: &str) -> Result<Option<bool>>;

    /// Lets the person choose an item by its index; `default` is selected at first. `None` as for
    /// [`Terminal::yes_or_no`].
    ///
    /// # Errors
    /// Interrupted by Ctrl-C or another signal.
    fn one_of(&self, items: &[String], default: Option<usize>) -> Result<Option<usize>>;

    /// Takes the input that arrived together with the key or line just read (a paste), with line
    /// feeds for Enter; empty if there is none.
    fn take_pasted(&self) -> String {
        String::new()
    }

    /// Discards input not read yet, so that it does not answer the next question.
    fn discard_typed(&self);

    /// Columns.
    fn width(&self) -> usize;

    /// Rows; 0 if unknown.
    fn height(&self) -> usize;

    /// True if colours are enabled.
    fn colors(&self) -> bool;
}

/// Shows the cursor if anything has hidden it.
pub(crate) const SHOW_CURSOR: &str = "\x1b[?25h";

/// The next key, `None` when `ends` becomes true; never [`Key::Interrupt`].
///
/// # Errors
/// Interrupted by Ctrl-C, with the cursor shown.
pub(crate) fn key(terminal: &dyn Terminal, ends: &dyn Fn() -> bool) -> Result<Option<Key>> {
    match terminal.read_key_unless(ends)? {
        Some(Key::Interrupt) => Err(interrupted(terminal)),
        key => Ok(key),
    }
}

/// Like [`menu_key`], but returns `None` when `ends` becomes true.
///
/// # Errors
/// Like [`key`].
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

/// The next key of a menu. A paste is discarded with a message, except after a key in `texts`,
/// which text may follow.
///
/// # Errors
/// Like [`key`].
pub(crate) fn menu_key(terminal: &dyn Terminal, texts: &[char]) -> Result<Key> {
    // `ends` is never true here, so the wait does not end without a key.
    Ok(menu_key_unless(terminal, texts, &|| false)?.unwrap_or(Key::End))
}

/// Returns true, with a message, if the key just read was part of a paste.
pub(crate) fn was_pasted(terminal: &dyn Terminal) -> Result<bool> {
    let pasted = !terminal.take_pasted().chars().all(|c| c == '\n');
    if pasted {
        terminal.write("that was a paste, not a key: nothing is decided\n")?;
    }
    Ok(pasted)
}

/// The next line typed after a prompt; never [`Line::Interrupt`]. `before` is the text in front of
/// the prompt, and `first` is the text with which the line starts.
///
/// # Errors
/// Like [`key`].
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

/// The answer to a prompt for text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// The text, trimmed and not empty.
    Given(String),
    /// Two empty lines, or Escape.
    Nothing,
    /// The terminal is closed.
    End,
}

/// Asks for text, which may have several lines if pasted. After an empty line it asks once more:
/// that may be the Enter after a menu key.
pub(crate) fn text(terminal: &dyn Terminal, prompt: &str) -> Result<Text> {
    text_from(terminal, "", prompt, "")
}

/// Like [`text`], with the text `before` in front of the prompt.
pub(crate) fn text_behind(terminal: &dyn Terminal, before: &str, prompt: &str) -> Result<Text> {
    text_from(terminal, before, prompt, "")
}

/// Like [`text_behind`], with `first` already typed on the line.
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

/// The error for Ctrl-C; shows the cursor.
pub(crate) fn interrupted(terminal: &dyn Terminal) -> anyhow::Error {
    // Ignore errors: the terminal may be closed.
    let _ = terminal.write(&format!("{SHOW_CURSOR}\n"));
    Error::new(Kind::Interrupted, "interrupted").into()
}

#[cfg(test)]
pub(crate) mod scripted {
    //! A terminal with scripted keys.

    use std::cell::RefCell;
    use std::collections::VecDeque;

    use super::*;

    /// Types the characters of a script: `\r` is Enter, `\x03` is Ctrl-C, and the end of the script
    /// is the end of input.
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

        /// The characters of a string arrive together; the next string arrives later.
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
