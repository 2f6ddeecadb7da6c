//! The prompt when a stage cannot continue: retry, give guidance, read the draft, go back, or
//! abort.

use anyhow::Result;

use crate::choice::{Choice, Chosen, Wants};
use crate::gate::Elsewhere;
use crate::gate::clean::clean_line;
use crate::gate::elsewhere::{answered_elsewhere, keep_words};
use crate::gate::menu::{Back, earlier_stage, say};
use crate::gate::paint::Paint;
use crate::gate::screen::{self, header, labelled};
use crate::gate::terminal::{self, Key, Terminal, Text};
use crate::gate::untold::{Untold, text_after};
use crate::stage::Stage;

/// A stage that cannot continue without a person.
#[derive(Clone, Debug)]
pub struct Stuck<'a> {
    /// The stage.
    pub stage: Stage,
    /// The reason, in a few words: `draft limit reached (3/3)`.
    pub title: &'a str,
    /// Findings about the last draft, one line or more each.
    pub reasons: &'a [String],
    /// Number of further drafts that a retry allows.
    pub more: u32,
    /// True if there is a draft to read.
    pub has_draft: bool,
    /// The documents that the draft lacks.
    pub lacks: &'a [&'a str],
    /// Stages that the session can go back to.
    pub earlier: &'a [Stage],
}

/// The decision about a stuck stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitDecision {
    /// Retry: the draft count restarts.
    Retry,
    /// Retry: the draft count restarts, and the text is critical feedback for the actor.
    Guide(String),
    /// Open the gate of the draft as it is.
    Review,
    /// Go back to an earlier stage.
    GoBack(Stage),
    /// End the session as failed; everything is kept.
    Abort,
    /// Ask again later; also if the terminal was closed.
    Stop,
}

impl Stuck<'_> {
    /// Why `p`, which passes a draft at its gate, is not a key of this menu.
    fn no_pass(&self) -> String {
        match (self.has_draft, self.lacks) {
            (false, _) => "p is not here: there is no draft to pass".to_owned(),
            (true, []) => "p is not here: r shows the draft, and p passes it there".to_owned(),
            (true, lacks) => format!("p is not here: the draft has no {}", lacks.join(", no ")),
        }
    }

    /// The keys that decide, here or at another terminal.
    pub fn choices(&self) -> Vec<Choice> {
        let more = self.more;
        let mut choices = vec![
            Choice::new('1', format!("retry: up to {more} more draft{}", plural(more))),
            Choice::new('2', "give guidance and retry").wanting(Wants::Text(GUIDANCE.to_owned())),
            Choice::new('3', "abort (everything is kept)"),
        ];
        if self.has_draft {
            choices.push(Choice::new('r', "read the draft: pass it, edit it, comment on it"));
        }
        if !self.earlier.is_empty() {
            let stages = Wants::OneOf(self.earlier.to_vec());
            choices.push(Choice::new('g', "go back to an earlier stage").wanting(stages));
        }
        choices
    }

    /// The decision for a key pressed at another terminal.
    fn decided(&self, chosen: Chosen) -> Option<LimitDecision> {
        Some(match (chosen.key, chosen.stage) {
            ('1', _) => LimitDecision::Retry,
            ('2', _) => LimitDecision::Guide(chosen.text),
            ('3', _) => LimitDecision::Abort,
            ('r', _) => LimitDecision::Review,
            ('g', Some(stage)) => LimitDecision::GoBack(stage),
            _ => return None,
        })
    }
}

/// The prompt for guidance.
const GUIDANCE: &str = "what should the actor do? ";

/// Asks until there is a decision, here or at another terminal; the first one counts.
pub(super) fn run(
    terminal: &dyn Terminal,
    elsewhere: &dyn Elsewhere,
    untold: &dyn Untold,
    what: &Stuck<'_>,
) -> Result<LimitDecision> {
    loop {
        let here = dialogue(terminal, elsewhere, untold, what)?;
        let there = elsewhere.choose().and_then(|chosen| what.decided(chosen));
        if let Some(decision) = &there {
            answered_elsewhere(terminal, &told(decision), here.is_some())?;
            if let Some(LimitDecision::Guide(text)) = &here {
                keep_words(terminal, untold, text)?;
            }
        }
        if let Some(decision) = there.or(here) {
            return Ok(decision);
        }
    }
}

/// Describes a decision in a few words.
fn told(decision: &LimitDecision) -> String {
    match decision {
        LimitDecision::Retry => "retry".to_owned(),
        LimitDecision::Guide(text) => format!("guidance: {}", clean_line(text)),
        LimitDecision::Review => "read the draft".to_owned(),
        LimitDecision::GoBack(stage) => format!("go back to {stage}"),
        LimitDecision::Abort => "abort".to_owned(),
        LimitDecision::Stop => "stop for now".to_owned(),
    }
}

/// Asks here until there is a decision; `None` if another terminal has answered.
fn dialogue(
    terminal: &dyn Terminal,
    elsewhere: &dyn Elsewhere,
    untold: &dyn Untold,
    what: &Stuck<'_>,
) -> Result<Option<LimitDecision>> {
    terminal.write("\x07")?;
    let mut drawn = draw(terminal, what);
    screen::typed(&mut drawn, terminal.width(), untold, '2');
    terminal.write(&drawn)?;
    let menu = menu(terminal, what);
    terminal.discard_typed();
    terminal.write(&menu)?;
    let answered = || elsewhere.has_answered();
    loop {
        let Some(key) = terminal::menu_key_unless(terminal, &['2'], &answered)? else {
            return Ok(None);
        };
        let decision = match key {
            Key::Enter => continue,
            Key::Char('1') => Some(LimitDecision::Retry),
            Key::Char('2') => match text_after(terminal, ("", GUIDANCE), untold)? {
                Text::Given(text) => Some(LimitDecision::Guide(text)),
                Text::Nothing => None,
                Text::End => Some(LimitDecision::Stop),
            },
            Key::Char('3') => Some(LimitDecision::Abort),
            Key::Char('r') if what.has_draft => Some(LimitDecision::Review),
            Key::Char('q') | Key::End => Some(LimitDecision::Stop),
            Key::Char('g') => match earlier_stage(terminal, what.earlier, &answered)? {
                Back::To(stage) => Some(LimitDecision::GoBack(stage)),
                Back::Stay => None,
                Back::End => Some(LimitDecision::Stop),
            },
            Key::Char(c) => {
                terminal.write("\x07")?;
                let unknown = || format!("unknown key '{}'", clean_line(&c.to_string()));
                say(terminal, &if c == 'p' { what.no_pass() } else { unknown() })?;
                None
            }
            Key::Escape | Key::Other | Key::Interrupt => None,
        };
        if decision.is_some() {
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
    labelled(&mut out, terminal.width(), "Pass", &what.no_pass());
    out
}

fn menu(terminal: &dyn Terminal, what: &Stuck<'_>) -> String {
    let paint = Paint::of(terminal);
    let choices = what.choices().into_iter();
    let mut rows: Vec<_> = choices.map(|choice| vec![(choice.key, choice.does)]).collect();
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
    use crate::gate::{NobodyElse, NothingTyped};

    fn what<'a>(reasons: &'a [String], earlier: &'a [Stage]) -> Stuck<'a> {
        let title = "draft limit reached (3/3)";
        Stuck { stage: Stage::Prd, title, reasons, more: 3, has_draft: true, lacks: &[], earlier }
    }

    struct Typed;

    impl Untold for Typed {
        fn text(&self) -> String {
            "name the file".to_owned()
        }

        fn keep(&self, _words: &str) {}
    }

    #[test]
    fn guidance_starts_with_notes_typed_during_the_run() {
        let terminal = Scripted::new("2, please\r");
        let decision = run(&terminal, &NobodyElse, &Typed, &what(&[], &[])).unwrap();
        assert_eq!(decision, LimitDecision::Guide("name the file, please".to_owned()));
        let said = terminal.output();
        assert!(said.contains("Typed    \"name the file\"; 2 continues the text"), "{said}");
    }

    fn decide(keys: &str) -> LimitDecision {
        run(&Scripted::new(keys), &NobodyElse, &NothingTyped, &what(&[], &[Stage::Idea])).unwrap()
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
    fn a_closed_terminal_stops_and_enter_is_ignored() {
        for keys in ["", "\r\r\r", "2", "g"] {
            assert_eq!(decide(keys), LimitDecision::Stop, "{keys:?}");
        }
        let error =
            run(&Scripted::new("\x03"), &NobodyElse, &NothingTyped, &what(&[], &[])).unwrap_err();
        assert_eq!(kind_of(&error), Kind::Interrupted);
    }

    #[test]
    fn there_is_nothing_to_read_without_a_draft() {
        let terminal = Scripted::new("r3");
        let decision = run(
            &terminal,
            &NobodyElse,
            &NothingTyped,
            &Stuck { has_draft: false, ..what(&[], &[]) },
        )
        .unwrap();
        assert_eq!(decision, LimitDecision::Abort);
        assert!(!terminal.output().contains("read the draft"), "{}", terminal.output());
        assert!(terminal.output().contains("there is no draft to pass"), "{}", terminal.output());
    }

    #[test]
    fn a_draft_without_its_document_says_why_it_cannot_be_passed() {
        let terminal = Scripted::new("p3");
        let what = Stuck { lacks: &["prd.md"], ..what(&[], &[]) };
        run(&terminal, &NobodyElse, &NothingTyped, &what).unwrap();
        let shown = terminal.output();
        assert_eq!(shown.matches("p is not here: the draft has no prd.md\n").count(), 2, "{shown}");
    }

    /// Another terminal that has answered before anything was typed here.
    struct There(Chosen);

    impl Elsewhere for There {
        fn has_answered(&self) -> bool {
            true
        }

        fn decide(&self) -> Option<crate::gate::Decision> {
            None
        }

        fn choose(&self) -> Option<Chosen> {
            Some(self.0.clone())
        }
    }

    #[test]
    fn every_key_means_the_same_elsewhere() {
        let earlier = [Stage::Idea];
        let what = what(&[], &earlier);
        for choice in what.choices() {
            let text = "two are enough".to_owned();
            let stage = Some(Stage::Idea);
            let chosen = Chosen { key: choice.key, text, stage };
            assert!(choice.fits(&chosen), "{choice:?}");
            let there = run(&Scripted::new(""), &There(chosen), &NothingTyped, &what).unwrap();
            let here = match choice.wants {
                Wants::Nothing => decide(&choice.key.to_string()),
                Wants::Text(_) => decide("2two are enough\r"),
                Wants::OneOf(_) => decide("g1"),
            };
            assert_eq!(there, here, "{choice:?}");
        }
    }

    #[test]
    fn the_last_findings_are_shown() {
        let terminal = Scripted::new("1");
        let reasons = ["critic: REQ-002 cannot be\ntested\x1b[2J".to_owned(), "no FEAT".to_owned()];
        run(&terminal, &NobodyElse, &NothingTyped, &what(&reasons, &[])).unwrap();
        assert_eq!(
            terminal.output(),
            "\x07━━ prd · draft limit reached (3/3) ━━━━━━━━━━━━━━━━━━━━━━━━━━━━ your decision ━━
Still    critic: REQ-002 cannot be
         tested
         no FEAT
Pass     p is not here: r shows the draft, and p passes it there
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
