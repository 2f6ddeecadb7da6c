//! The dialogue of a gate: reads keys and returns a decision.
//!
//! Every error leads back to the menu, never to an approval.

use anyhow::Result;

use crate::gate::clean::{clean, clean_colored, clean_line};
use crate::gate::edits::{edit, pass};
use crate::gate::elsewhere::{answered_elsewhere, keep_words};
use crate::gate::paint::Paint;
use crate::gate::terminal::{self, Key, Terminal, Text};
use crate::gate::{
    Actor, Decision, Document, Draft, Gate, hunks, menu_lines, pager, screen, untold,
};
use crate::stage::{Depth, Stage};
use crate::stages::row;
use crate::wrap::{hanging, hanging_command};

/// Asks until there is a decision, here or at another terminal; the first one counts.
pub(super) fn run(gate: &Gate<'_>, draft: &Draft<'_>) -> Result<Decision> {
    loop {
        let here = dialogue(gate, draft)?;
        let there = gate.elsewhere.decide();
        if let Some(decision) = &there {
            let what = match decision {
                Decision::Feedback(text) => format!("feedback: {}", clean_line(text)),
                _ => "pass".to_owned(),
            };
            answered_elsewhere(gate.terminal, &what, here.is_some())?;
            if let Some(Decision::Feedback(text) | Decision::Question(text)) = &here {
                keep_words(gate.terminal, gate.untold, text)?;
            }
        }
        if let Some(decision) = there.or(here) {
            return Ok(decision);
        }
    }
}

/// Asks here until there is a decision; `None` if another terminal has answered.
fn dialogue(gate: &Gate<'_>, draft: &Draft<'_>) -> Result<Option<Decision>> {
    let terminal = gate.terminal;
    match &draft.reply {
        Some(reply) if !reply.redraws => again(gate, draft, &reply.text)?,
        reply => {
            terminal.write("\x07")?;
            draw(gate, draft, reply.as_ref().map_or("", |reply| &reply.text))?;
        }
    }
    // Ignore an Enter typed by habit after another key.
    let mut after_key = false;
    loop {
        let answered = || gate.elsewhere.has_answered();
        let Some(key) = terminal::menu_key_unless(terminal, &['f', 't'], &answered)? else {
            return Ok(None);
        };
        if key == Key::Enter {
            terminal.write("\n")?;
            if !std::mem::take(&mut after_key) {
                say(terminal, "Enter alone decides nothing; ? lists the keys")?;
            }
            terminal.write(menu_lines::PROMPT)?;
            continue;
        }
        after_key = true;
        if !is_offered(gate, draft, key) {
            not_offered(terminal, draft, key)?;
            continue;
        }
        // After `f`, and after `t` if the actor answers questions, text follows on the same line;
        // any other key ends the line.
        if let Key::Char(c) = key
            && c != 'f'
            && (c != 't' || draft.actor != Actor::Answers)
        {
            terminal.write(&format!("{c}\n"))?;
        }
        let decision = match key {
            Key::Char('p') => pass(gate, draft)?,
            Key::Char('e') => match draft.main() {
                Some(main) => edit(gate, draft, std::slice::from_ref(&main.path))?,
                None => {
                    let code = draft.code.iter().filter(|path| path.is_file()).cloned();
                    edit(gate, draft, &code.collect::<Vec<_>>())?
                }
            },
            Key::Char('E') => {
                let all: Vec<_> = draft.documents.iter().map(|d| d.path.clone()).collect();
                edit(gate, draft, &all)?
            }
            Key::Char('h') => hunks::go_through(gate, draft)?,
            Key::Char('f') => {
                match untold::text_after(terminal, (menu_lines::PROMPT, "f  "), gate.untold)? {
                    Text::Given(text) => Some(Decision::Feedback(text)),
                    Text::Nothing => None,
                    Text::End => Some(Decision::Stop),
                }
            }
            Key::Char('F') => long_feedback(gate)?,
            Key::Char('t') => question(terminal, draft)?,
            Key::Char('m') => Some(Decision::OtherModel),
            Key::Char('x') => Some(Decision::TakeBack),
            Key::Char(c @ ('d' | 'v' | 'V')) => {
                let paged = match c {
                    'd' => show_diff(gate, draft)?,
                    'v' => {
                        show_documents(gate, draft, &draft.main().into_iter().collect::<Vec<_>>())?
                    }
                    _ => show_documents(gate, draft, &draft.documents.iter().collect::<Vec<_>>())?,
                };
                if paged {
                    draw(gate, draft, "")?;
                    continue;
                }
                None
            }
            Key::Char('+') => match draft.more {
                Some(depth) => raise(terminal, depth)?,
                None => None,
            },
            Key::Char('g') => go_back(gate, draft.earlier)?,
            Key::Char('a') => abort(terminal, draft.stage)?,
            Key::Char('?') => {
                terminal.write(&menu_lines::help(gate, draft))?;
                None
            }
            _ => Some(Decision::Stop),
        };
        if decision.is_some() {
            return Ok(decision);
        }
        terminal.write(&menu_lines::menu(gate, draft))?;
    }
}

/// True if the menu offers this key now.
fn is_offered(gate: &Gate<'_>, draft: &Draft<'_>, key: Key) -> bool {
    match key {
        Key::Char(c) => menu_lines::has(gate, draft, c),
        Key::End => true,
        Key::Enter | Key::Escape | Key::Other | Key::Interrupt => false,
    }
}

/// Beeps, and says on the menu's line why the key does nothing.
fn not_offered(terminal: &dyn Terminal, draft: &Draft<'_>, key: Key) -> Result<()> {
    terminal.write("\x07")?;
    if let Key::Char(c) = key {
        let key = clean_line(&c.to_string());
        let why = match c {
            'p' if !draft.can_pass => {
                "nothing to pass: a document is missing; f says what should change".to_owned()
            }
            _ => format!("unknown key '{key}'; ? lists the keys"),
        };
        terminal.write(&format!("{key}  {why}\n"))?;
        terminal.write(menu_lines::PROMPT)?;
    }
    Ok(())
}

/// Draws the whole gate, with `reply` above its menu. Discards earlier input: it cannot be about a
/// draft not shown yet.
fn draw(gate: &Gate<'_>, draft: &Draft<'_>, reply: &str) -> Result<()> {
    gate.terminal.write(&screen::draft(gate, draft))?;
    again(gate, draft, reply)
}

/// Draws the menu below the reply to the last key.
fn again(gate: &Gate<'_>, draft: &Draft<'_>, reply: &str) -> Result<()> {
    for line in clean(reply).lines() {
        let line = hanging_command(line, gate.terminal.width(), 2);
        gate.terminal.write(&format!("{line}\n"))?;
    }
    gate.terminal.discard_typed();
    gate.terminal.write(&menu_lines::menu(gate, draft))
}

/// Lets the person ask the actor a question. That does not decide on the draft.
fn question(terminal: &dyn Terminal, draft: &Draft<'_>) -> Result<Option<Decision>> {
    if let Actor::Agent(name) = &draft.actor {
        let name = clean_line(name);
        say(
            terminal,
            &format!(
                "{name} cannot be asked, because it would write files; press f to request changes"
            ),
        )?;
        return Ok(None);
    }
    Ok(match terminal::text_behind(terminal, menu_lines::PROMPT, "t  ")? {
        Text::Given(text) => Some(Decision::Question(text)),
        Text::Nothing => None,
        Text::End => Some(Decision::Stop),
    })
}

fn long_feedback(gate: &Gate<'_>) -> Result<Option<Decision>> {
    match gate.editor.edit_text(gate.scratch, &gate.untold.text(), ".md") {
        Ok(Some(text)) => {
            gate.untold.keep(text.trim());
            Ok(Some(Decision::Feedback(text.trim().to_owned())))
        }
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

/// Shows the diff. Returns true if the person's pager showed it.
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

/// The diff in git's colours, as configured by the user.
fn diff(gate: &Gate<'_>, draft: &Draft<'_>) -> Result<String> {
    let plain = (draft.full_diff)(false)?;
    if !gate.terminal.colors() {
        return Ok(clean(&plain));
    }
    let colored = clean_colored(&plain, &(draft.full_diff)(true)?);
    // Git's coloured diff may differ from the plain one in more than colour (`diff.wordRegex`,
    // another version of git): then the plain one is coloured here.
    Ok(colored.unwrap_or_else(|| screen::colored_diff(Paint::of(gate.terminal), &plain)))
}

/// Shows a cleaned text. Returns true if the person's pager showed it.
fn show(gate: &Gate<'_>, draft: &Draft<'_>, pager: &str, text: &str) -> Result<bool> {
    let paged = pager::show(gate.terminal, pager, &gate.editor.cwd, text)?;
    if !paged {
        gate.terminal.write(&screen::heading(gate, draft))?;
    }
    Ok(paged)
}

/// Shows documents. Returns true if the person's pager showed them.
fn show_documents(gate: &Gate<'_>, draft: &Draft<'_>, documents: &[&Document]) -> Result<bool> {
    if documents.is_empty() {
        say(gate.terminal, "there is no document here; d shows the diff")?;
        return Ok(false);
    }
    let paint = Paint::of(gate.terminal);
    let mut text = String::new();
    for document in documents {
        if documents.len() > 1 {
            let place = screen::shown_path(&document.path, &gate.editor.cwd);
            text.push_str(&screen::header(paint, gate.terminal.width(), &place, &[]));
        }
        let shown = clean(document.shown());
        let is_markdown = document.path.extension().is_some_and(|end| end == "md");
        let shown = match gate.pagers.layout.filter(|_| is_markdown) {
            Some(layout) => layout(&shown, gate.terminal.width(), gate.terminal.colors()),
            None => shown,
        };
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    show(gate, draft, &gate.pagers.text, &text)
}

fn go_back(gate: &Gate<'_>, earlier: &[Stage]) -> Result<Option<Decision>> {
    match earlier_stage(gate.terminal, earlier, &|| gate.elsewhere.has_answered())? {
        Back::To(stage) => Ok(Some(Decision::GoBack(stage))),
        Back::Stay => Ok(None),
        Back::End => Ok(Some(Decision::Stop)),
    }
}

/// The answer to "go back to which stage?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// Back to before this stage.
    To(Stage),
    /// Stay here.
    Stay,
    /// The terminal was closed.
    End,
}

/// Asks for one of the earlier stages. Enter is ignored; any other key, or an answer from another
/// terminal (`ends`), means staying here.
///
/// # Errors
/// Interrupted by Ctrl-C, or the terminal cannot be written.
pub fn earlier_stage(
    terminal: &dyn Terminal,
    earlier: &[Stage],
    ends: &dyn Fn() -> bool,
) -> Result<Back> {
    if earlier.is_empty() {
        say(terminal, "there is no earlier stage")?;
        return Ok(Back::Stay);
    }
    let list: Vec<_> =
        earlier.iter().enumerate().map(|(i, stage)| format!("{}  {stage}", i + 1)).collect();
    terminal.write(&format!(
        "Go back to which stage? Later work is kept as an attempt.\n\
         \x20   {}   any other key: stay here\n",
        list.join("   ")
    ))?;
    loop {
        let Some(key) = terminal::menu_key_unless(terminal, &[], ends)? else {
            return Ok(Back::Stay);
        };
        return Ok(match key {
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
    let text = format!(
        "Continue as a {depth} session? Everything is kept; the depth cannot be lowered again. [y/n] "
    );
    confirmed(terminal, &text, Decision::Raise(depth))
}

fn abort(terminal: &dyn Terminal, stage: Stage) -> Result<Option<Decision>> {
    let then = row(stage).after_abort;
    let text = format!("Abort {stage}? Everything is kept; 'resume' {then}. [y/n] ");
    confirmed(terminal, &text, Decision::Abort)
}

/// Returns the decision if the person confirms the question.
fn confirmed(terminal: &dyn Terminal, text: &str, decided: Decision) -> Result<Option<Decision>> {
    terminal.write(&hanging(text, terminal.width(), 2))?;
    terminal.write(" ")?;
    loop {
        let (answer, decision) = match terminal::menu_key(terminal, &[])? {
            // This may be the Enter after the `a`.
            Key::Enter => continue,
            Key::Char('y') => ("yes", Some(decided)),
            Key::End => ("", Some(Decision::Stop)),
            Key::Char(_) | Key::Escape | Key::Other | Key::Interrupt => ("no", None),
        };
        terminal.write(&format!("{answer}\n"))?;
        return Ok(decision);
    }
}

/// Writes a line about an event.
pub(super) fn say(terminal: &dyn Terminal, text: &str) -> Result<()> {
    terminal.write(&format!("{}\n", hanging(text, terminal.width(), 2)))
}

/// Reports an error, and that nothing was decided.
pub(super) fn failed(terminal: &dyn Terminal, error: &anyhow::Error) -> Result<()> {
    let text = clean_line(&format!("{error:#}"));
    let mark = Paint::of(terminal).bad("✗");
    say(terminal, &format!("{mark} nothing is decided: {text}"))?;
    for hint in crate::error::hints_of(error) {
        say(terminal, &hanging(&format!("  hint: {}", clean_line(hint)), terminal.width(), 8))?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "menu_tests.rs"]
mod tests;
