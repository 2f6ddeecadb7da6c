//! Lets a command of the user decide at the gate before a person is asked (`[review] decide`).

use std::time::Duration;

use crate::artifact::{Origin, Severity};
use crate::gate::{self, Decided, Mode};
use crate::moment;
use crate::pipeline::draft::keep;
use crate::pipeline::files::approved_content;
use crate::pipeline::review::waiting;
use crate::pipeline::step::{Step, Stop};
use crate::record::{Approval, ApprovedContent};
use crate::session::Verdict;

/// True if the command passes this content; false if there is no command, or it leaves the decision
/// to a person.
pub(crate) fn by_command(step: &mut Step<'_, '_>, bytes: &ApprovedContent) -> Result<bool, Stop> {
    let config = step.run.env.config;
    let command = config.review.decide.as_str();
    if command.trim().is_empty() {
        return Ok(false);
    }
    let name = gate::command_name(command);
    let about = [
        ("COWORK_SESSION", step.run.session.name.to_string()),
        ("COWORK_STAGE", step.spec.stage.to_string()),
        ("COWORK_ITERATION", step.draft.used().to_string()),
    ];
    let limit = Duration::from_secs(config.limits.command_timeout_max_s);
    let said = gate::decide(command, step.run.env.git.top(), &about, limit);
    moment::end();
    let said = said?;
    let now = approved_content::content_now(step.run, step.spec)?;
    let why = match said {
        _ if !bytes.same(step.run.env.git, &step.run.session, &now)? => {
            format!("the {} draft was changed while {name} looked at it", step.spec.stage)
        }
        Decided::Pass => {
            let verdict = if step.draft.edit.is_some() { Verdict::Edited } else { Verdict::Auto };
            let by = (verdict == Verdict::Auto).then(|| name.clone());
            step.draft.approvals.person = Some(Approval { bytes: now, verdict, by });
            step.run.note(format!("{}: {name} passed the draft", step.spec.stage));
            keep::keep(step)?;
            return Ok(true);
        }
        Decided::Feedback(words) => {
            let words = match words.as_str() {
                "" => format!("{name} refused the draft without a reason"),
                words => format!("{name}: {words}"),
            };
            let mut entry = step.feedback(Origin::Validator, &words);
            entry.severity = Severity::Major;
            step.refuse(vec![entry])?;
            return Ok(false);
        }
        Decided::Person(why) => why,
    };
    step.run.warn(why.clone());
    step.draft.gate.note = step.draft.gate.note.take().or_else(|| Some(why.clone()));
    if step.run.env.mode == Mode::Auto {
        waiting::leave_waiting(step, Some(why))?;
    }
    Ok(false)
}
