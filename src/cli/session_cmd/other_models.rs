//! The models that a person may choose at a gate: those of the configuration, and those that the
//! configured servers list.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::cli::context::Context;
use crate::cli::session_cmd::asking::{options, unreachable};
use crate::cli::session_cmd::choose_model::has_server;
use crate::cli::session_cmd::{agent_network, models};
use crate::config::{AGENT, DEFAULT_MODEL, ModelConfig, is_loopback};
use crate::error::Error;
use crate::model::discover::ListedModel;
use crate::model::{BoxFuture, choose, known_prices};
use crate::pipeline::{Candidate, Candidates, Models, OtherModels, Player, Taken};

/// The models that a run can be switched to.
pub(crate) struct Others<'a> {
    context: &'a Context,
    models: &'a Models,
}

impl<'a> Others<'a> {
    /// `None` if responses are replayed or recorded, because a recording contains the responses of
    /// only one run.
    pub(crate) fn new(context: &'a Context, models: &'a Models) -> Option<Self> {
        let global = &context.global;
        let is_replay = context.embedded.is_some() || global.replay.is_some();
        let live = !models.settings.is_empty() && !is_replay && global.record.is_none();
        live.then_some(Self { context, models })
    }

    /// The settings of a configured model.
    fn settings(&self, name: &str) -> anyhow::Result<ModelConfig> {
        let settings = self.context.config()?.model(name)?.1;
        Ok(self.models.settings.get(name).unwrap_or(settings).clone())
    }

    async fn listed(&self, model: &ModelConfig) -> anyhow::Result<Vec<ListedModel>> {
        // The user is waiting, so do not retry.
        let once = ModelConfig { max_retries: 0, ..model.clone() };
        let server = choose::server(&once, options(self.context, &once.base_url))?;
        server.offered().await.map_err(unreachable(model))
    }

    async fn candidates(&self) -> anyhow::Result<Candidates> {
        let config = self.context.config()?;
        let mut names = vec![DEFAULT_MODEL];
        names.extend(config.models.keys().map(String::as_str));
        let mut candidates = Candidates::default();
        let mut servers: Vec<(&str, ModelConfig)> = Vec::new();
        for name in names {
            let settings = match self.settings(name) {
                Ok(settings) => settings,
                Err(error) => {
                    candidates.problems.push(format!("{name}: {error:#}"));
                    continue;
                }
            };
            candidates.models.push(configured(name, &settings));
            let url = &settings.base_url;
            let is_known = servers.iter().any(|(_, server)| server.base_url == *url);
            if has_server(&settings) && !url.is_empty() && !is_known {
                servers.push((name, settings));
            }
        }
        for (name, server) in servers {
            let models = match self.listed(&server).await {
                Ok(listed) => listed,
                Err(error) => {
                    candidates.problems.push(format!("{error:#}"));
                    continue;
                }
            };
            let at = &server.base_url;
            let has = |model: &str| {
                candidates.models.iter().any(|one| one.at == *at && one.model == model)
            };
            let ids: BTreeSet<String> =
                models.into_iter().map(|model| model.id).filter(|id| !has(id)).collect();
            candidates.models.extend(ids.into_iter().map(|id| Candidate {
                taken: Taken { name: name.to_owned(), id: Some(id.clone()) },
                model: id,
                at: at.clone(),
            }));
        }
        Ok(candidates)
    }

    async fn player(&self, taken: &Taken) -> anyhow::Result<Player> {
        let Taken { name, id } = taken;
        let mut config = self.settings(name)?;
        let open = self.models.by_name.get(name).filter(|_| id.is_none());
        if let Some(model) = open {
            return Ok(Player { name: taken.render(), config, model: Rc::clone(model) });
        }
        if let Some(id) = id {
            let models = self.listed(&config).await?;
            let Some(one) = models.into_iter().find(|one| one.id == *id) else {
                let message = format!("{} has no model '{id}'", config.base_url);
                return Err(Error::model(message)
                    .hint("list its models: git cowork models")
                    .into());
            };
            config.model.clone_from(id);
            config.context_window = one.context_window.unwrap_or(config.context_window);
        }
        let mut reach = crate::model::Reach::default();
        if config.provider == AGENT {
            models::may_write(self.context.config()?, name)?;
            reach = agent_network::reach(self.context, &[(name.clone(), config.clone())])?;
        }
        if let Some(price) =
            known_prices::known(&config.model).filter(|_| !is_loopback(&config.base_url))
        {
            self.models.meter.costs(&config.model, price);
        }
        let built = models::build(self.context, name, &config, &self.models.meter, reach)?;
        built.probe().await.map_err(unreachable(&config))?;
        Ok(Player { name: taken.render(), config, model: Rc::from(built) })
    }
}

/// A configured model as a candidate.
fn configured(name: &str, settings: &ModelConfig) -> Candidate {
    let (model, at) = match has_server(settings) {
        true => (settings.model.clone(), settings.base_url.clone()),
        false => (settings.agent.clone(), "this machine".to_owned()),
    };
    Candidate { taken: Taken { name: name.to_owned(), id: None }, model, at }
}

impl OtherModels for Others<'_> {
    fn list(&self) -> BoxFuture<'_, anyhow::Result<Candidates>> {
        Box::pin(self.candidates())
    }

    fn open<'a>(&'a self, taken: &'a Taken) -> BoxFuture<'a, anyhow::Result<Player>> {
        Box::pin(self.player(taken))
    }

    fn is_overruled(&self) -> bool {
        self.context.global.model.is_some()
    }
}
