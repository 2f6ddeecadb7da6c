//! Every key there is. A field is a key: its comment goes into the file that `git cowork init` writes,
//! and its row says its default, when a project's file may set it, and what it may hold.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Map;

use super::fields::{keys, words};
use super::value::Shape;
use super::{DEFAULT_MODEL, Switches};
use crate::stages::DepthChoice;

/// Providers; the ones between `anthropic` and `replay` are presets of a loopback server.
const PROVIDERS: Shape = Shape::Choice(&[
    "openai",
    "anthropic",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
    "replay",
    "agent",
]);
const AGENTS: Shape = Shape::Choice(&["claude", "codex", "gemini", "opencode"]);
const POSITIVE: Shape = Shape::Count(1, u32::MAX as u64);
const DRAFTS: Shape = Shape::Count(1, 1000);
const SECONDS: Shape = Shape::Count(1, 7 * 24 * 3600);
/// Seconds, where 0 means that there is no limit.
const ANSWER: Shape = Shape::Count(0, 7 * 24 * 3600);
const TEMPERATURE: Shape = Shape::Number(0.0, 2.0);

words! {
    /// Which API a server is asked through.
    pub enum Api {
        /// Messages for provider "anthropic"; Responses where a server is known to have it or says so;
        /// else chat completions.
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
    /// Whether a person reads a draft before or after the critic.
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
        /// When the PRD, the idea or the repository's conventions ask for them.
        #[default]
        Asked = "asked",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

words! {
    /// How generated content is credited.
    pub enum Attribution {
        /// `Assisted-by:`
        #[default]
        AssistedBy = "assisted-by",
        /// `Co-authored-by:`
        CoAuthoredBy = "co-authored-by",
        /// Not at all.
        None = "none",
    }
}

words! {
    /// Whether what a project's lock files name is fetched, with the network.
    pub enum FetchPolicy {
        /// When a person at the terminal says so.
        #[default]
        Ask = "ask",
        /// Without a question.
        Always = "always",
        /// Not at all.
        Never = "never",
    }
}

keys! {
    /// A model and how to reach it.
    #[derive(Clone, PartialEq)]
    pub struct ModelConfig {
        /// Any compatible server is "openai"; "anthropic" is Claude's own API and servers that speak it;
        /// "ollama", "lmstudio", "llamacpp" and "vllm" are local ones with a known base_url; "agent" is a
        /// coding agent, which judges or writes drafts; "replay" plays recorded answers.
        provider: String = "openai".to_owned() => Trust, PROVIDERS;
        /// Up to and including /v1, such as "http://127.0.0.1:11434/v1". Empty: the provider's; the
        /// hosted API where there is an api_key; else the usual local ports are tried.
        base_url: String = String::new() => Trust;
        /// Empty when the server wants none. In your own file "${NAME}" is an environment variable.
        api_key: String = String::new() => Trust;
        /// "chat" completions, "responses", "messages" (Anthropic's), or "auto": Messages for provider
        /// "anthropic", Responses for the hosted OpenAI API, Azure's v1 route and xAI, and where a server
        /// says so.
        api: Api = Api::Auto => Trust;
        /// Name of the model, as its server knows it.
        model: String = "gpt-4.1".to_owned() => Free;
        /// Requests in a time, evenly: "30/m" (the default for servers elsewhere) is one every 2 s
        /// after a few at once.
        rate_limit: Option<u32> = None => Trust;
        /// Seconds of silence that count as a failure; before the first token ten times that.
        timeout_s: u64 = 120 => Trust, SECONDS;
        /// Seconds of one whole answer, which is then asked for once more; 0 is no limit. The default
        /// for servers elsewhere is 1800; of an agent program, which is asked once, 900.
        answer_s: u64 = 0 => Trust, ANSWER;
        /// Tokens the model can hold.
        context_window: u64 = 128_000 => Trust, Shape::Count(1024, i64::MAX as u64);
        /// How often a request that failed for a passing reason is sent again.
        max_retries: u32 = 3 => Trust, Shape::Count(0, 100);
        /// Most tokens of one answer, thoughts included. 0 is the server's own limit; where a number must
        /// be sent (Messages) it is 32000.
        max_tokens: u64 = 0 => Trust, Shape::Count(0, u32::MAX as u64);
        /// How much a thinking model thinks, in its server's words, such as "none", "low" or "high".
        reasoning_effort: String = String::new() => Trust;
        /// Headers of every request besides ours, such as { "x-team" = "tools" }. In git config, JSON.
        /// What looks like a key here, in query or in extra_body is kept secret as api_key is.
        headers: BTreeMap<String, String> = BTreeMap::new() => Trust;
        /// Added to the address of every request, such as { "api-version" = "2024-10-21" }.
        query: BTreeMap<String, String> = BTreeMap::new() => Trust;
        /// Laid over the body of every request, table by table, such as { top_k = 40 }.
        extra_body: Map<String, serde_json::Value> = Map::new() => Trust;
        /// Which agent program, for provider "agent": "claude", "codex", "gemini" or "opencode".
        agent: String = String::new() => Trust, AGENTS;
        /// Or a program of your own and its arguments; the README says what it reads and writes.
        command: Vec<String> = Vec::new() => Trust;
        /// Environment variables it may see besides those every program needs: ["ANTHROPIC_API_KEY"].
        env: Vec<String> = Vec::new() => Trust;
    }
}

impl fmt::Debug for ModelConfig {
    // By hand, so that a key cannot end up in a log; headers and the like may hold one.
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
    /// Which model plays which role; names are keys of [`Config::models`](super::Config) or `default`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Roles {
        /// Who writes drafts.
        actor: String = DEFAULT_MODEL.to_owned() => Free;
        /// Who judges them.
        critic: String = DEFAULT_MODEL.to_owned() => Free;
        /// An optional second opinion, in the stages of challenge under [review].
        challenger: Option<String> = None => Stricter;
    }
}

keys! {
    /// How people review.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Review {
        /// Who reads a draft first: "draft-first" (a person) or "critic-first".
        order: ReviewOrder = ReviewOrder::DraftFirst => Trust;
        /// Stages where a person decides: exactly these, whatever a session's depth. Where it is not
        /// set the depth says it; standard has triage, prd, plan and coding.
        gates: Switches = Switches::default() => Stricter;
        /// Editor command; empty: what git uses.
        editor: String = String::new() => Trust;
        /// What begins a comment line in an edited document.
        comment_prefix: String = ">>> ".to_owned() => Trust;
        /// Command run when a person is waited for.
        notify: String = String::new() => Trust;
        /// Command that looks at a draft before a person is asked: exit 0 passes it, 1 makes what it
        /// prints feedback, anything else leaves it to a person.
        decide: String = String::new() => Trust;
        /// Approvals count only in commits that `git verify-commit` accepts.
        signed: bool = false => Stricter;
        /// Stages whose draft the challenger reads after the critic, where [roles] names one. Where it is
        /// not set that is coding.
        challenge: Switches = Switches::default() => Stricter;
    }
}

keys! {
    /// How much there may be of everything.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Limits {
        /// Fewest and most requirements.
        requirements: [u32; 2] = [3, 6] => Stricter;
        /// Fewest and most features.
        features: [u32; 2] = [2, 4] => Stricter;
        /// Fewest and most components.
        components: [u32; 2] = [2, 4] => Stricter;
        /// Fewest and most top-level tasks.
        tasks: [u32; 2] = [5, 12] => Stricter;
        /// Model turns of one agent run.
        tool_turns: u32 = 60 => Stricter, POSITIVE;
        /// Seconds a command may take unless the model asks for more.
        command_timeout_s: u64 = 30 => Stricter, SECONDS;
        /// Seconds a model may ask for.
        command_timeout_max_s: u64 = 600 => Stricter, SECONDS;
        /// How often a session may go back by itself.
        max_replans: u32 = 2 => Stricter;
    }
}

keys! {
    /// Settings of one stage; what is not set is the stage's own.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StageConfig {
        /// How freely the actor writes.
        actor_temperature as "temperature.actor": Option<f64> = None => Trust, TEMPERATURE;
        /// How freely whoever judges answers.
        critic_temperature as "temperature.critic": Option<f64> = None => Trust, TEMPERATURE;
        /// How many drafts there may be; also iterations = { STAGE = 3 } under [limits].
        iterations: Option<u32> = None => Stricter, DRAFTS;
        /// Name of the actor's model: a [models.NAME], or "default".
        model: Option<String> = None => Free;
        /// Whether a person decides; also gates under [review].
        review: Option<bool> = None => Stricter;
    }
}

keys! {
    /// Price of a million tokens in US dollars.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Price {
        /// Prompt tokens.
        input as "in": f64 = 0.0 => Trust;
        /// Generated tokens.
        output as "out": f64 = 0.0 => Trust;
        /// Cached prompt tokens; the price of others where it is not set.
        cached: f64 = 0.0 => Trust;
    }
}

keys! {
    /// What a session may use; 0 = no limit.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Budget {
        /// Tokens, in and out.
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
    /// The repository's own ways.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Project {
        /// First part of branch and tag names.
        branch_prefix: String = "cowork".to_owned() => Trust;
        /// Subject of our commits.
        subject: String = "{stage}: {summary}".to_owned() => Free;
        /// Add Signed-off-by.
        signoff: bool = false => Trust;
        /// Tag finished stages.
        tags: bool = true => Trust;
        /// "rust", "python", "node", "go", "ruby": how the language is written is said from the
        /// design on, and its commands come first; found from the files when empty. For others:
        /// prompts/guidance-NAME.md.
        template: String = String::new() => Free;
        /// Test command the program runs itself; detected when empty.
        test: String = String::new() => Trust;
        /// Build command; detected when empty.
        build: String = String::new() => Trust;
        /// Lint command; detected when empty. Any check of your own may be it, or part of it: what it
        /// prints goes back to the model when it fails newly.
        lint: String = String::new() => Trust;
        /// Write tests when they are "asked" for, "always" or "never".
        tests: TestsPolicy = TestsPolicy::Asked => Trust;
        /// How models are credited: "assisted-by", "co-authored-by" or "none".
        attribution: Attribution = Attribution::AssistedBy => Trust;
        /// How much process a session gets: "quick" (one document and the code), "standard" (all
        /// documents, few stops), "thorough" (every stage by itself), or "auto": by the idea.
        depth: DepthChoice = DepthChoice::Auto => Stricter;
        /// Stages whose draft the actor reads once more, when the checks have passed it. Where it is not
        /// set the depth says it; thorough has the plan.
        self_review: Switches = Switches::default() => Stricter;
        /// Files that no model, tool or command gets to see and no commit changes, as globs of
        /// .gitignore: ["*.pem", "/prices/"]. Commands then see no .git either. Every configuration
        /// file adds to this list, and none takes away from it.
        private: Vec<String> = Vec::new() => Adds;
    }
}

keys! {
    /// What commands may do.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Sandbox {
        /// The network; without it, only servers a command starts itself can be reached.
        network: bool = false => Trust;
        /// Directories and files commands may write besides the working tree (never .git), a temporary
        /// directory and caches of their own: absolute, or "~/…".
        writable: Vec<String> = Vec::new() => Trust;
        /// Directories and files commands may read in your home, where they see nothing else but
        /// toolchains and fetched packages: absolute, or "~/…".
        readable: Vec<String> = Vec::new() => Trust;
        /// Servers that agent programs may reach besides those they are known to need, while commands have
        /// no network: each as name:port, such as "api.example.org:443". This machine is reached only
        /// where it is named, too: "localhost:8080". "*" is every server.
        hosts: Vec<String> = Vec::new() => Trust;
        /// Put before every command, instead of the built-in confinement: ["bwrap", …], a container.
        command_prefix: Vec<String> = Vec::new() => Trust;
        /// Where this system cannot confine commands, run them all the same. Else each is asked about,
        /// and refused where nobody can be asked.
        unconfined: bool = false => Trust;
        /// What the project's lock files name and is missing is fetched in one step with the network,
        /// before the first request: "ask" (a person, once for each content of these files; exit 5
        /// where nobody can be asked), "always", "never" (checks that need it are not run).
        fetch: FetchPolicy = FetchPolicy::Ask => Trust;
    }
}

keys! {
    /// A tool of the user's own: a command that is given a call's arguments.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ToolConfig {
        /// What is run at the top of the working tree, confined as the commands of models are. It gets the
        /// arguments as a JSON object on its standard input; what it prints and its exit status are
        /// the answer.
        command: String = String::new() => Trust;
        /// What it does, for the model.
        description: String = String::new() => Trust;
        /// JSON schema of the arguments; none: it takes no arguments. In git config, JSON.
        schema: Map<String, serde_json::Value> = Map::new() => Trust;
        /// Stages whose actor is offered it. Where it is not set that is coding.
        stages: Switches = Switches::default() => Trust;
    }
}
