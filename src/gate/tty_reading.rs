//! Reading keys and lines on Unix: byte by byte, in raw mode.

use std::io::Write as _;
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
use crate::keyboard;
use crate::typed_line::Edit;

/// The terminal modes to restore after raw mode.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

pub(super) fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    // The shell that has put this job into the background has set its own modes.
    if let Some(modes) = before.filter(|_| !keyboard::is_in_background()) {
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &modes);
    }
}

/// Saves the current modes, which [`restore`] sets again, no matter what changes them meanwhile.
pub(super) fn remember() -> Option<Remembered> {
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(tcgetattr(stdin()).ok()?);
    Some(Remembered)
}

/// Restores the modes when dropped.
pub(super) struct Remembered;

impl Drop for Remembered {
    fn drop(&mut self) {
        restore();
    }
}

pub(super) fn discard() {
    if !keyboard::is_in_background() {
        let _ = tcflush(stdin(), QueueSelector::IFlush);
    }
}

/// Waits until this job is in the foreground; false if a stop is requested or `ends` first. The
/// system would stop a background job that reads the terminal, and a stopped one gets no signal.
pub(super) fn wait_for_foreground(ends: &dyn Fn() -> bool) -> bool {
    let mut told = false;
    while keyboard::is_in_background() {
        if interrupt::is_requested() || ends() {
            return false;
        }
        if !told {
            let line = "git-cowork waits in the background for your answer; go on: fg\n";
            let _ = std::io::stderr().write_all(line.as_bytes());
            told = true;
        }
        std::thread::sleep(ASKED_AGAIN);
    }
    true
}

/// Input in the kernel's queue, or arriving faster than typing.
pub(super) fn pasted() -> String {
    const PATIENCE: std::time::Duration = std::time::Duration::from_millis(15);
    let Ok(_raw) = Raw::on(&|| false) else { return String::new() };
    let mut bytes = Vec::new();
    loop {
        std::thread::sleep(PATIENCE);
        // A closed terminal never has input.
        let Ok(waiting @ 1..) = rustix::io::ioctl_fionread(stdin()) else { break };
        let mut more = vec![0; usize::try_from(waiting).unwrap_or(1)];
        match rustix::io::read(stdin(), &mut more[..]) {
            Ok(read @ 1..) => bytes.extend_from_slice(&more[..read]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&bytes).replace("\r\n", "\n").replace('\r', "\n")
}

/// How long a background job waits before it looks again whether it is in the foreground.
const ASKED_AGAIN: std::time::Duration = std::time::Duration::from_millis(100);
/// How long to wait for the hang-up signal.
const HEARD_WITHIN: std::time::Duration = std::time::Duration::from_secs(1);

/// Raw mode until dropped.
struct Raw {
    modes: Termios,
}

impl Raw {
    /// Waits for the foreground first.
    fn on(ends: &dyn Fn() -> bool) -> rustix::io::Result<Self> {
        if !wait_for_foreground(ends) {
            return Err(Errno::INTR);
        }
        let before = tcgetattr(stdin())?;
        let mut modes = before.clone();
        modes.make_raw();
        modes.output_modes = before.output_modes;
        // A read times out after a tenth of a second, to check for signals.
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = 1;
        let raw = Self { modes };
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        tcsetattr(stdin(), OptionalActions::Drain, &raw.modes)?;
        Ok(raw)
    }

    /// Returns a byte that arrives within a tenth of a second.
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

/// The meaning of a byte, or of a byte sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Key(Key),
    /// A key that only edits a line.
    Edit(Edit),
    /// A key is no longer needed.
    Ends,
}

/// The lines typed in this run, oldest first.
static TYPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

pub(super) fn key(ends: &dyn Fn() -> bool) -> Result<Option<Key>> {
    loop {
        let Ok(raw) = Raw::on(ends) else { return Ok((!ends()).then(closed)) };
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
        let Ok(raw) = Raw::on(&|| false) else {
            return Ok(if closed() == Key::Interrupt { Line::Interrupt } else { Line::End });
        };
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
                // As in a shell, Ctrl-D ends the input only at the start of a line.
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

/// Adds a line to the history, unless it repeats the last one.
fn remember_line(text: &str) {
    let mut typed = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
    if !text.trim().is_empty() && typed.last().map(String::as_str) != Some(text) {
        typed.push(text.to_owned());
    }
}

/// The next input; `None` is Ctrl-Z, or this job is in the background.
fn read(raw: &Raw, ends: &dyn Fn() -> bool) -> Option<Input> {
    let mut byte = [0];
    let read = loop {
        if keyboard::is_in_background() {
            return None;
        }
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
        // A read is interrupted only by a signal whose handler does not restart it: such a signal
        // asks this process to stop.
        Err(Errno::INTR) => Key::Interrupt,
        Err(_) => closed(),
    };
    Some(Input::Key(key))
}

/// The terminal is closed: waits for the hang-up signal, which may arrive a little later.
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

/// Escape alone, or the whole sequence of a function key.
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

/// Reads the rest of a UTF-8 character.
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

/// True if the terminal is closed: its modes cannot be read then. Tells a closed terminal from a
/// Ctrl-D, since both are an end of input.
fn hung_up() -> bool {
    tcgetattr(stdin()).is_err()
}

/// Acts like Ctrl-Z outside raw mode: stops the whole job, including the git that started this
/// process. Returns when the job is continued. Does nothing in the background.
fn suspend() {
    if !keyboard::is_in_background() {
        let _ = rustix::process::kill_current_process_group(Signal::TSTP);
    }
}
