//! Sessions with which many tests begin: each is run once per test binary and copied for each test.
//! The copy's server has received no request yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::sandbox::Sandbox;
use super::trials::Format;

impl Sandbox {
    /// [`Sandbox::new`] with session `todo`, which ran without a person to the end of this stage.
    pub fn stopped_after(stage: &'static str) -> Self {
        prepared(stage, &["--stop-after", stage])
    }

    /// [`Sandbox::new`] with session `todo`, which ran without a person to its end.
    pub fn delivered() -> Self {
        prepared("", &[])
    }
}

fn prepared(stage: &'static str, options: &[&str]) -> Sandbox {
    type Once = Arc<OnceLock<Sandbox>>;
    static PREPARED: Mutex<BTreeMap<(&str, Option<Format>), Once>> = Mutex::new(BTreeMap::new());
    // Other stages can be prepared at the same time.
    let once = Arc::clone(
        PREPARED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry((stage, Format::of_thread()))
            .or_default(),
    );
    let original = once.get_or_init(|| {
        let sandbox = Sandbox::new();
        sandbox.auto(options).exits(0);
        // So that there are fewer files to copy.
        sandbox.git(&["repack", "-a", "-d", "-q"]);
        sandbox
    });
    let copy = original.fork();
    copy.server.inherit(&original.server);
    copy
}
