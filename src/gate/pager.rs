//! Long texts, through the person's pager or straight to the terminal.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::Result;

use crate::gate::editor;
use crate::gate::terminal::Terminal;

/// Shows a text that was cleaned, by a shell command that pages in `cwd`. A
/// pager that cannot be used is no reason not to show it.
///
/// # Errors
/// The terminal cannot be written.
pub fn show(terminal: &dyn Terminal, pager: &str, cwd: &Path, text: &str) -> Result<()> {
    let pager = pager.trim();
    if !pager.is_empty() && pager != "cat" && page(pager, cwd, text).is_ok_and(|paged| paged) {
        return Ok(());
    }
    terminal.write(text)?;
    if text.ends_with('\n') { Ok(()) } else { terminal.write("\n") }
}

/// Whether the pager ran. Git's own defaults for `less` and `lv` apply.
fn page(pager: &str, cwd: &Path, text: &str) -> std::io::Result<bool> {
    let script = format!(": \"${{LESS=FRX}}\" \"${{LV=-c}}\"; export LESS LV; {pager}");
    // A file, not a pipe: the pager may end before it has read everything.
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    std::io::Seek::rewind(&mut file)?;
    let status = editor::run(editor::shell(&script, cwd).stdin(Stdio::from(file)))?;
    // 126 and 127: the shell found no program to run.
    Ok(!matches!(status.code(), Some(126 | 127)))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::terminal::scripted::Scripted;

    #[test]
    fn a_pager_gets_the_text_and_a_missing_one_does_not_hide_it() {
        let folder = tempfile::tempdir().unwrap();
        let terminal = Scripted::new("");
        show(&terminal, "cat >paged", folder.path(), "long text").unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("paged")).unwrap(), "long text");
        assert_eq!(terminal.output(), "");
        show(&terminal, "no-such-pager 2>&-", folder.path(), "long text").unwrap();
        assert_eq!(terminal.output(), "long text\n");
    }
}
