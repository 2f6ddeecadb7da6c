//! An answer from another terminal (`git cowork watch`). It approves only the content that was
//! shown there: if the files have changed since, that is a person's edit, and the person is asked
//! again.

use crate::git::Oid;
use crate::pipeline::draft_state::Edit;
use crate::pipeline::files::approved_content;
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::stages::{Approves, StageSpec};

/// True if the files still have the content that the open gate has shown; `edited` means that a
/// person edited the code in the meantime. Closes the gate, and reports at both terminals why an
/// answer does not count.
pub(crate) fn passes(run: &Run<'_>, spec: &StageSpec, edited: bool) -> anyhow::Result<bool> {
    let tree = run.env.gates.shown().filter(|_| !edited);
    let same = tree.map(|tree| holds(run, spec, &tree)).transpose()?.unwrap_or(false);
    let refused = (!same).then(|| "the files have changed since they were shown there".to_owned());
    if let Some(why) = &refused {
        run.warn(format!("the answer from another terminal does not count: {why}"));
    }
    run.env.gates.close(refused);
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
