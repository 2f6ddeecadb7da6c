//! Checks the configured models with one small request each, and finds agent programs.

use std::time::Duration;

use crate::cli::context::Context;
use crate::cli::doctor::finding::{Finding, State};
use crate::cli::session_cmd::agent_network;
use crate::cli::session_cmd::asking::{options, unless_interrupted};
use crate::cli::session_cmd::choose_model::{Chosen, agents_on_path, has_server};
use crate::cli::session_cmd::models::wanted;
use crate::cli::terminal::runtime;
use crate::config::{AGENT, Config, DEFAULT_MODEL, ModelConfig};
use crate::model::discover::ListedModel;
use crate::model::options::BuildOptions;
use crate::model::replay::Replay;
use crate::model::trial::{self, Trial};
use crate::model::{Cause, ModelError, agents as agent_programs, choose};
use crate::nearest::nearest;

/// Timeout for each request to a server or a program.
const LIMIT: Duration = Duration::from_secs(10);

/// Checks every configured model, and that the roles name models that exist.
///
/// # Errors
/// Interrupted, or `tell` failed.
pub(super) fn look(
    context: &Context,
    tell: &mut dyn FnMut(Vec<Finding>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let config = context.config()?;
    if let Some(path) = &context.global.replay {
        let played = Replay::open(path).map(|_| format!("plays {}", path.display()));
        return tell(vec![said("model", played)]);
    }
    let used = wanted(config);
    let all = std::iter::once(DEFAULT_MODEL).chain(config.models.keys().map(String::as_str));
    let (mut chosen, mut is_told) = (Chosen::looking(), false);
    for name in all {
        let is_used = used.as_ref().map_or(true, |used| used.contains(name));
        if !is_used && name == DEFAULT_MODEL {
            continue;
        }
        let mut finding = one(context, config, name, &mut chosen)?;
        if !is_used {
            finding = finding.and(" (no role uses it)").not_needed();
        }
        is_told |= finding.state == State::Problem;
        tell(vec![finding])?;
    }
    match used {
        // If a model cannot be used, a finding above has already reported it.
        Err(error) if !is_told => tell(vec![Finding::of_error("roles", &error)]),
        _ => Ok(()),
    }
}

/// The agent programs on `PATH` that could be configured as a model.
pub(super) fn agents(context: &Context) -> Finding {
    let text = match agents_on_path(context).as_slice() {
        [] => "no known agent program is on PATH; none is needed".to_owned(),
        names => format!("on PATH: {}", names.join(", ")),
    };
    Finding::ok("agents", text)
}

fn said(check: &'static str, result: anyhow::Result<String>) -> Finding {
    match result {
        Ok(text) => Finding::ok(check, text),
        Err(error) => Finding::of_error(check, &error),
    }
}

fn one(
    context: &Context,
    config: &Config,
    name: &str,
    chosen: &mut Chosen,
) -> anyhow::Result<Finding> {
    let model = match config.model(name) {
        Ok((_, model)) => ModelConfig { max_retries: 0, ..model.clone() },
        Err(error) => return Ok(Finding::of_error("model", &error)),
    };
    if model.provider == AGENT {
        return agent(context, name, &model);
    }
    if !has_server(&model) {
        let built = choose::build(&model, quiet(context, &model));
        return Ok(said("model", built.map(|_| format!("plays {}", model.base_url))));
    }
    match chosen.complete(context, name, &model) {
        Ok(model) => server(context, name, &model),
        Err(error) => Ok(Finding::of_error("model", &error)),
    }
}

/// Options that suppress messages about retries and waiting, because the result for each server is
/// a single finding.
fn quiet(context: &Context, model: &ModelConfig) -> BuildOptions {
    BuildOptions { notice: None, waiting: None, ..options(context, &model.base_url) }
}

fn whose(name: &str) -> String {
    if name == DEFAULT_MODEL { String::new() } else { format!("{name}: ") }
}

fn agent(context: &Context, name: &str, model: &ModelConfig) -> anyhow::Result<Finding> {
    let looking = agent_programs::inspect(model, quiet(context, model), LIMIT);
    let look =
        match runtime::current_thread()?.block_on(unless_interrupted(context, None, looking))? {
            Ok(look) => look,
            Err(ModelError::Agent { message, hint }) => {
                return Ok(Finding::problem("model", format!("{}{message}", whose(name))).fix(hint));
            }
            Err(error) => return Ok(Finding::problem("model", format!("{}{error}", whose(name)))),
        };
    let version = look.version.map(|version| format!(" {version}")).unwrap_or_default();
    let text = format!("{}{}{version}", whose(name), look.title);
    let finding = match look.signed_in {
        Some(false) => {
            Finding::problem("model", format!("{text}, not signed in")).fix(look.sign_in)
        }
        Some(true) => Finding::ok("model", format!("{text}, signed in")),
        None => Finding::ok(
            "model",
            format!("{text}, found; it does not report whether you are signed in"),
        ),
    };
    with_network(context, finding)
}

/// Adds to the finding a note on the servers that an agent program may reach here.
fn with_network(context: &Context, finding: Finding) -> anyhow::Result<Finding> {
    let set = &context.config()?.sandbox;
    if set.opens_to_agents() {
        let says = if set.network { "sandbox.network" } else { "sandbox.hosts" };
        return Ok(finding.and(&format!("; it may reach every server (set by {says})")));
    }
    Ok(match agent_network::unlimited(context, context.git()?)? {
        None => finding,
        Some((cause, remedy)) => {
            let text = format!(
                "; it cannot be limited to its own servers here ({cause}): you are asked on a terminal \
                 before it is used; without a terminal, the run ends"
            );
            let open = agent_network::ways_to_open(set);
            let fixes = std::iter::once(remedy).chain(open);
            finding.and(&text).at_least_a_warning().fixed_by(fixes)
        }
    })
}

fn server(context: &Context, name: &str, model: &ModelConfig) -> anyhow::Result<Finding> {
    let at = format!("{}{} at {}", whose(name), model.model, model.base_url);
    let built = match choose::server(model, quiet(context, model)) {
        Ok(built) => built,
        Err(error) => return Ok(Finding::of_error("model", &error)),
    };
    let runtime = runtime::current_thread()?;
    let offered = runtime.block_on(unless_interrupted(context, None, built.offered()))?;
    let failed = |error: &ModelError, offered: &[ListedModel]| {
        Finding::problem("model", format!("{at}: {error}")).fixed_by(fixes(model, error, offered))
    };
    let offered = match offered {
        Ok(offered) => offered,
        Err(error) => return Ok(failed(&error, &[])),
    };
    let ask = |no_stream: bool| {
        let options = BuildOptions { no_stream, ..quiet(context, model) };
        let asked = trial::ask(model, options, LIMIT);
        runtime.block_on(unless_interrupted(context, None, asked))
    };
    let error = match ask(context.global.no_stream)? {
        Ok(trial) => return Ok(seen(context, model, &at, &trial, &offered)),
        Err(error) => error,
    };
    if context.global.no_stream || !error.cause().may_be_of_streams() || ask(true)?.is_err() {
        return Ok(failed(&error, &offered));
    }
    // A single failure may be chance.
    Ok(match ask(false)? {
        Ok(trial) => seen(context, model, &at, &trial, &offered),
        Err(error) => {
            let text = format!("{at} answers only where it does not stream; a stream: {error}");
            Finding::problem("model", text).fix("git cowork --no-stream new")
        }
    })
}

/// The finding for a model that responded.
fn seen(
    context: &Context,
    model: &ModelConfig,
    at: &str,
    trial: &Trial,
    offered: &[ListedModel],
) -> Finding {
    let mut said = vec![match trial.answered_by == model.model {
        true => "answers".to_owned(),
        false => format!("{} answers", trial.answered_by),
    }];
    said.push(match (trial.streams, context.global.no_stream) {
        (true, _) => "streams".to_owned(),
        (false, true) => "not streamed (--no-stream)".to_owned(),
        (false, false) => "does not stream: responses arrive in one piece".to_owned(),
    });
    let (tools, takes_them) = match trial {
        Trial { takes_tools: false, .. } => {
            ("accepts no tools: they are described in the prompt", false)
        }
        Trial { called: true, .. } => ("calls tools", true),
        Trial { cut: true, .. } => {
            ("thinks longer than this test allows; tools were not tested", true)
        }
        _ => ("wrote text instead of calling a tool", false),
    };
    said.push(tools.to_owned());
    let known = offered.iter().find(|offered| offered.id == model.model);
    let window = known.and_then(|offered| offered.context_window);
    said.extend(window.map(|tokens| format!("context window of {tokens} tokens")));
    let text = format!("{at}: {}", said.join(", "));
    if let Some(tokens) = window.filter(|tokens| *tokens < model.context_window) {
        let configured = model.context_window;
        return Finding::warning("model", format!("{text}, but {configured} are configured"))
            .fix(model.set_in.command("context_window", &tokens.to_string()))
            .fixed_by((!takes_them).then(|| for_tools(model)));
    }
    match takes_them {
        true => Finding::ok("model", text),
        false => Finding::warning("model", text).fix(for_tools(model)),
    }
}

/// What the user can do to make a server call tools.
fn for_tools(model: &ModelConfig) -> String {
    match model.provider.as_str() {
        "vllm" => format!(
            "vllm serve {} --enable-auto-tool-choice --tool-call-parser PARSER",
            model.model
        ),
        "llamacpp" => "llama-server --jinja -m MODEL.gguf".to_owned(),
        _ => "use a model that calls tools: git cowork models".to_owned(),
    }
}

/// The fixes for an error. A model that its server does not list may be a slip of the pen.
fn fixes(model: &ModelConfig, error: &ModelError, offered: &[ListedModel]) -> Vec<String> {
    let ids = offered.iter().map(|offered| offered.id.as_str());
    let asks = matches!(error.cause(), Cause::Model | Cause::Request | Cause::Other);
    let is_unknown = asks && ids.clone().all(|id| id != model.model);
    match nearest(&model.model, ids).filter(|_| is_unknown) {
        Some(near) => vec![model.set_in.command("model", near), "git cowork models".to_owned()],
        None => error.remedies(model),
    }
}
