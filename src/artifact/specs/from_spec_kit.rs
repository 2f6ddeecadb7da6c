//! Makes records from a folder of spec-kit. A user story becomes a requirement, with its scenarios
//! as criteria, and a feature that serves it; each numbered requirement becomes a requirement of
//! its own. spec-kit does not say which story a numbered requirement is for, so these requirements
//! and the phases without a story share a feature.

use super::from_tasks::{Serves, tasks_of};
use super::markdown::short;
use super::spec_kit::{self, Numbered, Spec, Story};
use super::tasks::{Group, Line, groups};
use super::{SpecFile, Specified, text_of, words_of};
use crate::artifact::sections::Record;
use crate::artifact::{Criterion, Feature, IdKind, Requirement};

/// Maximum number of characters of a title.
const TITLE: usize = 80;

/// See [`super::specified`].
pub(super) fn specified(
    name: &str,
    files: &[SpecFile],
    is_file: &dyn Fn(&str) -> bool,
) -> Specified {
    let spec = spec_kit::read(text_of(files, "spec.md"));
    let groups = groups(text_of(files, "tasks.md"));
    let title = if spec.title.is_empty() { words_of(name) } else { spec.title.clone() };
    let of = Features::of(&spec, &groups, &title, text_of(files, "plan.md"));
    let mut records: Vec<Record> = of.requirements.into_iter().map(Record::Requirement).collect();
    let serves = |group: &Group, line: Option<&Line>| of.serving.serves(group, line);
    let mut number = 0;
    let tasks: Vec<_> =
        groups.iter().flat_map(|group| tasks_of(group, &mut number, &serves, is_file)).collect();
    records.extend(of.features.into_iter().map(Record::Feature));
    records.extend(tasks.into_iter().map(Record::Task));
    Specified {
        title,
        records,
        text_only: spec.text_only,
        unclear: spec.unclear,
        ticked: groups.iter().map(|group| group.ticked).sum(),
        open: groups.iter().map(|group| group.open.len()).sum(),
    }
}

/// The requirements and features of a specification.
struct Features {
    requirements: Vec<Requirement>,
    features: Vec<Feature>,
    serving: Serving,
}

/// The features and requirements that tasks serve.
#[derive(Default)]
struct Serving {
    /// Number, feature and requirement of each story.
    stories: Vec<(u32, String, String)>,
    /// The feature for everything that belongs to no story.
    shared: String,
    /// The ids of numbered requirements: the id in spec-kit, and the id in the plan.
    numbered: Vec<(String, String)>,
}

impl Features {
    fn of(spec: &Spec, groups: &[Group], title: &str, plan: &str) -> Self {
        let (mut requirements, mut features) = (Vec::new(), Vec::new());
        let mut serving = Serving::default();
        let (mut in_stories, mut loose) = (Vec::new(), Vec::new());
        let is_planned = groups.iter().any(|group| !group.open.is_empty());
        for story in &spec.stories {
            let id = next(IdKind::Requirement, requirements.len());
            requirements.push(of_story(id.clone(), story, title));
            if is_planned && !groups.iter().any(|group| works_on(group, story.number)) {
                // A feature needs tasks that work on it: a story without tasks gets only a
                // requirement.
                loose.push(id);
                continue;
            }
            let feature = next(IdKind::Feature, features.len());
            features.push(serving_it(feature.clone(), story, title, &id));
            serving.stories.push((story.number, feature, id));
        }
        for one in &spec.requirements {
            let id = next(IdKind::Requirement, requirements.len());
            requirements.push(numbered(id.clone(), one));
            serving.numbered.push((one.id.clone(), id.clone()));
            match one.story.filter(|story| serving.stories.iter().any(|(own, ..)| own == story)) {
                Some(story) => in_stories.push((story, id)),
                None => loose.push(id),
            }
        }
        for (number, feature, _) in &serving.stories {
            if let Some(feature) = features.iter_mut().find(|one: &&mut Feature| one.id == *feature)
            {
                let own = in_stories.iter().filter(|(story, _)| story == number);
                feature.requirement_ids.extend(own.map(|(_, id)| id.clone()));
            }
        }
        let is_of_story =
            |group: &Group| group.open.is_empty() || serving.story(group, None).is_some();
        if features.is_empty() || !groups.iter().all(is_of_story) {
            let mut served = loose;
            if served.is_empty() {
                served.extend(requirements.iter().map(|one| one.id.clone()));
            }
            let id = next(IdKind::Feature, features.len());
            serving.shared.clone_from(&id);
            let name = match features.is_empty() {
                true => title.to_owned(),
                false => format!("{title}: what the stories share"),
            };
            let text = spec_kit::summary(plan).unwrap_or_else(|| format!("{name}."));
            features.push(Feature {
                id,
                name: short(&name, TITLE),
                description: text,
                requirement_ids: served,
                ..Feature::default()
            });
        } else {
            // Without a shared feature, the other requirements belong to every feature.
            features.iter_mut().for_each(|one| one.requirement_ids.extend(loose.iter().cloned()));
        }
        Self { requirements, features, serving }
    }
}

impl Serving {
    /// Returns the story that a task or a whole group is for.
    fn story(&self, group: &Group, line: Option<&Line>) -> Option<&(u32, String, String)> {
        let of_lines = || group.open.iter().find_map(|line| line.story);
        let number = match line {
            Some(line) => line.story,
            None => of_lines(),
        };
        let number = number.or_else(|| in_title(&group.title))?;
        self.stories.iter().find(|(story, _, _)| *story == number)
    }

    fn serves(&self, group: &Group, line: Option<&Line>) -> Serves {
        let lines = line.map_or(&group.open[..], std::slice::from_ref);
        let mentioned = |id: &String| lines.iter().any(|line| mentions(&line.text, id));
        let named =
            self.numbered.iter().filter(|(there, _)| mentioned(there)).map(|(_, id)| id.clone());
        match self.story(group, line) {
            Some((_, feature, requirement)) => Serves {
                feature: feature.clone(),
                requirements: std::iter::once(requirement.clone()).chain(named).collect(),
            },
            None => {
                let first = || self.stories.first().map(|(_, feature, _)| feature.clone());
                let shared = Some(self.shared.clone()).filter(|id| !id.is_empty());
                Serves {
                    feature: shared.or_else(first).unwrap_or_default(),
                    requirements: named.collect(),
                }
            }
        }
    }
}

/// True if a group has open tasks of a story.
fn works_on(group: &Group, story: u32) -> bool {
    let of_lines = group.open.iter().any(|line| line.story == Some(story));
    of_lines || !group.open.is_empty() && in_title(&group.title) == Some(story)
}

/// Returns the story's number in a heading: `Phase 3: User Story 1 - Title`.
fn in_title(title: &str) -> Option<u32> {
    let (_, rest) = title.split_once("User Story ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// True if a text contains an id as a whole word.
fn mentions(text: &str, id: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|word| word == id)
}

fn next(kind: IdKind, there: usize) -> String {
    kind.format(u32::try_from(there + 1).unwrap_or(u32::MAX))
}

fn name_of(story: &Story, title: &str) -> String {
    let name = if story.title.is_empty() { title } else { &story.title };
    short(&format!("US{} {name}", story.number), TITLE)
}

fn of_story(id: String, story: &Story, title: &str) -> Requirement {
    let name = name_of(story, title);
    let said = if story.text.trim().is_empty() { format!("{name}.") } else { story.text.clone() };
    let mut criteria: Vec<Criterion> =
        story.scenarios.iter().cloned().map(Criterion::from).collect();
    if criteria.is_empty() {
        criteria.push(super::markdown::plain(&said).into());
    }
    Requirement {
        id,
        title: name,
        description: said,
        priority: story.priority,
        acceptance_criteria: criteria,
        ..Requirement::default()
    }
}

fn serving_it(id: String, story: &Story, title: &str, requirement: &str) -> Feature {
    let name = name_of(story, title);
    let description = format!("User story {} of spec.md.", story.number);
    Feature {
        id,
        name,
        description,
        requirement_ids: vec![requirement.to_owned()],
        ..Feature::default()
    }
}

fn numbered(id: String, one: &Numbered) -> Requirement {
    Requirement {
        id,
        title: format!("{} {}", one.id, short(&one.text, TITLE)),
        description: format!("{} of spec.md.", one.id),
        priority: one.priority,
        category: one.category,
        acceptance_criteria: vec![one.text.clone().into()],
        ..Requirement::default()
    }
}
