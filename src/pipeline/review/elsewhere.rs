//! An answer from another terminal (`git cowork watch`). It passes the bytes that were shown there, and
//! no others: where the files hold something else by now, that is a person's edit, and is asked about.

use crate::git::Oid;
use crate::pipeline::files::approved_content;
use crate::pipeline::progress::Progress;
use crate::pipeline::progress::edit::Edit;
use crate::pipeline::run::Run;
use crate::stages::{Approves, StageSpec};

/// Whether the files hold what the open gate has shown; `edited` where a person was seen to edit the
/// code meanwhile. Closes the gate, and says at both terminals why the answer does not count.
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

/// Whether what would pass now are the bytes of a tree.
fn holds(run: &Run<'_>, spec: &StageSpec, tree: &Oid) -> anyhow::Result<bool> {
    let now = approved_content::content_now(run, spec)?;
    approved_content::content_at(run, spec, tree)?.same(run.env.git.reader().as_ref(), &now)
}

/// Notes that a person has edited the code since it was shown, where this is about code.
pub(crate) fn note_code_edit(spec: &StageSpec, progress: &mut Progress) {
    if spec.approves == Approves::Tree
        && let Some(since) = progress.seen.clone()
    {
        progress.edit = Some(Edit { since, files: Vec::new(), told: false });
    }
}
