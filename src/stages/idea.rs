//! The idea stage: writes up the raw idea.

use super::common_subjects::title_of;
use super::row::{READ_FILES, RoleSpec, Selected, StageSpec, USUAL};
use crate::artifact::{Artifact, check};
use crate::stage::Stage;

pub(super) const IDEA: StageSpec = StageSpec {
    stage: Stage::Idea,
    selected: Selected::NewOnly,
    actor: RoleSpec {
        prompt: prompt!("idea.md"),
        tools: &[
            &["save_idea", "load_idea", "edit_file"],
            READ_FILES,
            &["review_and_edit_content"],
        ],
    },
    closing: &["save_idea"],
    artifacts: &[Artifact::Idea],
    check: |input| check::idea(&input.store, input.drafting),
    subject: |facts| title_of(&facts.store, Artifact::Idea, facts.title),
    actor_temperature: 0.8,
    called: "idea",
    ..USUAL
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_lists_the_sections_that_are_checked() {
        let text = IDEA.actor.prompt.built_in;
        let place = |name: &&str| text.find(&format!("- `## {name}`: ")).unwrap();
        let places: Vec<usize> = check::IDEA_SECTIONS.iter().map(place).collect();
        assert!(places.is_sorted(), "{places:?}");
    }
}
