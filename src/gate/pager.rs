//! Shows long texts in the person's pager, or directly on the terminal.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::Result;

use crate::gate::clean::clean_line;
use crate::gate::editor;
use crate::gate::menu::say;
use crate::gate::terminal::Terminal;

/// A person's pagers (shell commands); an empty one and `cat` mean no pager.
#[derive(Clone, Debug, Default)]
pub struct Pagers {
    /// For texts.
    pub text: String,
    /// For diffs.
    pub diff: String,
    /// Formats Markdown for a number of columns, with or without colours; if `None`, it is shown as
    /// is.
    pub layout: Option<fn(&str, usize, bool) -> String>,
}

/// Shows a cleaned text with a pager, a shell command run in `cwd`. Returns false if the pager
/// cannot be used: this is reported, and the text goes to the terminal. Input typed while the pager
/// was open is discarded.
///
/// # Errors
/// The terminal cannot be written.
pub fn show(terminal: &dyn Terminal, pager: &str, cwd: &Path, text: &str) -> Result<bool> {
    let pager = pager.trim();
    if is_pager(pager) {
        let paged = page(pager, cwd, text, editor::screen());
        terminal.discard_typed();
        match paged {
            Ok(true) => return Ok(true),
            Ok(false) => say_unusable(terminal, pager, "there is no such program")?,
            Err(error) => say_unusable(terminal, pager, &error.to_string())?,
        }
    }
    terminal.write(text)?;
    if !text.ends_with('\n') {
        terminal.write("\n")?;
    }
    Ok(false)
}

/// Shows a cleaned text with a pager, a shell command, on standard output. Returns the reason if
/// the pager cannot be run.
pub fn page_output(pager: &str, cwd: &Path, text: &str) -> std::result::Result<(), String> {
    let pager = pager.trim();
    match page(pager, cwd, text, Stdio::inherit()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(unusable(pager, "there is no such program")),
        Err(error) => Err(unusable(pager, &error.to_string())),
    }
}

/// True if the person wants a pager.
pub fn is_pager(pager: &str) -> bool {
    !matches!(pager.trim(), "" | "cat")
}

fn say_unusable(terminal: &dyn Terminal, pager: &str, why: &str) -> Result<()> {
    say(terminal, &unusable(pager, why))
}

fn unusable(pager: &str, why: &str) -> String {
    format!("the pager '{}' cannot be run: {why}", clean_line(pager))
}

/// Returns true if the pager ran. Git's defaults for `less` and `lv` apply.
fn page(pager: &str, cwd: &Path, text: &str, screen: Stdio) -> std::io::Result<bool> {
    let script = format!(": \"${{LESS=FRX}}\" \"${{LV=-c}}\"; export LESS LV; {pager}");
    // A file, not a pipe: the pager may end before it has read everything.
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    std::io::Seek::rewind(&mut file)?;
    let mut shell = editor::shell(&script, cwd);
    let status = editor::run(shell.stdin(Stdio::from(file)).stdout(screen))?;
    // 126 and 127: the shell could not run the program.
    Ok(!matches!(status.code(), Some(126 | 127)))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::terminal::scripted::Scripted;

    #[test]
    fn a_missing_pager_does_not_hide_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let terminal = Scripted::new("");
        assert!(show(&terminal, "cat >paged", folder.path(), "long text").unwrap());
        assert_eq!(std::fs::read_to_string(folder.path().join("paged")).unwrap(), "long text");
        assert_eq!(terminal.output(), "");
        assert!(!show(&terminal, "no-such-pager 2>&-", folder.path(), "long text").unwrap());
        assert_eq!(
            terminal.output(),
            "the pager 'no-such-pager 2>&-' cannot be run: there is no such program\nlong text\n"
        );
        for none in ["", " cat "] {
            let terminal = Scripted::new("");
            assert!(!show(&terminal, none, folder.path(), "text\n").unwrap());
            assert_eq!(terminal.output(), "text\n");
        }
    }
}
