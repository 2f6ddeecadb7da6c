//! What a program reaches where commands have no network: its own servers and those that the user
//! lists, through a proxy, and nothing else.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::{Arc, Mutex};

use super::{CODING, ENDS, coding_by, has_left_nothing, install, noted, runs};
use crate::support::confinement::{Level, offers};
use crate::support::skip::skipped;
use crate::support::{Sandbox, probe};

/// How a script talks to the proxy, and to a port.
const TALKS: &str = r#"
port() { timeout 20 bash -c 'exec 3<>/dev/tcp/$1/$2 || exit 7; printf "%b" "$3" >&3; cat <&3' - "$@"; }
ask() { port 127.0.0.1 "${HTTPS_PROXY##*:}" "$1"; }
"#;

/// A server of this machine that says who it is, and keeps what it was asked.
struct Page {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Page {
    fn serve(says: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = Vec::new();
                let mut buffer = [0; 1024];
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read(&mut buffer) {
                        Ok(n @ 1..) => head.extend(&buffer[..n]),
                        _ => break,
                    }
                }
                kept.lock().unwrap().push(String::from_utf8(head).unwrap());
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
                stream.write_all(format!("{head}{says}\n").as_bytes()).ok();
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// The program writes; commands have no network, and it reaches these hosts.
fn settle(sandbox: &Sandbox, hosts: &[String]) {
    let notes = sandbox.root().join("notes");
    fs::create_dir_all(&notes).unwrap();
    sandbox.user_config(&format!(
        "[models.worker]\nagent = \"codex\"\n[roles]\nactor = \"worker\"\n[sandbox]\nwritable = \
         [\"{}\"]\nhosts = {hosts:?}\n",
        notes.display()
    ));
}

/// Such a session at each level that can limit a program to some servers.
fn at_levels_with_a_network(check: impl Fn(Sandbox)) {
    for level in [Level::Namespaces, Level::Bubblewrap] {
        if offers(level) {
            let mut sandbox = coding_by("");
            sandbox.set_env("COWORK_TEST_SANDBOX", level.word());
            check(sandbox);
        } else {
            skipped(&format!("confinement by {}, which is not to be had here", level.word()));
        }
    }
}

#[test]
fn a_program_reaches_the_servers_that_are_listed_and_the_others_are_named() {
    at_levels_with_a_network(|sandbox| {
        let page = Page::serve("a page");
        let here = format!("localhost:{}", page.port);
        settle(&sandbox, &[here.to_uppercase()]);
        let does = format!(
            "{TALKS}
             ask 'GET http://{here}/one HTTP/1.1\\r\\n\\r\\n' >\"$NOTES/plain\" 2>&1
             ask 'CONNECT {here} HTTP/1.1\\r\\n\\r\\nGET /two HTTP/1.1\\r\\n\\r\\n' >\"$NOTES/tunnel\" 2>&1
             port 127.0.0.1 {port} 'GET /three HTTP/1.1\\r\\n\\r\\n' >\"$NOTES/direct\" 2>&1
             ask 'CONNECT api.evil.example:443 HTTP/1.1\\r\\n\\r\\n' >\"$NOTES/refused\" 2>&1
             task_file\n{ENDS}",
            port = page.port
        );
        install(&sandbox, "codex", &does);
        let outcome = sandbox.cowork(&CODING).exits(0);
        assert!(outcome.stderr.contains("reaches its own servers only"), "{}", outcome.stderr);
        for note in ["plain", "tunnel", "direct"] {
            assert!(noted(&sandbox, note).contains("a page"), "{note}: {}", noted(&sandbox, note));
        }
        let asked = page.asked();
        assert_eq!(asked.len(), 3 * runs(&sandbox));
        assert!(asked[0].starts_with("GET /one HTTP/1.1\r\n"), "{asked:?}");
        let refused = noted(&sandbox, "refused");
        assert!(refused.contains("403") && refused.contains("api.evil.example:443"), "{refused}");
        // Once, though it asks in each run.
        let told = "Codex asked for api.evil.example:443, which it may not reach. To allow it: git \
                    config cowork.sandbox.hosts ";
        let all = format!("{told}'{}, api.evil.example:443'", here.to_uppercase());
        assert_eq!(outcome.stderr.matches(&all).count(), 1, "{}", outcome.stderr);
        let env = noted(&sandbox, "env.1");
        for set in ["https_proxy=http://127.0.0.1:", "NO_PROXY=localhost,", "NODE_USE_ENV_PROXY=1"]
        {
            assert!(env.contains(set), "{env}");
        }
        has_left_nothing(&sandbox);
    });
}

#[test]
fn no_way_leads_past_the_proxy() {
    at_levels_with_a_network(|sandbox| {
        let secret = Page::serve("GOT IN");
        let heard = UdpSocket::bind("127.0.0.1:0").unwrap();
        heard.set_nonblocking(true).unwrap();
        let udp = heard.local_addr().unwrap().port();
        let home = sandbox.root().join("home");
        fs::create_dir_all(home.join(".ssh")).unwrap();
        let agent = UnixListener::bind(home.join(".ssh/agent")).unwrap();
        let docker = UnixListener::bind(home.join("docker.sock")).unwrap();
        let name = format!("cowork-agent-{}", sandbox.root().display());
        let unnamed = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap());
        let unnamed = unnamed.unwrap();
        settle(&sandbox, &["example.org:443".to_owned()]);
        probe::compile(&sandbox.root().join("bin/probe"));
        let port = secret.port;
        let does = format!(
            "{TALKS}
             exec 2>\"$NOTES/errors.$N\"
             {{
               for at in 127.0.0.1 localhost ::1 0.0.0.0; do
                 port $at {port} 'GET / HTTP/1.1\\r\\n\\r\\n'
               done
               for at in 127.0.0.1 localhost '[::1]' '[::ffff:127.0.0.1]' 0.0.0.0 2130706433; do
                 ask \"CONNECT $at:{port} HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n\"
                 ask \"GET http://$at:{port}/ HTTP/1.1\\r\\nHost: example.org\\r\\n\\r\\n\"
               done
               ask 'CONNECT example.org:{port} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n'
               port 1.1.1.1 53 x && echo GOT IN
               bash -c 'echo x >/dev/udp/127.0.0.1/{udp}'
               getent hosts example.org && echo GOT IN
               probe connect '{home}/.ssh/agent' && echo GOT IN
               probe connect '{home}/docker.sock' && echo GOT IN
               probe abstract '{name}' && echo GOT IN
               ls -l /proc/*/fd | grep socket: && echo GOT IN by a descriptor
             }} >\"$NOTES/tried.$N\"
             task_file\n{ENDS}",
            home = home.display()
        );
        install(&sandbox, "codex", &does);
        let outcome = sandbox.cowork(&CODING).exits(0);
        let (tried, errors) = (noted(&sandbox, "tried.1"), noted(&sandbox, "errors.1"));
        assert!(!tried.contains("GOT IN"), "{tried}\n{errors}");
        assert_eq!(secret.asked(), [""; 0]);
        assert!(heard.recv(&mut [0]).is_err());
        for listener in [agent, docker, unnamed] {
            listener.set_nonblocking(true).unwrap();
            assert!(listener.accept().is_err());
        }
        // Everything that was asked for is named.
        for host in
            [format!("127.0.0.1:{port}"), format!("[::1]:{port}"), format!("example.org:{port}")]
        {
            let told = format!("Codex asked for {host}, which it may not reach");
            assert!(outcome.stderr.contains(&told), "{host}: {}", outcome.stderr);
        }
        has_left_nothing(&sandbox);
    });
}

#[test]
fn it_reads_its_own_login_and_no_other() {
    at_levels_with_a_network(|mut sandbox| {
        let home = sandbox.root().join("home");
        let others = [
            ".ssh/id_rsa",
            ".claude/.credentials.json",
            ".gemini/oauth_creds.json",
            ".netrc",
            ".config/gh/hosts.yml",
            ".local/share/opencode/auth.json",
            ".aws/credentials",
        ];
        for file in others.iter().chain(&[".codex/auth.json"]) {
            let path = home.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("login of {file}\n")).unwrap();
        }
        sandbox.set_env("GH_TOKEN", "ghp_nobody_lends_this_token_0123456789ab");
        settle(&sandbox, &[]);
        let reads: String =
            others.iter().map(|file| format!("cat '{}/{file}'\n", home.display())).collect();
        let does = format!(
            "{{\n{reads}cat /proc/*/environ | tr '\\0' '\\n' | grep TOKEN\n}} >\"$NOTES/found.$N\" 2>/dev/null
             cat \"$HOME/.codex/auth.json\" >\"$NOTES/own.$N\"; echo renewed >\"$HOME/.codex/auth.json\"
             echo x >\"$HOME/.bashrc\"; echo x >'{0}/.claude/settings.json'
             task_file\n{ENDS}",
            home.display()
        );
        install(&sandbox, "codex", &does);
        sandbox.cowork(&CODING).exits(0);
        assert_eq!(noted(&sandbox, "found.1"), "");
        assert_eq!(noted(&sandbox, "own.1"), "login of .codex/auth.json\n");
        assert_eq!(fs::read_to_string(home.join(".codex/auth.json")).unwrap(), "renewed\n");
        assert!(!home.join(".bashrc").exists() && !home.join(".claude/settings.json").exists());
        has_left_nothing(&sandbox);
    });
}

#[test]
fn where_servers_cannot_be_told_apart_a_person_or_a_setting_opens_them_all() {
    if !offers(Level::Landlock) {
        return skipped("confinement by landlock, which this kernel has not");
    }
    let mut sandbox = coding_by("");
    sandbox.set_env("COWORK_TEST_SANDBOX", "landlock");
    settle(&sandbox, &[]);
    install(&sandbox, "codex", &format!("env >\"$NOTES/env\"; task_file\n{ENDS}"));
    let outcome = sandbox.cowork(&CODING).exits(4);
    outcome
        .says("'worker' is an agent program, and cannot be limited to its own servers here: ")
        .says("git config cowork.sandbox.hosts '*'\n")
        .says("git config cowork.sandbox.network true\n");
    assert!(!sandbox.root().join("notes/runs").exists());

    let mut terminal = sandbox.terminal(&CODING);
    terminal.sees("Let agent programs reach every server, in this repository from now on?");
    terminal.types("n\r");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 4, "{rest}");
    assert!(rest.contains("you did not allow it"), "{rest}");
    assert!(!sandbox.root().join("notes/runs").exists());

    let mut terminal = sandbox.terminal(&CODING);
    terminal.sees("Let agent programs reach every server, in this repository from now on?");
    terminal.types("y\r");
    terminal.sees("take it back: git config --unset cowork.sandbox.hosts");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert!(!noted(&sandbox, "env").contains("NODE_USE_ENV_PROXY"));
    // Nobody is asked again, and commands have no network yet.
    assert_eq!(sandbox.git(&["config", "cowork.sandbox.hosts"]), "*");
    let shown = sandbox.cowork(&["config", "sandbox"]).exits(0).stdout;
    assert!(shown.contains("sandbox.hosts = [\"*\"]\n"), "{shown}");
    assert!(shown.contains("sandbox.network = false\n"), "{shown}");
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    sandbox.git(&["config", "--unset", "cowork.sandbox.hosts"]);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(4).says("cannot be limited");
    has_left_nothing(&sandbox);
}

#[test]
fn a_clone_lists_no_server_and_a_list_that_cannot_be_read_is_an_error() {
    let sandbox = coding_by(ENDS);
    sandbox.write(".cowork/config.toml", "[sandbox]\nhosts = [\"evil.example:443\"]\n");
    sandbox.cowork(&["list"]).exits(0).says("ignored: sandbox.hosts");
    let shown = sandbox.cowork(&["config"]).exits(0).stdout;
    assert!(shown.contains("sandbox.hosts = []\n"), "{shown}");
    for host in ["https://example.org", "example.org", "*.example.org:443", "example.org:0"] {
        settle(&sandbox, &[host.to_owned()]);
        let outcome = sandbox.cowork(&["status"]).exits(4);
        outcome.says("`sandbox.hosts` in ").says("is not a host with a port");
    }
}

#[test]
fn a_server_of_this_machine_that_is_not_listed_is_named() {
    if !offers(Level::Namespaces) {
        return skipped("namespaces, without which nobody sees what a program is refused");
    }
    let mut sandbox = coding_by("");
    sandbox.set_env("COWORK_TEST_SANDBOX", Level::Namespaces.word());
    let page = Page::serve("GOT IN");
    settle(&sandbox, &["example.org:443".to_owned()]);
    // A port where nobody listens here either; and a server of the program's own.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let does = format!(
        "{TALKS}
         for at in 127.0.0.1 ::1 127.0.0.1; do
           port $at {port} 'GET / HTTP/1.1\\r\\n\\r\\n' >>\"$NOTES/tried\" 2>&1
         done
         port 127.0.0.1 {free} x >>\"$NOTES/tried\" 2>&1
         task_file\n{ENDS}",
        port = page.port
    );
    install(&sandbox, "codex", &does);
    let outcome = sandbox.cowork(&CODING).exits(0);
    assert!(!noted(&sandbox, "tried").contains("GOT IN"));
    assert_eq!(page.asked(), [""; 0]);
    let told = format!(
        "Codex asked for localhost:{port}, which it may not reach. To allow it: git config \
         cowork.sandbox.hosts 'example.org:443, localhost:{port}'",
        port = page.port
    );
    assert_eq!(outcome.stderr.matches(&told).count(), 1, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains(&format!(":{free}")), "{}", outcome.stderr);
    has_left_nothing(&sandbox);
}
