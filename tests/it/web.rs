//! `git cowork show --web`: a session as one page. What others wrote is text in it, whatever it is;
//! `.ci/page/run` looks at the same pages in a browser.

use serde_json::json;

use crate::support::page::Page;
use crate::support::todo::{IDEA, PRD, reject};
use crate::support::{Reply, Sandbox, at};

/// The page of a session, which must be sound.
#[track_caller]
fn page(sandbox: &Sandbox, session: &str) -> Page {
    let outcome = sandbox.cowork(&["show", session, "--web", "-o", "-"]).exits(0);
    let page = Page::read(&outcome.stdout);
    page.links_lead_somewhere();
    assert!(!page.text.contains("cannot be shown"), "{}", page.text);
    page
}

/// What breaks out of a page that takes it as it is.
const ATTACK: &str = "</script></style></title><script>alert(1)</script>\
                      \"><img src=x onerror=alert(1)>'onmouseover='alert(1) &lt;b&gt; \u{202e}reversed\u{2066}";

#[test]
fn a_page_shows_the_whole_session() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[project]\ntest = \"echo all is well\"\n");
    sandbox.server.times(1, at("prd", "critic").iteration(1), reject("REQ-002 is vague"));
    sandbox.server.times(
        1,
        at("prd", "actor").iteration(1).turn(1),
        Reply::call(
            "save_prd_doc",
            json!({"content": PRD.replace("Nothing is put off", "Search")}),
        ),
    );
    sandbox.auto(&["--stop-after", "design"]).exits(0);
    sandbox.cowork(&["revert", "--to", "design", "--no-run", "--reason", "simpler"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto", "--model", "other"]).exits(0);
    let page = page(&sandbox, "todo");
    let timeline = page.section("timeline");
    assert!(timeline.contains("✗ draft 1 rejected by critic: REQ-002 is vague"), "{timeline}");
    assert!(timeline.contains("left behind in attempt 1") && timeline.contains("↩ attempt 1"));
    assert_eq!(timeline.matches("class=\"stage_completed\"").count(), 7, "{timeline}");
    assert_eq!(timeline.matches("class=\"task_completed\"").count(), 5, "{timeline}");

    let graph = page.section("graph");
    for node in ["REQ-001", "TASK-005", "lib/store.sh"] {
        assert!(graph.contains(&format!("✓ {node}</text>")), "{node} in {graph}");
    }
    // FEAT-001 is of REQ-001: three of its tasks; FEAT-002 of both others: two each.
    assert_eq!(graph.matches("<path ").count(), 3 + 2 + 2 + 5, "{graph}");
    let cost = page.section("cost");
    assert!(cost.matches("<rect").count() == 7 && cost.contains(">By tokens</th>"), "{cost}");

    let documents = page.section("documents");
    assert!(documents.contains("<h3 id=\"document-prd\">prd.md</h3>"), "{documents}");
    assert!(
        documents.contains("prd draft 1 → prd draft 2, recorded with prd +1 −1"),
        "{documents}"
    );
    assert!(documents.contains("<span class=\"r\">-Search.</span>"), "{documents}");
    let difference = documents.split("prd draft 1 → ").nth(1).unwrap();
    assert!(difference.contains("rejected by critic: REQ-002 is vague"), "{difference}");
    assert!(documents.contains("<h5>Requirements</h5>"), "{documents}");

    let evidence = page.section("evidence");
    assert!(
        evidence.contains("echo all is well: exit 0 (log ")
            && evidence.contains("\nall is well\n\nexit 0</pre>"),
        "{evidence}"
    );
    let changes = page.section("changes");
    assert_eq!(changes.matches("<h3 ").count(), 5, "{changes}");
    assert!(
        changes.contains("TASK-001 Keep todos in a file") && changes.contains("lib/store.sh +")
    );
    assert!(!changes.contains(".cowork"), "{changes}");
    page.keep("session");
}

#[test]
fn what_models_commits_and_logs_say_is_text() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[project]\ntest = \"sh suite.sh\"\n");
    sandbox.write("suite.sh", "cat out.txt\n");
    sandbox.write("out.txt", &format!("</pre>{ATTACK}\n"));
    sandbox.commit_all("a suite");
    let links = "[a](javascript:alert(1)) [b](data:text/html,x) <javascript:alert(1)> \
                 [c](https://example.org/\"onclick=\"x) ![p](https://example.org/p.png)";
    let idea = format!(
        "{IDEA}\n{ATTACK}\n\n{links}\n\n```\"><script>\n</code></pre>{ATTACK}\n```\n\n| a |\n|--:|\n| {ATTACK} |\n"
    );
    sandbox
        .server
        .on(at("idea", "actor").turn(1), Reply::call("save_idea", json!({"content": idea})));
    let prd = PRD.replace("### REQ-001 Add a todo", &format!("### REQ-001 Add {ATTACK}"));
    sandbox
        .server
        .on(at("prd", "actor").turn(1), Reply::call("save_prd_doc", json!({"content": prd})));
    sandbox.server.times(
        1,
        at("prd", "critic").iteration(1),
        reject(&format!("</details>{ATTACK}")),
    );
    let new = ["new", "-n", "todo", ATTACK, "--review", "auto", "--stop-after", "coding"];
    sandbox.cowork(&new).exits(0);
    sandbox.git(&["config", "user.name", "Eve \"><script>alert(1)<\u{2f}script>"]);
    sandbox.write("a\"><script>b'.js", &format!("{ATTACK}\n"));
    sandbox.commit_all(&format!("mine: {ATTACK}"));

    let page = page(&sandbox, "todo");
    for c in page.html.chars() {
        assert!(
            !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{1b}'),
            "{c:?}"
        );
    }
    // It is all there, as text: title, idea, document, requirement, feedback, log, code, subject.
    let shown = page.text.matches("<script>alert(1)</script>").count();
    assert!(shown >= 10, "{shown}");
    for (section, times) in
        [("timeline", 1), ("graph", 1), ("documents", 3), ("evidence", 1), ("changes", 2)]
    {
        let section = page.section(section);
        assert!(section.matches("&lt;script&gt;").count() >= times, "{section}");
    }
    let outside: Vec<&String> = page.hrefs.iter().filter(|href| !href.starts_with('#')).collect();
    assert_eq!(outside, ["https://example.org/%22onclick=%22x"]);
    let policy = "content=\"default-src &#39;none&#39;; style-src &#39;sha256-";
    assert!(page.html.contains(policy), "{:.600}", page.html);
    page.keep("hostile");
}

#[test]
fn a_key_is_not_in_it() {
    let mut sandbox = Sandbox::stopped_after("idea");
    let key = "sk-web-0123456789abcdef";
    sandbox.commit_file("notes.txt", &format!("the key is {key}\n"), "notes");
    sandbox.set_env("COWORK_LLM_API_KEY", key);
    let page = page(&sandbox, "todo");
    assert!(!page.html.contains(key) && page.text.contains("the key is [withheld key]"));
}

#[test]
fn what_there_is_no_room_for_is_named_with_its_command() {
    let sandbox = Sandbox::stopped_after("idea");
    for n in 0..250 {
        let line = format!("{n} {}\n", "word ".repeat(9));
        sandbox.write(&format!("long/{n}.txt"), &line.repeat(2_000));
    }
    sandbox.commit_all("more than anybody reads");
    let page = page(&sandbox, "todo");
    assert!(page.html.len() < 8 * 1024 * 1024, "{}", page.html.len());
    let commit = sandbox.git(&["rev-parse", "--short=7", "HEAD"]);
    for said in [
        &format!("190 more files are left out here: git show {commit}"),
        &format!("git show {commit} -- long/0.txt"),
        "things are left out; a note marks each place",
    ] {
        assert!(page.text.contains(said), "{said}");
    }
}

#[test]
fn every_link_leads_to_what_is_shown() {
    let sandbox = Sandbox::stopped_after("coding");
    for n in 0..70 {
        sandbox.write(&format!("a/{n}"), "x\n");
    }
    // Beyond what is shown of a commit; in another one a link in the place of a file, odd names.
    sandbox.write("lib/store.sh", "# mine\n");
    sandbox.commit_all("very many");
    std::fs::remove_file(sandbox.path("lib/add.sh")).unwrap();
    std::os::unix::fs::symlink("store.sh", sandbox.path("lib/add.sh")).unwrap();
    sandbox.write("a\"b\\c\td.txt", "x\n");
    sandbox.commit_all("odd");
    let page = page(&sandbox, "todo");
    let changes = page.section("changes");
    assert!(changes.contains("a&quot;b\\c\td.txt +1 −0"), "{changes}");
    assert_eq!(changes.matches("<bdi>lib/add.sh ").count(), 3, "{changes}");
    assert!(changes.contains("11 more files are left out here"), "{changes}");
}

#[test]
fn every_moment_of_a_session_has_a_page() {
    for stage in ["idea", "plan"] {
        let sandbox = Sandbox::stopped_after(stage);
        let page = page(&sandbox, "todo");
        assert!(page.text.contains("No commit of the session changes code yet."));
        assert!(page.section("changes").len() < 300 && page.text.contains("to come"));
    }
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    assert!(page(&sandbox, "todo").text.contains("draft 1 waits for review"));
    sandbox.cowork(&["review", "--feedback", "Name the <users>."]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    assert!(page(&sandbox, "todo").section("timeline").contains("Name the &lt;users&gt;."));
}

#[test]
fn a_change_request_shows_what_is_its_own() {
    let sandbox = Sandbox::delivered();
    sandbox.script_addition("Colour", ["REQ-004", "FEAT-003", "TASK-006"], "lib/colour.sh");
    sandbox.cowork(&["modify", "Add colour", "-n", "colour", "--review", "auto"]).exits(0);
    let page = page(&sandbox, "todo--colour");
    let graph = page.section("graph");
    assert!(graph.contains("REQ-004") && graph.contains("lib/colour.sh"), "{graph}");
    assert!(!graph.contains("TASK-001") && !graph.contains("REQ-001"), "{graph}");
    let documents = page.section("documents");
    assert!(documents.contains("at the start → prd draft 1"), "{documents}");
    assert!(!page.section("changes").contains("lib/store.sh"));
    page.keep("change");
}

#[test]
fn the_page_is_kept_in_the_state_directory_or_where_it_is_wanted() {
    let sandbox = Sandbox::stopped_after("idea");
    let path = sandbox.cowork(&["show", "--web"]).exits(0).stdout;
    let kept = sandbox.git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    assert_eq!(path, format!("{kept}/cowork/sessions/todo/session.html\n"));
    Page::read(&std::fs::read_to_string(path.trim()).unwrap());
    let object = sandbox.cowork(&["show", "todo", "--web", "--json"]).exits(0).json();
    assert_eq!(object, json!({"session": "todo", "path": path.trim()}));
    sandbox.assert_sound();
    let wanted = sandbox.cowork(&["show", "--web", "-o", "my page.html"]).exits(0).stdout;
    assert!(wanted.ends_with("/my page.html\n"), "{wanted}");
    Page::read(&sandbox.read("my page.html"));
}

#[test]
fn what_it_cannot_do_is_said() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.cowork(&["show", "prd", "-o", "x.html"]).exits(2).says("--web");
    sandbox.cowork(&["show", "todo", "prd", "--web"]).exits(2).says("takes a session");
    sandbox.cowork(&["show", "nobody", "--web"]).exits(5).says("nobody");
    let outcome = sandbox.cowork(&["show", "--web", "-o", "no/such/folder.html"]).exits(5);
    assert!(
        outcome.stderr.contains("could not be written to no/such/folder.html"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("git cowork show --web --output FILE"), "{}", outcome.stderr);
}

#[test]
fn a_browser_is_opened_at_a_terminal_only() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.git(&["config", "web.browser", "mine"]);
    sandbox.git(&["config", "browser.mine.cmd", "echo OPENED"]);
    let mut terminal = sandbox.terminal(&["show", "--web"]);
    terminal.sees("/session.html");
    let seen = terminal.sees("OPENED file:///");
    assert!(!seen.contains("fatal"), "{seen}");
    let (code, rest) = terminal.ends();
    assert!(code == 0 && rest.contains("/cowork/sessions/todo/session.html"), "{code} {rest}");
    for args in [&["show", "--web", "-o", "page.html"][..], &["show", "--web", "--no-interactive"]]
    {
        let (code, seen) = sandbox.terminal(args).ends();
        assert!(code == 0 && !seen.contains("OPENED"), "{seen}");
    }
    assert!(!sandbox.cowork(&["show", "--web"]).exits(0).stdout.contains("OPENED"));
    sandbox.git(&["config", "browser.mine.cmd", "false"]);
    let (code, seen) = sandbox.terminal(&["show", "--web"]).ends();
    assert!(code == 0 && seen.contains("no browser was found"), "{seen}");
}
