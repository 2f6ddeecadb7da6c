//! Explains why an agent program gave no answer: the program, how it ended, its last line, and what
//! to do.

use std::process::ExitStatus;

use super::process::{FinishedRun, MOST, ProgramEnd};
use super::{AgentProgram, seconds};
use crate::excerpt;
use crate::model::ModelError;
use crate::secret::Secrets;

/// Maximum length of a line in a message, in characters.
const SHOWN: usize = 300;
/// Beginning of most hints.
const BY_HAND: &str = "check that it works on its own: ";

/// Hint for a refused connection: there is no network, or a server on this machine is blocked.
const LIST_IT: &str = "check that this machine is online; if the program's server runs on it, list \
                       the server with its port: git config cowork.sandbox.hosts localhost:PORT";
/// Messages that programs print if nothing listens on the port, in lower case.
const REFUSED: [&str; 4] =
    ["connection refused", "connectionrefused", "econnrefused", "connection failed"];

/// Beginning of the message about a conversation that the program does not know.
const LOST: &str = "Session not found: ";

/// True if a program no longer knows this conversation.
pub(super) fn is_lost(error: &ModelError, id: &str) -> bool {
    matches!(error, ModelError::Agent { message, .. }
        if message.starts_with(LOST) && message.contains(id))
}

/// A line for a message: without control characters, short, and without the values passed to the
/// program.
pub(super) fn line(text: &str, secrets: &Secrets) -> String {
    let plain = excerpt::plain(text);
    let last = plain.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    secrets.withheld(last.trim()).chars().take(SHOWN).collect()
}

/// The error for a program that is not installed.
pub(super) fn missing(agent: &AgentProgram) -> ModelError {
    let (title, program, row) = (agent.title(), agent.program(), agent.row);
    let hint = match row.install {
        "" => "set its path: command = [\"/path/to/it\", …] in section [models.NAME]".to_owned(),
        install => format!("install it: {install}; then sign in: {}", row.sign_in),
    };
    ModelError::Agent {
        message: format!("cannot run {title}: there is no program '{program}' on PATH"),
        hint,
    }
}

/// The error of a run, if it failed. `conversation_id` is that of the conversation to resume; `apart` is
/// true if the program ran in its own network namespace.
pub(super) fn from_run(
    agent: &AgentProgram,
    run: &FinishedRun,
    conversation_id: Option<&str>,
    apart: bool,
) -> Option<ModelError> {
    let (title, row, output) = (agent.title(), agent.row, &run.output);
    let suffix = last_words(agent, run);
    let all = format!(
        "{}\n{}\n{}",
        output.error.as_deref().unwrap_or_default(),
        output.last_line,
        run.complaints
    )
    .to_lowercase();
    let is_refused = apart && REFUSED.iter().any(|words| all.contains(words));
    let by_hand = match is_refused {
        true => LIST_IT.to_owned(),
        false => format!("{BY_HAND}{}", agent.program()),
    };
    let refusal = |message: String, hint: String| Some(ModelError::Agent { message, hint });
    let status = match &run.ending {
        ProgramEnd::NotStarted(error) => {
            return refusal(format!("{title} could not be started: {error}"), by_hand);
        }
        ProgramEnd::Flood => {
            let most = MOST / 1024 / 1024;
            let message = format!("{title} printed more than {most} MiB and was stopped{suffix}");
            return refusal(message, by_hand);
        }
        ProgramEnd::TimedOut(limit) => {
            let limit = seconds(*limit);
            let message = format!("{title} did not end within {limit} and was stopped{suffix}");
            if is_refused {
                return refusal(message, by_hand);
            }
            let sign_in = match row.sign_in {
                "" => String::new(),
                how => format!("; if you are not signed in: {how}"),
            };
            return refusal(
                message,
                format!(
                    "{by_hand}{sign_in}; or give it more time: answer_s in section [models.NAME]"
                ),
            );
        }
        ProgramEnd::Exit(status) => *status,
    };
    let how = ending(status);
    let has_failed = !status.success() || output.error.is_some();
    if has_failed && row.signed_out.iter().any(|text| all.contains(text)) {
        let message = format!("{title} is not signed in ({how}){suffix}");
        return refusal(message, format!("sign in: {}", row.sign_in));
    }
    if let Some(id) = conversation_id
        && has_failed
        && row.lost.iter().any(|text| all.contains(text))
    {
        let message = format!("{LOST}{title} no longer knows {id} ({how}){suffix}");
        return refusal(message, "the next run sends the whole conversation again".to_owned());
    }
    if has_failed && (output.error.is_some() || output.text.is_empty()) {
        return refusal(format!("{title} failed ({how}){suffix}"), by_hand);
    }
    if !status.success() || !output.is_whole && !output.text.is_empty() {
        let message = format!("{title} ended in the middle of its answer ({how}){suffix}");
        return refusal(message, by_hand);
    }
    if !output.is_whole && !output.last_line.is_empty() {
        let message = format!("{title} printed no answer that git-cowork can read ({how}){suffix}");
        return refusal(message, format!("{by_hand}; its version may be too old or too new"));
    }
    if output.text.trim().is_empty() {
        return refusal(format!("{title} ended without an answer ({how}){suffix}"), by_hand);
    }
    None
}

/// Returns `: LINE` for a message, with the last line of the program's reported error, its standard
/// error, its output, or its answer, whichever is the first that is not empty.
fn last_words(agent: &AgentProgram, run: &FinishedRun) -> String {
    let output = &run.output;
    let error = output.error.as_deref().unwrap_or_default();
    let mut candidates = [error, &run.complaints, &output.last_line, &output.text].into_iter();
    let line_text = candidates.find(|text| !text.trim().is_empty());
    match line_text.map(|text| line(text, &agent.secrets)) {
        Some(last) => format!(": {last}"),
        None => "; it printed nothing".to_owned(),
    }
}

fn ending(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.code().map_or_else(|| "no exit status".to_owned(), |code| format!("exit {code}"))
}
