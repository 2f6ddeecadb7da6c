//! What a session sends and is sent when its model is right at once, next to the same answers in a
//! bare coding loop. Five kinds of work are played through the real program; the answers are the
//! files in `benches/economy/`. Bytes are those of request bodies and answers. A billed equivalent
//! counts a byte that a provider has not seen 1, one that it has 0.1, one that it writes 4: what a
//! request has in common with the beginning of an earlier one, tools before messages.
//!
//! `cargo bench --bench economy -- [exercise|exercise-auto|change|tool|feature]… [requests]`;
//! `requests` lists them. `COWORK_BENCH_PROGRAM` names another program to be measured in the same
//! way, `COWORK_BENCH_LAST` the last build, which plays the same session first.
//!
//! A request has at most 5 kB of tools: those of its role or, at quick, where the tools of all roles
//! fit into that, the same for all, because what requests have in common begins with the tools. One
//! list of all tools for all roles is counted beside it. At standard it is billed 7 to 17 % less and
//! takes 1.3 to 1.5 times the bytes, more than a session of the second kind may take; at quick it is
//! billed more.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]

#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use more of it")]
mod support;

#[path = "economy/bare.rs"]
mod bare;
#[path = "economy/count.rs"]
mod count;
#[path = "economy/edits.rs"]
mod edits;
#[path = "economy/kind.rs"]
mod kind;
#[path = "economy/player.rs"]
mod player;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use count::{Count, Sent, one_list};
use git_cowork::git::Git;
use git_cowork::pipeline::describe;
use git_cowork::stages::{self, Cost};
use kind::{KINDS, Kind};
use player::Player;
use support::{Reply, Sandbox, anywhere, at};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named = |name: &str| arguments.iter().any(|argument| argument == name);
    let all = !KINDS.iter().any(|kind| named(kind.name));
    for kind in KINDS.iter().filter(|kind| all || named(kind.name)) {
        measure(kind, named("requests"));
    }
}

fn measure(kind: &'static Kind, each: bool) {
    let program = |variable| std::env::var_os(variable).map(PathBuf::from);
    let last =
        program("COWORK_BENCH_LAST").map(|last| Count::of(&played(kind, Some(&last)).session));
    let Played { session, system, repository } =
        played(kind, program("COWORK_BENCH_PROGRAM").as_deref());
    let bare = kind.changes.is_none().then(|| bare::played(kind, &system, &repository));
    println!("== {}: {} ({})", kind.name, kind.what, kind.depth);
    if each {
        list(&session);
    }
    by_role(&session);
    let count = Count::of(&session);
    let one = Count::of(&one_list(&session));
    let bare = bare.map(|bare| Count::of(&bare));
    Count::head();
    if let Some(last) = &last {
        last.print("last build");
    }
    count.print("session");
    one.print("  with one list of tools");
    if let Some(bare) = &bare {
        bare.print("bare loop");
    }
    targets(kind, &session, &count, last.as_ref(), bare.as_ref());
}

/// The requests of a session, with the first one's rules and the description of the
/// repository for the bare loop.
struct Played {
    session: Vec<Sent>,
    system: String,
    repository: String,
}

/// Plays a kind of work with a build of the program.
fn played(kind: &'static Kind, program: Option<&Path>) -> Played {
    let mut sandbox = Sandbox::nowhere();
    if let Some(program) = program {
        sandbox.other = Some(program.to_owned());
    }
    kind.lay_out(&sandbox);
    // Nothing is built or run here: what a build says is not what is measured.
    let commands = "[project]\nbuild = \"true\"\ntest = \"true\"\nlint = \"true\"\n";
    sandbox.user_config(&format!("{commands}{}", kind.config));
    let git = Git::discover(&sandbox.repo()).unwrap();
    let head = git.resolve("HEAD").unwrap().unwrap();
    let found = describe(
        &git,
        &head,
        &kind.text("idea.txt"),
        &git_cowork::private::PrivateFiles::default(),
    )
    .unwrap();

    // A change is measured from its own first request on.
    let changed = kind.changes.map(|name| KINDS.iter().find(|other| other.name == name).unwrap());
    if let Some(changed) = changed {
        play(&sandbox, changed);
        sandbox.server.forget();
    }
    let answers = play(&sandbox, kind);
    let requests = sandbox.server.requests();
    let message = |at: usize| requests[0].messages()[at]["content"].as_str().unwrap().to_owned();
    // The rules of an actor stand before what it is told.
    let told = message(1);
    let rules = told.split("\n## ").next().unwrap();
    Played {
        system: message(0) + rules,
        repository: found.head + &found.text,
        session: requests
            .iter()
            .zip(&answers)
            .map(|(request, reply)| Sent::new(request, reply))
            .collect(),
    }
}

/// Plays a session or change with the answers of its kind, and returns these.
fn play(sandbox: &Sandbox, kind: &'static Kind) -> Vec<Reply> {
    let answers = Arc::new(Mutex::new(Vec::new()));
    let player = Arc::new(Player { kind, repo: sandbox.repo() });
    // The first request, which names the work, is not counted among the others.
    let names = Arc::clone(&player);
    sandbox.server.on_with(at("start", "actor"), move |request| Some(names.answer(request)));
    let kept = Arc::clone(&answers);
    sandbox.server.on_with(anywhere(), move |request| {
        let reply = player.answer(request);
        kept.lock().unwrap().push(reply.clone());
        Some(reply)
    });
    let idea = kind.path("idea.txt");
    let command = if kind.changes.is_some() { "modify" } else { "new" };
    let words = [command, "-n", kind.name, "-F", idea.to_str().unwrap(), "--review", "auto"];
    sandbox.cowork(&[&words[..], &["--depth", kind.depth]].concat()).exits(0);
    std::mem::take(&mut *answers.lock().unwrap())
}

/// Each request in a line.
fn list(session: &[Sent]) {
    let mut before = "";
    for sent in session {
        let same = 100 * count::common(before, &sent.wire) / sent.wire.len();
        let (who, bytes, tools) = (&sent.who, sent.bytes, sent.tools_bytes);
        println!(
            "   {who:<34}{bytes:>8}  tools {tools:>6}  same {same:>3} %  {}",
            sent.calls.join(" ")
        );
        before = &sent.wire;
    }
}

/// Requests and bytes of each stage and role, in their order.
fn by_role(session: &[Sent]) {
    let mut order: Vec<&str> = Vec::new();
    let mut sums: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    for sent in session {
        if !order.contains(&sent.who.as_str()) {
            order.push(&sent.who);
        }
        let (requests, bytes, tools) = sums.entry(&sent.who).or_default();
        (*requests, *bytes, *tools) =
            (*requests + 1, *bytes + sent.bytes, *tools + sent.tools_bytes);
    }
    println!("{:<26}{:>9}{:>9}{:>9}", "stage, role", "requests", "bytes", "tools");
    for who in order {
        let (requests, bytes, tools) = sums[who];
        println!("{who:<26}{requests:>9}{bytes:>9}{tools:>9}");
    }
}

/// What is wanted, beside what is.
fn targets(
    kind: &Kind,
    session: &[Sent],
    count: &Count,
    last: Option<&Count>,
    bare: Option<&Count>,
) {
    let begun: Vec<&Sent> = session
        .iter()
        .filter(|sent| sent.who.starts_with("idea") || sent.who.starts_with("prd"))
        .collect();
    let begun_bytes: usize = begun.iter().map(|sent| sent.bytes).sum();
    for (what, is, most) in [
        ("requests", count.requests, kind.most.requests),
        ("request bytes", count.bytes, kind.most.bytes),
        (
            "request bytes, % of last build",
            last.map_or(0, |last| (100 * count.bytes).div_ceil(last.bytes)),
            kind.most.of_last.filter(|_| last.is_some()),
        ),
        ("neither read, write nor run", count.idle, kind.most.idle),
        (
            "  their % of request bytes",
            (100 * count.idle_bytes).div_ceil(count.bytes),
            kind.most.idle_bytes,
        ),
        (
            "billed, % of the bare loop",
            bare.map_or(0, |bare| (100 * count.billed).div_ceil(bare.billed)),
            kind.most.billed,
        ),
        ("idea and prd, requests", begun.len(), kind.most.begun),
        ("idea and prd, request bytes", begun_bytes, kind.most.begun_bytes),
    ] {
        if let Some(most) = most {
            let held = if is <= most { "" } else { "  MISSED" };
            println!("{what:<31}{is:>9}  at most {most:>8}{held}");
        }
    }
    if let Some(depth) = kind.tells {
        let Cost { requests, input, output } = stages::depth(depth).cost;
        for (what, is, told) in [
            ("told: requests", count.requests as u64, u64::from(requests)),
            ("told: tokens in", count.bytes as u64 / 4, input),
            ("told: tokens out", count.answers as u64 / 4, output),
        ] {
            let held = if is.abs_diff(told) <= told / 5 { "" } else { "  MISSED" };
            println!("{what:<31}{is:>9}  about   {told:>8}{held}");
        }
    }
    println!();
}
