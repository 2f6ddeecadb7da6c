//! The first request: made before there is a session or a branch, so that these have names, and so
//! that what cannot answer, stream or call tools is known before anything is created.

use serde_json::{Value, json};

use super::failure::model_failure;
use super::withhold;
use crate::clean::one_line;
use crate::excerpt;
use crate::model::{Message, Model, ModelError, Position, Reply, Request, ToolSpec};
use crate::secret::Secrets;
use crate::stage::{Depth, Role};

/// The one tool on offer.
const TOOL: &str = "name_work";
/// Most bytes of the idea that are sent: its beginning says what it is about.
const MOST: usize = 8_000;
/// What a person does when the model can be asked again.
const THEN: &str = "then give the same command again; nothing was changed";

/// What is asked.
#[derive(Clone, Debug)]
pub struct FirstRequest {
    /// Name of the session, where a person gave one; else empty.
    pub session: String,
    /// What to say about the work.
    pub prompt: String,
    /// The idea or change as a person wrote it.
    pub idea: String,
}

/// What a model says of the work before it begins. What it left out, or said in a form that cannot
/// be used, is `None`: then the idea speaks for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstAnswer {
    /// What comes out of the work: one line, at most eight words.
    pub title: Option<String>,
    /// What the branch is to be called: at most four words, not a valid name yet.
    pub name: Option<String>,
    /// The language of the idea, by its English name.
    pub language: Option<String>,
    /// How thorough the work should be: `Quick` or `Standard`, never more.
    pub depth: Option<Depth>,
    /// Why that depth, in one line; empty where no reason was given.
    pub reason: String,
}

impl FirstRequest {
    /// Asks `model`, with all its retries.
    ///
    /// # Errors
    /// Of kind `Model`: it did not answer. A recording that was made before there was such a request
    /// answers nothing, which is no error.
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
                Message::User { content: excerpt::beginning(&idea, MOST).to_owned() },
            ],
            tools: vec![tool()],
            // The same work is to get the same name.
            temperature: 0.2,
            workplace: None,
        };
        match model.turn(&request, &|_| {}).await {
            Ok(mut reply) => {
                withhold(secrets, &mut reply);
                Ok(FirstAnswer::read(&reply))
            }
            Err(ModelError::Replay { .. }) => Ok(FirstAnswer::default()),
            Err(error) => Err(model_failure(error, THEN)),
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
    /// Reads a call of the tool, or the same object in the text, in a fence or not.
    fn read(reply: &Reply) -> Self {
        let called = reply.tool_calls.iter().map(|call| call.arguments.as_str());
        let written = reply.content.find('{').zip(reply.content.rfind('}'));
        let written = written.and_then(|(from, to)| reply.content.get(from..=to));
        let mut objects = called.chain(written).filter_map(|text| {
            let value: Value = serde_json::from_str(text).ok()?;
            value.is_object().then_some(value)
        });
        objects.next().map(|value| Self::of(&value)).unwrap_or_default()
    }

    fn of(value: &Value) -> Self {
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
            // A sentence about the language is none.
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
    fn what_cannot_be_used_is_left_to_the_idea() {
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
