//! The values that a key allows, and how they are read from TOML and from plain text (`git config`,
//! environment, command line).

use serde_json::{Map, Value as Json};
use toml::de::DeValue;

use crate::stage::Stage;
use crate::stages::DepthChoice;

/// The type of a key's value.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueType {
    /// Any text.
    Text,
    /// True or false.
    Flag,
    /// A whole number between these bounds.
    Count(u64, u64),
    /// A number between these bounds.
    Number(f64, f64),
    /// A minimum and a maximum.
    Range,
    /// A list of texts.
    List,
    /// A list of stage names.
    Stages,
    /// A session's depth, or "auto".
    Depth,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A number of requests per unit of time.
    Rate,
    /// A table of texts.
    Texts,
    /// A table of any JSON values.
    Table,
}

/// The value of a key; the variant follows from its [`ValueType`].
#[derive(Clone, PartialEq)]
pub(super) enum Value {
    /// For [`ValueType::Text`] and [`ValueType::Choice`].
    Text(String),
    /// For [`ValueType::Flag`].
    Flag(bool),
    /// For [`ValueType::Count`].
    Count(u64),
    /// For [`ValueType::Number`].
    Number(f64),
    /// For [`ValueType::Range`].
    Range([u32; 2]),
    /// For [`ValueType::List`].
    List(Vec<String>),
    /// For [`ValueType::Stages`].
    Stages(Vec<Stage>),
    /// For [`ValueType::Depth`].
    Depth(DepthChoice),
    /// For [`ValueType::Rate`]: requests per minute.
    Rate(Option<u32>),
    /// For [`ValueType::Texts`] and [`ValueType::Table`].
    Table(Map<String, Json>),
}

impl Value {
    /// True if the value is at least as strict as `baseline`, a value of the same shape: a number at
    /// most as large, a range inside the other, a switch that is on or stays off, a text that is
    /// equal or set where there was none, a depth at least as thorough.
    pub(super) fn is_within(&self, baseline: &Self) -> bool {
        match (self, baseline) {
            (Self::Count(count), Self::Count(most)) => count <= most,
            (Self::Number(number), Self::Number(most)) => number <= most,
            (Self::Range([a, b]), Self::Range([least, most])) => least <= a && b <= most,
            (Self::Flag(flag), Self::Flag(baseline)) => *flag || !baseline,
            (Self::Depth(depth), Self::Depth(least)) => depth >= least,
            (Self::Text(text), Self::Text(baseline)) => baseline.is_empty() || text == baseline,
            _ => false,
        }
    }

    /// True if the value is the number 0.
    pub(super) fn is_zero(&self) -> bool {
        matches!(self, Self::Count(0)) || matches!(self, Self::Number(number) if *number == 0.0)
    }

    /// Formats the value for messages; control characters are escaped, so that a terminal does not
    /// interpret them.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Flag(flag) => flag.to_string(),
            Self::Count(count) => count.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Range([least, most]) => format!("[{least}, {most}]"),
            Self::List(list) => format!("{list:?}"),
            Self::Stages(stages) => {
                let names: Vec<&str> = stages.iter().map(|stage| stage.name()).collect();
                format!("{names:?}")
            }
            Self::Depth(depth) => format!("\"{depth}\""),
            Self::Rate(Some(rate)) => format!("{rate} requests a minute"),
            Self::Rate(None) => "no limit".to_owned(),
            // The values can be API keys.
            Self::Table(table) => {
                let names: Vec<String> = table.keys().map(|name| format!("{name:?} = …")).collect();
                if names.is_empty() {
                    "{}".to_owned()
                } else {
                    format!("{{ {} }}", names.join(", "))
                }
            }
        }
    }
}

impl ValueType {
    /// Returns the description that an error uses.
    pub(super) fn expected(self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Count(least, most) if most >= u64::from(u32::MAX) => {
                format!("a whole number, {least} or more")
            }
            Self::Count(least, most) => format!("a whole number from {least} to {most}"),
            Self::Number(least, most) if most >= 1e9 => format!("a number, {least} or more"),
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Range => "two whole numbers, minimum and maximum, such as [3, 6]".to_owned(),
            Self::List => "a list of strings".to_owned(),
            Self::Stages => {
                let names: Vec<_> = Stage::ALL.iter().map(|stage| stage.name()).collect();
                format!("a list of stages ({})", names.join(", "))
            }
            Self::Choice(words) => one_of(words),
            Self::Depth => one_of(&DepthChoice::NAMES),
            Self::Rate => {
                "a rate such as \"30/m\", \"2/s\" or \"600/h\" (at least \"60/h\"), or \"off\""
                    .to_owned()
            }
            Self::Texts => "a table of strings, such as { name = \"value\" }".to_owned(),
            Self::Table => "a table (in git config, a JSON object)".to_owned(),
        }
    }

    /// Reads a TOML value, with `expand` applied to its strings.
    ///
    /// Returns `Ok(None)` if the value does not have this shape.
    pub(super) fn read_toml<E>(
        self,
        value: &DeValue<'_>,
        expand: &dyn Fn(&str) -> Result<String, E>,
    ) -> Result<Option<Value>, E> {
        Ok(match (self, value) {
            (Self::Text | Self::Choice(_) | Self::Depth | Self::Rate, DeValue::String(text)) => {
                self.read_text(&expand(text)?)
            }
            (Self::Flag, DeValue::Boolean(flag)) => Some(Value::Flag(*flag)),
            (Self::Choice(_), DeValue::Boolean(flag)) => self.read_text(&flag.to_string()),
            (Self::Count(..), DeValue::Integer(_)) => {
                integer(value).and_then(|number| self.count(number))
            }
            (Self::Number(..), DeValue::Integer(_)) => {
                integer(value).and_then(|number| self.number(&number.to_string()))
            }
            (Self::Number(..), DeValue::Float(float)) => {
                self.number(&float.as_str().replace('_', ""))
            }
            (Self::Range, DeValue::Array(items)) => {
                let numbers: Option<Vec<u64>> =
                    items.iter().map(|item| integer(item.get_ref())).collect();
                numbers.and_then(|numbers| range(&numbers))
            }
            (Self::List | Self::Stages, DeValue::Array(items)) => {
                let mut texts = Vec::new();
                for item in items.iter() {
                    let DeValue::String(text) = item.get_ref() else { return Ok(None) };
                    texts.push(expand(text)?);
                }
                self.list(texts)
            }
            (Self::Texts | Self::Table, DeValue::Table(_)) => match json(value, expand)? {
                Some(Json::Object(table)) => self.table(table),
                _ => None,
            },
            _ => None,
        })
    }

    /// Reads plain text; lists are separated by commas.
    pub(super) fn read_text(self, text: &str) -> Option<Value> {
        match self {
            Self::Text => Some(Value::Text(text.to_owned())),
            Self::Flag => match text.trim().to_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Some(Value::Flag(true)),
                "false" | "no" | "off" | "0" | "" => Some(Value::Flag(false)),
                _ => None,
            },
            Self::Count(..) => self.count(scaled(text.trim())?),
            Self::Number(..) => self.number(text.trim()),
            Self::Range => {
                let text = text.trim().trim_start_matches('[').trim_end_matches(']');
                let numbers: Option<Vec<u64>> =
                    text.split(',').map(|part| part.trim().parse().ok()).collect();
                range(&numbers?)
            }
            Self::List | Self::Stages => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                self.list(parts.map(str::to_owned).collect())
            }
            Self::Choice(words) => {
                let flag = match Self::Flag.read_text(text) {
                    Some(Value::Flag(flag)) => flag.to_string(),
                    _ => String::new(),
                };
                let mut words = words.iter().filter(|word| [text.trim(), &flag].contains(word));
                words.next().map(|word| Value::Text((*word).to_owned()))
            }
            Self::Depth => text.trim().parse().ok().map(Value::Depth),
            Self::Rate => rate(text.trim()).map(Value::Rate),
            Self::Texts | Self::Table => match serde_json::from_str(text) {
                Ok(Json::Object(table)) => self.table(table),
                _ => None,
            },
        }
    }

    fn table(self, table: Map<String, Json>) -> Option<Value> {
        let fits = matches!(self, Self::Table) || table.values().all(Json::is_string);
        fits.then_some(Value::Table(table))
    }

    fn count(self, number: u64) -> Option<Value> {
        let Self::Count(least, most) = self else { return None };
        (least..=most).contains(&number).then_some(Value::Count(number))
    }

    fn number(self, text: &str) -> Option<Value> {
        let Self::Number(least, most) = self else { return None };
        // NaN is in no range, so this also refuses it.
        let number = text.parse::<f64>().ok()?;
        (least..=most).contains(&number).then_some(Value::Number(number))
    }

    fn list(self, texts: Vec<String>) -> Option<Value> {
        if !matches!(self, Self::Stages) {
            return Some(Value::List(texts));
        }
        let stages: Result<Vec<Stage>, _> =
            texts.iter().map(|text| text.to_lowercase().parse()).collect();
        stages.ok().map(Value::Stages)
    }
}

/// Formats the words that a key allows.
fn one_of(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("one of {}", words.join(", "))
}

/// Returns the kind of value that was found, for an error; the value itself may be a secret.
pub(super) fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "this string",
        DeValue::Integer(_) => "this whole number",
        DeValue::Float(_) => "this number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "this list",
        DeValue::Table(_) => "a table",
    }
}

fn integer(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    let digits = integer.as_str().replace('_', "");
    u64::from_str_radix(digits.trim_start_matches('+'), integer.radix()).ok()
}

/// Converts a TOML value to JSON, with `expand` applied to its strings; `None` for a date or for a
/// number that JSON cannot represent.
fn json<E>(
    value: &DeValue<'_>,
    expand: &dyn Fn(&str) -> Result<String, E>,
) -> Result<Option<Json>, E> {
    Ok(match value {
        DeValue::String(text) => Some(Json::String(expand(text)?)),
        DeValue::Boolean(flag) => Some(Json::Bool(*flag)),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace('_', "");
            i64::from_str_radix(digits.trim_start_matches('+'), number.radix()).ok().map(Json::from)
        }
        DeValue::Float(number) => {
            let number = number.as_str().replace('_', "").parse::<f64>().ok();
            number.and_then(serde_json::Number::from_f64).map(Json::Number)
        }
        DeValue::Array(items) => {
            let mut list = Vec::new();
            for item in items.iter() {
                let Some(item) = json(item.get_ref(), expand)? else { return Ok(None) };
                list.push(item);
            }
            Some(Json::Array(list))
        }
        DeValue::Table(fields) => {
            let mut table = Map::new();
            for (name, field) in fields {
                let Some(field) = json(field.get_ref(), expand)? else { return Ok(None) };
                table.insert(name.get_ref().to_string(), field);
            }
            Some(Json::Object(table))
        }
        DeValue::Datetime(_) => None,
    })
}

fn range(numbers: &[u64]) -> Option<Value> {
    let [least, most] = numbers else { return None };
    Some(Value::Range([u32::try_from(*least).ok()?, u32::try_from(*most).ok()?]))
}

/// Parses a whole number with the suffixes of `git config --type=int`.
fn scaled(text: &str) -> Option<u64> {
    let (digits, factor) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1024),
        (at, 'm' | 'M') => (&text[..at], 1024 * 1024),
        (at, 'g' | 'G') => (&text[..at], 1024 * 1024 * 1024),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Parses a rate as requests per minute; `Some(None)` is unlimited, `None` is not a rate.
fn rate(text: &str) -> Option<Option<u32>> {
    if matches!(text, "0" | "off") {
        return Some(None);
    }
    let (number, unit) = text.split_once('/')?;
    let number: u32 = number.trim().parse().ok()?;
    let a_minute = match unit.trim() {
        "s" => number.checked_mul(60)?,
        "m" => number,
        "h" => number / 60,
        _ => return None,
    };
    match (number, a_minute) {
        (0, _) => Some(None),
        (_, 0) => None,
        _ => Some(Some(a_minute)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        assert_eq!(rate("30/m"), Some(Some(30)));
        assert_eq!(rate("2/s"), Some(Some(120)));
        assert_eq!(rate("600/h"), Some(Some(10)));
        assert_eq!(rate("0"), Some(None));
        assert_eq!(rate("0/m"), Some(None));
        assert_eq!(rate("off"), Some(None));
        assert_eq!(rate("10/h"), None);
        assert_eq!(rate("30"), None);
        assert_eq!(rate("30/d"), None);
    }

    #[test]
    fn tables() {
        let text = r#"{"a": "x", "b": {"c": [1, null]}}"#;
        let Ok(Json::Object(table)) = serde_json::from_str(text) else { panic!("{text}") };
        assert!(ValueType::Table.read_text(text) == Some(Value::Table(table.clone())));
        assert!(ValueType::Texts.read_text(text).is_none());
        assert!(ValueType::Texts.read_text(r#"{"a": "x"}"#).is_some());
        assert!(ValueType::Table.read_text("a=x").is_none());
        // Values of a table are never shown.
        assert_eq!(Value::Table(table).shown(), r#"{ "a" = …, "b" = … }"#);
    }

    #[test]
    fn plain_text() {
        assert!(ValueType::Range.read_text("3,6") == Some(Value::Range([3, 6])));
        assert!(ValueType::Range.read_text("[3, 6]") == Some(Value::Range([3, 6])));
        assert!(ValueType::Range.read_text("3").is_none());
        let list = Value::List(vec!["/a".to_owned(), "/b".to_owned()]);
        assert!(ValueType::List.read_text("/a, /b") == Some(list));
        assert!(
            ValueType::Stages.read_text("prd,Design")
                == Some(Value::Stages(vec![Stage::Prd, Stage::Design]))
        );
        assert!(ValueType::Stages.read_text("").is_some_and(|v| v == Value::Stages(vec![])));
        assert!(ValueType::Flag.read_text("Yes") == Some(Value::Flag(true)));
        assert!(ValueType::Count(0, 1 << 40).read_text("2k") == Some(Value::Count(2048)));
        assert!(ValueType::Count(1, 9).read_text("0").is_none());
        assert!(ValueType::Number(0.0, 2.0).read_text("nan").is_none());
        assert!(ValueType::Number(0.0, 2.0).read_text("0.2") == Some(Value::Number(0.2)));
    }
}
