//! Where an agent program answers questions: an empty folder of its own, confined where that is arranged;
//! and how a person is told of it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use tempfile::TempDir;

use super::workplace::{AgentNeeds, Confines, OpenWay, Workplace};
use crate::model::ModelError;
use crate::model::meter::Notice;

/// Servers that a person is told of in a run.
const REFUSED_MAX: usize = 20;

/// Where it answers, and what a person was told of it.
pub(super) struct Room {
    folder: TempDir,
    confines: Option<Rc<dyn Confines>>,
    place: OnceCell<Workplace>,
    /// How it runs was told: as one that answers, and as one that works on files.
    told: [Cell<bool>; 2],
    /// Servers it was refused, as a person was told.
    refused: Rc<RefCell<BTreeSet<String>>>,
}

impl Room {
    /// A new one. Nothing is confined yet.
    pub(super) fn new(confines: Option<Rc<dyn Confines>>) -> Result<Self, ModelError> {
        let folder = tempfile::Builder::new().prefix("cowork-agent-").tempdir();
        let folder = folder.map_err(|error| ModelError::Agent {
            message: format!("no folder can be made to run an agent program in: {error}"),
            hint: "make room in the temporary directory".to_owned(),
        })?;
        let (told, refused) = (Default::default(), Rc::default());
        Ok(Self { folder, confines, place: OnceCell::new(), told, refused })
    }

    /// The empty folder, for a program that is only looked at.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where a program with these needs answers.
    pub(super) fn place(&self, needs: &AgentNeeds) -> Result<&Workplace, ModelError> {
        if let Some(place) = self.place.get() {
            return Ok(place);
        }
        let place = match &self.confines {
            Some(confines) => confines.place(needs, self.folder())?,
            None => bare(needs, self.folder()),
        };
        Ok(self.place.get_or_init(|| place))
    }

    /// How it runs, in words; once, and none where that was said.
    pub(super) fn told(&self, place: &Workplace, works: bool) -> Option<String> {
        if self.told[usize::from(works)].replace(true) {
            return None;
        }
        let what = match works {
            true => "it works in a copy of the tree",
            false => "it is given texts only, in an empty folder",
        };
        let how = match (place.before.is_empty(), &place.way_out) {
            (true, _) => "it runs as you, nothing confines it",
            (false, Some(_)) => "it is confined as commands are, and reaches its own servers only",
            (false, None) => "it is confined as commands are, with the network",
        };
        Some(format!("{what}; {how}"))
    }

    /// The way to its servers for one run, where it needs one. A person is told of what is refused.
    pub(super) fn way_out(
        &self,
        title: &str,
        place: &Workplace,
        notice: Option<&Notice>,
    ) -> Result<Option<OpenWay>, ModelError> {
        let Some(way_out) = &place.way_out else { return Ok(None) };
        let (refused, notice) = (Rc::clone(&self.refused), notice.cloned());
        let told: Notice = Rc::new(move |text: &str| {
            let mut refused = refused.borrow_mut();
            if refused.len() < REFUSED_MAX
                && refused.insert(text.to_owned())
                && let Some(notice) = &notice
            {
                notice(text);
            }
        });
        let opened = way_out.open(&place.before, told);
        opened.map(Some).map_err(|error| ModelError::Agent {
            message: format!("{title} has no way to its server: {error}"),
            hint: "too many files may be open; try again: git cowork resume".to_owned(),
        })
    }
}

/// As the user runs it.
pub(super) fn bare(needs: &AgentNeeds, folder: &Path) -> Workplace {
    let env = needs.env.iter().map(|(name, value)| (name.into(), value.into()));
    Workplace { folder: folder.to_owned(), env: env.collect(), ..Workplace::default() }
}
