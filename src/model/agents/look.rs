//! What can be seen of an agent program without asking it anything: whether it is there, its version,
//! whether somebody is signed in.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::process::{self, Ended, Ending, Started};
use super::{AgentProgram, failure, presets, room};
use crate::config::ModelConfig;
use crate::model::ModelError;
use crate::model::openai::BuildOptions;

/// How the programs that can tell are asked whether somebody is signed in: exit 0 is a yes.
const SIGN_IN: [(&str, &[&str]); 1] = [("codex", &["login", "status"])];

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// What people call it.
    pub title: String,
    /// What it prints for `--version`; none where it does not know that.
    pub version: Option<String>,
    /// Whether somebody is signed in; none where it cannot tell.
    pub signed_in: Option<bool>,
    /// How to sign in; empty for a command of the user's own.
    pub sign_in: &'static str,
}

/// Looks at the program of a model, each question for at most `limit`.
///
/// # Errors
/// It is not there.
pub async fn look(
    config: &ModelConfig,
    options: BuildOptions,
    limit: Duration,
) -> Result<Look, ModelError> {
    let agent = AgentProgram::new(config, options)?;
    let Some(program) = agent.find() else { return Err(failure::missing(&agent)) };
    let asked = async |words: &[&str]| ask(&agent, &program, words, limit).await;
    // What a command of the user's own does with these words, nobody knows.
    let version = match config.agent.is_empty() {
        true => None,
        false => Some(asked(&["--version"]).await).filter(ended_well),
    };
    let way = SIGN_IN.iter().find(|(name, _)| *name == config.agent);
    let signed_in = match way {
        Some((_, words)) => Some(ended_well(&asked(words).await)),
        None => None,
    };
    let version = version.map(|ended| failure::line(&ended.heard.last_line, &agent.secrets));
    Ok(Look {
        title: agent.title(),
        version: version.filter(|line| !line.is_empty()),
        signed_in,
        sign_in: agent.row.sign_in,
    })
}

async fn ask(agent: &AgentProgram, program: &Path, words: &[&str], limit: Duration) -> Ended {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let started = Started {
        program,
        words: &words,
        place: &room::bare(&agent.needs(), agent.room.folder()),
        input: "",
    };
    process::run(&started, presets::named(""), Some(limit), None).await
}

fn ended_well(ended: &Ended) -> bool {
    matches!(&ended.ending, Ending::Exit(status) if status.success())
}
