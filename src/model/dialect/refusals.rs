//! What a server has refused, so that it is no longer sent, and how refusals are recognised.

use super::learned::LearnedFields;

/// What a server has refused, so that it is no longer sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// No `temperature`.
    pub temperature: bool,
    /// No `stream_options`.
    pub stream_options: bool,
    /// No `parallel_tool_calls`.
    pub parallel_tool_calls: bool,
    /// Tool schemas reduced to the keywords every server knows.
    pub schema: bool,
    /// No streaming.
    pub stream: bool,
    /// What was learned about fields of earlier answers.
    pub opaque: LearnedFields,
    /// Thinking cannot be combined with tools: `reasoning_effort` is "none" (chat).
    pub reasoning: bool,
    /// No encrypted thoughts (Responses).
    pub include: bool,
    /// No ids in items from the server (Responses).
    pub item_ids: bool,
    /// No items from the server at all (Responses).
    pub items: bool,
    /// No tools: they are described in the text.
    pub tools: bool,
    /// Only call ids with nine letters and digits.
    pub short_ids: bool,
    /// Only parameters that every server accepts.
    pub bare: bool,
    /// No cache marks.
    pub cache: bool,
    /// Limit for the tokens of an answer.
    pub max_tokens: Option<u64>,
    /// `max_completion_tokens` instead of `max_tokens` (chat).
    pub completion_tokens: bool,
    /// No adaptive thinking (Messages).
    pub adaptive: bool,
    /// No thinking, because earlier answers lack the thoughts that the server expects in them
    /// (Messages).
    pub thinking: bool,
}

impl Refusals {
    /// The refusals for a new conversation, where problems with the thoughts of an earlier one no
    /// longer matter.
    pub fn for_new_conversation(self) -> Self {
        Self { thinking: false, opaque: self.opaque.for_new_conversation(), ..self }
    }

    /// The refusals for a request without any optional parameter.
    pub fn bare_minimum(self) -> Self {
        Self {
            temperature: true,
            stream_options: true,
            parallel_tool_calls: true,
            schema: true,
            include: true,
            bare: true,
            cache: true,
            adaptive: true,
            ..self
        }
    }

    /// The limit for an answer: `tokens`, or less if the server allows only less.
    pub fn at_most(self, tokens: u64) -> u64 {
        self.max_tokens.map_or(tokens, |limit| tokens.min(limit))
    }

    /// Finds the parameter that an error message (in lower case) refuses, among the configured
    /// parameters and those of Messages. Returns its name, as shown to the user, and the new
    /// refusals.
    pub fn objection(self, message: &str) -> Option<(&'static str, Self)> {
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        if !self.cache && says(&["cache_control"]) {
            return Some(("cache marks", Self { cache: true, ..self }));
        }
        if !self.completion_tokens && says(&["max_completion_tokens' instead"]) {
            return Some(("max_tokens", Self { completion_tokens: true, ..self }));
        }
        if let Some(limit) = token_limit(message)
            && self.max_tokens.is_none_or(|other| limit < other)
        {
            return Some(("such a large max_tokens", Self { max_tokens: Some(limit), ..self }));
        }
        if !self.adaptive && says(&["adaptive thinking is not supported"]) {
            return Some(("adaptive thinking", Self { adaptive: true, ..self }));
        }
        let thoughtless = ["expected `thinking`", "`content[].thinking` in the thinking mode"];
        if !self.thinking && says(&thoughtless) {
            let name = "thinking when earlier answers contain none";
            return Some((name, Self { thinking: true, ..self }));
        }
        None
    }
}

/// The maximum number of tokens for an answer, if the error message gives one.
fn token_limit(message: &str) -> Option<u64> {
    if !message.contains("max_tokens") || message.contains("context") {
        return None;
    }
    ["> ", "at most ", "[1, ", "less than or equal to "].iter().find_map(|before| {
        let (_, after) = message.split_once(before)?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|limit| *limit > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Refusals = Refusals {
        temperature: false,
        stream_options: false,
        parallel_tool_calls: false,
        schema: false,
        stream: false,
        opaque: LearnedFields::NONE,
        reasoning: false,
        include: false,
        item_ids: false,
        items: false,
        tools: false,
        short_ids: false,
        bare: false,
        cache: false,
        max_tokens: None,
        completion_tokens: false,
        adaptive: false,
        thinking: false,
    };

    #[test]
    fn each_objection_is_understood_once() {
        for (message, want) in [
            (
                "tools.3.cache_control: extra inputs are not permitted",
                Refusals { cache: true, ..NONE },
            ),
            (
                "unsupported parameter: 'max_tokens' is not supported with this model. use \
                 'max_completion_tokens' instead.",
                Refusals { completion_tokens: true, ..NONE },
            ),
            (
                "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens \
                 for claude-3-5-haiku-20241022",
                Refusals { max_tokens: Some(8192), ..NONE },
            ),
            (
                "invalid max_tokens value, the valid range of max_tokens is [1, 4096]",
                Refusals { max_tokens: Some(4096), ..NONE },
            ),
            (
                "max_tokens is too large: 32000. this model supports at most 16384 completion \
                 tokens, whereas you provided 32000.",
                Refusals { max_tokens: Some(16384), ..NONE },
            ),
            (
                "adaptive thinking is not supported on this model",
                Refusals { adaptive: true, ..NONE },
            ),
            (
                "messages.3.content.0.type: expected `thinking` or `redacted_thinking`, but found \
                 `tool_use`.",
                Refusals { thinking: true, ..NONE },
            ),
        ] {
            let (_, refusals) = NONE.objection(message).unwrap();
            assert_eq!(refusals, want, "{message}");
            assert_eq!(refusals.objection(message), None, "{message}");
        }
        for message in [
            "messages: roles must alternate",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
        ] {
            assert_eq!(NONE.objection(message), None, "{message}");
        }
    }

    #[test]
    fn a_new_conversation_thinks_again() {
        let (_, opaque) =
            LearnedFields::NONE.refusal("Invalid `signature` in `thinking` block").unwrap();
        let refused = Refusals { thinking: true, cache: true, opaque, ..NONE };
        assert!(refused.opaque.refuses("thinking_blocks"));
        assert_eq!(refused.for_new_conversation(), Refusals { cache: true, ..NONE });
    }
}
