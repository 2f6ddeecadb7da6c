//! Which server and which model of it is asked, where the configuration leaves that open.

use std::collections::BTreeMap;

use crate::cli::context::Context;
use crate::cli::session_cmd::asking::{options, unless_interrupted, unreachable};
use crate::cli::terminal::runtime;
use crate::config::{DEFAULT_MODEL, LOOPBACK_SERVERS, ModelConfig};
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::{self, Tty};
use crate::model::choose;
use crate::model::discover::{self, LOOPBACK_PORTS, Offered};

/// As many models as an error names.
const NAMED: usize = 20;

/// What was found and chosen so far, for all models of a run.
#[derive(Default)]
pub(crate) struct Chosen {
    by_server: BTreeMap<String, String>,
    /// Nobody is asked, and nothing is configured.
    looks_only: bool,
}

/// Whether a model is asked over HTTP, at a server that can list what it has.
pub(crate) fn has_server(model: &ModelConfig) -> bool {
    !matches!(model.provider.as_str(), "replay" | "agent")
}

impl Chosen {
    /// For a look at what a run would take.
    pub(crate) fn looking() -> Self {
        Self { looks_only: true, ..Self::default() }
    }

    /// Fills in the base URL and the model of `[llm]` or `[models.NAME]` where nobody has set them.
    ///
    /// # Errors
    /// Exit 4: no server is there; or several models, and nobody to choose one.
    pub(crate) fn complete(
        &mut self,
        context: &Context,
        name: &str,
        model: &ModelConfig,
    ) -> anyhow::Result<ModelConfig> {
        let mut model = model.clone();
        if !has_server(&model) {
            return Ok(model);
        }
        let mut offered = None;
        if model.base_url.is_empty() && model.provider == "openai" {
            let (base_url, models) = on_this_machine()?;
            model.base_url = base_url;
            offered = Some(models);
        }
        if is_set(context, name, &model)? {
            return Ok(model);
        }
        if let Some(chosen) = self.by_server.get(&model.base_url) {
            model.model.clone_from(chosen);
            return Ok(model);
        }
        let offered = match offered {
            Some(offered) => offered,
            None => listed(context, &model)?,
        };
        if let Some(chosen) = pick(context, name, &model, &offered, self.looks_only)? {
            model.model = chosen;
        }
        self.by_server.insert(model.base_url.clone(), model.model.clone());
        Ok(model)
    }
}

/// Whether somebody has said which model it is; `[models.NAME]` takes over what `[llm]` says of the same
/// server.
fn is_set(context: &Context, name: &str, model: &ModelConfig) -> anyhow::Result<bool> {
    let origins = &context.loaded()?.origins;
    let own = format!("models.{name}.model");
    let is_default = name == DEFAULT_MODEL;
    let same_server = is_default || context.config()?.llm.base_url == model.base_url;
    Ok(origins.contains_key("llm.model") && same_server
        || !is_default && origins.contains_key(&own))
}

/// The first server that runs on this machine.
fn on_this_machine() -> anyhow::Result<(String, Vec<Offered>)> {
    let found = runtime::current_thread()?
        .block_on(unless_interrupted(discover::local(&LOOPBACK_PORTS)))?;
    found.into_iter().next().ok_or_else(|| no_server().into())
}

/// Nothing is configured, and nothing runs here.
pub(crate) fn no_server() -> Error {
    let servers: Vec<&str> = LOOPBACK_SERVERS.iter().map(|(name, _)| *name).collect();
    Error::model("no model is configured, and none answers on this machine")
        .hint(format!("start a local server ({}) and try again", servers.join(", ")))
        .hint("or set a key: export OPENAI_API_KEY=KEY")
        .hint("or name another server: export COWORK_LLM_BASE_URL=URL")
        .hint("or see it work without any: git cowork demo")
}

/// What a server lists that one can talk to.
pub(crate) fn listed(context: &Context, model: &ModelConfig) -> anyhow::Result<Vec<Offered>> {
    let server = choose::server(model, options(context, &model.base_url))?;
    runtime::current_thread()?
        .block_on(unless_interrupted(server.offered()))?
        .map_err(unreachable(model))
}

/// One of several: the default where it is among them, the only one, or whichever a person takes.
/// `None` where the server lists nothing: then what is configured is asked for.
fn pick(
    context: &Context,
    name: &str,
    model: &ModelConfig,
    offered: &[Offered],
    looks_only: bool,
) -> anyhow::Result<Option<String>> {
    let key = match name {
        DEFAULT_MODEL => "cowork.llm.model".to_owned(),
        name => format!("cowork.models.{name}.model"),
    };
    match offered {
        [] => return Ok(None),
        [one] => return Ok(Some(one.id.clone())),
        several if several.iter().any(|other| other.id == model.model) => return Ok(None),
        _ => {}
    }
    let url = &model.base_url;
    if !context.attended || looks_only {
        let names: Vec<&str> = offered.iter().take(NAMED).map(|model| model.id.as_str()).collect();
        let more = if offered.len() > NAMED { ", …" } else { "" };
        let message =
            format!("{url} has several models, and none is set: {}{more}", names.join(", "));
        return Err(Error::model(message)
            .hint(format!("choose one: git config {key} NAME"))
            .hint("see what they hold and cost: git cowork models")
            .into());
    }
    context.ui.clear();
    let choices: Vec<(String, &str)> =
        offered.iter().map(|model| (model.id.clone(), model.id.as_str())).collect();
    let prompt = format!("{url} has several models; which one is asked from now on?");
    let Some(chosen) = gate::choose(&Tty::new(context.color), &prompt, &choices, None)? else {
        return Err(Error::model("no model was chosen; nothing was changed")
            .hint(format!("choose one: git config {key} NAME"))
            .into());
    };
    context.git()?.write(["config", key.as_str(), chosen.as_str()]).checked()?;
    let text = format!("{chosen} is the model here from now on (git config {key})");
    context.ui.emit(Event::Note { text });
    Ok(Some(chosen))
}
