//! Distinguishes answers from errors that look like answers, and complete answers from interrupted
//! ones.

use async_openai::error::OpenAIError;
use serde_json::Value;

use super::dialect::{AnswerReader, Refusals};
use super::failure::{self, FailedAt, Failure};
use super::stream::Assembly;
use super::transport::{Diverted, Pulse};

/// Reads one event, which may be an error in disguise.
pub fn take(
    value: &Value,
    reader: &mut AnswerReader,
    refusals: Refusals,
    assembly: &mut Assembly,
    on_text: &dyn Fn(&str),
) -> Result<(), Failure> {
    if let Some(error) = reader.error(value)
        && assembly.finish_reason.is_none()
    {
        return Err(failure::from_event(error, refusals));
    }
    let Some(text) = assembly.push(reader.chunk(value)) else {
        return Err(Failure::Refused { status: None, message: "its answer is too large".into() });
    };
    if !text.is_empty() {
        on_text(&text);
    }
    Ok(())
}

/// Returns an answer that came in one piece; a server may send one even if a stream was requested.
pub fn whole(
    answer: Result<Value, OpenAIError>,
    reader: &AnswerReader,
    refusals: Refusals,
    pulse: &Pulse,
) -> Result<Value, Failure> {
    let value = match answer {
        Ok(value) => value,
        Err(OpenAIError::Boxed(error)) => match error.downcast::<Diverted>() {
            Ok(diverted) => diverted_value(*diverted, refusals)?,
            Err(other) => return Err(Failure::transient(FailedAt::Waiting, other.to_string())),
        },
        Err(OpenAIError::JSONDeserialize(_, body)) => odd_json(&body)?,
        Err(error) => return Err(cut(pulse, Some(&error))),
    };
    if reader.error(&value).is_none() && !reader.is_answer(&value) {
        // Errors also come without an `error` key: {"detail": …}, {"message": …}.
        return Err(failure::from_event(&value, refusals));
    }
    Ok(value)
}

fn diverted_value(diverted: Diverted, refusals: Refusals) -> Result<Value, Failure> {
    match diverted {
        Diverted::Network(at, message) => Err(Failure::transient(at, message)),
        Diverted::BadRequest(message) => Err(Failure::Refused { status: None, message }),
        Diverted::Status { status, wait, body } => {
            Err(failure::from_status(status, wait, &body, refusals))
        }
        Diverted::NotAStream(body) => {
            serde_json::from_slice(&body).or_else(|_| odd_json(&String::from_utf8_lossy(&body)))
        }
    }
}

/// Parses a body that is not valid JSON, perhaps only because of a byte order mark or a byte that
/// is not UTF-8.
fn odd_json(body: &str) -> Result<Value, Failure> {
    let body = body.trim_start().trim_start_matches('\u{feff}');
    if let Ok(value) = serde_json::from_str(body) {
        return Ok(value);
    }
    if body.trim_start().starts_with('<') {
        let message = "it answers with a web page: does the base URL end in /v1?".to_owned();
        return Err(Failure::Refused { status: None, message });
    }
    Err(Failure::transient(FailedAt::Answering, "the answer was empty or cut short"))
}

/// The failure for a stream that ended too soon.
pub fn cut(pulse: &Pulse, error: Option<&OpenAIError>) -> Failure {
    let why = pulse.broken().or_else(|| match error {
        Some(OpenAIError::JSONDeserialize(_, event)) => {
            Some(format!("an event is not JSON: {event}"))
        }
        Some(error) => Some(error.to_string()),
        None => None,
    });
    let message = match why {
        Some(why) => format!("the answer broke off: {why}"),
        None => "the answer broke off without a finish reason".to_owned(),
    };
    Failure::transient(FailedAt::Answering, message)
}
