//! The delivery stage: writes the report a reviewer reads first.

use super::common_subjects::title_of;
use super::row::{READ_FILES, READ_SESSION, Rendered, RoleSpec, StageSpec, USUAL};
use crate::artifact::{Artifact, FeatureStatus, check};
use crate::stage::Stage;

pub(super) const DELIVERY: StageSpec = StageSpec {
    stage: Stage::Delivery,
    actor: RoleSpec {
        prompt: prompt!("delivery.md"),
        tools: &[&["save_delivery_report"], READ_FILES, READ_SESSION, &["load_change_request"]],
    },
    closing: &["save_delivery_report"],
    context: &[
        Artifact::Idea,
        Artifact::Prd,
        Artifact::Design,
        Artifact::Plan,
        Artifact::CheckReport,
    ],
    artifacts: &[Artifact::DeliveryReport],
    needs_code: true,
    check: |input| check::delivery(&input.store, input.files.code()),
    subject: |facts| title_of(&facts.store, Artifact::DeliveryReport, facts.title),
    finish: Some(|report, known| match report.trim() {
        "" => Ok(report.to_owned()),
        _ => known.with_story(report),
    }),
    rendered: Some(Rendered {
        text: |known| known.summary(),
        suffices: |known| known.has_summary(),
    }),
    feature_status: |status, _| match status {
        FeatureStatus::Implemented | FeatureStatus::Verified => FeatureStatus::Delivered,
        status => status,
    },
    ..USUAL
};
