//! Chooses the dialect of a server, and follows what the server says about it.

use std::cell::Cell;

use super::Dialect;
use crate::config::{ANTHROPIC, Api, ModelConfig};

/// What an error of a server shows about its API dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialectHint {
    /// Use the other dialect, or this one without reasoning when tools are offered.
    OrWithoutReasoning,
    /// Do not use this dialect.
    Only,
}

/// The dialect of one model on one server. It changes at most once, and back if it must.
#[derive(Debug)]
pub struct DialectChoice {
    api: Api,
    learnt: Cell<Learnt>,
}

#[derive(Clone, Copy, Debug)]
struct Learnt {
    dialect: Dialect,
    /// The server has no Responses API.
    no_responses: bool,
    /// The server has a Responses API: it answered there.
    responded: bool,
    /// The server's chat completions accept tools only without reasoning.
    chat_refuses: bool,
    /// Requests are sent without reasoning.
    no_reasoning: bool,
}

impl DialectChoice {
    /// The dialect configured for a model.
    pub fn configured(config: &ModelConfig) -> Self {
        let api = match config.api {
            Api::Auto if config.provider == ANTHROPIC => Api::Messages,
            api => api,
        };
        Self::new(api, &config.base_url)
    }

    fn new(api: Api, base_url: &str) -> Self {
        let dialect = match api {
            Api::Auto => Dialect::usual(base_url),
            Api::Chat => Dialect::Chat,
            Api::Responses => Dialect::Responses,
            Api::Messages => Dialect::Messages,
        };
        let learnt = Learnt {
            dialect,
            no_responses: false,
            responded: false,
            chat_refuses: false,
            no_reasoning: false,
        };
        Self { api, learnt: Cell::new(learnt) }
    }

    /// The dialect of the next request.
    pub fn dialect(&self) -> Dialect {
        self.learnt.get().dialect
    }

    /// True if requests with tools are sent without reasoning.
    pub fn gives_up_reasoning(&self) -> bool {
        self.learnt.get().no_reasoning
    }

    /// Records that the server answered, so it has the API of this dialect, whatever it says later.
    pub fn answered(&self) {
        let learnt = self.learnt.get();
        let has_responses = learnt.responded || learnt.dialect == Dialect::Responses;
        self.learnt.set(Learnt { responded: has_responses, ..learnt });
    }

    /// Follows what a server says about the dialect; returns the message for the user. None if
    /// nothing is left to try. No change is made twice, so this ends.
    pub fn turn(&self, how: DialectHint, model: &str) -> Option<String> {
        let mut now = self.learnt.get();
        let auto = self.api == Api::Auto;
        let line = match now.dialect {
            Dialect::Chat => {
                now.chat_refuses |= how == DialectHint::OrWithoutReasoning;
                if auto && !now.no_responses && !now.responded {
                    now.dialect = Dialect::Responses;
                    Some(format!("using the Responses API for {model}, as its server requires"))
                } else {
                    self.without_reasoning(&mut now, how == DialectHint::OrWithoutReasoning, model)
                }
            }
            Dialect::Responses if auto && !now.responded => {
                now.no_responses = true;
                now.dialect = Dialect::Chat;
                let must_drop = now.chat_refuses;
                self.without_reasoning(&mut now, must_drop, model).or_else(|| {
                    let why = "the model server has no Responses API";
                    Some(format!("{why}: using chat completions for {model}"))
                })
            }
            Dialect::Responses | Dialect::Messages => None,
        };
        self.learnt.set(now);
        line
    }

    fn without_reasoning(&self, now: &mut Learnt, must_drop: bool, model: &str) -> Option<String> {
        if !must_drop || now.no_reasoning {
            return None;
        }
        now.no_reasoning = true;
        let why = match self.api {
            Api::Chat => "llm.api is \"chat\"",
            Api::Auto | Api::Responses | Api::Messages => "the model server has no Responses API",
        };
        Some(format!(
            "{why}, and on chat completions {model} accepts tools only without reasoning: \
             sending reasoning_effort \"none\""
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DialectHint::{Only, OrWithoutReasoning};

    const LOCAL: &str = "http://127.0.0.1:1/v1";
    const HOSTED: &str = "https://api.openai.com/v1";

    #[test]
    fn a_server_that_requires_responses_keeps_using_it() {
        let choice = DialectChoice::new(Api::Auto, LOCAL);
        assert_eq!(choice.dialect(), Dialect::Chat);
        assert!(choice.turn(OrWithoutReasoning, "m").unwrap().contains("Responses"));
        assert_eq!(choice.dialect(), Dialect::Responses);
        choice.answered();
        // A missing address later on is an error, not another change.
        assert_eq!(choice.turn(Only, "m"), None);
        assert_eq!(choice.dialect(), Dialect::Responses);
    }

    #[test]
    fn reasoning_is_switched_off_once_if_only_chat_works() {
        let choice = DialectChoice::new(Api::Auto, LOCAL);
        choice.turn(OrWithoutReasoning, "m").unwrap();
        let line = choice.turn(Only, "m").unwrap();
        assert!(line.contains("no Responses API") && line.contains("\"none\""), "{line}");
        assert_eq!((choice.dialect(), choice.gives_up_reasoning()), (Dialect::Chat, true));
        assert_eq!(choice.turn(OrWithoutReasoning, "m"), None);

        let chat = DialectChoice::new(Api::Chat, HOSTED);
        let line = chat.turn(OrWithoutReasoning, "m").unwrap();
        assert!(line.starts_with("llm.api is \"chat\""), "{line}");
        assert_eq!((chat.dialect(), chat.gives_up_reasoning()), (Dialect::Chat, true));
        assert_eq!(chat.turn(OrWithoutReasoning, "m"), None);
        assert_eq!(DialectChoice::new(Api::Chat, HOSTED).turn(Only, "m"), None);
    }

    #[test]
    fn a_server_without_responses_gets_chat_requests() {
        let choice = DialectChoice::new(Api::Auto, HOSTED);
        assert_eq!(choice.dialect(), Dialect::Responses);
        assert!(choice.turn(Only, "m").unwrap().contains("chat completions"));
        assert_eq!((choice.dialect(), choice.gives_up_reasoning()), (Dialect::Chat, false));
        assert!(choice.turn(OrWithoutReasoning, "m").unwrap().contains("\"none\""));
        assert_eq!((choice.dialect(), choice.gives_up_reasoning()), (Dialect::Chat, true));
        assert_eq!(DialectChoice::new(Api::Responses, LOCAL).turn(Only, "m"), None);
    }

    #[test]
    fn the_anthropic_provider_uses_messages_unless_configured_otherwise() {
        let of = |provider: &str, api| {
            let (provider, base_url) = (provider.to_owned(), LOCAL.to_owned());
            let config = ModelConfig { provider, base_url, api, ..ModelConfig::default() };
            DialectChoice::configured(&config)
        };
        assert_eq!(of("anthropic", Api::Auto).dialect(), Dialect::Messages);
        assert_eq!(of("anthropic", Api::Auto).turn(Only, "m"), None);
        assert_eq!(of("anthropic", Api::Chat).dialect(), Dialect::Chat);
        assert_eq!(of("openai", Api::Messages).dialect(), Dialect::Messages);
        assert_eq!(of("openai", Api::Auto).dialect(), Dialect::Chat);
    }
}
