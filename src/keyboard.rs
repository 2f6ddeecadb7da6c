//! Whose the keyboard is. While live lines stand on the terminal, keys are not echoed into them, and
//! where somebody reads them (a person may type a note for the actor) they come one by one. Whoever
//! prompts gets the keyboard back as it was, and so does whoever ends the process.
//!
//! Ctrl-C stays a signal. Only where the terminal's keyboard is ours: a job in the background would be
//! stopped for touching it.

pub(crate) use imp::{give_back, give_back_for_good, lend, read, suspend, take};

#[cfg(unix)]
mod imp {
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::time::Duration;

    use rustix::process::Signal;
    use rustix::stdio::stdin;
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
    };

    /// What the keyboard is like.
    struct Keyboard {
        /// The modes to go back to, while it is taken.
        before: Option<Termios>,
        /// Keys come one by one.
        reads: bool,
        /// The process ends: nobody takes it any more.
        is_over: bool,
    }

    static KEYBOARD: Mutex<Keyboard> =
        Mutex::new(Keyboard { before: None, reads: false, is_over: false });

    /// The value of a special code that no key has (`_POSIX_VDISABLE`).
    const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };
    /// How long the rest of a paste may take.
    const PATIENCE: Duration = Duration::from_millis(15);
    /// So many bytes at once nobody types.
    const PASTED: usize = 64;

    fn lock() -> MutexGuard<'static, Keyboard> {
        KEYBOARD.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ours() -> bool {
        tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// Turns echo off; where somebody `reads`, keys come one by one, Ctrl-Z among them. Also after
    /// somebody else has changed that: a shell does, to which this job was stopped.
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
            // A child that reads from the terminal waits for a key, as it always does.
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

    /// Gives it back as it was, if it was taken. From any thread.
    pub(crate) fn give_back() {
        let mut keyboard = lock();
        keyboard.reads = false;
        if let Some(before) = keyboard.before.take() {
            set(&before, LocalModes::ECHO | LocalModes::ICANON);
        }
    }

    /// The same, for every end of the process.
    pub(crate) fn give_back_for_good() {
        give_back();
        lock().is_over = true;
    }

    /// Whole lines and Ctrl-Z are the terminal's again until it is taken the next time: somebody else,
    /// like a hook that asks, may read there. Nothing is echoed into the live lines.
    pub(crate) fn lend() {
        let mut keyboard = lock();
        if std::mem::take(&mut keyboard.reads)
            && let Some(before) = &keyboard.before
        {
            set(before, LocalModes::ICANON);
        }
    }

    /// Sets these modes, and the codes that go with them, as they were.
    fn set(before: &Termios, which: LocalModes) {
        let Some(mut modes) = is_ours().then(|| tcgetattr(stdin()).ok()).flatten() else { return };
        modes.local_modes = (modes.local_modes - which) | (before.local_modes & which);
        for code in [SpecialCodeIndex::VMIN, SpecialCodeIndex::VTIME, SpecialCodeIndex::VSUSP] {
            modes.special_codes[code] = before.special_codes[code];
        }
        // What is left undone with a terminal that is gone is nobody's trouble.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
    }

    /// What was typed since, without waiting for more; of a paste all that comes in one go.
    pub(crate) fn read() -> Vec<u8> {
        let mut bytes = Vec::new();
        if !lock().reads || !is_ours() {
            return bytes;
        }
        loop {
            let before = bytes.len();
            // A terminal that is gone has nothing, forever.
            while let Ok(waiting @ 1..) = rustix::io::ioctl_fionread(stdin()) {
                let mut more = vec![0; usize::try_from(waiting).unwrap_or(1)];
                match rustix::io::read(stdin(), &mut more[..]) {
                    Ok(read @ 1..) => bytes.extend_from_slice(&more[..read]),
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

    /// Does what Ctrl-Z does: stops the whole job, git that started us included. Returns when it is
    /// continued.
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
    //! In a pseudo-terminal: this test binary runs itself as the program.

    use std::process::Command;

    use rexpect::session::spawn_command;
    use rustix::stdio::stdin;
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    use super::*;

    /// A file whose presence makes [`program`] more than an empty test.
    const MARK: &str = "keyboard-program";

    /// Not a test but the program under test.
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
        // The terminal of these tests begins without.
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
    fn keys_are_seen_only_when_nothing_is_live() {
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
