//! Questions that are not about a draft: a model's question, a yes or no, a choice from a list.

use anyhow::Result;

use crate::choice::Choice;
use crate::gate::Elsewhere;
use crate::gate::clean::{clean, clean_line};
use crate::gate::elsewhere::answered_elsewhere;
use crate::gate::menu::say;
use crate::gate::paint::Paint;
use crate::gate::terminal::{self, Key, Terminal, Text, was_pasted};
use crate::tool::{Person, Question};
use crate::wrap::hanging;

/// A person at a terminal, for `ask_user`.
pub struct TerminalPerson<'a> {
    /// The person's terminal.
    pub terminal: &'a dyn Terminal,
    /// Notifies the person, who may have left.
    pub call: &'a dyn Fn(&str),
}

impl Person for TerminalPerson<'_> {
    fn ask(&self, question: &Question) -> Result<Option<String>> {
        (self.call)(&format!("the actor asks: {}", question.question));
        ask(self.terminal, &question.question, &question.options)
    }
}

/// No person is available: the run ends, and the question waits for an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct NobodyThere;

impl Person for NobodyThere {
    fn ask(&self, _question: &Question) -> Result<Option<String>> {
        Ok(None)
    }
}

/// Asks a model's question: a number selects an option, any other text is the answer. `None` if the
/// person gave no answer (two empty lines, Escape, end of input).
///
/// # Errors
/// Interrupted by Ctrl-C.
pub fn ask(terminal: &dyn Terminal, question: &str, options: &[String]) -> Result<Option<String>> {
    terminal.discard_typed();
    let paint = Paint::of(terminal);
    let width = terminal.width();
    let question: Vec<_> =
        clean(question.trim()).lines().map(|line| hanging(line, width, 2)).collect();
    let mut out = format!("\x07{} {}\n", paint.bold("?"), question.join("\n  "));
    for (i, option) in options.iter().enumerate() {
        let number = paint.bold(&(i + 1).to_string());
        out.push_str(&format!("    {number}  {}\n", hanging(&clean_line(option), width, 7)));
    }
    terminal.write(&out)?;
    let prompt =
        if options.is_empty() { "answer: " } else { "answer (a number, or your own words): " };
    let text = match terminal::text(terminal, prompt)? {
        Text::Given(text) => text,
        Text::Nothing | Text::End => return Ok(None),
    };
    let index = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    Ok(Some(match index.and_then(|index| options.get(index)) {
        Some(option) => {
            say(terminal, &format!("  → {}", clean_line(option)))?;
            option.clone()
        }
        None => text,
    }))
}

/// Asks for a yes or a no. Only `y` is yes; earlier input and pasted text are ignored.
///
/// # Errors
/// Interrupted by Ctrl-C.
pub fn confirm(terminal: &dyn Terminal, text: &str) -> Result<bool> {
    terminal.discard_typed();
    loop {
        let yes = terminal.yes_or_no(&clean(text))?.unwrap_or_default();
        if !was_pasted(terminal)? {
            return Ok(yes);
        }
    }
}

/// The keys that answer the question of [`allow`], here or at another terminal.
pub fn yes_or_no() -> Vec<Choice> {
    vec![Choice::new('y', "yes"), Choice::new('n', "no")]
}

/// Asks for a yes or a no, here or at another terminal; the first answer counts. Only `y` is yes.
///
/// # Errors
/// Interrupted by Ctrl-C.
pub fn allow(terminal: &dyn Terminal, elsewhere: &dyn Elsewhere, text: &str) -> Result<bool> {
    terminal.discard_typed();
    loop {
        let here = yes_here(terminal, elsewhere, text)?;
        let there = elsewhere.choose().map(|chosen| chosen.key == 'y');
        if let Some(yes) = there {
            answered_elsewhere(terminal, if yes { "yes" } else { "no" }, here.is_some())?;
        }
        if let Some(yes) = there.or(here) {
            return Ok(yes);
        }
    }
}

/// Asks here; `None` if another terminal has answered.
fn yes_here(
    terminal: &dyn Terminal,
    elsewhere: &dyn Elsewhere,
    text: &str,
) -> Result<Option<bool>> {
    let question = hanging(&clean(text), terminal.width(), 2);
    terminal.write(&format!("{} {question} [y/N] ", Paint::of(terminal).bold("?")))?;
    loop {
        let answered = || elsewhere.has_answered();
        let Some(key) = terminal::menu_key_unless(terminal, &[], &answered)? else {
            return Ok(None);
        };
        let yes = match key {
            Key::Char('y' | 'Y') => true,
            Key::Char('n' | 'N') | Key::Enter | Key::Escape | Key::End => false,
            Key::Char(_) | Key::Other | Key::Interrupt => continue,
        };
        terminal.write(if yes { "yes\n" } else { "no\n" })?;
        return Ok(Some(yes));
    }
}

/// Lets the person choose from a list; earlier input and pasted text are ignored. The `default` is
/// selected at first, and Enter accepts it, so do not use this for approvals. `None` on Escape or
/// end of input.
///
/// # Errors
/// Interrupted by Ctrl-C.
pub fn choose<T: Clone>(
    terminal: &dyn Terminal,
    prompt: &str,
    choices: &[(T, &str)],
    default: Option<usize>,
) -> Result<Option<T>> {
    let paint = Paint::of(terminal);
    let mark = |at| if default == Some(at) { " (Enter)" } else { "" };
    let items = choices.iter().enumerate();
    let items: Vec<_> =
        items.map(|(at, (_, text))| format!("{}{}", clean_line(text), mark(at))).collect();
    terminal.discard_typed();
    loop {
        terminal.write(&format!("{} {}\n", paint.bold("?"), clean(prompt)))?;
        let chosen = terminal.one_of(&items, default)?;
        if was_pasted(terminal)? {
            continue;
        }
        let Some(chosen) = chosen else { return Ok(None) };
        say(terminal, &format!("  → {}", clean_line(choices[chosen].1)))?;
        return Ok(Some(choices[chosen].0.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Kind, kind_of};
    use crate::gate::terminal::scripted::Scripted;

    fn answer(keys: &str) -> Option<String> {
        let options = ["SQLite".to_owned(), "a JSON \x1b[1mfile".to_owned()];
        ask(&Scripted::new(keys), "Where are todos kept?", &options).unwrap()
    }

    #[test]
    fn a_model_asks() {
        assert_eq!(answer("2\r").as_deref(), Some("a JSON \x1b[1mfile"));
        assert_eq!(answer("\rin memory\r").as_deref(), Some("in memory"));
        assert_eq!(answer("3\r").as_deref(), Some("3"));
        assert_eq!(answer("\r\r"), None);
        assert_eq!(answer(""), None);
        let terminal = Scripted::new("1\r");
        ask(&terminal, "?", &["one".to_owned()]).unwrap();
        assert!(terminal.output().ends_with("own words):   → one\n"), "{}", terminal.output());
        let terminal = Scripted::new("x\r");
        ask(&terminal, "a\x1b[2Jb?", &["\x1bcone".to_owned()]).unwrap();
        assert_eq!(
            terminal.output(),
            "\x07? ab?\n    1  one\nanswer (a number, or your own words): "
        );
    }

    #[test]
    fn only_y_is_yes() {
        for (keys, yes) in [("y", true), ("\r", false), ("n", false), ("", false), ("\x1b", false)]
        {
            assert_eq!(confirm(&Scripted::new(keys), "Delete it?").unwrap(), yes, "{keys:?}");
        }
        let pasted = Scripted::bursts(&["yes, and more", "n"]);
        assert!(!confirm(&pasted, "Delete it?").unwrap(), "a paste is no answer");
        let terminal = Scripted::new("y");
        confirm(&terminal, "Delete it?").unwrap();
        assert_eq!(*terminal.discarded.borrow(), 1, "what was typed before");
        let error = confirm(&Scripted::new("\x03"), "Delete it?").unwrap_err();
        assert_eq!(kind_of(&error), Kind::Interrupted);
    }

    #[test]
    fn enter_accepts_only_a_default() {
        let choices = [('w', "linked worktree"), ('p', "go on"), ('c', "cancel")];
        let pick = |keys: &str, default| {
            choose(&Scripted::new(keys), "Uncommitted changes", &choices, default).unwrap()
        };
        assert_eq!(pick("\r", Some(0)), Some('w'));
        assert_eq!(pick("xj\r", Some(0)), Some('p'));
        assert_eq!(pick("\r\rjjj\r", None), Some('c'));
        assert_eq!(pick("", Some(0)), None);
        assert_eq!(pick("\x1b", Some(0)), None);
        let pasted = Scripted::bursts(&["j\r and more", "j\r"]);
        assert_eq!(choose(&pasted, "?", &choices, Some(1)).unwrap(), Some('c'));
        assert!(pasted.output().contains("nothing is decided"), "{}", pasted.output());
    }

    #[test]
    fn nobody_there_gives_no_answer() {
        let question = Question { question: "?".to_owned(), options: Vec::new() };
        assert_eq!(NobodyThere.ask(&question).unwrap(), None);
        let called = std::cell::RefCell::new(Vec::new());
        let call = |why: &str| called.borrow_mut().push(why.to_owned());
        let person = TerminalPerson { terminal: &Scripted::new("yes\r"), call: &call };
        assert_eq!(person.ask(&question).unwrap().as_deref(), Some("yes"));
        assert_eq!(*called.borrow(), ["the actor asks: ?"]);
    }
}
