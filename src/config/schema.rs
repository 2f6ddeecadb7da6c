//! The table of all keys, made from the fields of `keys.rs`. Files, `git config`, the check for
//! unknown keys, trust and the file that `init` writes all read this table.

use std::sync::LazyLock;

use strsim::levenshtein;

use super::Config;
use super::fields::{FieldType as _, Key, Section};
use super::keys::{
    Budget, LimitsConfig, ModelConfig, Price, Project, Review, Roles, SandboxConfig, StageConfig,
    ToolConfig,
};
use super::value::Value;
use crate::stage::{Depth, Role, Stage};

/// The keys of each section. `*` is a name that the user chooses: at most one, never first.
pub(super) const SECTIONS: [(&str, &[Key]); 11] = [
    ("llm", ModelConfig::KEYS),
    ("models.*", ModelConfig::KEYS),
    ("roles", Roles::KEYS),
    ("review", Review::KEYS),
    ("limits", LimitsConfig::KEYS),
    ("stages.*", StageConfig::KEYS),
    ("budget", Budget::KEYS),
    ("budget.prices.*", Price::KEYS),
    ("project", Project::KEYS),
    ("sandbox", SandboxConfig::KEYS),
    ("tools.*", ToolConfig::KEYS),
];

/// A key with the parts of its full name.
pub(super) struct KeyRow {
    /// The parts of the name; `*` is a name that the user chooses.
    pub(super) pattern: Vec<&'static str>,
    /// The declaration of the key.
    pub(super) key: &'static Key,
}

/// Every key, in the order of the sections, then the aliases.
pub(super) static KEYS: LazyLock<Vec<KeyRow>> = LazyLock::new(|| {
    let row = |(section, key): (&'static str, &'static Key)| KeyRow {
        pattern: section.split('.').chain(key.name.split('.')).collect(),
        key,
    };
    let keys = SECTIONS.iter().flat_map(|(section, keys)| keys.iter().map(|key| (*section, key)));
    let mut rows: Vec<KeyRow> = keys.map(row).collect();
    for (alias, meant) in ALIASES {
        let key = rows.iter().find(|row| row.pattern.iter().copied().eq(meant.split('.')));
        if let Some(key) = key.map(|row| row.key) {
            rows.push(KeyRow { pattern: alias.split('.').collect(), key });
        }
    }
    rows
});

/// Returns the value of a key after lists of stages have been split into a switch for each stage.
pub(super) fn value_of(config: &Config, path: &[String]) -> Option<Value> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["llm", key] => config.llm.value_of(key),
        ["models", name, key] => config.models.get(*name).unwrap_or(&config.llm).value_of(key),
        ["roles", key] => config.roles.value_of(key),
        ["review", "gates"] => Some(most(|stage| config.gated(MOST, stage))),
        ["review", "challenge"] => Some(most(|stage| config.is_for_challenge(stage))),
        ["review", "challenge", name] => {
            Some(Value::Flag(config.is_for_challenge(name.parse().ok()?)))
        }
        ["review", key] => config.review.value_of(key),
        ["limits", key] => config.limits.value_of(key),
        ["stages", name, key @ ..] => of_stage(config, name.parse().ok()?, &key.join(".")),
        ["budget", key] => config.budget.value_of(key),
        ["budget", "prices", model, key] => {
            config.budget.prices.get(*model).copied().unwrap_or_default().value_of(key)
        }
        ["project", "self_review"] => Some(most(|stage| config.self_reviewed(MOST, stage))),
        ["project", "self_review", name] => {
            Some(Value::Flag(config.self_reviewed(MOST, name.parse().ok()?)))
        }
        ["project", key] => config.project.value_of(key),
        ["sandbox", key] => config.sandbox.value_of(key),
        ["tools", name, key] => config.tools.get(*name)?.value_of(key),
        _ => None,
    }
}

/// The depth whose gates and self-reviews a project's file cannot weaken.
const MOST: Depth = Depth::Thorough;

/// Returns the list of stages for which `is_on` is true.
fn most(is_on: impl Fn(Stage) -> bool) -> Value {
    Value::Stages(Stage::ALL.into_iter().filter(|stage| is_on(*stage)).collect())
}

/// Returns the value of a stage's key, whichever key sets it.
fn of_stage(config: &Config, stage: Stage, key: &str) -> Option<Value> {
    match key {
        "temperature.actor" => Some(config.temperature(stage, Role::Actor).to_value()),
        "temperature.critic" => Some(config.temperature(stage, Role::Critic).to_value()),
        "iterations" => Some(config.iterations(stage).to_value()),
        "review" => Some(config.gated(MOST, stage).to_value()),
        _ => config.stages.get(&stage).cloned().unwrap_or_default().value_of(key),
    }
}

/// Aliases of keys. The second name is the key; it wins if both are set in one place. `*` is the
/// same name in both.
const ALIASES: [(&str, &str); 2] =
    [("project.editor", "review.editor"), ("limits.iterations.*", "stages.*.iterations")];

/// A list of stages is split into a switch for each stage; a gate's switch is a key of its stage.
const GATES: (&str, &str) = ("review.gates.*", "stages.*.review");

/// A key as it was written: a path whose names can contain dots (`gpt-4.1`).
pub(super) type Path = Vec<String>;

/// Returns the key that a path stands for if the path is an alias.
pub(super) fn meant(path: &[String]) -> Option<Path> {
    ALIASES.iter().chain([&GATES]).find_map(|(alias, key)| renamed(path, alias, key))
}

/// Returns the aliases of a key.
pub(super) fn other_names(path: &[String]) -> Vec<Path> {
    ALIASES.iter().chain([&GATES]).filter_map(|(alias, key)| renamed(path, key, alias)).collect()
}

/// Returns the path that has the form `to` if this one has the form `from`.
fn renamed(path: &[String], from: &str, to: &str) -> Option<Path> {
    let from: Vec<&str> = from.split('.').collect();
    let fits = from.len() == path.len()
        && path.iter().zip(&from).all(|(part, want)| part == want || *want == "*");
    let star = path.iter().zip(&from).find(|(_, want)| **want == "*").map(|(part, _)| part);
    let part = |part: &str| match (part, star) {
        ("*", Some(name)) => name.clone(),
        _ => part.to_owned(),
    };
    fits.then(|| to.split('.').map(part).collect())
}

/// Formats a path for messages. A name that is more than a word is quoted, with control characters
/// escaped: the file can come from anybody.
pub(super) fn dotted(path: &[String]) -> String {
    let word = |part: &String| {
        !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
    };
    let quote = |part: &String| if word(part) { part.clone() } else { format!("{part:?}") };
    path.iter().map(quote).collect::<Vec<_>>().join(".")
}

/// Like [`dotted`], but truncated if the path is too long to read.
pub(super) fn brief(path: &[String]) -> String {
    const LONGEST: usize = 100;
    let whole = dotted(path);
    match whole.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}

/// What a path in a TOML file refers to.
pub(super) enum PathTarget {
    /// A key with a value.
    Leaf(&'static Key),
    /// A table that contains keys.
    Section,
    /// Not a known key or table.
    Unknown,
}

/// Finds a TOML path in the table.
pub(super) fn find(path: &[String]) -> PathTarget {
    let mut target = PathTarget::Unknown;
    for KeyRow { pattern, key } in KEYS.iter() {
        let fits = path.iter().zip(pattern).all(|(part, want)| part == want || *want == "*");
        if fits && pattern.len() == path.len() {
            return PathTarget::Leaf(key);
        }
        if fits && pattern.len() > path.len() {
            target = PathTarget::Section;
        }
    }
    target
}

/// Finds a `git config` name, given without `cowork.`, in any case and without `_`. A name that the
/// user chose keeps its case and dots.
pub(super) fn find_git(name: &str) -> Option<(&'static Key, Path)> {
    let parts: Vec<&str> = name.split('.').collect();
    KEYS.iter().find_map(|KeyRow { pattern, key }| {
        let star = pattern.iter().position(|part| *part == "*");
        let (before, after) = match star {
            Some(at) => (&pattern[..at], &pattern[at + 1..]),
            None => (&pattern[..], &pattern[..0]),
        };
        let middle_len = parts.len().checked_sub(before.len() + after.len())?;
        let fits = (star.is_some() == (middle_len > 0))
            && parts.iter().zip(before).all(|(a, b)| plain(a) == plain(b))
            && parts.iter().rev().zip(after.iter().rev()).all(|(a, b)| plain(a) == plain(b));
        let middle = parts[before.len()..before.len() + middle_len].join(".");
        let mut path: Path = before.iter().map(|part| (*part).to_owned()).collect();
        if star.is_some() {
            path.push(if before == ["stages"] || before == ["limits", "iterations"] {
                middle.to_lowercase()
            } else {
                middle
            });
        }
        path.extend(after.iter().map(|part| (*part).to_owned()));
        fits.then_some((*key, path))
    })
}

fn plain(part: &str) -> String {
    part.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

/// Returns the known key or section that is most similar to `path`, unless none is similar enough.
pub(super) fn nearest(path: &[String]) -> Option<String> {
    const LONGEST: usize = 100;
    let target = plain(&path.join("."));
    if target.len() > LONGEST {
        return None;
    }
    let leaf = path.last().map(|part| plain(part)).unwrap_or_default();
    let mut best: Option<(usize, String)> = None;
    for KeyRow { pattern, .. } in KEYS.iter() {
        // A section can be misspelled as well, so every prefix of a key is a candidate.
        for length in 1..=pattern.len() {
            // A name that the user chooses matches anything.
            if pattern[length - 1] == "*" {
                continue;
            }
            let parts = pattern[..length].iter().enumerate();
            let candidate: Path = parts
                .map(|(at, part)| match (*part, path.get(at)) {
                    ("*", Some(name)) => name.clone(),
                    ("*", None) => "NAME".to_owned(),
                    (part, _) => part.to_owned(),
                })
                .collect();
            let whole = levenshtein(&target, &plain(&candidate.join(".")));
            let elsewhere =
                levenshtein(&leaf, &plain(candidate.last().map_or("", String::as_str))) + 1;
            let score = whole.min(elsewhere);
            if score <= 1 + leaf.chars().count() / 3
                && best.as_ref().is_none_or(|(least, _)| score < *least)
            {
                best = Some((score, dotted(&candidate)));
            }
        }
    }
    best.map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn git_names_ignore_case_and_underscores() {
        let found = |name: &str| find_git(name).map(|(_, path)| dotted(&path));
        assert_eq!(found("llm.baseurl").as_deref(), Some("llm.base_url"));
        assert_eq!(found("LLM.BaseUrl").as_deref(), Some("llm.base_url"));
        assert_eq!(found("models.Big.model").as_deref(), Some("models.Big.model"));
        assert_eq!(found("models.reviewer.apikey").as_deref(), Some("models.reviewer.api_key"));
        assert_eq!(found("limits.iterations.prd").as_deref(), Some("limits.iterations.prd"));
        let price = found("budget.prices.gpt-4.1.in");
        assert_eq!(price.as_deref(), Some("budget.prices.\"gpt-4.1\".in"));
        let stage = found("stages.Design.temperature.actor");
        assert_eq!(stage.as_deref(), Some("stages.design.temperature.actor"));
        assert_eq!(found("models.model"), None);
        assert_eq!(found("llm.nonsense"), None);
    }

    #[test]
    fn nearest_finds_the_misspelled_key() {
        assert_eq!(nearest(&path("llm.base_ulr")).as_deref(), Some("llm.base_url"));
        assert_eq!(nearest(&path("llm.url")), None);
        assert_eq!(nearest(&path("base_url")).as_deref(), Some("llm.base_url"));
        assert_eq!(nearest(&path("limit.features")).as_deref(), Some("limits.features"));
        assert_eq!(nearest(&path("reveiw")).as_deref(), Some("review"));
        assert_eq!(nearest(&path("models.big.modle")).as_deref(), Some("models.big.model"));
        assert_eq!(nearest(&path("zzzzzz.qqqqqq")), None);
    }
}
