//! Signal handling. While a session is locked or a command has temporary files, the first signal
//! only requests a stop: git-cowork finishes its write, saves the draft, removes temporary files
//! and stops. A second signal, or any signal at other times, ends the process at once; `resume`
//! then continues as after a crash.
//!
//! Also the cleanup when the process ends without running destructors: on a second signal, and on a panic
//! (`panic = "abort"`).

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::gate::tty;
use crate::ui::above;
use crate::{keyboard, workspace};

static HELD: AtomicBool = AtomicBool::new(false);
/// True if there are temporary files to remove, but no session is locked.
static REMOVES: AtomicBool = AtomicBool::new(false);

/// While this guard exists, the first signal only requests a stop. Only one guard exists at a time:
/// for a session, or for a short operation.
pub(crate) struct Guard(());

impl Guard {
    /// From now on there is a draft to save.
    pub(crate) fn new() -> Self {
        HELD.store(true, Ordering::SeqCst);
        Self(())
    }

    /// From now on there are temporary files to remove.
    pub(crate) fn removing() -> Self {
        REMOVES.store(true, Ordering::SeqCst);
        Self::new()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        HELD.store(false, Ordering::SeqCst);
        REMOVES.store(false, Ordering::SeqCst);
    }
}

/// True if a session is locked: `resume` can continue it.
pub(crate) fn is_session_held() -> bool {
    HELD.load(Ordering::SeqCst) && !REMOVES.load(Ordering::SeqCst)
}

#[cfg(unix)]
pub(crate) use unix::watch;

/// Does nothing: signals keep the system's default action.
#[cfg(not(unix))]
pub(crate) fn watch() {}

#[cfg(unix)]
mod unix {
    use std::io::Write as _;
    use std::sync::atomic::Ordering;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::put_right;
    use super::{HELD, REMOVES};
    use crate::error::Kind;
    use crate::gate::editor;
    use crate::interrupt;
    use crate::ui::above;

    /// A second Ctrl-C within this time counts as the same one: `git` passes on the Ctrl-C that the
    /// terminal has already sent to this process.
    const SAME: Duration = Duration::from_millis(300);

    /// Handles signals from now on. If a handler cannot be installed, the signal has the system's
    /// default action.
    pub(crate) fn watch() {
        let (ready, listening) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("signals".to_owned());
        let listener = thread.spawn(move || {
            let Ok(runtime) = crate::cli::terminal::runtime::current_thread() else { return };
            runtime.block_on(async {
                let mut heard = [
                    Heard::new(SignalKind::interrupt()),
                    Heard::new(SignalKind::terminate()),
                    Heard::new(SignalKind::hangup()),
                ];
                drop(ready);
                listen(&mut heard).await;
            });
        });
        if listener.is_ok() {
            // Wait until the handlers are installed: `recv` returns when the listener thread drops
            // the sender.
            let _ = listening.recv();
        }
    }

    /// Listens for one kind of signal, unless the parent process has set it to be ignored (`nohup`,
    /// a background job).
    struct Heard(Option<Signal>);

    impl Heard {
        fn new(kind: SignalKind) -> Self {
            Self(if is_ignored(kind) { None } else { signal(kind).ok() })
        }

        async fn arrives(&mut self) {
            match &mut self.0 {
                Some(signal) => {
                    signal.recv().await;
                }
                None => std::future::pending().await,
            }
        }
    }

    /// True if a signal is ignored. Only Linux reports that; elsewhere signals are always handled.
    fn is_ignored(kind: SignalKind) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        let bit = u32::try_from(kind.as_raw_value() - 1).ok().and_then(|n| 1_u64.checked_shl(n));
        bit.is_some_and(|bit| mask & bit != 0)
    }

    async fn listen([int, term, hup]: &mut [Heard; 3]) {
        let mut first: Option<Instant> = None;
        loop {
            let keyboard = tokio::select! {
                () = int.arrives() => true,
                () = term.arrives() => false,
                () = hup.arrives() => false,
            };
            if keyboard && editor::is_editing() {
                // The Ctrl-C is for the editor, although all processes at the terminal get it.
                continue;
            }
            match first {
                Some(first) if first.elapsed() < SAME => continue,
                None if HELD.load(Ordering::SeqCst) => {
                    first = Some(Instant::now());
                    interrupt::request();
                    editor::stop();
                    let what = match REMOVES.load(Ordering::SeqCst) {
                        true => "removing temporary files",
                        false => "saving the draft",
                    };
                    say(&format!("stopping: {what} (Ctrl-C again quits immediately)"));
                }
                _ => stop_at_once(first.is_some()),
            }
        }
    }

    #[expect(clippy::exit, reason = "the main thread may be waiting for a hook or a disk")]
    fn stop_at_once(held: bool) {
        put_right();
        if held && !REMOVES.load(Ordering::SeqCst) {
            say("stopped immediately; files are unchanged; continue: git cowork resume");
        }
        std::process::exit(i32::from(Kind::Interrupted.exit_code()));
    }

    fn say(text: &str) {
        // If the terminal is gone, nothing can be done.
        let _ = write!(std::io::stderr(), "{}", above(text));
    }
}

/// Resets the terminal for the shell, and kills running commands. Can be called from any thread.
pub(crate) fn put_right() {
    tty::restore();
    keyboard::give_back_for_good();
    workspace::abandon_commands();
}

/// From now on a panic cleans up, and prints that nothing recorded is lost, before the process
/// aborts.
pub(crate) fn watch_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        put_right();
        // Print the message below a live status line.
        let _ = write!(std::io::stderr(), "{}", above(""));
        told(panic);
        let goes_on = match is_session_held() {
            true => "; continue: git cowork resume",
            false => "",
        };
        let text = format!("this is a bug in git-cowork; nothing recorded is lost{goes_on}");
        // If the terminal is gone, nothing can be done.
        let _ = writeln!(std::io::stderr(), "{text}");
        // Abort even in a build that would unwind: otherwise other threads could wait for this one.
        std::process::abort();
    }));
}
