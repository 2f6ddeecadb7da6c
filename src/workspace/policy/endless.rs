//! Programs that do not end by themselves: servers, watchers, followers, by what their arguments
//! make of them.

/// Servers, whatever their arguments.
const SERVERS: [&str; 37] = [
    "uvicorn",
    "gunicorn",
    "hypercorn",
    "daphne",
    "nodemon",
    "live-server",
    "http-server",
    "webpack-dev-server",
    "json-server",
    "browser-sync",
    "nginx",
    "httpd",
    "redis-server",
    "mongod",
    "postgres",
    "mysqld",
    "watch",
    "watchexec",
    "entr",
    "waitress-serve",
    "ts-node-dev",
    "inotifywatch",
    "fswatch",
    "chokidar",
    "air",
    "tensorboard",
    "sidekiq",
    "puma",
    "unicorn",
    "rackup",
    "shotgun",
    "memcached",
    "mosquitto",
    "dockerd",
    "containerd",
    "sshd",
    "cron",
];

/// Programs that serve or watch with this first argument.
const SERVING: [(&str, &[&str]); 39] = [
    ("flask", &["run"]),
    ("django-admin", &["runserver"]),
    ("manage.py", &["runserver"]),
    ("vite", &["", "dev", "serve", "preview"]),
    ("next", &["dev", "start"]),
    ("nuxt", &["dev", "start", "preview"]),
    ("astro", &["dev", "preview"]),
    ("ng", &["serve"]),
    ("webpack", &["serve", "watch"]),
    ("parcel", &["", "serve", "watch"]),
    ("serve", &["", "."]),
    ("rails", &["server", "s"]),
    ("jekyll", &["serve"]),
    ("hugo", &["server", "serve"]),
    ("mkdocs", &["serve"]),
    ("cargo", &["watch"]),
    ("trunk", &["serve", "watch"]),
    ("caddy", &["run", "start"]),
    ("artisan", &["serve", "queue:work", "queue:listen", "schedule:work"]),
    ("symfony", &["serve", "server:start"]),
    ("mix", &["phx.server"]),
    ("deno", &["serve"]),
    ("bun", &["serve"]),
    ("tsx", &["watch"]),
    ("remix", &["dev", "watch"]),
    ("gatsby", &["develop", "serve"]),
    ("vue-cli-service", &["serve"]),
    ("react-scripts", &["start"]),
    ("storybook", &["dev"]),
    ("expo", &["start"]),
    ("wrangler", &["dev"]),
    ("netlify", &["dev"]),
    ("vercel", &["dev"]),
    ("firebase", &["serve", "emulators:start"]),
    ("docusaurus", &["start", "serve"]),
    ("streamlit", &["run"]),
    ("jupyter", &["notebook", "lab", "server"]),
    ("dotnet", &["watch"]),
    ("skaffold", &["dev"]),
];

/// Scripts that by convention do not end, of npm and its like.
const LONG_SCRIPTS: [&str; 6] = ["start", "dev", "serve", "watch", "preview", "develop"];

/// Options of npm and its like that take a value.
const WITH_VALUE: [&str; 8] =
    ["--prefix", "-w", "--workspace", "-C", "--dir", "--filter", "-F", "--cwd"];

/// Whether a letter is among the short options.
fn has_flag(args: &[&str], flag: char) -> bool {
    args.iter().any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(flag))
}

/// Whether this program with these arguments goes on until somebody stops it.
pub(super) fn does_not_end(name: &str, args: &[&str]) -> bool {
    if args.iter().any(|arg| ["--help", "--version"].contains(arg)) {
        return false;
    }
    let watches = |arg: &&str| arg.starts_with("--watch");
    let plain: Vec<_> = args.iter().filter(|arg| !arg.starts_with('-')).copied().collect();
    let first = plain.first().copied().unwrap_or_default();
    match name {
        // Behind the script they are the script's.
        "node" | "bun" if args.iter().take_while(|arg| arg.starts_with('-')).any(watches) => true,
        "npm" | "pnpm" | "yarn" | "bun" | "deno" | "turbo" | "nx" => {
            let value = |at: usize| at > 0 && WITH_VALUE.contains(&args[at - 1]);
            let words =
                args.iter().enumerate().filter(|(at, arg)| !arg.starts_with('-') && !value(*at));
            let plain: Vec<_> = words.map(|(_, arg)| *arg).collect();
            let plain = plain
                .strip_prefix(&["workspace"])
                .map_or(&*plain, |rest| rest.get(1..).unwrap_or(&[]));
            let named = plain.first().is_some_and(|w| ["run", "run-script", "task"].contains(w));
            let script = plain.get(usize::from(named));
            script.is_some_and(|script| {
                let script = script.split(':').next().unwrap_or_default();
                LONG_SCRIPTS.contains(&script)
            })
        }
        "tail" | "journalctl" => args.iter().any(|arg| {
            arg.starts_with("--follow")
                || arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['f', 'F'])
        }),
        "php" => args.contains(&"-S") || first == "artisan" && does_not_end("artisan", &plain[1..]),
        "docker" | "podman" | "docker-compose" => {
            let detached = has_flag(args, 'd') || args.contains(&"--detach");
            name == "docker-compose" && first == "up"
                || plain.starts_with(&["compose", "up"])
                || first == "run" && detached
                || first == "logs" && (has_flag(args, 'f') || args.contains(&"--follow"))
        }
        "ping" => !["-c", "-w", "-n", "-V", "-h"]
            .iter()
            .any(|end| args.iter().any(|arg| arg.starts_with(end))),
        "sleep" => args.contains(&"infinity"),
        "inotifywait" => has_flag(args, 'm') || args.contains(&"--monitor"),
        "dmesg" => has_flag(args, 'w') || args.contains(&"--follow"),
        "kubectl" => {
            first == "port-forward" || first == "proxy" || first == "logs" && has_flag(args, 'f')
        }
        "nc" | "ncat" | "netcat" => has_flag(args, 'l'),
        "gradle" | "gradlew" => {
            args.contains(&"bootRun") || args.contains(&"-t") || args.contains(&"--continuous")
        }
        "mvn" | "mvnw" => args.contains(&"spring-boot:run") || args.contains(&"quarkus:dev"),
        "celery" => plain.contains(&"worker") || plain.contains(&"beat"),
        _ if name.starts_with("python") => match args.iter().position(|arg| *arg == "-m") {
            Some(at) => args.get(at + 1).is_some_and(|module| {
                does_not_end(module, args.get(at + 2..).unwrap_or(&[]))
                    || ["http.server", "SimpleHTTPServer"].contains(module)
            }),
            None => plain.contains(&"runserver"),
        },
        _ => {
            let watches = ["tsc", "jest", "vitest", "webpack", "rollup", "esbuild", "mocha"];
            SERVERS.contains(&name)
                || SERVING.iter().any(|(server, with)| *server == name && with.contains(&first))
                || watches.contains(&name)
                    && args.iter().any(|arg| *arg == "--watch" || *arg == "--watchAll")
        }
    }
}
