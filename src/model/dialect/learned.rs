//! What a server has said about fields of earlier answers: which field it refuses, and which it
//! reports as missing. The phrases are those of the vendors.

/// The thinking field of DeepSeek, Kimi, GLM, llama.cpp and others.
pub const REASONING_CONTENT: &str = "reasoning_content";
/// The thinking field of OpenRouter, vLLM, Ollama, Groq, Cerebras and others.
pub const REASONING: &str = "reasoning";
/// The thinking field of OpenRouter, and of MiniMax with split reasoning.
pub const REASONING_DETAILS: &str = "reasoning_details";

/// Fields that some server has refused by name.
const FIELDS: [&str; 8] = [
    REASONING_CONTENT,
    REASONING,
    REASONING_DETAILS,
    "reasoning_text",
    "reasoning_opaque",
    "thinking_blocks",
    "extra_content",
    "provider_specific_fields",
];

/// Phrases for a missing field; "required" alone is not one, since strict servers use it for other
/// fields.
const MISSED: [&str; 3] = ["must be passed back", "missing `", "is missing"];

/// What a server has said about fields of earlier answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LearnedFields {
    /// The refused fields of [`FIELDS`], one bit each.
    refused: u8,
    /// The server refuses all fields of earlier answers.
    all: bool,
    /// The server requires a `reasoning_content` in every message with calls.
    reasoning: bool,
    /// The server requires a signature in the first call of every message.
    signature: bool,
    /// The server no longer accepts signed thoughts in this conversation.
    unsigned: bool,
}

/// Fields with signed thoughts.
const SIGNED: [&str; 2] = ["thinking_blocks", REASONING_DETAILS];

impl LearnedFields {
    /// Nothing learned yet.
    #[cfg(test)]
    pub const NONE: Self =
        Self { refused: 0, all: false, reasoning: false, signature: false, unsigned: false };

    /// What stays learned in a new conversation, which may have signed thoughts again.
    pub fn for_new_conversation(self) -> Self {
        Self { unsigned: false, ..self }
    }

    /// Learns from a refusal that names a field; also returns the field's name, for a message.
    pub fn refusal(self, words: &str) -> Option<(&'static str, Self)> {
        let words = words.to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
        let refuses_it = [
            "unsupported",
            "not supported",
            "not permitted",
            "not allowed",
            "forbidden",
            "unknown",
            "unrecognized",
            "unexpected",
            "wrong_api_format",
            "invalid `signature`",
            "cannot be modified",
        ];
        if says(&MISSED) || !says(&refuses_it) {
            return None;
        }
        if says(&["invalid `signature`", "`redacted_thinking` blocks in the latest"]) {
            let learned_fields = Self { unsigned: true, ..self };
            return (!self.unsigned).then_some(("the signatures of thoughts", learned_fields));
        }
        let identifiers: Vec<&str> =
            words.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let field = FIELDS.iter().find(|field| identifiers.contains(field))?;
        self.without(bits(|other| other == *field), field)
    }

    /// Learns from a refusal that names none of [`FIELDS`].
    pub fn refusal_of_something(self, words: &str) -> Option<(&'static str, Self)> {
        let words = words.to_lowercase();
        let strict = ["extra inputs", "extra_forbidden", "wrong_api_format"];
        let new = !self.all && strict.iter().any(|strict| words.contains(strict));
        new.then_some(("the fields of earlier answers", Self { all: true, ..self }))
    }

    /// Learns from an error about a missing field; also returns its name, for a message.
    pub fn wish(self, words: &str) -> Option<(&'static str, Self)> {
        let words = words.to_lowercase();
        if !MISSED.iter().any(|phrase| words.contains(phrase)) {
            return None;
        }
        if words.contains("thought_signature") || words.contains("thoughtsignature") {
            let wish = Self { signature: true, ..self };
            return (!self.signature).then_some(("`thought_signature`", wish));
        }
        let is_refused = self.all || self.refused & bits(|field| field == REASONING_CONTENT) != 0;
        let new = !self.reasoning && !is_refused && words.contains(REASONING_CONTENT);
        new.then_some(("`reasoning_content`", Self { reasoning: true, ..self }))
    }

    /// True if it requires a `reasoning_content` in every message with calls.
    pub fn wants_reasoning(self) -> bool {
        self.reasoning
    }

    /// True if it requires a signature in the first call of every message.
    pub fn wants_signatures(self) -> bool {
        self.signature
    }

    fn without(self, bits: u8, name: &'static str) -> Option<(&'static str, Self)> {
        let bits_refused = self.refused | bits;
        (bits_refused != self.refused).then_some((name, Self { refused: bits_refused, ..self }))
    }

    /// True if it refuses a field.
    pub fn refuses(self, field: &str) -> bool {
        self.all
            || self.unsigned && SIGNED.contains(&field)
            || self.refused & bits(|other| other == field) != 0
    }
}

fn bits(selects: impl Fn(&str) -> bool) -> u8 {
    FIELDS.iter().enumerate().filter(|(_, field)| selects(field)).map(|(n, _)| 1 << n).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: LearnedFields = LearnedFields::NONE;

    #[test]
    fn a_field_that_is_named_is_refused_once() {
        for (words, field) in [
            ("property 'reasoning_content' is unsupported", REASONING_CONTENT),
            ("body.messages.2.reasoning: Extra inputs are not permitted", REASONING),
            ("wrong_api_format: messages.1.reasoning_content is not supported", REASONING_CONTENT),
            (
                r#"[{"type":"missing","msg":"Field required"},{"type":"extra_forbidden","loc":
                ["body","messages",2,"assistant","reasoning_details"]}]"#,
                REASONING_DETAILS,
            ),
        ] {
            let (name, learned) = NONE.refusal(words).unwrap();
            assert_eq!(name, field);
            assert!(FIELDS.iter().all(|other| learned.refuses(other) == (*other == field)));
            assert_eq!(learned.refusal(words), None);
            assert_eq!(learned.wish(words), None);
        }
        let (_, learned) = NONE.refusal("Invalid `signature` in `thinking` block").unwrap();
        assert!(learned.refuses("thinking_blocks") && !learned.refuses(REASONING));
        assert!(!learned.for_new_conversation().refuses("thinking_blocks"));
        let modified = "`thinking` or `redacted_thinking` blocks in the latest assistant message \
            cannot be modified.";
        assert_eq!(NONE.refusal(modified).unwrap().1, learned);
    }

    #[test]
    fn a_field_that_is_missed_is_not_refused() {
        for words in [
            "Missing `reasoning_content` field in the assistant message at message index 3",
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            "thinking is enabled but reasoning_content is missing in assistant tool call message \
             at index 2; other fields are not supported",
        ] {
            assert_eq!(NONE.refusal(words), None, "{words}");
            let (_, learned) = NONE.wish(words).unwrap();
            assert!(learned.wants_reasoning() && !learned.wants_signatures());
            assert_eq!(learned.wish(words), None);
        }
        let gemini = "Function call is missing a thought_signature in functionCall parts.";
        assert!(NONE.wish(gemini).unwrap().1.wants_signatures());
    }

    #[test]
    fn unrelated_errors_refuse_no_fields() {
        for words in [
            "Unsupported parameter: 'max_tokens' is not supported with this model",
            "Function tools with reasoning_effort are not supported",
            "the model `x` is missing",
        ] {
            assert_eq!((NONE.refusal(words), NONE.wish(words)), (None, None), "{words}");
            assert_eq!(NONE.refusal_of_something(words), None, "{words}");
        }
        let (_, learned) = NONE.refusal_of_something("extra_forbidden: messages.2.x_seal").unwrap();
        assert!(learned.refuses("x_seal"));
        assert_eq!(learned.refusal_of_something("Extra inputs are not permitted"), None);
    }
}
