//! What a run of the tests did not show.

use std::fs::File;
use std::io::Write as _;

/// What a machine cannot do is not passed over in silence: it is said past the harness, which keeps
/// the output of tests that pass, and counted by `.ci/run` in the file it names.
pub fn skipped(what: &str) {
    let line = format!("SKIPPED: {what}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    if let Some(list) = std::env::var_os("COWORK_TEST_SKIPPED") {
        let mut list = File::options().append(true).create(true).open(list).unwrap();
        list.write_all(line.as_bytes()).unwrap();
    }
}
