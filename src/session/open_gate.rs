//! A gate that is open at a run's terminal and can be answered from another process. A note in the
//! state directory names the tree under review; the first answer file created counts, whoever wrote
//! it. An answer names the tree it is about, and a run ignores answers about another tree.

use std::cell::RefCell;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::{Holder, RunLock, StateDir};
use crate::choice::{Choice, Chosen};
use crate::git::Oid;
use crate::stage::Stage;

/// Name of the note in the state directory.
const NOTE: &str = "gate.json";
/// Folder of answers in the state directory, one file for each gate.
const ANSWERS: &str = "gates";

/// An open gate, as another process reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenGate {
    /// A unique id.
    pub id: String,
    /// The process that runs the session.
    pub holder: Holder,
    /// Stage under review.
    pub stage: Stage,
    /// Draft number, from 1.
    pub iteration: u32,
    /// The tree under review.
    pub tree: Oid,
    /// The commit the tree is compared with.
    pub from: Oid,
    /// The paths to show.
    pub paths: Vec<String>,
    /// True if the gate shows a diff, false if it shows documents.
    pub is_code: bool,
    /// Failed checks and other remarks, one per line.
    pub remarks: Vec<String>,
    /// The decision to make.
    #[serde(default)]
    pub asks: Asks,
}

/// The decision to make at a gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asks {
    /// Whether to approve the draft.
    #[default]
    Draft,
    /// What to change in a draft that lacks a file, and so cannot be approved.
    Lacking,
    /// Which entry of a menu to choose.
    Menu {
        /// The subject of the menu, in a few words.
        title: String,
        /// The keys of the menu.
        keys: Vec<Choice>,
    },
}

impl OpenGate {
    /// True if `said` answers the question of this gate.
    fn takes(&self, said: &Said) -> bool {
        match (&self.asks, said) {
            (_, Said::There) => true,
            (Asks::Draft, said) => !matches!(said, Said::Chose(_)),
            (Asks::Lacking, said) => matches!(said, Said::Feedback(_)),
            (Asks::Menu { keys, .. }, Said::Chose(chosen)) => {
                keys.iter().any(|choice| choice.fits(chosen))
            }
            (Asks::Menu { .. }, _) => false,
        }
    }
}

/// The decision at a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// The tree is approved.
    Pass,
    /// Changes are requested from the actor.
    Feedback(String),
    /// A menu entry was chosen.
    Chose(Chosen),
    /// The gate was answered at the run's own terminal.
    There,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateAnswer {
    /// The tree it is about.
    pub tree: Oid,
    /// The decision.
    pub said: Said,
    /// Id of the process that gave the answer.
    pub pid: u32,
}

/// The gate that closed last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedGate {
    /// Id of the gate.
    pub id: String,
    /// Why its answer was refused, if it was.
    pub refused: Option<String>,
}

/// The gates of a run, as written to the state directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateNote {
    /// The open gate.
    pub open: Option<OpenGate>,
    /// The gate before it.
    pub closed: Option<ClosedGate>,
}

/// Returns the open gate of a live run, and the gate before it.
pub fn gates(state: &StateDir) -> GateNote {
    let note: GateNote = state.note(NOTE).ok().flatten().unwrap_or_default();
    let alive =
        |gate: &OpenGate| RunLock::held(&state.lock()).flatten().as_ref() == Some(&gate.holder);
    GateNote { open: note.open.filter(alive), ..note }
}

/// Answers a gate. Returns false if the gate was already answered.
///
/// # Errors
/// The state directory cannot be written.
pub fn answer_gate(state: &StateDir, id: &str, answer: &GateAnswer) -> anyhow::Result<bool> {
    let path = answer_path(state, id);
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = || format!("writing {}", path.display());
    std::fs::create_dir_all(folder).with_context(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    file.write_all(&serde_json::to_vec(answer)?).with_context(failed)?;
    match file.persist_noclobber(&path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error).with_context(failed),
    }
}

/// The answer to a gate, if there is one.
pub fn gate_answer(state: &StateDir, id: &str) -> Option<GateAnswer> {
    serde_json::from_slice(&std::fs::read(answer_path(state, id)).ok()?).ok()
}

fn answer_path(state: &StateDir, id: &str) -> PathBuf {
    state.path().join(ANSWERS).join(format!("{id}.json"))
}

/// The gates of this run.
#[derive(Debug)]
pub struct RunGates {
    state: StateDir,
    holder: Holder,
    note: RefCell<GateNote>,
}

impl RunGates {
    /// The gates of the run that holds `lock`. Removes the answers of earlier runs.
    pub fn new(state: &StateDir, lock: &RunLock) -> Self {
        let _ = std::fs::remove_dir_all(state.path().join(ANSWERS));
        let (state, holder) = (state.clone(), lock.holder().clone());
        Self { state, holder, note: RefCell::default() }
    }

    /// Records that a gate is open; `gate` receives its id and its holder.
    pub fn open(&self, gate: impl FnOnce(String, Holder) -> OpenGate) {
        let id = uuid::Uuid::new_v4().to_string();
        self.change(|note| note.open = Some(gate(id, self.holder.clone())));
    }

    /// The tree that the open gate is about.
    pub fn shown(&self) -> Option<Oid> {
        self.note.borrow().open.as_ref().map(|gate| gate.tree.clone())
    }

    /// Another process's answer to the open gate, if it fits the tree and the question.
    pub fn answer(&self) -> Option<GateAnswer> {
        let note = self.note.borrow();
        let gate = note.open.as_ref()?;
        let answer = gate_answer(&self.state, &gate.id)?;
        (answer.tree == gate.tree && gate.takes(&answer.said)).then_some(answer)
    }

    /// Closes the open gate to others. Returns another process's answer if it came first.
    pub fn decide(&self) -> Option<GateAnswer> {
        let (id, tree) = {
            let note = self.note.borrow();
            let gate = note.open.as_ref()?;
            (gate.id.clone(), gate.tree.clone())
        };
        let here = GateAnswer { tree, said: Said::There, pid: self.holder.pid };
        // If the answer cannot be written, no other process could answer either.
        match answer_gate(&self.state, &id, &here) {
            Ok(false) => self.answer(),
            _ => None,
        }
    }

    /// Records that the gate is closed, and why its answer was refused, if it was.
    pub fn close(&self, refused: Option<String>) {
        self.change(|note| {
            if let Some(gate) = note.open.take() {
                note.closed = Some(ClosedGate { id: gate.id, refused });
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut GateNote)) {
        let mut note = self.note.borrow_mut();
        change(&mut note);
        // An error only leaves observers with an old note; the run continues.
        let _ = self.state.set_note(NOTE, Some(&*note));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::session::SessionName;

    #[test]
    fn the_first_answer_counts_whoever_gives_it() {
        let dir = tempfile::tempdir().unwrap();
        let name: SessionName = "todo".parse().unwrap();
        let state = StateDir::open(dir.path(), &name).unwrap();
        let lock = RunLock::take(&state.lock(), &name, "git cowork resume").unwrap();
        let run = RunGates::new(&state, &lock);
        let tree: Oid = "1".repeat(40).parse().unwrap();
        let asks = Cell::new(Asks::Draft);
        let open = || {
            run.open(|id, holder| OpenGate {
                id,
                holder,
                stage: Stage::Prd,
                iteration: 1,
                tree: tree.clone(),
                from: tree.clone(),
                paths: Vec::new(),
                is_code: false,
                remarks: Vec::new(),
                asks: asks.take(),
            });
            gates(&state).open.unwrap()
        };
        let pass = GateAnswer { tree: tree.clone(), said: Said::Pass, pid: 7 };
        // Answered by another process first.
        let gate = open();
        assert_eq!(run.answer(), None);
        assert!(answer_gate(&state, &gate.id, &pass).unwrap());
        assert!(!answer_gate(&state, &gate.id, &pass).unwrap());
        assert_eq!((run.answer(), run.decide()), (Some(pass.clone()), Some(pass.clone())));
        run.close(None);
        assert_eq!(gates(&state).open, None);
        assert_eq!(gates(&state).closed.unwrap().id, gate.id);
        // An answer about another tree is ignored.
        let gate = open();
        let other = GateAnswer { tree: "2".repeat(40).parse().unwrap(), ..pass.clone() };
        assert!(answer_gate(&state, &gate.id, &other).unwrap());
        assert_eq!((run.answer(), run.decide()), (None, None));
        // An answer to another question is ignored.
        let menu = || Asks::Menu { title: "stuck".into(), keys: vec![Choice::new('1', "retry")] };
        asks.set(menu());
        let gate = open();
        assert!(answer_gate(&state, &gate.id, &pass).unwrap());
        assert_eq!((run.answer(), run.decide()), (None, None));
        asks.set(menu());
        let gate = open();
        let chose = GateAnswer { said: Said::Chose(Chosen::key('1')), ..pass.clone() };
        assert!(answer_gate(&state, &gate.id, &chose).unwrap());
        assert_eq!(run.decide(), Some(chose));
        // Answered by the run first.
        let gate = open();
        assert_eq!(run.decide(), None);
        assert!(!answer_gate(&state, &gate.id, &pass).unwrap());
        assert_eq!(gate_answer(&state, &gate.id).unwrap().said, Said::There);
        // A run that ended has no open gate.
        drop(lock);
        assert_eq!(gates(&state).open, None);
    }
}
