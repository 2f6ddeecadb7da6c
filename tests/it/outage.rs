//! A model server that fails or goes away, at every kind of request of a session: what passes is
//! survived, what lasts stops the run with exit 4, a clean tree and a way on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::support::received::Received;
use crate::support::todo::{STAGES, lingers};
use crate::support::{Fault, Reply, Sandbox, anywhere, at, at_once};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

type Kind = (&'static str, &'static str, Option<&'static str>);

/// Every kind of request: stage, role, and the task in coding.
const KINDS: [Kind; 11] = [
    ("idea", "actor", None),
    ("prd", "actor", None),
    ("prd", "critic", None),
    ("design", "actor", None),
    ("plan", "actor", None),
    ("plan", "self-review", None),
    ("plan", "critic", None),
    ("coding", "actor", Some("TASK-003")),
    ("coding", "critic", None),
    ("check", "actor", None),
    ("delivery", "actor", None),
];

fn is_of(received: &Received, (stage, role, task): &Kind) -> bool {
    received.stage == *stage
        && received.role == *role
        && (task.is_none() || received.task.as_deref() == *task)
}

fn refused(code: u16, kind: &str) -> Reply {
    let error = json!({"error": {"message": format!("no: {kind}"), "type": kind, "code": kind}});
    Reply::empty().fault(Fault::Status { code, headers: Vec::new(), body: error.to_string() })
}

/// What lasts: how the server fails, how often it is asked, what the message says.
fn lasting() -> Vec<(Reply, usize, &'static str)> {
    vec![
        (
            Reply::status(503, "the disk is full"),
            4,
            "the model server answered HTTP 503: the disk is full (tried 4 times)",
        ),
        (Reply::status(500, "oops"), 4, "the server failed at this request: check its log"),
        // A server that is busy is waited for a minute: 1 + 2 + 4 + 8 + 16 + 32 seconds.
        (Reply::status(429, "slow down"), 7, "cowork.llm.ratelimit"),
        (Reply::text("Half an ans").fault(Fault::CutAfter(2)), 4, "did not finish its answer"),
        (refused(429, "insufficient_quota"), 1, "check the account's quota"),
        (Reply::status(401, "bad key test-key"), 1, "check the key"),
        (Reply::status(404, "no such model"), 1, "no such model"),
    ]
}

/// What passes: three at the first turn, as many as are tried again, three at the second.
fn passing() -> Vec<Reply> {
    vec![
        Reply::status(500, "oops"),
        Reply::status(503, "loading"),
        Reply::too_many_requests("0"),
        Reply::empty().fault(Fault::ErrorBody),
        Reply::text("All done.").fault(Fault::Unfinished),
        Reply::text("Half an ans").fault(Fault::CutAfter(2)),
    ]
}

#[test]
fn every_kind_of_request_survives_every_fault() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(lingers);
    let asked: Arc<Mutex<BTreeMap<usize, usize>>> = Arc::default();
    // At the first turn of each kind: every lasting fault for one whole run, then each passing one.
    let counts = Arc::clone(&asked);
    sandbox.server.on_with(anywhere(), move |received| {
        let kind = KINDS.iter().position(|kind| is_of(received, kind))?;
        let mut counts = counts.lock().unwrap();
        if received.turn == 2 {
            let count = counts.entry(KINDS.len() + kind).or_default();
            *count += 1;
            return passing().into_iter().skip(3).nth(*count - 1);
        }
        if received.turn != 1 {
            return None;
        }
        let count = counts.entry(kind).or_default();
        *count += 1;
        let script = lasting().into_iter().flat_map(|(reply, n, _)| vec![reply; n]);
        script.chain(passing().into_iter().take(3)).nth(*count - 1)
    });
    let mut outcome = sandbox.auto(&[]);
    for (stage, role, _) in KINDS {
        for (_, _, says) in lasting() {
            let what = format!("{stage} {role}: {says}");
            assert_eq!(outcome.code, 4, "{what}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(says), "{what}: {}", outcome.stderr);
            assert!(outcome.stderr.contains("git cowork resume"), "{what}: {}", outcome.stderr);
            assert!(!outcome.stderr.contains("test-key"), "{what}: {}", outcome.stderr);
            sandbox.assert_clean();
            outcome = sandbox.cowork(&RESUME);
        }
    }
    outcome.exits(0);
    assert_eq!(sandbox.stages("main..")[1..], STAGES);
    sandbox.assert_sound();
    let each = 3 + lasting().iter().map(|(_, n, _)| n).sum::<usize>();
    let asked = asked.lock().unwrap();
    for (kind, (stage, role, task)) in KINDS.iter().enumerate() {
        // The turn that goes well comes on top.
        assert!(asked[&kind] > each, "{stage} {role} {task:?}: {} of {each}", asked[&kind]);
    }
}

/// An answer that comes without an end is a server that hangs, however often it is heard.
#[test]
fn an_answer_without_an_end_is_cut_and_asked_for_once_more() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[llm]\nanswer_s = 1\n");
    let more = Reply::text(&"more ".repeat(40)).fault(Fault::EndlessAfter(2));
    sandbox.server.times(1, at("idea", "actor").turn(1), more);
    let told = sandbox.auto(&["--stop-after", "idea"]).exits(0).stderr;
    let says = "the answer is not complete after 1 s (answer_s): trying once more";
    assert_eq!(told.matches(says).count(), 1, "{told}");
    assert_eq!(sandbox.server.requests_of("idea", "actor").len(), 2);
    // The scripted server counts 20 tokens for each answer it ends (the first request's, too), and nobody those of the other.
    let trailers = sandbox.trailers(&sandbox.stage_commit("idea"));
    assert!(trailers["Cowork-Cost"][0].starts_with("requests=3 "), "{trailers:?}");
    let out = trailers["Cowork-Tokens"][0].split("out=").nth(1).unwrap();
    let out: u64 = out.split(' ').next().unwrap().parse().unwrap();
    assert!(out > 2 * 20, "{trailers:?}");
    sandbox.assert_sound();
}

#[test]
fn comments_alone_are_no_answer_and_the_second_time_ends_the_run() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config("[llm]\nanswer_s = 1\n");
    sandbox.server.times(
        2,
        at("prd", "actor").turn(1),
        Reply::text("x").fault(Fault::PingsAfter(0)),
    );
    sandbox.server.forget();
    let outcome = sandbox.cowork(&RESUME).exits(4);
    let told = "the model server did not finish its answer in 1 s (answer_s; tried 2 times)";
    outcome.says(told).says("git config cowork.llm.answers 3600");
    assert_eq!(sandbox.server.requests().len(), 2);
    sandbox.assert_sound();
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
}

/// Silence in the middle of an answer, where it costs two seconds each: some kinds in each session.
#[test]
fn a_server_that_falls_silent_is_left_at_every_kind_of_request() {
    at_once(KINDS.chunks(3), |kinds| {
        let sandbox = Sandbox::new();
        sandbox.user_config("[llm]\ntimeout_s = 2\nmax_retries = 0\n");
        let silent: Arc<Mutex<Vec<usize>>> = Arc::default();
        let had = Arc::clone(&silent);
        let asked = kinds.to_vec();
        sandbox.server.on_with(anywhere(), move |received| {
            let kind = asked.iter().position(|kind| is_of(received, kind))?;
            let mut had = had.lock().unwrap();
            if had.contains(&kind) {
                return None;
            }
            had.push(kind);
            Some(Reply::text("One, two, ").fault(Fault::SilentAfter(2)))
        });
        let mut outcome = sandbox.auto(&[]);
        for (stage, role, _) in kinds {
            let told = &outcome.stderr;
            assert_eq!(outcome.code, 4, "{stage} {role}: {told}");
            let says = "the model server did not finish its answer: silent for 2 s";
            assert!(told.contains(says), "{stage} {role}: {told}");
            assert!(told.contains("git cowork resume"), "{stage} {role}: {told}");
            sandbox.assert_clean();
            outcome = sandbox.cowork(&RESUME);
        }
        outcome.exits(0);
        assert_eq!(silent.lock().unwrap().len(), kinds.len());
        assert_eq!(sandbox.stages("main..")[1..], STAGES);
        sandbox.assert_sound();
    });
}

#[test]
fn the_log_in_j_has_its_levels_and_no_key() {
    let sandbox = Sandbox::new();
    sandbox.server.times(4, anywhere(), Reply::status(500, "no test-key here"));
    sandbox.auto(&[]).exits(4);
    let log = sandbox.read(".git/cowork/sessions/todo/log");
    let lines = |level: &str, word: &str| {
        log.lines().filter(|line| line.contains(level) && line.contains(word)).count()
    };
    assert!(lines(" INFO ", "StageStarted") > 0, "{log}");
    assert_eq!(lines("DEBUG ", "request: idea actor, draft 1, turn 1: model scripted"), 4, "{log}");
    assert!(lines(" WARN ", "trying again") >= 3, "{log}");
    assert_eq!(lines("ERROR ", "given up after 4 tries"), 1, "{log}");
    assert!(!log.contains("test-key"), "{log}");
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "idea"]].concat()).exits(0);
    let log = sandbox.read(".git/cowork/sessions/todo/log");
    assert!(log.contains("DEBUG") && log.contains("ToolCall"), "{log}");
}

#[test]
fn nobody_at_the_address_is_said_before_anything_is_made() {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.set_env("COWORK_LLM_BASE_URL", "http://127.0.0.1:1/v1");
    let outcome = sandbox.cowork(&RESUME).exits(4).says("did not answer");
    assert!(outcome.stderr.contains("http://127.0.0.1:1/v1"), "{}", outcome.stderr);
    sandbox.assert_sound();
}

/// A port that takes connections no more: its queue of one is full, so that another one is neither
/// accepted nor refused. Only Linux is known to keep such a caller waiting.
#[cfg(target_os = "linux")]
mod full {
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    pub fn listener() -> TcpListener {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
            let listener = socket.listen(0).unwrap().into_std().unwrap();
            listener.set_nonblocking(false).unwrap();
            listener
        })
    }

    /// Takes the one place in the queue, as long as the answer lives.
    pub fn fill(listener: &TcpListener) -> TcpStream {
        TcpStream::connect(listener.local_addr().unwrap()).unwrap()
    }

    /// Answers one request for the list of models, then is full.
    pub fn answers_once(listener: &TcpListener) -> TcpStream {
        let (mut stream, _) = listener.accept().unwrap();
        let filler = fill(listener);
        let mut head = Vec::new();
        let mut byte = [0; 1];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
            head.push(byte[0]);
        }
        let body = r#"{"data":[{"id":"scripted"}]}"#;
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).unwrap();
        filler
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_connection_that_never_stands_is_given_up() {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config("[llm]\ntimeout_s = 1\nmax_retries = 1\n");
    let listener = full::listener();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    sandbox.set_env("COWORK_LLM_BASE_URL", &url);
    // Before anything is made ...
    let filler = full::fill(&listener);
    let told = sandbox.cowork(&RESUME).exits(4).says("no connection: timed out").stderr;
    assert!(told.contains(&url), "{told}");
    drop(filler);
    drop(listener.accept().unwrap());
    // ... and in the middle of a run, where each try gives up by itself.
    let server = std::thread::spawn(move || (full::answers_once(&listener), listener));
    let outcome = sandbox.cowork(&RESUME).exits(4);
    let told = "the model server did not answer: no connection: timed out (tried 2 times)";
    let outcome = outcome.says(told).says("check that the server runs");
    assert!(outcome.stderr.contains("(1 of 1)"), "{}", outcome.stderr);
    drop(server.join().unwrap());
    sandbox.assert_sound();
    let url = sandbox.server.base_url();
    sandbox.set_env("COWORK_LLM_BASE_URL", &url);
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
}
