//! What a program that judges sees and reaches: its own login, and the tree to be read.

use std::fs;
use std::net::TcpListener;

use super::{APPROVES, RESUME, challenged_by, codex, noted, program, settle};
use crate::support::Sandbox;
use crate::support::confinement::{Level, offers};
use crate::support::skip::skipped;

/// The session of [`challenged_by`] at each level with mounts.
fn at_levels_with_mounts(check: impl Fn(Sandbox)) {
    let base = challenged_by("agent = \"codex\"");
    for level in [Level::Namespaces, Level::Bubblewrap] {
        if offers(level) {
            let mut sandbox = base.fork();
            sandbox.set_env("COWORK_TEST_SANDBOX", level.word());
            settle(&sandbox, "agent = \"codex\"", "");
            check(sandbox);
        } else {
            skipped(&format!("confinement by {}, which is not to be had here", level.word()));
        }
    }
}

#[test]
fn a_judge_reads_the_tree_and_its_own_login_and_changes_neither_tree_nor_home() {
    at_levels_with_mounts(|mut sandbox| {
        let (repo, home) = (sandbox.repo().to_owned(), sandbox.root().join("home"));
        sandbox.write("lib/here.txt", "here\n");
        sandbox.write(".claude/settings.json", "hooks\n");
        sandbox.write(".mcp.json", "servers\n");
        for file in [".ssh/id_rsa", ".claude/.credentials.json", ".netrc", ".codex/auth.json"] {
            let path = home.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("login of {file}\n")).unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        sandbox.set_env("GH_TOKEN", "ghp_nobody_lends_this_token_0123456789ab");
        let (at, of) = (repo.display(), home.display());
        let notes = sandbox.root().join("notes").display().to_string();
        let does = format!(
            "cat '{at}/lib/here.txt' >'{notes}/seen'; cat \"$HOME/.codex/auth.json\" >'{notes}/own'
             {{ cat '{at}/.claude/settings.json' '{at}/.mcp.json' '{of}/.ssh/id_rsa' '{of}/.netrc'
             cat '{of}/.claude/.credentials.json'; }} >'{notes}/others' 2>/dev/null
             for at in lib/here.txt out .git/out .cowork/out; do echo x >\"{at}/$at\"; done 2>/dev/null
             rm -rf '{at}' '{of}/.ssh' 2>/dev/null; echo x >'{of}/.bashrc' 2>/dev/null
             timeout 20 bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' 2>/dev/null && echo GOT IN >>'{notes}/others'
             timeout 20 bash -c 'exec 3<>/dev/tcp/127.0.0.1/'${{HTTPS_PROXY##*:}}'
             printf \"CONNECT judge.example:443 HTTP/1.1\\r\\n\\r\\n\" >&3; cat <&3' >'{notes}/asked' 2>&1
             {}",
            codex(APPROVES)
        );
        program(&sandbox, "codex", &does);
        let outcome = sandbox.cowork(&RESUME).exits(0);
        let read =
            |note: &str| fs::read_to_string(sandbox.root().join("notes").join(note)).unwrap();
        assert_eq!(read("seen"), "here\n");
        assert_eq!(read("own"), "login of .codex/auth.json\n");
        assert_eq!(read("others"), "");
        assert!(read("asked").contains("403"), "{}", read("asked"));
        let told = "Codex asked for judge.example:443, which it may not reach. To allow it: git config \
                    cowork.sandbox.hosts judge.example:443";
        assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
        assert!(listener.accept().is_err());
        assert_eq!(sandbox.read("lib/here.txt"), "here\n");
        for path in ["out", ".git/out", ".cowork/out"] {
            assert!(!sandbox.exists(path), "{path}");
        }
        assert!(home.join(".ssh/id_rsa").exists() && !home.join(".bashrc").exists());
        let env = noted(&sandbox, "codex", "env");
        assert!(!env.contains("TOKEN"), "{env}");
    });
}

#[test]
fn a_program_that_npm_installed_in_the_home_finds_the_packages_it_needs() {
    at_levels_with_mounts(|sandbox| {
        let packages = sandbox.root().join("home/.npm-global/lib/node_modules");
        fs::create_dir_all(packages.join("codex-linux")).unwrap();
        fs::create_dir_all(packages.join("@openai/codex/bin")).unwrap();
        fs::write(packages.join("codex-linux/data"), "data\n").unwrap();
        fs::write(packages.join("../../npmrc"), "a login\n").unwrap();
        let does = format!(
            "here=$(dirname \"$(readlink -f \"$0\")\")
             grep -q data \"$here/../../../codex-linux/data\" || exit 9
             cat '{}' && exit 8
             {}",
            packages.join("../../npmrc").display(),
            codex(APPROVES)
        );
        program(&sandbox, "codex", &does);
        let (own, link) =
            (packages.join("@openai/codex/bin/codex.js"), sandbox.root().join("bin/codex"));
        fs::rename(&link, &own).unwrap();
        std::os::unix::fs::symlink(&own, &link).unwrap();
        sandbox.cowork(&RESUME).exits(0);
    });
}

#[test]
fn a_judge_sees_no_private_file_nor_any_that_was_committed() {
    at_levels_with_mounts(|sandbox| {
        sandbox.write("lib/price.pem", "private\n");
        settle(&sandbox, "agent = \"codex\"", "[project]\nprivate = [\"*.pem\"]\n");
        let (at, notes) = (sandbox.repo().display().to_string(), sandbox.root().join("notes"));
        let does = format!(
            "{{ cat '{at}/lib/price.pem'; ls -A '{at}' '{at}/.git'; }} >'{}' 2>/dev/null\n{}",
            notes.join("found").display(),
            codex(APPROVES)
        );
        program(&sandbox, "codex", &does);
        sandbox.cowork(&RESUME).exits(0);
        let found = fs::read_to_string(notes.join("found")).unwrap();
        assert!(!found.contains("private") && !found.contains("lib"), "{found}");
        assert!(!found.contains("objects"), "{found}");
    });
}

#[test]
fn where_it_cannot_be_confined_so_nothing_is_asked_without_a_person() {
    let mut sandbox = challenged_by("agent = \"codex\"");
    program(&sandbox, "codex", &codex(APPROVES));
    let nothing_was_asked = |sandbox: &Sandbox| {
        assert_eq!(sandbox.server.requests().len(), 0);
        assert!(!sandbox.root().join("notes/codex.runs").exists());
    };
    sandbox.git(&["config", "--global", "--unset", "cowork.sandbox.unconfined"]);
    sandbox.git(&["config", "cowork.sandbox.network", "false"]);
    if offers(Level::Landlock) {
        sandbox.set_env("COWORK_TEST_SANDBOX", "landlock");
        let outcome = sandbox.cowork(&RESUME).exits(4);
        outcome.says("'second' is an agent program, and cannot be limited to its own servers here");
        nothing_was_asked(&sandbox);
        sandbox.git(&["config", "cowork.sandbox.network", "true"]);
        let outcome = sandbox.fork().cowork(&RESUME).exits(0);
        outcome.says("it is confined like commands, with network access");
        // The program of the copy notes things in the same place.
        fs::remove_file(sandbox.root().join("notes/codex.runs")).unwrap();
    } else {
        skipped("confinement by landlock, which this kernel has not");
    }
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    let outcome = sandbox.cowork(&RESUME).exits(4);
    outcome.says("Codex is not run: nothing confines it on this machine").says("git cowork doctor");
    nothing_was_asked(&sandbox);
    sandbox.git(&["config", "--global", "cowork.sandbox.unconfined", "true"]);
    sandbox.cowork(&RESUME).exits(0).says("it runs as you, nothing confines it");
}

#[test]
fn a_server_of_this_machine_that_is_not_listed_is_named() {
    at_levels_with_mounts(|mut sandbox| {
        settle(&sandbox, "agent = \"claude\"\nenv = [\"ANTHROPIC_BASE_URL\"]", "");
        sandbox.set_env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/v1");
        let does = r#"say '{"type":"result","subtype":"success","is_error":true,"result":"API Error: Unable to connect to API (ConnectionRefused)"}'; exit 1"#;
        program(&sandbox, "claude", does);
        let outcome = sandbox.cowork(&RESUME).exits(4);
        outcome
            .says("Claude Code is not allowed to connect to the server in ANTHROPIC_BASE_URL")
            .says("git config cowork.sandbox.hosts 127.0.0.1:9")
            .says("Claude Code failed (exit 1): API Error")
            .says("if the program's server runs on it, list the server with its port");
        // Codex waits for it without an end.
        settle(&sandbox, "agent = \"codex\"\nanswer_s = 1", "");
        let waits = r#"say '{"type":"error","message":"waiting for network (Connection failed)"}'; sleep 300.5"#;
        program(&sandbox, "codex", waits);
        let outcome = sandbox.cowork(&RESUME).exits(4);
        outcome.says("Codex did not end within 1 s and was stopped: waiting for network").says(
            "hint: check that this machine is online; if the program's server runs on it, list the server \
             with its port: git config cowork.sandbox.hosts localhost:PORT\n",
        );
    });
}
