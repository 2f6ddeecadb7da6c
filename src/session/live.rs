//! The run that works on a session now: its process, stage and gate. The lock shows whether there
//! is a run; a note in the state directory (`sessions/S/run.json`), updated during the run, has the
//! rest. The note of a dead run remains there and is ignored.

use std::cell::RefCell;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Holder, RunLock, StateDir};
use crate::stage::{Role, Stage};

/// Name of the note in the state directory.
const NOTE: &str = "run.json";

/// The activity of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doing {
    /// No stage has begun yet.
    #[default]
    Starting,
    /// The actor works, or the checks run.
    Draft,
    /// A model reads the draft: the critic, or the actor itself.
    Review,
    /// Waiting for a person's answer at the terminal.
    Gate,
}

/// The position of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The stage.
    pub stage: Option<Stage>,
    /// Number of the draft.
    pub iteration: Option<u32>,
    /// The current task.
    pub task: Option<String>,
    /// The activity.
    pub at: Doing,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(stage) = self.stage else { return f.write_str("starting") };
        let draft = self.iteration.map(|n| format!(", draft {n}")).unwrap_or_default();
        let task = self.task.as_ref().map(|task| format!(", {task}")).unwrap_or_default();
        match self.at {
            Doing::Starting | Doing::Draft => write!(f, "at {stage}{draft}{task}"),
            Doing::Review => write!(f, "at {stage}{draft}, in review by a model"),
            Doing::Gate => write!(f, "at the gate of {stage}{draft}"),
        }
    }
}

/// The run that holds a session's lock, as in `--json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveRun {
    /// Its process id; `None` if the lock file does not contain it (another version of git-cowork).
    pub pid: Option<u32>,
    /// The command: `git cowork resume`.
    pub command: Option<String>,
    /// When it took the lock, RFC 3339 in UTC.
    pub since: Option<String>,
    /// Its position.
    #[serde(flatten)]
    pub position: Position,
}

impl fmt::Display for LiveRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.command, &self.since) {
            (Some(pid), Some(command), Some(since)) => {
                write!(f, "{command} is running (process {pid}, since {since}), {}", self.position)
            }
            _ => write!(f, "another process is running"),
        }
    }
}

/// The content of the note.
#[derive(Serialize, Deserialize)]
struct Note {
    holder: Holder,
    position: Position,
}

/// The run that holds the session's lock, if there is one.
pub fn live_run(state: &StateDir) -> Option<LiveRun> {
    let Some(holder) = RunLock::held(&state.lock())? else {
        return Some(LiveRun {
            pid: None,
            command: None,
            since: None,
            position: Position::default(),
        });
    };
    // An unreadable note, or one of a dead run, is ignored.
    let note: Option<Note> = state.note(NOTE).ok().flatten();
    let position = note.filter(|note| note.holder == holder).map(|note| note.position);
    let Holder { pid, command, since, .. } = holder;
    Some(LiveRun {
        pid: Some(pid),
        command: Some(command),
        since: Some(since),
        position: position.unwrap_or_default(),
    })
}

/// Records the position of this run.
#[derive(Debug)]
pub struct RunNotes {
    state: StateDir,
    holder: Holder,
    position: RefCell<Position>,
}

impl RunNotes {
    /// Notes of the run that holds this lock and starts at `stage`.
    pub fn new(state: &StateDir, lock: &RunLock, stage: Option<Stage>) -> Self {
        let (state, holder) = (state.clone(), lock.holder().clone());
        let notes = Self { state, holder, position: RefCell::default() };
        notes.set(|at| at.stage = stage);
        notes
    }

    /// Records the start of a stage.
    pub fn stage(&self, stage: Stage) {
        self.set(|at| *at = Position { stage: Some(stage), ..Position::default() });
    }

    /// Records the start of a draft, or of its next task.
    pub fn draft(&self, stage: Stage, iteration: u32, task: Option<&str>) {
        self.set(|at| {
            let task = task.map(str::to_owned);
            let iteration = Some(iteration);
            *at = Position { stage: Some(stage), iteration, task, at: Doing::Draft };
        });
    }

    /// Records that a model is called in this role.
    pub fn speaks(&self, role: Role) {
        self.set(|at| {
            at.at = if role == Role::Actor { Doing::Draft } else { Doing::Review };
        });
    }

    /// Records that a gate waits for a person.
    pub fn waits(&self) {
        self.set(|at| at.at = Doing::Gate);
    }

    /// Records that the person has answered.
    pub fn answered(&self) {
        self.set(|at| {
            if at.at == Doing::Gate {
                at.at = Doing::Draft;
            }
        });
    }

    fn set(&self, change: impl FnOnce(&mut Position)) {
        let mut position = self.position.borrow_mut();
        let before = position.clone();
        change(&mut position);
        if *position == before {
            return;
        }
        let note = Note { holder: self.holder.clone(), position: position.clone() };
        // An error (a full disk) only leaves observers with an old note; the run continues.
        let _ = self.state.set_note(NOTE, Some(&note));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::SessionName;

    #[test]
    fn only_the_lock_holder_is_reported_and_only_its_own_note_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let name: SessionName = "todo".parse().unwrap();
        assert_eq!(live_run(&StateDir::at(dir.path(), &name)), None);
        let state = StateDir::open(dir.path(), &name).unwrap();
        let lock = RunLock::take(&state.lock(), &name, "git cowork resume").unwrap();
        let mut dead = lock.holder().clone();
        dead.pid += 1;
        let note = Note {
            holder: dead,
            position: Position { stage: Some(Stage::Check), ..Position::default() },
        };
        state.set_note(NOTE, Some(&note)).unwrap();
        let live = live_run(&state).unwrap();
        assert_eq!((live.pid, live.position), (Some(std::process::id()), Position::default()));
        let notes = RunNotes::new(&state, &lock, Some(Stage::Coding));
        notes.draft(Stage::Coding, 1, Some("TASK-002 Store"));
        assert_eq!(
            live_run(&state).unwrap().position.to_string(),
            "at coding, draft 1, TASK-002 Store"
        );
        notes.waits();
        let live = live_run(&state).unwrap();
        assert_eq!(live.position.to_string(), "at the gate of coding, draft 1");
        let json = serde_json::to_value(&live).unwrap();
        assert_eq!((&json["stage"], &json["at"]), (&"coding".into(), &"gate".into()));
        notes.answered();
        notes.speaks(Role::Critic);
        assert_eq!(live_run(&state).unwrap().position.at, Doing::Review);
        std::fs::write(state.path().join(NOTE), "{").unwrap();
        assert_eq!(live_run(&state).unwrap().position, Position::default());
        drop(lock);
        assert_eq!(live_run(&state), None);
    }
}
