//! The list that `git cowork config` prints: every key with its current value and the origin of
//! that value. It is made from the key table of `schema.rs` and never contains a server's API key.

use anyhow::Result;

use super::fields::Section as _;
use super::layer::LayerSettings;
use super::load::{ConfigSources, Loaded, resolve};
use super::schema::{self, Path, SECTIONS};
use super::shown::{ShownValue, shown};
use super::value::{Value, ValueType};
use super::{Config, DEFAULT_MODEL};
use crate::stage::Stage;

/// Origin of a value that nobody has set.
pub const DEFAULT_ORIGIN: &str = "default";

/// A key with its current value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Dotted name of the key.
    pub key: String,
    /// The value.
    pub value: ShownValue,
    /// A file with its line, `git config NAME`, a variable or an option; [`DEFAULT_ORIGIN`]; or `as
    /// KEY` if the value is inherited from another key.
    pub origin: String,
}

/// Reads and resolves the configuration, and lists it in the order of the sections.
///
/// # Errors
///
/// The errors of [`super::load()`].
pub fn list(sources: &ConfigSources) -> Result<(Loaded, Vec<Entry>)> {
    let (resolution, settings) = resolve(sources)?;
    let listing = Listing { config: &resolution.config, settings: &settings };
    let paths = SECTIONS.iter().flat_map(|(section, keys)| {
        let tables = listing.tables(section);
        tables.into_iter().flat_map(|table| {
            keys.iter().map(move |key| {
                let path = table.iter().cloned().chain(key.name.split('.').map(str::to_owned));
                (path.collect::<Path>(), key.shape)
            })
        })
    });
    let entries = paths.map(|(path, shape)| listing.entry(&path, shape)).collect();
    Ok((resolution, entries))
}

/// Returns the entries that a key or the first parts of a key select: `llm.model`, `llm`,
/// `cowork.llm.baseurl`. An alias selects the key that it stands for.
pub fn named<'a>(entries: &'a [Entry], name: &str) -> Vec<&'a Entry> {
    let exact: Vec<&Entry> = entries.iter().filter(|entry| is_named(&entry.key, name)).collect();
    if !exact.is_empty() {
        return exact;
    }
    let also = |entry: &&Entry| {
        let path: Path = entry.key.split('.').map(str::to_owned).collect();
        schema::other_names(&path).iter().any(|other| is_named(&schema::dotted(other), name))
    };
    entries.iter().filter(also).collect()
}

/// True if `name` is the name of `key`, or of a section that contains `key`.
pub fn is_named(key: &str, name: &str) -> bool {
    let (key, name) = (plain(key), plain(name));
    let name = name.strip_prefix("cowork.").unwrap_or(&name);
    key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// True if a name is a key or section that can be set, even if nothing in it is set.
pub fn is_known(name: &str) -> bool {
    let name = plain(name);
    let path: Path =
        name.strip_prefix("cowork.").unwrap_or(&name).split('.').map(str::to_owned).collect();
    let fits = |row: &schema::KeyRow| {
        let parts = row.pattern.iter().map(|part| plain(part));
        path.len() <= row.pattern.len()
            && path.iter().zip(parts).all(|(part, want)| *part == want || want == "*")
    };
    schema::KEYS.iter().any(fits)
}

/// Returns the known key that is most similar to a misspelled one.
pub fn nearest_key(name: &str) -> Option<String> {
    let path: Path = name.split('.').map(str::to_owned).collect();
    schema::nearest(&path)
}

/// Returns the names of all keys and sections that do not contain a name chosen by the user.
pub fn key_names() -> Vec<String> {
    let rows = schema::KEYS.iter().filter(|row| !row.pattern.contains(&"*"));
    let keys = rows.map(|row| row.pattern.join("."));
    SECTIONS
        .iter()
        .filter_map(|(section, _)| section.split(".*").next().map(str::to_owned))
        .chain(keys)
        .collect()
}

/// Normalizes a name for comparison: lower case, without `_` (as in `git config`) and quotes.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '"')).flat_map(char::to_lowercase).collect()
}

struct Listing<'a> {
    config: &'a Config,
    settings: &'a LayerSettings,
}

impl Listing<'_> {
    /// Returns the tables of a section: one, or one for each name that the user chose.
    fn tables(&self, section: &str) -> Vec<Path> {
        let Some(prefix) = section.strip_suffix(".*") else {
            return vec![section.split('.').map(str::to_owned).collect()];
        };
        let names: Vec<String> = match prefix {
            "models" => self.config.models.keys().cloned().collect(),
            "stages" => Stage::ALL.iter().map(|stage| stage.name().to_owned()).collect(),
            "budget.prices" => self.config.budget.prices.keys().cloned().collect(),
            "tools" => self.config.tools.keys().cloned().collect(),
            _ => Vec::new(),
        };
        let table = |name| prefix.split('.').map(str::to_owned).chain([name]).collect();
        names.into_iter().map(table).collect()
    }

    fn entry(&self, path: &Path, shape: ValueType) -> Entry {
        let set = self.settings.get(path).map(|setting| &setting.value);
        let value = match (set, self.value(path)) {
            (Some(Err(why)), _) => ShownValue::Missing(why.clone()),
            (_, Some(value)) => shown(path, shape, &value),
            (_, None) => ShownValue::ByDepth,
        };
        Entry { key: schema::dotted(path), value, origin: self.origin(path) }
    }

    /// Returns the current value of a key; `None` if the session's depth decides.
    fn value(&self, path: &Path) -> Option<Value> {
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        let config = self.config;
        match parts.as_slice() {
            ["review", "gates"] => whole(|stage| config.review.gates.get(stage)),
            ["project", "self_review"] => whole(|stage| config.project.self_review.get(stage)),
            ["stages", name, "review"] => {
                config.review.gates.get(name.parse().ok()?).map(Value::Flag)
            }
            ["stages", name, "model"] => {
                let model =
                    config.stages.get(&name.parse().ok()?).and_then(|set| set.model.as_ref());
                text(model.unwrap_or(&config.roles.actor))
            }
            ["tools", name, "stages"] => {
                let tool = config.tools.get(*name)?;
                let stages = Stage::ALL.into_iter().filter(|stage| tool.is_offered_in(*stage));
                Some(Value::Stages(stages.collect()))
            }
            _ => schema::value_of(config, path),
        }
    }

    /// Returns where a key's value comes from.
    fn origin(&self, path: &Path) -> String {
        let mut origins: Vec<&str> = Vec::new();
        for (set, setting) in self.settings {
            // A list of stages was split into a switch for each stage.
            let gates = matches!(path.as_slice(), [a, b] if a == "review" && b == "gates")
                && matches!(set.as_slice(), [a, _, c] if a == "stages" && c == "review");
            let is_key = set == path || set.len() == path.len() + 1 && set.starts_with(path);
            if (is_key || gates) && !origins.contains(&setting.origin.as_str()) {
                origins.push(&setting.origin);
            }
        }
        if !origins.is_empty() {
            return origins.join(", ");
        }
        match self.inherited(path) {
            Some(from) if self.settings.contains_key(&from) => {
                format!("as {}", schema::dotted(&from))
            }
            _ => DEFAULT_ORIGIN.to_owned(),
        }
    }

    /// Returns the key from which this one inherits its value if it is not set.
    fn inherited(&self, path: &Path) -> Option<Path> {
        let path_of = |parts: [&str; 2]| parts.map(str::to_owned).to_vec();
        match path.as_slice() {
            [models, name, key] if models == "models" && name != DEFAULT_MODEL => {
                let value = self.config.models.get(name)?.value_of(key);
                (value == self.config.llm.value_of(key)).then(|| path_of(["llm", key]))
            }
            [stages, _, model] if stages == "stages" && model == "model" => {
                Some(path_of(["roles", "actor"]))
            }
            _ => None,
        }
    }
}

/// Returns the list of switched-on stages if every stage has a switch.
fn whole(switch: impl Fn(Stage) -> Option<bool>) -> Option<Value> {
    let switches: Option<Vec<(Stage, bool)>> =
        Stage::ALL.into_iter().map(|stage| Some((stage, switch(stage)?))).collect();
    let stages = switches?.into_iter().filter(|(_, is_on)| *is_on).map(|(stage, _)| stage);
    Some(Value::Stages(stages.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Trust;

    fn listed(project: &str) -> Vec<Entry> {
        let project = Some((".cowork/config.toml".into(), project.to_owned()));
        list(&ConfigSources { project, trust: Trust::Given, ..ConfigSources::default() }).unwrap().1
    }

    fn of<'a>(entries: &'a [Entry], key: &str) -> &'a Entry {
        entries.iter().find(|entry| entry.key == key).unwrap_or_else(|| panic!("{key}"))
    }

    fn toml_of(entries: &[Entry], key: &str) -> String {
        match &of(entries, key).value {
            ShownValue::Value(toml, _) => toml.clone(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn every_key_is_listed_once_in_the_order_of_the_sections() {
        let entries = listed(
            "[models.big]\nmodel = \"b\"\n[tools.t]\ncommand = \"c\"\ndescription = \"d\"\n[budget.prices.b]\nin = 1",
        );
        let mut expected = Vec::new();
        for (section, keys) in SECTIONS {
            let names: Vec<&str> = match section {
                "models.*" => vec!["big"],
                "stages.*" => Stage::ALL.iter().map(|stage| stage.name()).collect(),
                "budget.prices.*" => vec!["b"],
                "tools.*" => vec!["t"],
                _ => vec![""],
            };
            for name in names {
                let section = section.replace('*', name);
                expected.extend(keys.iter().map(|key| format!("{section}.{}", key.name)));
            }
        }
        let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, expected);
    }

    #[test]
    fn values_can_be_pasted_and_keys_to_servers_are_not_shown() {
        let entries = listed(
            "[llm]\napi_key = \"sk-abc123def\"\nbase_url = \"http://127.0.0.1:1/v1\"\nrate_limit = \"30/m\"\n\
             headers = { x-team = \"tools\", Authorization = \"Bearer hunter2\" }\n\
             extra_body = { top_k = 40, deep = { password = \"hunter2\" } }\n\
             [review]\nnotify = \"curl -H token=9f86d081884c7d659a2feaa0c55ad015 x\"\n",
        );
        assert_eq!(of(&entries, "llm.api_key").value, ShownValue::Secret);
        assert_eq!(toml_of(&listed(""), "llm.api_key"), "\"\"");
        assert_eq!(toml_of(&entries, "llm.rate_limit"), "\"30/m\"");
        assert_eq!(
            toml_of(&entries, "llm.headers"),
            "{ \"Authorization\" = \"(set)\", \"x-team\" = \"tools\" }"
        );
        assert_eq!(
            toml_of(&entries, "llm.extra_body"),
            "{ \"deep\" = { \"password\" = \"(set)\" }, \"top_k\" = 40 }"
        );
        assert_eq!(toml_of(&entries, "review.notify"), "\"curl -H token=(set) x\"");
        assert_eq!(toml_of(&entries, "limits.tasks"), "[5, 12]");
        assert!(!format!("{entries:?}").contains("hunter2"));
        assert!(!format!("{entries:?}").contains("sk-abc"));
    }

    #[test]
    fn a_variable_that_is_not_set_is_not_an_empty_value() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "[llm]\napi_key = \"${NOWHERE}\"\n").unwrap();
        let entries =
            list(&ConfigSources { user: Some(path), ..ConfigSources::default() }).unwrap().1;
        let ShownValue::Missing(why) = &of(&entries, "llm.api_key").value else {
            panic!("{entries:?}")
        };
        assert!(why.contains("${NOWHERE}, which is not set"), "{why}");
    }

    #[test]
    fn the_systems_file_is_an_origin_below_the_users() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        let system = file("etc.toml", "[limits]\nmax_replans = 1\ntool_turns = 7\n");
        let user = file("user.toml", "[limits]\nmax_replans = 3\n");
        let sources = ConfigSources {
            system: system.clone(),
            user: user.clone(),
            ..ConfigSources::default()
        };
        let entries = list(&sources).unwrap().1;
        let at =
            |path: Option<std::path::PathBuf>, line| format!("{}:{line}", path.unwrap().display());
        assert_eq!(of(&entries, "limits.max_replans").origin, at(user, 2));
        assert_eq!(of(&entries, "limits.tool_turns").origin, at(system, 3));
    }

    #[test]
    fn inherited_values_name_their_origin() {
        let entries = listed(
            "[llm]\nmodel = \"a\"\nbase_url = \"http://127.0.0.1:1/v1\"\n[models.big]\nmodel = \"b\"\n\
             [review]\ngates = [\"prd\"]\n[limits]\niterations = { plan = 7 }\n[roles]\nactor = \"big\"\n",
        );
        let origin = |key: &str| of(&entries, key).origin.clone();
        assert_eq!(origin("llm.model"), ".cowork/config.toml:2");
        assert_eq!(origin("models.big.model"), ".cowork/config.toml:5");
        assert_eq!(origin("models.big.base_url"), "as llm.base_url");
        assert_eq!(origin("models.big.timeout_s"), DEFAULT_ORIGIN);
        assert_eq!(origin("review.gates"), ".cowork/config.toml:7");
        assert_eq!(toml_of(&entries, "review.gates"), "[\"prd\"]");
        assert_eq!(toml_of(&entries, "stages.prd.review"), "true");
        assert_eq!(toml_of(&entries, "stages.plan.iterations"), "7");
        assert_eq!(origin("stages.plan.iterations"), ".cowork/config.toml:9");
        assert_eq!(toml_of(&entries, "stages.plan.model"), "\"big\"");
        assert_eq!(origin("stages.plan.model"), "as roles.actor");
        let unset = listed("[stages.prd]\nreview = false\n");
        assert_eq!(of(&unset, "review.gates").value, ShownValue::ByDepth);
        assert_eq!(toml_of(&unset, "stages.prd.review"), "false");
        assert_eq!(of(&unset, "stages.plan.review").value, ShownValue::ByDepth);
        assert_eq!(toml_of(&unset, "review.challenge"), "[\"coding\"]");
    }

    #[test]
    fn a_key_is_found_by_each_of_its_names() {
        let entries = listed("");
        let keys = |name: &str| -> Vec<String> {
            named(&entries, name).iter().map(|entry| entry.key.clone()).collect()
        };
        assert_eq!(keys("llm.base_url"), ["llm.base_url"]);
        assert_eq!(keys("cowork.llm.baseurl"), ["llm.base_url"]);
        assert_eq!(keys("project.editor"), ["review.editor"]);
        assert_eq!(keys("limits.iterations.prd"), ["stages.prd.iterations"]);
        assert_eq!(keys("stages.prd.temperature").len(), 2);
        assert!(keys("llm.base").is_empty());
        assert!(is_known("models.big.model") && is_known("tools") && !is_known("llm.base"));
        assert_eq!(nearest_key("llm.modle").as_deref(), Some("llm.model"));
    }
}
