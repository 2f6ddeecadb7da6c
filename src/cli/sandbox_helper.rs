//! Runs this program as the helper that confines a command.

use std::process::ExitCode;

use crate::workspace::HELPER_WORD;

/// Runs the helper if this process was started as one. Must be called before anything else, while
/// there is only one thread.
pub(crate) fn run() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    args.next().filter(|word| word == HELPER_WORD)?;
    Some(help(&args.collect::<Vec<_>>()))
}

/// The exit code with which a shell reports that a command could not be run.
const NOT_RUN: u8 = 126;

#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, reason = "a helper has no other way to report errors")]
fn help(args: &[std::ffi::OsString]) -> ExitCode {
    match crate::workspace::run_helper(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(NOT_RUN)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn help(_args: &[std::ffi::OsString]) -> ExitCode {
    ExitCode::from(NOT_RUN)
}
