//! Named points at which a test can kill the process, to show that `resume` can continue from every
//! state that this leaves. A point does nothing unless it is armed.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

#[derive(Default)]
struct Armed {
    point: String,
    left: u32,
    panics: bool,
    log: Option<PathBuf>,
}

static ARMED: Mutex<Option<Armed>> = Mutex::new(None);

/// Arms a point: `stage.after-commit`, or `stage.after-commit:3` for the third time it is passed.
/// The process aborts there silently, or panics if the point is given in `panics`. With a `log`,
/// the name of every point passed is appended to that file.
pub fn arm(spec: Option<&str>, panics: Option<&str>, log: Option<PathBuf>) {
    if spec.is_none() && panics.is_none() && log.is_none() {
        return;
    }
    let (spec, panics) = panics.map_or((spec.unwrap_or_default(), false), |spec| (spec, true));
    let (point, left) = match spec.rsplit_once(':') {
        Some((point, count)) => (point, count.parse().unwrap_or(1)),
        None => (spec, 1),
    };
    if let Ok(mut armed) = ARMED.lock() {
        *armed = Some(Armed { point: point.to_owned(), left, panics, log });
    }
}

/// Passes a point. If it is armed, the process aborts here, or panics if that was requested.
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
        match (state.left, state.panics) {
            (0, true) => fails(name),
            (0, false) => std::process::abort(),
            _ => {}
        }
    }
}

#[expect(clippy::panic, reason = "what a panic leaves behind is what a test wants to see")]
fn fails(name: &str) {
    panic!("the test point {name}");
}
