//! The agent programs that are known, one row each: how they are asked for one text, and how they
//! answer. Made from what these versions do: Claude Code 2.1.197, Codex 0.169.0, Gemini CLI 0.61.0,
//! OpenCode 1.18.33.

use serde_json::Value;

use super::events;
use super::heard::Heard;
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
    /// What of it lasts.
    pub keeps: Keeps,
}

/// What a confined program changes of such a file or folder, and what is as the user left it: settings,
/// hooks, commands, plugins and whatever else there is run later, as the user.
#[derive(Debug, PartialEq, Eq)]
pub struct Keeps {
    /// It is a file.
    pub is_file: bool,
    /// Names in it whose changes last: credentials, conversations. Folders have a slash at their end; an
    /// empty name is all of it.
    pub lasting: &'static [&'static str],
    /// Names of folders that hold nothing of worth: they are empty, and thrown away.
    pub fresh: &'static [&'static str],
    /// Folders in what lasts that hold programs.
    pub sealed: &'static [&'static str],
}

/// Nothing that is written there lasts.
const NOTHING: Keeps = Keeps { is_file: false, lasting: &[], fresh: &[], sealed: &[] };

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
            Store {
                variable: "CLAUDE_CONFIG_DIR",
                in_home: ".claude",
                then: "",
                keeps: Keeps {
                    lasting: &["projects/", ".credentials.json"],
                    fresh: &[
                        "cache",
                        "debug",
                        "file-history",
                        "paste-cache",
                        "session-env",
                        "sessions",
                        "shell-snapshots",
                        "statsig",
                        "tasks",
                        "telemetry",
                        "todos",
                    ],
                    ..NOTHING
                },
            },
            // State, and the servers of tools that it starts.
            Store {
                variable: "",
                in_home: ".claude.json",
                then: "",
                keeps: Keeps { is_file: true, ..NOTHING },
            },
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
        read: events::claude,
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
        stores: &[Store {
            variable: "CODEX_HOME",
            in_home: ".codex",
            then: "",
            keeps: Keeps {
                lasting: &["sessions/", "auth.json"],
                fresh: &["cache", "log", "shell_snapshots", "tmp"],
                ..NOTHING
            },
        }],
        hosts: &["api.openai.com:443", "auth.openai.com:443", "chatgpt.com:443"],
        with_key: None,
        model: "-m",
        resume: &["resume"],
        last: &["-"],
        variables: &["CODEX_HOME"],
        set: &[],
        set_confined: &[],
        read: events::codex,
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
        // Its conversations are beside the programs that it has fetched.
        stores: &[Store {
            variable: "",
            in_home: ".gemini",
            then: "",
            keeps: Keeps {
                lasting: &["tmp/", "oauth_creds.json", "google_accounts.json"],
                fresh: &["history"],
                sealed: &["tmp/bin"],
                ..NOTHING
            },
        }],
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
        read: events::gemini,
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
            Store {
                variable: "XDG_CONFIG_HOME",
                in_home: ".config",
                then: "opencode",
                keeps: NOTHING,
            },
            // Beside its database there are the database's notes, so all of it lasts but for programs
            // and repositories of git, whose configuration runs programs.
            Store {
                variable: "XDG_DATA_HOME",
                in_home: ".local/share",
                then: "opencode",
                keeps: Keeps {
                    lasting: &[""],
                    fresh: &["snapshot", "worktree", "repos"],
                    sealed: &["bin"],
                    ..NOTHING
                },
            },
            Store {
                variable: "XDG_STATE_HOME",
                in_home: ".local/state",
                then: "opencode",
                keeps: Keeps { fresh: &["locks", "log"], ..NOTHING },
            },
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
        read: events::opencode,
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
    read: events::own,
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
