//! Lets a command of the user decide at the gate before a person is asked (`[review] decide`).

use std::time::Duration;

use crate::artifact::{Origin, Severity};
use crate::gate::{self, Decided, Mode};
use crate::moment;
use crate::pipeline::draft::keep;
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::StepOutcome;
use crate::pipeline::progress::{Next, Progress};
use crate::pipeline::review::waiting;
use crate::pipeline::run::Run;
use crate::record::{Approval, ApprovedContent};
use crate::session::Verdict;
use crate::stages::StageSpec;

/// The command's decision about this content; `None` if there is no command, or it leaves the
/// decision to a person.
pub(crate) fn by_command(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    bytes: &ApprovedContent,
) -> anyhow::Result<Option<StepOutcome>> {
    let config = run.env.config;
    let command = config.review.decide.as_str();
    if command.trim().is_empty() {
        return Ok(None);
    }
    let name = gate::command_name(command);
    let about = [
        ("COWORK_SESSION", run.session.name.to_string()),
        ("COWORK_STAGE", spec.stage.to_string()),
        ("COWORK_ITERATION", progress.used().to_string()),
    ];
    let limit = Duration::from_secs(config.limits.command_timeout_max_s);
    let said = gate::decide(command, run.env.git.top(), &about, limit);
    moment::end();
    let said = said?;
    let now = approved_content::content_now(run, spec)?;
    let why = match said {
        _ if !bytes.same(run.env.git, &run.session, &now)? => {
            format!("the {} draft was changed while {name} looked at it", spec.stage)
        }
        Decided::Pass => {
            let verdict =
                if progress.newest.edit.is_some() { Verdict::Edited } else { Verdict::Auto };
            let by = (verdict == Verdict::Auto).then(|| name.clone());
            progress.verdicts.person = Some(Approval { bytes: now, verdict, by });
            run.note(format!("{}: {name} passed the draft", spec.stage));
            keep::keep(run, spec, progress)?;
            return Ok(Some(StepOutcome::Next));
        }
        Decided::Feedback(words) => {
            let words = match words.as_str() {
                "" => format!("{name} refused the draft without a reason"),
                words => format!("{name}: {words}"),
            };
            let mut entry = run.feedback(spec.stage, progress.iteration, Origin::Validator, &words);
            entry.severity = Severity::Major;
            run.give_feedback(vec![entry])?;
            progress.next = Next::Draft;
            return Ok(Some(StepOutcome::Again));
        }
        Decided::Person(why) => why,
    };
    run.warn(why.clone());
    progress.gate.note = progress.gate.note.take().or_else(|| Some(why.clone()));
    if run.env.mode == Mode::Auto {
        return waiting::leave_waiting(run, spec, progress, Some(why)).map(Some);
    }
    Ok(None)
}
