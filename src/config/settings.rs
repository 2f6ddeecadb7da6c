//! Typed reading of what has been set; [`super::layer`] has checked the types.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::layer::Settings;
use super::value::Value;
use super::{DEFAULT_MODEL, schema};
use crate::error::Error;

/// Typed reading of settings; the types were checked when they were read.
pub(super) struct Values<'a>(pub(super) &'a Settings);

impl Values<'_> {
    pub(super) fn get(&self, path: &[&str]) -> Option<&Value> {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        self.0.get(&path).and_then(|setting| setting.value.as_ref().ok())
    }

    pub(super) fn text(&self, path: &[&str]) -> Option<String> {
        match self.get(path) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    pub(super) fn flag(&self, path: &[&str]) -> Option<bool> {
        match self.get(path) {
            Some(Value::Flag(flag)) => Some(*flag),
            _ => None,
        }
    }

    pub(super) fn count(&self, path: &[&str]) -> Option<u64> {
        match self.get(path) {
            Some(Value::Count(count)) => Some(*count),
            _ => None,
        }
    }

    /// A count whose row in the table keeps it within 32 bits.
    pub(super) fn small(&self, path: &[&str]) -> Option<u32> {
        self.count(path).map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    }

    pub(super) fn number(&self, path: &[&str]) -> Option<f64> {
        match self.get(path) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn list(&self, path: &[&str]) -> Option<Vec<String>> {
        match self.get(path) {
            Some(Value::List(list)) => Some(list.clone()),
            _ => None,
        }
    }

    pub(super) fn rate(&self, path: &[&str]) -> Option<Option<u32>> {
        match self.get(path) {
            Some(Value::Rate(rate)) => Some(*rate),
            _ => None,
        }
    }

    /// The names chosen below a section, once each.
    pub(super) fn names(&self, section: &[&str]) -> BTreeSet<String> {
        self.0
            .keys()
            .filter(|path| {
                path.len() > section.len() && path.iter().zip(section).all(|(a, b)| a == b)
            })
            .map(|path| path[section.len()].clone())
            .collect()
    }

    /// Models whose settings use a variable that is not set; an error when other settings do.
    pub(super) fn unset(&self) -> Result<BTreeMap<String, String>> {
        let mut unusable = BTreeMap::new();
        for (path, setting) in self.0 {
            let Err(problem) = &setting.value else { continue };
            let name = match path.first().map(String::as_str) {
                Some("llm") => DEFAULT_MODEL.to_owned(),
                Some("models") => path[1].clone(),
                _ => {
                    return Err(Error::model(problem.clone())
                        .hint("set the variable, or change the value")
                        .into());
                }
            };
            unusable.entry(name).or_insert_with(|| problem.clone());
        }
        Ok(unusable)
    }

    /// An error about a value, with the place it was set.
    pub(super) fn wrong(&self, path: &[&str], problem: &str) -> anyhow::Error {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        let origin = self.0.get(&path).map_or("the defaults", |setting| &setting.origin);
        Error::model(format!("`{}` in {origin} {problem}", schema::dotted(&path))).into()
    }
}
