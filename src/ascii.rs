//! ASCII output for terminals whose locale is not UTF-8: git-cowork's own symbols are replaced one
//! for one, so that columns stay aligned. Text written by people and models is unchanged.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// True if terminals get ASCII.
static ON: AtomicBool = AtomicBool::new(false);

/// Determines the locale's character set from the variables (POSIX, 8.2): the first one that is set
/// and not empty decides; without any the locale is `C`. Windows does not set these variables.
pub(crate) fn follow(env: &BTreeMap<String, String>) {
    let set = |name: &&str| env.get(*name).is_some_and(|value| !value.is_empty());
    let decides = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(set);
    let locale = decides.map(|name| env[name].to_lowercase()).unwrap_or_default();
    let utf8 = locale.contains("utf-8") || locale.contains("utf8");
    ON.store(!utf8 && cfg!(unix), Ordering::Relaxed);
}

/// True if terminals get ASCII.
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Returns the text as a terminal should show it.
pub(crate) fn on_terminal(text: &str) -> Cow<'_, str> {
    match is_on() && !text.is_ascii() {
        true => text.chars().map(plain).collect::<String>().into(),
        false => text.into(),
    }
}

const fn plain(c: char) -> char {
    match c {
        '─' | '–' | '—' | '·' | '\u{2212}' => '-',
        '━' => '=',
        '│' => '|',
        '✓' | '✔' => '+',
        '✗' | '✖' | '✘' | '✕' | '×' => 'x',
        '▶' | '›' | '→' | '❯' | '▸' => '>',
        '●' | '•' | '◌' => '*',
        '↩' => '<',
        '↑' => '^',
        '█' => '#',
        '░' => '.',
        '…' => '~',
        '⏎' => '|',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        '⠋' | '⠴' => '-',
        '⠙' | '⠦' => '\\',
        '⠸' | '⠧' => '|',
        '⠇' | '⠏' => '/',
        _ => c,
    }
}

/// Writer for a terminal; each write must contain whole characters.
pub(crate) struct Spelled<W>(pub W);

impl<W: Write> Write for Spelled<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(on_terminal(text).as_bytes()).map(|()| bytes.len()),
            Err(_) => self.0.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
