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

    /// Runs a program in a terminal.
    pub fn in_terminal(&self, mut command: std::process::Command, args: &[&str]) -> Terminal {
        command.args(args).env("TERM", "xterm-256color").env("NO_COLOR", "1");
        let options = Options::new().timeout_ms(Some(PATIENCE)).strip_ansi_escape_codes(true);
        Terminal { session: spawn_with_options(command, options).unwrap() }
    }
}

impl Terminal {
    /// Waits for a text, which must come after what was waited for before; what stood between.
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

    /// Waits for the end: exit code (128 + n after signal n) and what was still printed.
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
