//! All keys. Each field is a key: its comment goes into the file that `git cowork init` writes, and
//! its row gives its default, when a project's file may set it, and its allowed values.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Map;

use super::fields::{keys, words};
use super::value::ValueType;
use super::{DEFAULT_MODEL, Places, Switches};
use crate::stages::DepthChoice;

/// Providers: hosted APIs, presets of local servers, and what is no server.
const PROVIDERS: ValueType = ValueType::Choice(&[
    "openai",
    "anthropic",
    "gemini",
    "openrouter",
    "mistral",
    "deepseek",
    "xai",
    "groq",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
    "replay",
    "agent",
]);
const AGENTS: ValueType = ValueType::Choice(&["claude", "codex", "gemini", "opencode"]);
const POSITIVE: ValueType = ValueType::Count(1, u32::MAX as u64);
const DRAFTS: ValueType = ValueType::Count(1, 1000);
const SECONDS: ValueType = ValueType::Count(1, 7 * 24 * 3600);
/// Seconds; 0 means no limit.
const ANSWER: ValueType = ValueType::Count(0, 7 * 24 * 3600);
const TEMPERATURE: ValueType = ValueType::Number(0.0, 2.0);

words! {
    /// The API of a model server.
    pub enum Api {
        /// Messages for provider "anthropic"; Responses if the server is known to support it or
        /// reports that it does; chat completions otherwise.
        #[default]
        Auto = "auto",
        /// Chat completions.
        Chat = "chat",
        /// Responses.
        Responses = "responses",
        /// Anthropic's Messages.
        Messages = "messages",
    }
}

words! {
    /// Whether a person or the critic reads a draft first.
    pub enum ReviewOrder {
        /// Person, then critic.
        #[default]
        DraftFirst = "draft-first",
        /// Critic, then person.
        CriticFirst = "critic-first",
    }
}

words! {
    /// When the coding actor writes tests.
    pub enum TestsPolicy {
        /// If the PRD, the idea or the repository's conventions ask for them.
        #[default]
        Asked = "asked",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

words! {
    /// How completed stages are labelled.
    pub enum StageTags {
        /// With tags, unless the project has a tool that takes every tag for a version: then with
        /// refs of git-cowork's own.
        #[default]
        Auto = "auto",
        /// With tags.
        Always = "true",
        /// Not at all.
        Never = "false",
    }
}

words! {
    /// How generated content is credited in commits.
    pub enum Attribution {
        /// `Assisted-by:`
        #[default]
        AssistedBy = "assisted-by",
        /// `Co-authored-by:`
        CoAuthoredBy = "co-authored-by",
        /// No trailer.
        None = "none",
    }
}

words! {
    /// Whether git-cowork downloads the dependencies that a project's lock files name.
    pub enum FetchPolicy {
        /// If the user at the terminal agrees.
        #[default]
        Ask = "ask",
        /// Without asking.
        Always = "always",
        /// Not at all.
        Never = "never",
    }
}

keys! {
    /// A model and how to reach it.
    #[derive(Clone, PartialEq)]
    pub struct ModelConfig {
        /// "openai" is any compatible server; "anthropic" is Claude's own API and servers that
        /// implement it; "gemini", "openrouter", "mistral", "deepseek", "xai" and "groq" are hosted
        /// APIs, whose key is in the usual variable (GEMINI_API_KEY, …); "ollama", "lmstudio",
        /// "llamacpp" and "vllm" are local servers with a known base_url; "agent" is a coding agent
        /// that writes or judges drafts; "replay" plays recorded answers.
        provider: String = "openai".to_owned() => Trust, PROVIDERS;
        /// Up to and including /v1, such as "http://127.0.0.1:11434/v1". If empty: the provider's
        /// URL; with an api_key, the hosted OpenAI API; otherwise the usual local ports are tried.
        base_url: String = String::new() => Trust;
        /// Leave empty if the server needs none. In your own file, "${NAME}" is an environment
        /// variable.
        api_key: String = String::new() => Trust;
        /// "chat" completions, "responses", "messages" (Anthropic's), or "auto": Messages for
        /// provider "anthropic"; Responses for the hosted OpenAI API, Azure's v1 route, xAI and
        /// servers that say so; chat otherwise.
        api: Api = Api::Auto => Trust;
        /// Name of the model on the server.
        model: String = "gpt-4.1".to_owned() => Free;
        /// Rate limit, spread evenly: "30/m" (the default for servers that are not on this machine)
        /// sends a few requests at once, then one every 2 s.
        rate_limit: Option<u32> = None => Trust;
        /// Seconds without data after which a request fails; ten times as many before the first
        /// token.
        timeout_s: u64 = 120 => Trust, SECONDS;
        /// Seconds that one whole answer may take before the request is sent again; 0 means no
        /// limit. Default: 1800 for servers that are not on this machine; 900 for agent programs,
        /// which are not retried.
        answer_s: u64 = 0 => Trust, ANSWER;
        /// Size of the model's context window in tokens.
        context_window: u64 = 128_000 => Trust, ValueType::Count(1024, i64::MAX as u64);
        /// How often a request that failed with a temporary error is sent again.
        max_retries: u32 = 3 => Trust, ValueType::Count(0, 100);
        /// Maximum number of tokens of one answer, reasoning included. 0 means the server's own
        /// limit; the Messages API needs a number, so there 0 means 32000.
        max_tokens: u64 = 0 => Trust, ValueType::Count(0, u32::MAX as u64);
        /// How much a reasoning model thinks, in its server's terms, such as "none", "low" or
        /// "high".
        reasoning_effort: String = String::new() => Trust;
        /// Extra headers of every request, such as { "x-team" = "tools" }. In git config: JSON.
        /// Anything that looks like a key here, in query or in extra_body is kept secret, as
        /// api_key is.
        headers: BTreeMap<String, String> = BTreeMap::new() => Trust;
        /// Query parameters of every request, such as { "api-version" = "2024-10-21" }.
        query: BTreeMap<String, String> = BTreeMap::new() => Trust;
        /// Merged into the body of every request, such as { top_k = 40 }.
        extra_body: Map<String, serde_json::Value> = Map::new() => Trust;
        /// The agent program, for provider "agent": "claude", "codex", "gemini" or "opencode".
        agent: String = String::new() => Trust, AGENTS;
        /// Or your own program and its arguments; "git cowork man agents" describes its input and
        /// output.
        command: Vec<String> = Vec::new() => Trust;
        /// Extra environment variables it may see, such as ["ANTHROPIC_API_KEY"].
        env: Vec<String> = Vec::new() => Trust;
    }
    with {
        /// Where these keys were set.
        set_in: Places,
    }
}

impl fmt::Debug for ModelConfig {
    // By hand, so that no key gets into a log; the fields left out, such as headers, may contain
    // one.
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
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

keys! {
    /// The model of each role; values are keys of [`Config::models`](super::Config) or `default`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Roles {
        /// The model that writes drafts.
        actor: String = DEFAULT_MODEL.to_owned() => Free;
        /// The model that judges drafts.
        critic: String = DEFAULT_MODEL.to_owned() => Free;
        /// A model for an optional second opinion; its stages: challenge under [review].
        challenger: Option<String> = None => Stricter;
    }
}

keys! {
    /// How people review.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Review {
        /// Who reads a draft first: "draft-first" (a person) or "critic-first".
        order: ReviewOrder = ReviewOrder::DraftFirst => Trust;
        /// The stages in which a person decides on drafts; exactly these have a gate, at every
        /// depth. If not set, the session's depth determines them: at depth "standard" they are
        /// triage, prd, plan and coding.
        gates: Switches = Switches::default() => Stricter;
        /// Editor command; if empty, git's editor.
        editor: String = String::new() => Trust;
        /// Prefix of a comment line in an edited document.
        comment_prefix: String = ">>> ".to_owned() => Trust;
        /// Command to run when a draft waits for a person.
        notify: String = String::new() => Trust;
        /// Command that looks at a draft before a person is asked: exit 0 approves it, exit 1 turns
        /// its output into feedback, anything else leaves the decision to a person.
        decide: String = String::new() => Trust;
        /// Approvals count only in commits that pass `git verify-commit`.
        signed: bool = false => Stricter;
        /// Stages in which the challenger reads the draft after the critic, if [roles] names a
        /// challenger. If not set: coding.
        challenge: Switches = Switches::default() => Stricter;
    }
}

keys! {
    /// Limits on sizes and counts.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LimitsConfig {
        /// Usual minimum, which is advice only, and maximum number of requirements.
        requirements: [u32; 2] = [3, 6] => Stricter;
        /// Usual minimum, which is advice only, and maximum number of features.
        features: [u32; 2] = [2, 4] => Stricter;
        /// Usual minimum, which is advice only, and maximum number of components.
        components: [u32; 2] = [2, 4] => Stricter;
        /// Usual minimum, which is advice only, and maximum number of top-level tasks.
        tasks: [u32; 2] = [5, 12] => Stricter;
        /// Model turns in one agent run.
        tool_turns: u32 = 60 => Stricter, POSITIVE;
        /// Seconds a command may take unless the model asks for more.
        command_timeout_s: u64 = 30 => Stricter, SECONDS;
        /// Maximum number of seconds that a model may ask for.
        command_timeout_max_s: u64 = 600 => Stricter, SECONDS;
        /// How often a session may go back to an earlier stage by itself.
        max_replans: u32 = 2 => Stricter;
    }
}

keys! {
    /// Settings of one stage; a key that is not set has the stage's default.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StageConfig {
        /// The actor's temperature.
        actor_temperature as "temperature.actor": Option<f64> = None => Trust, TEMPERATURE;
        /// The temperature of the critic and other judging roles.
        critic_temperature as "temperature.critic": Option<f64> = None => Trust, TEMPERATURE;
        /// Maximum number of drafts; also iterations = { STAGE = 3 } under [limits].
        iterations: Option<u32> = None => Stricter, DRAFTS;
        /// Name of the actor's model: a [models.NAME], or "default".
        model: Option<String> = None => Free;
        /// Whether a person decides on drafts; also gates under [review].
        review: Option<bool> = None => Stricter;
    }
}

keys! {
    /// Price of a million tokens in US dollars.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Price {
        /// Input tokens.
        input as "in": f64 = 0.0 => Trust;
        /// Output tokens.
        output as "out": f64 = 0.0 => Trust;
        /// Cached input tokens; if not set, the price of other input tokens.
        cached: f64 = 0.0 => Trust;
    }
}

keys! {
    /// What a session may use; 0 = no limit.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Budget {
        /// Tokens, input and output.
        tokens: u64 = 0 => Capped;
        /// US dollars.
        usd: f64 = 0.0 => Capped;
        /// Requests.
        requests: u64 = 0 => Capped;
        /// Seconds.
        wall_s: u64 = 0 => Capped;
    } with {
        /// By model name.
        prices: BTreeMap<String, Price>,
    }
}

keys! {
    /// The repository's conventions.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Project {
        /// First part of branch and tag names.
        branch_prefix: String = "cowork".to_owned() => Trust;
        /// Subject line of git-cowork's commits, with {stage}, and {summary} or {summary_lower}. If it
        /// is changed, merges get it, too.
        subject: String = "{stage}: {summary}".to_owned() => Free;
        /// Add a Signed-off-by trailer.
        signoff: bool = false => Trust;
        /// Tag completed stages: true or false; "auto": not if a tool takes every tag for a version
        /// (setuptools-scm, release-it, …), then refs/cowork/stages/ has the labels.
        tags: StageTags = StageTags::Auto => Trust;
        /// Commit the documents of sessions through the filter that .gitattributes names for them
        /// (git-crypt, transcrypt), and read them through it. Messages of commits are not filtered.
        filters: bool = false => Trust;
        /// "rust", "python", "node", "go", "ruby": who writes the code gets guidance for this
        /// language, and its commands are tried first. If empty, detected from the files. Others
        /// need prompts/guidance-NAME.md.
        template: String = String::new() => Free;
        /// Test command that git-cowork runs itself; detected if empty.
        test: String = String::new() => Trust;
        /// Build command; detected if empty.
        build: String = String::new() => Trust;
        /// Lint command; detected if empty. It can be, or include, any check of your own: the
        /// output of a new failure goes back to the model.
        lint: String = String::new() => Trust;
        /// Write tests if they are "asked" for, "always" or "never".
        tests: TestsPolicy = TestsPolicy::Asked => Trust;
        /// How models are credited: "assisted-by", "co-authored-by" or "none".
        attribution: Attribution = Attribution::AssistedBy => Trust;
        /// How much process a session has: "quick" (one document and the code), "standard" (all
        /// documents, few gates), "thorough" (every stage separately), or "auto" (depends on the
        /// idea).
        depth: DepthChoice = DepthChoice::Auto => Stricter;
        /// Stages in which the actor reviews its own draft after the checks have passed. If not
        /// set, the session's depth decides: at depth "thorough" it is the plan.
        self_review: Switches = Switches::default() => Stricter;
        /// Files that no model, tool or command can see and no commit changes, as .gitignore
        /// patterns: ["*.pem", "/prices/"]. Commands then cannot see .git either. Every
        /// configuration file adds to this list; none removes from it.
        private: Vec<String> = Vec::new() => Adds;
    }
}

keys! {
    /// What commands are allowed to do.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SandboxConfig {
        /// Allow the network; without it, a command can reach only servers that it starts itself.
        network: bool = false => Trust;
        /// Directories and files that commands may write besides the working tree (never .git), a
        /// temporary directory and their own caches: absolute, or "~/…".
        writable: Vec<String> = Vec::new() => Trust;
        /// Directories and files that commands may read in your home directory, where they
        /// otherwise see only toolchains and downloaded packages: absolute, or "~/…".
        readable: Vec<String> = Vec::new() => Trust;
        /// Servers that agent programs may reach besides those they are known to need, while
        /// commands have no network: each as name:port, such as "api.example.org:443". Also list
        /// this machine if they need it: "localhost:8080". "*" is every server.
        hosts: Vec<String> = Vec::new() => Trust;
        /// Prefix of every command, in place of the built-in sandbox: ["bwrap", …], a container.
        command_prefix: Vec<String> = Vec::new() => Trust;
        /// Run commands even if this system cannot confine them. If false, git-cowork asks about
        /// each command, and refuses it if it cannot ask.
        unconfined: bool = false => Trust;
        /// Whether missing dependencies that the project's lock files name are downloaded, in one
        /// step with the network, before the first request: "ask" (once for each version of the
        /// lock files; exit 5 if nobody can be asked), "always", "never" (checks that need them are
        /// skipped).
        fetch: FetchPolicy = FetchPolicy::Ask => Trust;
    }
}

keys! {
    /// A user-defined tool: a command that gets the arguments of a call.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ToolConfig {
        /// Command that runs at the top of the working tree, in the same sandbox as a model's
        /// commands. It gets the arguments as a JSON object on standard input; its output and exit
        /// status are the answer.
        command: String = String::new() => Trust;
        /// Description for the model.
        description: String = String::new() => Trust;
        /// JSON schema of the arguments; if empty, the tool takes none. In git config: JSON.
        schema: Map<String, serde_json::Value> = Map::new() => Trust;
        /// Stages in which the tool is offered to the actor. If not set: coding.
        stages: Switches = Switches::default() => Trust;
    }
}
