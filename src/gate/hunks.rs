//! Reviews a diff hunk by hunk: the person accepts, comments on, or edits each hunk. Comments are
//! saved in a file until they are sent.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::gate::clean::{clean, clean_line};
use crate::gate::editor::EditResult;
use crate::gate::menu::{failed, say};
use crate::gate::menu_lines::PROMPT;
use crate::gate::paint::Paint;
use crate::gate::screen;
use crate::gate::terminal::{self, Key, Text};
use crate::gate::{Decision, Draft, Gate};
use crate::stage::Stage;

/// The keys: each with its word in the menu, and what it does.
const KEYS: [(char, &str, &str); 6] = [
    ('y', "accept", "nothing to say about this hunk: go to the next one"),
    ('c', "comment", "say what should change here: it is kept, and sent after the last hunk"),
    ('e', "edit", "open the file in your editor; the code is checked and shown again afterwards"),
    ('b', "back", "go back to the hunk before"),
    ('q', "end", "leave the hunks: comments can be sent, and nothing is passed yet"),
    ('?', "help", "this list"),
];

/// A hunk of a file.
#[derive(Debug, PartialEq, Eq)]
struct Hunk {
    /// Path relative to the top of the working tree.
    file: String,
    /// Its first changed line, in the new file.
    line: usize,
    /// Its lines, from the `@@` line on.
    text: String,
}

/// The file that holds the comments on a stage's draft until they are sent.
pub fn comments_file(scratch: &Path, stage: Stage) -> PathBuf {
    scratch.join(format!("comments-{stage}.md"))
}

/// Number of saved comments not sent yet.
pub(super) fn unsent(gate: &Gate<'_>, draft: &Draft<'_>) -> usize {
    written(&comments_file(gate.scratch, draft.stage))
        .lines()
        .filter(|line| is_comment(line))
        .count()
}

fn written(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

fn is_comment(line: &str) -> bool {
    line.starts_with("- ")
}

/// Goes through the diff. Returns the comments as feedback if they are sent, or
/// [`Decision::Look`] if a file was edited.
pub(super) fn go_through(gate: &Gate<'_>, draft: &Draft<'_>) -> Result<Option<Decision>> {
    let terminal = gate.terminal;
    let paint = Paint::of(terminal);
    let hunks = match (draft.full_diff)(false) {
        Ok(diff) => hunks(&clean(&diff)),
        Err(error) => {
            failed(terminal, &error)?;
            return Ok(None);
        }
    };
    if hunks.is_empty() {
        say(terminal, "there is no difference")?;
        return Ok(None);
    }
    let file = comments_file(gate.scratch, draft.stage);
    let mut edited = false;
    let mut at = 0;
    // A hunk is shown again only after another one, so that an answer to a key stays in sight.
    let mut shown = None;
    while let Some(hunk) = hunks.get(at) {
        let place = format!("{}:{}", hunk.file, hunk.line);
        if shown.replace(at) != Some(at) {
            let number = format!("hunk {} of {}", at + 1, hunks.len());
            terminal.write(&screen::header(paint, terminal.width(), &place, &[number]))?;
            terminal.write(&screen::colored_diff(paint, &hunk.text))?;
        }
        let keys = KEYS.map(|(key, short, _)| format!("{key} {short}"));
        terminal.write(&format!("{}\n{PROMPT}", screen::entries(terminal.width(), &keys)))?;
        match terminal::menu_key(terminal, &['c'])? {
            Key::Char('y') => {
                terminal.write("y\n")?;
                at += 1;
            }
            Key::Char('c') => match terminal::text_behind(terminal, PROMPT, "c  ")? {
                Text::Given(words) => {
                    keep(&file, &place, &words)?;
                    at += 1;
                }
                Text::Nothing => terminal.write("\n")?,
                Text::End => return Ok(Some(Decision::Stop)),
            },
            Key::Char('e') => {
                terminal.write("e\n")?;
                match gate.editor.open(&[gate.editor.cwd.join(&hunk.file)]) {
                    Ok(EditResult::Changed(_)) => edited = true,
                    Ok(EditResult::Unchanged) => say(terminal, "nothing was changed")?,
                    Err(error) => failed(terminal, &error)?,
                }
                at += 1;
            }
            Key::Char('b') => {
                terminal.write("b\n")?;
                at = at.saturating_sub(1);
            }
            Key::Char('q') | Key::Escape => {
                terminal.write("q\n")?;
                break;
            }
            Key::Char('?') => {
                let rows = KEYS.map(|(key, _, does)| vec![(key, does.to_owned())]);
                terminal.write(&format!("?\n{}", screen::keys(terminal, &rows)))?;
            }
            Key::End => return Ok(Some(Decision::Stop)),
            Key::Enter => terminal.write("\n")?,
            Key::Char(c) => {
                terminal.write("\x07\n")?;
                say(
                    terminal,
                    &format!("unknown key '{}'; ? lists the keys", clean_line(&c.to_string())),
                )?;
            }
            Key::Other | Key::Interrupt => terminal.write("\x07\n")?,
        }
    }
    if let Some(decision) = send(gate, draft, &file)? {
        return Ok(Some(decision));
    }
    Ok(edited.then_some(Decision::Look))
}

/// Asks whether to send the comments.
fn send(gate: &Gate<'_>, draft: &Draft<'_>, file: &Path) -> Result<Option<Decision>> {
    let count = unsent(gate, draft);
    if count == 0 {
        return Ok(None);
    }
    let terminal = gate.terminal;
    let text = written(file);
    for line in text.lines() {
        say(terminal, &format!("  {}", clean_line(line)))?;
    }
    let (them, comments) = if count == 1 { ("it", "1 comment") } else { ("them", "comments") };
    let comments = if count == 1 { comments.to_owned() } else { format!("{count} {comments}") };
    terminal.write(&format!("Send {comments} to the actor? [y/n] "))?;
    loop {
        return match terminal::menu_key(terminal, &[])? {
            Key::Enter => continue,
            Key::Char('y') => {
                terminal.write("yes\n")?;
                Ok(Some(Decision::Feedback(text.trim().to_owned())))
            }
            Key::End => Ok(Some(Decision::Stop)),
            _ => {
                terminal.write("no\n")?;
                let file = file.display();
                say(terminal, &format!("not sent: {file} keeps {them}; h continues with {them}"))?;
                Ok(None)
            }
        };
    }
}

/// Saves a comment to disk before anything else is asked.
fn keep(file: &Path, place: &str, words: &str) -> Result<()> {
    use std::io::Write as _;
    let words = words.trim().replace('\n', "\n  ");
    let wrote = || -> std::io::Result<()> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut open = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
        open.write_all(format!("- {place}: {words}\n").as_bytes())?;
        open.sync_data()
    };
    wrote().with_context(|| format!("writing {}", file.display()))
}

/// The hunks of a unified diff.
fn hunks(diff: &str) -> Vec<Hunk> {
    let mut found: Vec<Hunk> = Vec::new();
    let mut file = String::new();
    let mut in_header = true;
    let mut looks_for_change = false;
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            file = names.rsplit_once(" b/").map_or(names, |(_, name)| name).to_owned();
            in_header = true;
            continue;
        }
        if line.starts_with("@@ ") {
            in_header = false;
            looks_for_change = true;
            let new = line.split_whitespace().nth(2).unwrap_or_default();
            let start = new.trim_start_matches('+').split(',').next().unwrap_or_default();
            let start = start.parse().unwrap_or(1);
            found.push(Hunk { file: file.clone(), line: start, text: format!("{line}\n") });
            continue;
        }
        if in_header {
            continue;
        }
        let Some(hunk) = found.last_mut() else { continue };
        looks_for_change &= line.starts_with(' ');
        hunk.line += usize::from(looks_for_change);
        hunk.text.push_str(&format!("{line}\n"));
    }
    found.iter_mut().for_each(|hunk| hunk.line = hunk.line.max(1));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_split_into_hunks_with_line_numbers() {
        let diff = "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n\
                    @@ -3,2 +3,3 @@ def f():\n a\n+b\n c\n@@ -20 +21 @@\n-d\n+e\n\
                    diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n\
                    +++ b/new.py\n@@ -0,0 +1 @@\n+f\n";
        let found = hunks(diff);
        let places: Vec<_> =
            found.iter().map(|hunk| format!("{}:{}", hunk.file, hunk.line)).collect();
        assert_eq!(places, ["x.py:4", "x.py:21", "new.py:1"]);
        assert_eq!(found[0].text, "@@ -3,2 +3,3 @@ def f():\n a\n+b\n c\n");
    }
}
