//! The supported agent programs, one row each: how they are called for one answer, and how to read
//! their output. Based on the behaviour of these versions: Claude Code 2.1.197, Codex 0.169.0,
//! Gemini CLI 0.61.0, OpenCode 1.18.33.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::events;
use super::output::AgentOutput;
use super::workplace::{Keeps, OwnStore, Reach};

/// A program.
#[derive(Debug)]
pub(super) struct Preset {
    /// Name of the program in the configuration; empty for a user's own command.
    pub name: &'static str,
    /// The name to show to the user.
    pub title: &'static str,
    /// The program and its fixed arguments, which make it print JSON lines, write no files and use
    /// as few tools as possible. The prompt comes on its standard input.
    pub command: &'static [&'static str],
    /// The command if git-cowork confines the program: its own sandbox is off, since it does not
    /// work inside git-cowork's. Empty if the program has no sandbox.
    pub confined: &'static [&'static str],
    /// The command if the program works on files: it changes files and runs commands without
    /// asking, and its own sandbox is off, since it does not work inside git-cowork's.
    pub writes: &'static [&'static str],
    /// Files and folders with its login, settings and conversations.
    pub stores: &'static [ProgramStore],
    /// The servers it needs to answer and to renew its sign-in.
    pub hosts: &'static [&'static str],
    /// A variable with an API key, and the flag that makes the program use only this key to sign
    /// in; the flag is added if the user passes the variable.
    pub with_key: Option<(&'static str, &'static str)>,
    /// Flag before the name of a model.
    pub model: &'static str,
    /// Arguments before the id of a conversation to resume; empty if it cannot resume one.
    pub resume: &'static [&'static str],
    /// Last arguments.
    pub last: &'static [&'static str],
    /// Variables with the paths of its files.
    pub variables: &'static [&'static str],
    /// Variables set for every run.
    pub set: &'static [(&'static str, &'static str)],
    /// Additional variables if it is confined.
    pub set_confined: &'static [(&'static str, &'static str)],
    /// Reads one of its events.
    pub read: fn(&mut AgentOutput, &Value),
    /// Output that is not an event is its answer.
    pub speaks_plainly: bool,
    /// Whether the program reports its token usage, and whether it reports its cost.
    pub counts: (bool, bool),
    /// True if reported counts are totals of the conversation, including earlier runs.
    pub adds_up: bool,
    /// How to install the program.
    pub install: &'static str,
    /// How to sign in.
    pub sign_in: &'static str,
    /// Messages it prints if the user is not signed in, in lower case.
    pub signed_out: &'static [&'static str],
    /// Messages it prints for an unknown conversation, in lower case.
    pub lost: &'static [&'static str],
}

/// A file or folder of a program, in the user's home.
#[derive(Debug)]
pub(super) struct ProgramStore {
    /// The environment variable that contains its path; empty if there is none.
    pub variable: &'static str,
    /// The path below the home directory, which is used if the variable is not set.
    pub in_home: &'static str,
    /// The rest of the path, appended to the path from `variable` or `in_home`; empty for
    /// that path itself.
    pub then: &'static str,
    /// Which changes to it are kept.
    pub keeps: Keeps,
}

/// No changes are kept.
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
            ProgramStore {
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
            // The program's state, and the tool servers that the program starts.
            ProgramStore {
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
        variables: &["CLAUDE_CONFIG_DIR"],
        // By default, Claude Code retries for minutes with a wrong key.
        set: &[("CLAUDE_CODE_MAX_RETRIES", "3"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")],
        // Claude Code run as root writes without asking only if this is set.
        set_confined: &[("IS_SANDBOX", "1")],
        read: events::claude,
        counts: (true, true),
        install: "npm install -g @anthropic-ai/claude-code",
        sign_in: "run claude and type /login, or pass it a key: env = [\"ANTHROPIC_API_KEY\"]",
        signed_out: &[
            "not logged in",
            "please run /login",
            "authentication_failed",
            "invalid api key",
        ],
        lost: &["no conversation found with session id"],
        ..PLAIN
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
        stores: &[ProgramStore {
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
        model: "-m",
        resume: &["resume"],
        last: &["-"],
        variables: &["CODEX_HOME"],
        read: events::codex,
        counts: (true, false),
        adds_up: true,
        install: "npm install -g @openai/codex",
        sign_in: "codex login (to check: codex login status)",
        signed_out: &["not logged in", "missing environment variable", "401 unauthorized"],
        lost: &["no rollout found for thread id"],
        ..PLAIN
    },
    Preset {
        name: "gemini",
        title: "Gemini CLI",
        command: &["gemini", "-o", "stream-json", "--approval-mode", "plan", "--skip-trust"],
        writes: &["gemini", "-o", "stream-json", "--approval-mode", "yolo", "--skip-trust"],
        // Its conversations are in the same folder as the programs that it has downloaded.
        stores: &[ProgramStore {
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
        model: "-m",
        resume: &["--resume"],
        variables: &["GOOGLE_CLOUD_PROJECT", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI"],
        read: events::gemini,
        counts: (true, false),
        install: "npm install -g @google/gemini-cli",
        sign_in: "run gemini and choose a way to sign in, or pass it a key: env = [\"GEMINI_API_KEY\"]",
        signed_out: &["set an auth method", "gemini_api_key environment variable", "\"code\":41"],
        lost: &["invalid session identifier"],
        ..PLAIN
    },
    Preset {
        name: "opencode",
        title: "OpenCode",
        command: &["opencode", "run", "--format", "json", "--agent", "plan"],
        writes: &["opencode", "run", "--format", "json", "--auto"],
        stores: &[
            ProgramStore {
                variable: "XDG_CONFIG_HOME",
                in_home: ".config",
                then: "opencode",
                keeps: NOTHING,
            },
            // The files next to its database are needed too, so all changes are kept, except to
            // programs and to git repositories, whose configuration can run programs.
            ProgramStore {
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
            ProgramStore {
                variable: "XDG_STATE_HOME",
                in_home: ".local/state",
                then: "opencode",
                keeps: Keeps { fresh: &["locks", "log"], ..NOTHING },
            },
        ],
        // The user must list the servers of the models that it uses.
        hosts: &["opencode.ai:443", "models.opencode.ai:443", "models.dev:443"],
        model: "-m",
        resume: &["-s"],
        read: events::opencode,
        counts: (true, true),
        install: "npm install -g opencode-ai",
        sign_in: "opencode auth login",
        signed_out: &["unauthorized", "invalid api key", "api key is missing"],
        lost: &["session not found"],
        ..PLAIN
    },
];

/// A command of the user's own.
static OWN: Preset = Preset { speaks_plainly: true, ..PLAIN };

/// A program without a sandbox, settings or counts of its own; the rows override some fields.
const PLAIN: Preset = Preset {
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
    speaks_plainly: false,
    counts: (false, false),
    adds_up: false,
    install: "",
    sign_in: "",
    signed_out: &[],
    lost: &[],
};

impl Preset {
    /// Reads one line of the program's output, without its line end. JSON lines are parsed leniently,
    /// because the event types change with every version; a user's own command may print plain text.
    pub(super) fn read_line(&self, output: &mut AgentOutput, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        // An answer may be JSON as well, on one line: the name and title of a session, for example.
        let is_event = |event: &Value| !self.speaks_plainly || events::is_own(event);
        match serde_json::from_str::<Value>(&line) {
            Ok(event @ Value::Object(_)) if is_event(&event) => (self.read)(output, &event),
            _ => output.add_plain(&line, self.speaks_plainly),
        }
    }

    /// The program's own files and folders.
    pub(super) fn own_stores(&'static self, env: &BTreeMap<String, String>) -> Vec<OwnStore> {
        let home = env.get("HOME").map(PathBuf::from);
        let place = |store: &ProgramStore| {
            let from_env =
                env.get(store.variable).filter(|value| !value.is_empty()).map(PathBuf::from);
            let place = from_env.or_else(|| Some(home.as_ref()?.join(store.in_home)))?;
            Some(if store.then.is_empty() { place } else { place.join(store.then) })
        };
        let paths = self.stores.iter().filter_map(|store| Some((place(store)?, &store.keeps)));
        let paths = paths.filter(|(place, _)| place.is_absolute() && Some(place) != home.as_ref());
        paths.map(|(at, keeps)| OwnStore { at, keeps }).collect()
    }

    /// The servers it may reach: its own, and those that the user allows.
    pub(super) fn reach(&self, reach: Reach) -> Reach {
        let Reach::Some { mut hosts, listed } = reach else { return Reach::All };
        hosts.extend(self.hosts.iter().filter_map(|host| host.parse().ok()));
        Reach::Some { hosts, listed }
    }
}

/// The row of this name; for an unknown name, the row of a user's own command.
pub(super) fn named(name: &str) -> &'static Preset {
    static ROWS: [Preset; 4] = PRESETS;
    ROWS.iter().find(|row| row.name == name).unwrap_or(&OWN)
}

/// The names of all supported programs, each with its file name.
pub fn programs() -> impl Iterator<Item = (&'static str, &'static str)> {
    PRESETS.iter().map(|row| (row.name, row.command.first().copied().unwrap_or(row.name)))
}

/// True if the program of this name reports its token usage.
pub fn tells_tokens(name: &str) -> bool {
    named(name).counts.0
}

/// True if the program of this name reports its cost.
pub fn tells_cost(name: &str) -> bool {
    named(name).counts.1
}
