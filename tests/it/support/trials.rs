//! How much a random search tries, and in which formats of a repository: a part of it in `cargo test`,
//! more in `.ci/run`, as much as somebody likes by hand.

use std::cell::Cell;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Sandbox;

/// The formats that searches take by turns: `COWORK_TRIAL_FORMATS` says how many of them (default 2,
/// all 4 in `.ci/run`).
const FORMATS: [Format; 4] = [
    Format { objects: "sha1", refs: "files" },
    Format { objects: "sha256", refs: "reftable" },
    Format { objects: "sha256", refs: "files" },
    Format { objects: "sha1", refs: "reftable" },
];

/// The kind of ids of a repository, and where it keeps its references.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Format {
    objects: &'static str,
    refs: &'static str,
}

thread_local! {
    /// The format of the repositories that this thread makes; `None` for that of the environment.
    static OF_THREAD: Cell<Option<Format>> = const { Cell::new(None) };
}

impl Format {
    /// The one in which this thread makes repositories, if a search has chosen it.
    pub fn of_thread() -> Option<Self> {
        OF_THREAD.get()
    }

    /// The variables with which `git init` makes it.
    pub fn variables(self) -> Vec<(String, String)> {
        let Self { objects, refs } = self;
        [("GIT_DEFAULT_HASH", objects), ("GIT_DEFAULT_REF_FORMAT", refs)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()
    }
}

/// The number that a variable of the environment has, or the default.
pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Deals out what is to be tried to the formats that this git knows, and calls `search` for each of
/// them: repositories made in it have that format. It returns how much it tried, which is printed
/// past the harness.
pub fn in_formats<T: Clone>(what: &str, all: &[T], search: impl Fn(&[T]) -> usize) {
    let wanted = usize::try_from(number("COWORK_TRIAL_FORMATS", 2)).unwrap();
    let is_known = |format: &&Format| {
        let Format { objects, refs } = format;
        let options = [&format!("--object-format={objects}"), &*format!("--ref-format={refs}")];
        **format == FORMATS[0] || Sandbox::in_format(&options.map(|one| one as &str)).is_some()
    };
    let formats: Vec<Format> =
        FORMATS.iter().take(wanted.max(1)).filter(is_known).copied().collect();
    for (turn, format) in formats.iter().enumerate() {
        let own: Vec<T> = all.iter().skip(turn).step_by(formats.len()).cloned().collect();
        if own.is_empty() {
            continue;
        }
        OF_THREAD.set(Some(*format));
        let tried = search(&own);
        OF_THREAD.set(None);
        let told = format!("{what}: {tried} in {} with {}\n", format.objects, format.refs);
        std::io::stderr().write_all(told.as_bytes()).unwrap();
    }
}

/// Calls `one` with each of these, two at a time, and returns those for which it panicked.
pub fn failing<T: Sync + Clone + Send>(all: &[T], one: impl Fn(&T) + Sync) -> Vec<T> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(it) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let run = std::panic::AssertUnwindSafe(|| one(it));
                    if std::panic::catch_unwind(run).is_err() {
                        failed.lock().unwrap().push(it.clone());
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap()
}
