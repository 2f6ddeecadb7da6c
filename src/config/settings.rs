//! Typed access to settings; [`super::layer`] has checked the types.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::fields::{FieldType, Section};
use super::layer::LayerSettings;
use super::value::Value;
use super::{DEFAULT_MODEL, schema};
use crate::error::Error;

/// Typed access to settings.
pub(super) struct TypedSettings<'a>(pub(super) &'a LayerSettings);

impl<'a> TypedSettings<'a> {
    pub(super) fn get(&self, path: &[&str]) -> Option<&'a Value> {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        self.0.get(&path).and_then(|setting| setting.value.as_ref().ok())
    }

    /// Returns a value in the type of its field.
    pub(super) fn read<T: FieldType>(&self, path: &[&str]) -> Option<T> {
        self.get(path).and_then(T::from_value)
    }

    /// Returns a section with its defaults and the settings under `path`.
    pub(super) fn section<T: Section>(&self, path: &[&str]) -> T {
        let mut section = T::default();
        self.lay_over(&mut section, path);
        section
    }

    /// Applies the settings under `path` to `section`.
    pub(super) fn lay_over(&self, section: &mut impl Section, path: &[&str]) {
        section.set(|key| {
            let whole: Vec<&str> = path.iter().copied().chain(key.split('.')).collect();
            self.get(&whole)
        });
    }

    /// Returns the keys of a section that are set under `path`: for each, the dotted key and the
    /// variable that its value comes from, or else where it was set.
    pub(super) fn places<T: Section>(
        &self,
        path: &[&str],
    ) -> impl Iterator<Item = (&'static str, (String, String))> {
        T::KEYS.iter().filter_map(|key| {
            let whole: Vec<String> =
                path.iter().chain(&[key.name]).map(|part| (*part).to_owned()).collect();
            let setting = self.0.get(&whole)?;
            let origin = setting.variable.as_ref().unwrap_or(&setting.origin);
            Some((key.name, (schema::dotted(&setting.spelling), origin.clone())))
        })
    }

    /// Returns the names that the user chose in a section, once each.
    pub(super) fn names(&self, section: &[&str]) -> BTreeSet<String> {
        self.0
            .keys()
            .filter(|path| {
                path.len() > section.len() && path.iter().zip(section).all(|(a, b)| a == b)
            })
            .map(|path| path[section.len()].clone())
            .collect()
    }

    /// Returns the models whose settings use a variable that is not set; fails if a setting outside
    /// the models' sections uses one.
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

    /// Makes an error about a value; the message names the place where the value was set.
    pub(super) fn wrong(&self, path: &[&str], problem: &str) -> anyhow::Error {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        let origin = self.0.get(&path).map_or("the defaults", |setting| &setting.origin);
        Error::model(format!("`{}` in {origin} {problem}", schema::dotted(&path))).into()
    }

    /// Like [`Self::wrong`], with an example of a valid value.
    pub(super) fn wrong_unlike(&self, path: &[&str], problem: &str, right: &str) -> anyhow::Error {
        let error = self.wrong(path, problem);
        match error.downcast::<Error>() {
            Ok(error) => error.hint(format!("write it as in {right}")).into(),
            Err(error) => error,
        }
    }
}
