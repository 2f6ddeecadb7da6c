//! Finds programs on the user's `PATH`.

use std::path::{Path, PathBuf};

use crate::cli::context::Context;

/// The file of a program, if there is one that can be run.
pub(super) fn find(context: &Context, program: &str) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(context.cwd.join(path)).filter(|path| is_executable(path));
    }
    let folders = context.env.get("PATH")?;
    std::env::split_paths(folders).map(|dir| dir.join(program)).find(|path| is_executable(path))
}

/// The program that a shell command starts; `None` if only a shell could tell.
pub(super) fn of_command(command: &str) -> Option<&str> {
    let first = command.split_whitespace().next()?;
    let plain = |c: char| c.is_alphanumeric() || "/._+-".contains(c);
    first.chars().all(plain).then_some(first)
}

fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_commands_name_their_program() {
        assert_eq!(of_command("vim -f"), Some("vim"));
        assert_eq!(of_command("/usr/bin/code --wait"), Some("/usr/bin/code"));
        for command in ["", "'my editor' x", "$EDITOR", "~/bin/ed", "A=b vim"] {
            assert_eq!(of_command(command), None, "{command}");
        }
    }
}
