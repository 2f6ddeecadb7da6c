//! Reads all layers in order and resolves them: the only way to get a [`Config`].

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::environment::environment;
use super::layer::{self, Expand, LayerSettings};
use super::problem::{ConfigProblem, Problems};
use super::trust::{Restricted, Trust, ignored, restricted};
use super::value::Value;
use super::{Config, build, schema};

/// All sources of configuration. The caller has read those that need git, the environment
/// or the command line.
#[derive(Clone, Default)]
pub struct ConfigSources {
    /// `/etc/cowork/config.toml`; see [`system_file`]. A missing file is not an error.
    pub system: Option<PathBuf>,
    /// `~/.config/cowork/config.toml`; see [`user_file`]. A missing file is not an error.
    pub user: Option<PathBuf>,
    /// The project's file: its name for messages, and its text. The file is not read again, because
    /// trust is given to exactly this text, and the file may have changed.
    pub project: Option<(PathBuf, String)>,
    /// Names and values from `git config --null --get-regexp '^cowork\.'`, in order. An
    /// entry without a value must have the value `true` here, as git reads it.
    pub git_values: Vec<(String, String)>,
    /// The environment variables that are valid Unicode.
    pub env: BTreeMap<String, String>,
    /// Options of the command line.
    pub flags: Flags,
    /// Whether the user accepted the project's file in exactly this form (`git cowork trust`).
    pub trust: Trust,
    /// Leave invalid settings out and report them, instead of failing.
    pub tolerant: bool,
}

/// Options of the command line that set a key.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--model`
    pub model: Option<String>,
    /// `--base-url`
    pub base_url: Option<String>,
}

/// The configuration and what to report about it.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Warnings, one line each; for [`crate::event::Event::Warning`].
    pub warnings: Vec<String>,
    /// The subset of `warnings` that is about values, not about trust.
    pub unexpanded: Vec<String>,
    /// The origin of each key that was set, by dotted key. Keys that are not listed have their
    /// default.
    pub origins: BTreeMap<String, String>,
    /// Settings of the project's file that do not count because the user has not accepted it.
    pub restricted: Vec<Restricted>,
    /// Problems that were found; the settings were left out.
    pub problems: Vec<ConfigProblem>,
}

/// Reads and resolves the configuration.
///
/// # Errors
///
/// Kind `Model` (exit 4) for an unknown key, a wrong value or a file that is not TOML, always with
/// the key and the place, unless the sources are tolerant. A `${VAR}` that is not set is an error
/// immediately, except in `[llm]` and `[models]`: [`Config::model_for`] reports it there, so that
/// commands that need no model work without a key.
pub fn load(sources: &ConfigSources) -> Result<Loaded> {
    Ok(resolve(sources)?.0)
}

/// Like [`load`], but also returns all settings.
pub(super) fn resolve(sources: &ConfigSources) -> Result<(Loaded, LayerSettings)> {
    let (mut warnings, mut literal) = (Vec::new(), Vec::new());
    let problems = &Problems::new(sources.tolerant);
    let mut settings = LayerSettings::new();
    for path in [&sources.system, &sources.user].into_iter().flatten() {
        if let Some(text) = problems.or_nothing(read(path))? {
            let name = path.display().to_string();
            let file = layer::from_toml(&text, &name, Expand::From(&sources.env), problems);
            let file = problems.or_nothing(file)?;
            layer::lay(&mut settings, layer::settle(file, problems)?);
        }
    }
    let git = layer::settle(layer::from_git(&sources.git_values, problems)?, problems)?;
    unexpanded(&git, &mut literal);
    let mut restrictions = Vec::new();
    if let Some((path, text)) = &sources.project {
        let name = path.display().to_string();
        let entries = layer::from_toml(text, &name, Expand::Never, problems);
        let entries = problems.or_nothing(entries)?;
        let mut project = layer::settle(entries.clone(), problems)?;
        let mut user = settings.clone();
        above(&mut user, git.clone(), sources)?;
        let baseline = match sources.trust {
            Trust::Given => None,
            // Problems found here are dropped: the build below finds them again.
            Trust::None | Trust::Changed => {
                Some(built(&mut user, &Problems::new(sources.tolerant))?)
            }
        };
        let rejects = layer::restrict(&mut project, &user, baseline.as_ref());
        if baseline.is_some() {
            restrictions = restricted(&entries, &rejects);
            warnings.extend(ignored(&name, &restrictions, sources.trust));
        }
        unexpanded(&project, &mut literal);
        layer::lay(&mut settings, project);
    }
    above(&mut settings, git, sources)?;

    let config = built(&mut settings, problems)?;
    let origins =
        settings.values().map(|s| (schema::dotted(&s.spelling), s.origin.clone())).collect();
    warnings.extend(literal.iter().cloned());
    let resolution = Loaded {
        config,
        warnings,
        unexpanded: literal,
        origins,
        restricted: restrictions,
        problems: problems.take(),
    };
    Ok((resolution, settings))
}

/// Builds the configuration. If problems are tolerated, removes invalid settings one by one: a
/// setting is invalid if the build without it succeeds or fails with another error.
fn built(settings: &mut LayerSettings, problems: &Problems) -> Result<Config> {
    loop {
        let error = match build::build(settings) {
            Err(error) if problems.is_tolerant() => error,
            built => return built,
        };
        let message = error.to_string();
        let helps = |path: &&schema::Path| {
            let mut without = settings.clone();
            without.remove(*path);
            build::build(&without).map_or_else(|other| other.to_string() != message, |_| true)
        };
        let is_in_message = |path: &&schema::Path| message.contains(&schema::dotted(path));
        let wrong =
            settings.keys().filter(is_in_message).chain(settings.keys()).find(helps).cloned();
        let Some(wrong) = wrong else { return Err(error) };
        settings.remove(&wrong);
        problems.or_nothing::<()>(Err(error))?;
    }
}

/// Applies the layers above the project's file, all of which belong to the user.
fn above(settings: &mut LayerSettings, git: LayerSettings, sources: &ConfigSources) -> Result<()> {
    layer::lay(settings, git);
    let set = environment(&sources.env, sources.flags.base_url.is_some(), settings)?;
    layer::lay(settings, set);
    layer::lay(settings, command_line(&sources.flags)?);
    Ok(())
}

/// Returns the path of the system's configuration file.
pub fn system_file() -> PathBuf {
    PathBuf::from("/etc/cowork/config.toml")
}

/// Returns the path of the user's configuration file, from `XDG_CONFIG_HOME` or the home directory.
pub fn user_file(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let set = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // The XDG specification says to ignore a relative path.
    set("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| set("HOME").or_else(|| set("USERPROFILE")).map(|home| home.join(".config")))
        .map(|config| config.join("cowork/config.toml"))
}

fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(error).with_context(|| {
            crate::error::Error::model(format!("cannot read configuration {}", path.display()))
        }),
    }
}

fn command_line(flags: &Flags) -> Result<LayerSettings> {
    let options =
        [("llm.model", &flags.model, "--model"), ("llm.base_url", &flags.base_url, "--base-url")];
    let pairs: Vec<(&str, &str, &str)> = options
        .into_iter()
        .filter_map(|(key, value, name)| value.as_deref().map(|value| (key, value, name)))
        .collect();
    layer::from_pairs(&pairs)
}

/// Warns about a literal `${…}`: if it were sent as a key, the request would fail without a clear
/// reason.
fn unexpanded(settings: &LayerSettings, warnings: &mut Vec<String>) {
    for (path, setting) in settings {
        let secret = path.last().is_some_and(|last| last == "api_key" || last == "base_url");
        let literal = match &setting.value {
            Ok(Value::Text(text)) => secret && text.contains("${"),
            Ok(Value::Table(table)) => table.values().any(|value| value.to_string().contains("${")),
            _ => false,
        };
        if literal {
            warnings.push(format!(
                "`{}` in {} contains ${{…}}, which is replaced only in user and system files",
                schema::dotted(path),
                setting.origin
            ));
        }
    }
}
