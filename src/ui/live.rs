//! The live lines: the last lines of a terminal, which are redrawn as things change.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use super::out::Out;

/// The output, and its width.
#[derive(Clone)]
pub(super) struct Screen {
    out: Arc<Mutex<Out>>,
    width: Arc<AtomicUsize>,
    /// The current live line is complete: the next one goes below it.
    ended: Arc<AtomicBool>,
}

impl Screen {
    pub(super) fn new(out: Out, width: usize) -> Self {
        let width = Arc::new(AtomicUsize::new(width));
        Self { out: Arc::new(Mutex::new(out)), width, ended: Arc::default() }
    }

    pub(super) fn put(&self, text: &str) {
        self.lock().put(text);
    }

    pub(super) fn broken(&self) -> bool {
        self.lock().broken()
    }

    /// Width in columns; 0 = unknown.
    pub(super) fn width(&self) -> usize {
        self.width.load(Ordering::Relaxed)
    }

    pub(super) fn resize(&self, width: usize) {
        self.width.store(width, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn moved(&self, times: usize, way: char) -> io::Result<()> {
        if times > 0 {
            self.put(&format!("\x1b[{times}{way}"));
        }
        Ok(())
    }
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("width", &self.width).finish_non_exhaustive()
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        let width = Self::width(self);
        u16::try_from(width).ok().filter(|width| *width > 0).unwrap_or(80)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.put(&format!("{text}\r\n"));
        Ok(())
    }

    /// indicatif fills each line with spaces up to the width that it knows, and lets the terminal
    /// wrap there. Here, lines end with a line break instead, because the width may just have
    /// changed.
    fn write_str(&self, text: &str) -> io::Result<()> {
        if !text.is_empty() && text.bytes().all(|byte| byte == b' ') {
            self.ended.store(true, Ordering::Relaxed);
        } else if self.ended.swap(false, Ordering::Relaxed) {
            self.put(&format!("\r\n{text}"));
        } else {
            self.put(text);
        }
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.ended.store(false, Ordering::Relaxed);
        self.put("\r\x1b[2K");
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Maximum number of redraws per second; more would not be visible.
const REDRAWS: u8 = 60;

/// The number of live lines on the screen.
static ROWS: AtomicUsize = AtomicUsize::new(0);

/// Formats a line for code that cannot remove the live lines first, such as a signal handler. The
/// line replaces the live lines; enough empty lines follow it for the live lines to be redrawn
/// there.
pub fn above(line: &str) -> String {
    above_rows(line, ROWS.load(Ordering::Relaxed))
}

fn above_rows(line: &str, rows: usize) -> String {
    let up = match rows {
        0 => String::new(),
        1 => "\x1b[J".to_owned(),
        _ => format!("\x1b[{}A\x1b[J", rows - 1),
    };
    format!("\r{up}{line}\n{}", "\n".repeat(rows.saturating_sub(1)))
}

/// The live lines, below all permanent output.
pub(super) struct Live {
    all: MultiProgress,
    lines: Vec<ProgressBar>,
    shown: Vec<String>,
}

impl Live {
    pub(super) fn new(screen: &Screen) -> Self {
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(screen.clone()), REDRAWS);
        Self { all: MultiProgress::with_draw_target(target), lines: Vec::new(), shown: Vec::new() }
    }

    /// Shows these lines. None of them may be wider than the screen.
    pub(super) fn show(&mut self, lines: Vec<String>) {
        if lines == self.shown {
            return;
        }
        if lines.len() != self.lines.len() {
            self.hide();
            self.lines.iter().for_each(|line| self.all.remove(line));
            let style = ProgressStyle::with_template("{msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            let new = || self.all.add(ProgressBar::new_spinner().with_style(style.clone()));
            self.lines = lines.iter().map(|_| new()).collect();
        }
        for (line, text) in self.lines.iter().zip(&lines) {
            line.set_message(text.clone());
        }
        ROWS.store(lines.len(), Ordering::Relaxed);
        self.shown = lines;
    }

    /// True if live lines are on the screen.
    pub(super) fn is_shown(&self) -> bool {
        !self.shown.is_empty()
    }

    /// Removes the lines; leaves the cursor at the start of an empty line.
    pub(super) fn hide(&mut self) {
        if !std::mem::take(&mut self.shown).is_empty() {
            // `Screen` already remembers a failed write.
            let _ = self.all.clear();
            ROWS.store(0, Ordering::Relaxed);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.hide();
        // Otherwise, indicatif would draw a remaining line again.
        self.lines.iter().for_each(|line| self.all.remove(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::testing::Captured;

    #[test]
    fn a_line_written_above_stays_and_the_live_lines_follow_it() {
        for (rows, lines) in [(2, &["one", "two"][..]), (1, &["one"]), (3, &["a", "b", "c"])] {
            let out = Captured::default();
            let screen = Screen::new(Out::new(Box::new(out.clone())), 40);
            let mut live = Live::new(&screen);
            let shown = |mark: &str| lines.iter().map(|line| format!("{line}{mark}")).collect();
            screen.put("before\n");
            live.show(shown(""));
            screen.put(&above_rows("stopping", rows));
            live.show(shown("!"));
            let mut terminal =
                vt100::Parser::new(20.try_into().unwrap(), 40.try_into().unwrap(), 0);
            terminal.process(out.text().replace('\n', "\r\n").as_bytes());
            let now: Vec<String> = shown("!");
            let all = format!("before\nstopping\n{}", now.join("\n"));
            assert_eq!(terminal.screen().contents().trim_end(), all);
            live.hide();
            assert!(!live.is_shown());
        }
    }
}
