//! What a program may change of its own: its login and its conversations, and nothing that configures it
//! or runs later, as the user.

use std::fs;
use std::os::unix::fs::symlink;

use super::{APPROVES, RESUME, claude, codex, gemini, opencode, program, settle_as};
use crate::support::Sandbox;
use crate::support::confinement::{Level, offers};
use crate::support::skip::skipped;
use crate::support::todo::PRD;

/// What a program has in a home.
struct Own {
    name: &'static str,
    says: fn(&str) -> String,
    /// Files that configure it.
    there: &'static [&'static str],
    /// Files that would, and are not there.
    not_there: &'static [&'static str],
    /// Files that it must be able to write, of which the first is its login.
    lasting: &'static [&'static str],
}

const OWN: [Own; 4] = [
    Own {
        name: "claude",
        says: claude,
        there: &[
            ".claude.json",
            ".claude/settings.json",
            ".claude/commands/x.md",
            ".claude/CLAUDE.md",
        ],
        not_there: &[".claude/settings.local.json", ".claude/hooks/x.sh", ".claude/plugins/x/x.js"],
        lasting: &[".claude/.credentials.json", ".claude/projects/-tmp/s.jsonl"],
    },
    Own {
        name: "codex",
        says: codex,
        there: &[
            ".codex/config.toml",
            ".codex/AGENTS.md",
            ".codex/prompts/x.md",
            ".codex/skills/x/x",
        ],
        not_there: &[".codex/hooks.json", ".codex/rules/x.rules"],
        lasting: &[".codex/auth.json", ".codex/sessions/2026/s.jsonl"],
    },
    Own {
        name: "gemini",
        says: gemini,
        there: &[".gemini/settings.json", ".gemini/GEMINI.md", ".gemini/tmp/bin/rg"],
        not_there: &[".gemini/commands/x.toml", ".gemini/tmp/bin/new", ".gemini/extensions/x/x"],
        lasting: &[".gemini/oauth_creds.json", ".gemini/tmp/p/chats/s.json"],
    },
    Own {
        name: "opencode",
        says: opencode,
        there: &[
            ".config/opencode/opencode.json",
            ".config/opencode/plugin/x.js",
            ".local/share/opencode/bin/x",
            ".local/share/opencode/snapshot/p/config",
            ".local/state/opencode/kv.json",
        ],
        not_there: &[".config/opencode/agent/x.md", ".local/share/opencode/snapshot/hooks/x"],
        lasting: &[".local/share/opencode/auth.json", ".local/share/opencode/storage/s.json"],
    },
];

/// Tries every way to change what configures it, notes what it found, and does its part.
fn tries(own: &Own) -> String {
    let all = |paths: &[&str]| paths.join(" ");
    format!(
        r#"here=$(pwd); cd "$HOME"
for f in {there} {new}; do
  {{ mkdir -p "$(dirname $f)"; echo evil >>$f; mv $f $f.old; rm -f $f; echo evil >$f; ln -sf /etc/passwd $f
  mv "$(dirname $f)" "$(dirname $f).old"; }} 2>/dev/null
done
cat {login} >'NOTES/login' 2>&1
for f in {lasting}; do mkdir -p "$(dirname $f)"; echo "$N" >>$f || exit 9
  {{ ln -s /etc/passwd "$(dirname $f)/out"; ln -s "$(basename $f)" "$(dirname $f)/within"; }} 2>/dev/null
done
cd "$here"; mkdir -p .cowork/sessions/todo; cp NOTES/prd.md .cowork/sessions/todo/prd.md
{says}"#,
        there = all(own.there),
        new = all(own.not_there),
        login = own.lasting[0],
        lasting = all(own.lasting),
        says = (own.says)(APPROVES),
    )
}

/// A program in this role, at each level, changes what lasts and nothing else.
fn keeps_its_settings(role: &str, more_roles: &str) {
    let base = Sandbox::stopped_after("idea");
    base.server.forget();
    for level in [Level::Namespaces, Level::Bubblewrap, Level::Landlock] {
        if !offers(level) {
            skipped(&format!("confinement by {}, which is not to be had here", level.word()));
            continue;
        }
        for own in &OWN {
            let mut sandbox = base.fork();
            sandbox.set_env("COWORK_TEST_SANDBOX", level.word());
            let (home, notes) = (sandbox.root().join("home"), sandbox.root().join("notes"));
            for path in own.there.iter().chain(own.lasting) {
                let path = home.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "mine\n").unwrap();
            }
            let beside = |path: &str, name: &str| home.join(path).with_file_name(name);
            symlink("/etc/passwd", beside(own.lasting[1], "mine")).unwrap();
            settle_as(
                &sandbox,
                &format!("agent = \"{}\"", own.name),
                &format!("{role} = \"second\"{more_roles}"),
                "",
            );
            if level == Level::Landlock {
                sandbox.git(&["config", "cowork.sandbox.network", "true"]);
            }
            fs::write(notes.join("prd.md"), PRD).unwrap();
            program(&sandbox, own.name, &tries(own).replace("NOTES", &notes.display().to_string()));
            sandbox.cowork(&RESUME).exits(0);
            let of = format!("{} as {role} by {level:?}", own.name);
            for path in own.there {
                let text = fs::read_to_string(home.join(path)).unwrap_or_default();
                assert_eq!(text, "mine\n", "{path}: {of}");
            }
            for path in own.not_there {
                assert!(home.join(path).symlink_metadata().is_err(), "{path}: {of}");
            }
            let login = fs::read_to_string(notes.join("login")).unwrap();
            assert!(login.starts_with("mine\n"), "{login}: {of}");
            for path in own.lasting {
                let text = fs::read_to_string(home.join(path)).unwrap();
                assert!(text.starts_with("mine\n1\n"), "{path}: {text}: {of}");
                assert!(beside(path, "out").symlink_metadata().is_err(), "{path}: {of}");
            }
            for name in ["mine", "within"] {
                assert!(beside(own.lasting[1], name).is_symlink(), "{name}: {of}");
            }
        }
    }
}

#[test]
fn a_judge_changes_its_login_and_conversations_and_nothing_that_configures_it() {
    keeps_its_settings("challenger", "\n[review]\nchallenge = [\"prd\"]");
}

#[test]
fn an_actor_changes_its_login_and_conversations_and_nothing_that_configures_it() {
    keeps_its_settings("actor", "");
}
