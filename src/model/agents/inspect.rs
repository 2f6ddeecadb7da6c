//! Inspects an agent program without sending it a prompt: whether it is installed, its version, and
//! whether the user is signed in.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::process::{self, FinishedRun, Launch, ProgramEnd};
use super::{AgentProgram, failure, presets, room};
use crate::config::ModelConfig;
use crate::model::ModelError;
use crate::model::options::BuildOptions;

/// Commands that check the sign-in, for programs that have one: exit 0 means signed in.
const SIGN_IN: [(&str, &[&str]); 1] = [("codex", &["login", "status"])];

/// The result of the inspection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInspection {
    /// The name to show to the user.
    pub title: String,
    /// Output of `--version`; none if the program does not support it.
    pub version: Option<String>,
    /// Whether the user is signed in; none if the program has no command to check it.
    pub signed_in: Option<bool>,
    /// How to sign in; empty for a command of the user's own.
    pub sign_in: &'static str,
}

/// Inspects the program of a model; each command may take at most `limit`.
///
/// # Errors
/// The program is not installed.
pub async fn inspect(
    config: &ModelConfig,
    options: BuildOptions,
    limit: Duration,
) -> Result<AgentInspection, ModelError> {
    let agent = AgentProgram::new(config, options)?;
    let Some(program) = agent.find() else { return Err(failure::missing(&agent)) };
    let run = async |words: &[&str]| ask(&agent, &program, words, limit).await;
    // A user's own command may do anything with this argument.
    let version = match config.agent.is_empty() {
        true => None,
        false => Some(run(&["--version"]).await).filter(ended_well),
    };
    let way = SIGN_IN.iter().find(|(name, _)| *name == config.agent);
    let signed_in_result = match way {
        Some((_, words)) => Some(ended_well(&run(words).await)),
        None => None,
    };
    let version = version.map(|run| failure::line(&run.output.last_line, &agent.secrets));
    Ok(AgentInspection {
        title: agent.title(),
        version: version.filter(|line| !line.is_empty()),
        signed_in: signed_in_result,
        sign_in: agent.row.sign_in,
    })
}

async fn ask(agent: &AgentProgram, program: &Path, words: &[&str], limit: Duration) -> FinishedRun {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let launch = Launch {
        program,
        words: &words,
        place: &room::bare(&agent.needs(), agent.room.folder()),
        input: "",
    };
    process::run(&launch, presets::named(""), Some(limit), None).await
}

fn ended_well(run: &FinishedRun) -> bool {
    matches!(&run.ending, ProgramEnd::Exit(status) if status.success())
}
