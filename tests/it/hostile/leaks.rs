//! Keys and the network.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};

use super::{at_every_level, none_gets_in, results, sandbox};
use crate::support::skip::skipped;

#[test]
fn no_key_is_found() {
    at_every_level(|level| {
        let mut sandbox = sandbox(level);
        sandbox.set_env("GITHUB_TOKEN", "hunter2");
        sandbox.set_env("AWS_SECRET_ACCESS_KEY", "hunter2");
        sandbox.set_env("SSH_AUTH_SOCK", "/nowhere/hunter2");
        sandbox.set_env("DOCKER_HOST", "unix:///nowhere/hunter2");
        let home = sandbox.root().join("home");
        for path in [".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml"] {
            std::fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
            std::fs::write(home.join(path), "hunter2").unwrap();
        }
        sandbox.user_config("# hunter2\n");
        // A command that holds the key itself is refused before it is run.
        let mut attempts = vec![
            "env | grep -e hunter2 -e test[-]key".to_owned(),
            "test -n \"$SSH_AUTH_SOCK$DOCKER_HOST$DBUS_SESSION_BUS_ADDRESS\"".to_owned(),
            "tr '\\0' '\\n' </proc/self/environ | grep -e hunter2 -e test[-]key".to_owned(),
            "cat /proc/[0-9]*/environ 2>/dev/null | grep -qa -e hunter2 -e test[-]key".to_owned(),
        ];
        let read = format!("grep -r hunter2 {0}/.ssh {0}/.aws {0}/.config", home.display());
        attempts.extend([read, format!("grep hunter2 {}/.netrc", home.display())]);
        if level.has_mounts() {
            attempts.push("cat /proc/[0-9]*/cmdline | grep -qa -- '--stop-[a]fter'".to_owned());
        } else {
            skipped("the arguments of other processes, which Landlock alone does not hide");
        }
        let attempts: Vec<_> = attempts.iter().map(String::as_str).collect();
        none_gets_in(&sandbox, &attempts);
    });
}

/// The checkout of a runner keeps its push credential in git's configuration, or includes a file
/// that holds it.
#[test]
fn no_login_in_gits_configuration_is_found() {
    at_every_level(|level| {
        let mut sandbox = sandbox(level);
        let runner = sandbox.root().join("runner/own/temp");
        std::fs::create_dir_all(runner.join("_files")).unwrap();
        std::fs::write(runner.join("_files/set_env"), "hunter2=hunter2\n").unwrap();
        let login =
            "[http \"https://x.example/\"]\n\textraheader = AUTHORIZATION: basic hunter2hunter2\n";
        std::fs::write(runner.join("login.config"), login).unwrap();
        sandbox.set_env("RUNNER_TEMP", runner.to_str().unwrap());
        sandbox.set_env("GITHUB_ENV", runner.join("_files/set_env").to_str().unwrap());
        let config = |key: &str, value: &str| drop(sandbox.git(&["config", "--add", key, value]));
        config("include.path", runner.join("login.config").to_str().unwrap());
        config("http.https://y.example/.extraheader", "AUTHORIZATION: basic hunter2hunter2");
        config("remote.origin.url", "https://ana:hunter2hunter2@example.org/x.git");
        config("url.https://ana:hunter2hunter2@example.org/.insteadof", "work:");
        config("credential.helper", "!echo password=hunter2");
        config("cowork.models.other.apikey", "hunter2hunter2");
        config("alias.st", "status --short");
        let module = sandbox.path(".git/modules/lib");
        std::fs::create_dir_all(&module).unwrap();
        std::fs::write(module.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(module.join("config"), login).unwrap();
        sandbox.write(".git/credentials", "https://ana:hunter2hunter2@example.org\n");
        sandbox.write(".git/config.bak", login);
        let read =
            format!("cat {0}/login.config {0}/_files/set_env | grep hunter2", runner.display());
        let attempts = [
            "grep -ri hunter2 .git",
            "cat .git/cowork/sessions/todo/* | grep -q .",
            "cat .git/config | grep -i -e hunter -e extraheader -e credential -e [a]pikey",
            "git config --list | grep -i -e hunter -e extraheader -e credential",
            "git remote -v | grep hunter",
            &read,
        ];
        none_gets_in(&sandbox, &attempts);
        assert!(sandbox.read(".git/config").contains("hunter2"));
    });
}

/// Everything else in the configuration is there.
#[test]
fn git_works_beside_a_login_in_its_configuration() {
    at_every_level(|level| {
        if !level.has_mounts() {
            skipped("a configuration of commands' own, which takes mounts");
            return;
        }
        let sandbox = sandbox(level);
        let url = "https://ana:hunter2hunter2@example.org/x.git";
        sandbox.git(&["config", "remote.origin.url", url]);
        let run = "git log -1 --format=%s main && git remote get-url origin && git rev-parse --is-bare-repository";
        let heard = results(&sandbox, &[run], 20).remove(0);
        let wanted = "something to build on\nhttps://example.org/x.git\nfalse";
        assert!(heard.contains(wanted), "{heard}");
    });
}

#[test]
fn the_network_is_not_there() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let port = tcp.local_addr().unwrap().port();
        let heard = udp.local_addr().unwrap().port();
        // A command that holds the key itself is refused before it is run.
        let mut attempts = vec![
            format!("timeout 5 git ls-remote git://127.0.0.1:{port}/x"),
            format!("timeout 5 git ls-remote http://127.0.0.1:{port}/x"),
            format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"),
            format!("bash -c 'exec 3<>/dev/tcp/localhost/{port} && echo x >&3'"),
            format!(
                "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'"
            ),
            format!("curl -s -m 5 telnet://127.0.0.1:{port} </dev/null"),
        ];
        if level.has_mounts() {
            // Sending always works; arriving would be the success.
            attempts.push(format!("bash -c 'echo x >/dev/udp/127.0.0.1/{heard}'; false"));
        } else {
            skipped("sending UDP, which Landlock alone cannot prevent");
        }
        let attempts: Vec<_> = attempts.iter().map(String::as_str).collect();
        // The manners know `git ls-remote`.
        let attempts: Vec<_> = attempts
            .iter()
            .map(|a| a.replace("5 git", "5 $g"))
            .map(|a| format!("g=git; {a}"))
            .collect();
        none_gets_in(&sandbox, &attempts.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(udp.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}
