//! Named points where a test can kill the process, to show that every state it can leave behind
//! is one `resume` goes on from. Does nothing unless armed.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

#[derive(Default)]
struct Armed {
    point: String,
    left: u32,
    log: Option<PathBuf>,
}

static ARMED: Mutex<Option<Armed>> = Mutex::new(None);

/// Arms a point: `stage.after-commit`, or `stage.after-commit:3` for its third passing. With a
/// `log`, the name of every point passed is appended to that file.
pub fn arm(spec: Option<&str>, log: Option<PathBuf>) {
    if spec.is_none() && log.is_none() {
        return;
    }
    let spec = spec.unwrap_or_default();
    let (point, left) = match spec.rsplit_once(':') {
        Some((point, count)) => (point, count.parse().unwrap_or(1)),
        None => (spec, 1),
    };
    if let Ok(mut armed) = ARMED.lock() {
        *armed = Some(Armed { point: point.to_owned(), left, log });
    }
}

/// Passes a point; the process dies here, without unwinding, when the point is armed.
pub fn point(name: &str) {
    let Ok(mut armed) = ARMED.lock() else { return };
    let Some(state) = armed.as_mut() else { return };
    if let Some(log) = &state.log
        && let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(log)
    {
        let _ = writeln!(file, "{name}");
    }
    if state.point == name {
        state.left = state.left.saturating_sub(1);
        if state.left == 0 {
            std::process::abort();
        }
    }
}
