//! Tools for the mechanical checks, so that a model can correct its draft before it is rejected.

use serde::{Deserialize, Serialize};

use super::plain::{Argument, Kind, Nothing, Plain, arguments};
use super::{Answer, Effect, Tool};
use crate::artifact::Artifact;
use crate::artifact::check::{
    Report, components_of, features_of, requirements_of, task_order, tasks_of, uncovered_features,
    unworked_features,
};

/// Which records.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Records {
    Requirements,
    Features,
    Design,
    Plan,
}

impl Argument for Records {
    const KIND: Kind = Kind::Choice(&["requirements", "features", "design", "plan"]);
}

arguments! {
    CheckDataFormat {
        data_type: Records,
    }
}

/// The tools of this file.
pub(super) static TOOLS: [&dyn Tool; 3] = [
    &Plain {
        name: "check_data_format",
        description: "Check records: fields, ids, references.",
        effect: Effect::ReadsArtifacts,
        run: |context, args: CheckDataFormat| {
            let store = context.store;
            let report = match args.data_type {
                Records::Requirements => requirements_of(&store.requirements()?),
                Records::Features => features_of(&store.features()?, &store.requirements()?),
                Records::Design => components_of(&store.design()?, &store.features()?),
                Records::Plan => tasks_of(
                    &store.plan()?,
                    &store.requirements()?,
                    &store.features()?,
                    &store.design()?,
                ),
            };
            Ok(told(&report))
        },
    },
    &Plain {
        name: "check_feature_coverage",
        description: "Features that no component covers (or no task, if there is no design).",
        effect: Effect::ReadsArtifacts,
        run: |context, _: Nothing| {
            let features = context.store.features()?;
            let (what, uncovered) = match context.store.text(Artifact::Design)? {
                Some(_) => ("component", uncovered_features(&features, &context.store.design()?)),
                None => ("task", unworked_features(&features, &context.store.plan()?)),
            };
            if uncovered.is_empty() {
                let text = match features.features.len() {
                    1 => "The 1 feature is covered.".to_owned(),
                    count => format!("All {count} features are covered."),
                };
                return Ok(Answer::ok(text));
            }
            let list: Vec<_> =
                uncovered.iter().map(|(id, name)| format!("{id} '{name}'")).collect();
            Ok(Answer::ok(format!("Not covered by any {what}: {}.", list.join(", "))))
        },
    },
    &Plain {
        name: "check_task_dependencies",
        description: "Unknown dependencies and cycles.",
        effect: Effect::ReadsArtifacts,
        run: |context, _: Nothing| {
            let store = context.store;
            let plan = store.plan()?;
            let (requirements, features) = (store.requirements()?, store.features()?);
            let mut report = tasks_of(&plan, &requirements, &features, &store.design()?);
            report.findings.retain(|f| matches!(f.code, "unknown-dependency" | "dependency-cycle"));
            Ok(match task_order(&plan) {
                Ok(order) if report.is_ok() => {
                    Answer::ok(format!("No cycle. Order: {}.", order.join(", ")))
                }
                _ => told(&report),
            })
        },
    },
];

/// True for a tool that only repeats what the program checks or runs itself when a draft's turn ends.
pub fn repeats_own_checks(tool: &str) -> bool {
    let is_command = matches!(tool, "check_tests" | "check_lint");
    is_command || TOOLS.iter().any(|own| own.name() == tool)
}

/// Formats the findings. A check that finds problems is still a successful call.
fn told(report: &Report) -> Answer {
    if report.is_ok() {
        return Answer::ok(format!("All right: {}.", report.passed.join("; ")));
    }
    let lines: Vec<_> =
        report.findings.iter().map(|finding| format!("- {}", finding.details)).collect();
    Answer::ok(format!("{} to fix:\n{}", lines.len(), lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::artifact::Artifact;
    use crate::stage::Stage;
    use crate::tool::testing::Bench;

    #[test]
    fn a_valid_project_passes_all_checks() {
        let bench = Bench::new(Stage::Plan);
        let mut context = bench.context();
        for kind in ["requirements", "features", "design", "plan"] {
            let answer = context.call("check_data_format", &format!(r#"{{"data_type":"{kind}"}}"#));
            assert!(answer.text.starts_with("All right: "), "{}", answer.text);
        }
        assert_eq!(context.call("check_feature_coverage", "").text, "All 2 features are covered.");
        let answer = context.call("check_task_dependencies", "");
        assert!(answer.text.starts_with("No cycle. Order: TASK-001, TASK-002"), "{}", answer.text);
    }

    #[test]
    fn findings_are_listed() {
        let bench = Bench::new(Stage::Plan);
        bench.files.edit(Artifact::ImplementationPlan, |v| {
            v["tasks"][0]["dependencies"] = json!(["TASK-002", "TASK-044"]);
            v["tasks"][0]["title"] = json!("");
        });
        bench.files.edit(Artifact::DesignSpec, |v| v["components"] = json!([]));
        let mut context = bench.context();
        let answer = context.call("check_task_dependencies", "");
        assert!(answer.ok);
        assert_eq!(
            answer.text,
            "2 to fix:\n- TASK-001 depends on TASK-044, which does not exist\n\
             - tasks wait for each other: TASK-001 → TASK-002 → TASK-001"
        );
        let answer = context.call("check_data_format", r#"{"data_type":"plan"}"#);
        assert!(answer.text.contains("TASK-001 has no title"), "{}", answer.text);
        let answer = context.call("check_feature_coverage", "");
        assert_eq!(answer.text, "Not covered by any component: FEAT-001 'add', FEAT-002 'list'.");
    }
}
