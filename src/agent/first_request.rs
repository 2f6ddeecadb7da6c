//! The first request names the session and the branch. It is sent before either exists, so a model
//! that cannot answer, stream or call tools is found before anything is created.

use serde_json::{Value, json};

use super::withhold;
use crate::clean::one_line;
use crate::excerpt;
use crate::headings;
use crate::model::{Message, Model, ModelError, Position, Reply, Request, ToolSpec};
use crate::secret::Secrets;
use crate::stage::{Depth, Role};

/// Name of the only tool in the request.
const TOOL: &str = "name_work";
/// Maximum bytes of the idea that are sent: its beginning shows what it is about.
const MOST: usize = 8_000;
/// The hint on what to do once the model can be asked again.
const THEN: &str = "then run the same command again; nothing was changed";

/// The input of the first request.
#[derive(Clone, Debug)]
pub struct FirstRequest {
    /// Name of the session, if the user gave one; else empty.
    pub session: String,
    /// System prompt: what to return about the work.
    pub prompt: String,
    /// The idea or change as the user wrote it.
    pub idea: String,
}

/// The model's description of the work. A field that is missing or not usable is `None`: the idea
/// is used as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstAnswer {
    /// Title of the result: one line, at most eight words.
    pub title: Option<String>,
    /// Proposed branch name: at most four words, not yet a valid name.
    pub name: Option<String>,
    /// English name of the language in which the idea is written.
    pub language: Option<String>,
    /// Proposed depth of the work: `Quick` or `Standard`, never more.
    pub depth: Option<Depth>,
    /// Reason for that depth, in one line; empty if the model gave none.
    pub reason: String,
}

impl FirstRequest {
    /// Asks `model`, with all its retries.
    ///
    /// # Errors
    /// Of kind `Model` if the model did not answer. Old recordings contain no such request: then
    /// the answer is empty, without an error.
    pub async fn ask(&self, model: &dyn Model, secrets: &Secrets) -> anyhow::Result<FirstAnswer> {
        let idea = secrets.withheld(&self.idea);
        let request = Request {
            position: Position {
                session: self.session.clone(),
                stage: None,
                role: Role::Actor,
                iteration: 1,
                task: None,
                turn: 1,
            },
            messages: vec![
                Message::System { content: self.prompt.clone() },
                Message::User {
                    content: headings::set_off(excerpt::beginning(&idea, MOST)).into_owned(),
                },
            ],
            tools: vec![tool()],
            // The same work should get the same name.
            temperature: 0.2,
            workplace: None,
        };
        match model.turn(&request, &|_| {}).await {
            Ok(mut reply) => {
                withhold(secrets, &mut reply);
                Ok(FirstAnswer::read(&reply))
            }
            Err(ModelError::Replay { .. }) => Ok(FirstAnswer::default()),
            Err(error) => Err(error.explained(model.config()).hint(THEN).into()),
        }
    }
}

fn tool() -> ToolSpec {
    let text = || json!({"type": "string"});
    ToolSpec {
        name: TOOL.to_owned(),
        description: "Names the work and says how thorough it should be".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "language": text(),
                "title": text(),
                "name": text(),
                "depth": {"type": "string", "enum": ["quick", "standard"]},
                "reason": text(),
            },
            "required": ["language", "title", "name", "depth", "reason"],
            "additionalProperties": false,
        }),
    }
}

impl FirstAnswer {
    /// Reads a call of the tool, or the same object in the text, with or without a code fence.
    fn read(reply: &Reply) -> Self {
        let call_arguments = reply.tool_calls.iter().map(|call| call.arguments.as_str());
        let in_text = reply.content.find('{').zip(reply.content.rfind('}'));
        let in_text = in_text.and_then(|(from, to)| reply.content.get(from..=to));
        let mut objects = call_arguments.chain(in_text).filter_map(|text| {
            let value: Value = serde_json::from_str(text).ok()?;
            value.is_object().then_some(value)
        });
        objects.next().map(|value| Self::from_json(&value)).unwrap_or_default()
    }

    fn from_json(value: &Value) -> Self {
        let line = |key: &str, most: usize| {
            let line = one_line(value.get(key)?.as_str()?, most);
            Some(line).filter(|line| line.chars().any(char::is_alphanumeric))
        };
        let words = |key: &str, most: usize| {
            let line = line(key, usize::MAX)?;
            let words: Vec<&str> = line.split(' ').take(most).collect();
            Some(words.join(" ").trim_end_matches(['.', ',', ';', ':']).to_owned())
        };
        let depth = line("depth", usize::MAX).and_then(|word| match word.to_lowercase().as_str() {
            "quick" => Some(Depth::Quick),
            "standard" => Some(Depth::Standard),
            _ => None,
        });
        Self {
            title: words("title", 8),
            name: words("name", 4),
            // A long value is a sentence about the language, not its name.
            language: words("language", usize::MAX).filter(|name| name.chars().count() <= 30),
            depth,
            reason: line("reason", 200).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolCall;

    const WHOLE: &str = r#"{"language":"German","title":"Todo-Liste im Terminal.","name":"todo list","depth":"quick","reason":"Small."}"#;

    fn whole() -> FirstAnswer {
        FirstAnswer {
            title: Some("Todo-Liste im Terminal".into()),
            name: Some("todo list".into()),
            language: Some("German".into()),
            depth: Some(Depth::Quick),
            reason: "Small.".into(),
        }
    }

    fn said(text: &str) -> FirstAnswer {
        FirstAnswer::read(&Reply { content: text.into(), ..Reply::default() })
    }

    #[test]
    fn a_call_or_an_object_in_the_text_is_read() {
        let call = ToolCall { id: "1".into(), name: TOOL.into(), arguments: WHOLE.into() };
        let called = Reply { tool_calls: vec![call], ..Reply::default() };
        assert_eq!(FirstAnswer::read(&called), whole());
        assert_eq!(said(WHOLE), whole());
        assert_eq!(said(&format!("Here it is:\n```json\n{WHOLE}\n```\nDone.")), whole());
    }

    #[test]
    fn unusable_answers_are_ignored() {
        for text in ["", "A todo list", "}{", "{not json}", "[1]", r#"{"title": 7, "name": null}"#]
        {
            assert_eq!(said(text), FirstAnswer::default(), "{text}");
        }
        let part = said(r#"{"title": " … ", "depth": "thorough", "name": "todo"}"#);
        assert_eq!(part, FirstAnswer { name: Some("todo".into()), ..FirstAnswer::default() });
    }

    #[test]
    fn names_are_one_short_line() {
        let long = said(
            r#"{"title": "one two\n\u001b[31mthree four five six seven eight, nine ten",
                "name": "a b c d e f", "language": "It is written in the English language, I think",
                "depth": "Standard", "reason": "because\nso"}"#,
        );
        assert_eq!(long.title.unwrap(), "one two three four five six seven eight");
        assert_eq!(long.name.unwrap(), "a b c d");
        assert_eq!((long.language, long.depth), (None, Some(Depth::Standard)));
        assert_eq!(long.reason, "because so");
    }
}
