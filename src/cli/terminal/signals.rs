//! Signals. The first one while a session is held, or a command has temporary files, is a request: the
//! program finishes its write, keeps the draft, removes temporary files and stops. A second one, or one
//! while nothing is held, ends the program at once; `resume` goes on from there, as after a crash.

use std::sync::atomic::{AtomicBool, Ordering};

static HELD: AtomicBool = AtomicBool::new(false);
/// No session is held: there is only something to remove.
static REMOVES: AtomicBool = AtomicBool::new(false);

/// While it lives, the first signal is a request to stop. There is one at a time: the session's, or
/// that of something which lasts for a moment only.
pub(crate) struct Guard(());

impl Guard {
    /// From now on there is something to put away.
    pub(crate) fn new() -> Self {
        HELD.store(true, Ordering::SeqCst);
        Self(())
    }

    /// From now on there is something to remove.
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

/// Whether a session is held that `resume` goes on with.
pub(crate) fn is_session_held() -> bool {
    HELD.load(Ordering::SeqCst) && !REMOVES.load(Ordering::SeqCst)
}

#[cfg(unix)]
pub(crate) use unix::watch;

/// Listens from now on. Where no signal can be heard, each does what the system does by itself.
#[cfg(not(unix))]
pub(crate) fn watch() {}

#[cfg(unix)]
mod unix {
    use std::io::Write as _;
    use std::sync::atomic::Ordering;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::{HELD, REMOVES};
    use crate::cli::terminal::sudden_end;
    use crate::error::Kind;
    use crate::gate::editor;
    use crate::interrupt;
    use crate::ui::above;

    /// `git cowork` passes a Ctrl-C on that the terminal has sent us already: not a second one.
    const SAME: Duration = Duration::from_millis(300);

    /// Listens from now on. Where no signal can be heard, each does what the system does by
    /// itself.
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
            // Ends when the sender is dropped: a signal from now on is heard.
            let _ = listening.recv();
        }
    }

    /// One signal, unless whoever started us wants it ignored (`nohup`, a job in the background).
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

    /// Linux tells; elsewhere nobody does, and signals are heard.
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
                // Meant for the editor, though all on the terminal get it.
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
        sudden_end::put_right();
        if held && !REMOVES.load(Ordering::SeqCst) {
            say("stopped immediately; files are unchanged; continue: git cowork resume");
        }
        std::process::exit(i32::from(Kind::Interrupted.exit_code()));
    }

    fn say(text: &str) {
        // Nothing can be done about a terminal that is gone.
        let _ = write!(std::io::stderr(), "{}", above(text));
    }
}
