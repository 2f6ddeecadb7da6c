//! Keeps what is typed ahead out of the live status line: echo is off while there is one.
//!
//! Only where the terminal's keyboard is ours; whoever prompts gets it back as it was.

pub(super) use imp::hide;
pub use imp::restore;

#[cfg(unix)]
mod imp {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::stdio::stdin;
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};

    static HIDDEN: AtomicBool = AtomicBool::new(false);

    /// Turns echo off, if it is on.
    pub(in crate::ui) fn hide() {
        if !HIDDEN.load(Ordering::Relaxed) && set(false) {
            HIDDEN.store(true, Ordering::Relaxed);
        }
    }

    /// Turns echo on again, if [`hide`] turned it off. For every way out, also from another
    /// thread.
    pub fn restore() {
        if HIDDEN.swap(false, Ordering::Relaxed) {
            set(true);
        }
    }

    /// Whether it was the other way round before.
    fn set(on: bool) -> bool {
        // A job in the background would be stopped for touching the terminal.
        let ours = tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp());
        let Some(mut modes) = ours.then(|| tcgetattr(stdin()).ok()).flatten() else { return false };
        if modes.local_modes.contains(LocalModes::ECHO) == on {
            return false;
        }
        modes.local_modes.set(LocalModes::ECHO, on);
        tcsetattr(stdin(), OptionalActions::Now, &modes).is_ok()
    }
}

#[cfg(not(unix))]
mod imp {
    pub(in crate::ui) const fn hide() {}

    /// Nothing was hidden.
    pub const fn restore() {}
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    //! In a pseudo-terminal: this test binary runs itself as the program.

    use std::process::Command;

    use rexpect::session::spawn_command;
    use rustix::stdio::stdin;
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    use super::*;

    /// A file whose presence makes [`program`] more than an empty test.
    const MARK: &str = "echo-program";

    /// Not a test but the program under test.
    #[test]
    fn program() {
        if !std::path::Path::new(MARK).exists() {
            return;
        }
        let read = || {
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).unwrap();
        };
        let say = |text: &str| std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        // The terminal of these tests begins without.
        let mut modes = tcgetattr(stdin()).unwrap();
        modes.local_modes.insert(LocalModes::ECHO);
        tcsetattr(stdin(), OptionalActions::Now, &modes).unwrap();
        hide();
        hide();
        say("[hidden]").unwrap();
        read();
        restore();
        restore();
        say("[shown]").unwrap();
        read();
        say("[end]").unwrap();
    }

    #[test]
    fn keys_are_seen_only_when_nothing_is_live() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(MARK), "").unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "ui::echo::tests::program", "--nocapture", "--test-threads=1"])
            .current_dir(folder.path());
        let mut session = spawn_command(command, Some(20_000)).unwrap();
        session.exp_string("[hidden]").unwrap();
        session.send_line("secret").unwrap();
        let between = session.exp_string("[shown]").unwrap();
        assert!(!between.contains("secret"), "{between:?}");
        session.send_line("open").unwrap();
        let between = session.exp_string("[end]").unwrap();
        assert!(between.contains("open"), "{between:?}");
    }
}
