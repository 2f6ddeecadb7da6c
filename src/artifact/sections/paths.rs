//! The paths of tasks, which are one list in Markdown and two in JSON.

use std::collections::BTreeSet;

use super::super::Task;
use super::{Context, Record, Section};

/// Splits the paths of each task into files to create and files to change.
pub(super) fn split(sections: &mut [Section], context: &Context<'_>) {
    let mut named: BTreeSet<String> = BTreeSet::new();
    for section in sections {
        let Record::Task(task) = &mut section.record else { continue };
        let old = match context.present.get(&task.id) {
            Some(Record::Task(old)) => old,
            _ => Task::default(),
        };
        let paths = std::mem::take(&mut task.files_to_create);
        for path in paths {
            let bare = path.trim_start_matches("./").trim_end_matches('/').to_owned();
            let created = if old.files_to_create.contains(&path) {
                true
            } else if old.files_to_change.contains(&path) {
                false
            } else {
                !(context.in_base)(&bare) && !named.contains(&bare)
            };
            named.insert(bare);
            if created { task.files_to_create.push(path) } else { task.files_to_change.push(path) }
        }
    }
}
