//! A tool as a row of a table: a name, a description and a function. The function's arguments are
//! one struct, which defines both the schema for models and the parsing of their arguments.

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

/// Type of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Text.
    Text,
    /// A list of texts.
    Texts,
    /// One of these.
    Choice(&'static [&'static str]),
    /// Yes or no.
    Flag,
    /// A whole number.
    Number,
    /// An object with these fields.
    Group(&'static [Field]),
    /// A list of such objects.
    Groups(&'static [Field]),
}

/// One argument of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The lines of its doc comment; empty if the name is enough.
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

/// The JSON schema of an object with these fields, as short as possible, since it is in every
/// request. Unknown fields are handled when a tool is called ([`super::fit`]).
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

/// The arguments of a tool. Declared with [`arguments!`].
pub(super) trait Arguments: DeserializeOwned {
    /// The fields, in order.
    const FIELDS: &'static [Field];
}

/// A type that an argument can have.
pub(super) trait Argument {
    /// The type in the schema.
    const KIND: Kind;
    /// True if it is required.
    const REQUIRED: bool = true;
}

impl<T: Argument> Argument for Option<T> {
    const KIND: Kind = T::KIND;
    const REQUIRED: bool = false;
}

impl<T: Arguments> Argument for Vec<T> {
    const KIND: Kind = Kind::Groups(T::FIELDS);
}

/// Types that can be used as a field directly, without a conversion.
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
    // Only the stages that a model can go back to.
    Stage: Kind::Choice(&REWIND_NAMES);
    Priority: Kind::Choice(&["high", "medium", "low"]);
    Category: Kind::Choice(&["functional", "non_functional"]);
    Risk: Kind::Choice(&["low", "medium", "high"]);
    // Only check and delivery set the other statuses.
    FeatureStatus: Kind::Choice(&["planned", "in_progress", "implemented"]);
    TaskStatus: Kind::Choice(&["pending", "in_progress", "completed", "blocked"]);
}

/// A whole number; negative numbers become zero.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Number(pub(super) u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        Ok(Self(number.as_u64().unwrap_or_default()))
    }
}

/// Declares the arguments of a tool: an `Option` may be left out, and a field's doc comment is its
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
    /// Arguments of a tool that takes none.
    Nothing {}
}

/// A non-empty text, trimmed.
pub(super) fn some(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// A tool that answers immediately. An error is returned to the model as a refusal.
#[derive(Debug)]
pub(super) struct Plain<T> {
    /// Name.
    pub(super) name: &'static str,
    /// What it does, for the model.
    pub(super) description: &'static str,
    /// The tool's effect, besides its answer.
    pub(super) effect: Effect,
    /// The function that runs it.
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

/// A tool that waits for a command of the project. An error is returned to the model as a refusal.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    /// Name.
    pub(super) name: &'static str,
    /// What it does, for the model.
    pub(super) description: &'static str,
    /// The function that runs it.
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

/// Converts arguments that fit the schema to their struct.
fn read<T: Arguments>(arguments: Value) -> anyhow::Result<T> {
    Ok(serde_json::from_value(arguments)?)
}

/// A tool's answer; refusals by a guard are counted.
pub(super) fn answered(context: &mut Context<'_>, done: anyhow::Result<Answer>) -> Answer {
    done.unwrap_or_else(|error| {
        let refusal = error.downcast_ref::<Refusal>();
        if refusal.is_some_and(|refusal| refusal.kind == RefusalKind::Guard) {
            context.outcome.guard_refusals += 1;
        }
        Answer::refused(format!("{error:#}"))
    })
}
