//! Keys never get into a commit, a transcript, a log or a message; what looks like one is refused
//! before it is committed, and the actor is told.

use serde_json::json;

use crate::support::todo::{IDEA, code_of, file_of, lingers, task_work};
use crate::support::{Reply, Sandbox, Wire, at};

/// The user's key, in two parts everywhere, so that only the program can have put it together.
fn key() -> String {
    format!("sk-test-{}", "q7Xw2LmZ9vB4nT6rKd8s")
}

/// A token of well-known make that nobody ever had.
fn token() -> String {
    format!("ghp_{}", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5")
}

/// Every object of the repository, decoded.
fn objects(sandbox: &Sandbox) -> Vec<u8> {
    let mut git = sandbox.command("git");
    git.args(["cat-file", "--batch-all-objects", "--batch"]);
    git.output().unwrap().stdout
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Everything that the actor was told in coding.
fn told_in_coding(sandbox: &Sandbox) -> String {
    let requests = sandbox.server.requests_of("coding", "actor");
    requests.iter().map(crate::support::server::Received::text).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_task_that_holds_a_token_is_refused_and_its_actor_told() {
    let sandbox = Sandbox::stopped_after("plan");
    let file = file_of("TASK-001");
    let leaking = format!("# a\nTOKEN={}\n", token());
    sandbox.server.times(
        1,
        at("coding", "actor").task("TASK-001").turn(1),
        Reply::call("write_file", json!({"path": file, "content": leaking}))
            .and("update_task_status", json!({"task_id": "TASK-001", "new_status": "completed"})),
    );
    let run = sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    let told = sandbox.server.requests_of("coding", "actor");
    let second = told.iter().find(|request| request.iteration == 2).unwrap().text();
    assert!(second.contains(&format!("{file}:2 holds a GitHub token")), "{second}");
    assert!(!second.contains(&token()), "{second}");
    assert_eq!(sandbox.blob("HEAD", file), code_of("TASK-001"));
    assert!(!sandbox.git(&["log", "-p", "cowork/todo"]).contains(&token()));
    assert!(!format!("{}{}", run.stdout, run.stderr).contains(&token()));
    let feedback = sandbox.artifact("feedback_history.json");
    assert!(feedback.contains("\"validator\"") && feedback.contains("\"critical\""), "{feedback}");
    assert!(!feedback.contains(&token()), "{feedback}");
    assert!(!holds(&objects(&sandbox), &token()));
    sandbox.assert_sound();
}

/// The draft comes back as it was, but no object of git holds what was refused.
#[test]
fn a_refused_draft_is_kept_without_its_secret() {
    let sandbox = Sandbox::stopped_after("plan");
    let file = file_of("TASK-001");
    let leaking = format!("# a\nTOKEN={}\n", token());
    let first = Reply::call("write_file", json!({"path": file, "content": leaking}))
        .and("run_command", json!({"command": format!("chmod +x {file}")}))
        .and("update_task_status", json!({"task_id": "TASK-001", "new_status": "completed"}));
    sandbox.server.times(1, at("coding", "actor").task("TASK-001").turn(1), first);
    let second = at("coding", "actor").task("TASK-001").iteration(2);
    sandbox.server.times(1, second, Reply::status(403, "no"));
    sandbox.cowork(&["resume", "--review", "auto"]).exits(4);
    assert!(!sandbox.exists(file));
    assert!(!holds(&objects(&sandbox), &token()));
    let draft = sandbox.git(&["show", &format!("refs/cowork/drafts/todo/coding:{file}")]);
    assert_eq!(draft, "# a\nTOKEN=[secret]");
    let kept = sandbox.path(".git/cowork/sessions/todo/refused");
    let copy = std::fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), leaking);
    #[cfg(unix)]
    for path in [&sandbox.path(".git/cowork/sessions/todo"), &kept, &copy] {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
    let looks =
        Reply::call("run_command", json!({"command": format!("wc -c {file}; ls -l {file}")}));
    sandbox.server.times(1, at("coding", "actor").task("TASK-001").turn(1), looks);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let told = told_in_coding(&sandbox);
    assert!(told.contains(&format!("{} {file}", leaking.len())), "it was there again: {told}");
    assert!(told.contains("-rwx"), "{told}");
    assert!(!holds(&objects(&sandbox), &token()));
    sandbox.assert_sound();
}

#[test]
fn a_secret_in_an_old_draft_is_named_and_pruned() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.server.times(1, at("coding", "critic"), Reply::status(403, "no"));
    sandbox.cowork(&["resume", "--review", "auto"]).exits(4);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
    // As earlier versions kept it.
    let (draft, file) = ("refs/cowork/drafts/todo/coding", file_of("TASK-001"));
    sandbox.write("leaking", &format!("TOKEN={}\n", token()));
    let blob = sandbox.git(&["hash-object", "-w", "leaking"]);
    std::fs::remove_file(sandbox.path("leaking")).unwrap();
    let script = format!(
        "export GIT_INDEX_FILE=.git/other && git read-tree {draft} && \
         git update-index --add --cacheinfo 100644,{blob},{file} && \
         git log -1 --format=%B {draft} >.git/words && \
         git update-ref {draft} $(git commit-tree -p {draft}^1 -F .git/words $(git write-tree))"
    );
    assert!(sandbox.command("sh").args(["-c", &script]).status().unwrap().success());
    let told = sandbox.cowork(&["verify"]).exits(1).stdout;
    assert!(told.contains(&format!("{draft} holds a GitHub token ({file}:1)")), "{told}");
    assert!(!told.contains(&token()));
    sandbox.cowork(&["prune", draft]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn a_token_in_a_file_that_was_clean_a_moment_ago_is_found() {
    let sandbox = Sandbox::stopped_after("plan");
    let file = file_of("TASK-001");
    let clean = code_of("TASK-001");
    let leaking = format!("{clean}# TOKEN={}\n", token());
    let done = json!({"task_id": "TASK-001", "new_status": "completed"});
    let drafts = [(clean.to_owned(), leaking.clone()), (leaking, clean.to_owned())];
    for (number, (first, second)) in (1..).zip(drafts) {
        sandbox.server.times(
            1,
            at("coding", "actor").task("TASK-001").iteration(number).turn(1),
            Reply::call("write_file", json!({"path": file, "content": first}))
                .and("write_file", json!({"path": "notes.txt", "content": second}))
                .and("update_task_status", done.clone()),
        );
    }
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    let told = told_in_coding(&sandbox);
    for path in [file, "notes.txt"] {
        assert!(
            told.contains(&format!("{path}:")) && told.contains("holds a GitHub token"),
            "{told}"
        );
    }
    assert!(!sandbox.git(&["log", "-p", "cowork/todo"]).contains(&token()));
    sandbox.assert_sound();
}

#[test]
fn what_a_file_held_before_is_a_persons_and_examples_are_none() {
    let sandbox = Sandbox::new();
    let file = file_of("TASK-001");
    let before = format!("TOKEN={}\n", token());
    sandbox.commit_file(file, &before, "a fixture of theirs");
    let more = format!("{before}# as in the manual: AKIAIOSFODNN7EXAMPLE\n");
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    sandbox.server.on(
        at("coding", "actor").task("TASK-001").turn(1),
        Reply::call("write_file", json!({"path": file, "content": more}))
            .and("update_task_status", json!({"task_id": "TASK-001", "new_status": "completed"})),
    );
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    assert_eq!(sandbox.blob("HEAD", file), more);
    assert_eq!(
        sandbox.server.requests_of("coding", "actor").iter().map(|r| r.iteration).max(),
        Some(1)
    );
}

#[test]
fn a_persons_own_words_and_edits_are_looked_at_as_well() {
    let sandbox = Sandbox::new();
    let before = sandbox.refs("refs");
    let idea = format!("a client that signs in with {}", token());
    let refused = sandbox.cowork(&["new", "-n", "todo", &idea, "--review", "auto"]);
    let refused = refused.exits(5).says("a GitHub token");
    assert!(!refused.stderr.contains(&token()), "{}", refused.stderr);
    assert_eq!(sandbox.refs("refs"), before, "nothing was begun");
    sandbox.assert_clean();

    sandbox.wait(&[]).exits(3);
    let path = ".cowork/sessions/todo/idea.md";
    let written = sandbox.read(path);
    sandbox.write(path, &format!("{written}\nUse {}.\n", token()));
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&["review", "--pass"]).exits(5).says("idea.md:").says("a GitHub token");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    sandbox.write(path, &written);
    // Words are not refused: what must not be recorded is left out of them.
    sandbox.cowork(&["review", "--feedback", &format!("not {}", token())]).exits(0);
    assert!(!holds(sandbox.git(&["log", "-p", "cowork/todo"]).as_bytes(), &token()));
    assert!(sandbox.git(&["log", "-1", "--format=%b"]).contains("not [secret]"));
}

#[test]
fn the_users_key_is_nowhere_when_a_session_is_over() {
    let mut sandbox = Sandbox::new();
    let key = key();
    sandbox.user_config(&format!("[models.other]\nmodel = \"m\"\napi_key = \"{key}\"\n"));
    sandbox.set_env("COWORK_LLM_API_KEY", &key);
    // Of another program, and no model of ours is reached with it.
    sandbox.set_env("OPENAI_API_KEY", &key);
    let other = format!("dt_{}", "5m2c8w1x9q4z7k3v6b");
    sandbox.set_env("DEPLOY_TOKEN", &other);
    // A file of theirs that git ignores holds it, and a model may read it.
    sandbox.commit_file(".gitignore", "settings.txt\n", "ignore it");
    sandbox.write("settings.txt", &format!("key = {key}\n"));
    let file = file_of("TASK-001");
    let server = &sandbox.server;
    server.manner(lingers);
    server.on(
        at("idea", "actor").turn(1),
        Reply::call(
            "save_idea",
            json!({"content": format!("{IDEA}\nIt uses {key} and {other}.\n")}),
        )
        .and("read_file", json!({"path": "settings.txt"}))
        .and("search_files", json!({"pattern": "key", "path": "."})),
    );
    server.on(at("idea", "actor").turn(2), Reply::text(&format!("It is {key}.")).wire(Wire::ODD));
    server.times(
        1,
        at("coding", "actor").task("TASK-001").turn(1),
        Reply::call("write_file", json!({"path": file, "content": key}))
            .and("run_command", json!({"command": format!("echo {key} > leak.txt")}))
            .and_raw(
                "write_file",
                &format!(r#"{{"path":"b.txt","content":"\u0073{}"}}"#, &key[1..]),
            ),
    );
    server.on(at("coding", "actor").task("TASK-001").turn(2), task_work("TASK-001"));
    server.on(at("coding", "actor").task("TASK-001").turn(3), Reply::text("Done."));
    let critic = crate::support::todo::reject(&format!("the document holds {key}"));
    server.times(1, at("prd", "critic"), critic);
    // A hook that says everything it knows.
    sandbox.hook("pre-commit", "test -e .git/once && exit 0; : > .git/once; env; exit 1");
    let record = sandbox.root().join("recording.jsonl");
    let new = ["new", "-n", "todo", "a todo list", "--review", "auto", "--stream", "--verbose"];
    // The start is refused once, by the hook.
    let first = sandbox.cowork(&new);
    let run =
        sandbox.cowork(&[&new[..], &["--record", record.to_str().unwrap()]].concat()).exits(0);
    let seen: String = sandbox.server.requests().iter().map(|r| r.body.to_string()).collect();
    assert!(!seen.contains(&key), "a model was told the key");
    assert!(seen.contains("key = [withheld key]"));
    assert!(seen.contains("Keys are never written or used"), "its actor is told");
    for text in [&run.stdout, &run.stderr, &first.stdout, &first.stderr] {
        assert!(!text.contains(&key), "{text}");
    }
    let all = objects(&sandbox);
    assert!(!holds(&all, &other), "another program's token is in the repository");
    let at = all.windows(key.len()).position(|window| window == key.as_bytes());
    let around = at.map(|at| String::from_utf8_lossy(&all[at.saturating_sub(300)..at]));
    assert_eq!(around, None, "the key is in the repository");
    let found = sandbox.files_with(&key);
    assert_eq!(found, ["config.toml", "settings.txt"], "only where the user put it");
    assert!(!sandbox.exists("leak.txt") && !sandbox.exists("b.txt"));
    assert!(record.exists());
}

#[test]
fn what_a_commit_refuses_no_model_sees() {
    see_no_secret(Sandbox::stopped_after("plan"));
    Sandbox::stopped_after("plan").into_ordinary_user().into_iter().for_each(see_no_secret);
}

fn see_no_secret(mut sandbox: Sandbox) {
    let (token, password) = (token(), format!("hunter-{}", "2x7Kq9"));
    let encoded =
        format!("{}{}", "ZG9ja2VyOmdocF9hQjNkRTVmRzdoSjlrTDFtTj", "NwUTVyUzd0VTl2VzF4WTN6QTU=");
    sandbox.commit_file("fixture.txt", &format!("a {token} b\nauth: {encoded}\n"), "theirs");
    let url = format!("https://ana:{password}@example.org/x.git");
    sandbox.git(&["remote", "add", "origin", &url]);
    let options = format!("-Xmx1g -Djavax.net.ssl.trustStorePassword={password}");
    sandbox.set_env("MAVEN_OPTS", &options);
    let run = |command: &str| ("run_command", json!({"command": command}));
    let (read, config, env) = (
        ("read_file", json!({"path": "fixture.txt"})),
        run("cat fixture.txt .git/config"),
        run("env"),
    );
    let calls = [read, config, env].into_iter();
    let reply = calls.fold(
        Reply::call("search_files", json!({"pattern": "a .* b"})),
        |reply, (tool, arguments)| reply.and(tool, arguments),
    );
    sandbox.server.times(1, at("coding", "actor").task("TASK-001").turn(1), reply);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    let told = told_in_coding(&sandbox);
    assert!(told.contains("a [withheld key] b") && told.contains("auth: [withheld key]"), "{told}");
    assert!(!told.contains("ana:"), "git is not asked for a login: {told}");
    for secret in [&token, &password, &encoded[..40].to_owned()] {
        assert!(!told.contains(secret.as_str()), "{secret} in {told}");
    }
    assert!(!told.contains("MAVEN_OPTS"), "{told}");
}

#[test]
fn a_secret_in_a_name_or_written_in_another_way_is_refused() {
    let wide: String = token().chars().flat_map(|c| [c, '\0']).collect();
    let encoded =
        format!("{}{}", "ZG9ja2VyOmdocF9hQjNkRTVmRzdoSjlrTDFtTj", "NwUTVyUzd0VTl2VzF4WTN6QTU=");
    let cases = [
        (format!("lib/{}.txt", token()), "plain".to_owned(), "the name of lib/[secret].txt holds"),
        ("lib/auth.json".to_owned(), format!("{{\n\"auth\": \"{encoded}\"}}"), "auth.json:2 holds"),
        ("lib/wide.txt".to_owned(), format!("one\0\n\0{wide}"), "lib/wide.txt:2 holds"),
    ];
    for (path, content, says) in cases {
        let sandbox = Sandbox::stopped_after("plan");
        sandbox.hook("pre-commit", "exit 0");
        let made = json!({"command": "cp .git/made lib-made && mkdir -p lib && mv lib-made \"$(cat .git/name)\""});
        sandbox.write(".git/made", &content);
        sandbox.write(".git/name", &path);
        let done = json!({"task_id": "TASK-001", "new_status": "completed"});
        sandbox.server.times(
            1,
            at("coding", "actor").task("TASK-001").turn(1),
            Reply::call("write_file", json!({"path": file_of("TASK-001"), "content": "# a\n"}))
                .and("run_command", made)
                .and("update_task_status", done),
        );
        sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]);
        let told = told_in_coding(&sandbox);
        assert!(told.contains(says) && told.contains("a GitHub token"), "{says}: {told}");
        assert!(!sandbox.git(&["log", "--name-only", "-p", "cowork/todo"]).contains(&token()));
    }
}

#[test]
fn a_key_written_backwards_or_in_base32_is_refused() {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_LLM_API_KEY", "own-key-1234567890-and-more-of-it-for-a-second-line");
    let backwards = "enil-dnoces-a-rof-ti-fo-erom-dna-0987654321-yek-nwo\n";
    let base32 = "N53W4LLLMV4S2MJSGM2DKNRXHA4TALLBNZSC23LPOJSS233GFVUXILLGN5ZC2YJNONSWG33OMQWW\nY2LOMUFA====\n";
    let write = |path: &str, text: &str| {
        Reply::call("write_file", serde_json::json!({"path": path, "content": text}))
    };
    sandbox.server.sequence(
        at("coding", "actor").task("TASK-001"),
        vec![
            write("lib/one.txt", backwards),
            write("lib/two.txt", base32),
            task_work("TASK-001"),
            Reply::text("Done."),
        ],
    );
    sandbox.auto(&["--stop-after", "coding"]);
    assert!(sandbox.exists("lib/store.sh"));
    assert!(!sandbox.exists("lib/one.txt") && !sandbox.exists("lib/two.txt"));
}
