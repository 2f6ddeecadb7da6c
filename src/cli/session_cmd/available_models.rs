//! What is on this machine and could be used as a model, but only after the user agreed: keys of hosted
//! APIs in the environment, and agent programs.

use std::path::{Path, PathBuf};

use crate::cli::context::Context;
use crate::config::{HOSTED_APIS, LOOPBACK_SERVERS, Loaded};
use crate::error::Error;
use crate::gate::{self, Tty};
use crate::model::agents::programs;

/// A model that could be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherModel {
    /// What it is.
    pub title: String,
    /// The setting that makes it the model, and its value.
    pub setting: (&'static str, &'static str),
}

impl OtherModel {
    /// The command that makes it the model of all repositories.
    pub(crate) fn command(&self) -> String {
        let (key, value) = self.setting;
        format!("git config --global {key} {value}")
    }
}

/// What is here: keys first. Nothing if the configuration names a provider.
pub(crate) fn here(context: &Context) -> Vec<OtherModel> {
    if context.loaded().is_ok_and(|loaded| loaded.origins.contains_key("llm.provider")) {
        return Vec::new();
    }
    // A key for OpenAI is used without a question.
    let keys = HOSTED_APIS[1..]
        .iter()
        .filter(|api| context.env.get(api.key).is_some_and(|key| !key.trim().is_empty()));
    let keys = keys.map(|api| OtherModel {
        title: format!("{} with the key in {}", api.title, api.key),
        setting: ("cowork.llm.provider", api.provider),
    });
    let agents = agents_on_path(context).into_iter().map(|name| OtherModel {
        title: format!("the agent program {name}"),
        setting: ("cowork.llm.agent", name),
    });
    keys.chain(agents).collect()
}

/// Names of the agent programs on `PATH`.
pub(crate) fn agents_on_path(context: &Context) -> Vec<&'static str> {
    let there = programs().filter(|(_, file)| find_program(context, file).is_some());
    there.map(|(name, _)| name).collect()
}

/// Lets the user choose one of those here; the choice is remembered for all repositories. Returns
/// the configuration with it.
///
/// # Errors
/// Exit 4: nothing is here, or nothing was chosen.
pub(crate) fn choose(context: &Context) -> anyhow::Result<Loaded> {
    let others = here(context);
    let none = no_server(context);
    if others.is_empty() {
        return Err(none.into());
    }
    context.ui.clear();
    let choices: Vec<(&OtherModel, &str)> =
        others.iter().map(|other| (other, other.title.as_str())).collect();
    let only = (others.len() == 1).then_some(0);
    let prompt = "no model is configured; which one should be used from now on?";
    let Some(chosen) = gate::choose(&Tty::new(context.color), prompt, &choices, only)? else {
        let mut error = Error::model("no model was chosen; nothing was changed");
        error.hints = none.hints;
        return Err(error.into());
    };
    let git = context.git()?;
    let (key, value) = chosen.setting;
    git.write(["config", "--global", key, value]).checked()?;
    context.note(format!("{} is the model from now on ({})", chosen.title, chosen.command()));
    context.load_again(git)
}

/// The error if no server is configured and none runs on this machine. It names what else is here.
pub(crate) fn no_server(context: &Context) -> Error {
    let error = Error::model("no model is configured, and no model server answers on this machine");
    let others = here(context);
    let here = others.iter().fold(error, |error, other| {
        error.hint(format!("to use {}: {}", other.title, other.command()))
    });
    let servers: Vec<&str> = LOOPBACK_SERVERS.iter().map(|(name, _)| *name).collect();
    let or = if others.is_empty() { "" } else { "or " };
    here.hint(format!("{or}start a local server ({}) and try again", servers.join(", ")))
        .hint("or set a key: export OPENAI_API_KEY=KEY")
        .hint("or name another server: export COWORK_LLM_BASE_URL=URL")
        .hint("or try git-cowork without a model: git cowork demo")
}

/// The file of a program, if there is one that can be run.
pub(crate) fn find_program(context: &Context, program: &str) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(context.cwd.join(path)).filter(|path| is_executable(path));
    }
    let folders = context.env.get("PATH")?;
    std::env::split_paths(folders).map(|dir| dir.join(program)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}
