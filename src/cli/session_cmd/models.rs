//! The models of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use crate::cli::context::Context;
use crate::cli::terminal::runtime;
use crate::config::{Config, LOOPBACK_SERVERS, ModelConfig};
use crate::error::{Error, Kind};
use crate::event::{Event, Sink as _};
use crate::interrupt;
use crate::model::meter::{Meter, Metered, Notice};
use crate::model::openai::BuildOptions;
use crate::model::record::{Recorder, Recording};
use crate::model::replay::Replay;
use crate::model::{Model, ModelError, choose, discover};
use crate::pipeline::Models;
use crate::stage::{Role, Stage};

/// The models of a run, probed, so that nothing is created when nobody can answer.
pub(crate) fn open(context: &Context) -> anyhow::Result<Models> {
    let runtime = runtime::current_thread()?;
    let global = &context.global;
    let meter = Rc::new(Meter::new(context.config()?.budget.clone(), Some(notice(context))));
    let metered =
        |replay: Replay| -> Box<dyn Model> { Box::new(Metered::new(replay, Rc::clone(&meter))) };
    let mut models: BTreeMap<String, Box<dyn Model>> = BTreeMap::new();
    if let Some((source, text)) = context.embedded {
        models.insert("default".to_owned(), metered(Replay::parse(source, text)?));
    } else if let Some(path) = &global.replay {
        models.insert("default".to_owned(), metered(Replay::open(path)?));
    } else {
        let config = context.config()?;
        for name in wanted(config)? {
            let (_, model) = config.model(&name)?;
            let model = resolve(context, &runtime, model)?;
            let proxy = proxy(context, &model.base_url);
            let options = BuildOptions { proxy, ..options(context, &meter) };
            let built = choose::build(&model, options)?;
            runtime.block_on(unless_interrupted(built.probe()))?.map_err(unreachable(&model))?;
            models.insert(name, built);
        }
    }
    if let Some(path) = &global.record {
        let name = models.values().next().map(|model| model.name().to_owned()).unwrap_or_default();
        let recorder = Recorder::create(path, &name, context.secrets()?)?;
        models = models
            .into_iter()
            .map(|(name, model)| {
                let recording: Box<dyn Model> = Box::new(Recording::new(model, recorder.clone()));
                (name, recording)
            })
            .collect();
    }
    Ok(Models { by_name: models, meter })
}

/// What comes of it, unless somebody asks us to stop first.
async fn unless_interrupted<T>(wanted: impl Future<Output = T>) -> anyhow::Result<T> {
    tokio::select! {
        biased;
        () = interrupt::requested() => Err(Error::new(Kind::Interrupted, "interrupted").into()),
        found = wanted => Ok(found),
    }
}

/// The names of the models that play some role in some stage.
fn wanted(config: &Config) -> anyhow::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for stage in Stage::ALL {
        for role in [Role::Actor, Role::Critic, Role::SelfReview] {
            names.insert(config.model_for(stage, role)?.0.to_owned());
        }
    }
    Ok(names)
}

/// Shows a person what happens on the way to a model.
fn notice(context: &Context) -> Notice {
    let ui = Rc::clone(&context.ui);
    Rc::new(move |text: &str| ui.emit(Event::Warning { text: text.to_owned() }))
}

/// Shows a person what is waited for.
fn waiting(context: &Context) -> Notice {
    let ui = Rc::clone(&context.ui);
    Rc::new(move |text: &str| ui.emit(Event::Note { text: text.to_owned() }))
}

fn options(context: &Context, meter: &Rc<Meter>) -> BuildOptions {
    let mut options = BuildOptions {
        no_stream: context.global.no_stream,
        notice: Some(notice(context)),
        waiting: Some(waiting(context)),
        meter: Rc::clone(meter),
        ..BuildOptions::default()
    };
    if let Some(millis) = context.env.get("COWORK_TEST_RETRY_MS").and_then(|ms| ms.parse().ok()) {
        options.retry.second = Duration::from_millis(millis);
    }
    options
}

/// The variable that sends requests to a base URL through a proxy, as the HTTP client reads them.
fn proxy(context: &Context, base_url: &str) -> Option<String> {
    let own = if base_url.starts_with("https:") { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    let names =
        [own, "ALL_PROXY"].into_iter().flat_map(|name| [name.to_lowercase(), name.to_owned()]);
    let mut set = names.filter(|name| context.env.get(name).is_some_and(|value| !value.is_empty()));
    set.next()
}

/// Fills in a base URL from the usual loopback ports where none is configured.
fn resolve(
    context: &Context,
    runtime: &tokio::runtime::Runtime,
    model: &ModelConfig,
) -> anyhow::Result<ModelConfig> {
    let mut model = model.clone();
    if !model.base_url.is_empty() || !matches!(model.provider.as_str(), "openai") {
        return Ok(model);
    }
    let ports = discover::discover(&discover::LOOPBACK_PORTS);
    match runtime.block_on(unless_interrupted(ports))? {
        Some((base_url, name)) => {
            let text = format!("using {name} at {base_url}");
            context.ui.emit(Event::Note { text });
            model.base_url = base_url;
            if !context.loaded()?.origins.contains_key("llm.model") {
                model.model = name;
            }
            Ok(model)
        }
        None => {
            let servers: Vec<&str> = LOOPBACK_SERVERS.iter().map(|(name, _)| *name).collect();
            Err(Error::model("no model is configured, and none answers on this machine")
                .hint(format!("start a local server ({}) and try again", servers.join(", ")))
                .hint("or set a key: export OPENAI_API_KEY=… (or COWORK_LLM_BASE_URL=… for another server)")
                .hint("or see it work without any: git cowork demo")
                .into())
        }
    }
}

fn unreachable(model: &ModelConfig) -> impl Fn(ModelError) -> anyhow::Error + '_ {
    |error| {
        let status = error.status();
        let mut error = Error::model(error.to_string());
        error = match status {
            Some(401 | 403) => error.hint("set the key: COWORK_LLM_API_KEY or [llm] api_key"),
            _ => error.hint(format!("check that {} is right and the server runs", model.base_url)),
        };
        error.hint("or see it work without a model: git cowork demo").into()
    }
}

/// For commands that ask no model.
pub(crate) fn none() -> Models {
    Models { by_name: BTreeMap::new(), meter: Rc::default() }
}
