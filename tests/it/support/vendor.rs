//! Vendors of thinking models: each response with calls contains an opaque value. A request that
//! sends the response back without it, or to another model, is refused with the vendor's error
//! message.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::reply::Reply;
use super::sandbox::Sandbox;
use super::server::Received;
use super::todo::lingers;

/// The vendor whose behaviour the server imitates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// A signature at the first call of a response.
    Gemini,
    /// The thought, at every message with calls.
    DeepSeek,
}

/// A response that was given.
#[derive(Clone, Debug)]
struct Given {
    model: String,
    calls: Vec<String>,
    opaque: String,
}

/// The requests that a vendor's server has received.
#[derive(Clone, Default)]
pub struct Seen {
    given: Arc<Mutex<Vec<Given>>>,
    refused: Arc<Mutex<Vec<String>>>,
    taken: Arc<Mutex<usize>>,
}

impl Seen {
    /// Why requests were refused, in order.
    pub fn refused(&self) -> Vec<String> {
        self.refused.lock().unwrap().clone()
    }

    /// The number of opaque values that came back correctly.
    pub fn taken(&self) -> usize {
        *self.taken.lock().unwrap()
    }
}

impl Vendor {
    /// Makes the sandbox's server behave like this vendor.
    pub fn serves(self, sandbox: &Sandbox) -> Seen {
        let seen = Seen::default();
        let ours = seen.clone();
        sandbox.server.manner(move |received, reply| match self.refusal(received, &ours) {
            // In a conversation of one turn, thoughts never come back.
            None => self.sealed(received, lingers(received, reply), &ours),
            Some(words) => {
                ours.refused.lock().unwrap().push(words.clone());
                Reply::status(400, &words)
            }
        });
        seen
    }

    fn sealed(self, received: &Received, reply: Reply, seen: &Seen) -> Reply {
        if reply.calls.is_empty() {
            return reply;
        }
        let model = received.body["model"].as_str().unwrap().to_owned();
        let mut given = seen.given.lock().unwrap();
        let opaque = format!("thought-{}-of-{model}", given.len() + 1);
        let calls = reply.calls.iter().map(|call| call.name.clone()).collect();
        given.push(Given { model, calls, opaque: opaque.clone() });
        match self {
            Self::Gemini => {
                reply.seal(json!({"extra_content": {"google": {"thought_signature": opaque}}}))
            }
            Self::DeepSeek => {
                let (first, rest) = opaque.split_at(5);
                reply
                    .thought(json!({"reasoning_content": first}))
                    .thought(json!({"reasoning_content": rest}))
            }
        }
    }

    /// The vendor's reason to refuse a request.
    fn refusal(self, received: &Received, seen: &Seen) -> Option<String> {
        let model = received.body["model"].as_str().unwrap();
        let given = seen.given.lock().unwrap();
        let foreign = given.iter().find(|given| {
            given.model != model && received.body.to_string().contains(&given.opaque)
        });
        if let Some(foreign) = foreign {
            return Some(format!("{model} was sent {}", foreign.opaque));
        }
        let called = |m: &&Value| m["role"] == "assistant" && m["tool_calls"].is_array();
        for (at, message) in received.messages().iter().filter(called).enumerate() {
            let (opaque, missing, stand_in) = match self {
                Self::Gemini => (
                    &message["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
                    "Function call is missing a thought_signature in functionCall parts. This is \
                     required for tools to work correctly."
                        .to_owned(),
                    "skip_thought_signature_validator",
                ),
                Self::DeepSeek => (
                    &message["reasoning_content"],
                    format!(
                        "Missing `reasoning_content` field in the assistant message at message \
                         index {at}"
                    ),
                    "",
                ),
            };
            let Some(opaque) = opaque.as_str() else { return Some(missing) };
            let names: Vec<&str> = message["tool_calls"]
                .as_array()
                .unwrap()
                .iter()
                .map(|call| call["function"]["name"].as_str().unwrap())
                .collect();
            let known = given.iter().find(|given| given.opaque == opaque);
            match known {
                Some(known) if known.calls == names => *seen.taken.lock().unwrap() += 1,
                Some(known) => {
                    return Some(format!("{opaque} is of {:?}, not {names:?}", known.calls));
                }
                None if opaque == stand_in => {
                    // A stand-in is allowed only for responses of other models.
                    let ours = |given: &Given| given.model == model && given.calls == names;
                    if given.iter().any(ours) {
                        return Some(format!("a stand-in for what {model} was given: {names:?}"));
                    }
                }
                None => return Some(format!("Invalid `signature`: {opaque}")),
            }
        }
        None
    }
}
