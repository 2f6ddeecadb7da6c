//! Test suites of five languages in the sandbox: what they make for their own tests works. And the
//! rule that a run of these tests in CI says something.

use super::{results, sandbox};
use crate::support::Sandbox;
use crate::support::confinement::{Level, confinement};
use crate::support::skip::skipped;

/// A program's real place: what a version manager puts on `PATH` looks into the real home.
fn real(program: &str, ask: &[&str]) -> Option<String> {
    let asked = std::process::Command::new(program).args(ask).output().ok()?;
    let path = String::from_utf8(asked.stdout).ok()?.trim().to_owned();
    (asked.status.success() && !path.is_empty()).then_some(path)
}

/// Runs a suite with namespaces; with Landlock alone it is skipped.
#[track_caller]
fn passes(name: &str, prepare: impl FnOnce(&mut Sandbox) -> Option<String>) {
    if confinement() != Level::Namespaces {
        skipped(&format!("a test suite in {name}, which needs namespaces"));
        return;
    }
    let mut sandbox = sandbox(Level::Namespaces);
    let Some(command) = prepare(&mut sandbox) else {
        skipped(&format!("a test suite in {name}, which is not installed"));
        return;
    };
    let told = results(&sandbox, &[&command], 300);
    assert!(told[0].starts_with("exit 0"), "{}", told[0]);
}

const RUST: &str = r#"
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

fn echo(mut stream: impl Read + Write) {
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    stream.write_all(&byte).unwrap();
}

#[test]
fn tcp() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || echo(listener.accept().unwrap().0));
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"x").unwrap();
    client.read_exact(&mut [0]).unwrap();
    server.join().unwrap();
    assert!(TcpListener::bind("[::1]:0").is_ok());
}

#[test]
fn udp() {
    let (a, b) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    a.send_to(b"x", b.local_addr().unwrap()).unwrap();
    assert_eq!(b.recv(&mut [0; 8]).unwrap(), 1);
}

#[test]
fn unix() {
    let path = std::env::temp_dir().join(format!("suite-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || echo(listener.accept().unwrap().0));
    let mut client = UnixStream::connect(&path).unwrap();
    client.write_all(b"x").unwrap();
    client.read_exact(&mut [0]).unwrap();
    server.join().unwrap();
    std::fs::remove_file(path).unwrap();
    let (a, b) = UnixDatagram::pair().unwrap();
    a.send(b"x").unwrap();
    assert_eq!(b.recv(&mut [0; 8]).unwrap(), 1);
}

#[test]
fn process() {
    let output = std::process::Command::new("sh").args(["-c", "echo x"]).output().unwrap();
    assert_eq!(output.stdout, b"x\n");
}
"#;

#[test]
fn a_suite_in_rust_passes() {
    passes("Rust", |sandbox| {
        let home = std::env::var("HOME").unwrap_or_default();
        let rustup = std::env::var("RUSTUP_HOME").unwrap_or_else(|_| format!("{home}/.rustup"));
        sandbox.set_env("RUSTUP_HOME", &rustup);
        let toolchain = std::env::var("RUSTUP_TOOLCHAIN").unwrap_or_default();
        sandbox.set_env("RUSTUP_TOOLCHAIN", &toolchain);
        sandbox.write("lib/suite/Cargo.toml", "[package]\nname = \"suite\"\nedition = \"2021\"\n");
        sandbox.write("lib/suite/src/lib.rs", RUST);
        sandbox.commit_all("a suite");
        Some(
            "cd lib/suite && cargo test --offline -q; e=$?; rm -rf target Cargo.lock; exit $e"
                .into(),
        )
    });
}

const NODE: &str = r#"
const test = require('node:test');
const assert = require('node:assert');
const { fork, execFileSync } = require('node:child_process');
const cluster = require('node:cluster');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { Worker } = require('node:worker_threads');

if (process.argv[2] === 'child') {
    process.on('message', (message) => { process.send(message + 1); process.disconnect(); });
} else if (cluster.isWorker) {
    net.createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
} else {
    const talk = (where) => new Promise((resolve, reject) => {
        const client = net.connect(where);
        let text = '';
        client.on('data', (data) => { text += data; });
        client.on('end', () => resolve(text)).on('error', reject);
    });
    const served = (where) => new Promise((resolve, reject) => {
        const server = net.createServer((socket) => socket.end('hello')).on('error', reject);
        server.listen(where, () => {
            talk(server.address().port ?? where).then(resolve, reject).finally(() => server.close());
        });
    });
    test('fork', async () => {
        const child = fork(__filename, ['child'], { execArgv: [] });
        const answer = new Promise((resolve) => child.on('message', resolve));
        child.send(1);
        assert.equal(await answer, 2);
    });
    test('cluster', async () => {
        cluster.setupPrimary({ exec: __filename, execArgv: [] });
        const worker = cluster.fork();
        const address = await new Promise((resolve) => worker.on('listening', resolve));
        assert.equal(await talk(address.port), 'hello');
        worker.kill();
    });
    test('unix', async () => {
        const socket = path.join(os.tmpdir(), 'suite-' + process.pid);
        assert.equal(await served(socket), 'hello');
    });
    test('tcp', async () => assert.equal(await served(0), 'hello'));
    test('worker', async () => {
        const worker = new Worker('require("worker_threads").parentPort.postMessage(3)', { eval: true });
        assert.equal(await new Promise((resolve) => worker.on('message', resolve)), 3);
    });
    test('user', () => assert.ok(os.userInfo().username));
    test('process', () => assert.equal(String(execFileSync('echo', ['x'])), 'x\n'));
}
"#;

#[test]
fn a_suite_in_node_passes() {
    passes("Node", |sandbox| {
        let node = real(
            "node",
            &["-p", "process.versions.node.split('.')[0] >= 20 ? process.execPath : ''"],
        )?;
        sandbox.write("lib/suite.test.js", NODE);
        sandbox.commit_all("a suite");
        Some(format!("cd lib && {node} --test suite.test.js"))
    });
}

const PYTHON: &str = r#"
import asyncio, multiprocessing, os, pty, socket, subprocess, tempfile, unittest
from multiprocessing import Manager, Pool, Queue, shared_memory

def double(n):
    return 2 * n

def put(queue):
    queue.put(5)

class Suite(unittest.TestCase):
    def test_pools(self):
        for method in ('fork', 'forkserver', 'spawn'):
            with multiprocessing.get_context(method).Pool(2) as pool:
                self.assertEqual(pool.map(double, [1, 2]), [2, 4])

    def test_queue(self):
        queue = Queue()
        process = multiprocessing.Process(target=put, args=(queue,))
        process.start()
        self.assertEqual(queue.get(timeout=60), 5)
        process.join()

    def test_manager(self):
        with Manager() as manager:
            self.assertEqual(manager.dict(a=1)['a'], 1)

    def test_shared_memory(self):
        memory = shared_memory.SharedMemory(create=True, size=16)
        memory.buf[0] = 7
        memory.close()
        memory.unlink()

    def test_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvp('echo', ['echo', 'hello'])
        self.assertIn(b'hello', os.read(terminal, 100))
        os.waitpid(pid, 0)

    def test_unix(self):
        async def talk():
            path = os.path.join(tempfile.mkdtemp(), 'socket')
            async def answer(reader, writer):
                writer.write(b'hello')
                writer.close()
            server = await asyncio.start_unix_server(answer, path)
            reader, writer = await asyncio.open_unix_connection(path)
            self.assertEqual(await reader.read(), b'hello')
            writer.close()
            server.close()
        asyncio.run(talk())

    def test_tcp(self):
        with socket.create_server(('127.0.0.1', 0)) as server:
            socket.create_connection(server.getsockname()).close()

    def test_process(self):
        self.assertEqual(subprocess.check_output(['echo', 'x']), b'x\n')

if __name__ == '__main__':
    unittest.main()
"#;

#[test]
fn a_suite_in_python_passes() {
    passes("Python", |sandbox| {
        let python = real("python3", &["-c", "import sys; print(sys.executable)"])?;
        sandbox.write("lib/suite.py", PYTHON);
        sandbox.commit_all("a suite");
        Some(format!("cd lib && {python} suite.py"))
    });
}

/// What pytest-xdist does: processes of its own, to which it talks through pipes.
const PYTEST: &str = r#"
import os, socket, subprocess, sys
import pytest

@pytest.mark.parametrize('n', range(8))
def test_worker(n, tmp_path, worker_id):
    assert worker_id.startswith('gw')
    (tmp_path / 'file').write_text(str(n))
    assert subprocess.check_output([sys.executable, '-c', 'print(1)']) == b'1\n'
    with socket.create_server(('127.0.0.1', 0)) as server:
        socket.create_connection(server.getsockname()).close()
"#;

#[test]
fn a_suite_of_several_pytest_workers_passes() {
    passes("Python with pytest-xdist", |sandbox| {
        let python = real("python3", &["-c", "import sys, pytest, xdist; print(sys.executable)"])?;
        sandbox.write("lib/test_suite.py", PYTEST);
        sandbox.commit_all("a suite");
        Some(format!("cd lib && {python} -m pytest -q -n 2 -p no:cacheprovider test_suite.py"))
    });
}

const GO: &str = r#"
package suite

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"
)

func TestServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer server.Close()
	answer, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	if string(text) != "hello" {
		t.Fatal(string(text))
	}
}

func TestUnix(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}

func TestProcess(t *testing.T) {
	t.Parallel()
	text, err := exec.Command("echo", "x").Output()
	if err != nil || string(text) != "x\n" {
		t.Fatal(string(text), err)
	}
	if _, err := user.Current(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "file"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}
"#;

#[test]
fn a_suite_in_go_passes() {
    passes("Go", |sandbox| {
        let go = real("go", &["env", "GOROOT"])?;
        sandbox.write(
            "lib/go.mod",
            "module example.org/suite

go 1.18
",
        );
        sandbox.write("lib/suite_test.go", GO);
        sandbox.commit_all("a suite");
        Some(format!("cd lib && GOTOOLCHAIN=local {go}/bin/go test ./..."))
    });
}

const JAVA: &str = r#"
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.concurrent.*;

public class Suite {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Future<Integer> read = pool.submit(() -> {
                try (Socket peer = server.accept()) { return peer.getInputStream().read(); }
            });
            try (Socket client = new Socket(server.getInetAddress(), server.getLocalPort())) {
                client.getOutputStream().write(7);
            }
            check(read.get() == 7, "tcp");
        }
        Path dir = Files.createTempDirectory("suite");
        UnixDomainSocketAddress at = UnixDomainSocketAddress.of(dir.resolve("socket"));
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(at);
            Future<Integer> read = pool.submit(() -> {
                try (SocketChannel peer = server.accept()) { return peer.read(ByteBuffer.allocate(1)); }
            });
            try (SocketChannel client = SocketChannel.open(at)) {
                client.write(ByteBuffer.wrap(new byte[] {7}));
            }
            check(read.get() == 1, "unix");
        }
        Process child = new ProcessBuilder("echo", "x").start();
        check(new String(child.getInputStream().readAllBytes()).equals("x\n"), "process");
        check(child.waitFor() == 0, "exit");
        check(System.getProperty("user.name").length() > 1, "user");
        pool.shutdown();
    }

    static void check(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }
}
"#;

#[test]
fn a_suite_in_java_passes() {
    passes("Java", |sandbox| {
        // UNIX sockets came with Java 16.
        let ask = "javac --help | grep -q -e --release && javac --release 16 -version 2>&1";
        real("sh", &["-c", ask])?;
        sandbox.write("lib/Suite.java", JAVA);
        sandbox.commit_all("a suite");
        Some(
            "cd lib && javac -d \"$TMPDIR/out\" Suite.java && java -cp \"$TMPDIR/out\" Suite"
                .into(),
        )
    });
}

/// Where nothing is confined, most of what is above is skipped and all of it passes.
#[test]
fn ci_does_not_pass_unconfined() {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    assert!(
        !is_ci || confinement() != Level::None,
        "CI runs where commands cannot be confined, so it would say nothing about the sandbox: \
         give it a kernel with user namespaces, or with Landlock (Linux 6.2)"
    );
}
