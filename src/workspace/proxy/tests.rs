//! Tests of the proxy with real connections, passed to it as by the door.

use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};

use tokio::net::TcpListener;

use super::*;
use crate::workspace::sandbox::{door_pair, hand_out};

/// The proxy's port in the private network namespace.
const OWN: u16 = 3128;

struct Door {
    inner: OwnedFd,
    listener: TcpListener,
}

impl Door {
    /// Returns a client's end of a connection to this inner port.
    async fn at(&self, port: u16) -> TcpStream {
        let address = self.listener.local_addr().unwrap();
        let (client, accepted) =
            tokio::join!(TcpStream::connect(address), async { self.listener.accept().await });
        hand_out(self.inner.as_fd(), port, accepted.unwrap().0.as_fd()).unwrap();
        client.unwrap()
    }

    /// Returns the proxy's response, read to the end of the connection.
    async fn answer(&self, request: &str) -> String {
        let mut client = self.at(OWN).await;
        client.write_all(request.as_bytes()).await.unwrap();
        whole(&mut client).await
    }
}

async fn whole(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all).await;
    String::from_utf8_lossy(&all).into_owned()
}

/// Runs a test with a proxy that permits these servers; returns the refused ones.
fn with_proxy(
    hosts: &[String],
    env: &[(&str, String)],
    test: impl AsyncFnOnce(&Door),
) -> Vec<Refused> {
    let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
    let env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let proxy = Proxy::new(hosts, OWN, &env);
    let refused = RefCell::new(Vec::new());
    let told = |one: &Refused| refused.borrow_mut().push(one.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (outer, inner) = door_pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let door = Door { inner, listener };
        tokio::select! {
            () = proxy.serve(outer, &told) => panic!("it ends before there are no more connections"),
            () = test(&door) => {}
        }
    });
    refused.into_inner()
}

/// A server for tests; each method serves one connection and returns the received text.
struct Server {
    listener: std::net::TcpListener,
    port: u16,
}

impl Server {
    fn new() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        Self { listener, port }
    }

    fn at(&self, name: &str) -> String {
        format!("{name}:{}", self.port)
    }

    /// Accepts one connection, reads to its end, and responds with `says`.
    fn sees_all(&self, says: &'static str) -> std::thread::JoinHandle<String> {
        use std::io::{Read as _, Write as _};
        let listener = self.listener.try_clone().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut all = String::new();
            stream.read_to_string(&mut all).unwrap();
            stream.write_all(says.as_bytes()).unwrap();
            all
        })
    }

    /// Accepts one connection, reads until `until` is received, and responds with `says`.
    fn serves(&self, until: &'static str, says: &'static str) -> std::thread::JoinHandle<String> {
        use std::io::{Read as _, Write as _};
        let listener = self.listener.try_clone().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut all, mut buffer) = (String::new(), [0; 1024]);
            while !all.contains(until) {
                let n = stream.read(&mut buffer).unwrap();
                assert!(n > 0, "it ends after {all:?}");
                all.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
            }
            stream.write_all(says.as_bytes()).unwrap();
            all
        })
    }
}

#[test]
fn a_listed_server_gets_a_tunnel_in_any_spelling() {
    let server = Server::new();
    let refused = with_proxy(&[server.at("LocalHost.")], &[], async |door| {
        for name in ["localhost", "LOCALHOST", "localhost."] {
            let seen = server.serves("ping", "pong");
            let request = format!("CONNECT {} HTTP/1.1\r\nHost: x\r\n\r\nping", server.at(name));
            let answer = door.answer(&request).await;
            assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\npong", "{name}");
            assert_eq!(seen.join().unwrap(), "ping");
        }
    });
    assert!(refused.is_empty(), "{refused:?}");
}

#[test]
fn an_unlisted_server_is_refused_by_name() {
    let server = Server::new();
    let listed = format!("localhost:{}", server.port);
    let refused = with_proxy(&[listed, "example.org:443".to_owned()], &[], async |door| {
        for asked in [
            "example.org:80".to_owned(),
            "evil.org:443".to_owned(),
            "example.org.evil.org:443".to_owned(),
            // Other names of a listed server.
            server.at("127.0.0.1"),
            server.at("[::ffff:127.0.0.1]"),
            "169.254.169.254:80".to_owned(),
        ] {
            let answer = door.answer(&format!("CONNECT {asked} HTTP/1.1\r\n\r\n")).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{asked}: {answer}");
            assert!(answer.contains("is not among the servers"), "{asked}: {answer}");
        }
        let answer = door.answer("GET http://evil.org/ HTTP/1.1\r\n\r\n").await;
        assert!(answer.contains("evil.org:80 is not among"), "{answer}");
    });
    assert_eq!(refused.len(), 7);
    assert!(matches!(&refused[1], Refused::NotListed(host) if host.to_string() == "evil.org:443"));
}

#[test]
fn a_name_that_resolves_to_this_machine_is_refused() {
    let server = Server::new();
    // The resolver reads all of these as 127.0.0.1.
    let names = ["2130706433", "0x7f000001", "127.1"];
    let hosts = names.map(|name| server.at(name));
    let refused = with_proxy(&hosts, &[], async |door| {
        for host in &hosts {
            let answer = door.answer(&format!("CONNECT {host} HTTP/1.1\r\n\r\n")).await;
            assert!(answer.contains("resolves to 127.0.0.1"), "{host}: {answer}");
        }
    });
    assert!(matches!(refused[..], [Refused::Inside(..), Refused::Inside(..), Refused::Inside(..)]));
    server.listener.set_nonblocking(true).unwrap();
    assert!(server.listener.accept().is_err(), "it was connected to");
}

#[test]
fn only_one_plain_request_is_forwarded() {
    let server = Server::new();
    let host = server.at("127.0.0.1");
    with_proxy(std::slice::from_ref(&host), &[], async |door| {
        let seen = server.serves("body", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfine");
        let request = format!(
            "POST http://{host}/a?b HTTP/1.1\r\nHost: evil.org\r\nProxy-Connection: keep-alive\r\n\
             Content-Length: 4\r\n\r\nbody"
        );
        let answer = door.answer(&request).await;
        assert!(answer.ends_with("\r\n\r\nfine"), "{answer}");
        let head = format!("POST /a?b HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        assert_eq!(seen.join().unwrap(), format!("{head}Content-Length: 4\r\n\r\nbody"));
    });
}

#[test]
fn a_second_request_of_a_connection_does_not_reach_the_users_proxy() {
    let upstream = Server::new();
    let env = [("http_proxy", format!("http://127.0.0.1:{}", upstream.port))];
    let next = "GET http://evil.org/secret HTTP/1.1\r\nHost: evil.org\r\n\r\n";
    with_proxy(&["example.org:80".into()], &env, async |door| {
        for (head, body) in [
            ("", ""),
            ("Content-Length: 4\r\n", "body"),
            ("Transfer-Encoding: chunked\r\n", "4\r\nbody\r\n0\r\n\r\n"),
        ] {
            for apart in [false, true] {
                let seen = upstream.sees_all("HTTP/1.1 200 OK\r\n\r\nfine");
                let mut client = door.at(OWN).await;
                let request = format!("POST http://example.org/ HTTP/1.1\r\n{head}\r\n{body}");
                match apart {
                    false => client.write_all((request + next).as_bytes()).await.unwrap(),
                    true => {
                        client.write_all(request.as_bytes()).await.unwrap();
                        tokio::task::yield_now().await;
                        client.write_all(next.as_bytes()).await.unwrap();
                    }
                }
                let answer = whole(&mut client).await;
                assert!(answer.ends_with("fine"), "{head:?}: {answer}");
                let seen = seen.join().unwrap();
                assert!(seen.ends_with(&format!("\r\n\r\n{body}")), "{head:?}: {seen}");
                assert!(!seen.contains("evil"), "{head:?}: {seen}");
            }
        }
        let unclear = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n";
        let request = format!("POST http://example.org/ HTTP/1.1\r\n{unclear}\r\n0\r\n\r\n");
        assert!(door.answer(&request).await.starts_with("HTTP/1.1 400 "));
    });
}

#[test]
fn a_listed_port_of_this_machine_is_reached_directly() {
    let server = Server::new();
    let refused = with_proxy(&[server.at("127.0.0.1")], &[], async |door| {
        let seen = server.serves("ping", "pong");
        let mut client = door.at(server.port).await;
        client.write_all(b"ping").await.unwrap();
        assert_eq!(whole(&mut client).await, "pong");
        assert_eq!(seen.join().unwrap(), "ping");
        // An unlisted port is closed.
        assert_eq!(whole(&mut door.at(server.port ^ 1).await).await, "");
    });
    assert!(refused.is_empty());
}

#[test]
fn the_users_own_proxy_is_used() {
    let upstream = Server::new();
    let proxy = format!("http://ana:pass@127.0.0.1:{}", upstream.port);
    let env = [("HTTPS_PROXY", proxy.clone()), ("http_proxy", proxy)];
    with_proxy(&["api.example.org:443".into(), "example.org:80".into()], &env, async |door| {
        let seen = upstream.serves("\r\n\r\n", "HTTP/1.1 200 OK\r\nX: y\r\n\r\nearly");
        let answer = door.answer("CONNECT api.example.org:443 HTTP/1.1\r\n\r\n").await;
        assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\nearly");
        let seen = seen.join().unwrap();
        assert!(seen.starts_with("CONNECT api.example.org:443 HTTP/1.1\r\n"), "{seen}");
        assert!(seen.contains("\r\nProxy-Authorization: Basic YW5hOnBhc3M=\r\n"), "{seen}");

        let seen = upstream.serves("\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n");
        door.answer("GET http://example.org/x HTTP/1.1\r\n\r\n").await;
        let seen = seen.join().unwrap();
        assert!(seen.starts_with("GET http://example.org/x HTTP/1.1\r\n"), "{seen}");
        assert!(seen.contains("Basic YW5hOnBhc3M="), "{seen}");

        let seen = upstream.serves("\r\n\r\n", "HTTP/1.1 407 No\r\n\r\n");
        let answer = door.answer("CONNECT api.example.org:443 HTTP/1.1\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("answers with 407"));
        seen.join().unwrap();
        // A refused request never reaches the upstream proxy.
        let answer = door.answer("CONNECT evil.org:443 HTTP/1.1\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    });
}

#[test]
fn invalid_and_too_long_requests_get_an_error_response() {
    with_proxy(&["example.org:443".to_owned()], &[], async |door| {
        for (request, status) in [
            ("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n".to_owned(), "400"),
            ("\x16\x03\x01\x02\x00\x01".to_owned(), "400"),
            (format!("GET http://example.org/{}", "a".repeat(HEAD_MAX + 1)), "431"),
            (format!("CONNECT example.org:443 HTTP/1.1\r\n{}", "a: b\r\n".repeat(9000)), "431"),
        ] {
            let answer = door.answer(&request).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        }
    });
}

#[test]
fn descriptors_that_are_not_connections_are_dropped() {
    let server = Server::new();
    with_proxy(&[server.at("127.0.0.1")], &[], async |door| {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        hand_out(door.inner.as_fd(), OWN, one.as_fd()).unwrap();
        let file = tempfile::tempfile().unwrap();
        hand_out(door.inner.as_fd(), OWN, file.as_fd()).unwrap();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        hand_out(door.inner.as_fd(), OWN, udp.as_fd()).unwrap();
        rustix::io::write(&door.inner, &[0]).unwrap();
        rustix::io::write(&door.inner, &OWN.to_be_bytes()).unwrap();
        let seen = server.serves("ping", "pong");
        let request = format!("CONNECT {} HTTP/1.1\r\n\r\nping", server.at("127.0.0.1"));
        assert!(door.answer(&request).await.ends_with("pong"));
        seen.join().unwrap();
    });
}

#[test]
fn connections_beyond_the_limit_wait() {
    with_proxy(&[], &[], async |door| {
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS_MAX {
            silent.push(door.at(OWN).await);
        }
        let mut client = door.at(OWN).await;
        client.write_all(b"CONNECT evil.org:443 HTTP/1.1\r\n\r\n").await.unwrap();
        let mut byte = [0];
        let early = timeout(Duration::from_millis(50), client.read(&mut byte)).await;
        assert!(early.is_err(), "it does not wait");
        silent.pop();
        assert!(whole(&mut client).await.contains("evil.org:443 is not among"));
    });
}
