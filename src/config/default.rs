//! What holds when nobody says anything: the values of contract 6.

use std::collections::BTreeMap;
use std::fmt;

use super::{
    Api, Attribution, DEFAULT_MODEL, Limits, ModelConfig, Project, Review, ReviewOrder, Roles,
    TestsPolicy,
};
use crate::stage::Stage;

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            provider: "openai".to_owned(),
            base_url: String::new(),
            api_key: String::new(),
            api: Api::Auto,
            model: "gpt-4.1".to_owned(),
            rate_limit: None,
            timeout_s: 120,
            answer_s: 0,
            context_window: 128_000,
            max_retries: 3,
            agent: String::new(),
        }
    }
}

impl fmt::Debug for ModelConfig {
    // By hand, so that a key cannot end up in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.api_key.is_empty() { "none" } else { "(hidden)" };
        f.debug_struct("ModelConfig")
            .field("provider", &self.provider)
            .field("base_url", &self.base_url)
            .field("api_key", &key)
            .field("api", &self.api)
            .field("model", &self.model)
            .field("rate_limit", &self.rate_limit)
            .field("timeout_s", &self.timeout_s)
            .field("answer_s", &self.answer_s)
            .field("context_window", &self.context_window)
            .field("max_retries", &self.max_retries)
            .field("agent", &self.agent)
            .finish()
    }
}

impl Default for Roles {
    fn default() -> Self {
        Self { actor: DEFAULT_MODEL.to_owned(), critic: DEFAULT_MODEL.to_owned(), challenger: None }
    }
}

impl Default for Review {
    fn default() -> Self {
        Self {
            order: ReviewOrder::DraftFirst,
            gates: vec![
                Stage::Triage,
                Stage::Idea,
                Stage::Prd,
                Stage::Design,
                Stage::Plan,
                Stage::Coding,
            ],
            editor: String::new(),
            comment_prefix: ">>> ".to_owned(),
            notify: String::new(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requirements: [3, 6],
            features: [2, 4],
            components: [2, 4],
            tasks: [5, 12],
            iterations: BTreeMap::from([
                (Stage::Prd, 3),
                (Stage::Design, 3),
                (Stage::Plan, 3),
                (Stage::Coding, 5),
            ]),
            tool_turns: 60,
            command_timeout_s: 30,
            command_timeout_max_s: 600,
            max_replans: 2,
        }
    }
}

impl Default for Project {
    fn default() -> Self {
        Self {
            branch_prefix: "cowork".to_owned(),
            subject: "{stage}: {summary}".to_owned(),
            signoff: false,
            tags: true,
            template: String::new(),
            test: String::new(),
            build: String::new(),
            lint: String::new(),
            tests: TestsPolicy::Asked,
            attribution: Attribution::AssistedBy,
            self_review: vec![Stage::Plan],
        }
    }
}
