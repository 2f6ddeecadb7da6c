//! Tokens, time and drafts are counted alike wherever they are told: trailers, `status`, `list`, `log`,
//! and the last lines of a run.

use serde_json::{Value, json};

use crate::support::kill::kill_at_request;
use crate::support::sandbox::Outcome;
use crate::support::todo::{PRD, reject};
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// Input and output tokens of a JSON object's `tokens`.
fn tokens(of: &Value) -> u64 {
    let tokens = &of["tokens"];
    tokens["in"].as_u64().unwrap_or(0) + tokens["out"].as_u64().unwrap_or(0)
}

/// The number behind a name in a trailer such as `in=100 out=20 cached=0`.
fn number(trailer: &str, name: &str) -> u64 {
    let mut pairs = trailer.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map_or(0, |(_, value)| value.parse().unwrap())
}

/// As people read it.
fn short(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..10_000 => format!("{}.{}k", count / 1000, count % 1000 / 100),
        _ => format!("{}k", count / 1000),
    }
}

/// What stands behind `Used` in a text.
fn used(text: &str) -> String {
    let line = text.lines().find(|line| line.starts_with("Used ")).unwrap();
    line.trim_start_matches("Used").trim().to_owned()
}

/// Compares every place that tells of a completed session; `end` is what its last run said on a
/// terminal. Returns its tokens, and those no commit tells of.
#[track_caller]
fn agree(sandbox: &Sandbox, name: &str, range: &str, end: &Outcome) -> (u64, u64) {
    let status = sandbox.cowork(&["status", name, "--json"]).exits(0).json();
    let total = tokens(&status);
    let listed = sandbox.cowork(&["list", "--json"]).exits(0).json_lines();
    let listed = listed.iter().find(|line| line["session"] == name).unwrap();
    assert_eq!(listed["tokens"], status["tokens"]);
    let mut resume = RESUME.to_vec();
    resume.extend([name, "--json"]);
    let told = sandbox.cowork(&resume).exits(0).json_lines();
    let told = told.iter().find(|line| line["event"] == "session_completed").unwrap();
    assert_eq!(told["tokens"], status["tokens"]);
    // In words.
    let shown = sandbox.cowork(&["status", name]).exits(0).stdout;
    let log = sandbox.cowork(&["log", name, "-v"]).exits(0).stdout;
    assert_eq!(used(&shown), used(&log));
    let last = end.stderr.lines().find(|line| line.contains("session completed")).unwrap();
    assert!(last.contains(&format!(" · {} tokens", short(total))), "{total} in {last}");
    // Commits, one by one, and their sums.
    let steps = sandbox.cowork(&["log", name, "--json"]).exits(0).json_lines();
    let (mut sum, mut millis, mut requests) = (0, 0, 0);
    for commit in sandbox.git(&["rev-list", "--first-parent", range]).lines() {
        let trailers = sandbox.trailers(commit);
        let step = steps.iter().find(|step| step["commit"] == commit).unwrap();
        let event = step["event"].as_str().unwrap();
        if let Some(used) = trailers.get("Cowork-Tokens").filter(|_| event != "draft_kept") {
            let of_commit = number(&used[0], "in") + number(&used[0], "out");
            assert_eq!(tokens(step), of_commit, "{step}");
            let cost = &trailers["Cowork-Cost"][0];
            assert_eq!(step["millis"], number(cost, "ms"), "{step}");
            sum += of_commit;
            millis += number(cost, "ms");
            requests += number(cost, "requests");
        }
        if event == "stage_completed" {
            let drafts = &trailers["Cowork-Iterations"][0];
            assert_eq!(step["iteration"].to_string(), *drafts, "{step}");
            let s = if drafts == "1" { "" } else { "s" };
            let stage = step["stage"].as_str().unwrap();
            for text in [&shown, &log] {
                let drafts = format!("{drafts} draft{s}");
                let mut lines = text.lines().skip_while(|line| !line.contains(&commit[..7]));
                let found = lines.next().unwrap().contains(&drafts)
                    || lines.next().is_some_and(|line| line.contains(&drafts));
                assert!(found, "{stage}: {drafts} in {text}");
            }
        }
    }
    let kept: Vec<&Value> = steps.iter().filter(|step| step["attempt"].is_null()).collect();
    assert_eq!(kept.iter().map(|step| tokens(step)).sum::<u64>(), sum);
    let all = |field: &str| kept.iter().filter_map(|step| step[field].as_u64()).sum::<u64>();
    assert_eq!((all("millis"), all("requests")), (millis, requests));
    assert!(told["millis"].as_u64().unwrap() >= millis);
    // What no commit tells of is named wherever the total is.
    let elsewhere = total - sum;
    let verbose = sandbox.cowork(&["log", name, "-v"]).exits(0).stdout;
    let line = format!("\n         work that no commit holds: {} tokens, ", short(elsewhere));
    assert_eq!(verbose.contains(&line), elsewhere > 0, "{line} in {verbose}");
    let words = format!("({} of them in work that no commit holds)", short(elsewhere));
    assert_eq!(shown.contains(&words), elsewhere > 0, "{words} in {shown}");
    (total, elsewhere)
}

#[test]
fn tokens_time_and_drafts_agree_everywhere() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[project]\nself_review = [\"design\"]\n");
    sandbox.server.times(1, at("prd", "critic").iteration(1), reject("REQ-002 is vague"));
    let second = json!({"content": format!("{PRD}\nClearer.\n")});
    let second = Reply::call("save_prd_doc", second);
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), second);
    let new = ["new", "-n", "todo", "a todo list for the terminal", "--review", "auto"];
    kill_at_request(&sandbox, &new, 4).was_killed();
    let told = sandbox.cowork(&[&RESUME[..], &["--stop-after", "design"]].concat()).exits(0).stderr;
    // A stage's own line tells what its commit does.
    let prd = sandbox.trailers(&sandbox.stage_commit("prd"));
    let took = &prd["Cowork-Tokens"][0];
    let took = short(number(took, "in") + number(took, "out"));
    let line = told.lines().find(|line| line.contains("✓ prd: ")).unwrap();
    assert!(line.contains(&format!(" · {took} tokens · ")), "{took} in {line}");
    sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    let end = sandbox.cowork(&RESUME).exits(0);
    let (total, elsewhere) = agree(&sandbox, "todo", "main..cowork/todo", &end);
    // The killed request, and prd and design the first time.
    assert!(elsewhere > 120 * 4, "{elsewhere} of {total}");
    // The coding stage is told with its tasks, at its end as in the log.
    let coding = end.stderr.lines().find(|line| line.contains("✓ coding: 5 of 5")).unwrap();
    let log = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
    let in_log = log.lines().find_map(|line| line.strip_prefix("         coding: ")).unwrap();
    let in_log = in_log.split(", ").next().unwrap();
    assert!(coding.contains(&format!(" · {in_log} · ")), "{in_log} in {coding}");

    sandbox.script_small_change("lib/add.sh", "at once");
    let end = sandbox.cowork(&["modify", "be quick", "--review", "auto"]).exits(0);
    let name = "todo--be-quick";
    let range = "cowork/todo..cowork/todo--be-quick";
    assert_eq!(agree(&sandbox, name, range, &end).1, 0);
    let status = sandbox.cowork(&["status", "todo", "--json"]).exits(0).json();
    assert_eq!(tokens(&status), total, "a change is not its parent's");
}

#[test]
fn drafts_of_a_later_run_are_numbered_alike_everywhere() {
    let sandbox = Sandbox::new();
    let writes = |text: &str| {
        let file = json!({"path": "lib/store.sh", "content": format!("# {text}\n")});
        Reply::call("write_file", file)
    };
    sandbox.server.times(1, at("coding", "critic").iteration(1), reject("TASK-001 is wrong"));
    sandbox.server.on(at("coding", "actor").iteration(2).turn(1), writes("second"));
    sandbox.auto(&[]).exits(0);
    // Comments on what was delivered open coding again.
    sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), writes("third"));
    let feedback = ["feedback", "Say what is stored", "--review", "auto"];
    kill_at_request(&sandbox, &feedback, 3).was_killed();
    let told = sandbox.cowork(&RESUME).exits(0).stderr;
    let asked = sandbox.server.requests_of("coding", "critic");
    assert_eq!(asked[0].iteration, 3);
    assert!(!told.contains("draft 1 of"), "{told}");
    let coding = sandbox.commit_of("cowork/todo", "coding: 6 of 6");
    assert_eq!(sandbox.trailers(&coding)["Cowork-Iterations"], ["1"]);
}

#[test]
fn a_dry_run_counts_the_files_of_the_merge_where_the_base_has_gone_on() {
    let sandbox = Sandbox::delivered();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit_file("meanwhile.txt", "new\n", "meanwhile");
    let told = sandbox.cowork(&["merge", "todo", "--dry-run"]).exits(0);
    sandbox.cowork(&["merge", "todo"]).exits(0);
    let files = sandbox.git(&["diff", "--name-only", "HEAD^", "HEAD"]);
    told.says(&format!("into main: {} files", files.lines().count()));
    let status = sandbox.cowork(&["status", "todo"]).exits(0).stdout;
    assert!(status.contains("State    merged\n"), "{status}");
}
