//! One layer of configuration: a file, `git config`, the environment or the command line, read into
//! [`LayerSettings`] and applied over earlier layers.
//!
//! Types and key names are checked here, while the place of each value is still known.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::Result;
use toml::de::{DeTable, DeValue};

use super::fields::{Key, Rule};
use super::problem::Problems;
use super::schema::{self, Path, PathTarget};
use super::value::{self, Value, ValueType};
use super::{Config, endpoint};
use crate::error::Error;
use crate::stage::Stage;

/// A value and where it was set.
#[derive(Clone)]
pub(super) struct LayerSetting {
    /// The value, or why it is missing (a variable is not set).
    pub(super) value: Result<Value, String>,
    /// Where the value was set, for messages: a file with its line, `git config`, a variable or an
    /// option.
    pub(super) origin: String,
    /// The variable that a `${NAME}` in the value names.
    pub(super) variable: Option<String>,
    /// True if a preset provider implies the value.
    pub(super) preset: bool,
    /// The row of the key.
    pub(super) key: &'static Key,
    /// The key as it was written: its name or an alias.
    pub(super) spelling: Path,
}

/// All values that have been set, by key.
pub(super) type LayerSettings = BTreeMap<Path, LayerSetting>;

/// Whether `${VAR}` is replaced in a file.
#[derive(Clone, Copy)]
pub(super) enum Expand<'a> {
    /// Yes, from these variables.
    From(&'a BTreeMap<String, String>),
    /// No: the file came with the repository.
    Never,
}

/// Reads the text of a TOML file called `file`.
pub(super) fn from_toml(
    text: &str,
    file: &str,
    expand: Expand<'_>,
    problems: &Problems,
) -> Result<LayerSettings> {
    // The error that the TOML library renders would show the line, which may contain an API key.
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(&line_starts(text), &span));
        let problem = error.message().lines().collect::<Vec<_>>().join(", ");
        Error::model(format!("{file}:{line} is not valid TOML: {problem}"))
            .hint("fix that line; a configuration with an error is not used at all")
    })?;
    let lines = line_starts(text);
    let mut file = File { lines, name: file, expand, problems, settings: LayerSettings::new() };
    file.table(table.get_ref(), &mut Path::new())?;
    Ok(file.settings)
}

struct File<'a> {
    lines: Vec<usize>,
    name: &'a str,
    expand: Expand<'a>,
    problems: &'a Problems,
    settings: LayerSettings,
}

impl File<'_> {
    fn table(&mut self, table: &DeTable<'_>, path: &mut Path) -> Result<()> {
        for (name, value) in table {
            path.push(name.get_ref().to_string());
            let origin = format!("{}:{}", self.name, line_of(&self.lines, &name.span()));
            let entry = self.entry(path, origin, value.get_ref());
            self.problems.or_nothing(entry)?;
            path.pop();
        }
        Ok(())
    }

    fn entry(&mut self, path: &mut Path, origin: String, value: &DeValue<'_>) -> Result<()> {
        match (schema::find(path), value) {
            (PathTarget::Leaf(key), value) => {
                let variable = self.variable(value);
                let value = self.value(key, path, &origin, value)?;
                let spelling = path.clone();
                let setting =
                    LayerSetting { value, origin, variable, preset: false, key, spelling };
                self.settings.insert(path.clone(), setting);
                Ok(())
            }
            (PathTarget::Section, DeValue::Table(inner)) => self.table(inner, path),
            (PathTarget::Section, other) => {
                let keys = keys_below(path);
                Err(wrong(path, "a table", Some(value::kind_of(other)), &origin)
                    .hint(format!("keys of [{}]: {}", schema::dotted(path), keys.join(", ")))
                    .into())
            }
            (PathTarget::Unknown, _) => Err(unknown(path, &origin).into()),
        }
    }

    /// The variable that is the whole value.
    fn variable(&self, value: &DeValue<'_>) -> Option<String> {
        let (Expand::From(_), DeValue::String(text)) = (self.expand, value) else { return None };
        Some(text.strip_prefix("${")?.strip_suffix('}')?.to_owned())
    }

    fn value(
        &self,
        key: &Key,
        path: &Path,
        origin: &str,
        value: &DeValue<'_>,
    ) -> Result<Result<Value, String>> {
        let substitute = |text: &str| match self.expand {
            Expand::From(env) => expand(text, env),
            Expand::Never => Ok(text.to_owned()),
        };
        match key.shape.read_toml(value, &substitute) {
            Ok(Some(value)) => Ok(Ok(value)),
            Ok(None) => {
                let kind = value::kind_of(value);
                Err(wrong(path, &key.shape.expected(), Some(kind), origin).into())
            }
            Err(ExpansionError::Variable(name)) => Ok(Err(format!(
                "`{}` in {origin} uses ${{{name}}}, which is not set",
                schema::dotted(path)
            ))),
            Err(ExpansionError::End) => Err(Error::model(format!(
                "`{}` in {origin} has a ${{…}} that names no variable",
                schema::dotted(path)
            ))
            .hint("write ${NAME}, or $${ for a literal ${")
            .into()),
        }
    }
}

/// Reads `git config` entries; ignores names that do not start with `cowork.`.
pub(super) fn from_git(entries: &[(String, String)], problems: &Problems) -> Result<LayerSettings> {
    let one = |name: &str, rest: &str, text: &str| {
        let Some((key, path)) = schema::find_git(rest) else {
            let path: Path = rest.split('.').map(str::to_owned).collect();
            return Err(unknown_in_git(&path).into());
        };
        let setting = plain(key, &path, text, format!("git config {name}"))?;
        Ok(LayerSettings::from([(path, setting)]))
    };
    let mut settings = LayerSettings::new();
    for (name, text) in entries {
        let Some((section, rest)) = name.split_once('.') else { continue };
        if section.eq_ignore_ascii_case("cowork") {
            settings.extend(problems.or_nothing(one(name, rest, text))?);
        }
    }
    Ok(settings)
}

/// Reads values of known keys: (key, text, origin).
pub(super) fn from_pairs(pairs: &[(&str, &str, &str)]) -> Result<LayerSettings> {
    let mut settings = LayerSettings::new();
    for (name, text, origin) in pairs {
        settings.extend(from_path(name.split('.').map(str::to_owned).collect(), text, origin)?);
    }
    Ok(settings)
}

/// Like [`from_pairs`], for one key whose name may contain dots.
pub(super) fn from_path(path: Path, text: &str, origin: &str) -> Result<LayerSettings> {
    let PathTarget::Leaf(key) = schema::find(&path) else {
        return Err(unknown(&path, origin).into());
    };
    let setting = plain(key, &path, text, origin.to_owned())?;
    Ok(LayerSettings::from([(path, setting)]))
}

fn plain(key: &'static Key, path: &Path, text: &str, origin: String) -> Result<LayerSetting> {
    let value = key
        .shape
        .read_text(text)
        .ok_or_else(|| wrong(path, &key.shape.expected(), None, &origin))?;
    let spelling = path.clone();
    Ok(LayerSetting { value: Ok(value), origin, variable: None, preset: false, key, spelling })
}

/// Removes those settings of a project's file that do not count, and returns them; the file itself
/// is not changed. `user` is the user's own settings; `baseline` is the configuration that follows from
/// them, or `None` if the file was accepted.
pub(super) fn restrict(
    project: &mut LayerSettings,
    user: &LayerSettings,
    baseline: Option<&Config>,
) -> LayerSettings {
    let counts = |path: &Path, setting: &LayerSetting| match (&setting.value, baseline) {
        (Err(_), _) => true,
        (Ok(value), Some(config)) => {
            setting.key.rule.admits(value, schema::value_of(config, path).as_ref())
        }
        (Ok(Value::Flag(false)), None) if setting.key.rule == Rule::Stricter => !user
            .get(path)
            .is_some_and(|user_setting| matches!(user_setting.value, Ok(Value::Flag(true)))),
        (Ok(_), None) => true,
    };
    let (open, restricted) =
        std::mem::take(project).into_iter().partition(|(path, setting)| counts(path, setting));
    *project = open;
    restricted
}

/// Normalizes key names: a list of stages becomes a switch for each stage, and an alias becomes the
/// key that it stands for.
pub(super) fn settle(layer: LayerSettings, problems: &Problems) -> Result<LayerSettings> {
    let mut settings = LayerSettings::new();
    let mut aliases = LayerSettings::new();
    for (path, setting) in layer {
        let has_stage = check_stage(&path, &setting.origin).map(|()| true);
        if !problems.or_nothing(has_stage)? {
            continue;
        }
        let each = match (setting.key.shape, &setting.value) {
            (ValueType::Stages, Ok(Value::Stages(listed))) => Stage::ALL
                .iter()
                .map(|stage| {
                    let path = path.iter().cloned().chain([stage.name().to_owned()]).collect();
                    let value = Ok(Value::Flag(listed.contains(stage)));
                    (path, LayerSetting { value, ..setting.clone() })
                })
                .collect(),
            _ => vec![(path, setting)],
        };
        for (path, setting) in each {
            match schema::meant(&path) {
                Some(key) => aliases.insert(key, setting),
                None => settings.insert(path, setting),
            };
        }
    }
    for (path, setting) in aliases {
        settings.entry(path).or_insert(setting);
    }
    Ok(settings)
}

/// Applies `layer` over `below`; a preset provider sets its base URL.
pub(super) fn lay(below: &mut LayerSettings, mut layer: LayerSettings) {
    let providers: Vec<Path> =
        layer.keys().filter(|path| path.last().is_some_and(|l| l == "provider")).cloned().collect();
    for path in providers {
        let mut url_path = path.clone();
        url_path.pop();
        url_path.push("base_url".to_owned());
        if layer.contains_key(&url_path) {
            continue;
        }
        // A provider that is set later also removes the URL that an earlier preset set.
        if below.get(&url_path).is_some_and(|setting| setting.preset) {
            below.remove(&url_path);
        }
        let Some(setting) = layer.get(&path) else { continue };
        let Ok(Value::Text(provider)) = &setting.value else { continue };
        if let Some(url) = endpoint::preset(provider) {
            let setting = LayerSetting {
                value: Ok(Value::Text(url.to_owned())),
                origin: format!("{} (provider {provider})", setting.origin),
                variable: None,
                preset: true,
                key: setting.key,
                spelling: url_path.clone(),
            };
            layer.insert(url_path, setting);
        }
    }
    for (path, setting) in &mut layer {
        if let (Rule::Adds, Ok(Value::List(list))) = (setting.key.rule, &mut setting.value)
            && let Some(Ok(Value::List(base))) = below.get(path).map(|entry| &entry.value)
        {
            let additions = std::mem::replace(list, base.clone());
            list.extend(additions.into_iter().filter(|one| !base.contains(one)));
        }
    }
    below.extend(layer);
}

/// Checks the stage names in `stages.*` and `limits.iterations.*`.
fn check_stage(path: &Path, origin: &str) -> Result<()> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let name = match parts.as_slice() {
        ["stages", name, ..] | ["limits", "iterations", name] => *name,
        _ => return Ok(()),
    };
    if let Err(problem) = name.parse::<crate::stage::Stage>() {
        let key = schema::brief(path);
        return Err(Error::model(format!("unknown key `{key}` in {origin}")).hint(problem).into());
    }
    Ok(())
}

enum ExpansionError {
    Variable(String),
    End,
}

/// Replaces `${VAR}`; `$${` is a literal `${`.
fn expand(text: &str, env: &BTreeMap<String, String>) -> Result<String, ExpansionError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if let Some(before) = rest[..at].strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        out.push_str(&rest[..at]);
        let (name, after) = rest[at + 2..].split_once('}').ok_or(ExpansionError::End)?;
        let letters = |c: char| c == '_' || c.is_ascii_alphanumeric();
        if name.is_empty() || !name.chars().all(letters) || name.starts_with(char::is_numeric) {
            return Err(ExpansionError::End);
        }
        out.push_str(env.get(name).ok_or_else(|| ExpansionError::Variable(name.to_owned()))?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The offsets at which the lines after the first start.
fn line_starts(text: &str) -> Vec<usize> {
    text.match_indices('\n').map(|(at, _)| at + 1).collect()
}

fn line_of(starts: &[usize], span: &Range<usize>) -> usize {
    starts.partition_point(|start| *start <= span.start) + 1
}

fn wrong(path: &[String], shape: &str, kind: Option<&str>, origin: &str) -> Error {
    let key = schema::brief(path);
    let suffix = kind.map(|kind| format!(", not {kind}")).unwrap_or_default();
    Error::model(format!("`{key}` in {origin} must be {shape}{suffix}"))
}

fn unknown(path: &[String], origin: &str) -> Error {
    let error = Error::model(format!("unknown key `{}` in {origin}", schema::brief(path)));
    match schema::nearest(path) {
        Some(key) => error.hint(format!("did you mean `{key}`?")),
        None => with_known(error, path),
    }
}

/// Like [`unknown`], for a name in git's configuration, where no name contains a `_`.
fn unknown_in_git(path: &[String]) -> Error {
    let name = schema::brief(path);
    let error = Error::model(format!("unknown key `cowork.{name}` in git config"));
    match schema::nearest(path) {
        Some(key) => error.hint(format!("did you mean `cowork.{}`?", key.replace('_', ""))),
        None => with_known(error, path),
    }
}

/// Adds a hint with the keys of the section.
fn with_known(error: Error, path: &[String]) -> Error {
    let section = &path[..path.len().saturating_sub(1)];
    let (keys, section) = (keys_below(section), schema::brief(section));
    match (keys.is_empty(), section.is_empty()) {
        (false, false) => error.hint(format!("keys of [{section}]: {}", keys.join(", "))),
        (false, true) => error.hint(format!("sections: {}", keys.join(", "))),
        (true, _) => error,
    }
}

/// Returns the names that can follow a section's path.
fn keys_below(path: &[String]) -> Vec<&'static str> {
    let mut below = Vec::new();
    for schema::KeyRow { pattern, .. } in schema::KEYS.iter() {
        let fits = path.iter().zip(pattern).all(|(part, want)| part == want || *want == "*");
        if let (true, Some(next)) = (fits, pattern.get(path.len())) {
            let next = if *next == "*" { "NAME" } else { next };
            if !below.contains(&next) {
                below.push(next);
            }
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_and_escaped() {
        let env = BTreeMap::from([("A_1".to_owned(), "x".to_owned())]);
        let expanded = |text| expand(text, &env).ok();
        assert_eq!(expanded("a ${A_1} b ${A_1}").as_deref(), Some("a x b x"));
        assert_eq!(expanded("$${A_1}").as_deref(), Some("${A_1}"));
        assert_eq!(expanded("$5 and $A").as_deref(), Some("$5 and $A"));
        assert!(matches!(expand("${B}", &env), Err(ExpansionError::Variable(name)) if name == "B"));
        assert!(matches!(expand("${B", &env), Err(ExpansionError::End)));
        assert!(matches!(expand("${A:-x}", &env), Err(ExpansionError::End)));
    }
}
