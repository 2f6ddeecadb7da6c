//! Reports tests that were skipped.

use std::fs::File;
use std::io::Write as _;

/// Reports what this machine cannot test. It is printed past the harness, which hides the output of
/// tests that pass, and counted by `.ci/run` in the file that it names.
pub fn skipped(what: &str) {
    let line = format!("SKIPPED: {what}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    if let Some(list) = std::env::var_os("COWORK_TEST_SKIPPED") {
        let mut list = File::options().append(true).create(true).open(list).unwrap();
        list.write_all(line.as_bytes()).unwrap();
    }
}
