//! The command tools: the model's shell commands, and the project's own tests and lint.

use super::plain::{Number, Waiting, arguments, some};
use super::{Answer, Checked, Context, ProjectCommands, Tool};
use crate::instructions::why_protected;
use crate::languages;
use crate::path_text::shown;
use crate::workspace::{CommandResult, Dependencies};

arguments! {
    RunCommand {
        command: String,
        /// more for a long build
        timeout_s: Option<Number>,
    }

    CheckTests {
        /// only this file or directory
        path: Option<String>,
        /// another one
        command: Option<String>,
    }

    CheckLint {
        /// only this file or directory
        path: Option<String>,
        /// another one
        command: Option<String>,
        fix: Option<bool>,
    }
}

/// Maximum number of a person's files that an answer names.
const USER_FILES: usize = 5;

/// The tools of this file.
pub(super) static TOOLS: [&dyn Tool; 3] = [
    &Waiting {
        name: "run_command",
        description: "Run a shell command at the top of the project. No servers, background jobs, \
                      or git commands that write; no input.",
        run: |context, args| Box::pin(run(context, args)),
    },
    &Waiting {
        name: "check_tests",
        description: "Run the project's tests.",
        run: |context, args: CheckTests| {
            let args = CheckLint { path: args.path, command: args.command, fix: None };
            Box::pin(check(context, args, "test", |own| &own.test))
        },
    },
    &Waiting {
        name: "check_lint",
        description: "Run the project's lint.",
        run: |context, args| Box::pin(check(context, args, "lint", |own| &own.lint)),
    },
];

async fn run(context: &Context<'_>, args: RunCommand) -> anyhow::Result<Answer> {
    let limit = args.timeout_s.map(|seconds| seconds.0);
    let result = context.workspace.run(&args.command, limit).await?;
    Ok(answer(context, &result, ""))
}

/// Runs the project's own command, or another command. The result of another command does not count
/// as evidence.
async fn check(
    context: &mut Context<'_>,
    args: CheckLint,
    what: &str,
    own: fn(&ProjectCommands) -> &str,
) -> anyhow::Result<Answer> {
    let commands = context.commands;
    let own = own(commands);
    // A whole test suite may take as long as a build.
    let limit = Some(context.limits.command_timeout_max_s);
    let other = some(args.command.as_ref()).filter(|command| *command != own);
    if own.is_empty() && other.is_none() {
        anyhow::bail!("no {what} command is known for this project; give one in `command`");
    }
    let mut notes = Vec::new();
    let mut command = other.unwrap_or(own).to_owned();
    if let Some(path) = some(args.path.as_ref()) {
        let path = context.workspace.existing(path)?;
        match narrowed(&command, &path) {
            Some(narrow) => command = narrow,
            None => notes.push(
                "the path was ignored: git-cowork does not know how to limit this command to it",
            ),
        }
    }
    if args.fix == Some(true) {
        match fixing(&command) {
            Some(fix) => command = fix,
            None => notes.push(
                "nothing was fixed: git-cowork does not know this command's option for fixing",
            ),
        }
    }
    let own_note = format!("the project's own {what} command is `{own}`");
    let result = if other.is_some() {
        if !own.is_empty() {
            notes.push(&own_note);
        }
        context.workspace.run(&command, limit).await?
    } else {
        let (dependencies, missing) = context.workspace.dependencies_of(&command).await?;
        if dependencies == Dependencies::Missing {
            let text = format!("not run (dependencies missing): `{command}`\n");
            return Ok(Answer::ok(text + &missing.join("\n")));
        }
        if args.fix == Some(true) {
            // It is to change the code.
            context.workspace.run_trusted(&command, limit).await?
        } else {
            let code = (context.code)();
            let result = context.workspace.run_check(&command, limit).await?;
            let shown = result.shortened();
            if let Some(code) = code.filter(|_| command == own) {
                context.outcome.checked.push(Checked { command: command.clone(), code, result });
            }
            shown
        }
    };
    let verdict = if result.succeeded() { "passed" } else { "failed" };
    let mut answer = answer(context, &result, &format!("{verdict}: `{command}`, "));
    for note in notes {
        answer.text.push_str(&format!("\n({note})"));
    }
    Ok(answer)
}

/// True for a single command without shell operators.
fn is_simple(command: &str) -> bool {
    !command.contains(['|', '&', ';', '>', '<', '\n', '#'])
}

/// The command for a part of the project; `None` if the command does not take a path (`cargo test`
/// would take the path as a filter of test names).
fn narrowed(command: &str, path: &str) -> Option<String> {
    let mut known = languages::ALL.iter().flat_map(|language| language.programs.take_paths);
    let takes = known.any(|start| command.starts_with(start)) && is_simple(command);
    takes.then(|| format!("{command} -- '{}'", path.replace('\'', r"'\''")))
}

/// The command with the option that makes the linter fix its findings; `None` if it is not known
/// for this command.
fn fixing(command: &str) -> Option<String> {
    let mut known = languages::ALL.iter().flat_map(|language| language.programs.fix);
    let (start, flags) = known.find(|(start, _)| command.starts_with(start))?;
    is_simple(command).then(|| format!("{start} {flags}{}", &command[start.len()..]))
}

fn answer(context: &Context<'_>, result: &CommandResult, verdict: &str) -> Answer {
    let most = context.limits.command_timeout_max_s;
    told(
        result,
        verdict,
        &format!(
            "If it builds or tests, give timeout_s, up to {most}. If it serves or watches, run \
             something that ends instead: a test, or `timeout 5 COMMAND` to see it start"
        ),
    )
}

/// The answer of a user's own tool.
pub(super) fn answer_of_tool(result: &CommandResult) -> Answer {
    told(result, "", "Call it with less to do, or do without it: the limit is not yours to change")
}

/// Reports what a command did; `when_late` is added if it did not end in time.
fn told(result: &CommandResult, verdict: &str, when_late: &str) -> Answer {
    let mut text = format!("{verdict}{} after {:.1} s", result.ending(), result.seconds);
    if result.timed_out {
        text.push_str(&format!(
            "; it did not end by itself in that time and was killed, with all it started. {when_late}"
        ));
    }
    for (name, output) in [("stdout", &result.stdout), ("stderr", &result.stderr)] {
        if !output.is_empty() {
            text.push_str(&format!("\n{name}:\n{}", output.trim_end()));
        }
    }
    for (file, _) in result.bulk.iter().filter(|(_, files)| *files == 0) {
        text.push_str(&format!(
            "\n{file} is larger than 10 MiB, too large to be recorded: ignore it in .gitignore, or make \
             it smaller"
        ));
    }
    for (folder, files) in result.bulk.iter().filter(|(_, files)| *files > 0) {
        text.push_str(&format!(
            "\n{folder}/ has {files} new files, too many to be recorded: ignore it in .gitignore, or \
             make fewer"
        ));
    }
    for (file, why) in &result.odd_names {
        text.push_str(&format!("\n{} is not recorded: {why}", shown(file).escape_default()));
    }
    for path in &result.put_back {
        text.push_str(&format!(
            "\n{path} changed and was restored, because {}: a person gets the command's version \
             and decides about it",
            why_protected(path)
        ));
    }
    if !result.user_files.is_empty() {
        let (first, more) = result.user_files.split_at(USER_FILES.min(result.user_files.len()));
        let more =
            if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        text.push_str(&format!(
            "\nThe command changed uncommitted work of your user, which was put back afterwards and is \
             in no commit: {}{more}",
            shown(&first.join(", "))
        ));
    }
    for made in &result.repositories {
        text.push_str(&format!("\n{}", made.told()));
    }
    // Missing dependencies do not matter if the command succeeded.
    for why in result.missing.iter().filter(|_| !result.succeeded()) {
        text.push_str(&format!("\n{why}"));
    }
    Answer { ok: !result.timed_out, command_failed: !result.succeeded(), text }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use serde_json::{Value, json};

    use super::super::Outcome;
    use super::super::testing::Bench;
    use super::*;
    use crate::stage::Stage;

    fn commands(test: &str, calls: &[(&str, Value)]) -> (Vec<Answer>, Outcome) {
        let mut bench = Bench::new(Stage::Coding);
        bench.commands.test = test.to_owned();
        let mut run = bench.context();
        let answers = calls.iter().map(|(name, args)| run.call(name, &args.to_string())).collect();
        (answers, run.0.outcome)
    }

    #[test]
    fn a_command_answers_with_exit_code_and_output() {
        let run = |command| ("run_command", json!({"command": command}));
        let (answers, outcome) =
            commands("", &[run("echo out; echo err >&2; exit 2"), run("git commit"), run("true")]);
        assert!(answers[0].ok && answers[0].command_failed);
        assert!(answers[0].text.starts_with("exit 2 after "));
        assert!(answers[0].text.ends_with(" s\nstdout:\nout\nstderr:\nerr"), "{}", answers[0].text);
        assert!(!answers[1].ok && outcome.guard_refusals == 1);
        assert!(!answers[2].command_failed && answers[2].text.starts_with("exit 0 after "));
    }

    #[test]
    fn a_command_that_does_not_end_is_killed_and_the_answer_says_what_to_do() {
        let serve = json!({"command": "exec sleep 100", "timeout_s": "1"});
        let (answers, outcome) = commands("", &[("run_command", serve)]);
        let said = &answers[0].text;
        assert!(!answers[0].ok && said.starts_with("stopped at the time limit of 1 s"), "{said}");
        assert!(said.contains("did not end by itself"), "{said}");
        assert!(said.contains("timeout_s, up to 600") && said.contains("something that ends"));
        assert_eq!(outcome.guard_refusals, 0);
    }

    #[test]
    fn checks_run_the_projects_own_command_only() {
        let check = |arguments| [("check_tests", arguments)];
        let (own, _) = commands("echo tested & wait", &check(json!({})));
        assert!(own[0].text.starts_with("passed: `echo tested & wait`, exit 0"), "{}", own[0].text);
        let (other, outcome) = commands("false", &check(json!({"command": "true"})));
        assert!(other[0].ok && other[0].text.starts_with("passed: `true`"), "{}", other[0].text);
        assert!(other[0].text.ends_with("\n(the project's own test command is `false`)"));
        assert!(outcome.checked.is_empty(), "a command of the model's is no evidence");
        let (judged, outcome) = commands("false", &check(json!({"command": "git commit"})));
        assert!(!judged[0].ok && outcome.guard_refusals == 1);
        let (failed, outcome) = commands("false", &check(json!({})));
        let ran: Vec<_> = outcome.checked.iter().map(|ran| (&*ran.command, &*ran.code)).collect();
        assert_eq!(ran, [("false", "code")]);
        assert!(failed[0].ok && failed[0].command_failed);
        assert!(failed[0].text.starts_with("failed: `false`, exit 1"));
        let (given, outcome) = commands("", &check(json!({"command": "true"})));
        assert!(outcome.checked.is_empty(), "a command of the model's is no evidence");
        assert!(given[0].text.starts_with("passed: `true`"));
        let (none, _) = commands("", &check(json!({})));
        assert!(!none[0].ok && none[0].text.contains("give one"));
        let (outside, outcome) = commands("pytest", &check(json!({"path": "../x"})));
        assert!(!outside[0].ok && outcome.guard_refusals == 1);
    }

    #[test]
    fn a_path_is_an_argument_only_where_it_means_one() {
        let narrow = narrowed("python3 -m pytest -q", "a b");
        assert_eq!(narrow.as_deref(), Some("python3 -m pytest -q -- 'a b'"));
        assert_eq!(narrowed("cargo test", "src"), None);
        assert_eq!(narrowed("ruff check && true", "src"), None);
        let (all, _) = commands("true", &[("check_tests", json!({"path": "."}))]);
        assert!(all[0].text.contains("(the path was ignored: "), "{}", all[0].text);
    }

    #[test]
    fn a_linter_fixes_where_it_can() {
        let clippy = "cargo clippy --fix --allow-dirty --allow-staged --all-targets -- -D warnings";
        assert_eq!(fixing("cargo clippy --all-targets -- -D warnings").as_deref(), Some(clippy));
        assert_eq!(
            fixing("npx eslint . --max-warnings 0").as_deref(),
            Some("npx eslint --fix . --max-warnings 0")
        );
        assert_eq!(fixing("sh lint.sh"), None);
        assert_eq!(fixing("ruff check && mypy ."), None);
        let mut bench = Bench::new(Stage::Coding);
        bench.commands.lint = "true".to_owned();
        let answer = bench.context().call("check_lint", r#"{"fix":true}"#);
        assert!(answer.text.contains("(nothing was fixed: "), "{}", answer.text);
    }
}
