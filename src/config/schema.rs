//! The table of every key there is: what it is called, what it may hold, and whether a project
//! file that nobody has accepted yet may set it.
//!
//! Files, `git config` and the check for unknown keys all read this one table. What a key means
//! is in [`super::build`].

use super::value::Shape;

/// Whether a project file may set a key that its user has not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// It may.
    Open,
    /// Only the user may: the key leads to commands, servers, secrets, or speaks in their name.
    User,
}

/// One row: a dotted key, `*` standing for a name the user chooses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// At most one `*`, never first.
    pub(super) pattern: &'static str,
    /// What it may hold.
    pub(super) shape: Shape,
    /// Who may set it.
    pub(super) trust: Trust,
}

const fn open(pattern: &'static str, shape: Shape) -> Key {
    Key { pattern, shape, trust: Trust::Open }
}

const fn user(pattern: &'static str, shape: Shape) -> Key {
    Key { pattern, shape, trust: Trust::User }
}

/// Providers; the ones between `openai` and `replay` are presets of a loopback server.
const PROVIDERS: &[&str] = &["openai", "ollama", "lmstudio", "llamacpp", "vllm", "replay", "cli"];
const APIS: &[&str] = &["auto", "chat", "responses"];
const AGENTS: &[&str] = &["gemini", "codex"];
const COUNT: Shape = Shape::Count(0, u32::MAX as u64);
const POSITIVE: Shape = Shape::Count(1, u32::MAX as u64);
const TOKENS: Shape = Shape::Count(0, i64::MAX as u64);
const SECONDS: Shape = Shape::Count(1, 7 * 24 * 3600);
const MONEY: Shape = Shape::Number(0.0, 1e9);

/// Every key, in the order of contract 6.
pub(super) const KEYS: &[Key] = &[
    user("llm.provider", Shape::Choice(PROVIDERS)),
    user("llm.base_url", Shape::Text),
    user("llm.api_key", Shape::Text),
    user("llm.api", Shape::Choice(APIS)),
    open("llm.model", Shape::Text),
    user("llm.rate_limit", Shape::Rate),
    user("llm.timeout_s", SECONDS),
    user("llm.context_window", Shape::Count(1024, i64::MAX as u64)),
    user("llm.max_retries", Shape::Count(0, 100)),
    user("llm.agent", Shape::Choice(AGENTS)),
    user("models.*.provider", Shape::Choice(PROVIDERS)),
    user("models.*.base_url", Shape::Text),
    user("models.*.api_key", Shape::Text),
    user("models.*.api", Shape::Choice(APIS)),
    open("models.*.model", Shape::Text),
    user("models.*.rate_limit", Shape::Rate),
    user("models.*.timeout_s", SECONDS),
    user("models.*.context_window", Shape::Count(1024, i64::MAX as u64)),
    user("models.*.max_retries", Shape::Count(0, 100)),
    user("models.*.agent", Shape::Choice(AGENTS)),
    open("roles.actor", Shape::Text),
    open("roles.critic", Shape::Text),
    open("roles.challenger", Shape::Text),
    open("review.order", Shape::Choice(&["draft-first", "critic-first"])),
    open("review.gates", Shape::Stages),
    user("review.editor", Shape::Text),
    open("review.comment_prefix", Shape::Text),
    user("review.notify", Shape::Text),
    open("limits.requirements", Shape::Range),
    open("limits.features", Shape::Range),
    open("limits.components", Shape::Range),
    open("limits.tasks", Shape::Range),
    open("limits.iterations.*", Shape::Count(1, 1000)),
    open("limits.tool_turns", POSITIVE),
    open("limits.command_timeout_s", SECONDS),
    open("limits.command_timeout_max_s", SECONDS),
    open("limits.max_replans", COUNT),
    open("stages.*.temperature.actor", Shape::Number(0.0, 2.0)),
    open("stages.*.temperature.critic", Shape::Number(0.0, 2.0)),
    open("stages.*.iterations", Shape::Count(1, 1000)),
    open("stages.*.model", Shape::Text),
    open("stages.*.review", Shape::Flag),
    open("budget.tokens", TOKENS),
    open("budget.usd", MONEY),
    open("budget.requests", TOKENS),
    open("budget.wall_s", TOKENS),
    open("budget.prices.*.in", MONEY),
    open("budget.prices.*.out", MONEY),
    open("budget.prices.*.cached", MONEY),
    user("project.branch_prefix", Shape::Text),
    open("project.subject", Shape::Text),
    user("project.signoff", Shape::Flag),
    user("project.tags", Shape::Flag),
    open("project.template", Shape::Text),
    user("project.test", Shape::Text),
    user("project.build", Shape::Text),
    user("project.lint", Shape::Text),
    user("project.tests", Shape::Choice(&["asked", "always", "never"])),
    user("project.attribution", Shape::Choice(&["assisted-by", "co-authored-by", "none"])),
    user("project.self_review", Shape::Stages),
    user("project.editor", Shape::Text),
    user("sandbox.network", Shape::Flag),
    user("sandbox.writable", Shape::List),
    user("sandbox.command_prefix", Shape::List),
    user("sandbox.unconfined", Shape::Flag),
    user("sandbox.fetch", Shape::Choice(&["ask", "always", "never"])),
];

/// Keys that are another name for one; the second is what counts.
pub(super) const ALIASES: &[(&str, &str)] = &[("project.editor", "review.editor")];

/// A key as somebody wrote it: a path whose names may themselves contain dots (`gpt-4.1`).
pub(super) type Path = Vec<String>;

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
