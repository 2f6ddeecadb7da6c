//! Agent programs as critic and challenger: small scripts that speak the protocols of Claude Code, Codex,
//! Gemini CLI and OpenCode, and every way in which they give no answer.

#[cfg(target_os = "linux")]
mod own_files;
#[cfg(target_os = "linux")]
mod walls;

use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::confinement::{Level, confinement};
use crate::support::sandbox::Outcome;
use crate::support::todo::PRD;
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "prd"];
const APPROVES: &str = "Every command holds.\\n\\nAPPROVED";

/// A session whose next stage is prd, with this program as challenger.
fn challenged_by(settings: &str) -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    settle(&sandbox, settings, "");
    sandbox.server.on_with(at("prd", "actor").turn(1), |received| {
        let text = format!("{PRD}\nDraft {}, fixed.\n", received.iteration);
        (received.iteration > 1).then(|| Reply::call("save_prd_doc", json!({"content": text})))
    });
    sandbox.server.forget();
    sandbox
}

fn settle(sandbox: &Sandbox, settings: &str, more: &str) {
    let roles = "challenger = \"second\"\n[review]\nchallenge = [\"prd\"]";
    settle_as(sandbox, settings, roles, more);
}

/// The program may note things, and where its servers cannot be told from others, reach all.
fn settle_as(sandbox: &Sandbox, settings: &str, roles: &str, more: &str) {
    let notes = sandbox.root().join("notes");
    std::fs::create_dir_all(&notes).unwrap();
    let network = confinement() == Level::Landlock;
    sandbox.user_config(&format!(
        "[models.second]\n{settings}\n[roles]\n{roles}\n[sandbox]\nnetwork = {network}\nwritable = \
         [\"{}\"]\n{more}",
        notes.display()
    ));
}

/// Installs a program, which notes what it is given and then does this.
fn program(sandbox: &Sandbox, name: &str, does: &str) {
    let note = sandbox.root().join("notes").join(name).display().to_string();
    let script = format!(
        "N=$(($(cat '{note}.runs' 2>/dev/null || echo 0) + 1)); echo $N >'{note}.runs'\n\
         printf '%s\\n' \"$@\" >'{note}.words'; env >'{note}.env'; pwd >'{note}.place'\n\
         ls -A >'{note}.files'; cat >'{note}.input'\n\
         say() {{ printf '%s\\n' \"$1\"; }}\n{does}"
    );
    sandbox.executable(&sandbox.root().join("bin").join(name), &script);
}

/// What a program noted last.
#[track_caller]
fn noted(sandbox: &Sandbox, name: &str, what: &str) -> String {
    let path: PathBuf = sandbox.root().join("notes").join(format!("{name}.{what}"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn claude(says: &str) -> String {
    format!(
        r#"say '{{"type":"system","subtype":"init","session_id":"c-1","model":"claude-x","tools":[]}}'
        say 'a line of another version'; say '{{"type":"of_tomorrow","text":"APPROVED"}}'
        say '{{"type":"assistant","message":{{"content":[{{"type":"text","text":"REJECTED?"}}]}}}}'
        say '{{"type":"result","subtype":"success","is_error":false,"result":"{says}","session_id":"c-1","total_cost_usd":0.25,"usage":{{"input_tokens":14,"output_tokens":2,"cache_read_input_tokens":100}}}}'"#
    )
}

fn codex(says: &str) -> String {
    format!(
        r#"echo 'Reading prompt from stdin...' >&2
        say '{{"type":"thread.started","thread_id":"t-1"}}'; say '{{"type":"turn.started"}}'
        say '{{"type":"error","message":"Reconnecting... 1/1"}}'
        say '{{"type":"item.completed","item":{{"type":"agent_message","text":"I look. REJECTED"}}}}'
        say '{{"type":"item.completed","item":{{"type":"agent_message","text":"{says}"}}}}'
        say '{{"type":"turn.completed","usage":{{"input_tokens":114,"cached_input_tokens":100,"output_tokens":2}}}}'"#
    )
}

fn gemini(says: &str) -> String {
    format!(
        r#"say '{{"type":"init","session_id":"g-1","model":"auto"}}'
        say '{{"type":"message","role":"user","content":"REJECTED"}}'
        say '{{"type":"message","role":"assistant","content":"I look. REJECTED","delta":true}}'
        say '{{"type":"tool_use","tool_name":"list_directory"}}'
        say '{{"type":"message","role":"assistant","content":"So: ","delta":true}}'
        say '{{"type":"message","role":"assistant","content":"{says}","delta":true}}'
        say '{{"type":"result","status":"success","stats":{{"input_tokens":114,"output_tokens":2,"cached":100}}}}'"#
    )
}

fn opencode(says: &str) -> String {
    format!(
        r#"say '{{"type":"step_start","sessionID":"ses_1"}}'
        say '{{"type":"text","sessionID":"ses_1","part":{{"text":"{says}"}}}}'
        say '{{"type":"step_finish","sessionID":"ses_1","part":{{"tokens":{{"input":14,"output":2,"cache":{{"read":100,"write":0}}}},"cost":0.25}}}}'"#
    )
}

#[test]
fn each_of_them_is_asked_with_its_own_words_and_answers_in_its_own_events() {
    type Speaks = fn(&str) -> String;
    let programs: [(&str, Speaks, &str); 4] = [
        (
            "claude",
            claude,
            "-p\n--output-format\nstream-json\n--verbose\n--tools\n\n--strict-mcp-config\n--model\nm-1\n",
        ),
        (
            "codex",
            codex,
            match confinement() {
                Level::None => "exec\n--json\n-s\nread-only\n--skip-git-repo-check\n-m\nm-1\n-\n",
                // Its own sandbox does not work inside ours.
                _ => {
                    "exec\n--json\n--dangerously-bypass-approvals-and-sandbox\n\
                     --skip-git-repo-check\n-m\nm-1\n-\n"
                }
            },
        ),
        ("gemini", gemini, "-o\nstream-json\n--approval-mode\nplan\n--skip-trust\n-m\nm-1\n"),
        ("opencode", opencode, "run\n--format\njson\n--agent\nplan\n-m\nm-1\n"),
    ];
    for (name, speaks, words) in programs {
        let mut sandbox = challenged_by(&format!("agent = \"{name}\"\nmodel = \"m-1\""));
        sandbox.set_env("OPENAI_API_KEY", "sk-not-for-others");
        program(&sandbox, name, &speaks(APPROVES));
        let outcome = sandbox.cowork(&RESUME).exits(0);
        let how = match confinement() {
            Level::None => "it runs as you, nothing confines it",
            Level::Landlock => "it is confined like commands, with network access",
            _ => "it is confined like commands, and reaches its own servers only",
        };
        assert!(outcome.stderr.contains(how), "{name}: {}", outcome.stderr);
        assert_eq!(noted(&sandbox, name, "words"), words);
        let input = noted(&sandbox, name, "input");
        assert!(input.contains("REQ-002") && input.contains("You have no tools"), "{input}");
        let env = noted(&sandbox, name, "env");
        assert!(!env.contains("COWORK_") && !env.contains("API_KEY"), "{env}");
        let confined = confinement() != Level::None;
        assert_eq!(env.contains("IS_SANDBOX=1"), name == "claude" && confined, "{env}");
        let place = noted(&sandbox, name, "place");
        assert!(!place.starts_with(&sandbox.repo().display().to_string()), "{place}");
        assert_eq!(noted(&sandbox, name, "files"), "");
        let commit = sandbox.stage_commit("prd");
        let body = sandbox.git(&["log", "-1", "--format=%B", &commit]);
        assert!(body.contains("The challenger approved: "), "{name}: {body}");
        let trailers = sandbox.trailers(&commit);
        let model = if name == "claude" { "claude-x" } else { "m-1" };
        assert!(trailers["Cowork-Model"][0].contains(model), "{name}: {trailers:?}");
        // Three requests of the server, and what the program says.
        let server = sandbox.server.requests().len();
        let tokens = format!("in={} out={} cached=100", 100 * server + 114, 20 * server + 2);
        assert_eq!(trailers["Cowork-Tokens"], [tokens], "{name}");
        sandbox.assert_sound();
    }
}

#[test]
fn as_a_critic_it_judges_by_markers() {
    let sandbox = Sandbox::stopped_after("idea");
    settle_as(&sandbox, "agent = \"codex\"", "critic = \"second\"", "");
    sandbox.server.on_with(at("prd", "actor").turn(1), |received| {
        let text = format!("{PRD}\nDraft {}, fixed.\n", received.iteration);
        (received.iteration > 1).then(|| Reply::call("save_prd_doc", json!({"content": text})))
    });
    let no = codex("REQ-002 is vague.\\n<review>NEEDS_REVISION</review>");
    let yes = codex("Good now.\\n<review>PASS</review>");
    program(&sandbox, "codex", &format!("if [ $N = 1 ]; then {no}\nelse {yes}\nfi"));
    sandbox.server.forget();
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(noted(&sandbox, "codex", "runs"), "2\n");
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 0);
    let drafts = sandbox.server.requests_of("prd", "actor");
    let second = drafts.iter().find(|r| r.iteration == 2).unwrap();
    assert!(second.text().contains("critic, major: REQ-002 is vague."), "{}", second.text());
}

#[test]
fn as_a_critic_without_a_verdict_it_is_reminded_once_and_asked_again_by_resume() {
    let sandbox = Sandbox::stopped_after("idea");
    settle_as(&sandbox, "agent = \"codex\"", "critic = \"second\"", "");
    let refusal = codex("To earn `<review>PASS</review>` this draft must first name a user.");
    let yes = codex("Good now.\\n<review>PASS</review>");
    program(&sandbox, "codex", &format!("if [ $N -le 2 ]; then {refusal}\nelse {yes}\nfi"));
    sandbox.cowork(&RESUME).exits(1).says("the critic gave no verdict; it said: To earn");
    assert_eq!(noted(&sandbox, "codex", "runs"), "2\n");
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(noted(&sandbox, "codex", "runs"), "3\n");
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["1"]);
}

/// What is said where a program gives no answer; the draft is kept, and is not made again.
#[track_caller]
fn gives_no_answer(sandbox: &Sandbox, name: &str, does: &str, speaks: &str) -> Outcome {
    if !does.is_empty() {
        program(sandbox, name, does);
    }
    let outcome = sandbox.cowork(&RESUME).exits(4);
    assert!(sandbox.refs("refs/tags/cowork/todo/prd").is_empty(), "{does}");
    sandbox.assert_sound();
    sandbox.server.forget();
    program(sandbox, name, speaks);
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(sandbox.server.requests().len(), 0, "after {does}");
    outcome
}

#[test]
fn where_claude_code_is_killed_its_last_words_are_told() {
    let sandbox = challenged_by("agent = \"claude\"");
    let says = r#"say '{"type":"assistant","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t"}]}}'"#;
    program(&sandbox, "claude", &format!("{says}; kill -9 $$"));
    let outcome = sandbox.cowork(&RESUME).exits(4);
    outcome.says("Claude Code ended in the middle of its answer (signal 9): I look.");
}

#[test]
fn every_way_of_giving_no_answer_is_told_by_program_exit_and_last_line() {
    let half = r#"say '{"type":"thread.started","thread_id":"t-1"}'
        say '{"type":"item.completed","item":{"type":"agent_message","text":"So far APPROVED"}}'"#;
    let failed = r#"say '{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429"}}'; exit 1"#;
    let out = r#"say '{"type":"turn.failed","error":{"message":"Missing environment variable: `K`."}}'; exit 1"#;
    let cases = [
        ("exit 1", "Codex failed (exit 1); it printed nothing"),
        ("exit 0", "Codex ended without an answer (exit 0); it printed nothing"),
        ("echo one >&2; echo 'it broke' >&2", "without an answer (exit 0): it broke"),
        ("echo 'Not inside a trusted directory' >&2; exit 1", "(exit 1): Not inside a trusted"),
        ("say '<html>502</html>'", "no answer that git-cowork can read (exit 0): <html>502"),
        (&format!("{half}; exit 3"), "in the middle of its answer (exit 3)"),
        (&format!("{half}; kill -9 $$"), "middle of its answer (signal 9): So far APPROVED"),
        (half, "in the middle of its answer (exit 0)"),
        (failed, "Codex failed (exit 1): exceeded retry limit, last status: 429"),
        (out, "Codex is not signed in (exit 1): Missing environment variable"),
        ("cat /dev/zero", "Codex printed more than 64 MiB and was stopped"),
        ("say '{}'; sleep 300.5", "Codex did not end within 1 s and was stopped"),
    ];
    let base = challenged_by("agent = \"codex\"\nanswer_s = 1");
    for (does, told) in cases {
        let sandbox = base.fork();
        if !does.contains("sleep") {
            settle(&sandbox, "agent = \"codex\"", "");
        }
        let outcome = gives_no_answer(&sandbox, "codex", does, &codex(APPROVES));
        assert!(outcome.stderr.contains(told), "{does}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("git cowork resume"), "{does}: {}", outcome.stderr);
    }
}

#[test]
fn who_is_not_signed_in_learns_how_to() {
    let cases = [
        (
            "claude",
            r#"say '{"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login"}'; exit 1"#,
            "Claude Code is not signed in (exit 1): Not logged in",
            "run claude and type /login",
        ),
        (
            "gemini",
            "echo 'Please set an Auth method in …/settings.json' >&2; exit 41",
            "Gemini CLI is not signed in (exit 41): Please set an Auth method",
            "GEMINI_API_KEY",
        ),
        (
            "opencode",
            r#"say '{"type":"error","error":{"name":"X","data":{"message":"Unauthorized: no key"}}}'; exit 1"#,
            "OpenCode is not signed in (exit 1): Unauthorized",
            "opencode auth login",
        ),
    ];
    for (name, does, told, hint) in cases {
        let sandbox = challenged_by(&format!("agent = \"{name}\""));
        let speaks = match name {
            "claude" => claude(APPROVES),
            "gemini" => gemini(APPROVES),
            _ => opencode(APPROVES),
        };
        gives_no_answer(&sandbox, name, does, &speaks).says(told).says(hint);
    }
}

#[test]
fn a_program_that_is_not_there_is_said_before_anything_is_asked() {
    for (settings, told) in [
        ("agent = \"opencode\"", "there is no program 'opencode' on PATH"),
        ("command = [\"/nowhere/judge\", \"-x\"]", "there is no program '/nowhere/judge'"),
    ] {
        let sandbox = challenged_by(settings);
        sandbox.cowork(&RESUME).exits(4).says(told);
        assert_eq!(sandbox.server.requests().len(), 0);
    }
}

#[test]
fn a_conversation_continues_by_its_id_and_with_the_new_words_only() {
    let first = "Looks fine to me.";
    let programs = [
        ("codex", codex(first), codex(APPROVES), "resume\nt-1\n-\n"),
        ("claude", claude(first), claude(APPROVES), "--resume\nc-1\n"),
        ("gemini", gemini(first), gemini(APPROVES), "--resume\ng-1\n"),
        ("opencode", opencode(first), opencode(APPROVES), "-s\nses_1\n"),
    ];
    for (name, says, approves, words) in programs {
        let sandbox = challenged_by(&format!("agent = \"{name}\""));
        program(&sandbox, name, &format!("if [ $N = 1 ]; then {says}\nelse {approves}\nfi"));
        sandbox.cowork(&RESUME).exits(0);
        assert!(noted(&sandbox, name, "words").ends_with(words), "{name}");
        let input = noted(&sandbox, name, "input");
        assert!(input.starts_with("You have not given your verdict."), "{name}: {input}");
        assert!(!input.contains("REQ-002"), "{name}: {input}");
        // Codex counts the whole conversation each time.
        let runs = if name == "codex" { 1 } else { 2 };
        let server = sandbox.server.requests().len() as u64;
        let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
        let tokens = format!("in={} ", 100 * server + 114 * runs);
        assert!(trailers["Cowork-Tokens"][0].starts_with(&tokens), "{name}: {trailers:?}");
    }
}

#[test]
fn an_id_it_does_not_know_or_never_told_has_its_own_message() {
    let sandbox = challenged_by("agent = \"codex\"");
    let lost = "echo 'Error: thread/resume failed: no rollout found for thread id t-1' >&2; exit 1";
    let says = codex("Looks fine to me.");
    let does = format!("if [ $N = 1 ]; then {says}\nelse {lost}\nfi");
    let outcome = gives_no_answer(&sandbox, "codex", &does, &codex(APPROVES));
    outcome.says("Session not found: Codex no longer knows t-1 (exit 1): Error: thread/resume");

    let sandbox = challenged_by("agent = \"claude\"");
    let nameless = |says| claude(says).replace("\"session_id\":\"c-1\"", "\"x\":1");
    let (says, approves) = (nameless("Looks fine to me."), nameless(APPROVES));
    program(&sandbox, "claude", &format!("if [ $N = 1 ]; then {says}\nelse {approves}\nfi"));
    sandbox.cowork(&RESUME).exits(0).says("Failed to capture session ID of Claude Code");
    let input = noted(&sandbox, "claude", "input");
    assert!(input.contains("REQ-002") && input.contains("Looks fine to me."), "{input}");
}

#[test]
fn a_program_gets_the_keys_it_is_lent_and_none_of_ours() {
    let lent = "agent = \"claude\"\nenv = [\"ANTHROPIC_API_KEY\", \"COWORK_LLM_API_KEY\"]";
    let mut sandbox = challenged_by(lent);
    sandbox.set_env("ANTHROPIC_API_KEY", "sk-ant-lent-to-it");
    let does = "echo \"key $ANTHROPIC_API_KEY is wrong\" >&2; exit 1";
    let outcome = gives_no_answer(&sandbox, "claude", does, &claude(APPROVES));
    assert!(!outcome.stderr.contains("sk-ant-lent"), "{}", outcome.stderr);
    assert!(noted(&sandbox, "claude", "words").contains("\n--bare\n"));
    let env = noted(&sandbox, "claude", "env");
    assert!(
        env.contains("ANTHROPIC_API_KEY=sk-ant-lent-to-it") && !env.contains("COWORK"),
        "{env}"
    );
}

#[test]
fn a_command_of_the_users_own_answers_in_plain_text_or_in_one_line_of_json() {
    let result = r#"say '{"type":"result","text":"Fine.\nAPPROVED","model":"mine-2","usage":{"input_tokens":14,"output_tokens":2},"cost_usd":0.5}'"#;
    for (does, tokens) in [("echo Fine.; echo APPROVED", "uncounted=1"), (result, "usd=0.5")] {
        let sandbox = challenged_by("command = [\"judge\", \"--strictly\"]");
        program(&sandbox, "judge", does);
        sandbox.cowork(&RESUME).exits(0);
        assert_eq!(noted(&sandbox, "judge", "words"), "--strictly\n");
        let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
        assert!(trailers["Cowork-Cost"][0].contains(tokens), "{trailers:?}");
        let log = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
        assert_eq!(log.contains("1 request unknown"), tokens == "uncounted=1", "{log}");
    }
}

#[test]
fn what_cannot_be_counted_is_not_used_under_a_budget_unless_a_person_says_so() {
    let sandbox = challenged_by("command = [\"judge\"]");
    settle(&sandbox, "command = [\"judge\"]", "[budget]\ntokens = 100000\n");
    program(&sandbox, "judge", "echo APPROVED");
    let told = "'second' does not report how many tokens it uses, so the budget cannot be enforced";
    sandbox.cowork(&RESUME).exits(4).says(told).says("git config cowork.budget.tokens 0");
    assert_eq!(sandbox.server.requests().len(), 0);
    let mut terminal = sandbox.terminal(&RESUME);
    terminal.sees("the budget cannot be enforced");
    terminal.sees("not counted");
    terminal.types("j\r");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
}

#[test]
fn killed_while_it_is_asked_the_run_asks_it_again_and_nobody_else() {
    let sandbox = challenged_by("agent = \"codex\"");
    program(&sandbox, "codex", "echo >\"$(dirname \"$0\")/../notes/begun\"; sleep 300.75");
    let begun = sandbox.root().join("notes/begun");
    let made = std::process::Command::new("mkfifo").arg(&begun).status().unwrap();
    assert!(made.success());
    let outcome = sandbox.cowork_watched(&RESUME, |pid| {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        // Ends when the program has begun.
        std::thread::spawn(move || std::fs::read(begun).map(|_| kill_process(pid, Signal::KILL)));
    });
    outcome.was_killed();
    sandbox.server.forget();
    program(&sandbox, "codex", &codex(APPROVES));
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(sandbox.server.requests().len(), 0);
    sandbox.assert_sound();
}
