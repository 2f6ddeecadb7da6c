//! Whether a text that may be a path or a command is a path.

/// Commands that people and models write into plans and lists of tasks.
const COMMANDS: &str = "
    awk bash black bun bundle cargo cat cd chmod cmake composer cp curl deno docker dotnet
    echo eslint find gh git go gradle grep helm java jest just kubectl ls make mkdir mv mvn
    mypy node npm npx php pip pnpm poetry prettier psql pytest python python3 rake rm ruby
    ruff rustc sed sh ssh sudo swift task terraform touch tox tsc uv vitest wget yarn zsh
";

/// True if a text has the shape of a path: it has a folder or a file extension, and its first word
/// is not a command, as in `cargo test` or `python tools/gen.py`.
pub fn is_path_shaped(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_command =
        words.next().is_some() && COMMANDS.split_whitespace().any(|command| command == first);
    !is_command && (text.contains('/') || has_extension(text))
}

/// True if the last component of a path ends with a file extension: letters and digits.
pub fn has_extension(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default();
    file.rsplit_once('.').is_some_and(|(_, extension)| {
        extension.len() <= 12
            && extension.chars().any(|c| c.is_ascii_alphabetic())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_not_a_path() {
        for (text, is_path) in [
            ("docs/user guide.md", true),
            ("Read me.txt", true),
            ("make", false),
            ("git", false),
            ("cargo test", false),
            ("python tools/gen.py", false),
            ("version 1.2", false),
            ("the store", false),
        ] {
            assert_eq!(is_path_shaped(text), is_path, "{text}");
        }
    }
}
