//! Makes records from an OpenSpec change. The requirements of the change become requirements, with
//! their scenarios as criteria; the change becomes one feature, since its tasks do not say which
//! capability they are for.

use super::from_tasks::{Serves, tasks_of};
use super::markdown::{plain, short};
use super::openspec::{self, Operation, Required};
use super::spec_kit::priority;
use super::tasks::{Group, Line, groups};
use super::{SpecFile, Specified, text_of, words_of};
use crate::artifact::sections::Record;
use crate::artifact::{Feature, IdKind, Requirement};

/// Maximum number of characters of a title.
const TITLE: usize = 80;

/// See [`super::specified`].
pub(super) fn specified(
    name: &str,
    files: &[SpecFile],
    is_file: &dyn Fn(&str) -> bool,
) -> Specified {
    let proposal = text_of(files, "proposal.md");
    let title = openspec::title(proposal);
    let title = if title.is_empty() { words_of(name) } else { title };
    let (mut requirements, mut text_only) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|file| file.path.starts_with("specs/")) {
        let capability = file.path.trim_start_matches("specs/").trim_end_matches("/spec.md");
        let delta = openspec::read(&file.text);
        text_only
            .extend(delta.text_only.into_iter().map(|title| format!("{title} ({capability})")));
        for one in delta.requirements {
            let number = u32::try_from(requirements.len() + 1).unwrap_or(u32::MAX);
            requirements.push(required(IdKind::Requirement.format(number), &one, capability));
        }
    }
    let feature = Feature {
        id: IdKind::Feature.format(1),
        name: short(&title, TITLE),
        description: Some(openspec::why(proposal))
            .filter(|why| !why.trim().is_empty())
            .unwrap_or_else(|| format!("{title}.")),
        requirement_ids: requirements.iter().map(|one: &Requirement| one.id.clone()).collect(),
        ..Feature::default()
    };
    let groups = groups(text_of(files, "tasks.md"));
    let serves = |_: &Group, _: Option<&Line>| Serves {
        feature: feature.id.clone(),
        requirements: Vec::new(),
    };
    let mut number = 0;
    let tasks: Vec<_> =
        groups.iter().flat_map(|group| tasks_of(group, &mut number, &serves, is_file)).collect();
    let mut records: Vec<Record> = requirements.into_iter().map(Record::Requirement).collect();
    records.push(Record::Feature(feature));
    records.extend(tasks.into_iter().map(Record::Task));
    Specified {
        title,
        records,
        text_only,
        unclear: Vec::new(),
        ticked: groups.iter().map(|group| group.ticked).sum(),
        open: groups.iter().map(|group| group.open.len()).sum(),
    }
}

fn required(id: String, one: &Required, capability: &str) -> Requirement {
    let said = if one.text.trim().is_empty() { format!("{}.", one.name) } else { one.text.clone() };
    let title = match one.operation {
        Operation::Added => one.name.clone(),
        Operation::Modified => format!("{} (changed)", one.name),
        Operation::Removed => format!("Remove: {}", one.name),
    };
    let criteria = match (&one.scenarios[..], one.operation) {
        ([], Operation::Removed) => vec![format!("'{}' no longer applies", one.name).into()],
        ([], _) => vec![plain(&said).into()],
        (scenarios, _) => scenarios.iter().cloned().map(Into::into).collect(),
    };
    Requirement {
        id,
        title: short(&format!("{capability}: {title}"), TITLE),
        priority: priority(&said),
        description: said,
        acceptance_criteria: criteria,
        ..Requirement::default()
    }
}
