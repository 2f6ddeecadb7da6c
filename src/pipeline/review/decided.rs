//! Who may decide at the gate before the person at the terminal: a command of the user (`[review]
//! decide`), or a person at another terminal (`git cowork watch`). That answer approves only the
//! content that was shown there: if the files have changed since, that is a person's edit, and the
//! person is asked again.

use std::time::Duration;

use crate::artifact::{Origin, Severity};
use crate::gate::{self, Decided, Mode};
use crate::git::Oid;
use crate::moment;
use crate::pipeline::draft::keep;
use crate::pipeline::draft_state::Edit;
use crate::pipeline::files::approved_content;
use crate::pipeline::review::waiting;
use crate::pipeline::run::Run;
use crate::pipeline::step::{Step, Stop};
use crate::record::{Approval, ApprovedContent};
use crate::session::Verdict;
use crate::stages::{Approves, StageSpec};

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
    let answer = gate::decide(command, step.run.env.git.top(), &about, limit);
    moment::end();
    let answer = answer?;
    let now = approved_content::content_now(step.run, step.spec)?;
    let why = match answer {
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

/// True if the files still have the content that the open gate has shown; `edited` means that a
/// person edited the code in the meantime. Closes the gate, and reports at both terminals why an
/// answer does not count.
pub(crate) fn passes(run: &Run<'_>, spec: &StageSpec, edited: bool) -> anyhow::Result<bool> {
    let tree = run.env.gates.shown().filter(|_| !edited);
    let same = tree.map(|tree| holds(run, spec, &tree)).transpose()?.unwrap_or(false);
    let reason = (!same).then(|| "the files have changed since they were shown there".to_owned());
    if let Some(why) = &reason {
        run.warn(format!("the answer from another terminal does not count: {why}"));
    }
    run.env.gates.close(reason);
    Ok(same)
}

/// True if the stage's content is now the same as in this tree.
fn holds(run: &Run<'_>, spec: &StageSpec, tree: &Oid) -> anyhow::Result<bool> {
    let now = approved_content::content_now(run, spec)?;
    approved_content::content_at(run, spec, tree)?.same(run.env.git, &run.session, &now)
}

/// Records that a person has edited the code since it was shown, if the stage is about code.
pub(crate) fn note_code_edit(step: &mut Step<'_, '_>) {
    if step.spec.approves == Approves::Tree
        && let Some(since) = step.draft.readings.person.clone()
    {
        step.draft.edit = Some(Edit { since, files: Vec::new(), told: false });
    }
}
