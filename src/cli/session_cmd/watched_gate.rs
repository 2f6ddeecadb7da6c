//! Shows a run's gate at another terminal, and answers it from there. It shows the tree that the
//! run named, and the answer names the same tree.

use std::cell::RefCell;

use crate::artifact::{Artifact, ChangeRequest};
use crate::choice::{Choice, Chosen, Wants};
use crate::clean::{marked, one_line};
use crate::cli::context::Context;
use crate::error::Error;
use crate::gate::terminal::{Key, Terminal as _, Text, menu_key_unless, text_from};
use crate::gate::{Back, Tty, earlier_stage, page};
use crate::git::{self, DiffStyle, Git, Object};
use crate::moment;
use crate::session::{Asks, GateAnswer, OpenGate, Said, StateDir, answer_gate, gate_answer, gates};
use crate::ui::markdown;

/// Lines of a draft that are shown at once; a key shows the rest.
const LINES: usize = 30;
/// Interval between two checks of whether the run has taken an answer.
const LOOKS: std::time::Duration = std::time::Duration::from_millis(50);

/// Number of checks after which a message says that the run has not taken the answer yet.
const PATIENT: u32 = 20;

/// How watching a gate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// The gate is closed.
    Closed,
    /// The user stopped watching.
    Stopped,
}

/// The result of a key.
enum Pressed {
    /// An answer to the gate.
    Says(Said),
    /// The user did not give the input that the key needs; the menu stays.
    Stays,
    /// The user stopped watching.
    Left,
    /// The key is not an answer.
    Other,
}

/// A gate that is shown at this terminal.
struct Look<'a> {
    context: &'a Context,
    git: &'a Git,
    state: &'a StateDir,
    gate: &'a OpenGate,
    terminal: Tty,
    /// Words of an answer that came too late: the next text begins with them.
    kept: &'a RefCell<String>,
}

/// Shows a gate, and reads an answer while the gate is open. `kept` has the words of an answer to an
/// earlier gate that came too late.
pub(crate) fn at_gate(
    context: &Context,
    git: &Git,
    state: &StateDir,
    gate: &OpenGate,
    kept: &RefCell<String>,
) -> anyhow::Result<Left> {
    let look = Look { context, git, state, gate, terminal: Tty::new(context.color), kept };
    look.show()?;
    look.ask()
}

impl Look<'_> {
    fn show(&self) -> anyhow::Result<()> {
        let OpenGate { stage, iteration, holder, .. } = self.gate;
        let about = match &self.gate.asks {
            Asks::Draft | Asks::Lacking => format!("draft {iteration}"),
            Asks::Menu { title, .. } => one_line(title, 100),
        };
        self.say(&format!("── {stage} · {about} · process {} waits for you", holder.pid))?;
        for remark in &self.gate.remarks {
            self.say(&one_line(remark, 400))?;
        }
        // A menu has no content to show: it asks how to continue, not whether a draft passes.
        let all = match &self.gate.asks {
            Asks::Draft | Asks::Lacking => self.content()?,
            Asks::Menu { .. } => String::new(),
        };
        let lines: Vec<&str> = all.lines().collect();
        for line in lines.iter().take(LINES) {
            self.say(line)?;
        }
        if lines.len() > LINES {
            self.say(&format!("… {LINES} of {} lines: v shows all", lines.len()))?;
        }
        self.terminal.discard_typed();
        self.menu()
    }

    fn menu(&self) -> anyhow::Result<()> {
        match &self.gate.asks {
            asks @ (Asks::Draft | Asks::Lacking) => {
                let pass = if *asks == Asks::Draft { "p pass   " } else { "" };
                self.say(&format!("{pass}f feedback   v read all   d diff   q stop watching"))
            }
            Asks::Menu { keys, .. } => {
                for Choice { key, does, .. } in keys {
                    self.say(&format!("    {key}  {}", one_line(does, 100)))?;
                }
                let about = !self.gate.paths.is_empty();
                let looks = if about { "v read the draft here   d diff   " } else { "" };
                self.say(&format!("{looks}q stop watching"))
            }
        }
    }

    /// The documents in the tree, or the diff of the code.
    fn content(&self) -> anyhow::Result<String> {
        if self.gate.is_code {
            return self.diff();
        }
        let reader = self.git.reader();
        let mut out = String::new();
        for path in &self.gate.paths {
            let blob = reader.blob(Object::At(&self.gate.tree, path))?;
            let text = blob.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
            if path.ends_with(".md") {
                out += &markdown(&text, self.terminal.width(), self.context.color);
            } else if path.ends_with(Artifact::ChangeRequest.file_name())
                && let Ok(change) = serde_json::from_str::<ChangeRequest>(&text)
            {
                out += &marked(&change.prose());
            }
        }
        if out.is_empty() { self.diff() } else { Ok(out) }
    }

    fn diff(&self) -> anyhow::Result<String> {
        let OpenGate { from, tree, paths, .. } = self.gate;
        if paths.is_empty() {
            return Ok(String::new());
        }
        git::diff::text(self.git, from, tree, paths, DiffStyle::Patch, false)
            .map(|text| marked(&text))
    }

    fn is_open(&self) -> bool {
        gates(self.state).open.is_some_and(|open| open.id == self.gate.id)
    }

    fn ask(&self) -> anyhow::Result<Left> {
        let is_closed = || !self.is_open();
        loop {
            let Some(key) = menu_key_unless(&self.terminal, &['f', '2'], &is_closed)? else {
                self.tell_other()?;
                return Ok(Left::Closed);
            };
            match self.said_by(key)? {
                Pressed::Says(said) => return self.answer(said),
                Pressed::Left => return self.stopped(),
                Pressed::Stays => {
                    self.menu()?;
                    continue;
                }
                Pressed::Other => {}
            }
            match key {
                Key::Char('v') => self.page(&self.content()?)?,
                Key::Char('d') => self.page(&self.diff()?)?,
                Key::Char('q') | Key::End => return self.stopped(),
                Key::Enter => {}
                Key::Char(c) => {
                    self.say(&format!("unknown key '{c}'"))?;
                    self.menu()?;
                }
                Key::Escape | Key::Other | Key::Interrupt => self.menu()?,
            }
        }
    }

    /// Leaves the gate; words that nobody got are printed, so that they can be copied.
    fn stopped(&self) -> anyhow::Result<Left> {
        let text = self.kept.take();
        if !text.is_empty() {
            self.say(&format!("not sent: {}", marked(&text)))?;
        }
        Ok(Left::Stopped)
    }

    /// The answer for a key at this gate; asks for the input that the key needs.
    fn said_by(&self, key: Key) -> anyhow::Result<Pressed> {
        let Key::Char(key) = key else { return Ok(Pressed::Other) };
        match &self.gate.asks {
            Asks::Draft if key == 'p' => Ok(Pressed::Says(Said::Pass)),
            Asks::Draft | Asks::Lacking if key == 'f' => {
                self.text("feedback (Enter ends it; empty goes back): ", Said::Feedback)
            }
            Asks::Draft | Asks::Lacking => Ok(Pressed::Other),
            Asks::Menu { keys, .. } => match keys.iter().find(|choice| choice.key == key) {
                Some(choice) => self.chosen(choice),
                None => Ok(Pressed::Other),
            },
        }
    }

    /// The answer for a key of a menu; asks for the input that the key needs.
    fn chosen(&self, choice: &Choice) -> anyhow::Result<Pressed> {
        let chosen = Chosen::key(choice.key);
        match &choice.wants {
            Wants::Nothing => Ok(Pressed::Says(Said::Chose(chosen))),
            Wants::Text(question) => {
                self.text(&one_line(question, 200), |text| Said::Chose(Chosen { text, ..chosen }))
            }
            Wants::OneOf(stages) => {
                Ok(match earlier_stage(&self.terminal, stages, &|| !self.is_open())? {
                    Back::To(stage) => {
                        Pressed::Says(Said::Chose(Chosen { stage: Some(stage), ..chosen }))
                    }
                    Back::Stay => Pressed::Stays,
                    Back::End => Pressed::Left,
                })
            }
        }
    }

    fn text(&self, question: &str, said: impl FnOnce(String) -> Said) -> anyhow::Result<Pressed> {
        let question = format!("{} ", question.trim_end());
        let text = one_line(&self.kept.borrow(), usize::MAX);
        Ok(match text_from(&self.terminal, "", &question, &text)? {
            Text::Given(text) => {
                self.kept.replace(text.clone());
                Pressed::Says(said(text))
            }
            Text::Nothing => Pressed::Stays,
            Text::End => Pressed::Left,
        })
    }

    fn page(&self, text: &str) -> anyhow::Result<()> {
        let pager = git::settings::own_pager(self.git)?;
        page(&self.terminal, &pager, self.git.top(), text)?;
        self.menu()
    }

    /// Sends the answer, and prints whether it was taken.
    fn answer(&self, said: Said) -> anyhow::Result<Left> {
        let OpenGate { id, tree, .. } = self.gate;
        let has_text = match &said {
            Said::Feedback(_) => true,
            Said::Chose(chosen) => !chosen.text.is_empty(),
            Said::Pass | Said::There => false,
        };
        let answer = GateAnswer { tree: tree.clone(), said, pid: std::process::id() };
        if !self.is_open() || !answer_gate(self.state, id, &answer)? {
            self.tell_other()?;
            if !self.kept.borrow().is_empty() {
                self.say("what you typed is kept for your next feedback")?;
            }
            return Ok(Left::Closed);
        }
        for look in 0.. {
            if !self.is_open() {
                break;
            }
            // An editor or a question may be open at the run's terminal.
            if look == PATIENT {
                self.say("answer saved; the run uses it when its terminal is back at the menu")?;
            }
            std::thread::sleep(LOOKS);
            moment::end();
        }
        let closing = gates(self.state).closed.filter(|closed| closed.id == *id);
        match closing.map(|closing| closing.refused) {
            Some(None) => {
                if has_text {
                    self.kept.take();
                }
                self.say("your answer was taken")?;
            }
            Some(Some(why)) => self.say(&format!("your answer does not count: {why}"))?,
            None => {
                let text = "the run ended before it took your answer";
                return Err(Error::repository(text).hint("git cowork status").into());
            }
        }
        Ok(Left::Closed)
    }

    /// Prints how somebody else has answered.
    fn tell_other(&self) -> anyhow::Result<()> {
        let event = match gate_answer(self.state, &self.gate.id).map(|answer| answer.said) {
            Some(Said::There) => "it was answered at the run's terminal".to_owned(),
            Some(Said::Pass) => "it was passed from another terminal".to_owned(),
            Some(Said::Feedback(text)) => {
                format!("it was answered from another terminal: {}", one_line(&text, 200))
            }
            Some(Said::Chose(chosen)) => {
                format!("it was answered from another terminal: {}", self.told(&chosen))
            }
            None => "the gate is closed".to_owned(),
        };
        self.context.note(event);
        Ok(())
    }

    /// The menu text of a choice, with its input.
    fn told(&self, chosen: &Chosen) -> String {
        let keys = match &self.gate.asks {
            Asks::Menu { keys, .. } => keys.as_slice(),
            Asks::Draft | Asks::Lacking => &[],
        };
        let does = keys.iter().find(|choice| choice.key == chosen.key);
        let mut words = does.map_or_else(|| chosen.key.to_string(), |choice| choice.does.clone());
        if !chosen.text.is_empty() {
            words = format!("{words}: {}", chosen.text);
        }
        if let Some(stage) = chosen.stage {
            words = format!("{words}: {stage}");
        }
        one_line(&words, 200)
    }

    fn say(&self, line: &str) -> anyhow::Result<()> {
        self.terminal.write(&format!("{line}\n"))
    }
}
