//! The prompt for facts that sessions learned about the project: a diff to accept, edit or drop.

use anyhow::Result;

use crate::choice::{Choice, Chosen};
use crate::gate::Elsewhere;
use crate::gate::clean::{clean, clean_line};
use crate::gate::elsewhere::answered_elsewhere;
use crate::gate::menu::say;
use crate::gate::paint::Paint;
use crate::gate::screen::{self, header, labelled};
use crate::gate::terminal::{self, Key, Terminal};

/// The proposed facts.
#[derive(Clone, Debug)]
pub struct Learned<'a> {
    /// Number of facts.
    pub count: usize,
    /// The session that proposed them; if several did, a line for each fact with its session.
    pub sessions: &'a str,
    /// A unified diff of the knowledge file.
    pub diff: &'a str,
    /// The editor's name.
    pub editor: &'a str,
}

/// The decision about the facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnedDecision {
    /// Change the file as shown.
    Take,
    /// Use the file as saved in the editor.
    Edit,
    /// Leave the file as it is; this is not asked again.
    Drop,
    /// Ask again in the next run; also if the terminal was closed.
    Later,
}

impl Learned<'_> {
    /// The keys that decide, here or at another terminal; the editor is available only here.
    pub fn choices() -> Vec<Choice> {
        vec![
            Choice::new('t', "take all"),
            Choice::new('d', "drop all"),
            Choice::new('l', "later: the next run asks again"),
        ]
    }
}

/// The decision for a key pressed at another terminal.
fn decided(chosen: &Chosen) -> Option<LearnedDecision> {
    match chosen.key {
        't' => Some(LearnedDecision::Take),
        'd' => Some(LearnedDecision::Drop),
        'l' => Some(LearnedDecision::Later),
        _ => None,
    }
}

/// Asks until there is a decision, here or at another terminal; the first one counts.
pub(super) fn run(
    terminal: &dyn Terminal,
    elsewhere: &dyn Elsewhere,
    what: &Learned<'_>,
) -> Result<LearnedDecision> {
    loop {
        let here = dialogue(terminal, elsewhere, what)?;
        let there = elsewhere.choose().and_then(|chosen| decided(&chosen));
        if let Some(decision) = there {
            let told = match decision {
                LearnedDecision::Take => "take all",
                LearnedDecision::Drop => "drop all",
                LearnedDecision::Edit | LearnedDecision::Later => "later",
            };
            answered_elsewhere(terminal, told, here.is_some())?;
        }
        if let Some(decision) = there.or(here) {
            return Ok(decision);
        }
    }
}

/// Asks here until there is a decision; `None` if another terminal has answered.
fn dialogue(
    terminal: &dyn Terminal,
    elsewhere: &dyn Elsewhere,
    what: &Learned<'_>,
) -> Result<Option<LearnedDecision>> {
    terminal.write("\x07")?;
    terminal.write(&draw(terminal, what))?;
    let menu = menu(terminal, what);
    terminal.discard_typed();
    terminal.write(&menu)?;
    let answered = || elsewhere.has_answered();
    loop {
        let Some(key) = terminal::menu_key_unless(terminal, &[], &answered)? else {
            return Ok(None);
        };
        match key {
            Key::Char('t') => return Ok(Some(LearnedDecision::Take)),
            Key::Char('e') => return Ok(Some(LearnedDecision::Edit)),
            Key::Char('d') => return Ok(Some(LearnedDecision::Drop)),
            Key::Char('l' | 'q') | Key::End => return Ok(Some(LearnedDecision::Later)),
            Key::Char('?') => terminal.write(&help(terminal, what))?,
            Key::Char(c) => {
                let key = clean_line(&c.to_string());
                say(terminal, &format!("unknown key '{key}'; ? lists the keys"))?;
            }
            Key::Enter | Key::Escape | Key::Other | Key::Interrupt => continue,
        }
        terminal.write(&menu)?;
    }
}

fn draw(terminal: &dyn Terminal, what: &Learned<'_>) -> String {
    let facts = if what.count == 1 { "fact" } else { "facts" };
    let title = format!("knowledge · {} {facts} proposed", what.count);
    let mut out =
        header(Paint::of(terminal), terminal.width(), &title, &["your decision".to_owned()]);
    labelled(&mut out, terminal.width(), "From", what.sessions);
    labelled(&mut out, terminal.width(), "File", ".cowork/knowledge.md, which later sessions read");
    for line in clean(what.diff).lines().filter(|line| !line.starts_with("@@")) {
        out.push_str(format!("  {line}").trim_end());
        out.push('\n');
    }
    out
}

fn menu(terminal: &dyn Terminal, what: &Learned<'_>) -> String {
    let rows = vec![
        vec![('t', "take all".to_owned())],
        vec![('e', format!("edit the resulting file in {}", what.editor))],
        vec![('d', "drop all".to_owned())],
        vec![('l', "later: the next run asks again".to_owned())],
    ];
    let question = "Add this to .cowork/knowledge.md?";
    format!("{}\n{}", Paint::of(terminal).bold(question), screen::keys(terminal, &rows))
}

/// Describes each key in full.
fn help(terminal: &dyn Terminal, what: &Learned<'_>) -> String {
    let edit = format!(
        "edit the file in {}: it is used as you save it; a fact that you delete is dropped",
        what.editor
    );
    let rows = vec![
        vec![('t', "take all: the file changes as shown, in a commit".to_owned())],
        vec![('e', edit)],
        vec![('d', "drop all: the file stays as it is, and this is not asked again".to_owned())],
        vec![('l', "later: nothing changes, and the next run asks again".to_owned())],
    ];
    screen::keys(terminal, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::NobodyElse;
    use crate::gate::terminal::scripted::Scripted;

    fn learned() -> Learned<'static> {
        let diff = "@@ -1 +1,2 @@\n ## Traps\n+- a \x1b[2Jtrap\n";
        Learned { count: 1, sessions: "todo", diff, editor: "vim" }
    }

    #[test]
    fn every_key_and_a_closed_terminal() {
        let decide = |keys: &str| run(&Scripted::new(keys), &NobodyElse, &learned()).unwrap();
        assert_eq!(decide("t"), LearnedDecision::Take);
        assert_eq!(decide("xe"), LearnedDecision::Edit);
        assert_eq!(decide("\r\x1bd"), LearnedDecision::Drop);
        assert_eq!(decide("l"), LearnedDecision::Later);
        assert_eq!(decide("\r\r"), LearnedDecision::Later);
    }

    #[test]
    fn help_explains_each_key_and_each_fact_has_its_session() {
        let sessions = "todo: Traps: a trap\nnotes: Style: short";
        let what = Learned { sessions, ..learned() };
        let terminal = Scripted::new("?xl");
        assert_eq!(run(&terminal, &NobodyElse, &what).unwrap(), LearnedDecision::Later);
        let shown = terminal.output();
        assert!(shown.contains("From     todo: Traps: a trap\n"), "{shown}");
        assert!(shown.contains("         notes: Style: short\n"), "{shown}");
        assert!(shown.contains("drop all: the file stays as it is"), "{shown}");
        assert!(shown.contains("unknown key 'x'; ? lists the keys"), "{shown}");
    }

    #[test]
    fn the_diff_is_shown_without_control_sequences() {
        let terminal = Scripted::new("t");
        run(&terminal, &NobodyElse, &learned()).unwrap();
        let shown = terminal.output();
        assert!(shown.contains("knowledge · 1 fact proposed"), "{shown}");
        assert!(shown.contains("   ## Traps\n  +- a "), "{shown}");
        assert!(!shown.contains("\x1b[2J") && !shown.contains("@@"), "{shown}");
        assert!(shown.contains("edit the resulting file in vim"), "{shown}");
    }
}
