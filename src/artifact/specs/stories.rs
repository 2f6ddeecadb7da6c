//! The stories of BMAD: a list in `stories.yaml`, and a file for each story.

use serde_json::Value;

use super::kinds::{Role, SpecKind};
use super::marks::patterns;
use super::read::Reading;
use super::{Refusal, SpecFile, front_matter, yaml};

/// Reads the list of stories.
pub(super) fn read_list(
    reading: &mut Reading,
    kind: &SpecKind,
    file: &SpecFile,
) -> Result<(), Refusal> {
    let list =
        yaml::read(&file.text).map_err(|why| format!("{} cannot be read: {why}", file.path))?;
    if !matches!(list, Value::Array(_) | Value::Null) {
        return Err(format!("{} cannot be read: it is not a list of stories", file.path).into());
    }
    reading.list(&patterns(kind.marks, &file.path), &list);
    Ok(())
}

/// Reads the file of a story, below the entry in the list that has its id.
pub(super) fn read(
    reading: &mut Reading,
    kind: &SpecKind,
    role: Role,
    file: &SpecFile,
) -> Result<(), Refusal> {
    let first = reading.rows.len();
    let fields = front_matter(file)?;
    reading.markdown(kind, role, file, Some(&fields), "");
    let mut rows = reading.rows.split_off(first);
    let name = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".md");
    let is_of = |key: &str| {
        !key.is_empty()
            && name.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let entry =
        reading.rows.iter().position(|row| row.is_task() && row.level == 1 && is_of(&row.key));
    let Some(own) = rows.first_mut() else { return Ok(()) };
    match entry {
        Some(at) => {
            let own = rows.remove(0);
            let next = reading.rows.iter().skip(at + 1).position(|row| row.level == 1);
            let end = next.map_or(reading.rows.len(), |next| at + 1 + next);
            if let Some(row) = reading.rows.get_mut(at) {
                if !own.text.is_empty() {
                    row.add("\n\n", &own.text);
                }
                row.tests.extend(own.tests);
                row.left_out = row.left_out.take().or(own.left_out);
            }
            reading.rows.splice(end..end, rows);
        }
        None => {
            if own.key.is_empty() {
                let is_number = |part: &&str| part.chars().all(|c| c.is_ascii_digit());
                own.key = name.split('-').take_while(is_number).collect::<Vec<_>>().join("-");
            }
            if own.title.is_empty() {
                own.title = super::words_of(name);
            }
            reading.rows.append(&mut rows);
        }
    }
    Ok(())
}
