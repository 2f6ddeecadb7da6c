//! What the benchmarks share: commands, medians, a repository of a given size, a recording.
//! Ours and git's samples alternate, so that a busy machine slows both; medians are compared.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{self, Reply, Sandbox, todo};

/// The git of the user's `PATH` with arguments, in the sandbox.
pub fn git(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command("git");
    command.args(args);
    command
}

/// The program that was built with the benchmark, or the one that `COWORK_BENCH_PROGRAM` names, so
/// that an older one can be measured in the same way.
pub fn cowork(sandbox: &Sandbox, args: &[&str]) -> Command {
    let built = || env!("CARGO_BIN_EXE_git-cowork").into();
    let program = std::env::var_os("COWORK_BENCH_PROGRAM").unwrap_or_else(built);
    let mut command = sandbox.command(program);
    command.args(args);
    command
}

/// The last build with arguments, if `COWORK_BENCH_LAST` names one.
pub fn last_build(sandbox: &Sandbox, args: &[&str]) -> Option<Command> {
    let mut command = sandbox.command(std::env::var_os("COWORK_BENCH_LAST")?);
    command.args(args);
    Some(command)
}

/// How long these commands take, one after the other.
#[track_caller]
pub fn time(commands: Vec<Command>) -> Duration {
    let mut taken = Duration::ZERO;
    for mut command in commands {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let begin = Instant::now();
        let output = command.output().unwrap();
        taken += begin.elapsed();
        assert!(output.status.success(), "{command:?}: {output:?}");
    }
    taken
}

fn median(mut samples: Vec<Duration>) -> f64 {
    samples.sort();
    samples[samples.len() / 2].as_secs_f64() * 1000.0
}

/// Medians, in milliseconds, of commands that are run in turn.
pub fn compared<const N: usize>(
    samples: usize,
    commands: [&dyn Fn() -> Vec<Command>; N],
) -> [f64; N] {
    let mut taken = [const { Vec::new() }; N];
    for _ in 0..samples {
        for (taken, command) in taken.iter_mut().zip(commands) {
            taken.push(time(command()));
        }
    }
    taken.map(median)
}

/// The least, in milliseconds, of commands that are run in turn, and are quick: what else the machine
/// does only adds to it.
pub fn least<const N: usize>(samples: usize, commands: [&dyn Fn() -> Vec<Command>; N]) -> [f64; N] {
    let mut taken = [Duration::MAX; N];
    for _ in 0..samples {
        for (least, command) in taken.iter_mut().zip(commands) {
            *least = time(command()).min(*least);
        }
    }
    taken.map(|least| least.as_secs_f64() * 1000.0)
}

/// A ratio beside the one that is wanted.
pub fn ratio(what: &str, ours: f64, reference: &str, theirs: f64, target: f64) {
    let ratio = ours / theirs;
    let held = if ratio <= target { "" } else { "  MISSED" };
    println!(
        "{what:<42}{ours:>9.1} ms  {reference:<28}{theirs:>9.1} ms  ratio {ratio:>6.2}, target {target}{held}"
    );
}

/// The most memory a command had at a time, its own and no child's, in bytes.
#[cfg(target_os = "linux")]
pub fn memory(mut command: Command) -> u64 {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let pid = i32::try_from(command.spawn().unwrap().id()).unwrap();
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both are ours to write, and zeroes are a value of `rusage`.
    let (waited, usage) =
        unsafe { (libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()), usage.assume_init()) };
    assert_eq!((waited, status), (pid, 0), "{command:?}");
    u64::try_from(usage.ru_maxrss).unwrap() * 1024
}

/// Memory beside what is wanted, in MB.
#[cfg(target_os = "linux")]
pub fn memory_line(what: &str, command: Command, target: f64) {
    #[expect(clippy::cast_precision_loss, reason = "it is a few megabytes")]
    let megabytes = memory(command) as f64 / 1e6;
    let held = if megabytes <= target { "" } else { "  MISSED" };
    println!("{what:<42}{megabytes:>9.1} MB  target {target}{held}");
}

pub fn line(what: &str, ours: f64, reference: &str, theirs: f64) {
    let ratio = ours / theirs;
    println!("{what:<38}{ours:>9.1} ms  {reference:<28}{theirs:>9.1} ms  ratio {ratio:>5.1}");
}

/// A repository of so many files, a hundred in each directory.
pub fn repository(files: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut stream = "commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\n\
                      data 5\nfiles\nfrom refs/heads/main^0\n"
        .to_owned();
    for n in 0..files {
        let text = format!("file {n}\n");
        let (folder, length) = (n / 100, text.len());
        write!(stream, "M 100644 inline d{folder}/f{n}.txt\ndata {length}\n{text}\n").unwrap();
    }
    let mut import = git(&sandbox, &["fast-import", "--quiet"]);
    let mut child = import.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.git(&["status"]);
    sandbox
}

/// The new files of each task of [`recording`], so many, each in a directory of its own as far as
/// there are directories.
pub fn files_of(task: usize, count: usize, directories: usize) -> Vec<String> {
    let more = (1..count).map(|n| {
        let directory = (task * count + n) * 7 % directories;
        format!("d{directory}/new-{task}-{n}.txt")
    });
    std::iter::once(todo::TASKS[task].2.to_owned()).chain(more).collect()
}

/// A recording of the todo project, whose tasks add the files that
/// `files_of` names.
pub fn recording(sandbox: &Sandbox, files_of: impl Fn(usize) -> Vec<String>) -> String {
    let mut lines = vec![json!({"cowork_replay": 1, "model": "bench"})];
    let mut drafted = |stage: &str, draft: &Reply, critic: bool| {
        lines.push(said(stage, "actor", None, 1, draft));
        if critic {
            lines.push(said(stage, "critic", None, 1, &todo::approve()));
        }
    };
    drafted("idea", &Reply::call("save_idea", json!({"content": todo::IDEA})), false);
    drafted("prd", &todo::prd_draft(), true);
    drafted("design", &todo::design_draft(), true);
    drafted("plan", &todo::plan_draft(), true);
    lines.push(said("plan", "self-review", None, 1, &Reply::text("<review>PASS</review>")));
    for (index, (id, ..)) in todo::TASKS.iter().enumerate() {
        let work = files_of(index).iter().fold(Reply::text("I begin."), |work, path| {
            work.and("write_file", json!({"path": path, "content": format!("{path}\n")}))
        });
        let done = json!({"task_id": id, "new_status": "completed"});
        let work = work.and("update_task_status", done);
        lines.push(said("coding", "actor", Some(id), 1, &work));
    }
    lines.push(said("coding", "critic", None, 1, &todo::approve()));
    for (stage, tool, text) in [
        ("check", "save_check_report", todo::CHECK),
        ("delivery", "save_delivery_report", todo::DELIVERY),
    ] {
        let draft = Reply::call(tool, json!({"content": text}));
        lines.push(said(stage, "actor", None, 1, &draft));
    }
    let path = sandbox.root().join("replay.jsonl");
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path.display().to_string()
}

/// A line of a recording: the reply at a turn of the first draft.
fn said(stage: &str, role: &str, task: Option<&str>, turn: u32, reply: &Reply) -> Value {
    let call = |call: &support::reply::Call| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        json!({"name": call.name, "arguments": arguments})
    };
    let calls: Vec<Value> = reply.calls.iter().map(call).collect();
    let mut line = json!({"stage": stage, "role": role, "iteration": 1, "turn": turn, "reply": {
        "content": reply.text, "tool_calls": calls, "finish_reason": "stop",
        "usage": {"input": 1, "output": 1, "cached": 0},
    }});
    if let Some(task) = task {
        line["task"] = json!(task);
    }
    line
}
