//! When a stage cannot go on by itself: try again, say how, look at the draft, go back, or give up.

use anyhow::Result;

use crate::gate::clean::clean_line;
use crate::gate::menu::{Back, earlier_stage, say};
use crate::gate::paint::Paint;
use crate::gate::screen::{self, header, labelled};
use crate::gate::terminal::{self, Key, Terminal, Text};
use crate::stage::Stage;

/// What is said about a stage that cannot go on by itself.
#[derive(Clone, Debug)]
pub struct Stuck<'a> {
    /// Which stage.
    pub stage: Stage,
    /// Why, in a few words: `draft limit reached (3/3)`.
    pub title: &'a str,
    /// What was said about the last draft, a line or more each.
    pub reasons: &'a [String],
    /// How many more drafts trying again allows.
    pub more: u32,
    /// There is a draft to look at.
    pub has_draft: bool,
    /// Stages one can go back to.
    pub earlier: &'a [Stage],
}

/// What a person decided about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitDecision {
    /// The count restarts.
    Retry,
    /// The count restarts, and the text is critical feedback for the actor.
    Guide(String),
    /// Open the gate of the draft as it is.
    Review,
    /// Back to an earlier stage.
    GoBack(Stage),
    /// The session ends as failed; everything is kept.
    Abort,
    /// Later: the same is asked again. Also when the terminal is closed.
    Stop,
}

/// Asks until there is a decision.
pub(super) fn run(terminal: &dyn Terminal, what: &Stuck<'_>) -> Result<LimitDecision> {
    terminal.write("\x07")?;
    terminal.write(&draw(terminal, what))?;
    let menu = menu(terminal, what);
    terminal.discard_typed();
    terminal.write(&menu)?;
    loop {
        let decision = match terminal::menu_key(terminal, &['2'])? {
            Key::Enter => continue,
            Key::Char('1') => Some(LimitDecision::Retry),
            Key::Char('2') => match terminal::text(terminal, "what should the actor do? ")? {
                Text::Given(text) => Some(LimitDecision::Guide(text)),
                Text::Nothing => None,
                Text::End => Some(LimitDecision::Stop),
            },
            Key::Char('3') => Some(LimitDecision::Abort),
            Key::Char('r') if what.has_draft => Some(LimitDecision::Review),
            Key::Char('q') | Key::End => Some(LimitDecision::Stop),
            Key::Char('g') => match earlier_stage(terminal, what.earlier)? {
                Back::To(stage) => Some(LimitDecision::GoBack(stage)),
                Back::Stay => None,
                Back::End => Some(LimitDecision::Stop),
            },
            Key::Char(c) => {
                terminal.write("\x07")?;
                say(terminal, &format!("unknown key '{c}'"))?;
                None
            }
            Key::Escape | Key::Other | Key::Interrupt => None,
        };
        if let Some(decision) = decision {
            return Ok(decision);
        }
        terminal.write(&menu)?;
    }
}

fn draw(terminal: &dyn Terminal, what: &Stuck<'_>) -> String {
    let title = format!("{} · {}", what.stage, clean_line(what.title));
    let mut out =
        header(Paint::of(terminal), terminal.width(), &title, &["your decision".to_owned()]);
    for (i, reason) in what.reasons.iter().enumerate() {
        labelled(&mut out, terminal.width(), if i == 0 { "Still" } else { "" }, reason);
    }
    out
}

fn menu(terminal: &dyn Terminal, what: &Stuck<'_>) -> String {
    let paint = Paint::of(terminal);
    let mut rows = vec![
        vec![('1', format!("retry: up to {} more draft{}", what.more, plural(what.more)))],
        vec![('2', "give guidance and retry".to_owned())],
        vec![('3', "abort (everything is kept)".to_owned())],
    ];
    if what.has_draft {
        rows.push(vec![('r', "read the draft: pass it, edit it, comment on it".to_owned())]);
    }
    if !what.earlier.is_empty() {
        rows.push(vec![('g', "go back to an earlier stage".to_owned())]);
    }
    rows.push(vec![('q', "stop for now: resume asks again".to_owned())]);
    format!("{} What now\n{}", paint.bold("?"), screen::keys(terminal, &rows))
}

const fn plural(number: u32) -> &'static str {
    if number == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Kind, kind_of};
    use crate::gate::terminal::scripted::Scripted;

    fn what<'a>(reasons: &'a [String], earlier: &'a [Stage]) -> Stuck<'a> {
        let title = "draft limit reached (3/3)";
        Stuck { stage: Stage::Prd, title, reasons, more: 3, has_draft: true, earlier }
    }

    fn decide(keys: &str) -> LimitDecision {
        run(&Scripted::new(keys), &what(&[], &[Stage::Idea])).unwrap()
    }

    #[test]
    fn every_key() {
        assert_eq!(decide("1"), LimitDecision::Retry);
        assert_eq!(decide("2\rtwo requirements are enough\r"), {
            LimitDecision::Guide("two requirements are enough".to_owned())
        });
        assert_eq!(decide("3"), LimitDecision::Abort);
        assert_eq!(decide("r"), LimitDecision::Review);
        assert_eq!(decide("q"), LimitDecision::Stop);
        assert_eq!(decide("g1"), LimitDecision::GoBack(Stage::Idea));
        assert_eq!(decide("gx2\r\r\x1b3"), LimitDecision::Abort);
    }

    #[test]
    fn a_closed_terminal_stops_and_enter_is_nothing() {
        for keys in ["", "\r\r\r", "2", "g"] {
            assert_eq!(decide(keys), LimitDecision::Stop, "{keys:?}");
        }
        let error = run(&Scripted::new("\x03"), &what(&[], &[])).unwrap_err();
        assert_eq!(kind_of(&error), Kind::Interrupted);
    }

    #[test]
    fn there_is_nothing_to_read_without_a_draft() {
        let terminal = Scripted::new("r3");
        let decision = run(&terminal, &Stuck { has_draft: false, ..what(&[], &[]) }).unwrap();
        assert_eq!(decision, LimitDecision::Abort);
        assert!(!terminal.output().contains("read the draft"), "{}", terminal.output());
    }

    #[test]
    fn it_says_what_was_wrong() {
        let terminal = Scripted::new("1");
        let reasons = ["critic: REQ-002 cannot be\ntested\x1b[2J".to_owned(), "no FEAT".to_owned()];
        run(&terminal, &what(&reasons, &[])).unwrap();
        assert_eq!(
            terminal.output(),
            "\x07━━ prd · draft limit reached (3/3) ━━━━━━━━━━━━━━━━━━━━━━━━━━━━ your decision ━━
Still    critic: REQ-002 cannot be
         tested
         no FEAT
? What now
    1  retry: up to 3 more drafts
    2  give guidance and retry
    3  abort (everything is kept)
    r  read the draft: pass it, edit it, comment on it
    q  stop for now: resume asks again
"
        );
        assert_eq!(*terminal.discarded.borrow(), 1);
    }
}
