//! The empty folder in which an agent program answers questions, confined if configured, and the
//! message that tells the user how the program runs.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use tempfile::TempDir;

use super::workplace::{AgentNeeds, Confines, OpenAccess, Workplace};
use crate::model::ModelError;
use crate::model::meter::Notice;

/// Maximum number of refused servers reported in a run.
const REFUSED_MAX: usize = 20;

/// The folder, and what was already reported about it.
pub(super) struct EmptyFolder {
    folder: TempDir,
    confines: Option<Rc<dyn Confines>>,
    place: OnceCell<Workplace>,
    /// Whether the user was told how the program runs when it only answers, and when it works on
    /// files.
    reports: [Cell<bool>; 2],
    /// Refused servers that were reported.
    refused_servers: Rc<RefCell<BTreeSet<String>>>,
}

impl EmptyFolder {
    /// Creates the folder. Nothing is confined yet.
    pub(super) fn new(confines: Option<Rc<dyn Confines>>) -> Result<Self, ModelError> {
        let folder = tempfile::Builder::new().prefix("cowork-agent-").tempdir();
        let folder = folder.map_err(|error| ModelError::Agent {
            message: format!("cannot create a folder to run an agent program in: {error}"),
            hint: "free space in the temporary directory".to_owned(),
        })?;
        let (reports, refused_servers) = (Default::default(), Rc::default());
        Ok(Self { folder, confines, place: OnceCell::new(), reports, refused_servers })
    }

    /// The empty folder, for a program that is only inspected.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The workplace of a program with these needs.
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

    /// Describes how the program runs; none if that was already reported.
    pub(super) fn describe_once(&self, place: &Workplace, works: bool) -> Option<String> {
        if self.reports[usize::from(works)].replace(true) {
            return None;
        }
        let work = match works {
            true => "it works in a copy of the tree",
            false => "it receives only text, in an empty folder",
        };
        let how = match (place.before.is_empty(), &place.way_out) {
            (true, _) => "it runs as you, nothing confines it",
            (false, Some(_)) => "it is confined like commands, and reaches its own servers only",
            (false, None) => "it is confined like commands, with network access",
        };
        Some(format!("{work}; {how}"))
    }

    /// Opens the connection to its servers for one run, if it needs one. Refused servers are
    /// reported to the user.
    pub(super) fn way_out(
        &self,
        title: &str,
        place: &Workplace,
        notice: Option<&Notice>,
    ) -> Result<Option<OpenAccess>, ModelError> {
        let Some(way_out) = &place.way_out else { return Ok(None) };
        let (refused_servers, notice) = (Rc::clone(&self.refused_servers), notice.cloned());
        let report: Notice = Rc::new(move |text: &str| {
            let mut servers = refused_servers.borrow_mut();
            if servers.len() < REFUSED_MAX
                && servers.insert(text.to_owned())
                && let Some(notice) = &notice
            {
                notice(text);
            }
        });
        let access = way_out.open(&place.before, report);
        access.map(Some).map_err(|error| ModelError::Agent {
            message: format!("cannot connect {title} to its server: {error}"),
            hint: "perhaps too many files are open; try again: git cowork resume".to_owned(),
        })
    }
}

/// The workplace of a program that is not confined.
pub(super) fn bare(needs: &AgentNeeds, folder: &Path) -> Workplace {
    let env = needs.env.iter().map(|(name, value)| (name.into(), value.into()));
    Workplace { folder: folder.to_owned(), env: env.collect(), ..Workplace::default() }
}
