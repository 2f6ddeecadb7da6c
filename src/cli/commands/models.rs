//! `git cowork models`: lists the models of the configured servers and of servers on this machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::asking::unless_interrupted;
use crate::cli::session_cmd::choose_model::{has_server, listed, no_server};
use crate::cli::terminal::runtime;
use crate::config::{AGENT, DEFAULT_MODEL, ModelConfig, Price, is_loopback};
use crate::event::{Event, Sink as _};
use crate::model::discover::{self, LOOPBACK_PORTS, ListedModel};
use crate::model::known_prices;

/// A server and the models that it offers.
struct Server {
    base_url: String,
    /// For each name in the configuration, such as `default`, the model that is configured under
    /// it. Empty for a server that is not configured but was found on this machine.
    used: BTreeMap<String, String>,
    offered: Vec<ListedModel>,
}

pub(crate) fn run(context: &Context) -> Answer {
    let (configured, unreachable) = configured(context)?;
    let mut servers = configured;
    let found = discover::local(&LOOPBACK_PORTS);
    let found = unless_interrupted(context, None, found);
    for (base_url, offered) in runtime::current_thread()?.block_on(found)? {
        if servers.iter().all(|server| server.base_url != base_url) {
            servers.push(Server { base_url, used: BTreeMap::new(), offered });
        }
    }
    let mut out = String::new();
    for server in &servers {
        match context.global.json {
            true => server.lines(context, &mut out)?,
            false => server.table(context, &mut out)?,
        }
    }
    let programs = programs(context)?;
    for (name, program) in &programs {
        match context.global.json {
            true => writeln!(out, "{}", json!({"program": program, "used_by": [name]}))?,
            false => writeln!(out, "{program}, an agent program\n  * used as {name}")?,
        }
    }
    context.print(&out)?;
    match unreachable.into_iter().next() {
        Some(error) => Err(error),
        None if servers.is_empty() && programs.is_empty() => Err(no_server(context).into()),
        None => Ok(0),
    }
}

/// The configured agent programs, each with its name in the configuration.
fn programs(context: &Context) -> anyhow::Result<Vec<(String, String)>> {
    let config = context.config()?;
    let named = config.models.iter().map(|(name, model)| (name.as_str(), model));
    let all = std::iter::once((DEFAULT_MODEL, &config.llm)).chain(named);
    let programs = all.filter(|(_, model)| model.provider == AGENT);
    let called = |model: &ModelConfig| match model.agent.as_str() {
        "" => model.command.join(" "),
        agent => agent.to_owned(),
    };
    Ok(programs.map(|(name, model)| (name.to_owned(), called(model))).collect())
}

/// The configured servers, each once, and the error of the first unreachable server. The errors of
/// other servers are printed as warnings.
fn configured(context: &Context) -> anyhow::Result<(Vec<Server>, Vec<anyhow::Error>)> {
    let config = context.config()?;
    let named = config.models.iter().map(|(name, model)| (name.as_str(), model));
    let all = std::iter::once((DEFAULT_MODEL, &config.llm)).chain(named);
    let mut servers: Vec<Server> = Vec::new();
    let mut failed: Vec<(&str, anyhow::Error)> = Vec::new();
    for (name, model) in all.filter(|(_, model)| has_server(model) && !model.base_url.is_empty()) {
        let url = model.base_url.as_str();
        if let Some(server) = servers.iter_mut().find(|server| server.base_url == url) {
            server.used.insert(name.to_owned(), model.model.clone());
            continue;
        }
        if failed.iter().any(|(known, _)| *known == url) {
            continue;
        }
        // The user is waiting, so do not retry.
        let once = ModelConfig { max_retries: 0, ..model.clone() };
        match config.model(name).and_then(|_| listed(context, &once)) {
            Ok(offered) => {
                let used = BTreeMap::from([(name.to_owned(), model.model.clone())]);
                servers.push(Server { base_url: url.to_owned(), used, offered });
            }
            Err(error) => failed.push((url, error)),
        }
    }
    let mut errors: Vec<anyhow::Error> = failed.into_iter().map(|(_, error)| error).collect();
    for error in errors.iter().skip(1) {
        context.ui.emit(Event::Warning { text: format!("{error:#}") });
    }
    errors.truncate(1);
    Ok((servers, errors))
}

impl Server {
    /// The models of the server, by name; if it lists none, the configured ones.
    fn models(&self) -> Vec<ListedModel> {
        let mut models = self.offered.clone();
        for asked in self.used.values().filter(|asked| !asked.is_empty()) {
            if self.offered.is_empty() && models.iter().all(|model| model.id != *asked) {
                models.push(ListedModel { id: asked.clone(), ..ListedModel::default() });
            }
        }
        models.sort_by(|one, other| one.id.cmp(&other.id));
        models
    }

    /// The names under which a model is configured.
    fn users(&self, model: &str) -> Vec<&str> {
        self.used
            .iter()
            .filter(|(_, asked)| *asked == model)
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// The configured price, or the server's, or the list price (unless the server is local).
    fn price(&self, context: &Context, model: &ListedModel) -> anyhow::Result<Option<Price>> {
        let own = context.config()?.budget.prices.get(&model.id).copied();
        let known = || known_prices::known(&model.id).filter(|_| !is_loopback(&self.base_url));
        Ok(own.or(model.price).or_else(known))
    }

    fn lines(&self, context: &Context, out: &mut String) -> anyhow::Result<()> {
        for model in self.models() {
            let price = self.price(context, &model)?;
            let price = price.map(|p| json!({"in": p.input, "out": p.output, "cached": p.cached}));
            let line = json!({
                "server": self.base_url,
                "model": model.id,
                "context_window": model.context_window,
                "prices": price,
                "used_by": self.users(&model.id),
            });
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    fn table(&self, context: &Context, out: &mut String) -> anyhow::Result<()> {
        let how = match (self.used.is_empty(), self.offered.is_empty()) {
            (true, _) => " (found on this machine)",
            // The models listed below are those of the configuration; the server did not confirm
            // that it has them.
            (false, true) => " (does not list its models)",
            (false, false) => "",
        };
        writeln!(out, "{}{how}", self.base_url)?;
        let models = self.models();
        let width = models.iter().map(|model| model.id.chars().count()).max().unwrap_or(0);
        for model in &models {
            let users = self.users(&model.id);
            let mark = if users.is_empty() { ' ' } else { '*' };
            let mut told = Vec::new();
            told.extend(model.context_window.map(|tokens| format!("{} tokens", short(tokens))));
            told.extend(self.price(context, model)?.map(dollars));
            let named: Vec<&str> =
                users.into_iter().filter(|name| *name != DEFAULT_MODEL).collect();
            told.extend((!named.is_empty()).then(|| named.join(", ")));
            let line = format!("{mark} {:<width$}  {}", model.id, told.join(" · "));
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// `128k`, `1M`
fn short(tokens: u64) -> String {
    match tokens {
        0..1000 => tokens.to_string(),
        1000..1_000_000 => format!("{}k", tokens / 1000),
        _ => format!("{}M", tokens / 1_000_000),
    }
}

fn dollars(price: Price) -> String {
    let Price { input, output, cached } = price;
    format!("${input} in, ${output} out, ${cached} cached")
}
