//! The keyboard modes of the terminal. While live lines are displayed, keys are not echoed into
//! them, and if the caller reads keys (a person may type a note for the actor), they arrive one by
//! one. Prompts and the exiting process restore the previous modes.
//!
//! Ctrl-C remains a signal. The modes are changed only in the terminal's foreground process group:
//! a background job would be stopped for doing so.

#[cfg(unix)]
pub(crate) use imp::is_in_background;
pub(crate) use imp::{give_back, give_back_for_good, lend, read, suspend, take};

#[cfg(unix)]
mod imp {
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::time::Duration;

    use rustix::process::{Signal, getpgrp, getppid, getsid};
    use rustix::stdio::stdin;
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
    };

    /// The state of the keyboard.
    struct Keyboard {
        /// The modes to restore; `None` if they are unchanged.
        before: Option<Termios>,
        /// Keys arrive one by one.
        reads: bool,
        /// The process is ending: the modes are not changed any more.
        is_over: bool,
    }

    static KEYBOARD: Mutex<Keyboard> =
        Mutex::new(Keyboard { before: None, reads: false, is_over: false });

    /// Value that disables a special character (`_POSIX_VDISABLE`).
    const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };
    /// Time to wait for the rest of a paste.
    const PATIENCE: Duration = Duration::from_millis(15);
    /// Input of at least this many bytes at once is a paste, not typing.
    const PASTED: usize = 64;

    fn lock() -> MutexGuard<'static, Keyboard> {
        KEYBOARD.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ours() -> bool {
        tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
    }

    /// True in a background job that a shell can bring to the foreground again: it would be stopped
    /// for reading from the terminal.
    pub(crate) fn is_in_background() -> bool {
        // Nobody brings back a job whose shell is gone; reading is an error there.
        let has_shell = || getsid(getppid()).ok() == getsid(None).ok();
        tcgetpgrp(stdin()).is_ok_and(|group| group != getpgrp()) && has_shell()
    }

    /// Turns echo off; if `reads`, keys arrive one by one, including Ctrl-Z. Also applies if
    /// another process has changed the modes in the meantime, as a shell does when this job is
    /// stopped.
    pub(crate) fn take(reads: bool) {
        let mut keyboard = lock();
        if keyboard.is_over || !is_ours() {
            return;
        }
        let Ok(now) = tcgetattr(stdin()) else { return };
        let mut modes = now.clone();
        modes.local_modes.remove(LocalModes::ECHO);
        if reads {
            modes.local_modes.remove(LocalModes::ICANON);
            // A child that reads from the terminal still blocks until a key is pressed.
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
            modes.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
        }
        if modes.local_modes != now.local_modes
            && tcsetattr(stdin(), OptionalActions::Now, &modes).is_err()
        {
            return;
        }
        keyboard.before.get_or_insert(now);
        keyboard.reads = reads;
    }

    /// Restores the modes, if they were changed. Can be called from any thread.
    pub(crate) fn give_back() {
        let mut keyboard = lock();
        keyboard.reads = false;
        if let Some(before) = keyboard.before.take() {
            set(&before, LocalModes::ECHO | LocalModes::ICANON);
        }
    }

    /// Restores the modes permanently, before the process exits.
    pub(crate) fn give_back_for_good() {
        give_back();
        lock().is_over = true;
    }

    /// Restores line input and Ctrl-Z until the next [`take`]: another program, such as a hook with
    /// a prompt, may read the keyboard. Echo stays off.
    pub(crate) fn lend() {
        let mut keyboard = lock();
        if std::mem::take(&mut keyboard.reads)
            && let Some(before) = &keyboard.before
        {
            set(before, LocalModes::ICANON);
        }
    }

    /// Restores these modes and the related special characters.
    fn set(before: &Termios, flags: LocalModes) {
        let Some(mut modes) = is_ours().then(|| tcgetattr(stdin()).ok()).flatten() else { return };
        modes.local_modes = (modes.local_modes - flags) | (before.local_modes & flags);
        for code in [SpecialCodeIndex::VMIN, SpecialCodeIndex::VTIME, SpecialCodeIndex::VSUSP] {
            modes.special_codes[code] = before.special_codes[code];
        }
        // Ignore errors: the terminal may be gone.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
    }

    /// Returns the bytes typed since the last call. Does not wait, except for the rest of a paste.
    pub(crate) fn read() -> Vec<u8> {
        let mut bytes = Vec::new();
        if !lock().reads || !is_ours() {
            return bytes;
        }
        loop {
            let before = bytes.len();
            // A closed terminal never has input.
            while let Ok(waiting @ 1..) = rustix::io::ioctl_fionread(stdin()) {
                let mut more = vec![0; usize::try_from(waiting).unwrap_or(1)];
                match rustix::io::read(stdin(), &mut more[..]) {
                    Ok(count @ 1..) => bytes.extend_from_slice(&more[..count]),
                    _ => return bytes,
                }
            }
            let lines = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
            if bytes.len() == before || bytes.len() < PASTED && lines < 2 {
                return bytes;
            }
            std::thread::sleep(PATIENCE);
        }
    }

    /// Suspends the job like Ctrl-Z: the whole process group, including the parent git. Returns
    /// when the job is continued.
    pub(crate) fn suspend() {
        give_back();
        let _ = rustix::process::kill_current_process_group(Signal::TSTP);
    }
}

#[cfg(not(unix))]
mod imp {
    pub(crate) const fn take(_reads: bool) {}

    pub(crate) const fn give_back() {}

    pub(crate) const fn give_back_for_good() {}

    pub(crate) const fn lend() {}

    pub(crate) const fn read() -> Vec<u8> {
        Vec::new()
    }

    pub(crate) const fn suspend() {}
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    //! In a pseudoterminal: this test binary runs itself as the program under test.

    use std::process::Command;

    use rexpect::session::spawn_command;
    use rustix::stdio::stdin;
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    use super::*;

    /// [`program`] does nothing unless this file exists.
    const MARK: &str = "keyboard-program";

    /// The program under test, not a test.
    #[test]
    fn program() {
        if !std::path::Path::new(MARK).exists() {
            return;
        }
        let line = || {
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).unwrap();
            line
        };
        let say = |text: &str| std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        // The pseudoterminal of these tests starts without echo.
        let mut modes = tcgetattr(stdin()).unwrap();
        modes.local_modes.insert(LocalModes::ECHO);
        tcsetattr(stdin(), OptionalActions::Now, &modes).unwrap();
        let keys = |text: &str| {
            let mut typed = Vec::new();
            while !typed.ends_with(text.as_bytes()) {
                typed.extend(read());
            }
        };
        take(false);
        take(false);
        assert!(read().is_empty(), "nobody wants them one by one");
        say("[hidden]").unwrap();
        line();
        take(true);
        take(true);
        say("[keys]").unwrap();
        keys("half a line");
        lend();
        say("[lent]").unwrap();
        assert_eq!(line(), "yes\n");
        take(true);
        say("[again]").unwrap();
        keys("x");
        give_back();
        give_back();
        say("[shown]").unwrap();
        line();
        give_back_for_good();
        take(true);
        say("[over]").unwrap();
        line();
        say("[end]").unwrap();
    }

    #[test]
    fn keys_are_echoed_only_without_live_lines() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(MARK), "").unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "keyboard::tests::program", "--nocapture", "--test-threads=1"])
            .current_dir(folder.path());
        let mut session = spawn_command(command, Some(20_000)).unwrap();
        let mut types = |prompt: &str, keys: &str| {
            let before = session.exp_string(prompt).unwrap();
            session.send(keys).unwrap();
            session.flush().unwrap();
            before
        };
        types("[hidden]", "secret\n");
        assert!(!types("[keys]", "half a line").contains("secret"));
        assert!(!types("[lent]", "yes\n").contains("half"));
        assert!(!types("[again]", "x").contains("yes"));
        types("[shown]", "open\n");
        assert!(types("[over]", "seen\n").contains("open"));
        assert!(types("[end]", "").contains("seen"));
    }
}
