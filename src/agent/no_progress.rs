//! Detects runs without progress: calls that fail or repeat get a nudge first, and end the run if
//! that does not help.
//!
//! All counts can be rebuilt from a transcript, so a resumed run has the same counts as an
//! uninterrupted one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::transcript::How;
use crate::model::ToolCall;
use crate::tool::{self, CommandTool, Tool as _};

/// A person should look after this many refusals by a guard in one stage.
const REFUSALS: u32 = 3;
/// A person should look after the same call failed this many times.
const SAME_FAILURES: u32 = 3;
/// A person should look after the same tool that changes something failed in this many turns in a
/// row, whatever its arguments.
const FAILING_TURNS: u32 = 3;
/// A person should look after this many turns in a row without any success.
const BARREN_TURNS: u32 = 5;
/// The model gets a note after this many identical calls without a change in between.
const REPEATS_TOLD: u32 = 3;
/// The run may end after this many identical calls without a change in between.
const REPEATS_END: u32 = 5;

/// The counts of a run so far.
#[derive(Debug, Default)]
pub(super) struct ProgressWatch {
    /// Refusals by a guard, including the stage's earlier runs.
    refusals: u32,
    /// Names of the user's own tools: each may change something.
    own_tools: BTreeSet<String>,
    /// By call: how often it was made since the last change, and the turn in which the model got
    /// a note about it.
    repeats: BTreeMap<String, (u32, Option<u32>)>,
    /// Calls that changed something; repeating one does not count as a change.
    changes: BTreeSet<String>,
    /// By call: the number of turns in which it failed, and the newest of these turns.
    failures: BTreeMap<String, (u32, u32)>,
    /// By tool that changes something: the number of turns in a row in which it failed, and the
    /// newest of these turns.
    failing: BTreeMap<String, (u32, u32)>,
    /// The newest turn, whether anything succeeded in it, and the number of turns in a row before
    /// it without a success.
    turn: u32,
    fruitful: bool,
    barren: u32,
    /// The answer to the newest call that failed.
    last_failure: String,
    /// Reason why a person should look.
    astray: Option<String>,
}

impl ProgressWatch {
    /// Starts with the number of refusals in the stage's earlier runs.
    pub(super) fn new(refusals: u32, own_tools: &[CommandTool]) -> Self {
        let own_tools = own_tools.iter().map(|tool| tool.name().to_owned()).collect();
        Self { refusals, own_tools, ..Self::default() }
    }

    /// True for a tool that does more than read.
    pub(super) fn changes_something(&self, name: &str) -> bool {
        self.own_tools.contains(name) || tool::changes_something(name)
    }

    /// The reason why a person should look, if any. Call it after all calls of a turn are answered.
    pub(super) fn astray(&self) -> Option<String> {
        let barren = self.barren + u32::from(!self.fruitful && self.turn > 0);
        let nothing = (barren >= BARREN_TURNS).then(|| {
            format!("no call succeeded in {barren} turns; last failure: {}", self.last_failure)
        });
        self.astray.clone().or(nothing)
    }

    /// Records a call of a turn and its result. Returns a note to append to the answer for the
    /// model, if any.
    pub(super) fn note(
        &mut self,
        turn: u32,
        call: &ToolCall,
        how: How,
        answer: &str,
    ) -> Option<String> {
        if turn != self.turn {
            self.barren = if self.fruitful || self.turn == 0 { 0 } else { self.barren + 1 };
            (self.turn, self.fruitful) = (turn, false);
        }
        let key = format!("{} {}", call.name, canonical(&call.arguments));
        let answer = answer.lines().next().unwrap_or_default();
        match how {
            How::Done => self.succeeded(turn, call, key),
            How::Failed => self.failed(turn, call, key, answer),
            How::Typed => None,
            How::Guarded => {
                self.refusals += 1;
                if self.refusals >= REFUSALS {
                    self.stop(format!(
                        "{} calls were refused by a guard; last refusal: {answer}",
                        self.refusals
                    ));
                }
                self.failed(turn, call, key, answer)
            }
        }
    }

    fn succeeded(&mut self, turn: u32, call: &ToolCall, key: String) -> Option<String> {
        self.fruitful = true;
        self.failures.remove(&key);
        self.failing.remove(&call.name);
        if self.changes_something(&call.name) && self.changes.insert(key.clone()) {
            self.repeats.clear();
        }
        let (count, note_turn) = self.repeats.entry(key).or_default();
        *count += 1;
        if *count < REPEATS_TOLD {
            return None;
        }
        let (count, before) = (*count, note_turn.is_some_and(|note| note < turn));
        note_turn.get_or_insert(turn);
        if count >= REPEATS_END && before {
            self.stop(format!(
                "{} was called {count} times with the same arguments, and nothing changed in \
                 between",
                call.name
            ));
        }
        Some(format!(
            "You made this very call {count} times and nothing changed in between: the answer \
             stays the same. Use what you have, do something else, or end with a sentence."
        ))
    }

    fn failed(&mut self, turn: u32, call: &ToolCall, key: String, answer: &str) -> Option<String> {
        let times = count_turn(&mut self.failures, key, turn);
        if times >= SAME_FAILURES {
            self.stop(format!("the same call to {} failed {times} times: {answer}", call.name));
        }
        if self.changes_something(&call.name) {
            let turns = count_turn(&mut self.failing, call.name.clone(), turn);
            if turns >= FAILING_TURNS {
                self.stop(format!("{} failed {turns} times in a row: {answer}", call.name));
            }
        }
        answer.clone_into(&mut self.last_failure);
        (times == SAME_FAILURES - 1).then(|| {
            "The same call failed before. Do not send it again: change it, or do without it."
                .to_owned()
        })
    }

    fn stop(&mut self, why: String) {
        self.astray.get_or_insert(why);
    }
}

/// Counts the turns in which something happened, each turn once.
fn count_turn(counts: &mut BTreeMap<String, (u32, u32)>, key: String, turn: u32) -> u32 {
    let (count, newest) = counts.entry(key).or_default();
    if *newest != turn {
        (*count, *newest) = (*count + 1, turn);
    }
    *count
}

/// Returns arguments in a form in which differences that mean nothing in JSON, such as white space,
/// are gone.
fn canonical(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => value.to_string(),
        Err(_) => arguments.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: String::new(), name: name.into(), arguments: arguments.into() }
    }

    /// Records calls, one per turn, and returns the turn that ended the run.
    fn ends(watch: &mut ProgressWatch, calls: &[(&str, &str, How)]) -> Option<u32> {
        (1..).zip(calls).find_map(|(turn, (name, arguments, how))| {
            watch.note(turn, &call(name, arguments), *how, "because");
            watch.astray().is_some().then_some(turn)
        })
    }

    #[test]
    fn a_repeated_call_gets_a_nudge_and_then_ends_the_run() {
        let mut watch = ProgressWatch::default();
        let read = call("read_file", r#"{"path": "a"}"#);
        let told: Vec<bool> =
            (1..=5).map(|turn| watch.note(turn, &read, How::Done, "text").is_some()).collect();
        assert_eq!(told, [false, false, true, true, true]);
        let why = watch.astray().unwrap();
        assert!(why.contains("read_file was called 5 times"), "{why}");
        // The model got the note in this turn: it must have a chance to do something else first.
        let mut watch = ProgressWatch::default();
        (0..9).for_each(|_| drop(watch.note(1, &read, How::Done, "text")));
        assert_eq!(watch.astray(), None);
    }

    #[test]
    fn testing_after_every_change_is_not_a_repetition() {
        let mut watch = ProgressWatch::default();
        for n in 0..10 {
            let write = call("write_file", &format!(r#"{{"path":"a","content":"{n}"}}"#));
            assert_eq!(watch.note(2 * n + 1, &write, How::Done, "ok"), None);
            let test = call("check_tests", "{}");
            assert_eq!(watch.note(2 * n + 2, &test, How::Done, "failed: exit 1"), None);
        }
        // Repeating an identical change does not count as a change.
        let again =
            [("write_file", r#"{"path":"a","content":"0"}"#, How::Done), ("x", "", How::Done)];
        let calls: Vec<_> = again.into_iter().cycle().take(20).collect();
        assert_eq!(ends(&mut ProgressWatch::default(), &calls), Some(9));
    }

    #[test]
    fn failures_are_bounded_whatever_their_form() {
        let same = [("read_file", r#"{"path":"no"}"#, How::Failed); 3];
        assert_eq!(ends(&mut ProgressWatch::default(), &same), Some(3));
        let texts: Vec<String> = (0..9).map(|n| format!(r#"{{"path":"{n}"}}"#)).collect();
        let of = |name| -> Vec<_> {
            texts.iter().map(|text| (name, text.as_str(), How::Failed)).collect()
        };
        assert_eq!(ends(&mut ProgressWatch::default(), &of("edit_file")), Some(3));
        assert_eq!(ends(&mut ProgressWatch::default(), &of("read_file")), Some(5));
        assert_eq!(ends(&mut ProgressWatch::default(), &of("no_such_tool")), Some(5));
        let mut corrected = of("edit_file");
        corrected[2] = ("edit_file", "{}", How::Done);
        corrected.truncate(5);
        assert_eq!(ends(&mut ProgressWatch::default(), &corrected), None);
    }

    #[test]
    fn a_turn_counts_once() {
        let mut watch = ProgressWatch::default();
        for n in 0..9 {
            let broken = call("create_task", &format!("{{{n}"));
            watch.note(1, &broken, How::Failed, "broken");
            watch.note(1, &call("get_plan", "{"), How::Failed, "broken");
        }
        assert_eq!(watch.astray(), None);
    }

    #[test]
    fn refusals_of_the_whole_stage_count() {
        let guarded = [("write_file", r#"{"path":"../a"}"#, How::Guarded)];
        assert_eq!(ends(&mut ProgressWatch::new(1, &[]), &guarded), None);
        assert_eq!(ends(&mut ProgressWatch::new(2, &[]), &guarded), Some(1));
    }
}
