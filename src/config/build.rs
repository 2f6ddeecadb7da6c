//! From what has been set to a [`Config`]: defaults filled in, combinations checked.

use std::collections::BTreeMap;

use anyhow::Result;

use super::connection::{default_model, named_model};
use super::layer::Settings;
use super::settings::Values;
use super::value::Value;
use super::{
    Attribution, Budget, Config, DEFAULT_MODEL, FetchPolicy, Limits, Price, Project, Review,
    ReviewOrder, Roles, Sandbox, StageConfig, TestsPolicy,
};
use crate::stage::Stage;

/// Resolves everything.
pub(super) fn build(settings: &Settings) -> Result<Config> {
    let values = Values(settings);
    let unusable = values.unset()?;
    let llm = default_model(&values)?;
    let mut config = Config {
        models: BTreeMap::new(),
        roles: roles(&values),
        review: review(&values)?,
        limits: limits(&values)?,
        stages: stages(&values),
        budget: budget(&values),
        project: project(&values)?,
        sandbox: Sandbox {
            network: values.flag(&["sandbox", "network"]).unwrap_or_default(),
            writable: values.list(&["sandbox", "writable"]).unwrap_or_default(),
            command_prefix: values.list(&["sandbox", "command_prefix"]).unwrap_or_default(),
            unconfined: values.flag(&["sandbox", "unconfined"]).unwrap_or_default(),
            fetch: match values.text(&["sandbox", "fetch"]).as_deref() {
                Some("always") => FetchPolicy::Always,
                Some("never") => FetchPolicy::Never,
                _ => FetchPolicy::Ask,
            },
        },
        unusable,
        llm,
    };
    for name in values.names(&["models"]) {
        let model = named_model(&values, &name, &config.llm)?;
        // A borrowed key that cannot be had is as missing here as there.
        let borrowed = model.base_url == config.llm.base_url
            && values.get(&["models", &name, "api_key"]).is_none();
        if let (true, Some(problem)) = (borrowed, config.unusable.get(DEFAULT_MODEL).cloned()) {
            config.unusable.entry(name.clone()).or_insert(problem);
        }
        config.models.insert(name, model);
    }
    Ok(config)
}

fn roles(values: &Values<'_>) -> Roles {
    let role = |name: &str| values.text(&["roles", name]).filter(|model| !model.is_empty());
    let usual = Roles::default();
    Roles {
        actor: role("actor").unwrap_or(usual.actor),
        critic: role("critic").unwrap_or(usual.critic),
        challenger: role("challenger"),
    }
}

fn review(values: &Values<'_>) -> Result<Review> {
    let usual = Review::default();
    let prefix = values.text(&["review", "comment_prefix"]).unwrap_or(usual.comment_prefix);
    if prefix.trim().is_empty() || prefix.chars().any(char::is_control) {
        let problem = "must be visible, or every line would be a comment";
        return Err(values.wrong(&["review", "comment_prefix"], problem));
    }
    Ok(Review {
        order: match values.text(&["review", "order"]).as_deref() {
            Some("critic-first") => ReviewOrder::CriticFirst,
            _ => ReviewOrder::DraftFirst,
        },
        gates: stages_on(&usual.gates, |stage| values.flag(&["stages", stage, "review"])),
        editor: values.text(&["review", "editor"]).unwrap_or_default(),
        comment_prefix: prefix,
        notify: values.text(&["review", "notify"]).unwrap_or_default(),
    })
}

fn limits(values: &Values<'_>) -> Result<Limits> {
    let usual = Limits::default();
    let range =
        |key: &str, usual: [u32; 2]| -> Result<[u32; 2]> {
            let path = ["limits", key];
            match values.get(&path) {
                Some(Value::Range([least, most])) if least > most => Err(values
                    .wrong(&path, &format!("begins with the larger number ([{least}, {most}])"))),
                Some(Value::Range(range)) => Ok(*range),
                _ => Ok(usual),
            }
        };
    let mut iterations = usual.iterations;
    for stage in Stage::ALL {
        if let Some(count) = values.small(&["stages", stage.name(), "iterations"]) {
            iterations.insert(stage, count);
        }
    }
    let timeout = values.count(&["limits", "command_timeout_s"]);
    let timeout_max = values.count(&["limits", "command_timeout_max_s"]);
    // Who sets only one of the two means that one.
    let (command_timeout_s, command_timeout_max_s) = match (timeout, timeout_max) {
        (Some(timeout), Some(max)) if timeout > max => {
            let problem = format!("is {timeout}, more than command_timeout_max_s ({max})");
            return Err(values.wrong(&["limits", "command_timeout_s"], &problem));
        }
        (Some(timeout), max) => (timeout, max.unwrap_or(usual.command_timeout_max_s).max(timeout)),
        (None, Some(max)) => (usual.command_timeout_s.min(max), max),
        (None, None) => (usual.command_timeout_s, usual.command_timeout_max_s),
    };
    Ok(Limits {
        requirements: range("requirements", usual.requirements)?,
        features: range("features", usual.features)?,
        components: range("components", usual.components)?,
        tasks: range("tasks", usual.tasks)?,
        iterations,
        tool_turns: values.small(&["limits", "tool_turns"]).unwrap_or(usual.tool_turns),
        command_timeout_s,
        command_timeout_max_s,
        max_replans: values.small(&["limits", "max_replans"]).unwrap_or(usual.max_replans),
    })
}

/// The stages a switch is on for, each unless it is set as usual.
fn stages_on(usual: &[Stage], set: impl Fn(&str) -> Option<bool>) -> Vec<Stage> {
    let on = |stage: &Stage| set(stage.name()).unwrap_or(usual.contains(stage));
    Stage::ALL.into_iter().filter(on).collect()
}

fn stages(values: &Values<'_>) -> BTreeMap<Stage, StageConfig> {
    let stage = |stage: Stage| {
        let name = stage.name();
        let config = StageConfig {
            actor_temperature: values.number(&["stages", name, "temperature", "actor"]),
            critic_temperature: values.number(&["stages", name, "temperature", "critic"]),
            model: values.text(&["stages", name, "model"]).filter(|model| !model.is_empty()),
        };
        (stage, config)
    };
    Stage::ALL.into_iter().map(stage).filter(|(_, set)| *set != StageConfig::default()).collect()
}

fn budget(values: &Values<'_>) -> Budget {
    let prices = values.names(&["budget", "prices"]).into_iter().map(|model| {
        let price = |key: &str| values.number(&["budget", "prices", &model, key]);
        let input = price("in").unwrap_or_default();
        let price = Price {
            input,
            output: price("out").unwrap_or_default(),
            // Who names no price for cached tokens pays the full one.
            cached: price("cached").unwrap_or(input),
        };
        (model, price)
    });
    Budget {
        tokens: values.count(&["budget", "tokens"]).unwrap_or_default(),
        usd: values.number(&["budget", "usd"]).unwrap_or_default(),
        requests: values.count(&["budget", "requests"]).unwrap_or_default(),
        wall_s: values.count(&["budget", "wall_s"]).unwrap_or_default(),
        prices: prices.collect(),
    }
}

fn project(values: &Values<'_>) -> Result<Project> {
    let usual = Project::default();
    let text = |key: &str| values.text(&["project", key]);
    let project = Project {
        branch_prefix: text("branch_prefix").unwrap_or(usual.branch_prefix),
        subject: text("subject").unwrap_or(usual.subject),
        signoff: values.flag(&["project", "signoff"]).unwrap_or(usual.signoff),
        tags: values.flag(&["project", "tags"]).unwrap_or(usual.tags),
        template: text("template").unwrap_or_default(),
        test: text("test").unwrap_or_default(),
        build: text("build").unwrap_or_default(),
        lint: text("lint").unwrap_or_default(),
        tests: match text("tests").as_deref() {
            Some("always") => TestsPolicy::Always,
            Some("never") => TestsPolicy::Never,
            _ => TestsPolicy::Asked,
        },
        attribution: match text("attribution").as_deref() {
            Some("co-authored-by") => Attribution::CoAuthoredBy,
            Some("none") => Attribution::None,
            _ => Attribution::AssistedBy,
        },
        self_review: stages_on(&usual.self_review, |stage| {
            values.flag(&["project", "self_review", stage])
        }),
    };
    if !is_ref_component(&project.branch_prefix) {
        let problem = "must be one part of a branch name, such as \"cowork\"";
        return Err(values.wrong(&["project", "branch_prefix"], problem));
    }
    if !is_subject(&project.subject) {
        let problem = "must be one line with {summary} in it, and {stage} if wanted";
        return Err(values.wrong(&["project", "subject"], problem));
    }
    let word = |c: char| c.is_ascii_alphanumeric() || "+#._-".contains(c);
    if !project.template.chars().all(word) || project.template.len() > 40 {
        let problem = "must be the name of a language, such as \"rust\"";
        return Err(values.wrong(&["project", "template"], problem));
    }
    Ok(project)
}

/// The rules of `git check-ref-format` for one component, and no leading dash.
fn is_ref_component(text: &str) -> bool {
    let forbidden = |c: char| c.is_control() || " ~^:?*[\\/\u{7f}".contains(c);
    !text.is_empty()
        && text != "@"
        && !text.starts_with(['.', '-'])
        && !text.ends_with('.')
        && !text.ends_with(".lock")
        && !text.contains("..")
        && !text.contains("@{")
        && !text.chars().any(forbidden)
}

fn is_subject(template: &str) -> bool {
    let rest = template.replace("{stage}", "").replace("{summary}", "");
    template.contains("{summary}")
        && !template.chars().any(char::is_control)
        && !rest.contains(['{', '}'])
}
