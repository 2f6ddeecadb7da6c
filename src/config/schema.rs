//! The table of every key there is: what it is called, what it may hold, and when a project file
//! that nobody has accepted yet may set it.
//!
//! Files, `git config` and the check for unknown keys all read this one table. What a key means
//! is in [`super::build`].

use super::Config;
use super::value::{Shape, Value};
use crate::stage::Stage;

/// What holds for a key, by its path in the table or, for one stage, by the path of its switch.
type Holds = fn(&Config, &[String]) -> Value;

/// When a value in the project's file counts although nobody has accepted that file.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// Always: it takes nothing from the user.
    Free,
    /// Never: the key leads to commands, servers, secrets, or speaks in the user's name.
    Trust,
    /// When it is at least as strict as what holds without the file: fewer, a narrower range, a
    /// switch on, a text where there is none. What the user's own configuration switches on stays
    /// on, also where the file is accepted.
    Stricter(Holds),
    /// The same of a number whose 0 means that there is no limit.
    Capped(Holds),
}

impl Rule {
    /// Whether `value` counts: `held` is what is configured without the file.
    pub(super) fn admits(self, value: &Value, held: &Config, path: &[String]) -> bool {
        match self {
            Self::Free => true,
            Self::Trust => false,
            Self::Stricter(holds) => value.is_within(&holds(held, path)),
            Self::Capped(holds) => {
                let most = holds(held, path);
                most.is_zero() || !value.is_zero() && value.is_within(&most)
            }
        }
    }
}

/// One row: a dotted key, `*` standing for a name the user chooses.
#[derive(Clone, Copy)]
pub(super) struct Key {
    /// At most one `*`, never first.
    pub(super) pattern: &'static str,
    /// What it may hold.
    pub(super) shape: Shape,
    /// When a project file may set it.
    pub(super) rule: Rule,
}

const fn free(pattern: &'static str, shape: Shape) -> Key {
    Key { pattern, shape, rule: Rule::Free }
}

const fn trust(pattern: &'static str, shape: Shape) -> Key {
    Key { pattern, shape, rule: Rule::Trust }
}

const fn stricter(pattern: &'static str, shape: Shape, holds: Holds) -> Key {
    Key { pattern, shape, rule: Rule::Stricter(holds) }
}

const fn capped(pattern: &'static str, shape: Shape, holds: Holds) -> Key {
    Key { pattern, shape, rule: Rule::Capped(holds) }
}

fn gated(config: &Config, path: &[String]) -> Value {
    Value::Flag(stage(path).is_some_and(|stage| config.gated(stage)))
}

fn iterations(config: &Config, path: &[String]) -> Value {
    Value::Count(stage(path).map_or(0, |stage| config.iterations(stage)).into())
}

fn self_review(config: &Config, path: &[String]) -> Value {
    Value::Flag(stage(path).is_some_and(|stage| config.project.self_review.contains(&stage)))
}

/// The stage a path names; no section is called like one.
fn stage(path: &[String]) -> Option<Stage> {
    path.iter().find_map(|part| part.parse().ok())
}

/// Providers; the ones between `openai` and `replay` are presets of a loopback server.
const PROVIDERS: &[&str] = &["openai", "ollama", "lmstudio", "llamacpp", "vllm", "replay", "cli"];
const APIS: &[&str] = &["auto", "chat", "responses"];
const AGENTS: &[&str] = &["gemini", "codex"];
const COUNT: Shape = Shape::Count(0, u32::MAX as u64);
const POSITIVE: Shape = Shape::Count(1, u32::MAX as u64);
const TOKENS: Shape = Shape::Count(0, i64::MAX as u64);
const SECONDS: Shape = Shape::Count(1, 7 * 24 * 3600);
/// Seconds, where 0 means that there is no limit.
const ANSWER: Shape = Shape::Count(0, 7 * 24 * 3600);
const MONEY: Shape = Shape::Number(0.0, 1e9);

/// Every key, in the order of contract 6.
pub(super) const KEYS: &[Key] = &[
    trust("llm.provider", Shape::Choice(PROVIDERS)),
    trust("llm.base_url", Shape::Text),
    trust("llm.api_key", Shape::Text),
    trust("llm.api", Shape::Choice(APIS)),
    free("llm.model", Shape::Text),
    trust("llm.rate_limit", Shape::Rate),
    trust("llm.timeout_s", SECONDS),
    trust("llm.answer_s", ANSWER),
    trust("llm.context_window", Shape::Count(1024, i64::MAX as u64)),
    trust("llm.max_retries", Shape::Count(0, 100)),
    trust("llm.agent", Shape::Choice(AGENTS)),
    trust("models.*.provider", Shape::Choice(PROVIDERS)),
    trust("models.*.base_url", Shape::Text),
    trust("models.*.api_key", Shape::Text),
    trust("models.*.api", Shape::Choice(APIS)),
    free("models.*.model", Shape::Text),
    trust("models.*.rate_limit", Shape::Rate),
    trust("models.*.timeout_s", SECONDS),
    trust("models.*.answer_s", ANSWER),
    trust("models.*.context_window", Shape::Count(1024, i64::MAX as u64)),
    trust("models.*.max_retries", Shape::Count(0, 100)),
    trust("models.*.agent", Shape::Choice(AGENTS)),
    free("roles.actor", Shape::Text),
    free("roles.critic", Shape::Text),
    stricter("roles.challenger", Shape::Text, |c, _| {
        Value::Text(c.roles.challenger.clone().unwrap_or_default())
    }),
    trust("review.order", Shape::Choice(&["draft-first", "critic-first"])),
    stricter("review.gates", Shape::Stages, gated),
    trust("review.editor", Shape::Text),
    trust("review.comment_prefix", Shape::Text),
    trust("review.notify", Shape::Text),
    stricter("limits.requirements", Shape::Range, |c, _| Value::Range(c.limits.requirements)),
    stricter("limits.features", Shape::Range, |c, _| Value::Range(c.limits.features)),
    stricter("limits.components", Shape::Range, |c, _| Value::Range(c.limits.components)),
    stricter("limits.tasks", Shape::Range, |c, _| Value::Range(c.limits.tasks)),
    stricter("limits.iterations.*", Shape::Count(1, 1000), iterations),
    stricter("limits.tool_turns", POSITIVE, |c, _| Value::Count(c.limits.tool_turns.into())),
    stricter("limits.command_timeout_s", SECONDS, |c, _| Value::Count(c.limits.command_timeout_s)),
    stricter("limits.command_timeout_max_s", SECONDS, |c, _| {
        Value::Count(c.limits.command_timeout_max_s)
    }),
    stricter("limits.max_replans", COUNT, |c, _| Value::Count(c.limits.max_replans.into())),
    trust("stages.*.temperature.actor", Shape::Number(0.0, 2.0)),
    trust("stages.*.temperature.critic", Shape::Number(0.0, 2.0)),
    stricter("stages.*.iterations", Shape::Count(1, 1000), iterations),
    free("stages.*.model", Shape::Text),
    stricter("stages.*.review", Shape::Flag, gated),
    capped("budget.tokens", TOKENS, |c, _| Value::Count(c.budget.tokens)),
    capped("budget.usd", MONEY, |c, _| Value::Number(c.budget.usd)),
    capped("budget.requests", TOKENS, |c, _| Value::Count(c.budget.requests)),
    capped("budget.wall_s", TOKENS, |c, _| Value::Count(c.budget.wall_s)),
    trust("budget.prices.*.in", MONEY),
    trust("budget.prices.*.out", MONEY),
    trust("budget.prices.*.cached", MONEY),
    trust("project.branch_prefix", Shape::Text),
    free("project.subject", Shape::Text),
    trust("project.signoff", Shape::Flag),
    trust("project.tags", Shape::Flag),
    free("project.template", Shape::Text),
    trust("project.test", Shape::Text),
    trust("project.build", Shape::Text),
    trust("project.lint", Shape::Text),
    trust("project.tests", Shape::Choice(&["asked", "always", "never"])),
    trust("project.attribution", Shape::Choice(&["assisted-by", "co-authored-by", "none"])),
    stricter("project.self_review", Shape::Stages, self_review),
    trust("project.editor", Shape::Text),
    trust("sandbox.network", Shape::Flag),
    trust("sandbox.writable", Shape::List),
    trust("sandbox.command_prefix", Shape::List),
    trust("sandbox.unconfined", Shape::Flag),
    trust("sandbox.fetch", Shape::Choice(&["ask", "always", "never"])),
];

/// Keys that are another name for one; the second is what counts, and wins where both are set in
/// one place. `*` is the same name in both. A list of stages is first taken apart into a switch for
/// each stage.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("project.editor", "review.editor"),
    ("limits.iterations.*", "stages.*.iterations"),
    ("review.gates.*", "stages.*.review"),
];

/// A key as somebody wrote it: a path whose names may themselves contain dots (`gpt-4.1`).
pub(super) type Path = Vec<String>;

/// What a path stands for, where it is another name for something.
pub(super) fn meant(path: &[String]) -> Option<Path> {
    ALIASES.iter().find_map(|(alias, key)| {
        let alias: Vec<&str> = alias.split('.').collect();
        let fits = alias.len() == path.len()
            && path.iter().zip(&alias).all(|(part, want)| part == want || *want == "*");
        let star = path.iter().zip(&alias).find(|(_, want)| **want == "*").map(|(part, _)| part);
        let part = |part: &str| match (part, star) {
            ("*", Some(name)) => name.clone(),
            _ => part.to_owned(),
        };
        fits.then(|| key.split('.').map(part).collect())
    })
}

/// A path as people read it; a name that is more than a word is quoted, and nothing in it is obeyed
/// by a terminal: the file may come from anybody.
pub(super) fn dotted(path: &[String]) -> String {
    let word = |part: &String| {
        !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
    };
    let quote = |part: &String| if word(part) { part.clone() } else { format!("{part:?}") };
    path.iter().map(quote).collect::<Vec<_>>().join(".")
}

/// The same, cut where a name is longer than anybody reads.
pub(super) fn brief(path: &[String]) -> String {
    const LONGEST: usize = 100;
    let whole = dotted(path);
    match whole.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}

/// What a path in a TOML file is.
pub(super) enum Found {
    /// A key that holds a value.
    Leaf(&'static Key),
    /// A table with keys below it.
    Section,
    /// Nothing we know.
    Unknown,
}

/// Looks a TOML path up.
pub(super) fn find(path: &[String]) -> Found {
    let mut found = Found::Unknown;
    for key in KEYS {
        let pattern: Vec<&str> = key.pattern.split('.').collect();
        let fits = path.iter().zip(&pattern).all(|(part, want)| part == want || *want == "*");
        if fits && pattern.len() == path.len() {
            return Found::Leaf(key);
        }
        if fits && pattern.len() > path.len() {
            found = Found::Section;
        }
    }
    found
}

/// Looks a `git config` name up, given without `cowork.`: any case, and without `_`. A chosen
/// name in the middle is kept as written, dots included.
pub(super) fn find_git(name: &str) -> Option<(&'static Key, Path)> {
    let given: Vec<&str> = name.split('.').collect();
    KEYS.iter().find_map(|key| {
        let pattern: Vec<&str> = key.pattern.split('.').collect();
        let star = pattern.iter().position(|part| *part == "*");
        let (before, after) = match star {
            Some(at) => (&pattern[..at], &pattern[at + 1..]),
            None => (&pattern[..], &pattern[..0]),
        };
        let named = given.len().checked_sub(before.len() + after.len())?;
        let fits = (star.is_some() == (named > 0))
            && given.iter().zip(before).all(|(a, b)| plain(a) == plain(b))
            && given.iter().rev().zip(after.iter().rev()).all(|(a, b)| plain(a) == plain(b));
        let middle = given[before.len()..before.len() + named].join(".");
        let mut path: Path = before.iter().map(|part| (*part).to_owned()).collect();
        if star.is_some() {
            path.push(if before == ["stages"] || before == ["limits", "iterations"] {
                middle.to_lowercase()
            } else {
                middle
            });
        }
        path.extend(after.iter().map(|part| (*part).to_owned()));
        fits.then_some((key, path))
    })
}

fn plain(part: &str) -> String {
    part.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

/// The known key or section that looks most like `path`, if any looks like it at all.
pub(super) fn nearest(path: &[String]) -> Option<String> {
    const LONGEST: usize = 100;
    let wanted = plain(&path.join("."));
    if wanted.len() > LONGEST {
        return None;
    }
    let leaf = path.last().map(|part| plain(part)).unwrap_or_default();
    let mut best: Option<(usize, String)> = None;
    for key in KEYS {
        let pattern: Vec<&str> = key.pattern.split('.').collect();
        // A section can be misspelled, too, so every prefix of a key is a candidate.
        for length in 1..=pattern.len() {
            // A name that is free to choose is like anything.
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
            let whole = distance(&wanted, &plain(&candidate.join(".")));
            let elsewhere =
                distance(&leaf, &plain(candidate.last().map_or("", String::as_str))) + 1;
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

/// Edits (insert, delete, replace) between two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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
    fn nearest_names_what_was_meant() {
        assert_eq!(nearest(&path("llm.base_ulr")).as_deref(), Some("llm.base_url"));
        assert_eq!(nearest(&path("llm.url")), None);
        assert_eq!(nearest(&path("base_url")).as_deref(), Some("llm.base_url"));
        assert_eq!(nearest(&path("limit.features")).as_deref(), Some("limits.features"));
        assert_eq!(nearest(&path("reveiw")).as_deref(), Some("review"));
        assert_eq!(nearest(&path("models.big.modle")).as_deref(), Some("models.big.model"));
        assert_eq!(nearest(&path("zzzzzz.qqqqqq")), None);
    }
}
