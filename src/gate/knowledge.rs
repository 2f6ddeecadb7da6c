//! What sessions learned about the project: a difference that a person takes, edits or drops.

use anyhow::Result;

use crate::gate::clean::{clean, clean_line};
use crate::gate::menu::say;
use crate::gate::paint::Paint;
use crate::gate::screen::{self, header, labelled};
use crate::gate::terminal::{self, Key, Terminal};

/// What is asked about.
#[derive(Clone, Debug)]
pub struct Learned<'a> {
    /// Facts that are proposed.
    pub count: usize,
    /// Whose they are.
    pub sessions: &'a str,
    /// How the file would change: a unified difference.
    pub diff: &'a str,
    /// The editor's name.
    pub editor: &'a str,
}

/// What a person decided about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnedDecision {
    /// The file changes as shown.
    Take,
    /// What they save in the editor is the file.
    Edit,
    /// The file stays as it is, and nobody asks again.
    Drop,
    /// They are asked again. Also when the terminal is closed.
    Later,
}

/// Asks until there is a decision.
pub(super) fn run(terminal: &dyn Terminal, what: &Learned<'_>) -> Result<LearnedDecision> {
    terminal.write("\x07")?;
    terminal.write(&draw(terminal, what))?;
    let menu = menu(terminal, what);
    terminal.discard_typed();
    terminal.write(&menu)?;
    loop {
        match terminal::menu_key(terminal, &[])? {
            Key::Char('t') => return Ok(LearnedDecision::Take),
            Key::Char('e') => return Ok(LearnedDecision::Edit),
            Key::Char('d') => return Ok(LearnedDecision::Drop),
            Key::Char('l' | 'q') | Key::End => return Ok(LearnedDecision::Later),
            Key::Char(c) => say(terminal, &format!("unknown key '{c}'"))?,
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
    labelled(&mut out, terminal.width(), "From", &clean_line(what.sessions));
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
        vec![('e', format!("edit the file as it would be, in {}", what.editor))],
        vec![('d', "drop all".to_owned())],
        vec![('l', "later: the next run asks again".to_owned())],
    ];
    format!("{} Keep it\n{}", Paint::of(terminal).bold("?"), screen::keys(terminal, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::terminal::scripted::Scripted;

    fn learned() -> Learned<'static> {
        let diff = "@@ -1 +1,2 @@\n ## Traps\n+- a \x1b[2Jtrap\n";
        Learned { count: 1, sessions: "todo", diff, editor: "vim" }
    }

    #[test]
    fn every_key_and_a_closed_terminal() {
        let decide = |keys: &str| run(&Scripted::new(keys), &learned()).unwrap();
        assert_eq!(decide("t"), LearnedDecision::Take);
        assert_eq!(decide("xe"), LearnedDecision::Edit);
        assert_eq!(decide("\r\x1bd"), LearnedDecision::Drop);
        assert_eq!(decide("l"), LearnedDecision::Later);
        assert_eq!(decide("\r\r"), LearnedDecision::Later);
    }

    #[test]
    fn the_difference_is_shown_and_obeyed_by_nobody() {
        let terminal = Scripted::new("t");
        run(&terminal, &learned()).unwrap();
        let shown = terminal.output();
        assert!(shown.contains("knowledge · 1 fact proposed"), "{shown}");
        assert!(shown.contains("   ## Traps\n  +- a "), "{shown}");
        assert!(!shown.contains("\x1b[2J") && !shown.contains("@@"), "{shown}");
        assert!(shown.contains("edit the file as it would be, in vim"), "{shown}");
    }
}
