//! A tool as a row of a table: a name, fields, and a function that does it.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{Access, Answer, Context, Tool};
use crate::model::BoxFuture;
use crate::workspace::{Refusal, RefusalKind};

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Text.
    Text,
    /// Several texts.
    Texts,
    /// One of these.
    Choice(&'static [&'static str]),
    /// Yes or no.
    Flag,
    /// A whole number.
    Number,
    /// Fields of its own.
    Group(&'static [Field]),
    /// Several of them.
    Groups(&'static [Field]),
}

/// One argument of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    name: &'static str,
    kind: Kind,
    about: &'static str,
    required: bool,
}

impl Field {
    /// A field that may be left out. `about` may be empty where the name says it all.
    pub const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, about, required: false }
    }

    /// Text.
    pub const fn text(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Kind::Text, about)
    }

    /// Several texts.
    pub const fn texts(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Kind::Texts, about)
    }

    /// One of several words.
    pub const fn choice(name: &'static str, words: &'static [&'static str]) -> Self {
        Self::new(name, Kind::Choice(words), "")
    }

    /// Must be there.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// With another description.
    #[must_use]
    pub const fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text => json!({"type": "string"}),
            Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Kind::Choice(words) => json!({"type": "string", "enum": words}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::Number => json!({"type": "integer"}),
            Kind::Group(fields) => object(fields),
            Kind::Groups(fields) => json!({"type": "array", "items": object(fields)}),
        };
        if !self.about.is_empty() {
            schema["description"] = json!(self.about);
        }
        schema
    }
}

/// The JSON schema of an object with these fields and no others.
pub fn object(fields: &[Field]) -> Value {
    let properties: Map<_, _> =
        fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    let required: Vec<_> = fields.iter().filter(|f| f.required).map(|f| f.name).collect();
    json!({"type": "object", "properties": properties, "required": required,
           "additionalProperties": false})
}

/// Arguments that fit the tool's schema.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a>(&'a Map<String, Value>);

impl Args<'_> {
    /// All that was given.
    pub fn map(&self) -> &Map<String, Value> {
        self.0
    }

    /// A text, empty when left out.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A text with something in it.
    pub fn some_text(&self, name: &str) -> Option<&str> {
        Some(self.text(name).trim()).filter(|text| !text.is_empty())
    }

    /// A whole number; a negative one counts as zero.
    pub fn number(&self, name: &str) -> Option<u64> {
        let value = self.0.get(name)?;
        value.as_u64().or_else(|| value.as_i64().map(|_| 0))
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// A field as a type, `None` when left out.
    ///
    /// # Errors
    ///
    /// When the field is no such thing.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> anyhow::Result<Option<T>> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let typed = serde_json::from_value(value.clone());
        typed.map(Some).map_err(|error| anyhow::anyhow!("{name}: {error}"))
    }
}

/// A tool that answers at once. An error it returns is a refusal the model reads.
#[derive(Debug)]
pub struct Plain {
    /// Name.
    pub name: &'static str,
    /// What it does, for the model.
    pub description: &'static str,
    /// Whether it only looks.
    pub access: Access,
    /// Arguments.
    pub fields: &'static [Field],
    /// Does it.
    pub run: fn(&mut Context<'_>, Args<'_>) -> anyhow::Result<Answer>,
}

impl Tool for Plain {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn parameters(&self) -> Value {
        object(self.fields)
    }

    fn access(&self) -> Access {
        self.access
    }

    fn call<'a>(&'a self, context: &'a mut Context<'_>, arguments: Value) -> BoxFuture<'a, Answer> {
        let empty = Map::new();
        let args = Args(arguments.as_object().unwrap_or(&empty));
        let done = (self.run)(context, args);
        Box::pin(std::future::ready(answered(context, done)))
    }
}

/// A tool that waits for a command of the project. An error it returns is a refusal the model
/// reads.
#[derive(Debug)]
pub struct Waiting {
    /// Name.
    pub name: &'static str,
    /// What it does, for the model.
    pub description: &'static str,
    /// Arguments.
    pub fields: &'static [Field],
    /// Does it.
    pub run: for<'a> fn(&'a mut Context<'_>, Args<'a>) -> BoxFuture<'a, anyhow::Result<Answer>>,
}

impl Tool for Waiting {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn parameters(&self) -> Value {
        object(self.fields)
    }

    fn access(&self) -> Access {
        Access::Write
    }

    fn call<'a>(&'a self, context: &'a mut Context<'_>, arguments: Value) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let empty = Map::new();
            let args = Args(arguments.as_object().unwrap_or(&empty));
            let done = (self.run)(context, args).await;
            answered(context, done)
        })
    }
}

/// What a tool says back; what a guard refused is counted.
fn answered(context: &mut Context<'_>, done: anyhow::Result<Answer>) -> Answer {
    done.unwrap_or_else(|error| {
        let refusal = error.downcast_ref::<Refusal>();
        if refusal.is_some_and(|refusal| refusal.kind == RefusalKind::Guard) {
            context.outcome.guard_refusals += 1;
        }
        Answer::refused(format!("{error:#}"))
    })
}

/// A table of plain tools as tools.
pub fn rows(table: &'static [Plain]) -> impl Iterator<Item = &'static dyn Tool> {
    table.iter().map(|tool| tool as &dyn Tool)
}
