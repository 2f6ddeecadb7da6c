//! Explains why an agent program gave no answer: the program, how it ended, its last line, and what
//! to do.

use std::process::ExitStatus;

use super::process::{Ended, Ending, MOST};
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

/// The error of a run, if it failed. `resumed` is the id of the conversation to resume; `apart` is
/// true if the program ran in its own network namespace.
pub(super) fn of(
    agent: &AgentProgram,
    ended: &Ended,
    resumed: Option<&str>,
    apart: bool,
) -> Option<ModelError> {
    let (title, row, heard) = (agent.title(), agent.row, &ended.heard);
    let said = last_words(agent, ended);
    let all = format!(
        "{}\n{}\n{}",
        heard.error.as_deref().unwrap_or_default(),
        heard.last_line,
        ended.complaints
    )
    .to_lowercase();
    let is_refused = apart && REFUSED.iter().any(|words| all.contains(words));
    let by_hand = match is_refused {
        true => LIST_IT.to_owned(),
        false => format!("{BY_HAND}{}", agent.program()),
    };
    let failed = |message: String, hint: String| Some(ModelError::Agent { message, hint });
    let status = match &ended.ending {
        Ending::NotStarted(error) => {
            return failed(format!("{title} could not be started: {error}"), by_hand);
        }
        Ending::Flood => {
            let most = MOST / 1024 / 1024;
            let message = format!("{title} printed more than {most} MiB and was stopped{said}");
            return failed(message, by_hand);
        }
        Ending::TimedOut(limit) => {
            let limit = seconds(*limit);
            let message = format!("{title} did not end within {limit} and was stopped{said}");
            if is_refused {
                return failed(message, by_hand);
            }
            let signed_in = match row.sign_in {
                "" => String::new(),
                how => format!("; if you are not signed in: {how}"),
            };
            return failed(
                message,
                format!(
                    "{by_hand}{signed_in}; or give it more time: answer_s in section [models.NAME]"
                ),
            );
        }
        Ending::Exit(status) => *status,
    };
    let how = ending(status);
    let has_failed = !status.success() || heard.error.is_some();
    if has_failed && row.signed_out.iter().any(|text| all.contains(text)) {
        let message = format!("{title} is not signed in ({how}){said}");
        return failed(message, format!("sign in: {}", row.sign_in));
    }
    if let Some(id) = resumed
        && has_failed
        && row.lost.iter().any(|text| all.contains(text))
    {
        let message = format!("{LOST}{title} no longer knows {id} ({how}){said}");
        return failed(message, "the next run sends the whole conversation again".to_owned());
    }
    if has_failed && (heard.error.is_some() || heard.text.is_empty()) {
        return failed(format!("{title} failed ({how}){said}"), by_hand);
    }
    if !status.success() || !heard.is_whole && !heard.text.is_empty() {
        let message = format!("{title} ended in the middle of its answer ({how}){said}");
        return failed(message, by_hand);
    }
    if !heard.is_whole && !heard.last_line.is_empty() {
        let message = format!("{title} printed no answer that git-cowork can read ({how}){said}");
        return failed(message, format!("{by_hand}; its version may be too old or too new"));
    }
    if heard.text.trim().is_empty() {
        return failed(format!("{title} ended without an answer ({how}){said}"), by_hand);
    }
    None
}

/// Returns `: LINE` for a message, with the last line of the program's reported error, its standard
/// error, its output, or its answer, whichever is the first that is not empty.
fn last_words(agent: &AgentProgram, ended: &Ended) -> String {
    let heard = &ended.heard;
    let error = heard.error.as_deref().unwrap_or_default();
    let mut said = [error, &ended.complaints, &heard.last_line, &heard.text].into_iter();
    let said = said.find(|text| !text.trim().is_empty());
    match said.map(|text| line(text, &agent.secrets)) {
        Some(said) => format!(": {said}"),
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
