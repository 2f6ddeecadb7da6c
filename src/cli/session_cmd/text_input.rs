//! Reads a user's text from arguments, a file, standard input or an editor.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::suggest::corrected;
use crate::error::{Error, with_hint};
use crate::gate::{Editor, Tty, confirm};
use crate::git::{self, Git};
use crate::shell_quote::quoted;

/// The editor this run uses.
pub(crate) fn editor(context: &Context) -> anyhow::Result<Editor> {
    let git = context.git()?;
    let setting = &context.config()?.review.editor;
    let command = if setting.is_empty() {
        git::settings::editor(git)?.unwrap_or_default()
    } else {
        setting.clone()
    };
    Ok(Editor { command, cwd: git.top().to_owned() })
}

/// Text from words, `-F FILE`, `-F -`, or an editor on a terminal.
///
/// # Errors
/// Exit 2: there is no text and nobody can be asked.
pub(crate) fn text(
    context: &Context,
    words: &[String],
    file: Option<&Path>,
    what: &str,
) -> anyhow::Result<String> {
    let text = match file {
        Some(path) if path == Path::new("-") => {
            let mut text = String::new();
            let result = std::io::stdin().read_to_string(&mut text);
            result
                .map_err(|error| Error::usage(format!("standard input cannot be read: {error}")))?;
            text
        }
        Some(path) => std::fs::read_to_string(path).map_err(|error| {
            Error::usage(format!("{} cannot be read: {error}", path.display()))
                .hint("give a file with the text, or - for standard input")
        })?,
        None if opens_editor(context, words, file) => from_editor(context, what)?,
        None => match words {
            [word] if Path::new(word).is_file() => text_of_file(context, word, what)?,
            _ => words.join(" "),
        },
    };
    if text.trim().is_empty() {
        return Err(Error::usage(format!("no {what} was given"))
            .hint("give it in quotes, or use -F FILE, or -F - for standard input")
            .into());
    }
    Ok(text.trim_end().to_owned())
}

/// True if [`text`] opens the editor.
pub(crate) fn opens_editor(context: &Context, words: &[String], file: Option<&Path>) -> bool {
    words.is_empty() && file.is_none() && context.attended()
}

/// Text that is written in the editor. It is kept until [`sent`], so that nothing that fails later
/// loses it; the next editor opens with it.
fn from_editor(context: &Context, what: &str) -> anyhow::Result<String> {
    let git = context.git()?;
    let path = unsent(git, what);
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    context.ui.clear();
    let hint = hint(what);
    let text = editor(context)?.edit_text(&git.state_dir(), &format!("{before}\n{hint}"), ".md")?;
    let text = text.map_or(before, |text| without_hint(&text, &hint));
    if text.trim().is_empty() {
        let _ = std::fs::remove_file(&path);
        return Ok(text);
    }
    keep_private(&path, &text).with_context(|| format!("writing {}", path.display()))?;
    Ok(text)
}

/// Writes a file that only its owner can read: an idea may hold a key.
fn keep_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// The file with a text that was written in the editor and is not in a session yet.
fn unsent(git: &Git, what: &str) -> PathBuf {
    git.state_dir().join(format!("{what}.md"))
}

/// Removes the kept text, which is in a session now.
pub(crate) fn sent(git: &Git, what: &str, text: &str) {
    let path = unsent(git, what);
    if std::fs::read_to_string(&path).is_ok_and(|kept| kept.trim_end() == text) {
        // If it stays, the next editor opens with it.
        let _ = std::fs::remove_file(&path);
    }
}

/// The answer of a command whose `what` was written in the editor, if `writes`. An error names the
/// text if it is not in a session yet.
pub(crate) fn keeping(
    context: &Context,
    writes: bool,
    (what, command): (&str, &str),
    answer: Answer,
) -> Answer {
    answer.map_err(|error| {
        let path = context.git().ok().and_then(|git| unsent(git, what).canonicalize().ok());
        let Some(path) = path.filter(|_| writes) else { return error };
        let path = quoted(&path.to_string_lossy());
        let hint = format!("the {what} you wrote is kept; go on with it: {command} -F {path}");
        with_hint(error, hint)
    })
}

/// The text of a file that was given as if it were the text itself.
fn text_of_file(context: &Context, file: &str, what: &str) -> anyhow::Result<String> {
    if !context.attended() {
        // The last of these words: the first may be the command, or a value of an option.
        let (line, word) = (corrected(file, file), quoted(file));
        let (before, after) = line.rsplit_once(&*word).unwrap_or((&line, ""));
        return Err(Error::usage(format!("{file} is a file; the {what} is given in words"))
            .hint(format!("to take the file's text: {before}-F {word}{after}"))
            .into());
    }
    context.ui.clear();
    match confirm(&Tty::new(context.color), &format!("{file} is a file: is its text the {what}?"))?
    {
        true => text(context, &[], Some(Path::new(file)), what),
        false => Ok(file.to_owned()),
    }
}

/// The instructions in an editor that opens with an empty text, in the style of git.
fn hint(what: &str) -> String {
    format!(
        "# Write the {what} above, in your own words, as long as you like.\n\
         # These two lines are not part of it; an empty text cancels.\n"
    )
}

/// Removes only the lines of `hint`: other lines that begin with # are Markdown headings.
fn without_hint(text: &str, hint: &str) -> String {
    let is_own = |line: &&str| hint.lines().any(|own| own == line.trim_end());
    text.lines().filter(|line| !is_own(line)).collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_of_the_hint_are_removed() {
        let hint = hint("idea");
        let text = format!("# A heading\n\nTodos.\n{hint}");
        assert_eq!(without_hint(&text, &hint), "# A heading\n\nTodos.");
        assert_eq!(without_hint(&format!("\n{hint}"), &hint), "");
    }
}
