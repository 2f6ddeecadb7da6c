//! A gate that is open at a run's terminal and may be answered from another one. Notes in J tell which
//! bytes it is about; the first answer is the one whose file is there first, whoever wrote it. An answer
//! names the bytes it is about, and a run believes none about others.

use std::cell::RefCell;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::{Holder, SessionLock, StateDir};
use crate::choice::{Choice, Chosen};
use crate::git::Oid;
use crate::stage::Stage;

/// Name of the note in J.
const NOTE: &str = "gate.json";
/// Folder of answers in J, one file a gate.
const ANSWERS: &str = "gates";

/// A gate, as another process sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenGate {
    /// No other gate has it.
    pub id: String,
    /// The run.
    pub holder: Holder,
    /// Stage under review.
    pub stage: Stage,
    /// Draft number, from 1.
    pub iteration: u32,
    /// The tree that holds what is shown.
    pub tree: Oid,
    /// The commit it is compared with.
    pub from: Oid,
    /// What of it is shown.
    pub paths: Vec<String>,
    /// Whether that is the difference, and not the documents.
    pub is_code: bool,
    /// Checks that do not hold, and what else is to be known, a line each.
    pub remarks: Vec<String>,
    /// What is to be decided.
    #[serde(default)]
    pub asks: Asks,
}

/// What is to be decided at a gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asks {
    /// Whether the draft passes.
    #[default]
    Draft,
    /// Which key of a menu.
    Menu {
        /// What it is about, a few words.
        title: String,
        /// Its keys.
        keys: Vec<Choice>,
    },
}

impl OpenGate {
    /// Whether it is an answer to what is asked here.
    fn takes(&self, said: &Said) -> bool {
        match (&self.asks, said) {
            (_, Said::There) => true,
            (Asks::Draft, said) => !matches!(said, Said::Chose(_)),
            (Asks::Menu { keys, .. }, Said::Chose(chosen)) => {
                keys.iter().any(|choice| choice.fits(chosen))
            }
            (Asks::Menu { .. }, _) => false,
        }
    }
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// The bytes of the tree pass.
    Pass,
    /// The actor is to change something.
    Feedback(String),
    /// A key of the menu.
    Chose(Chosen),
    /// Something, at the run's own terminal.
    There,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateAnswer {
    /// What it is about.
    pub tree: Oid,
    /// What was decided.
    pub said: Said,
    /// The process it comes from.
    pub pid: u32,
}

/// The gate that was closed last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedGate {
    /// Which.
    pub id: String,
    /// Why its answer did not count.
    pub refused: Option<String>,
}

/// What a run notes of its gates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateNote {
    /// The one that is open.
    pub open: Option<OpenGate>,
    /// The one before.
    pub closed: Option<ClosedGate>,
}

/// The gate that a living run has open now, and the one before.
pub fn gates(state: &StateDir) -> GateNote {
    let note: GateNote = state.note(NOTE).ok().flatten().unwrap_or_default();
    let alive =
        |gate: &OpenGate| SessionLock::held(&state.lock()).flatten().as_ref() == Some(&gate.holder);
    GateNote { open: note.open.filter(alive), ..note }
}

/// Answers a gate; false where somebody has answered it already.
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

/// A run's own gates.
#[derive(Debug)]
pub struct RunGates {
    state: StateDir,
    holder: Holder,
    note: RefCell<GateNote>,
}

impl RunGates {
    /// Those of the run that holds this lock. What an earlier one left goes.
    pub fn new(state: &StateDir, lock: &SessionLock) -> Self {
        let _ = std::fs::remove_dir_all(state.path().join(ANSWERS));
        let (state, holder) = (state.clone(), lock.holder().clone());
        Self { state, holder, note: RefCell::default() }
    }

    /// Says that a gate is open; its id and its holder are given here.
    pub fn open(&self, gate: impl FnOnce(String, Holder) -> OpenGate) {
        let id = uuid::Uuid::new_v4().to_string();
        self.change(|note| note.open = Some(gate(id, self.holder.clone())));
    }

    /// The tree that the open gate shows.
    pub fn shown(&self) -> Option<Oid> {
        self.note.borrow().open.as_ref().map(|gate| gate.tree.clone())
    }

    /// The answer to the open gate that another process gave about what it shows and asks.
    pub fn answer(&self) -> Option<GateAnswer> {
        let note = self.note.borrow();
        let gate = note.open.as_ref()?;
        let answer = gate_answer(&self.state, &gate.id)?;
        (answer.tree == gate.tree && gate.takes(&answer.said)).then_some(answer)
    }

    /// Decides the open gate here; the answer of another process where that was first.
    pub fn decide(&self) -> Option<GateAnswer> {
        let (id, tree) = {
            let note = self.note.borrow();
            let gate = note.open.as_ref()?;
            (gate.id.clone(), gate.tree.clone())
        };
        let here = GateAnswer { tree, said: Said::There, pid: self.holder.pid };
        // Where nothing can be written nobody else has answered either.
        match answer_gate(&self.state, &id, &here) {
            Ok(false) => self.answer(),
            _ => None,
        }
    }

    /// Says that the gate is closed, and why its answer did not count where it did not.
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
        // Who looks is told less: no reason to stop the work.
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
        let lock = SessionLock::take(&state.lock(), &name, "git cowork resume").unwrap();
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
        // There first.
        let gate = open();
        assert_eq!(run.answer(), None);
        assert!(answer_gate(&state, &gate.id, &pass).unwrap());
        assert!(!answer_gate(&state, &gate.id, &pass).unwrap());
        assert_eq!((run.answer(), run.decide()), (Some(pass.clone()), Some(pass.clone())));
        run.close(None);
        assert_eq!(gates(&state).open, None);
        assert_eq!(gates(&state).closed.unwrap().id, gate.id);
        // About something else: it decides nothing.
        let gate = open();
        let other = GateAnswer { tree: "2".repeat(40).parse().unwrap(), ..pass.clone() };
        assert!(answer_gate(&state, &gate.id, &other).unwrap());
        assert_eq!((run.answer(), run.decide()), (None, None));
        // The answer to another question: none.
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
        // Here first.
        let gate = open();
        assert_eq!(run.decide(), None);
        assert!(!answer_gate(&state, &gate.id, &pass).unwrap());
        assert_eq!(gate_answer(&state, &gate.id).unwrap().said, Said::There);
        // A run that is gone has no gate.
        drop(lock);
        assert_eq!(gates(&state).open, None);
    }
}
