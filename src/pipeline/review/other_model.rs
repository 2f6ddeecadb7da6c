//! Another model for the next drafts of a stage (`m` at the gate), chosen from a list or by its
//! name. It is recorded with the drafts; the configuration does not change.

use crate::error::{Kind, hints_of, kind_of};
use crate::gate::terminal::{Text, text};
use crate::gate::{Gate, choose};
use crate::pipeline::other_models::{Candidate, Candidates, Taken};
use crate::pipeline::step::Step;
use crate::stage::Role;
use crate::stages::StageSpec;

/// Maximum number of names that an error lists.
const NAMED: usize = 12;

/// Lets a person choose another model. Returns whether one was chosen, and a message.
pub(crate) async fn take(step: &mut Step<'_, '_>) -> anyhow::Result<(bool, String)> {
    let (Some(gate), Some(others)) = (&step.run.env.gate, step.run.env.others) else {
        return Ok((false, "no other model can be chosen here".to_owned()));
    };
    let candidates = match others.list().await {
        Ok(listed) => listed,
        Err(error) => return refused(&error).map(|why| (false, why)),
    };
    for problem in &candidates.problems {
        step.run.warn(problem.clone());
    }
    let now = step.run.player(step.spec.stage, Role::Actor)?.name;
    let choice = match ask(gate, step.spec, &candidates, &now)? {
        Ok(taken) => taken,
        Err(why) => return Ok((false, why)),
    };
    let usual = step.run.env.config.model_for(step.spec.stage, Role::Actor)?.0;
    if choice.render() == now {
        return Ok((false, "that model makes the next draft anyway".to_owned()));
    }
    if choice.render() == usual {
        step.run.taken.replace(None);
        step.draft.taken = None;
    } else {
        let player = match others.open(&choice).await {
            Ok(player) => player,
            Err(error) => return refused(&error).map(|why| (false, why)),
        };
        step.run.taken.replace(Some((step.spec.stage, player)));
        step.draft.taken = Some(choice);
    }
    let name = step.run.player(step.spec.stage, Role::Actor)?.model.name().to_owned();
    let stage = step.spec.stage;
    Ok((
        true,
        format!(
            "next draft by {name}, like all later ones of {stage}; your configuration is unchanged"
        ),
    ))
}

/// Restores a person's choice for this stage from an earlier run.
pub(crate) async fn take_up(step: &mut Step<'_, '_>) -> anyhow::Result<()> {
    step.run.taken.replace(None);
    let (Some(taken), Some(others)) = (&step.draft.taken, step.run.env.others) else {
        return Ok(());
    };
    if others.is_overruled() {
        step.draft.taken = None;
        return Ok(());
    }
    match others.open(taken).await {
        Ok(player) => {
            step.run.taken.replace(Some((step.spec.stage, player)));
        }
        Err(error) => {
            let (why, what) = (refused(&error)?, taken.render());
            let usual = step.run.player(step.spec.stage, Role::Actor)?.model.name().to_owned();
            step.run.warn(format!(
                "{what} was chosen for the next draft but cannot be used, \
                 so {usual} makes the draft: {why}"
            ));
            step.draft.taken = None;
        }
    }
    Ok(())
}

/// The reason why no model was chosen. An interruption ends the run.
fn refused(error: &anyhow::Error) -> anyhow::Result<String> {
    let mut why = format!("{error:#}");
    if kind_of(error) == Kind::Interrupted {
        return Err(crate::error::Error::new(Kind::Interrupted, why).into());
    }
    for hint in hints_of(error) {
        why.push_str(&format!("\nhint: {hint}"));
    }
    Ok(why)
}

/// The chosen model, or the reason why there is none.
fn ask(
    gate: &Gate<'_>,
    spec: &StageSpec,
    listed: &Candidates,
    now: &str,
) -> anyhow::Result<Result<Taken, String>> {
    let models = &listed.models;
    if models.iter().all(|one| one.taken.render() == now) {
        let only = "there is no other model: none is configured, and the server lists none";
        return Ok(Err(format!("{only}\nhint: add one as [models.NAME] to your configuration")));
    }
    let labels: Vec<String> = models.iter().map(|one| label(one, now)).collect();
    let by_name = "another one, by its name";
    let choices: Vec<(Option<usize>, &str)> = labels
        .iter()
        .enumerate()
        .map(|(at, label)| (Some(at), label.as_str()))
        .chain([(None, by_name)])
        .collect();
    let prompt = format!("Which model makes the next drafts of {}?", spec.stage);
    let no_change = || Ok(Err("nothing was changed".to_owned()));
    match choose(gate.terminal, &prompt, &choices, None)? {
        Some(Some(at)) => Ok(Ok(models[at].taken.clone())),
        Some(None) => match text(gate.terminal, "model: ")? {
            Text::Given(name) => Ok(named(models, &name)),
            Text::Nothing | Text::End => no_change(),
        },
        None => no_change(),
    }
}

fn label(one: &Candidate, now: &str) -> String {
    let Candidate { taken, model, at } = one;
    let name = match &taken.id {
        None => format!("{model} ({})", taken.name),
        Some(_) => model.clone(),
    };
    let now = if taken.render() == now { " (current)" } else { "" };
    format!("{name} at {at}{now}")
}

/// The model with this name: one of the configuration, or else one that a server lists.
fn named(models: &[Candidate], name: &str) -> Result<Taken, String> {
    let is_configured = |one: &&Candidate| one.taken.id.is_none() && one.taken.name == name;
    let is_listed = |one: &&Candidate| one.model == name;
    let candidate = models.iter().find(is_configured).or_else(|| models.iter().find(is_listed));
    candidate.map(|one| one.taken.clone()).ok_or_else(|| {
        let names: Vec<&str> = models.iter().take(NAMED).map(|one| one.model.as_str()).collect();
        let more = if models.len() > NAMED { ", …" } else { "" };
        let list = names.join(", ");
        format!("no model is called '{name}', so nothing was changed; known models: {list}{more}")
    })
}
