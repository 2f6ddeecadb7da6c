//! Keys and lines as they are read on Unix: byte by byte, in raw mode.

use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::process::Signal;
use rustix::stdio::stdin;
use rustix::termios::{
    OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcsetattr,
};

use super::{Key, Line, Result, Terminal};
use crate::gate::line_edit::LineEdit;
use crate::interrupt;
use crate::typed_line::Edit;

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
    /// A key that does something to a line only.
    Edit(Edit),
    /// Nobody need press a key any more.
    Ends,
}

/// The lines that were typed in this run, the newest last.
static TYPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

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

pub(super) fn line(terminal: &dyn Terminal, prompt: &str, first: &str) -> Result<Line> {
    let typed = TYPED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut line = LineEdit::new(prompt, terminal.width(), &typed);
    let shown: String = first.chars().map(|c| line.apply(Edit::Insert(c))).collect();
    terminal.write(&shown)?;
    loop {
        let Ok(raw) = Raw::on() else { return Ok(Line::End) };
        while let Some(input) = read(&raw, &|| false) {
            let edit = match input {
                Input::Key(Key::Char(c)) => Edit::Insert(c),
                Input::Edit(edit) => edit,
                Input::Key(Key::Enter) => {
                    terminal.write(&format!("{}\n", line.leave()))?;
                    remember_line(&line.text());
                    return Ok(Line::Text(line.text()));
                }
                Input::Key(Key::Escape) => {
                    terminal.write(&format!("{}\n", line.leave()))?;
                    return Ok(Line::Escape);
                }
                Input::Key(Key::Interrupt) => return Ok(Line::Interrupt),
                // As in a shell: Ctrl-D ends the input only at the start of a line.
                Input::Key(Key::End) if line.is_empty() || hung_up() => {
                    terminal.write("\n")?;
                    return Ok(Line::End);
                }
                Input::Key(Key::End | Key::Other) | Input::Ends => continue,
            };
            terminal.write(&line.apply(edit))?;
        }
        drop(raw);
        suspend();
        terminal.write(&line.again())?;
    }
}

/// Keeps a line for the next ones, once.
fn remember_line(text: &str) {
    let mut typed = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
    if !text.trim().is_empty() && typed.last().map(String::as_str) != Some(text) {
        typed.push(text.to_owned());
    }
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
            0x1a => return None,
            0x1b => return Some(escape(raw)),
            control if Edit::of_control(control).is_some() => {
                return Edit::of_control(control).map(Input::Edit);
            }
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

/// Escape alone, or a function key's sequence, read whole.
fn escape(raw: &Raw) -> Input {
    let Some(first) = raw.soon() else { return Input::Key(Key::Escape) };
    let mut sequence = Vec::new();
    if first == b'[' || first == b'O' {
        while let Some(byte) = raw.soon() {
            sequence.push(byte);
            if (0x40..=0x7e).contains(&byte) {
                break;
            }
        }
    }
    Edit::of_sequence(&sequence).map_or(Input::Key(Key::Other), Input::Edit)
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
