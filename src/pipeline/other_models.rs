//! Other models than the configured one, for the drafts of a stage: what a person takes at the gate. The
//! configuration stays as it is; the choice is kept with the drafts.

use std::rc::Rc;

use crate::config::ModelConfig;
use crate::model::{BoxFuture, Model};

/// Stands before the name that a server has for a model.
const ID: &str = " model=";

/// A model that a person has taken for a stage's drafts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Whose settings hold: a name in the configuration.
    pub name: String,
    /// The model at that server, where it is not the configured one.
    pub id: Option<String>,
}

impl Taken {
    /// For the trailer of a draft: `reviewer`, or `default model=gpt-4.1`.
    pub fn render(&self) -> String {
        let id = self.id.as_ref().map(|id| format!("{ID}{id}")).unwrap_or_default();
        format!("{}{id}", self.name)
    }

    /// Reads that back.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, id) = text.split_once(ID).map_or((text, None), |(name, id)| (name, Some(id)));
        let id = id.map(str::to_owned);
        (!name.is_empty()).then(|| Self { name: name.to_owned(), id })
    }
}

/// A model that can be taken.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Which.
    pub taken: Taken,
    /// What it is called at its server.
    pub model: String,
    /// Where it is.
    pub at: String,
}

/// The models that can be taken, and why some servers could not be asked.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// Those of the configuration first.
    pub models: Vec<Candidate>,
    /// A line each.
    pub problems: Vec<String>,
}

/// Whoever plays a role.
#[derive(Clone)]
pub struct Player {
    /// What was configured or taken; another one is another name.
    pub name: String,
    /// Its settings.
    pub config: ModelConfig,
    /// It.
    pub model: Rc<dyn Model>,
}

/// Where other models come from.
pub trait OtherModels {
    /// What there is: the models of the configuration, and those that its servers list.
    fn list(&self) -> BoxFuture<'_, anyhow::Result<Candidates>>;

    /// One of them, reachable.
    ///
    /// # Errors
    /// There is no such model, or it cannot be asked.
    fn open<'a>(&'a self, taken: &'a Taken) -> BoxFuture<'a, anyhow::Result<Player>>;

    /// Whether the command line names a model, which counts more than what was taken before.
    fn is_overruled(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_reads_back_from_its_trailer() {
        for id in [None, Some("vendor/gpt 5:free".to_owned())] {
            let taken = Taken { name: "default".to_owned(), id };
            assert_eq!(Taken::parse(&taken.render()), Some(taken));
        }
        assert_eq!(Taken::parse(""), None);
    }
}
