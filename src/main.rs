//! Entry point of the binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    git_cowork::cli::main()
}
