//! Ids: `REQ-001`, `FEAT-001`, `COMP-001`, `TASK-001`, and sub-tasks `TASK-001.1`.
//!
//! A new id is one above the highest in the session's history and the current draft; numbers are
//! never reused. The caller reads history and passes it as [`IdFloors`].

use super::Artifact;

/// The kind of record that an id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdKind {
    /// `REQ-`
    Requirement,
    /// `FEAT-`
    Feature,
    /// `COMP-`
    Component,
    /// `TASK-`
    Task,
}

impl IdKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Requirement, Self::Feature, Self::Component, Self::Task];

    /// Returns the prefix of the ids, the name of a record, and the name of several, which is the
    /// name of their list in JSON.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Self::Requirement => ["REQ-", "requirement", "requirements"],
            Self::Feature => ["FEAT-", "feature", "features"],
            Self::Component => ["COMP-", "component", "components"],
            Self::Task => ["TASK-", "task", "tasks"],
        }
    }

    /// Returns the JSON file with the records of this kind.
    pub const fn artifact(self) -> Artifact {
        match self {
            Self::Requirement => Artifact::Requirements,
            Self::Feature => Artifact::Features,
            Self::Component => Artifact::DesignSpec,
            Self::Task => Artifact::ImplementationPlan,
        }
    }

    /// Returns the part before the number.
    pub const fn prefix(self) -> &'static str {
        self.words()[0]
    }

    /// Returns the prefix without its hyphen.
    pub fn word(self) -> &'static str {
        self.prefix().trim_end_matches('-')
    }

    /// Returns the name of the kind.
    pub const fn name(self) -> &'static str {
        self.words()[1]
    }

    /// Returns the plural of the name.
    pub const fn plural(self) -> &'static str {
        self.words()[2]
    }

    /// Formats a count: `1 task`, `3 tasks`.
    pub fn count(self, number: usize) -> String {
        format!("{number} {}", if number == 1 { self.name() } else { self.plural() })
    }

    /// Returns the kind of an id, by its prefix.
    pub fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| id.starts_with(kind.prefix()))
    }

    /// Formats an id: `REQ-007` for 7.
    pub fn format(self, number: u32) -> String {
        format!("{}{number:03}", self.prefix())
    }
}

/// More than any session needs. Larger numbers in a file are ignored, so that the next number
/// always fits.
const HIGHEST: u32 = 999_999;

/// Returns the number of an id of this kind: 7 for `REQ-007`, also 7 for the sub-task `TASK-007.2`;
/// `None` for anything else.
pub fn number_of(kind: IdKind, id: &str) -> Option<u32> {
    let rest = id.strip_prefix(kind.prefix())?;
    let digits = rest.split('.').next().unwrap_or(rest);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|number| *number <= HIGHEST)
}

/// The highest number of each kind that a session's history has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdFloors([u32; IdKind::ALL.len()]);

impl IdFloors {
    /// Records that this id has been used.
    pub fn see(&mut self, kind: IdKind, id: &str) {
        if let Some(number) = number_of(kind, id) {
            let highest = &mut self.0[kind as usize];
            *highest = number.max(*highest);
        }
    }

    /// Records the ids in a text, separated by white space.
    pub fn see_all(&mut self, ids: &str) {
        for id in ids.split_whitespace() {
            IdKind::ALL.into_iter().for_each(|kind| self.see(kind, id));
        }
    }

    /// Returns the highest id of each kind that has one.
    pub fn ids(self) -> Vec<String> {
        let used = IdKind::ALL.into_iter().zip(self.0).filter(|(_, number)| *number > 0);
        used.map(|(kind, number)| kind.format(number)).collect()
    }

    /// Returns the next id of a kind, and records it.
    pub fn next(&mut self, kind: IdKind) -> String {
        let highest = &mut self.0[kind as usize];
        *highest = highest.saturating_add(1);
        kind.format(*highest)
    }
}

/// Returns the id of a task's next sub-task.
pub(super) fn next_below<'a>(above: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let prefix = format!("{above}.");
    let below = known.into_iter().filter_map(|id| id.strip_prefix(&prefix));
    let highest = below.filter_map(|rest| rest.split('.').next()?.parse::<u32>().ok()).max();
    format!("{prefix}{}", highest.unwrap_or(0).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_never_used_again() {
        let mut floors = IdFloors::default();
        for id in ["REQ-002", "REQ-009", "REQ-x", "FEAT-100"] {
            floors.see(IdKind::Requirement, id);
        }
        assert_eq!(floors.next(IdKind::Requirement), "REQ-010");
        assert_eq!(floors.next(IdKind::Requirement), "REQ-011");
        assert_eq!(floors.next(IdKind::Feature), "FEAT-001");
    }

    #[test]
    fn the_highest_ids_are_written_and_read_back() {
        let floors = IdFloors([4, 2, 0, 12]);
        assert_eq!(floors.ids(), ["REQ-004", "FEAT-002", "TASK-012"]);
        let mut read = IdFloors::default();
        read.see_all("REQ-004 FEAT-002 nonsense TASK-012");
        assert_eq!(read, floors);
    }

    #[test]
    fn sub_tasks_count_as_their_top_level_task() {
        assert_eq!(number_of(IdKind::Task, "TASK-007.2.1"), Some(7));
        assert_eq!(number_of(IdKind::Task, "TASK-"), None);
        assert_eq!(number_of(IdKind::Task, "REQ-001"), None);
    }
}
