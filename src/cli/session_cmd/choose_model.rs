//! Chooses the server and its model if the configuration does not set them.

use std::collections::BTreeMap;

use crate::cli::context::Context;
use crate::cli::session_cmd::asking::{options, unless_interrupted, unreachable};
use crate::cli::session_cmd::available_models;
use crate::cli::terminal::runtime;
use crate::config::{DEFAULT_MODEL, Loaded, ModelConfig};
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::{self, Tty};
use crate::model::choose;
use crate::model::discover::{self, LOOPBACK_PORTS, ListedModel};

/// Maximum number of models that an error lists.
const NAMED: usize = 20;

/// The models chosen so far in a run, by server.
#[derive(Default)]
pub(crate) struct Chosen {
    by_server: BTreeMap<String, String>,
    /// True if the models are only looked up: the user is not asked and the configuration is not
    /// changed.
    looks_only: bool,
    /// The configuration with what the user has chosen in this run.
    reloaded: Option<Loaded>,
}

/// True if the model is on an HTTP server that can list its models.
pub(crate) fn has_server(model: &ModelConfig) -> bool {
    !matches!(model.provider.as_str(), "replay" | "agent")
}

impl Chosen {
    /// Returns a `Chosen` that only shows which model a run would use.
    pub(crate) fn looking() -> Self {
        Self { looks_only: true, ..Self::default() }
    }

    /// Fills in the base URL and the model of `[llm]` or `[models.NAME]` if they are not set.
    ///
    /// # Errors
    /// Exit 4: there is no server, or a server has several models and nobody can choose one.
    pub(crate) fn complete(
        &mut self,
        context: &Context,
        name: &str,
        model: &ModelConfig,
    ) -> anyhow::Result<ModelConfig> {
        let loaded = match &self.reloaded {
            Some(loaded) => loaded,
            None => context.loaded()?,
        };
        let mut model = match &self.reloaded {
            Some(loaded) => loaded.config.model(name)?.1.clone(),
            None => model.clone(),
        };
        if !has_server(&model) {
            return Ok(model);
        }
        let is_chosen = is_set(loaded, name, &model);
        let mut offered = None;
        if model.base_url.is_empty() && model.provider == "openai" {
            let Some((base_url, models)) = on_this_machine(context)? else {
                let may_ask = !self.looks_only && context.attended() && self.reloaded.is_none();
                if !may_ask {
                    return Err(available_models::no_server(context).into());
                }
                self.reloaded = Some(available_models::choose(context)?);
                return self.complete(context, name, &model);
            };
            model.base_url = base_url;
            offered = Some(models);
        }
        if is_chosen {
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

/// True if the model is configured. `[models.NAME]` inherits the model of `[llm]` if both use the
/// same server.
fn is_set(loaded: &Loaded, name: &str, model: &ModelConfig) -> bool {
    let own = format!("models.{name}.model");
    let is_default = name == DEFAULT_MODEL;
    let same_server = is_default || loaded.config.llm.base_url == model.base_url;
    loaded.origins.contains_key("llm.model") && same_server
        || !is_default && loaded.origins.contains_key(&own)
}

/// The first server that runs on this machine.
fn on_this_machine(context: &Context) -> anyhow::Result<Option<(String, Vec<ListedModel>)>> {
    let looking = discover::local(&LOOPBACK_PORTS);
    let found = runtime::current_thread()?.block_on(unless_interrupted(context, None, looking))?;
    Ok(found.into_iter().next())
}

/// The chat models that a server lists.
pub(crate) fn listed(context: &Context, model: &ModelConfig) -> anyhow::Result<Vec<ListedModel>> {
    let server = choose::server(model, options(context, &model.base_url))?;
    runtime::current_thread()?
        .block_on(unless_interrupted(context, None, server.offered()))?
        .map_err(unreachable(model))
}

/// Picks the server's only model, or the one that the user chooses. Returns `None` to keep the
/// configured or default model, if the server lists that model or lists none.
fn pick(
    context: &Context,
    name: &str,
    model: &ModelConfig,
    offered: &[ListedModel],
    looks_only: bool,
) -> anyhow::Result<Option<String>> {
    let key = match name {
        DEFAULT_MODEL => "cowork.llm.model".to_owned(),
        name => format!("cowork.models.{name}.model"),
    };
    match offered {
        [] => return Ok(None),
        [one] => return Ok(Some(one.id.clone())),
        several if several.iter().any(|other| other.is_named(&model.model)) => return Ok(None),
        _ => {}
    }
    let url = &model.base_url;
    if !context.attended() || looks_only {
        let names: Vec<&str> = offered.iter().take(NAMED).map(|model| model.id.as_str()).collect();
        let more = if offered.len() > NAMED { ", …" } else { "" };
        let message =
            format!("{url} has several models, and none is set: {}{more}", names.join(", "));
        return Err(Error::model(message)
            .hint(format!("choose one: git config {key} NAME"))
            .hint("see their context windows and prices: git cowork models")
            .into());
    }
    context.ui.clear();
    let choices: Vec<(String, &str)> =
        offered.iter().map(|model| (model.id.clone(), model.id.as_str())).collect();
    let prompt = format!("{url} has several models; which one should be used from now on?");
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
