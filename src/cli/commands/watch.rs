//! `git cowork watch`: follows a run from another terminal. The steps are read from history, as in
//! `log`; the position of the run comes from a file that the run updates. A person can also answer
//! a gate here.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use serde::Serialize;

use crate::cli::args::{Answer, SessionArg};
use crate::cli::context::Context;
use crate::cli::session_cmd::watched_gate::{Left, at_gate};
use crate::cli::session_cmd::{find, next_step};
use crate::cli::terminal::log_table::as_it_happens;
use crate::cli::terminal::paint::Paint;
use crate::git::{Git, Oid, Ref};
use crate::moment;
use crate::session::{
    LineCounts, LiveRun, Position, RefNames, Session, SessionName, StateDir, Step, gates, live_run,
    log, once,
};
use crate::stage::Stage;
use crate::ui::one_line;
use crate::wrap::without_middle;

/// Interval between two looks at the run.
const LOOKS: Duration = Duration::from_millis(300);
/// Maximum characters of the line with the position.
const LONGEST: usize = 400;
/// Number of earlier steps that are printed at the start.
const BEFORE: usize = 5;

pub(crate) fn run(context: &Context, args: SessionArg) -> Answer {
    let git = context.git()?;
    let session = find::session(context, args.name.as_ref())?;
    let name = session.name.clone();
    let state = StateDir::at(&git.state_dir(), &name);
    let mut screen = Screen::new(context, session);
    loop {
        // Read the run before its steps: if the run has ended by then, all its steps get printed.
        let run = live_run(&state);
        moment::end();
        screen.steps()?;
        let Some(run) = run else { break };
        screen.at(&run)?;
        if screen.asks(&state)? == Left::Stopped {
            return Ok(0);
        }
        std::thread::sleep(LOOKS);
    }
    screen.ends(&name)
}

/// The refs that a run moves, with the objects they point to now.
fn moved(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<Vec<Ref>> {
    let branch = refs.branch(name).to_string();
    git.refs(&[branch, RefNames::drafts(name), RefNames::attempts(name)])
}

/// What was printed so far.
struct Screen<'a> {
    context: &'a Context,
    session: Session,
    refs: Option<Vec<Ref>>,
    /// Keys of the printed steps. They do not contain the attempt, because a step that was printed
    /// may later become part of one.
    told: HashSet<String>,
    position: Option<Position>,
    /// Words typed at a gate that was answered elsewhere first.
    kept: RefCell<String>,
    /// True if a run has been seen since the start of the command.
    ran: bool,
    /// The draft that was printed last, so that it is not printed again when it is saved unchanged.
    draft: Option<(Option<Stage>, Option<u32>)>,
    /// True if a line at the bottom shows the position and is redrawn.
    live: bool,
}

/// A line of `--json` about the run.
#[derive(Serialize)]
struct At<'a> {
    event: &'static str,
    session: &'a str,
    #[serde(flatten)]
    run: &'a LiveRun,
}

impl<'a> Screen<'a> {
    fn new(context: &'a Context, session: Session) -> Self {
        let dumb = context.env.get("TERM").is_none_or(|term| term == "dumb");
        let live = std::io::stdout().is_terminal() && !dumb && !context.global.json;
        Self {
            context,
            session,
            refs: None,
            told: HashSet::new(),
            position: None,
            kept: RefCell::default(),
            ran: false,
            draft: None,
            live,
        }
    }

    /// Prints new steps.
    fn steps(&mut self) -> anyhow::Result<()> {
        let (git, refs) = (self.context.git()?, self.context.refs()?);
        let now = moved(git, &refs, &self.session.name)?;
        if self.refs.as_ref() == Some(&now) {
            return Ok(());
        }
        let first = self.refs.replace(now).is_none();
        if !first {
            self.session = Session::find(git, &refs, &self.session.name)?;
        }
        let steps = log(git, &self.session, LineCounts::Unwanted)?;
        let told = once(&steps);
        let skipped = if first { told.len().saturating_sub(BEFORE) } else { 0 };
        for (at, (step, more)) in told.into_iter().enumerate() {
            let draft = (step.event == "draft_kept").then_some((step.stage, step.iteration));
            let again = draft.is_some() && draft == self.draft;
            let key = format!(
                "{} {} {} {:?} {}",
                step.event,
                step.timestamp,
                step.commit.as_ref().map(Oid::as_str).unwrap_or_default(),
                step.iteration,
                step.reason
            );
            if self.told.insert(key) && !again {
                self.draft = draft;
                if at >= skipped {
                    self.tell(step, more)?;
                }
            }
        }
        Ok(())
    }

    fn tell(&self, step: &Step, more: usize) -> anyhow::Result<()> {
        if self.context.global.json {
            return self.context.print(&format!("{}\n", serde_json::to_string(step)?));
        }
        self.clear()?;
        let paint = Paint { on: self.context.color_stdout() };
        let (screen, verbose) = (self.context.width(), self.context.global.verbose);
        self.context.print(&as_it_happens((step, more), screen, verbose, &paint))
    }

    /// Prints the position of the run.
    fn at(&mut self, run: &LiveRun) -> anyhow::Result<()> {
        self.ran = true;
        if self.position.as_ref() == Some(&run.position) {
            return Ok(());
        }
        self.position = Some(run.position.clone());
        let name = self.session.name.as_str();
        if self.context.global.json {
            let at = At { event: "run", session: name, run };
            return self.context.print(&format!("{}\n", serde_json::to_string(&at)?));
        }
        let text = run.to_string();
        if !self.live {
            return self.context.print(&format!("Running  {text}\n"));
        }
        self.clear()?;
        let width = crate::wrap::stderr_columns().saturating_sub(3).max(20);
        let mut stdout = std::io::stdout().lock();
        // The position is at its end.
        write!(stdout, "● {}", without_middle(&one_line(&text, LONGEST), width))?;
        Ok(stdout.flush()?)
    }

    /// If a gate is open and a person is at this terminal, also asks that person.
    fn asks(&mut self, state: &StateDir) -> anyhow::Result<Left> {
        let can = self.live && self.context.attended();
        let Some(gate) = gates(state).open.filter(|_| can) else { return Ok(Left::Closed) };
        self.clear()?;
        // Print the position again after the gate.
        self.position = None;
        at_gate(self.context, self.context.git()?, state, &gate, &self.kept)
    }

    /// Erases the line at the bottom.
    fn clear(&self) -> anyhow::Result<()> {
        if !self.live {
            return Ok(());
        }
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(b"\r\x1b[K")?;
        Ok(stdout.flush()?)
    }

    /// Prints that no run is active, and the next step.
    fn ends(self, name: &SessionName) -> Answer {
        self.clear()?;
        let status = find::status(self.context, self.session.clone())?;
        if self.context.global.json {
            let state = status.state.name();
            let line =
                serde_json::json!({ "event": "ended", "session": name.as_str(), "state": state });
            self.context.print(&format!("{line}\n"))?;
            return Ok(0);
        }
        let said = if self.ran { "the run has ended" } else { "no run is active now" };
        let next = next_step::lines(self.context.git()?, &status, "")?;
        self.context.print(&format!("{name}: {said}\n{next}"))?;
        Ok(0)
    }
}
