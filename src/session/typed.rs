//! Notes that a person types for the actor during a run, until the actor has received them. They
//! are saved in the state directory (`sessions/S/typed.json`), so that a killed run does not lose
//! them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::StateDir;
use crate::clock;

/// Name of the note in the state directory.
const NOTE: &str = "typed.json";

/// A note that was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedNote {
    /// Time, RFC 3339 in UTC.
    pub at: String,
    /// The text; more than one line if it was pasted.
    pub text: String,
}

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Typed {
    /// Id of the session: another session may reuse the name.
    session: String,
    /// Submitted notes, oldest first.
    waiting: Vec<TypedNote>,
    /// The line being typed.
    line: String,
    /// Words typed at a gate that are not recorded yet.
    at_gate: String,
}

impl Typed {
    fn untold(&self) -> String {
        let waiting = self.waiting.iter().map(|note| note.text.as_str());
        let texts =
            waiting.chain([self.at_gate.trim(), self.line.trim()]).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// The notes that a person types during a run.
#[derive(Debug)]
pub struct TypedNotes {
    state: StateDir,
    typed: Mutex<Typed>,
}

impl TypedNotes {
    /// Reads the notes from an earlier run of the session with this id.
    pub fn open(state: &StateDir, session: &str) -> Self {
        // An unreadable file does not stop the run.
        let left: Option<Typed> = state.note(NOTE).ok().flatten();
        let left = left.filter(|left| left.session == session);
        let new = || Typed { session: session.to_owned(), ..Typed::default() };
        Self { state: state.clone(), typed: Mutex::new(left.unwrap_or_else(new)) }
    }

    /// The notes that wait for the actor, oldest first.
    pub fn waiting(&self) -> Vec<TypedNote> {
        self.lock().waiting.clone()
    }

    /// The line being typed.
    pub fn line(&self) -> String {
        self.lock().line.clone()
    }

    /// Replaces the line being typed. It is not written to disk at once.
    pub fn set_line(&self, line: String) {
        self.lock().line = line;
    }

    /// Submits the line, unless it is empty.
    pub fn hand_in(&self) {
        let mut typed = self.lock();
        let text = std::mem::take(&mut typed.line).trim().to_owned();
        if !text.is_empty() {
            let at = clock::rfc3339(clock::now());
            typed.waiting.push(TypedNote { at, text });
            self.write(&typed);
        }
    }

    /// Returns the newest submitted note to the input line, if the line is empty.
    pub fn take_back(&self) {
        let mut typed = self.lock();
        if typed.line.is_empty()
            && let Some(note) = typed.waiting.pop()
        {
            typed.line = note.text;
            self.write(&typed);
        }
    }

    /// Removes these notes: the actor has received them.
    pub fn told(&self, notes: &[TypedNote]) {
        let mut typed = self.lock();
        typed.waiting.retain(|note| !notes.contains(note));
        self.write(&typed);
    }

    /// All notes the actor has not received, as one text.
    pub fn untold(&self) -> String {
        self.lock().untold()
    }

    /// Moves all notes the actor has not received into the input line and returns the line: at a
    /// gate, the person edits them there.
    pub fn all_untold(&self) -> String {
        let mut typed = self.lock();
        let line = typed.untold();
        if !typed.waiting.is_empty() || typed.line != line {
            typed.waiting.clear();
            typed.at_gate.clear();
            typed.line.clone_from(&line);
            self.write(&typed);
        }
        line
    }

    /// Keeps words typed at a gate, which replace all notes, until they are [`Self::recorded`].
    pub fn keep_at_gate(&self, words: &str) {
        let mut typed = self.lock();
        typed.waiting.clear();
        typed.line.clear();
        words.clone_into(&mut typed.at_gate);
        self.write(&typed);
    }

    /// Removes these words if they were typed at a gate.
    pub fn recorded(&self, words: &str) {
        let mut typed = self.lock();
        if !typed.at_gate.is_empty() && typed.at_gate.trim() == words.trim() {
            typed.at_gate.clear();
            self.write(&typed);
        }
    }

    /// Saves the notes for a later run.
    pub fn keep(&self) {
        self.write(&self.lock());
    }

    fn write(&self, typed: &Typed) {
        let is_empty = typed.waiting.is_empty() && typed.untold().is_empty();
        if is_empty && !self.state.path().join(NOTE).exists() {
            return;
        }
        // On a full disk the notes remain in memory until the run ends.
        let _ = self.state.set_note(NOTE, (!is_empty).then_some(typed));
    }

    fn lock(&self) -> MutexGuard<'_, Typed> {
        self.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::SessionName;

    #[test]
    fn submitted_notes_survive_the_run_until_the_actor_receives_them() {
        let dir = tempfile::tempdir().unwrap();
        let name: SessionName = "todo".parse().unwrap();
        let state = StateDir::open(dir.path(), &name).unwrap();
        let texts = |notes: &TypedNotes| {
            notes.waiting().into_iter().map(|note| note.text).collect::<Vec<_>>()
        };
        let notes = TypedNotes::open(&state, "1");
        notes.keep();
        assert!(!state.path().join(NOTE).exists(), "nothing was typed");
        notes.set_line(" name the file ".to_owned());
        notes.hand_in();
        notes.set_line("  ".to_owned());
        notes.hand_in();
        notes.set_line("in JSON".to_owned());
        notes.hand_in();
        let again = TypedNotes::open(&state, "1");
        assert_eq!(texts(&again), ["name the file", "in JSON"]);
        assert!(TypedNotes::open(&state, "2").waiting().is_empty(), "another session");
        again.take_back();
        assert_eq!((texts(&again).len(), again.line().as_str()), (1, "in JSON"));
        again.take_back();
        assert_eq!(texts(&again), ["name the file"], "something is typed already");
        again.told(&again.waiting());
        assert!(texts(&TypedNotes::open(&state, "1")).is_empty());
        assert_eq!(TypedNotes::open(&state, "1").line(), "in JSON");
        again.keep_at_gate("in YAML");
        assert_eq!((again.line().as_str(), again.untold().as_str()), ("", "in YAML"));
        again.recorded("other words");
        assert_eq!(TypedNotes::open(&state, "1").untold(), "in YAML");
        again.recorded("in YAML");
        assert_eq!(TypedNotes::open(&state, "1").untold(), "");
    }

    #[test]
    fn at_a_gate_all_of_it_is_one_text() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path(), &"todo".parse().unwrap()).unwrap();
        let notes = TypedNotes::open(&state, "1");
        assert_eq!(notes.all_untold(), "");
        notes.set_line("one".to_owned());
        notes.hand_in();
        notes.set_line("two ".to_owned());
        assert_eq!((notes.untold().as_str(), notes.waiting().len()), ("one\ntwo", 1));
        assert_eq!(notes.all_untold(), "one\ntwo");
        assert_eq!(notes.all_untold(), "one\ntwo");
        assert!(TypedNotes::open(&state, "1").waiting().is_empty());
    }
}
