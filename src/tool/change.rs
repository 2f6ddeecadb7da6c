//! Tools for the change request of a patch session.

use super::data::{fields_of, only_in, resolve};
use super::plain::{Kind, rows};
use super::{Access, Answer, Field, Plain, Tool};
use crate::artifact::{Artifact, ChangeRequest, IdKind};
use crate::stage::Stage;

const SCOPE: &[Field] = &[
    Field::new("prd", Kind::Flag, "").required(),
    Field::new("design", Kind::Flag, "").required(),
    Field::new("plan", Kind::Flag, "").required(),
    Field::new("code", Kind::Flag, "").required(),
];

static TOOLS: [Plain; 2] = [
    Plain {
        name: "save_change_request",
        description: "Save what the change touches, which stages it needs, and how risky it is.",
        access: Access::Write,
        fields: &[
            Field::text("summary", "one sentence").required(),
            Field::new("scope", Kind::Group(SCOPE), "what must change").required(),
            Field::choice("risk", &["low", "medium", "high"]).required(),
            Field::texts("affected_components", "existing ids, such as COMP-001"),
            Field::texts("affected_features", "existing ids, such as FEAT-001"),
            Field::texts("affected_files", "paths"),
            Field::text("effort", "how much work it is"),
            Field::texts("constraints", "what must not change"),
            Field::texts("acceptance_criteria", "").required(),
        ],
        run: |context, args| {
            only_in(context, Stage::Triage)?;
            let mut fields = fields_of(args, &[]);
            resolve(context, IdKind::Component, &mut fields, "affected_components")?;
            resolve(context, IdKind::Feature, &mut fields, "affected_features")?;
            let change: ChangeRequest = serde_json::from_value(fields.into())?;
            anyhow::ensure!(!change.summary.trim().is_empty(), "summary is empty");
            if !context.store.save(Artifact::ChangeRequest, &change)? {
                return Ok(Answer::ok("The change request is so already; nothing changed."));
            }
            let scope = change.scope;
            let stages = [("prd", scope.prd), ("design", scope.design), ("plan", scope.plan)];
            let named: Vec<_> =
                stages.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect();
            let first = if named.is_empty() { String::new() } else { named.join(", ") + ", " };
            Ok(Answer::ok(format!("Saved. Stages to come: {first}coding, check, delivery.")))
        },
    },
    Plain {
        name: "load_change_request",
        description: "Read the change request.",
        access: Access::Read,
        fields: &[],
        run: |context, _| {
            let text = context.store.text(Artifact::ChangeRequest)?;
            Ok(Answer::ok(text.unwrap_or_else(|| "There is no change request.".to_owned())))
        },
    },
];

/// The tools of this file.
pub(super) fn tools() -> impl Iterator<Item = &'static dyn Tool> {
    rows(&TOOLS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::testing::Bench;

    #[test]
    fn a_change_request_is_saved_and_read() {
        let bench = Bench::new(Stage::Triage);
        let mut context = bench.context();
        assert_eq!(context.call("load_change_request", "{}").text, "There is no change request.");
        let change = r#"{"summary":"due dates","scope":["prd","plan","code"],"risk":"Low",
            "affected_components":["COMP-001"],"affected_features":["feat-1"],"effort":"small",
            "acceptance_criteria":["shown"]}"#;
        let answer = context.call("save_change_request", change);
        assert_eq!(answer.text, "Saved. Stages to come: prd, plan, coding, check, delivery.");
        assert!(context.call("save_change_request", change).text.contains("nothing changed"));
        let saved = bench.store().change_request().unwrap().unwrap();
        assert!(saved.scope.prd && saved.scope.code && !saved.scope.design);
        assert_eq!(
            (&saved.affected_features[..], &*saved.effort),
            (&["FEAT-001".to_owned()][..], "small")
        );
        let told = saved.describe();
        assert!(
            told.contains("Effort: small") && told.contains("Touches:\n- FEAT-001\n"),
            "{told}"
        );
        let answer = context.call("save_change_request", &change.replace("COMP-001", "COMP-7"));
        assert!(answer.text.contains("COMP-7 does not exist; the components are COMP-001"));
    }
}
