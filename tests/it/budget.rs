//! What a session may use: counted on every try, kept over kills and resumes, and what is said.

use crate::support::kill::kill_at_request;
use crate::support::responses::Speaks;
use crate::support::todo::{STAGES, approve, lingers};
use crate::support::{Fault, Reply, Sandbox, at};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// Tokens of one request of the scripted server.
const EACH: u64 = 120;

#[test]
fn a_budget_of_tokens_stops_cleanly_and_can_be_raised() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[budget]\ntokens = 1000\n");
    let outcome = sandbox.auto(&[]).exits(4).says("budget of tokens").says("of 1000 tokens");
    assert!(outcome.stderr.contains("git config cowork.budget.tokens 2000"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("git cowork resume"), "{}", outcome.stderr);
    sandbox.assert_sound();
    let asked = sandbox.server.asked() as u64;
    assert!(asked * EACH <= 1000 && asked >= 6, "{asked} requests");
    let shown = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(shown.contains(&format!("{} of 1000 tokens", asked * EACH)), "{shown}");
    // Nothing is asked as long as it stands.
    sandbox.server.forget();
    sandbox.cowork(&RESUME).exits(4);
    assert_eq!(sandbox.server.requests().len(), 0);
    sandbox.assert_sound();
    sandbox.git(&["config", "cowork.budget.tokens", "100000"]);
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(sandbox.stages("main..")[1..], STAGES);
    sandbox.assert_sound();
}

#[test]
fn every_stage_stops_at_its_budget_and_continues() {
    // One request more each time: every kind of request meets the budget once.
    let sandbox = Sandbox::new();
    sandbox.user_config("[budget]\nrequests = 1\n");
    sandbox.auto(&[]).exits(4).says("budget of requests").says("1 of 1 requests");
    for requests in 2..60 {
        sandbox.assert_sound();
        // The first request of a session is one of them.
        assert_eq!(sandbox.server.requests().len(), requests - 2);
        sandbox.git(&["config", "cowork.budget.requests", &requests.to_string()]);
        let outcome = sandbox.cowork(&RESUME);
        if outcome.code == 0 {
            assert_eq!(sandbox.stages("main..")[1..], STAGES);
            let all = sandbox.server.asked() as u64;
            let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
            assert_eq!(status["tokens"]["in"], 100 * all);
            return;
        }
        assert_eq!(outcome.code, 4, "{}", outcome.stderr);
    }
    panic!("it never came to an end");
}

#[test]
fn what_a_killed_run_asked_is_not_forgotten() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.manner(lingers);
    kill_at_request(&sandbox, &RESUME, 2).was_killed();
    sandbox.server.forget();
    // The first, one for the idea, two of the killed run, the second of them unanswered.
    sandbox.git(&["config", "cowork.budget.requests", "4"]);
    sandbox.cowork(&RESUME).exits(4).says("4 of 4 requests");
    assert_eq!(sandbox.server.requests().len(), 0);
    sandbox.git(&["config", "cowork.budget.requests", "0"]);
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
    // The commit tells of what it is made of; the answer nobody heard is not.
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Tokens"], ["in=300 out=60 cached=0"]);
    assert!(trailers["Cowork-Cost"][0].starts_with("requests=3 "), "{trailers:?}");
}

#[test]
fn the_wall_clock_is_looked_at_while_an_answer_comes() {
    for (api, speaks) in [("chat", Speaks::Chat), ("responses", Speaks::Responses)] {
        let sandbox = Sandbox::new();
        sandbox.server.speaks(speaks);
        sandbox.user_config(&format!("[llm]\napi = \"{api}\"\n[budget]\nwall_s = 1\n"));
        let more = Reply::text(&"more ".repeat(40)).fault(Fault::EndlessAfter(5));
        sandbox.server.times(1, at("idea", "actor").turn(1), more);
        let outcome = sandbox.auto(&[]).exits(4).says("budget of wall time is reached");
        let outcome = outcome.says("of 1 seconds used");
        assert!(outcome.stderr.contains("git config cowork.budget.walls 2"), "{}", outcome.stderr);
        sandbox.assert_sound();
        assert_eq!(sandbox.server.requests().len(), 1);
        // It goes on with more time, and what had come of the answer counts.
        sandbox.git(&["config", "cowork.budget.walls", "1000"]);
        sandbox.cowork(&[&RESUME[..], &["--stop-after", "idea"]].concat()).exits(0);
        let trailers = sandbox.trailers(&sandbox.stage_commit("idea"));
        assert!(trailers["Cowork-Cost"][0].starts_with("requests=3 "), "{trailers:?}");
        let out = trailers["Cowork-Tokens"][0].split("out=").nth(1).unwrap();
        let out: u64 = out.split(' ').next().unwrap().parse().unwrap();
        assert!(out > 2 * 20, "{trailers:?}");
    }
}

#[test]
fn the_rate_limit_says_what_it_waits_for_and_keeps_the_budget() {
    let sandbox = Sandbox::new();
    // One at once, and one every ten seconds: more than the session may work.
    sandbox.user_config("[llm]\nrate_limit = \"6/m\"\n[budget]\nwall_s = 1\n");
    let outcome = sandbox.auto(&[]).exits(4).says("s for the rate limit of 6 a minute");
    outcome.says("waiting ").says("budget of wall time is reached");
    let asked = (sandbox.server.first_requests().len(), sandbox.server.requests().len());
    assert_eq!(asked, (1, 0));
    sandbox.assert_sound();
}

#[test]
fn four_fifths_are_warned_of_once() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[budget]\nrequests = 5\n");
    let outcome = sandbox.auto(&[]).exits(4);
    let warning = "80% of the session's budget is used: 4 of 5 requests";
    assert_eq!(outcome.stderr.matches(warning).count(), 1, "{}", outcome.stderr);
    let outcome = sandbox.cowork(&RESUME).exits(4);
    assert!(!outcome.stderr.contains("80%"), "{}", outcome.stderr);
}

#[test]
fn retries_are_requests() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[budget]\nrequests = 4\n");
    sandbox.server.times(2, at("idea", "actor").turn(1), Reply::status(503, "busy"));
    sandbox.auto(&[]).exits(4).says("4 of 4 requests");
    assert_eq!(sandbox.server.requests().len(), 3);
    sandbox.git(&["config", "cowork.budget.requests", "5"]);
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "idea"]].concat()).exits(0);
    let trailers = sandbox.trailers(&sandbox.stage_commit("idea"));
    assert!(trailers["Cowork-Cost"][0].starts_with("requests=4 "), "{trailers:?}");
}

#[test]
fn money_is_counted_by_the_configured_prices() {
    let sandbox = Sandbox::new();
    // 100 tokens in and 20 out are 0.004 dollars.
    let prices = "prices = { scripted = { in = 20.0, out = 100.0 } }";
    sandbox.user_config(&format!("[budget]\nusd = 0.01\n{prices}\n"));
    let outcome = sandbox.auto(&[]).exits(4).says("budget of money").says("of $0.01");
    assert!(outcome.stderr.contains("cowork.budget.usd 0.02"), "{}", outcome.stderr);
    assert_eq!(sandbox.server.asked(), 1);
    sandbox.user_config(&format!("[budget]\nusd = 2.0\n{prices}\n"));
    sandbox.cowork(&RESUME).exits(0);
    let trailers = sandbox.trailers(&sandbox.stage_commit("idea"));
    assert!(trailers["Cowork-Cost"][0].ends_with(" usd=0.008000"), "{trailers:?}");
    let all = sandbox.server.asked();
    let cents = (all * 4 + 5) / 10;
    let line = format!("${}.{:02} of $2.00", cents / 100, cents % 100);
    let shown = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(shown.contains(&line), "{line} in\n{shown}");
    let shown = sandbox.cowork(&["log"]).exits(0).stdout;
    assert!(shown.contains(&line) && shown.contains("$0.008"), "{shown}");
}

#[test]
fn money_without_a_price_is_not_spent_blindly() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[budget]\nusd = 5.0\n");
    let outcome = sandbox.auto(&[]).exits(4).says("the price of scripted is not known");
    assert!(outcome.stderr.contains("cowork.budget.prices.scripted.in"), "{}", outcome.stderr);
    let asked = (sandbox.server.first_requests().len(), sandbox.server.requests().len());
    assert_eq!(asked, (1, 0));
    for key in ["in", "out"] {
        sandbox.git(&["config", &format!("cowork.budget.prices.scripted.{key}"), "0"]);
    }
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "idea"]].concat()).exits(0);
}

#[test]
fn the_log_tells_the_usage_of_each_stage_and_the_report_none() {
    let sandbox = Sandbox::new();
    // What a model says about it does not stay, either.
    let report = crate::support::todo::DELIVERY.to_owned() + "\n## Usage\n\nNearly nothing.\n";
    let save = Reply::call("save_delivery_report", serde_json::json!({"content": report}));
    sandbox.server.on(at("delivery", "actor").turn(1), save);
    sandbox.auto(&[]).exits(0);
    let report = sandbox.artifact("delivery_report.md");
    let asked = sandbox.server.asked() as u64;
    assert!(!report.contains("## Usage") && !report.contains("Nearly nothing"), "{report}");
    assert!(report.starts_with("Add a todo list for the terminal\n"));
    let log = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
    let total = format!("Used     {}", words(asked * 100, asked * 20));
    assert!(log.contains(&total), "{total} in\n{log}");
    assert!(log.contains("\n         idea: 240 tokens, 2 requests\n"), "{log}");
    assert!(sandbox.cowork(&["status"]).exits(0).stdout.contains(&words(asked * 100, asked * 20)));
}

fn words(input: u64, output: u64) -> String {
    let short = |n: u64| match n {
        0..1000 => n.to_string(),
        _ => format!("{}.{}k", n / 1000, n % 1000 / 100),
    };
    format!("{} tokens in (0% cached), {} out", short(input), short(output))
}

#[test]
fn a_clone_knows_what_was_used() {
    let sandbox = Sandbox::stopped_after("prd");
    let asked = sandbox.server.asked();
    sandbox.git(&["clone", "-q", ".", "../clone"]);
    let mut clone = sandbox.fork();
    clone.enter("../clone");
    clone.server.on(at("design", "critic"), approve());
    clone.git(&["config", "cowork.budget.requests", &asked.to_string()]);
    let used = format!("{asked} of {asked} requests");
    clone.cowork(&["resume", "todo", "--review", "auto"]).exits(4).says(&used);
    assert_eq!(clone.server.requests().len(), 0);
}

#[test]
fn the_end_of_a_session_tells_what_all_its_runs_used() {
    let sandbox = Sandbox::stopped_after("check");
    let earlier = sandbox.server.asked();
    let told = sandbox.cowork(&["resume", "--review", "auto"]).exits(0).stderr;
    let all = sandbox.server.asked();
    // Each takes 120.
    let short = |n: usize| match n * 120 {
        n @ 0..1000 => n.to_string(),
        n => format!("{}.{}k", n / 1000, n % 1000 / 100),
    };
    let line = format!("{} tokens ({} in this run)", short(all), short(all - earlier));
    let end = told.lines().find(|line| line.contains("session completed")).unwrap();
    assert!(end.contains(&line), "{line} in {end}");
    // The same to programs; and once it is completed, that is told again.
    let args = ["resume", "todo", "--review", "auto", "--json"];
    let lines = sandbox.cowork(&args).exits(0).json_lines();
    let end = lines.iter().find(|line| line["event"] == "session_completed").unwrap();
    assert_eq!(end["tokens"]["in"], 100 * all);
}
