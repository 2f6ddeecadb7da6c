//! Chooses the server and its model if the configuration does not set them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::context::Context;
use crate::cli::session_cmd::asking::{options, unless_interrupted, unreachable};
use crate::cli::terminal::runtime;
use crate::config::{DEFAULT_MODEL, HOSTED_APIS, LOOPBACK_SERVERS, Loaded, ModelConfig};
use crate::error::Error;
use crate::gate::{self, Tty};
use crate::model::agents::programs;
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
        let settings = match &self.reloaded {
            Some(loaded) => loaded,
            None => context.loaded()?,
        };
        let mut model = match &self.reloaded {
            Some(settings) => settings.config.model(name)?.1.clone(),
            None => model.clone(),
        };
        if !has_server(&model) {
            return Ok(model);
        }
        let is_chosen = is_set(settings, name, &model);
        let mut offers = None;
        if model.base_url.is_empty() && model.provider == "openai" {
            let Some((base_url, models)) = on_this_machine(context)? else {
                let may_ask = !self.looks_only && context.attended() && self.reloaded.is_none();
                if !may_ask {
                    return Err(no_server(context).into());
                }
                self.reloaded = Some(choose_other(context)?);
                return self.complete(context, name, &model);
            };
            model.base_url = base_url;
            offers = Some(models);
        }
        if is_chosen {
            return Ok(model);
        }
        if let Some(chosen) = self.by_server.get(&model.base_url) {
            model.model.clone_from(chosen);
            return Ok(model);
        }
        let offers = match offers {
            Some(offers) => offers,
            None => listed(context, &model)?,
        };
        if let Some(chosen) = pick(context, name, &model, &offers, self.looks_only)? {
            model.model = chosen;
        }
        self.by_server.insert(model.base_url.clone(), model.model.clone());
        Ok(model)
    }
}

/// True if the model is configured. `[models.NAME]` inherits the model of `[llm]` if both use the
/// same server.
fn is_set(loaded: &Loaded, name: &str, model: &ModelConfig) -> bool {
    let key = format!("models.{name}.model");
    let is_default = name == DEFAULT_MODEL;
    let same_server = is_default || loaded.config.llm.base_url == model.base_url;
    loaded.origins.contains_key("llm.model") && same_server
        || !is_default && loaded.origins.contains_key(&key)
}

/// The first server that runs on this machine.
fn on_this_machine(context: &Context) -> anyhow::Result<Option<(String, Vec<ListedModel>)>> {
    let looking = discover::local(&LOOPBACK_PORTS);
    let servers =
        runtime::current_thread()?.block_on(unless_interrupted(context, None, looking))?;
    Ok(servers.into_iter().next())
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
    context.note(format!("{chosen} is the model here from now on (git config {key})"));
    Ok(Some(chosen))
}

/// A model that could be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherModel {
    /// What it is.
    pub title: String,
    /// The setting that makes it the model, and its value.
    pub setting: (&'static str, &'static str),
}

impl OtherModel {
    /// The command that makes it the model of all repositories.
    pub(crate) fn command(&self) -> String {
        let (key, value) = self.setting;
        format!("git config --global {key} {value}")
    }
}

/// What is here: keys first. Nothing if the configuration names a provider.
pub(crate) fn other_models(context: &Context) -> Vec<OtherModel> {
    if context.loaded().is_ok_and(|loaded| loaded.origins.contains_key("llm.provider")) {
        return Vec::new();
    }
    // A key for OpenAI is used without a question.
    let keys = HOSTED_APIS[1..]
        .iter()
        .filter(|api| context.env.get(api.key).is_some_and(|key| !key.trim().is_empty()));
    let keys = keys.map(|api| OtherModel {
        title: format!("{} with the key in {}", api.title, api.key),
        setting: ("cowork.llm.provider", api.provider),
    });
    let agents = agents_on_path(context).into_iter().map(|name| OtherModel {
        title: format!("the agent program {name}"),
        setting: ("cowork.llm.agent", name),
    });
    keys.chain(agents).collect()
}

/// Names of the agent programs on `PATH`.
pub(crate) fn agents_on_path(context: &Context) -> Vec<&'static str> {
    let present = programs().filter(|(_, file)| find_program(context, file).is_some());
    present.map(|(name, _)| name).collect()
}

/// Lets the user choose one of those here; the choice is remembered for all repositories. Returns
/// the configuration with it.
///
/// # Errors
/// Exit 4: nothing is here, or nothing was chosen.
pub(crate) fn choose_other(context: &Context) -> anyhow::Result<Loaded> {
    let others = other_models(context);
    let none = no_server(context);
    if others.is_empty() {
        return Err(none.into());
    }
    context.ui.clear();
    let choices: Vec<(&OtherModel, &str)> =
        others.iter().map(|other| (other, other.title.as_str())).collect();
    let only = (others.len() == 1).then_some(0);
    let prompt = "no model is configured; which one should be used from now on?";
    let Some(chosen) = gate::choose(&Tty::new(context.color), prompt, &choices, only)? else {
        let mut error = Error::model("no model was chosen; nothing was changed");
        error.hints = none.hints;
        return Err(error.into());
    };
    let git = context.git()?;
    let (key, value) = chosen.setting;
    git.write(["config", "--global", key, value]).checked()?;
    context.note(format!("{} is the model from now on ({})", chosen.title, chosen.command()));
    context.load_again(git)
}

/// The error if no server is configured and none runs on this machine. It names what else is here.
pub(crate) fn no_server(context: &Context) -> Error {
    let error = Error::model("no model is configured, and no model server answers on this machine");
    let others = other_models(context);
    let start = others.iter().fold(error, |error, other| {
        error.hint(format!("to use {}: {}", other.title, other.command()))
    });
    let servers: Vec<&str> = LOOPBACK_SERVERS.iter().map(|(name, _)| *name).collect();
    let or = if others.is_empty() { "" } else { "or " };
    start
        .hint(format!("{or}start a local server ({}) and try again", servers.join(", ")))
        .hint("or set a key: export OPENAI_API_KEY=KEY")
        .hint("or name another server: export COWORK_LLM_BASE_URL=URL")
        .hint("or try git-cowork without a model: git cowork demo")
}

/// The file of a program, if there is one that can be run.
pub(crate) fn find_program(context: &Context, program: &str) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(context.cwd.join(path)).filter(|path| is_executable(path));
    }
    let folders = context.env.get("PATH")?;
    std::env::split_paths(folders).map(|dir| dir.join(program)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}
