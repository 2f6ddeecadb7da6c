//! What other terminals are told of a gate that is open at the run's (`git cowork watch`).

use crate::choice::Choice;
use crate::git::Oid;
use crate::pipeline::files::approved_content;
use crate::pipeline::run::Run;
use crate::session::{Asks, OpenGate};
use crate::stages::{Approves, StageSpec};

/// Tells that a gate about a draft is open, what it asks and what there is to be said of it.
pub(crate) fn open(
    run: &Run<'_>,
    spec: &StageSpec,
    tree: &Oid,
    iteration: u32,
    (asks, remarks): (Asks, Vec<String>),
) -> anyhow::Result<()> {
    let from = approved_content::shown_from(run, spec);
    let paths = approved_content::shown_paths(run, spec, &from, tree)?;
    run.env.gates.open(|id, holder| OpenGate {
        id,
        holder,
        stage: spec.stage,
        iteration,
        tree: tree.clone(),
        from,
        paths,
        is_code: spec.approves == Approves::Tree,
        remarks,
        asks,
    });
    Ok(())
}

/// The same of a question that is about no draft: its remarks are all there is to see.
pub(crate) fn open_menu(run: &Run<'_>, title: &str, keys: Vec<Choice>, remarks: Vec<String>) {
    let tip = &run.session.tip;
    run.env.gates.open(|id, holder| OpenGate {
        id,
        holder,
        stage: run.stage.get(),
        iteration: 0,
        tree: tip.clone(),
        from: tip.clone(),
        paths: Vec::new(),
        is_code: false,
        remarks,
        asks: Asks::Menu { title: title.to_owned(), keys },
    });
}
