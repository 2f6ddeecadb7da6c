//! The text of an event's line in `git cowork log`, a short form of what `log -v` shows.

use crate::session::{Attempt, Step, in_short};
use crate::spent::tokens;
use crate::stage::Stage;
use crate::ui::one_line;

/// Maximum length of a text in a line.
const TEXT: usize = 100;

/// The cells of an event's line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// `2026-11-21 10:04`
    pub time: String,
    /// Short id of the commit that records the event.
    pub commit: String,
    /// The kind of event: `✓` a stage is done, `✗` a draft was refused, `↩` work was abandoned as
    /// an attempt, `?` the session waits for a person.
    pub mark: Option<char>,
    /// The stage, the task, or another subject of the event.
    pub label: String,
    /// What happened.
    pub text: String,
    /// What a task changed: `store.py +42`.
    pub files: String,
    /// Who decided, or the test result of a task.
    pub who: String,
    /// Tokens that were used.
    pub tokens: String,
    /// Cost in money.
    pub cost: String,
    /// The command that restores the attempt.
    pub command: String,
    /// True if the event is part of an attempt.
    pub is_left: bool,
}

impl Row {
    /// The row of a step. `more` is the number of further steps with the same content; `me` is the
    /// name of the log's reader.
    pub(crate) fn of(step: &Step, more: usize, me: Option<&str>) -> Self {
        let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        let commit = step.commit.as_ref().and_then(|id| id.as_str().get(..7)).unwrap_or_default();
        let reader = Reader { me };
        let text = one_line(&reader.text(step), TEXT);
        let command = match (step.event, step.attempt) {
            ("went_back", Some(number)) => restore(&step.session, number),
            _ => String::new(),
        };
        Self {
            time: step.timestamp.get(..16).unwrap_or_default().replace('T', " "),
            commit: commit.to_owned(),
            mark: mark(step),
            label: label(step),
            text: text + &more,
            files: one_line(&in_short(step.counted()), TEXT),
            who: one_line(&reader.who(step), TEXT),
            tokens: match step.spent.tokens() {
                0 => String::new(),
                count => tokens(count),
            },
            cost: step.spent.cost().unwrap_or_default(),
            command,
            is_left: step.lane().is_some(),
        }
    }

    /// The row of an attempt for which the log has no event.
    pub(crate) fn of_attempt(attempt: &Attempt) -> Self {
        let why = match attempt.reason.as_str() {
            "" => String::new(),
            why => format!(": {}", one_line(why, TEXT)),
        };
        Self {
            mark: Some('↩'),
            text: format!("attempt {} left behind{why}", attempt.number),
            command: restore(attempt.session.as_str(), attempt.number),
            is_left: true,
            ..Self::default()
        }
    }
}

fn restore(session: &str, number: u32) -> String {
    format!("git cowork restore {session} {number}")
}

fn mark(step: &Step) -> Option<char> {
    match step.event {
        "stage_completed" => Some('✓'),
        "went_back" => Some('↩'),
        "review_requested" => Some('?'),
        "depth_raised" => Some('↑'),
        "feedback" if step.decision == Some("edited") || is_note(step) => Some('·'),
        "feedback" => Some('✗'),
        "review_answered" if matches!(step.decision, Some("feedback" | "aborted")) => Some('✗'),
        "review_answered" | "draft_kept" | "copy_kept" | "question_answered" => Some('·'),
        "task_completed" if tests(step) == Some("tests ✗") => Some('✗'),
        _ => None,
    }
}

fn label(step: &Step) -> String {
    let stage = step.stage.map_or("", Stage::name);
    match step.event {
        "session_started" => "start",
        "merged" => "merge",
        "depth_raised" => "depth",
        "knowledge_decided" => "knowledge",
        "copy_kept" if stage.is_empty() => "copy",
        "went_back" => match step.from.as_deref() {
            Some("completed") => "delivered",
            from => from.unwrap_or(stage),
        },
        _ => step.task.as_deref().unwrap_or(stage),
    }
    .to_owned()
}

/// The result of git-cowork's own checks of a task.
fn tests(step: &Step) -> Option<&'static str> {
    let checks = step.checks.as_deref()?;
    let mut failed = checks.split("failed (").skip(1).peekable();
    let is_known = failed.peek().is_some();
    Some(match checks {
        "" | "none" => return None,
        _ if failed.any(|rest| !rest.contains(", as before)")) => "tests ✗",
        _ if is_known => "tests fail as before",
        _ if checks.contains("not run") => "tests not run",
        _ if checks.contains("no tests (") => "no tests",
        _ if checks.contains("tests not counted") => "tests ✓, not counted",
        _ => "tests ✓",
    })
}

/// True for feedback that is not about a draft but explains why a stage is repeated.
fn is_note(step: &Step) -> bool {
    step.event == "feedback" && step.iteration == Some(0)
}

/// The reader of the log.
struct Reader<'a> {
    me: Option<&'a str>,
}

impl Reader<'_> {
    /// A name without its address, or `you` for the reader.
    fn person(&self, actor: &str) -> String {
        match self.me {
            Some(me) if me == actor => "you".to_owned(),
            _ => actor.split(" <").next().unwrap_or(actor).to_owned(),
        }
    }

    fn text(&self, step: &Step) -> String {
        let draft = step.iteration.map(|n| format!("draft {n}")).unwrap_or_default();
        let who = self.person(&step.actor);
        let because =
            if step.reason.is_empty() { String::new() } else { format!(": {}", step.reason) };
        match step.event {
            "feedback" | "review_answered" if step.decision == Some("edited") => match &*because {
                "" => format!("{draft} edited"),
                _ => format!("{draft}: edited {}", step.reason),
            },
            _ if is_note(step) => step.reason.clone(),
            "feedback" if step.from != step.to => {
                let to = step.to.as_deref().unwrap_or("?");
                format!("{draft}: {who} asks to go back to {to}{because}")
            }
            "feedback" if step.decision == Some("feedback") && who == "self-review" => {
                format!("{draft}: {who} could not fix{because}")
            }
            "feedback" if step.decision == Some("feedback") => format!("{draft}: {who}{because}"),
            "feedback" => format!("{draft}: {who}, {}{because}", step.severity),
            "draft_kept" => format!("{draft} kept"),
            "question_answered" => format!("{draft}, question{because}"),
            "review_requested" => format!("{draft} waits for review{because}"),
            "review_answered" if step.decision == Some("feedback") => {
                format!("{draft}: {who}{because}")
            }
            "review_answered" => {
                format!("{draft} {}{because}", step.decision.unwrap_or_default())
            }
            "went_back" => match step.attempt {
                Some(number) => format!("attempt {number} left behind{because}"),
                None => step.reason.clone(),
            },
            "copy_kept" => match step.attempt {
                Some(number) => format!("attempt {number}{because}"),
                None => step.reason.clone(),
            },
            "task_completed" => {
                let id = step.task.as_deref().unwrap_or_default();
                step.summary.strip_prefix(id).unwrap_or(&step.summary).trim().to_owned()
            }
            "session_started" | "knowledge_decided" => format!("{}{because}", step.summary),
            _ => step.summary.clone(),
        }
    }

    fn who(&self, step: &Step) -> String {
        let who = self.person(&step.actor);
        let by = match step.decision {
            _ if step.claimed => format!("claimed by {who}"),
            Some("edited") => format!("{who}, edited"),
            Some("auto") => "auto".to_owned(),
            _ => who.clone(),
        };
        match (step.event, step.iteration) {
            ("task_completed", _) => tests(step).unwrap_or_default().to_owned(),
            ("stage_completed", Some(drafts @ 2..)) => format!("{by}, {drafts} drafts"),
            ("stage_completed", _) => by,
            // The text of the row already names the person.
            ("review_answered", _) if step.decision == Some("feedback") => match step.claimed {
                true => by,
                false => String::new(),
            },
            ("review_answered", _) if step.claimed => by,
            ("feedback", _) if step.decision != Some("edited") => String::new(),
            ("went_back" | "draft_kept" | "review_requested", _) => String::new(),
            _ => who,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: &str = "Ana Example <ana@example.org>";

    fn step(event: &'static str, set: impl FnOnce(&mut Step)) -> Step {
        let mut step = Step::default();
        (step.event, step.iteration) = (event, Some(1));
        ME.clone_into(&mut step.actor);
        set(&mut step);
        step
    }

    fn row(step: &Step) -> Row {
        Row::of(step, 0, Some(ME))
    }

    #[test]
    fn who_decided_and_how_is_short() {
        let stage = |decision, drafts| {
            step("stage_completed", |step| {
                (step.decision, step.iteration) = (Some(decision), Some(drafts));
            })
        };
        assert_eq!(row(&stage("passed", 1)).who, "you");
        assert_eq!(row(&stage("edited", 2)).who, "you, edited, 2 drafts");
        assert_eq!(row(&stage("auto", 1)).who, "auto");
        assert_eq!(Row::of(&stage("passed", 1), 0, None).who, "Ana Example");
        let mut claimed = stage("passed", 1);
        claimed.claimed = true;
        assert_eq!(row(&claimed).who, "claimed by you");
    }

    #[test]
    fn a_refused_draft_says_who_refused_it_and_why() {
        let said = step("feedback", |step| {
            "critic".clone_into(&mut step.actor);
            (step.decision, step.severity) = (Some("rejected"), "major");
            "make point 1\nclearer".clone_into(&mut step.reason);
        });
        let row = Row::of(&said, 2, None);
        assert_eq!(row.text, "draft 1: critic, major: make point 1 clearer (and 2 more)");
        assert_eq!((row.mark, row.who.as_str()), (Some('✗'), ""));
    }

    #[test]
    fn a_task_shows_its_test_result() {
        for (checks, told, mark) in [
            ("passed (make)", "tests ✓", None),
            ("passed (make); no tests (pytest)", "no tests", None),
            ("passed (make); passed, tests not counted (make test)", "tests ✓, not counted", None),
            ("failed (make, exit 1)", "tests ✗", Some('✗')),
            ("failed (make, exit 1, as before)", "tests fail as before", None),
            ("not run (dependencies missing)", "tests not run", None),
            ("none", "", None),
        ] {
            let task = step("task_completed", |step| {
                step.checks = Some(checks.to_owned());
                step.task = Some("TASK-001".to_owned());
                "TASK-001 Keep todos".clone_into(&mut step.summary);
            });
            let row = row(&task);
            assert_eq!((row.who.as_str(), row.mark), (told, mark), "{checks}");
            assert_eq!((row.label.as_str(), row.text.as_str()), ("TASK-001", "Keep todos"));
        }
    }
}
