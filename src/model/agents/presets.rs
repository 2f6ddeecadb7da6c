//! The agent programs that are known, one row each: how they are asked for one text, and how they
//! answer. Made from what these versions do: Claude Code 2.1.197, Codex 0.169.0, Gemini CLI 0.61.0,
//! OpenCode 1.18.33.

use serde_json::Value;

use super::heard::{Heard, count, text};
use super::usage;
use super::workplace::Reach;

/// A program.
#[derive(Debug)]
pub(super) struct Preset {
    /// Its value in the configuration; empty for a command of the user's own.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// The program and what it is always given: JSON lines, nothing written, as few tools as it can do
    /// with. The text comes on its standard input.
    pub command: &'static [&'static str],
    /// The same where it is confined, and a sandbox of its own does not work inside ours; empty where it
    /// brings none.
    pub confined: &'static [&'static str],
    /// The same for one that writes: it changes files and runs commands without asking, and its own
    /// sandbox is off, since it does not work inside ours.
    pub writes: &'static [&'static str],
    /// Where it keeps its login, its settings and its conversations.
    pub stores: &'static [Store],
    /// The servers it needs, to answer and to renew its sign-in.
    pub hosts: &'static [&'static str],
    /// A variable which, where the user lends it, is the only sign-in, and the flag that says so.
    pub with_key: Option<(&'static str, &'static str)>,
    /// Goes before the name of a model.
    pub model: &'static str,
    /// Goes before the id of a conversation that goes on; empty where none can.
    pub resume: &'static [&'static str],
    /// Comes last.
    pub last: &'static [&'static str],
    /// Variables that say where its files are.
    pub variables: &'static [&'static str],
    /// What is set for it.
    pub set: &'static [(&'static str, &'static str)],
    /// What is set besides where it is confined.
    pub set_confined: &'static [(&'static str, &'static str)],
    /// Takes an event up.
    pub read: fn(&mut Heard, &Value),
    /// Text that is no event is its answer.
    pub speaks_plainly: bool,
    /// It says how many tokens it used, and what that cost.
    pub counts: (bool, bool),
    /// What it counts is the sum of a conversation, earlier runs included.
    pub adds_up: bool,
    /// How to get it.
    pub install: &'static str,
    /// How to sign in.
    pub sign_in: &'static str,
    /// What it says to those who are not signed in, in lower case.
    pub signed_out: &'static [&'static str],
    /// What it says of a conversation it does not know, in lower case.
    pub lost: &'static [&'static str],
}

/// A file or folder of a program's own in the user's home.
#[derive(Debug)]
pub(super) struct Store {
    /// The variable that says where it is; empty where none does.
    pub variable: &'static str,
    /// Where it is else, below the home.
    pub in_home: &'static str,
    /// What follows either; empty for itself.
    pub then: &'static str,
}

const PRESETS: [Preset; 4] = [
    Preset {
        name: "claude",
        title: "Claude Code",
        command: &[
            "claude",
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--tools",
            "",
            "--strict-mcp-config",
        ],
        confined: &[],
        writes: &[
            "claude",
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-mode",
            "bypassPermissions",
            "--strict-mcp-config",
        ],
        stores: &[
            Store { variable: "CLAUDE_CONFIG_DIR", in_home: ".claude", then: "" },
            Store { variable: "", in_home: ".claude.json", then: "" },
        ],
        hosts: &["api.anthropic.com:443", "console.anthropic.com:443", "platform.claude.com:443"],
        with_key: Some(("ANTHROPIC_API_KEY", "--bare")),
        model: "--model",
        resume: &["--resume"],
        last: &[],
        variables: &["CLAUDE_CONFIG_DIR"],
        // Without it, a wrong key is tried for minutes.
        set: &[("CLAUDE_CODE_MAX_RETRIES", "3"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")],
        // Else root may not let it write without questions.
        set_confined: &[("IS_SANDBOX", "1")],
        read: claude,
        speaks_plainly: false,
        counts: (true, true),
        adds_up: false,
        install: "npm install -g @anthropic-ai/claude-code",
        sign_in: "run claude and type /login, or lend it a key: env = [\"ANTHROPIC_API_KEY\"]",
        signed_out: &[
            "not logged in",
            "please run /login",
            "authentication_failed",
            "invalid api key",
        ],
        lost: &["no conversation found with session id"],
    },
    Preset {
        name: "codex",
        title: "Codex",
        command: &["codex", "exec", "--json", "-s", "read-only", "--skip-git-repo-check"],
        confined: &[
            "codex",
            "exec",
            "--json",
            "--dangerously-bypass-approvals-and-sandbox",
            "--skip-git-repo-check",
        ],
        writes: &[
            "codex",
            "exec",
            "--json",
            "--dangerously-bypass-approvals-and-sandbox",
            "--skip-git-repo-check",
        ],
        stores: &[Store { variable: "CODEX_HOME", in_home: ".codex", then: "" }],
        hosts: &["api.openai.com:443", "auth.openai.com:443", "chatgpt.com:443"],
        with_key: None,
        model: "-m",
        resume: &["resume"],
        last: &["-"],
        variables: &["CODEX_HOME"],
        set: &[],
        set_confined: &[],
        read: codex,
        speaks_plainly: false,
        counts: (true, false),
        adds_up: true,
        install: "npm install -g @openai/codex",
        sign_in: "codex login (codex login status says whether you are)",
        signed_out: &["not logged in", "missing environment variable", "401 unauthorized"],
        lost: &["no rollout found for thread id"],
    },
    Preset {
        name: "gemini",
        title: "Gemini CLI",
        command: &["gemini", "-o", "stream-json", "--approval-mode", "plan", "--skip-trust"],
        confined: &[],
        writes: &["gemini", "-o", "stream-json", "--approval-mode", "yolo", "--skip-trust"],
        stores: &[Store { variable: "", in_home: ".gemini", then: "" }],
        hosts: &[
            "generativelanguage.googleapis.com:443",
            "cloudcode-pa.googleapis.com:443",
            "aiplatform.googleapis.com:443",
            "oauth2.googleapis.com:443",
        ],
        with_key: None,
        model: "-m",
        resume: &["--resume"],
        last: &[],
        variables: &["GOOGLE_CLOUD_PROJECT", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI"],
        set: &[],
        set_confined: &[],
        read: gemini,
        speaks_plainly: false,
        counts: (true, false),
        adds_up: false,
        install: "npm install -g @google/gemini-cli",
        sign_in: "run gemini and choose a way to sign in, or lend it a key: env = [\"GEMINI_API_KEY\"]",
        signed_out: &["set an auth method", "gemini_api_key environment variable", "\"code\":41"],
        lost: &["invalid session identifier"],
    },
    Preset {
        name: "opencode",
        title: "OpenCode",
        command: &["opencode", "run", "--format", "json", "--agent", "plan"],
        confined: &[],
        writes: &["opencode", "run", "--format", "json", "--auto"],
        stores: &[
            Store { variable: "XDG_CONFIG_HOME", in_home: ".config", then: "opencode" },
            Store { variable: "XDG_DATA_HOME", in_home: ".local/share", then: "opencode" },
            Store { variable: "XDG_STATE_HOME", in_home: ".local/state", then: "opencode" },
        ],
        // The servers of the models it asks are the user's to list.
        hosts: &["opencode.ai:443", "models.opencode.ai:443", "models.dev:443"],
        with_key: None,
        model: "-m",
        resume: &["-s"],
        last: &[],
        variables: &[],
        set: &[],
        set_confined: &[],
        read: opencode,
        speaks_plainly: false,
        counts: (true, true),
        adds_up: false,
        install: "npm install -g opencode-ai",
        sign_in: "opencode auth login",
        signed_out: &["unauthorized", "invalid api key", "api key is missing"],
        lost: &["session not found"],
    },
];

/// A command of the user's own.
static OWN: Preset = Preset {
    name: "",
    title: "",
    command: &[],
    confined: &[],
    writes: &[],
    stores: &[],
    hosts: &[],
    with_key: None,
    model: "",
    resume: &[],
    last: &[],
    variables: &[],
    set: &[],
    set_confined: &[],
    read: own,
    speaks_plainly: true,
    counts: (false, false),
    adds_up: false,
    install: "",
    sign_in: "",
    signed_out: &[],
    lost: &[],
};

impl Preset {
    /// The servers it may reach, besides those that the user lets it reach.
    pub(super) fn reach(&self, reach: Reach) -> Reach {
        let Reach::Some { mut hosts, listed } = reach else { return Reach::All };
        hosts.extend(self.hosts.iter().filter_map(|host| host.parse().ok()));
        Reach::Some { hosts, listed }
    }
}

/// The row of this name; that of a user's own command where there is none.
pub(super) fn named(name: &str) -> &'static Preset {
    static ROWS: [Preset; 4] = PRESETS;
    ROWS.iter().find(|row| row.name == name).unwrap_or(&OWN)
}

/// The names of all programs that are known, each with its file's name.
pub fn programs() -> impl Iterator<Item = (&'static str, &'static str)> {
    PRESETS.iter().map(|row| (row.name, row.command.first().copied().unwrap_or(row.name)))
}

/// Whether the program of this name says how many tokens it used.
pub fn tells_tokens(name: &str) -> bool {
    named(name).counts.0
}

/// Whether it says what that cost.
pub fn tells_cost(name: &str) -> bool {
    named(name).counts.1
}

fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap_or_default()
}

fn claude(heard: &mut Heard, event: &Value) {
    heard.session = text(event, "/session_id").or(heard.session.take());
    heard.model = text(event, "/model").or(heard.model.take());
    if kind(event) == "system" {
        if let Some(why) = text(event, "/error") {
            heard.error = Some(why);
        }
        return;
    }
    if kind(event) != "result" {
        return;
    }
    heard.is_whole = true;
    let said = text(event, "/result").unwrap_or_default();
    let tokens = |name: &str| count(event, &format!("/usage/{name}"));
    let cached = tokens("cache_read_input_tokens");
    let input = tokens("input_tokens") + cached + tokens("cache_creation_input_tokens");
    if input > 0 {
        heard.usage = Some(usage(input, tokens("output_tokens"), cached));
    }
    heard.usd = event["total_cost_usd"].as_f64();
    // Its subtype is "success" also where it failed.
    match event["is_error"].as_bool() {
        Some(true) => heard.error = Some(said),
        _ => (heard.text, heard.error) = (said, None),
    }
}

fn codex(heard: &mut Heard, event: &Value) {
    match kind(event) {
        "thread.started" => heard.session = text(event, "/thread_id"),
        "item.completed" if event["item"]["type"] == "agent_message" => {
            heard.text = text(event, "/item/text").unwrap_or_default();
        }
        "turn.completed" => {
            (heard.is_whole, heard.error) = (true, None);
            let tokens = |name: &str| count(event, &format!("/usage/{name}"));
            if event["usage"].is_object() {
                let output = tokens("output_tokens");
                let cached = tokens("cached_input_tokens");
                heard.usage = Some(usage(tokens("input_tokens"), output, cached));
            }
        }
        "turn.failed" => {
            heard.is_whole = true;
            heard.error = text(event, "/error/message").or(heard.error.take());
        }
        // It may go on after that, and says so by ending well.
        "error" => heard.error = text(event, "/message"),
        _ => {}
    }
}

fn gemini(heard: &mut Heard, event: &Value) {
    let said = text(event, "/content").unwrap_or_default();
    match kind(event) {
        "init" => {
            heard.session = text(event, "/session_id");
            heard.model = text(event, "/model");
        }
        "message" if event["role"] == "assistant" && event["delta"] == true => {
            heard.text.push_str(&said);
        }
        "message" if event["role"] == "assistant" => heard.text = said,
        // What it said before it looked at something is not its answer.
        "tool_use" => heard.text.clear(),
        "result" => {
            heard.is_whole = true;
            if event["status"] == "error" {
                heard.error = text(event, "/error/message").or(Some("no reason given".to_owned()));
            }
            let tokens = |name: &str| count(event, &format!("/stats/{name}"));
            if event["stats"].is_object() {
                let (input, output) = (tokens("input_tokens"), tokens("output_tokens"));
                heard.usage = Some(usage(input, output, tokens("cached")));
            }
        }
        _ => {}
    }
}

fn opencode(heard: &mut Heard, event: &Value) {
    heard.session = text(event, "/sessionID").or(heard.session.take());
    match kind(event) {
        "step_start" => {
            heard.text.clear();
            heard.is_whole = false;
        }
        "text" => heard.text += &text(event, "/part/text").unwrap_or_default(),
        "step_finish" => {
            heard.is_whole = true;
            let tokens = |name: &str| count(event, &format!("/part/tokens/{name}"));
            if event["part"]["tokens"].is_object() {
                let cached = tokens("cache/read");
                let input = tokens("input") + cached + tokens("cache/write");
                let mut all = heard.usage.unwrap_or_default();
                all += usage(input, tokens("output"), cached);
                heard.usage = Some(all);
            }
            if let Some(usd) = event["part"]["cost"].as_f64() {
                heard.usd = Some(heard.usd.unwrap_or(0.0) + usd);
            }
        }
        "error" => {
            let why = text(event, "/error/data/message").or_else(|| text(event, "/error/name"));
            heard.error = why.or_else(|| Some("no reason given".to_owned()));
        }
        _ => {}
    }
}

/// The protocol that the README describes.
fn own(heard: &mut Heard, event: &Value) {
    match kind(event) {
        "result" => {
            heard.is_whole = true;
            heard.text = text(event, "/text").unwrap_or_default();
            heard.model = text(event, "/model");
            heard.usd = event["cost_usd"].as_f64();
            let tokens = |name: &str| count(event, &format!("/usage/{name}"));
            if event["usage"].is_object() {
                let cached = tokens("cached_input_tokens");
                let output = tokens("output_tokens");
                heard.usage = Some(usage(tokens("input_tokens"), output, cached));
            }
        }
        "error" => heard.error = text(event, "/message"),
        _ => {}
    }
}
