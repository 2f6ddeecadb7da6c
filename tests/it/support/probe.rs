//! The program that tries one thing from inside a sandbox (`hostile/inside/probe.rs`).

use std::path::Path;
use std::process::Command;

/// Compiles it into this file.
pub fn compile(into: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hostile/inside/probe.rs");
    let compiler = Path::new(env!("CARGO")).with_file_name("rustc");
    let compiler = if compiler.exists() { compiler } else { "rustc".into() };
    let status =
        Command::new(compiler).args(["--edition", "2024", "-o"]).arg(into).arg(source).status();
    assert!(status.unwrap().success());
}
