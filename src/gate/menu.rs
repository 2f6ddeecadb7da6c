//! The dialogue of a gate: keys in, a decision out.
//!
//! Whatever goes wrong here leads back to the menu, never to a pass.

use std::path::PathBuf;

use anyhow::Result;

use crate::gate::clean::{clean, clean_colored, clean_line};
use crate::gate::editor::EditResult;
use crate::gate::terminal::{self, Key, Terminal, Text};
use crate::gate::{Decision, Document, Draft, Gate, comments, pager, screen};
use crate::stage::{Depth, Stage};
use crate::stages::row;
use crate::wrap::hanging;

/// Asks until there is a decision, here or elsewhere; the first one counts.
pub(super) fn run(gate: &Gate<'_>, draft: &Draft<'_>) -> Result<Decision> {
    loop {
        let here = dialogue(gate, draft)?;
        let there = gate.elsewhere.decide();
        if let Some(decision) = &there {
            let what = match decision {
                Decision::Feedback(text) => format!("feedback: {}", clean_line(text)),
                _ => "pass".to_owned(),
            };
            let late = if here.is_some() { "; your answer came later" } else { "" };
            say(gate.terminal, &format!("answered from another terminal: {what}{late}"))?;
        }
        if let Some(decision) = there.or(here) {
            return Ok(decision);
        }
    }
}

/// Asks here until there is a decision; none where somebody elsewhere has answered.
fn dialogue(gate: &Gate<'_>, draft: &Draft<'_>) -> Result<Option<Decision>> {
    let terminal = gate.terminal;
    terminal.write("\x07")?;
    draw(gate, draft)?;
    let mut announced = None;
    // The Enter that follows a key by habit is no key of its own.
    let mut after_key = false;
    loop {
        let answered = || gate.elsewhere.has_answered();
        let Some(key) = terminal::menu_key_unless(terminal, &['f'], &answered)? else {
            return Ok(None);
        };
        if key == Key::Enter {
            if !std::mem::take(&mut after_key) {
                say(terminal, "Enter alone decides nothing; p passes the draft")?;
            }
            continue;
        }
        after_key = true;
        let decision = match key {
            Key::Char('p') => pass(gate, draft, &mut announced)?,
            Key::Char('e') => {
                let main = draft.main().map(|main| main.path.clone());
                edit(gate, draft, &main.into_iter().collect::<Vec<_>>(), &mut announced)?
            }
            Key::Char('E') => {
                let all: Vec<_> = draft.documents.iter().map(|d| d.path.clone()).collect();
                edit(gate, draft, &all, &mut announced)?
            }
            Key::Char('f') => {
                let prompt = "feedback (Enter ends it; empty goes back): ";
                match terminal::text(terminal, prompt)? {
                    Text::Given(text) => Some(Decision::Feedback(text)),
                    Text::Nothing => None,
                    Text::End => Some(Decision::Stop),
                }
            }
            Key::Char('F') => long_feedback(gate)?,
            Key::Char(c @ ('d' | 'v' | 'V')) => {
                let paged = match c {
                    'd' => show_diff(gate, draft)?,
                    'v' => {
                        show_documents(gate, draft, &draft.main().into_iter().collect::<Vec<_>>())?
                    }
                    _ => show_documents(gate, draft, &draft.documents.iter().collect::<Vec<_>>())?,
                };
                if paged {
                    draw(gate, draft)?;
                    continue;
                }
                None
            }
            Key::Char('+') => match draft.more {
                Some(depth) => raise(terminal, depth)?,
                None => {
                    say(terminal, "this session cannot be raised here")?;
                    None
                }
            },
            Key::Char('g') => go_back(terminal, draft.earlier)?,
            Key::Char('a') => abort(terminal, draft.stage)?,
            Key::Char('q') | Key::End => Some(Decision::Stop),
            Key::Char('?' | 'h') => {
                terminal.write(&screen::menu(gate, draft))?;
                continue;
            }
            Key::Char(_) | Key::Escape | Key::Other | Key::Enter | Key::Interrupt => {
                if let Key::Char(c) = key {
                    terminal.write("\x07")?;
                    say(terminal, &format!("unknown key '{c}'"))?;
                }
                terminal.write(&screen::menu(gate, draft))?;
                continue;
            }
        };
        if decision.is_some() {
            return Ok(decision);
        }
        terminal.write(&screen::short_menu(gate, draft))?;
    }
}

/// The whole gate. What was typed before it was there cannot be about a draft nobody had seen.
fn draw(gate: &Gate<'_>, draft: &Draft<'_>) -> Result<()> {
    gate.terminal.write(&screen::draft(gate, draft))?;
    gate.terminal.discard_typed();
    gate.terminal.write(&screen::menu(gate, draft))
}

/// What the files held when a person was told that they are not what is shown.
type Announced = Option<Vec<Vec<u8>>>;

/// Passes what was shown. Files that hold something else by now are named first; a second `p`
/// then passes them as the person's edit.
fn pass(gate: &Gate<'_>, draft: &Draft<'_>, announced: &mut Announced) -> Result<Option<Decision>> {
    let Some(now) = read(gate.terminal, draft)? else { return Ok(None) };
    let differing = differing(draft, &now, &[]);
    if differing.is_empty() {
        return Ok(Some(Decision::Pass));
    }
    if announced.as_ref() == Some(&now) {
        return Ok(Some(Decision::Edited));
    }
    *announced = Some(now);
    gate.terminal.discard_typed();
    say(gate.terminal, &format!("not passed yet: {differing} changed on disk since it was shown"))?;
    say(gate.terminal, "e opens it, p again passes it as it is now")?;
    Ok(None)
}

/// Opens files; what the person saved is the decision, unless others changed unseen meanwhile.
fn edit(
    gate: &Gate<'_>,
    draft: &Draft<'_>,
    files: &[PathBuf],
    announced: &mut Announced,
) -> Result<Option<Decision>> {
    let terminal = gate.terminal;
    if files.is_empty() {
        say(terminal, "there is no document to edit here; f says what to change")?;
        return Ok(None);
    }
    let mut changed = Vec::new();
    loop {
        match gate.editor.open(files) {
            Ok(EditResult::Changed(now)) => changed = now,
            Ok(EditResult::Unchanged) if changed.is_empty() => {
                say(terminal, "nothing was changed; p passes the draft as it is")?;
                return Ok(None);
            }
            Ok(EditResult::Unchanged) => return Ok(Some(Decision::Stop)),
            Err(error) => {
                failed(terminal, &error)?;
                return Ok(None);
            }
        }
        let unreadable = (draft.unreadable)()?;
        if unreadable.is_empty() {
            break;
        }
        for line in &unreadable {
            say(terminal, &clean_line(line))?;
        }
        say(
            terminal,
            "your editor opens again; closed without a change, the draft waits as it is",
        )?;
    }
    let names: Vec<_> =
        changed.iter().map(|path| screen::shown_path(path, &gate.editor.cwd)).collect();
    let names = names.join(", ");
    let Some(now) = read(terminal, draft)? else { return Ok(None) };
    let others = differing(draft, &now, files);
    if !others.is_empty() {
        *announced = Some(now);
        terminal.discard_typed();
        say(terminal, &format!("saved {names}, but {others} changed on disk, too"))?;
        say(terminal, "p passes everything as it is now")?;
        return Ok(None);
    }
    let follows = match count_comments(gate, draft, &now) {
        0 => "what you saved is what passes".to_owned(),
        1 => "your comment goes to the actor".to_owned(),
        n => format!("your {n} comments go to the actor"),
    };
    say(terminal, &format!("saved {names}: {follows}"))?;
    Ok(Some(Decision::Edited))
}

/// What the documents hold now; `None`, said, when one cannot be read.
fn read(terminal: &dyn Terminal, draft: &Draft<'_>) -> Result<Option<Vec<Vec<u8>>>> {
    let mut now = Vec::with_capacity(draft.documents.len());
    for document in &draft.documents {
        match std::fs::read(&document.path) {
            Ok(bytes) => now.push(bytes),
            Err(error) => {
                let name = clean_line(&document.name);
                say(terminal, &format!("not passed: {name} cannot be read: {error}"))?;
                return Ok(None);
            }
        }
    }
    Ok(Some(now))
}

/// Names of documents that are not what is shown, but for those a person just had open.
fn differing(draft: &Draft<'_>, now: &[Vec<u8>], but: &[PathBuf]) -> String {
    let names: Vec<_> = draft
        .documents
        .iter()
        .zip(now)
        .filter(|(document, now)| *now != document.text.as_bytes() && !but.contains(&document.path))
        .map(|(document, _)| clean_line(&document.name))
        .collect();
    names.join(", ")
}

/// How many comments the person wrote.
fn count_comments(gate: &Gate<'_>, draft: &Draft<'_>, now: &[Vec<u8>]) -> usize {
    let documents = draft.documents.iter().zip(now);
    documents
        .map(|(document, now)| {
            let now = String::from_utf8_lossy(now);
            comments::take(&now, &document.text, gate.comment_prefix).comments.len()
        })
        .sum()
}

fn long_feedback(gate: &Gate<'_>) -> Result<Option<Decision>> {
    match gate.editor.edit_text(gate.scratch, "", ".md") {
        Ok(Some(text)) => Ok(Some(Decision::Feedback(text.trim().to_owned()))),
        Ok(None) => {
            say(gate.terminal, "nothing was written")?;
            Ok(None)
        }
        Err(error) => {
            failed(gate.terminal, &error)?;
            Ok(None)
        }
    }
}

/// Whether the person's pager showed it.
fn show_diff(gate: &Gate<'_>, draft: &Draft<'_>) -> Result<bool> {
    let text = match diff(gate, draft) {
        Ok(text) => text,
        Err(error) => {
            failed(gate.terminal, &error)?;
            return Ok(false);
        }
    };
    if text.trim().is_empty() {
        say(gate.terminal, "there is no difference")?;
        return Ok(false);
    }
    show(gate, draft, &gate.pagers.diff, &text)
}

/// The difference in git's colours, as the user configured them.
fn diff(gate: &Gate<'_>, draft: &Draft<'_>) -> Result<String> {
    let plain = (draft.full_diff)(false)?;
    if !gate.terminal.colors() {
        return Ok(clean(&plain));
    }
    let colored = clean_colored(&plain, &(draft.full_diff)(true)?);
    // Some settings make other text of it (`diff.wordRegex`, a mode of another git).
    Ok(colored.unwrap_or_else(|| screen::colored_diff(screen::Paint::of(gate.terminal), &plain)))
}

/// Shows a cleaned text; whether the person's pager did.
fn show(gate: &Gate<'_>, draft: &Draft<'_>, pager: &str, text: &str) -> Result<bool> {
    let paged = pager::show(gate.terminal, pager, &gate.editor.cwd, text)?;
    if !paged {
        gate.terminal.write(&screen::heading(gate, draft))?;
    }
    Ok(paged)
}

/// Whether the person's pager showed them.
fn show_documents(gate: &Gate<'_>, draft: &Draft<'_>, documents: &[&Document]) -> Result<bool> {
    if documents.is_empty() {
        say(gate.terminal, "there is no document here; d shows the diff")?;
        return Ok(false);
    }
    let paint = screen::Paint::of(gate.terminal);
    let mut text = String::new();
    for document in documents {
        if documents.len() > 1 {
            let place = screen::shown_path(&document.path, &gate.editor.cwd);
            text.push_str(&screen::header(paint, gate.terminal.width(), &place, ""));
        }
        text.push_str(clean(document.shown()).trim_end());
        text.push('\n');
    }
    show(gate, draft, &gate.pagers.text, &text)
}

fn go_back(terminal: &dyn Terminal, earlier: &[Stage]) -> Result<Option<Decision>> {
    match earlier_stage(terminal, earlier)? {
        Back::To(stage) => Ok(Some(Decision::GoBack(stage))),
        Back::Stay => Ok(None),
        Back::End => Ok(Some(Decision::Stop)),
    }
}

/// Where a person wants to go back to.
pub(super) enum Back {
    To(Stage),
    Stay,
    End,
}

/// Asks which of the earlier stages; any other key stays.
pub(super) fn earlier_stage(terminal: &dyn Terminal, earlier: &[Stage]) -> Result<Back> {
    if earlier.is_empty() {
        say(terminal, "there is no earlier stage")?;
        return Ok(Back::Stay);
    }
    let list: Vec<_> =
        earlier.iter().enumerate().map(|(i, stage)| format!("{}  {stage}", i + 1)).collect();
    terminal.write(&format!(
        "Go back to which stage? What comes after it is kept as an attempt.\n\
         \x20   {}   other keys stay\n",
        list.join("   ")
    ))?;
    loop {
        return Ok(match terminal::menu_key(terminal, &[])? {
            Key::Enter => continue,
            Key::End => Back::End,
            Key::Char(c) => c
                .to_digit(10)
                .and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1))
                .and_then(|index| earlier.get(index))
                .map_or(Back::Stay, |stage| Back::To(*stage)),
            Key::Escape | Key::Other | Key::Interrupt => Back::Stay,
        });
    }
}

fn raise(terminal: &dyn Terminal, depth: Depth) -> Result<Option<Decision>> {
    let text =
        format!("Go on as a {depth} session? Everything is kept; nothing lowers it again. [y/n] ");
    confirmed(terminal, &text, Decision::Raise(depth))
}

fn abort(terminal: &dyn Terminal, stage: Stage) -> Result<Option<Decision>> {
    let then = row(stage).after_abort;
    let text = format!("Abort {stage}? Everything is kept; resume {then}. [y/n] ");
    confirmed(terminal, &text, Decision::Abort)
}

/// The decision, once a person has said yes to the question.
fn confirmed(terminal: &dyn Terminal, text: &str, decided: Decision) -> Result<Option<Decision>> {
    terminal.write(&hanging(text, terminal.width(), 2))?;
    terminal.write(" ")?;
    loop {
        let (answer, decision) = match terminal::menu_key(terminal, &[])? {
            // It may be the Enter after the `a`.
            Key::Enter => continue,
            Key::Char('y') => ("yes", Some(decided)),
            Key::End => ("", Some(Decision::Stop)),
            Key::Char(_) | Key::Escape | Key::Other | Key::Interrupt => ("no", None),
        };
        terminal.write(&format!("{answer}\n"))?;
        return Ok(decision);
    }
}

/// A line about what happened.
pub(super) fn say(terminal: &dyn Terminal, text: &str) -> Result<()> {
    terminal.write(&format!("{}\n", hanging(text, terminal.width(), 2)))
}

/// What failed, and that nothing was decided by it.
fn failed(terminal: &dyn Terminal, error: &anyhow::Error) -> Result<()> {
    let text = clean_line(&format!("{error:#}"));
    let mark = screen::Paint::of(terminal).bad("✗");
    say(terminal, &format!("{mark} nothing is decided: {text}"))?;
    for hint in crate::error::hints_of(error) {
        say(terminal, &hanging(&format!("  hint: {}", clean_line(hint)), terminal.width(), 8))?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "menu_tests.rs"]
mod tests;
