//! Declaration of keys: a struct field with its description, its default, its allowed values and
//! the rule for project files. [`keys!`] generates the struct and its table of keys from it.

use std::collections::BTreeMap;

use serde_json::Map;

use super::Switches;
use super::value::{Value, ValueType};
use crate::stage::Stage;
use crate::stages::DepthChoice;

/// When a value in the project's file counts although the user has not accepted that file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Always: the value cannot harm the user.
    Free,
    /// Never: the key leads to commands, servers or secrets, or acts in the user's name.
    Trust,
    /// If the value is at least as strict as the value without the file: a smaller number, a
    /// narrower range, a switch turned on, a text where there was none. A switch that the user's
    /// own configuration turns on stays on even if the file is accepted.
    Stricter,
    /// Like `Stricter`, for a number whose 0 means "no limit".
    Capped,
    /// Always: every layer adds to the list, and none removes from it.
    Adds,
}

impl Rule {
    /// True if `value` counts; `baseline` is the configured value without the file.
    pub(super) fn admits(self, value: &Value, baseline: Option<&Value>) -> bool {
        match self {
            Self::Free | Self::Adds => true,
            Self::Trust => false,
            Self::Stricter => baseline.is_some_and(|baseline| value.is_within(baseline)),
            Self::Capped => baseline
                .is_some_and(|most| most.is_zero() || !value.is_zero() && value.is_within(most)),
        }
    }
}

/// A key of a section.
#[derive(Debug)]
pub(super) struct Key {
    /// The key's name; a dot leads into a nested table.
    pub(super) name: &'static str,
    /// The allowed values.
    pub(super) shape: ValueType,
    /// When a project file may set the key.
    pub(super) rule: Rule,
    /// Lines of the field's doc comment.
    pub(super) about: &'static [&'static str],
}

/// A section: a table of keys.
pub(super) trait Section: Default {
    /// The keys, in order.
    const KEYS: &'static [Key];

    /// Sets every key for which `get` returns a value.
    fn set<'a>(&mut self, get: impl Fn(&str) -> Option<&'a Value>);

    /// Returns the value of a key.
    fn value_of(&self, key: &str) -> Option<Value>;
}

/// A type that a field can have.
pub(super) trait FieldType: Sized {
    /// The allowed values, unless the field declares its own.
    const SHAPE: ValueType;

    fn from_value(value: &Value) -> Option<Self>;

    fn to_value(&self) -> Value;
}

/// Declares a section: `name: type = default => rule, shape;`. A field has a shape if its type
/// alone would allow too much, and a key (`as "in"`) if the field cannot have the key's name.
/// Fields under `with` are tables of other sections, not keys.
macro_rules! keys {
    (
        $(#[$meta:meta])*
        pub struct $section:ident {
            $(
                $(#[doc = $about:literal])+
                $field:ident $(as $key:literal)?: $type:ty = $default:expr
                    => $rule:ident $(, $shape:expr)?;
            )+
        }
        $(with { $($(#[$table_meta:meta])+ $table:ident: $table_type:ty,)+ })?
    ) => {
        $(#[$meta])*
        pub struct $section {
            $($(#[doc = $about])+ pub $field: $type,)+
            $($($(#[$table_meta])+ pub $table: $table_type,)+)?
        }

        impl Default for $section {
            fn default() -> Self {
                Self {
                    $($field: $default,)+
                    $($($table: Default::default(),)+)?
                }
            }
        }

        impl $crate::config::fields::Section for $section {
            const KEYS: &'static [$crate::config::fields::Key] = &[$(
                $crate::config::fields::Key {
                    name: keys!(@first $($key,)? stringify!($field)),
                    shape: keys!(
                        @first $($shape,)? <$type as $crate::config::fields::FieldType>::SHAPE
                    ),
                    rule: $crate::config::fields::Rule::$rule,
                    about: &[$($about),+],
                },
            )+];

            fn set<'a>(
                &mut self,
                get: impl Fn(&str) -> Option<&'a $crate::config::value::Value>,
            ) {
                $(
                    let value = get(keys!(@first $($key,)? stringify!($field)));
                    if let Some(value) = value.and_then($crate::config::fields::FieldType::from_value) {
                        self.$field = value;
                    }
                )+
            }

            fn value_of(&self, key: &str) -> Option<$crate::config::value::Value> {
                $(
                    if key == keys!(@first $($key,)? stringify!($field)) {
                        return Some($crate::config::fields::FieldType::to_value(&self.$field));
                    }
                )+
                None
            }
        }
    };
    (@first $first:expr $(, $rest:expr)*) => { $first };
}

/// Declares an enum whose variants are the words that a key allows.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$about:meta])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name {
            $($(#[$about])+ $variant,)+
        }

        impl $crate::config::fields::FieldType for $name {
            const SHAPE: $crate::config::value::ValueType =
                $crate::config::value::ValueType::Choice(&[$($word),+]);

            fn from_value(value: &$crate::config::value::Value) -> Option<Self> {
                match value {
                    $($crate::config::value::Value::Text(word) if word == $word => {
                        Some(Self::$variant)
                    })+
                    _ => None,
                }
            }

            fn to_value(&self) -> $crate::config::value::Value {
                let word = match self {
                    $(Self::$variant => $word,)+
                };
                $crate::config::value::Value::Text(word.to_owned())
            }
        }
    };
}

pub(super) use {keys, words};

/// Implements `FieldType` for types that one variant of [`Value`] contains.
macro_rules! field_types {
    ($($type:ty: $shape:expr, $variant:ident;)+) => {$(
        impl FieldType for $type {
            const SHAPE: ValueType = $shape;

            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::$variant(value) => Some(value.clone()),
                    _ => None,
                }
            }

            fn to_value(&self) -> Value {
                Value::$variant(self.clone())
            }
        }
    )+};
}

field_types! {
    String: ValueType::Text, Text;
    bool: ValueType::Flag, Flag;
    u64: ValueType::Count(0, i64::MAX as u64), Count;
    f64: ValueType::Number(0.0, 1e9), Number;
    [u32; 2]: ValueType::Range, Range;
    Vec<String>: ValueType::List, List;
    DepthChoice: ValueType::Depth, Depth;
    Map<String, serde_json::Value>: ValueType::Table, Table;
}

impl FieldType for BTreeMap<String, String> {
    const SHAPE: ValueType = ValueType::Texts;

    fn from_value(value: &Value) -> Option<Self> {
        let Value::Table(table) = value else { return None };
        let text = |(name, text): (&String, &serde_json::Value)| {
            Some((name.clone(), text.as_str()?.to_owned()))
        };
        table.iter().map(text).collect()
    }

    fn to_value(&self) -> Value {
        let text = |(name, text): (&String, &String)| (name.clone(), text.as_str().into());
        Value::Table(self.iter().map(text).collect())
    }
}

/// A list turns on the stages that it names, and turns off all others.
impl FieldType for Switches {
    const SHAPE: ValueType = ValueType::Stages;

    fn from_value(value: &Value) -> Option<Self> {
        let Value::Stages(listed) = value else { return None };
        Some(Self(Stage::ALL.into_iter().map(|stage| (stage, listed.contains(&stage))).collect()))
    }

    fn to_value(&self) -> Value {
        Value::Stages(self.on())
    }
}

impl FieldType for u32 {
    const SHAPE: ValueType = ValueType::Count(0, Self::MAX as u64);

    fn from_value(value: &Value) -> Option<Self> {
        u64::from_value(value).map(|count| Self::try_from(count).unwrap_or(Self::MAX))
    }

    fn to_value(&self) -> Value {
        Value::Count((*self).into())
    }
}

/// An empty text means `None`.
impl FieldType for Option<String> {
    const SHAPE: ValueType = ValueType::Text;

    fn from_value(value: &Value) -> Option<Self> {
        String::from_value(value).map(|text| Some(text).filter(|text| !text.is_empty()))
    }

    fn to_value(&self) -> Value {
        Value::Text(self.clone().unwrap_or_default())
    }
}

/// A number that can be unset: as a rate, where `off` means unset, or as a count.
impl FieldType for Option<u32> {
    const SHAPE: ValueType = ValueType::Rate;

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Rate(rate) => Some(*rate),
            value => u32::from_value(value).map(Some),
        }
    }

    fn to_value(&self) -> Value {
        Value::Rate(*self)
    }
}

impl FieldType for Option<f64> {
    const SHAPE: ValueType = f64::SHAPE;

    fn from_value(value: &Value) -> Option<Self> {
        f64::from_value(value).map(Some)
    }

    fn to_value(&self) -> Value {
        Value::Number(self.unwrap_or_default())
    }
}

impl FieldType for Option<bool> {
    const SHAPE: ValueType = ValueType::Flag;

    fn from_value(value: &Value) -> Option<Self> {
        bool::from_value(value).map(Some)
    }

    fn to_value(&self) -> Value {
        Value::Flag(self.unwrap_or_default())
    }
}
