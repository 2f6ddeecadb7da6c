//! Sockets with a path that a program listens on: neither a read-only mount nor, before its version
//! 9, Landlock keeps anybody from them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The fields before the path in a line of `/proc/net/unix`; the last of them is the inode.
/// Source: `proc_pid_net(5)`.
const FIELDS: usize = 7;

/// Where those of this network namespace are. One that was bound by a relative name is looked for
/// where its owners are, as far as they can be seen; one that was moved is not found.
pub(super) fn live() -> io::Result<BTreeSet<PathBuf>> {
    let (mut found, relative) = parse(&fs::read("/proc/self/net/unix")?);
    if !relative.is_empty() {
        for process in fs::read_dir("/proc")?.flatten() {
            of_process(&process.path(), &relative, &mut found);
        }
    }
    Ok(found)
}

/// Paths, and relative names by the inodes of their sockets.
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
    fn paths_and_relative_names_are_found_and_abstract_ones_are_not() {
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
    fn one_that_is_bound_now_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(live().unwrap().contains(&path));
    }
}
