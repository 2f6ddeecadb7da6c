//! Reads a user's text from arguments, a file, standard input or an editor.

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;

use crate::cli::context::Context;
use crate::cli::suggest::corrected;
use crate::error::Error;
use crate::gate::{Editor, Tty, confirm};
use crate::git;
use crate::shell_quote::quoted;

/// The editor this run uses.
pub(crate) fn editor(context: &Context) -> anyhow::Result<Editor> {
    let git = context.git()?;
    let configured = &context.config()?.review.editor;
    let command = if configured.is_empty() {
        git::settings::editor(git)?.unwrap_or_default()
    } else {
        configured.clone()
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
            let read = std::io::stdin().read_to_string(&mut text);
            read.map_err(|error| Error::usage(format!("standard input cannot be read: {error}")))?;
            text
        }
        Some(path) => std::fs::read_to_string(path).map_err(|error| {
            Error::usage(format!("{} cannot be read: {error}", path.display()))
                .hint("give a file with the text, or - for standard input")
        })?,
        None if words.is_empty() && context.attended() => {
            let git = context.git()?;
            let folder = git.state_dir();
            std::fs::create_dir_all(&folder).context("creating a scratch folder")?;
            context.ui.clear();
            let hint = hint(what);
            let text = editor(context)?.edit_text(&folder, &format!("\n{hint}"), ".md")?;
            without_hint(&text.unwrap_or_default(), &hint)
        }
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
    let ours = |line: &&str| hint.lines().any(|own| own == line.trim_end());
    text.lines().filter(|line| !ours(line)).collect::<Vec<_>>().join("\n").trim().to_owned()
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
