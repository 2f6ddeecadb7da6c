//! Publishes the gate that is open in the run's terminal to other terminals (`git cowork watch`).

use crate::choice::Choice;
use crate::git::Oid;
use crate::pipeline::files::approved_content;
use crate::pipeline::run::Run;
use crate::session::{Asks, OpenGate};
use crate::stages::{Approves, StageSpec};

/// Publishes that a gate about a draft is open, with its choices and remarks.
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

/// Like [`open`], for a question that is not about a draft: it only has remarks.
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
