//! A person at a terminal: `git-cowork` in a pty.

use rexpect::process::WaitStatus;
use rexpect::reader::Options;
use rexpect::session::{PtySession, spawn_with_options};

use super::sandbox::Sandbox;

/// Milliseconds a person waits for a text to appear.
const PATIENCE: u64 = 60_000;

/// `git-cowork` with somebody at the keyboard.
pub struct Terminal {
    session: PtySession,
}

impl Sandbox {
    /// Runs `git-cowork` in a terminal.
    pub fn terminal(&self, args: &[&str]) -> Terminal {
        self.in_terminal(self.command(env!("CARGO_BIN_EXE_git-cowork")), args)
    }

    /// Runs `git cowork` in a terminal, as a child of git.
    pub fn git_terminal(&self, args: &[&str]) -> Terminal {
        self.in_terminal(self.command("git"), &[&["cowork"], args].concat())
    }

    /// Runs `git-cowork` in a terminal with this many columns whose screen can be read.
    pub fn screen(&self, columns: u16, args: &[&str]) -> Screen {
        self.screen_of((columns, ROWS), args)
    }

    /// Runs `git-cowork` on a screen of this many columns and rows.
    pub fn screen_of(&self, size: (u16, u16), args: &[&str]) -> Screen {
        self.screen_in("exec", "", size, args)
    }

    /// Runs `git-cowork` in a terminal that echoes; a shell then prints the terminal's final state.
    pub fn screen_of_a_shell(&self, columns: u16, args: &[&str]) -> Screen {
        let then = "; echo ended $?; stty -a";
        self.screen_in("stty echo; trap : INT;", then, (columns, ROWS), args)
    }

    fn screen_in(
        &self,
        first: &str,
        then: &str,
        (columns, rows): (u16, u16),
        args: &[&str],
    ) -> Screen {
        let mut command = self.command("sh");
        let program = env!("CARGO_BIN_EXE_git-cowork");
        let script = format!(
            "unset COLUMNS; stty cols {columns} rows {rows}; {first} '{program}' \"$@\"{then}"
        );
        command.args(["-c", &script, "sh"]).args(args).env("TERM", "xterm-256color");
        let options = Options::new().timeout_ms(Some(PATIENCE)).strip_ansi_escape_codes(false);
        let parser = vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
        Screen {
            session: spawn_with_options(command, options).unwrap(),
            parser,
            raw: String::new(),
        }
    }

    /// Runs a program in a terminal.
    pub fn in_terminal(&self, mut command: std::process::Command, args: &[&str]) -> Terminal {
        command.args(args).env("TERM", "xterm-256color").env("NO_COLOR", "1");
        let options = Options::new().timeout_ms(Some(PATIENCE)).strip_ansi_escape_codes(true);
        Terminal { session: spawn_with_options(command, options).unwrap() }
    }
}

/// Rows of a [`Screen`].
const ROWS: u16 = 60;

/// `git-cowork` in a terminal whose screen can be read.
pub struct Screen {
    session: PtySession,
    parser: vt100::Parser,
    /// Everything that was written.
    pub raw: String,
}

impl Screen {
    /// Waits until the screen fulfils this; returns the screen.
    #[track_caller]
    pub fn shows(&mut self, looks: impl Fn(&str) -> bool) -> String {
        let begun = std::time::Instant::now();
        loop {
            let now = self.parser.screen().contents();
            if looks(&now) {
                return now;
            }
            match self.session.exp_regex("(?s).+") {
                Ok((_, text)) => self.take(&text),
                Err(error) => panic!("{error}, after:\n{now}"),
            }
            assert!(begun.elapsed().as_secs() < 60, "this came instead:\n{now}");
        }
    }

    /// Types, without Enter.
    pub fn types(&mut self, keys: &str) {
        self.session.send(keys).unwrap();
        self.session.flush().unwrap();
    }

    /// Makes the terminal this many columns wide.
    pub fn resizes(&mut self, columns: u16) {
        let terminal = self.session.process().get_file_handle().unwrap();
        let size =
            rustix::termios::Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&terminal, size).unwrap();
        self.parser.screen_mut().set_size(ROWS.try_into().unwrap(), columns.try_into().unwrap());
    }

    /// The current content of the screen, with its colours.
    pub fn seen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// Kills the program with SIGKILL, without a chance to clean up.
    pub fn kill(mut self) {
        let process = self.session.process_mut();
        process.signal(rexpect::process::Signal::SIGKILL).unwrap();
        process.wait().unwrap();
    }

    /// Converts each character back to a byte: the terminal is read byte by byte, each as a
    /// character.
    fn take(&mut self, text: &str) {
        self.raw.push_str(text);
        let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        self.parser.process(&bytes);
    }

    /// Waits for the end; returns the exit code and the screen.
    #[track_caller]
    pub fn ends(mut self) -> (i32, String) {
        let code = self.runs_out();
        (code, self.parser.screen().contents())
    }

    /// Waits for the end and returns the exit code; the screen can still be read.
    #[track_caller]
    pub fn runs_out(&mut self) -> i32 {
        let rest = self.session.exp_eof().unwrap();
        self.take(&rest);
        let WaitStatus::Exited(_, code) = self.session.process().wait().unwrap() else {
            panic!("ended by a signal");
        };
        code
    }
}

impl Terminal {
    /// Waits for a text after the last one that was waited for; returns the text in between.
    #[track_caller]
    pub fn sees(&mut self, text: &str) -> String {
        match self.session.exp_string(text) {
            Ok(before) => before,
            Err(error) => panic!("waiting for '{text}': {error}"),
        }
    }

    /// Types, without Enter.
    pub fn types(&mut self, keys: &str) {
        self.session.send(keys).unwrap();
        self.session.flush().unwrap();
    }

    /// Types a line.
    pub fn enters(&mut self, line: &str) {
        self.session.send_line(line).unwrap();
        self.session.flush().unwrap();
    }

    /// Ctrl and a letter.
    pub fn control(&mut self, letter: char) {
        self.session.send_control(letter).unwrap();
    }

    /// Sends the program a signal.
    pub fn signal(&mut self, signal: rustix::process::Signal) {
        let signal = rexpect::process::Signal::try_from(signal.as_raw()).unwrap();
        self.session.process_mut().signal(signal).unwrap();
    }

    /// Waits for the end; returns the exit code (128 + n after signal n) and the remaining output.
    #[track_caller]
    pub fn ends(mut self) -> (i32, String) {
        let rest = match self.session.exp_eof() {
            Ok(rest) => rest,
            Err(error) => panic!("waiting for the end: {error}"),
        };
        let code = match self.session.process().wait().unwrap() {
            WaitStatus::Exited(_, code) => code,
            WaitStatus::Signaled(_, signal, _) => 128 + signal as i32,
            other => panic!("{other:?}"),
        };
        (code, rest)
    }
}
