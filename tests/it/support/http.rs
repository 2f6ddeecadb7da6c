//! As much of HTTP as a server needs that handles one request at a time.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A request.
pub struct Asked {
    /// The request's target with its parameters; for a proxy, the whole URL.
    pub target: String,
    /// The target without host and parameters.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// Reads a request to its end.
pub fn read(stream: &TcpStream) -> std::io::Result<Asked> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let path = target.split('?').next().unwrap_or_default();
    let host = path.strip_prefix("http://");
    let path = host.and_then(|rest| rest.find('/').map(|at| &rest[at..])).unwrap_or(path);
    let path = path.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.insert(name.to_lowercase(), value.trim().to_owned());
            }
            None => break,
        }
    }
    let length = headers.get("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Asked { target, path, headers, body })
}

/// Sends a response in JSON.
pub fn respond(
    out: &mut TcpStream,
    code: u16,
    headers: &[(String, String)],
    body: &str,
) -> std::io::Result<()> {
    write!(out, "HTTP/1.1 {code} Scripted\r\ncontent-type: application/json\r\n")?;
    for (name, value) in headers {
        write!(out, "{name}: {value}\r\n")?;
    }
    write!(out, "content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}
