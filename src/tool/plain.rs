//! A tool as a row of a table: a name, what it is for, and a function. What the function takes is one
//! struct, of which the schema that models see and the reading of their arguments are both made.

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Answer, Context, Effect, Tool};
use crate::artifact::{
    Category, FeatureStatus, FeedbackType, Priority, Risk, Severity, TaskStatus,
};
use crate::model::BoxFuture;
use crate::stage::Stage;
use crate::stages::REWIND_NAMES;
use crate::workspace::{Refusal, RefusalKind};

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
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
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The lines of its doc comment; none where the name says it all.
    pub(super) about: &'static [&'static str],
    pub(super) required: bool,
}

impl Field {
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
            let lines: Vec<_> = self.about.iter().map(|line| line.trim()).collect();
            schema["description"] = json!(lines.join(" "));
        }
        schema
    }
}

/// The JSON schema of an object with these fields, in as few bytes as may be: it is in every request.
/// What is unknown is answered when a tool is called ([`super::fit`]).
fn object(fields: &[Field]) -> Value {
    let properties: Map<_, _> =
        fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    let required: Vec<_> = fields.iter().filter(|f| f.required).map(|f| f.name).collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// What a tool takes. Declared with [`arguments!`].
pub(super) trait Arguments: DeserializeOwned {
    /// Its fields, in their order.
    const FIELDS: &'static [Field];
}

/// What a field of arguments can be.
pub(super) trait Argument {
    /// How the schema names it.
    const KIND: Kind;
    /// Whether it must be there.
    const REQUIRED: bool = true;
}

impl<T: Argument> Argument for Option<T> {
    const KIND: Kind = T::KIND;
    const REQUIRED: bool = false;
}

impl<T: Arguments> Argument for Vec<T> {
    const KIND: Kind = Kind::Groups(T::FIELDS);
}

/// Types that are a field as they are.
macro_rules! kinds {
    ($($type:ty: $kind:expr;)+) => {
        $(impl Argument for $type {
            const KIND: Kind = $kind;
        })+
    };
}

kinds! {
    String: Kind::Text;
    Vec<String>: Kind::Texts;
    bool: Kind::Flag;
    Number: Kind::Number;
    Severity: Kind::Choice(&["critical", "major", "minor"]);
    FeedbackType: Kind::Choice(&["build_error", "quality_issue", "missing_requirement", "suggestion"]);
    // Those one can go back to.
    Stage: Kind::Choice(&REWIND_NAMES);
    Priority: Kind::Choice(&["high", "medium", "low"]);
    Category: Kind::Choice(&["functional", "non_functional"]);
    Risk: Kind::Choice(&["low", "medium", "high"]);
    // Check and delivery set the others.
    FeatureStatus: Kind::Choice(&["planned", "in_progress", "implemented"]);
    TaskStatus: Kind::Choice(&["pending", "in_progress", "completed", "blocked"]);
}

/// A whole number; a negative one counts as zero.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Number(pub(super) u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        Ok(Self(number.as_u64().unwrap_or_default()))
    }
}

/// Declares what a tool takes: an `Option` may be left out, and a field's doc comment is its
/// description for the model.
macro_rules! arguments {
    ($(
        $(#[doc = $meaning:literal])*
        $name:ident { $($(#[doc = $about:literal])* $field:ident: $type:ty,)* }
    )+) => {$(
        $(#[doc = $meaning])*
        #[derive(Debug, serde::Deserialize, serde::Serialize)]
        pub(super) struct $name {
            $($(#[doc = $about])* pub(super) $field: $type,)*
        }

        impl $crate::tool::plain::Arguments for $name {
            const FIELDS: &'static [$crate::tool::plain::Field] = &[$(
                $crate::tool::plain::Field {
                    name: stringify!($field),
                    kind: <$type as $crate::tool::plain::Argument>::KIND,
                    about: &[$($about),*],
                    required: <$type as $crate::tool::plain::Argument>::REQUIRED,
                },
            )*];
        }
    )+};
}

pub(super) use arguments;

arguments! {
    /// Of a tool that takes none.
    Nothing {}
}

/// A text with something in it, without white space around it.
pub(super) fn some(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// A tool that answers at once. An error it returns is a refusal the model reads.
#[derive(Debug)]
pub(super) struct Plain<T> {
    /// Name.
    pub(super) name: &'static str,
    /// What it does, for the model.
    pub(super) description: &'static str,
    /// What it does beyond answering.
    pub(super) effect: Effect,
    /// Does it.
    pub(super) run: fn(&mut Context<'_>, T) -> anyhow::Result<Answer>,
}

impl<T: Arguments> Tool for Plain<T> {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        self.description
    }

    fn parameters(&self) -> Value {
        object(T::FIELDS)
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn call<'a>(&'a self, context: &'a mut Context<'_>, arguments: Value) -> BoxFuture<'a, Answer> {
        let done = read(arguments).and_then(|arguments| (self.run)(context, arguments));
        Box::pin(std::future::ready(answered(context, done)))
    }
}

/// A tool that waits for a command of the project. An error it returns is a refusal the model
/// reads.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    /// Name.
    pub(super) name: &'static str,
    /// What it does, for the model.
    pub(super) description: &'static str,
    /// Does it.
    pub(super) run: for<'a> fn(&'a mut Context<'_>, T) -> BoxFuture<'a, anyhow::Result<Answer>>,
}

impl<T: Arguments> Tool for Waiting<T> {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        self.description
    }

    fn parameters(&self) -> Value {
        object(T::FIELDS)
    }

    fn effect(&self) -> Effect {
        Effect::Acts
    }

    fn call<'a>(&'a self, context: &'a mut Context<'_>, arguments: Value) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let done = match read(arguments) {
                Ok(arguments) => (self.run)(context, arguments).await,
                Err(error) => Err(error),
            };
            answered(context, done)
        })
    }
}

/// Arguments that fit the schema, as the struct it was made of.
fn read<T: Arguments>(arguments: Value) -> anyhow::Result<T> {
    Ok(serde_json::from_value(arguments)?)
}

/// What a tool says back; what a guard refused is counted.
pub(super) fn answered(context: &mut Context<'_>, done: anyhow::Result<Answer>) -> Answer {
    done.unwrap_or_else(|error| {
        let refusal = error.downcast_ref::<Refusal>();
        if refusal.is_some_and(|refusal| refusal.kind == RefusalKind::Guard) {
            context.outcome.guard_refusals += 1;
        }
        Answer::refused(format!("{error:#}"))
    })
}
