//! UNIX sockets with a path that a program listens on: a read-only mount does not block connections
//! to them, nor does Landlock before version 9.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The fields before the path in a line of `/proc/net/unix`; the last of them is the inode.
/// Source: `proc_pid_net(5)`.
const FIELDS: usize = 7;

/// Returns the paths of the sockets in this network namespace. A socket bound to a relative path is
/// searched for in its owners' current directories, if these are visible; a socket that was moved
/// is not found.
pub(super) fn live() -> io::Result<BTreeSet<PathBuf>> {
    let (mut found, relative) = parse(&fs::read("/proc/self/net/unix")?);
    if !relative.is_empty() {
        for process in fs::read_dir("/proc")?.flatten() {
            of_process(&process.path(), &relative, &mut found);
        }
    }
    Ok(found)
}

/// Returns absolute paths, and relative paths by socket inode.
fn parse(table: &[u8]) -> (BTreeSet<PathBuf>, BTreeMap<Vec<u8>, PathBuf>) {
    let (mut paths, mut relative) = (BTreeSet::new(), BTreeMap::new());
    for line in table.split(|byte| *byte == b'\n').skip(1) {
        let mut rest = line;
        let mut inode = &line[..0];
        for _ in 0..FIELDS {
            rest = rest.trim_ascii_start();
            let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
            (inode, rest) = rest.split_at(end);
        }
        let path = Path::new(OsStr::from_bytes(rest.strip_prefix(b" ").unwrap_or_default()));
        if path.is_absolute() {
            paths.insert(path.to_owned());
        } else if !path.as_os_str().is_empty() && !path.as_os_str().as_bytes().starts_with(b"@") {
            relative.insert([b"socket:[", inode, b"]"].concat(), path.to_owned());
        }
    }
    (paths, relative)
}

fn of_process(
    process: &Path,
    relative: &BTreeMap<Vec<u8>, PathBuf>,
    found: &mut BTreeSet<PathBuf>,
) {
    let Ok(cwd) = fs::read_link(process.join("cwd")) else { return };
    for open in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
        let Ok(to) = fs::read_link(open.path()) else { continue };
        found.extend(relative.get(to.as_os_str().as_bytes()).map(|name| cwd.join(name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abstract_sockets_are_ignored() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a b \n\
            0000000000000000: 00000003 00000000 00000000 0001 03 1\n\
            0000000000000000: 00000002 00000000 00010000 0001 01    77 @/tmp/.X11-unix/X0\n\
            0000000000000000: 00000002 00000000 00000000 0002 01 678 sock\n";
        let (paths, relative) = parse(table);
        assert_eq!(paths, BTreeSet::from(["/run/a b ".into()]));
        assert_eq!(relative, BTreeMap::from([(b"socket:[678]".to_vec(), "sock".into())]));
    }

    #[test]
    fn a_bound_socket_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(live().unwrap().contains(&path));
    }
}
