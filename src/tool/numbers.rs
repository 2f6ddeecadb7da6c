//! The numbers of new records: given in the order of the calls, to refused ones as well, and never
//! twice in a draft.

use serde_json::Value;

use super::Context;
use super::plain::some;
use crate::artifact::check::mentioned_ids;
use crate::artifact::{DraftIds, IdKind};
use crate::model::ToolCall;
use crate::sha256::sha256;

/// The ids of the draft in progress.
pub struct Numbers<'a> {
    ids: DraftIds,
    keep: &'a dyn Fn(&DraftIds) -> anyhow::Result<()>,
}

impl<'a> Numbers<'a> {
    /// The ids used so far; `keep` writes them where a later run of the draft finds them.
    pub fn new(ids: DraftIds, keep: &'a dyn Fn(&DraftIds) -> anyhow::Result<()>) -> Self {
        Self { ids, keep }
    }

    /// Begins the next answer of the model.
    pub fn begin_answer(&mut self) {
        self.ids.begin_answer();
    }

    /// The ids used so far.
    pub(super) fn ids(&self) -> &DraftIds {
        &self.ids
    }

    /// Notes ids before anything is done with them: a run that is killed then does not give them to
    /// other records.
    pub(super) fn note<T>(&mut self, note: impl FnOnce(&mut DraftIds) -> T) -> anyhow::Result<T> {
        let mut ids = self.ids.clone();
        let noted = note(&mut ids);
        if ids != self.ids {
            (self.keep)(&ids)?;
            self.ids = ids;
        }
        Ok(noted)
    }
}

/// The kind of record that a tool creates, and of a sub-task the id that its own begins with.
pub(super) type New = (IdKind, Option<String>);

/// Notes the records that exist. Returns what a creating call creates, and the id it gets.
pub(super) fn begin(
    context: &mut Context<'_>,
    tool: &str,
    call: &ToolCall,
    fitted: Option<&Value>,
) -> anyhow::Result<Option<(New, String)>> {
    let (records, history) = (context.ledger.records()?, context.ledger.history);
    let creates = !tool.starts_with("delete_");
    let new = creates.then(|| kind_of(tool)).flatten().map(|kind| {
        let above = match fitted {
            Some(arguments) => arguments["parent_id"].as_str().map(str::to_owned),
            // The arguments are refused, but the call still counts among those of its parent.
            None => text_of(&call.arguments, "parent_id"),
        };
        let above = some(above.as_ref()).map(str::to_ascii_uppercase);
        (kind, above.and_then(|above| mentioned_ids(kind, &above).pop_first()))
    });
    let call = format!("{} {} {}", call.id, call.name, call.arguments);
    let call = sha256(call.as_bytes());
    context.numbers.note(|ids| {
        ids.see(&records, history);
        let new = new?;
        let id = ids.give(call, (new.0, new.1.as_deref()), &records, history);
        Some((new, id))
    })
}

/// Notes the records that exist after a call of a tool. Returns the next number, for a model that
/// counts, if the call deleted a record, or was to create one with an id that no record has.
pub(super) fn end(
    context: &mut Context<'_>,
    (tool, ok): (&str, bool),
    new: Option<(New, String)>,
) -> anyhow::Result<Option<String>> {
    let (records, history) = (context.ledger.records()?, context.ledger.history);
    context.numbers.note(|ids| ids.see(&records, history))?;
    let deletes = (ok && tool.starts_with("delete_")).then(|| kind_of(tool)).flatten();
    let next = |kind: IdKind, above: Option<String>| {
        let id = context.numbers.ids.next((kind, above.as_deref()), &records, history);
        format!("next {} is {id}.", kind.name())
    };
    Ok(match (new, deletes) {
        (Some(((kind, above), id)), _) if !records.has(&id) => {
            Some(format!("This call used up {id}; the {}", next(kind, above)))
        }
        (None, Some(kind)) => Some(format!("The {}", next(kind, None))),
        _ => None,
    })
}

/// The kind of record that a tool creates or deletes.
fn kind_of(tool: &str) -> Option<IdKind> {
    Some(match tool {
        "create_requirement" | "delete_requirement" => IdKind::Requirement,
        "add_feature" | "delete_feature" => IdKind::Feature,
        "create_design_component" | "delete_design_component" => IdKind::Component,
        "create_task" | "delete_task" => IdKind::Task,
        _ => return None,
    })
}

/// The text of a field in JSON that may be broken.
fn text_of(json: &str, field: &str) -> Option<String> {
    let (_, rest) = json.split_once(&format!("\"{field}\""))?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    value.split('"').next().map(str::to_owned)
}
