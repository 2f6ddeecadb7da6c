//! Which commands a model may run.
//!
//! This is good manners, not a wall: it catches what models do by habit (a server that never ends,
//! `git commit`) and says what to do instead. What a command can reach is a matter of its
//! environment and of the kernel.

mod endless;

use super::Refusal;
use super::shell;
use endless::does_not_end;

/// Puts things out of our reach, or tries to.
const DETACHING: [&str; 25] = [
    "nohup",
    "setsid",
    "disown",
    "daemonize",
    "systemctl",
    "systemd-run",
    "service",
    "launchctl",
    "start-stop-daemon",
    "screen",
    "tmux",
    "at",
    "batch",
    "crontab",
    "coproc",
    "bg",
    "daemon",
    "dtach",
    "abduco",
    "zellij",
    "byobu",
    "pm2",
    "forever",
    "supervisord",
    "caffeinate",
];

/// Sub-commands of git that only look.
const GIT_LOOKS: [&str; 31] = [
    "annotate",
    "blame",
    "cat-file",
    "check-attr",
    "check-ignore",
    "cherry",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "help",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "range-diff",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "status",
    "var",
    "version",
    "whatchanged",
];

/// Programs whose first argument, perhaps after `run` or `exec`, is another program.
const RUNNERS: [&str; 12] = [
    "npx", "pnpx", "bunx", "poetry", "pipenv", "uv", "uvx", "pdm", "hatch", "rye", "bundle",
    "xargs",
];

/// Shells inside shells that are looked into.
const DEPTH_MAX: u32 = 6;

/// Refuses a command line that would not end, leaves something running, or changes git's data.
pub(super) fn judge(command: &str) -> Result<(), Refusal> {
    if command.trim().is_empty() {
        return Err(Refusal::failed("the command is empty"));
    }
    if command.contains('\0') {
        return Err(Refusal::guard("Security: Control characters in commands are not allowed"));
    }
    judge_script(command, 0)
}

fn judge_script(command: &str, depth: u32) -> Result<(), Refusal> {
    let script = shell::split(command);
    if script.background {
        return Err(Refusal::guard(
            "Security: Background jobs (&) are not allowed: everything a command starts is stopped \
             when it ends; run it in the foreground, within the time limit",
        ));
    }
    script.commands.iter().enumerate().try_for_each(|(at, words)| {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        // What reads it ends it.
        if words[0] == "yes" && !script.piped.contains(&at) {
            return Err(endless(&words));
        }
        judge_words(&words, depth)
    })
}

fn endless(words: &[&str]) -> Refusal {
    Refusal::guard(format!(
        "Security: Long-running services are not allowed: `{}` does not end by itself; test what \
         you built with a command that ends",
        words.join(" ")
    ))
}

fn judge_words(words: &[&str], depth: u32) -> Result<(), Refusal> {
    let words = unwrapped(words);
    let Some((first, args)) = words.split_first() else {
        return Ok(());
    };
    let name = first.rsplit('/').next().unwrap_or(first);
    if DETACHING.contains(&name) {
        return Err(Refusal::guard(format!(
            "Security: `{name}` is not allowed: everything a command starts is stopped when it ends"
        )));
    }
    if name == "git" {
        return judge_git(args);
    }
    if depth < DEPTH_MAX {
        if name == "eval" {
            return judge_script(&args.join(" "), depth + 1);
        }
        if ["sh", "bash", "dash", "zsh", "ksh", "ash"].contains(&name)
            && let Some(script) = script_of_shell(args)
        {
            return judge_script(script, depth + 1);
        }
        if RUNNERS.contains(&name) {
            let between = ["run", "exec", "dlx", "--"];
            let rest = args.iter().position(|arg| !arg.starts_with('-') && !between.contains(arg));
            return judge_words(&args[rest.unwrap_or(args.len())..], depth + 1);
        }
    }
    if does_not_end(name, args) {
        return Err(endless(words));
    }
    Ok(())
}

/// The command behind assignments, reserved words and programs that run another one.
fn unwrapped<'a>(mut words: &'a [&'a str]) -> &'a [&'a str] {
    const RESERVED: [&str; 9] = ["if", "then", "else", "elif", "while", "until", "do", "{", "!"];
    const WRAPPERS: [&str; 13] = [
        "env", "sudo", "doas", "time", "exec", "command", "nice", "ionice", "timeout", "stdbuf",
        "unbuffer", "chronic", "builtin",
    ];
    while let Some((first, rest)) = words.split_first() {
        let name = first.rsplit('/').next().unwrap_or(first);
        if RESERVED.contains(first) || is_assignment(first) {
            words = rest;
        } else if WRAPPERS.contains(&name) {
            let value = |word: &str| {
                word.starts_with('-')
                    || is_assignment(word)
                    || word.starts_with(|c: char| c.is_ascii_digit())
            };
            let inner = rest.iter().position(|word| !value(word));
            words = &rest[inner.unwrap_or(rest.len())..];
        } else {
            break;
        }
    }
    words
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The argument of `-c`, also when it is written `-lc`.
fn script_of_shell<'a>(args: &[&'a str]) -> Option<&'a str> {
    let flag = |arg: &&str| arg.starts_with('-') && !arg.starts_with("--") && arg.contains('c');
    args.iter().position(flag).and_then(|at| args.get(at + 1)).copied()
}

fn judge_git(args: &[&str]) -> Result<(), Refusal> {
    const WITH_VALUE: [&str; 6] =
        ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"];
    let mut args = args;
    while let Some((first, rest)) = args.split_first().filter(|(first, _)| first.starts_with('-')) {
        if ["--version", "--help", "-h", "-v"].contains(first) {
            return Ok(());
        }
        args = if WITH_VALUE.contains(first) { rest.get(1..).unwrap_or(&[]) } else { rest };
    }
    let Some((sub, rest)) = args.split_first() else {
        return Ok(());
    };
    let first = rest.first().copied().unwrap_or_default();
    let options_only = rest.iter().all(|arg| arg.starts_with('-'));
    let has = |options: &[&str]| rest.iter().any(|arg| options.contains(arg));
    let looks = match *sub {
        "branch" => {
            has(&["--list", "-l", "--show-current", "--contains", "--merged", "--no-merged"])
                || options_only && !has(&["--edit-description", "--unset-upstream"])
        }
        "tag" => has(&["--list", "-l", "--contains", "--points-at", "--merged"]) || options_only,
        "config" => first.starts_with("--get") || ["--list", "-l", "get", "list"].contains(&first),
        "stash" | "worktree" | "notes" => ["list", "show"].contains(&first),
        "remote" => rest.is_empty() || ["-v", "show", "get-url"].contains(&first),
        "reflog" => !["expire", "delete", "drop", "write"].contains(&first),
        _ => GIT_LOOKS.contains(sub),
    };
    if looks {
        return Ok(());
    }
    Err(Refusal::guard(format!(
        "Security: `git {sub}` is not allowed: git is the program's business here; files you change \
         are recorded for you"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_commands_pass() {
        for command in [
            "cargo test && cargo run -- --help",
            "npm test",
            "npm run build 2>&1 | tail -5",
            "npm install vite",
            "python3 -m pytest -q",
            "python3 -c 'print(1 & 2)'",
            "grep -rn 'nohup &' .",
            "echo \"git commit\"",
            "cat service.py && ls setsid",
            "vite build",
            "vite --help",
            "tail -n 5 log",
            "git status && git -C sub log -1 && git diff HEAD",
            "git branch -a; git tag; git config --get user.name; git stash list; git remote -v",
            "for f in *.sh; do sh -n $f; done",
            "make service",
            "cat > x.sh <<EOF\nnpm start &\nEOF",
            "timeout 5 ./server --once",
            "yes | ./install && yes n | head -3",
            "ping -c 1 localhost",
            "docker run --rm image test; docker ps",
            "node watch.js --watcher=no; node --test",
            "npm --prefix web run build; npm -w start test; yarn workspace web test",
            "python3 -c 'import at' && echo at noon, disown it",
            "php artisan migrate; php vendor/bin/phpunit",
            "bundle exec rspec; uv run pytest -k serve; poetry run black .",
            "gradle test; ./gradlew build; mvn -q test",
            "grep -r screen src; cat daemon.c; make watch.o",
            "next build; ng build; hugo; mix test; celery --version",
            "deno test; deno task build; turbo run build; nx build app",
            "sleep 1; kubectl get pods; nc -z localhost 80",
        ] {
            assert_eq!(judge(command), Ok(()), "{command}");
        }
    }

    #[test]
    fn what_does_not_end_or_runs_behind_is_refused() {
        for command in [
            "npm run dev",
            "npm start",
            "npm --silent run start:prod",
            "yarn dev",
            "cd app && PORT=1 npx vite",
            "python -m http.server 8000",
            "python3 manage.py runserver",
            "python3 -m uvicorn app:app",
            "timeout 5 flask run",
            "uv run flask run",
            "webpack serve",
            "cargo watch -x test",
            "tail -f log",
            "tail -100f log",
            "sleep 100 &",
            "nohup ./server",
            "/usr/bin/setsid x",
            "sh -c 'sleep 1 & wait'",
            "bash -lc 'npm start'",
            "eval 'nohup x'",
            "sudo systemctl restart x",
            "if true; then service x start; fi",
            "docker compose up",
            "sh -c \"$(cat x; npm run dev)\"",
            "coproc ./server",
            "./server & disown",
            "screen -dmS x ./server",
            "tmux new -d ./server",
            "echo ./server | at now",
            "crontab x",
            "systemd-run --user ./server",
            "setsid -f ./server",
            "daemonize ./server",
            "pm2 start server.js",
            "python -m SimpleHTTPServer",
            "php artisan serve",
            "php -S localhost:80",
            "rails s",
            "bundle exec rails server",
            "hugo server -D",
            "ng serve",
            "next dev",
            "npx next start",
            "watch ls",
            "ping localhost",
            "yes >file",
            "yes",
            "sleep infinity",
            "npm --prefix web run dev",
            "npm run dev -w web",
            "yarn workspace web dev",
            "pnpm --filter web dev",
            "deno task dev",
            "nx serve app",
            "node --watch x.js",
            "docker run -d redis",
            "docker logs -f x",
            "./gradlew bootRun",
            "mvn spring-boot:run",
            "kubectl port-forward x 1:2",
            "nc -lk 80",
            "streamlit run app.py",
            "mix phx.server",
            "dotnet watch run",
        ] {
            let refusal = judge(command).expect_err(command);
            assert_eq!(refusal.kind, super::super::RefusalKind::Guard, "{command}");
        }
    }

    #[test]
    fn git_may_look_but_not_write() {
        for command in [
            "git commit -am x",
            "git add .",
            "git -c user.name=x -C . push",
            "cd a; git reset --hard",
            "git checkout -- f",
            "git branch new",
            "git branch -D x",
            "git tag v1",
            "git config user.name x",
            "git stash",
            "git worktree add x",
            "git update-ref a b",
            "git gc",
            "git remote add a b",
            "echo $(git rebase x)",
            "env A=1 git clean -fd",
            "git init",
        ] {
            let message = judge(command).expect_err(command).message;
            assert!(message.contains("git is the program's business"), "{command}: {message}");
        }
    }
}
