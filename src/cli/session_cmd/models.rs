//! The models of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::cli::context::Context;
use crate::cli::demo_recording;
use crate::cli::session_cmd::agent_network;
use crate::cli::session_cmd::asking::{notice, options, unless_interrupted, unreachable};
use crate::cli::session_cmd::choose_model::{Chosen, has_server};
use crate::cli::terminal::runtime;
use crate::config::{AGENT, Budget, Config, DEFAULT_MODEL, ModelConfig, is_loopback};
use crate::error::{Error, Kind};
use crate::gate::{Tty, choose as choose_answer};
use crate::model::agents::{tells_cost, tells_tokens};
use crate::model::meter::{Meter, Metered};
use crate::model::options::BuildOptions;
use crate::model::record::{AnswerRecorder, Recording};
use crate::model::repeat::Repeating;
use crate::model::replay::Replay;
use crate::model::{Model, Reach, choose, known_prices};
use crate::pipeline::Models;
use crate::pipeline::prompts::Prompts;
use crate::stage::{Role, Stage};

/// Opens and probes the models of a run, so that nothing is created if a model cannot be reached.
pub(crate) fn open(context: &Context) -> anyhow::Result<Models> {
    let global = &context.global;
    let prompts = Prompts { folder: context.prompt_folder() };
    prompts.check_template(&context.config()?.project.template)?;
    for file in prompts.check()? {
        context
            .warn(format!("{file} in your prompts folder is no prompt's name, so nothing uses it"));
    }
    let recording = Recorded::open(context)?;
    let configs = match recording {
        Some(_) => Vec::new(),
        None => chosen(context)?,
    };
    let budget = priced(context.config()?.budget.clone(), &configs);
    let meter = Rc::new(Meter::new(budget, Some(notice(context))));
    let mut models: BTreeMap<String, Box<dyn Model>> = BTreeMap::new();
    let mut settings = BTreeMap::new();
    if let Some(recording) = recording {
        models.insert(DEFAULT_MODEL.to_owned(), recording.metered(&meter));
    } else {
        let runtime = runtime::current_thread()?;
        let reach = agent_network::reach(context, &configs)?;
        for (name, model) in configs {
            let built = build(context, &name, &model, &meter, reach.clone())?;
            runtime
                .block_on(unless_interrupted(context, None, built.probe()))?
                .map_err(unreachable(&model))?;
            tell(context, &name, built.name(), &model);
            models.insert(name.clone(), built);
            settings.insert(name, model);
        }
    }
    if let Some(path) = &global.record {
        let name = models.values().next().map(|model| model.name().to_owned()).unwrap_or_default();
        let recorder = AnswerRecorder::create(path, &name, context.secrets()?)?;
        models = models
            .into_iter()
            .map(|(name, model)| {
                let recording: Box<dyn Model> = Box::new(Recording::new(model, recorder.clone()));
                (name, recording)
            })
            .collect();
    }
    let by_name = models.into_iter().map(|(name, model)| (name, Rc::from(model))).collect();
    Ok(Models { by_name, settings, meter })
}

/// Builds a model of a run without making a request.
pub(crate) fn build(
    context: &Context,
    name: &str,
    model: &ModelConfig,
    meter: &Rc<Meter>,
    reach: Reach,
) -> anyhow::Result<Box<dyn Model>> {
    let allows = allow_uncounted(context, name, model)?;
    let meter = Rc::clone(meter);
    let options =
        BuildOptions { meter, uncounted: allows, reach, ..options(context, &model.base_url) };
    let options = match model.provider == AGENT {
        true => BuildOptions { confines: Some(agent_network::confines(context)?), ..options },
        false => options,
    };
    choose::build(model, options)
}

/// A recording that replaces all models.
enum Recorded {
    /// Replays the recording as it is.
    Strict(Replay),
    /// Replays the recording for a user who decides at the gates: drafts can be repeated.
    Asked(Repeating),
}

impl Recorded {
    fn open(context: &Context) -> anyhow::Result<Option<Self>> {
        let recording = match (&context.global.replay, context.embedded) {
            (Some(path), None) => Self::Strict(Replay::open(path)?),
            (_, Some((source, text))) => Self::Strict(Replay::parse(source, text)?),
            (None, None) => match demo_recording::kept(context.git()?) {
                Some(recording) => Self::Asked(Repeating::new(Replay::open(&recording)?)),
                None => return Ok(None),
            },
        };
        Ok(Some(recording))
    }

    fn metered(self, meter: &Rc<Meter>) -> Box<dyn Model> {
        match self {
            Self::Strict(replay) => Box::new(Metered::new(replay, Rc::clone(meter))),
            Self::Asked(replay) => Box::new(Metered::new(replay, Rc::clone(meter))),
        }
    }
}

/// The models of a run by their names in the configuration, with server and model filled in.
fn chosen(context: &Context) -> anyhow::Result<Vec<(String, ModelConfig)>> {
    let config = context.config()?;
    let mut chosen = Chosen::default();
    let complete = |name: String| {
        let model = chosen.complete(context, &name, config.model(&name)?.1)?;
        Ok((name, model))
    };
    wanted(config)?.into_iter().map(complete).collect()
}

/// Adds the list price of each model that is not local and has no configured price.
fn priced(mut budget: Budget, asked: &[(String, ModelConfig)]) -> Budget {
    for (_, model) in asked.iter().filter(|(_, model)| !is_loopback(&model.base_url)) {
        if let Some(price) = known_prices::known(&model.model) {
            budget.prices.entry(model.model.clone()).or_insert(price);
        }
    }
    budget
}

/// Prints the model in use, and its server.
fn tell(context: &Context, name: &str, called: &str, model: &ModelConfig) {
    let label = if name == DEFAULT_MODEL { String::new() } else { format!(" {name}") };
    context.note(match has_server(model) {
        true => format!("model{label}: {called} at {}", model.base_url),
        false => format!("model{label}: {called}"),
    });
}

/// The names of the models that play some role in some stage.
pub(crate) fn wanted(config: &Config) -> anyhow::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for stage in Stage::ALL {
        for role in [Role::Actor, Role::Critic, Role::SelfReview] {
            let (name, model) = config.model_for(stage, role)?;
            if model.provider == AGENT && role != Role::Critic {
                may_write(config, name)?;
            }
            names.insert(name.to_owned());
        }
        if config.roles.challenger.is_some() {
            // Report an unknown name now, not after all the work is done.
            let (name, _) = config.model_for(stage, Role::Challenger)?;
            if config.challenged(stage) {
                names.insert(name.to_owned());
            }
        }
    }
    Ok(names)
}

/// Checks that an agent program may write drafts: to write, it works in the tree itself, where
/// nothing hides private files from it.
///
/// # Errors
/// Exit 4: the project has private files, which the agent program must not see.
pub(crate) fn may_write(config: &Config, name: &str) -> Result<(), Error> {
    let instead = match name {
        DEFAULT_MODEL => {
            "let a server's model write drafts: describe it as [models.NAME], then: git config \
             cowork.roles.actor NAME"
        }
        _ => "let a server's model write drafts: git config cowork.roles.actor default",
    };
    if !config.project.private.is_empty() {
        return Err(Error::model(format!(
            "project.private is set, and '{name}' is an agent program: nothing here hides private \
             files from it when it writes drafts"
        ))
        .hint(instead)
        .hint(
            "or move the private files out of this tree and remove the globs from the configuration",
        ));
    }
    Ok(())
}

/// Asks whether an agent program may run although its usage cannot be counted in the budget.
///
/// # Errors
/// Exit 4: there is a budget, the program does not report its usage, and nobody allows that.
fn allow_uncounted(context: &Context, name: &str, model: &ModelConfig) -> anyhow::Result<bool> {
    let budget = &context.config()?.budget;
    let has_price = budget.prices.contains_key(&model.model);
    let (what, key) = match (budget.tokens > 0, budget.usd > 0.0) {
        _ if model.provider != AGENT => return Ok(false),
        (true, _) if !tells_tokens(&model.agent) => ("how many tokens it uses", "tokens"),
        (_, true) if !tells_cost(&model.agent) && !has_price => ("what it costs", "usd"),
        _ => return Ok(false),
    };
    let why = format!("'{name}' does not report {what}, so the budget cannot be enforced");
    if context.attended() {
        context.ui.clear();
        let answers = [(true, "use it anyway; its usage is not counted"), (false, "cancel")];
        let answer = choose_answer(&Tty::new(context.color), &why, &answers, None)?;
        return match answer {
            Some(true) => Ok(true),
            _ => Err(Error::new(Kind::Interrupted, "cancelled; no model was asked").into()),
        };
    }
    Err(Error::model(why)
        .hint("allow it on a terminal: run this command there")
        .hint(format!("or go on without that budget: git config cowork.budget.{key} 0"))
        .into())
}

/// No models, for commands that make no requests.
pub(crate) fn none() -> Models {
    Models { by_name: BTreeMap::new(), settings: BTreeMap::new(), meter: Rc::default() }
}
