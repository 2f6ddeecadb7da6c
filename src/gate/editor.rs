//! The person's editor, run like git runs it: a shell command with the files appended.
//!
//! An edit counts only if the editor succeeded. If it failed, a scratch file with new text is kept,
//! and the error names it.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};

use crate::error::{Error, with_hint};

/// Variables that point a git command to its repository. An editor that runs git itself (fugitive,
/// magit) must find the repository it was opened in.
const REPOSITORY_VARIABLES: [&str; 12] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
];

/// Process id of the child that owns the terminal; 0 if git-cowork owns it.
static EDITING: AtomicU32 = AtomicU32::new(0);

/// True while an editor or a pager owns the terminal: a Ctrl-C then is for that program, although
/// git-cowork receives the signal as well.
pub fn is_editing() -> bool {
    EDITING.load(Ordering::Relaxed) != 0
}

/// Ends the program that owns the terminal, if any; its caller then continues.
pub fn stop() {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};
        let leader = EDITING.load(Ordering::Relaxed);
        if leader == 0 {
            return;
        }
        // The editor is a child of the shell that started it.
        let below = format!("/proc/{leader}/task/{leader}/children");
        let below = std::fs::read_to_string(below).unwrap_or_default();
        let below = below.split_whitespace().filter_map(|pid| pid.parse().ok());
        let leader = i32::try_from(leader).ok();
        for pid in below.chain(leader).filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// The person's editor.
#[derive(Clone, Debug)]
pub struct Editor {
    /// A shell command from `git var GIT_EDITOR` or `review.editor`; empty if there is none. `:`
    /// leaves every text as it is.
    pub command: String,
    /// Working directory: the top of the working tree.
    pub cwd: PathBuf,
}

/// The result of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditResult {
    /// These files were changed.
    Changed(Vec<PathBuf>),
    /// No file was changed.
    Unchanged,
}

impl Editor {
    /// The name to show: `vim`, or `your editor`.
    pub fn name(&self) -> &str {
        self.command
            .split_whitespace()
            .next()
            .and_then(|word| word.rsplit(['/', '\\']).next())
            .filter(|name| {
                !name.is_empty()
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c))
            })
            .unwrap_or("your editor")
    }

    /// Opens files and waits until the editor ends.
    ///
    /// # Errors
    /// There is no editor, it cannot be started or fails, or a file cannot be read. The files may
    /// have been changed nevertheless.
    pub fn open(&self, files: &[PathBuf]) -> Result<EditResult> {
        let command = self.command.trim();
        if command.is_empty() {
            return Err(Error::usage("no editor is configured")
                .hint("set GIT_EDITOR, or run 'git config --global core.editor <command>'")
                .into());
        }
        if command == ":" {
            return Ok(EditResult::Unchanged);
        }
        let before = read_all(files)?;
        let mut child = shell(command, &self.cwd);
        child.args(files).stdin(keyboard());
        let status = run(&mut child).with_context(|| format!("starting the editor '{command}'"))?;
        if !status.success() {
            return Err(Error::failed(format!("the editor '{command}' failed: {status}")).into());
        }
        let after = read_all(files)?;
        let changed: Vec<_> = files
            .iter()
            .zip(before.iter().zip(&after))
            .filter(|(_, (before, after))| before != after)
            .map(|(file, _)| file.clone())
            .collect();
        Ok(if changed.is_empty() { EditResult::Unchanged } else { EditResult::Changed(changed) })
    }

    /// Lets the person write a text, in a scratch file in `folder` whose name ends in `suffix`
    /// (`.md`). `None` if the text is unchanged or blank.
    ///
    /// # Errors
    /// Like [`Editor::open`]; the scratch file is then kept if it has new text, and a hint names
    /// it.
    pub fn edit_text(&self, folder: &Path, initial: &str, suffix: &str) -> Result<Option<String>> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("creating {}", folder.display()))?;
        let scratch = tempfile::Builder::new()
            .prefix("text-")
            .suffix(suffix)
            .tempfile_in(folder)
            .with_context(|| format!("creating a file in {}", folder.display()))?;
        std::fs::write(scratch.path(), initial)
            .with_context(|| format!("writing {}", scratch.path().display()))?;
        let path = scratch.path().to_owned();
        let text = self.open(std::slice::from_ref(&path)).and_then(|result| match result {
            EditResult::Unchanged => Ok(None),
            EditResult::Changed(_) => std::fs::read_to_string(&path)
                .map(Some)
                .with_context(|| format!("reading {}", path.display())),
        });
        match text {
            Ok(text) => Ok(text.filter(|text| !text.trim().is_empty())),
            Err(error) => Err(keep(scratch, initial, error)),
        }
    }
}

/// Adds a hint with the scratch file's path, if the file has new text.
fn keep(scratch: tempfile::NamedTempFile, initial: &str, error: anyhow::Error) -> anyhow::Error {
    let path = scratch.path().to_owned();
    if std::fs::read(&path).is_ok_and(|bytes| bytes == initial.as_bytes()) {
        return error;
    }
    let hint = format!("what you wrote is kept in {}", path.display());
    if scratch.keep().is_err() {
        return error;
    }
    with_hint(error, hint)
}

/// A shell that runs `command` with arguments appended, like git runs an editor.
pub(crate) fn shell(command: &str, cwd: &Path) -> Command {
    let mut child = Command::new("sh");
    child.arg("-c").arg(format!("{command} \"$@\"")).arg(command).current_dir(cwd);
    for variable in REPOSITORY_VARIABLES {
        child.env_remove(variable);
    }
    child.stdout(screen());
    child
}

/// Runs a child process that owns the terminal.
pub(crate) fn run(child: &mut Command) -> std::io::Result<std::process::ExitStatus> {
    let mut child = child.spawn()?;
    EDITING.store(child.id(), Ordering::Relaxed);
    let status = child.wait();
    EDITING.store(0, Ordering::Relaxed);
    crate::moment::end();
    status
}

/// The terminal's keyboard, even if stdin is a pipe.
fn keyboard() -> Stdio {
    if std::io::stdin().is_terminal() {
        return Stdio::inherit();
    }
    std::fs::File::open("/dev/tty").map_or_else(|_| Stdio::inherit(), Stdio::from)
}

/// The terminal's screen: stdout is for data, so stderr unless only stdout is a terminal.
pub(crate) fn screen() -> Stdio {
    if std::io::stdout().is_terminal() && !std::io::stderr().is_terminal() {
        Stdio::inherit()
    } else {
        Stdio::from(std::io::stderr())
    }
}

fn read_all(files: &[PathBuf]) -> Result<Vec<Vec<u8>>> {
    files
        .iter()
        .map(|file| std::fs::read(file).with_context(|| format!("reading {}", file.display())))
        .collect()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::hints_of;

    fn editor(command: &str, folder: &Path) -> Editor {
        Editor { command: command.to_owned(), cwd: folder.to_owned() }
    }

    fn file(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, "old\n").unwrap();
        path
    }

    #[test]
    fn only_changed_bytes_count() {
        let folder = tempfile::tempdir().unwrap();
        let one = file(folder.path(), "one file.md");
        let two = file(folder.path(), "two.json");
        let files = [one.clone(), two];
        let touch = editor("touch", folder.path());
        assert_eq!(touch.open(&files).unwrap(), EditResult::Unchanged);
        let first = editor("sh -c 'echo new >\"$1\"' sh", folder.path());
        assert_eq!(first.open(&files).unwrap(), EditResult::Changed(vec![one]));
    }

    #[test]
    fn a_failed_missing_or_absent_editor_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let one = [file(folder.path(), "one.md")];
        let error = editor("false", folder.path()).open(&one).unwrap_err();
        assert!(error.to_string().contains("'false' failed"), "{error}");
        let error = editor("no-such-editor-here 2>&-", folder.path()).open(&one).unwrap_err();
        assert!(error.to_string().contains("127"), "{error}");
        let error = editor(" ", folder.path()).open(&one).unwrap_err();
        assert!(hints_of(&error)[0].contains("core.editor"));
        assert_eq!(editor(":", folder.path()).open(&one).unwrap(), EditResult::Unchanged);
    }

    #[test]
    fn the_editor_finds_its_own_repository() {
        let child = shell("x", Path::new("/"));
        let removed: Vec<_> =
            child.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        assert!(removed.contains(&std::ffi::OsStr::new("GIT_DIR")));
        assert!(removed.contains(&std::ffi::OsStr::new("GIT_INDEX_FILE")));
        assert!(!removed.contains(&std::ffi::OsStr::new("GIT_EDITOR")));
    }

    #[test]
    fn a_text_is_written_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = folder.path().join("scratch");
        let write = editor("sh -c 'echo an idea >\"$1\"' sh", folder.path());
        assert_eq!(write.edit_text(&scratch, "", ".md").unwrap().as_deref(), Some("an idea\n"));
        let blank = editor("sh -c 'echo >\"$1\"' sh", folder.path());
        assert_eq!(blank.edit_text(&scratch, "x", ".md").unwrap(), None);
        assert_eq!(editor(":", folder.path()).edit_text(&scratch, "x", ".md").unwrap(), None);
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn a_text_outlives_a_failing_editor() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = folder.path().join("scratch");
        let crash = editor("sh -c 'echo precious >\"$1\"; exit 3' sh", folder.path());
        let error = crash.edit_text(&scratch, "", ".md").unwrap_err();
        let kept = std::fs::read_dir(&scratch).unwrap().next().unwrap().unwrap().path();
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "precious\n");
        assert!(hints_of(&error)[0].contains(kept.to_str().unwrap()));
        let refuse = editor("false", folder.path());
        assert!(refuse.edit_text(&scratch, "", ".md").is_err());
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 1, "an empty one is not kept");
    }

    #[test]
    fn the_name_is_short_or_generic() {
        let name = |command: &str| editor(command, Path::new("/")).name().to_owned();
        assert_eq!(name("/usr/bin/vim -f"), "vim");
        assert_eq!(name("code --wait"), "code");
        assert_eq!(name("'/x/y'"), "your editor");
        assert_eq!(name(""), "your editor");
    }
}
