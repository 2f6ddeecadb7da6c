//! What a model is sent is counted: requests and bytes have a budget.

use crate::support::Sandbox;

/// Requests and bytes of request bodies for idea and prd without a rejection.
const REQUESTS: usize = 3;
const BYTES: usize = 40_000;

#[test]
#[expect(clippy::print_stdout, reason = "a benchmark shows its numbers (with --nocapture)")]
fn idea_and_prd_stay_within_their_budget() {
    let sandbox = Sandbox::stopped_after("prd");
    let requests = sandbox.server.requests();
    let bytes: usize = requests.iter().map(|r| r.bytes).sum();
    for request in &requests {
        println!("{:>7} bytes  {}", request.bytes, request.position());
    }
    println!("{:>7} bytes  in {} requests", bytes, requests.len());
    assert!(requests.len() <= REQUESTS, "{} requests", requests.len());
    assert!(bytes <= BYTES, "{bytes} bytes");
}

#[test]
fn a_conversation_only_grows_at_its_end() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(crate::support::todo::lingers);
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let requests = sandbox.server.requests();
    for pair in requests.windows(2) {
        let [earlier, later] = pair else { continue };
        if later.turn == 1 {
            continue;
        }
        let (before, after) = (earlier.messages(), later.messages());
        assert_eq!(before, &after[..before.len()], "{}", later.position());
        assert_eq!(earlier.body["tools"], later.body["tools"], "{}", later.position());
    }
    // Who the model is, is the same for everybody: providers' caches hit.
    let system = &requests[0].messages()[0];
    assert!(requests.iter().all(|r| r.messages()[0] == *system));
}

#[test]
fn nothing_volatile_stands_in_a_request() {
    let runs = [Sandbox::new(), Sandbox::new()].map(|sandbox| {
        sandbox.auto(&["--stop-after", "design"]).exits(0);
        let root = sandbox.root().display().to_string();
        let bodies: Vec<_> = sandbox.server.requests().iter().map(|r| r.body.to_string()).collect();
        assert!(bodies.iter().all(|body| !body.contains(&root)), "a temporary path is sent");
        bodies
    });
    let [first, second] = runs;
    assert_eq!(first.len(), second.len());
    for (one, other) in first.iter().zip(&second) {
        // Commit ids differ with the clock; nothing else may.
        assert_eq!(one.len(), other.len(), "{one}\n{other}");
    }
}

#[test]
fn a_huge_file_is_sent_in_pieces() {
    let sandbox = Sandbox::new();
    sandbox.write("huge.txt", &"all work and no play\n".repeat(200_000));
    sandbox.commit_all("huge");
    let read = serde_json::json!({"path": "huge.txt"});
    sandbox.server.sequence(
        crate::support::at("idea", "actor"),
        vec![
            crate::support::Reply::call("read_file", read),
            crate::support::Reply::call(
                "save_idea",
                serde_json::json!({"content": crate::support::todo::IDEA}),
            ),
        ],
    );
    sandbox
        .server
        .on(crate::support::at("idea", "actor").turn(3), crate::support::Reply::text("Saved."));
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let second = &sandbox.server.requests()[1];
    assert!(second.bytes < 100_000, "{} bytes", second.bytes);
}
