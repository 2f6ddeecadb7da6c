//! Models other than the configured one for a stage's drafts, chosen by a person at the gate. The
//! configuration does not change; the choice is recorded with the drafts.

use std::rc::Rc;

use crate::config::ModelConfig;
use crate::model::{BoxFuture, Model};

/// Separates the name in the configuration from the server's name for the model.
const ID: &str = " model=";

/// A model that a person has chosen for a stage's drafts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The name in the configuration whose settings are used.
    pub name: String,
    /// The server's name for the model, if it is not the configured model.
    pub id: Option<String>,
}

impl Taken {
    /// The value of a draft's trailer: `reviewer`, or `default model=gpt-4.1`.
    pub fn render(&self) -> String {
        let id = self.id.as_ref().map(|id| format!("{ID}{id}")).unwrap_or_default();
        format!("{}{id}", self.name)
    }

    /// Parses the output of [`render`](Self::render).
    pub fn parse(text: &str) -> Option<Self> {
        let (name, id) = text.split_once(ID).map_or((text, None), |(name, id)| (name, Some(id)));
        let id = id.map(str::to_owned);
        (!name.is_empty()).then(|| Self { name: name.to_owned(), id })
    }
}

/// A model that can be chosen.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The choice.
    pub taken: Taken,
    /// The server's name for the model.
    pub model: String,
    /// The address of its server.
    pub at: String,
}

/// The models that can be chosen, and errors of servers that could not be asked.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// The models, those of the configuration first.
    pub models: Vec<Candidate>,
    /// One line for each error.
    pub problems: Vec<String>,
}

/// The model that plays a role.
#[derive(Clone)]
pub struct Player {
    /// The name of the configured or chosen model; different models have different names.
    pub name: String,
    /// The model's settings.
    pub config: ModelConfig,
    /// The model itself.
    pub model: Rc<dyn Model>,
}

/// A source of other models.
pub trait OtherModels {
    /// The available models: those of the configuration, and those that its servers list.
    fn list(&self) -> BoxFuture<'_, anyhow::Result<Candidates>>;

    /// Opens one of them and checks that it is reachable.
    ///
    /// # Errors
    /// There is no such model, or it cannot be reached.
    fn open<'a>(&'a self, taken: &'a Taken) -> BoxFuture<'a, anyhow::Result<Player>>;

    /// True if the command line names a model, which overrides an earlier choice.
    fn is_overruled(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_model_is_parsed_from_its_trailer() {
        for id in [None, Some("vendor/gpt 5:free".to_owned())] {
            let taken = Taken { name: "default".to_owned(), id };
            assert_eq!(Taken::parse(&taken.render()), Some(taken));
        }
        assert_eq!(Taken::parse(""), None);
    }
}
