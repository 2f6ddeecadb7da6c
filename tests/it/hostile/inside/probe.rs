//! Tries one thing and says how it ended: `ok` with exit code 0, or the number of the error with 1.
//! The tests compile it with `rustc` alone, so the few calls it needs are declared here.

use std::env::args;
use std::fs::File;
use std::io::{Error, Read as _, Result, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::process::{Command, ExitCode};

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
    fn socket(family: i32, kind: i32, protocol: i32) -> i32;
    fn socketpair(family: i32, kind: i32, protocol: i32, pair: *mut i32) -> i32;
    fn ioctl(file: i32, command: u64, ...) -> i32;
    fn posix_openpt(flags: i32) -> i32;
}

/// `add_key`, `request_key`, `keyctl`, `io_uring_setup`.
const CALLS: [i64; 4] =
    if cfg!(target_arch = "x86_64") { [248, 249, 250, 425] } else { [217, 218, 219, 425] };

fn answer(result: i64) -> Result<()> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

fn call(number: i64) -> Result<()> {
    let (kind, name) = (c"user".as_ptr(), c"cowork-probe".as_ptr());
    answer(match number {
        248 | 217 => unsafe { syscall(number, kind, name, name, 4_usize, -3_i64) },
        249 | 218 => unsafe { syscall(number, kind, name, 0_usize, -3_i64) },
        // The session's keyring, as a number.
        250 | 219 => unsafe { syscall(number, 0_i64, -3_i64, 0_i64) },
        _ => unsafe { syscall(number, 1_i64, [0_u64; 32].as_mut_ptr()) },
    })
}

fn talk(mut stream: UnixStream) -> Result<()> {
    stream.write_all(b"x")?;
    stream.read_exact(&mut [0])
}

/// A server of one's own, and its client.
fn serve(listener: UnixListener) -> Result<()> {
    let address = listener.local_addr()?;
    let server = std::thread::spawn(move || -> Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.read_exact(&mut [0])?;
        stream.write_all(b"y")
    });
    talk(UnixStream::connect_addr(&address)?)?;
    server.join().unwrap()
}

fn attempt(what: &str, with: &str) -> Result<()> {
    let number = |text: &str| text.parse::<i32>().unwrap();
    match what {
        "connect" => UnixStream::connect(with).map(drop),
        "abstract" => {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name(with)?).map(drop)
        }
        "datagram" => UnixDatagram::unbound()?.send_to(b"x", with).map(drop),
        "add_key" => call(CALLS[0]),
        "request_key" => call(CALLS[1]),
        "keyctl" => call(CALLS[2]),
        "io_uring" => call(CALLS[3]),
        "number" => {
            let mut words = with.split(',').map(|word| word.parse::<i64>().unwrap());
            let (number, first) = (words.next().unwrap(), words.next().unwrap());
            answer(unsafe { syscall(number, first, 0_i64, 0_i64, 0_i64, 0_i64) })
        }
        "family" => {
            let (family, protocol) = with.split_once(',').unwrap_or((with, "0"));
            let (stream, raw) = (1, 3);
            let kind = if family == "16" { raw } else { stream };
            answer(unsafe { socket(number(family), kind, number(protocol)) }.into())
        }
        "pair" => answer(unsafe { socketpair(1, number(with), 0, [0; 2].as_mut_ptr()) }.into()),
        "ioctl" => {
            let command = u64::from_str_radix(with, 16).unwrap();
            let null = File::open("/dev/null")?;
            answer(unsafe { ioctl(null.as_raw_fd(), command, c"x".as_ptr()) }.into())
        }
        "terminal" => answer(unsafe { posix_openpt(2) }.into()),
        #[cfg(target_arch = "x86_64")]
        "call-of-32-bits" => {
            let get_pid = 20_i64;
            let result: i64;
            unsafe {
                std::arch::asm!("int 0x80", inlateout("rax") get_pid => result,
                    out("r8") _, out("r9") _, out("r10") _, out("r11") _);
            }
            let result = result as i32;
            if result < 0 { Err(Error::from_raw_os_error(-result)) } else { Ok(()) }
        }
        "tcp" => TcpListener::bind("127.0.0.1:0").map(drop),
        "udp" => UdpSocket::bind("127.0.0.1:0")?.send_to(b"x", "127.0.0.1:9").map(drop),
        "shared-memory" => File::create("/dev/shm/cowork-probe").map(drop),
        "serve" => serve(UnixListener::bind(with)?),
        "serve-abstract" => {
            serve(UnixListener::bind_addr(&SocketAddr::from_abstract_name(with)?)?)
        }
        "child" => match Command::new("true").status()?.success() {
            true => Ok(()),
            false => Err(Error::other("a child failed")),
        },
        // Outside: holds a socket until its input ends.
        "hold" => {
            let _held = UnixListener::bind(with)?;
            println!("held");
            std::io::stdin().read_to_end(&mut Vec::new())?;
            std::process::exit(0)
        }
        other => panic!("{other}"),
    }
}

fn main() -> ExitCode {
    let what = args().nth(1).unwrap();
    let with = args().nth(2).unwrap_or_default();
    match attempt(&what, &with) {
        Ok(()) => {
            println!("{what} {with}: ok");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let number = error.raw_os_error().unwrap_or_default();
            println!("{what} {with}: error {number}");
            ExitCode::FAILURE
        }
    }
}
