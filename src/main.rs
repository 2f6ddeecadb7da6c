//! Parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    git_cowork::cli::main()
}
