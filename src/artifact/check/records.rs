//! Checks of requirements, features and components: complete, within limits, and linked to one
//! another.

use super::{Baseline, Finding, Report, Sizes, ids};
use crate::artifact::{Artifact, DesignSpec, FeatureList, IdKind, Requirements, Store};

/// Checks `prd.md`, `requirements.json` and `feature_list.json`.
pub fn prd(store: &Store<'_>, sizes: &Sizes, added: Option<&Baseline>) -> Report {
    let mut report = Report::default();
    let text = report.document(store, Artifact::Prd);
    report.merge(requirements_and_features(store, sizes, added));
    ids::agree(&mut report, store, Artifact::Prd, &[IdKind::Requirement, IdKind::Feature], &[]);
    report.notes.extend(super::word_evidence(&text.unwrap_or_default()));
    report
}

/// Checks the records of `requirements.json` and `feature_list.json`, whichever document contains
/// them.
pub(super) fn requirements_and_features(
    store: &Store<'_>,
    sizes: &Sizes,
    added: Option<&Baseline>,
) -> Report {
    let mut report = Report::default();
    let requirements = report.load(store.requirements());
    let features = report.load(store.features());
    let requirement_ids: Vec<_> = requirements.requirements.iter().map(|r| r.id.as_str()).collect();
    let feature_ids: Vec<_> = features.features.iter().map(|f| f.id.as_str()).collect();
    report.count(IdKind::Requirement, &requirement_ids, sizes.requirements, added);
    report.count(IdKind::Feature, &feature_ids, sizes.features, added);
    report.merge(requirements_of(&requirements));
    report.merge(features_of(&features, &requirements));
    untraced(&mut report, &requirements, &features);
    unplanned(&mut report, &features, added);
    report
}

/// Checks `design.md` and `design_spec.json`.
pub fn design(store: &Store<'_>, sizes: &Sizes, added: Option<&Baseline>) -> Report {
    let mut report = Report::default();
    let text = report.document(store, Artifact::Design);
    let design = report.load(store.design());
    let features = report.load(store.features());
    let component_ids: Vec<_> = design.components.iter().map(|c| c.id.as_str()).collect();
    report.count(IdKind::Component, &component_ids, sizes.components, added);
    report.merge(components_of(&design, &features));
    report.rule("every feature covered", |report| {
        // In a change request, a feature is also covered if a task that works on it names
        // an existing component.
        let tasks = added.map(|_| report.load(store.plan()).tasks).unwrap_or_default();
        let carried = |id: &str| {
            tasks.iter().any(|task| {
                task.feature_id == id && design.components.iter().any(|c| c.id == task.component_id)
            })
        };
        let uncovered = uncovered_features(&features, &design).into_iter();
        for (id, name) in uncovered.filter(|(id, _)| !carried(id)) {
            let details = format!("feature {id} '{name}' is covered by no component");
            report.find(
                Finding::missing("uncovered-feature", details)
                    .fix(format!("name {id} below the heading of the component that implements it"))
                    .about(id),
            );
        }
    });
    let others = [IdKind::Requirement, IdKind::Feature];
    ids::agree(&mut report, store, Artifact::Design, &[IdKind::Component], &others);
    report.notes.extend(super::word_evidence(&text.unwrap_or_default()));
    report
}

/// Checks the form of every requirement.
pub(crate) fn requirements_of(requirements: &Requirements) -> Report {
    let mut report = Report::default();
    let ids: Vec<_> = requirements.requirements.iter().map(|r| r.id.as_str()).collect();
    report.rule("every requirement complete", |report| {
        report.well_formed(IdKind::Requirement, &ids);
        report.unique(Artifact::Requirements, &ids);
        for requirement in &requirements.requirements {
            let empty = [
                ("title", requirement.title.trim().is_empty()),
                ("description", requirement.description.trim().is_empty()),
                (
                    "criteria",
                    requirement.acceptance_criteria.iter().all(|one| one.text.trim().is_empty()),
                ),
            ];
            incomplete(report, "incomplete-requirement", &requirement.id, &empty);
        }
    });
    report
}

/// Checks the form of every feature, and that the requirements it names exist.
pub(crate) fn features_of(features: &FeatureList, requirements: &Requirements) -> Report {
    let mut report = Report::default();
    let ids: Vec<_> = features.features.iter().map(|f| f.id.as_str()).collect();
    report.rule("every feature traces to a requirement", |report| {
        report.well_formed(IdKind::Feature, &ids);
        report.unique(Artifact::Features, &ids);
        for feature in &features.features {
            let empty = [("name", feature.name.trim().is_empty())];
            incomplete(report, "incomplete-feature", &feature.id, &empty);
            if feature.requirement_ids.is_empty() {
                let details = format!("feature {} names no requirement", feature.id);
                report.find(
                    Finding::missing("untraced-feature", details)
                        .fix("name one below its heading, or delete the feature")
                        .about(&feature.id),
                );
            }
            for id in &feature.requirement_ids {
                if !requirements.requirements.iter().any(|r| &r.id == id) {
                    let details =
                        format!("feature {} names {id}, which does not exist", feature.id);
                    report.find(Finding::wrong("unknown-requirement", details).about(&feature.id));
                }
            }
        }
    });
    report
}

/// Checks the form of every component, and that the features it names exist.
pub(crate) fn components_of(design: &DesignSpec, features: &FeatureList) -> Report {
    let mut report = Report::default();
    let ids: Vec<_> = design.components.iter().map(|c| c.id.as_str()).collect();
    report.rule("every component names known features", |report| {
        report.well_formed(IdKind::Component, &ids);
        report.unique(Artifact::DesignSpec, &ids);
        for component in &design.components {
            let empty = [("name", component.name.trim().is_empty())];
            incomplete(report, "incomplete-component", &component.id, &empty);
            for id in &component.related_features {
                if !features.features.iter().any(|f| &f.id == id) {
                    let details =
                        format!("component {} names {id}, which does not exist", component.id);
                    report.find(Finding::wrong("unknown-feature", details).about(&component.id));
                }
            }
        }
    });
    report
}

/// Returns id and name of the features that no component covers.
pub(crate) fn uncovered_features(
    features: &FeatureList,
    design: &DesignSpec,
) -> Vec<(String, String)> {
    let covered = |id: &String| design.components.iter().any(|c| c.related_features.contains(id));
    let uncovered = features.features.iter().filter(|feature| !covered(&feature.id));
    uncovered.map(|feature| (feature.id.clone(), feature.name.clone())).collect()
}

/// Code of the finding about a feature without a plan. If the feature is necessary, the change
/// request needs a wider scope.
pub const UNPLANNED: &str = "unplanned-feature";

/// Finds new features in a change request whose scope has no plan: no task would implement them.
fn unplanned(report: &mut Report, features: &FeatureList, added: Option<&Baseline>) {
    let Some(known) = added.filter(|known| !known.plans) else { return };
    for feature in features.features.iter().filter(|feature| !known.has(&feature.id)) {
        let details = format!(
            "{} is new, but the scope of this change has no plan: no task will build it",
            feature.id
        );
        report.find(Finding::missing(UNPLANNED, details)
            .fix("extend an existing feature instead and delete this one, or go back to triage for a wider scope")
            .about(&feature.id));
    }
}

/// Adds a note for each requirement that no feature serves. Such a requirement is allowed, but
/// worth a critic's look.
fn untraced(report: &mut Report, requirements: &Requirements, features: &FeatureList) {
    for requirement in &requirements.requirements {
        if !features.features.iter().any(|f| f.requirement_ids.contains(&requirement.id)) {
            report.notes.push(format!("{} is served by no feature", requirement.id));
        }
    }
}

/// True if no item has text.
pub(super) fn blank(items: &[String]) -> bool {
    items.iter().all(|item| item.trim().is_empty())
}

/// Finds a record with empty fields.
pub(super) fn incomplete(
    report: &mut Report,
    code: &'static str,
    id: &str,
    fields: &[(&str, bool)],
) {
    let empty: Vec<_> = fields.iter().filter(|(_, empty)| *empty).map(|(name, _)| *name).collect();
    if !empty.is_empty() {
        report
            .find(Finding::missing(code, format!("{id} has no {}", empty.join(", no "))).about(id));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::artifact::check::testing::{Memory, sizes};

    fn codes(report: &Report) -> Vec<&'static str> {
        report.findings.iter().map(|f| f.code).collect()
    }

    #[test]
    fn a_valid_project_passes() {
        let files = Memory::valid();
        let store = Store::new(&files);
        let report = prd(&store, &sizes(), None);
        assert!(report.is_ok(), "{report:?}");
        assert!(report.passed.contains(&"3 requirements (3–6)".to_owned()), "{report:?}");
        let report = design(&store, &sizes(), None);
        assert!(report.is_ok(), "{report:?}");
        assert!(report.passed.contains(&"every feature covered".to_owned()));
    }

    #[test]
    fn counts_and_contents_are_checked() {
        let files = Memory::valid();
        files.edit(Artifact::Requirements, |v| {
            v["requirements"].as_array_mut().unwrap().truncate(2);
            v["requirements"][1]["acceptance_criteria"] = json!([" "]);
        });
        let report = prd(&Store::new(&files), &sizes(), None);
        assert_eq!(
            codes(&report),
            ["incomplete-requirement", "unknown-requirement", "unknown-id-in-document"]
        );
        assert!(report.passed.contains(&"2 requirements (3–6 are usual)".to_owned()), "{report:?}");
        assert_eq!(report.findings[0].details, "REQ-002 has no criteria");
    }

    #[test]
    fn a_patch_counts_only_what_it_adds() {
        let files = Memory::valid();
        let store = Store::new(&files);
        let baseline = Baseline::in_store(&store).unwrap();
        let mut text = store.text(Artifact::Prd).unwrap().unwrap();
        for n in 4..8 {
            let id = format!("REQ-00{n}");
            text.push_str(&id);
            text.push(' ');
            files.edit(Artifact::Requirements, |v| {
                let mut new = v["requirements"][0].clone();
                new["id"] = json!(id);
                v["requirements"].as_array_mut().unwrap().push(new);
            });
        }
        files.put(Artifact::Prd, &text);
        assert_eq!(codes(&prd(&store, &sizes(), None)), ["requirement-count"]);
        let report = prd(&store, &sizes(), Some(&baseline));
        assert!(report.is_ok(), "{report:?}");
        assert!(report.passed.contains(&"4 requirements added (at most 6)".to_owned()));
        assert!(
            prd(&store, &Sizes { requirements: [3, 3], ..sizes() }, Some(&baseline))
                .findings
                .iter()
                .any(|f| f.code == "requirement-count")
        );
    }

    #[test]
    fn uncovered_features_and_unknown_ids_are_found() {
        let files = Memory::valid();
        files.edit(Artifact::DesignSpec, |v| {
            v["components"][0]["related_features"] = json!(["FEAT-002", "FEAT-009"]);
        });
        let report = design(&Store::new(&files), &sizes(), None);
        assert_eq!(codes(&report), ["unknown-feature", "uncovered-feature"]);
        assert_eq!(report.findings[1].about.as_deref(), Some("FEAT-001"));
    }

    #[test]
    fn duplicates_and_broken_files_are_findings() {
        let files = Memory::valid();
        files.edit(Artifact::Features, |v| v["features"][1]["id"] = json!("FEAT-001"));
        assert!(codes(&prd(&Store::new(&files), &sizes(), None)).contains(&"duplicate-id"));
        files.put(Artifact::Features, "{");
        assert!(codes(&prd(&Store::new(&files), &sizes(), None)).contains(&"unreadable-file"));
    }
}
