//! Tools for the change request of a patch session.

use super::data::{fields_of, resolve};
use super::plain::{Argument, Arguments as _, Kind, Nothing, Plain, arguments};
use super::{Answer, Effect, Tool};
use crate::artifact::{Artifact, ChangeRequest, IdKind, Risk};

arguments! {
    Scope {
        prd: bool,
        design: bool,
        plan: bool,
        code: bool,
    }

    SaveChangeRequest {
        /// one sentence
        summary: String,
        /// what must change
        scope: Scope,
        risk: Risk,
        affected_components: Option<Vec<String>>,
        affected_features: Option<Vec<String>>,
        affected_files: Option<Vec<String>>,
        effort: Option<String>,
        /// what must not change
        constraints: Option<Vec<String>>,
        acceptance_criteria: Vec<String>,
    }
}

impl Argument for Scope {
    const KIND: Kind = Kind::Group(Self::FIELDS);
}

/// The tools of this file.
pub(super) static TOOLS: [&dyn Tool; 2] = [
    &Plain {
        name: "save_change_request",
        description: "Save the change request: what the change affects.",
        effect: Effect::WritesRecords,
        run: |context, args: SaveChangeRequest| {
            let mut fields = fields_of(&args, &[])?;
            resolve(context, IdKind::Component, &mut fields, "affected_components")?;
            resolve(context, IdKind::Feature, &mut fields, "affected_features")?;
            let change: ChangeRequest = serde_json::from_value(fields.into())?;
            anyhow::ensure!(!change.summary.trim().is_empty(), "summary is empty");
            if !context.store.save(Artifact::ChangeRequest, &change)? {
                return Ok(Answer::ok("The change request already says this; nothing changed."));
            }
            Ok(Answer::ok("Saved."))
        },
    },
    &Plain {
        name: "load_change_request",
        description: "Read the change request.",
        effect: Effect::ReadsArtifacts,
        run: |context, _: Nothing| {
            let text = context.store.text(Artifact::ChangeRequest)?;
            Ok(Answer::ok(text.unwrap_or_else(|| "There is no change request.".to_owned())))
        },
    },
];

#[cfg(test)]
mod tests {
    use crate::stage::Stage;
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
        assert_eq!(answer.text, "Saved.");
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
