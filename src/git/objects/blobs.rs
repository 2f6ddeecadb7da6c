//! Blobs of working tree files: their ids as `git add` would compute them, and optionally the blobs
//! in the object database. Computed in process if git would store the bytes unchanged, otherwise by
//! the binary.

use std::fs::{File, Metadata};
use std::io::Read as _;

use anyhow::{Context as _, Result};
use git2::ObjectType;

use crate::git::hashed_files::{HashedFiles, Reading};
use crate::git::plain::Sources;
use crate::git::{Git, Oid};
use crate::git::{loose, made, plain};

/// Larger files go through the binary, which does not load them into memory.
const LARGE: u64 = 8 * 1024 * 1024;

/// Whether hashed content is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Only the id is computed.
    No,
    /// The blob is written to the object database.
    Write,
}

/// The blob ids these working tree files would have if they were added now, with clean filters
/// applied; `None` for anything but a file or link. With [`Store::Write`], the blobs are written.
///
/// # Errors
/// Git fails, or a file cannot be read.
pub fn hash_files<S: AsRef<str>>(git: &Git, paths: &[S], store: Store) -> Result<Vec<Option<Oid>>> {
    let files = paths.iter().map(|path| (path.as_ref(), git.lies_at(path.as_ref())));
    hash_files_over(git, &files.collect::<Vec<_>>(), store, &[])
}

/// A path, and the metadata of what is there.
pub(crate) type AtPath<'a> = (&'a str, Option<Metadata>);

/// [`hash_files`] of files whose metadata was just read. If a file is hashed in process and its
/// blob equals the one at the same index in `base`, the blob already exists and is not written.
pub(crate) fn hash_files_over(
    git: &Git,
    paths: &[AtPath<'_>],
    store: Store,
    base: &[Option<Oid>],
) -> Result<Vec<Option<Oid>>> {
    let flag: &[&str] = if store == Store::Write { &["-w"] } else { &[] };
    let mut ids: Vec<Option<Oid>> = vec![None; paths.len()];
    let (mut files, mut input) = (Vec::new(), String::new());
    let mut sources = None;
    for (index, (path, meta)) in paths.iter().enumerate() {
        let Some(meta) = meta else { continue };
        if meta.is_file() {
            let sources = sources.get_or_insert_with(|| plain::plain_sources(git));
            let source_bytes = sources.as_ref().filter(|_| meta.len() <= LARGE);
            let base = base.get(index).and_then(Option::as_ref);
            ids[index] = source_bytes
                .and_then(|sources| file_in_process(git, path, meta, sources, store, base));
            if ids[index].is_none() {
                files.push(index);
                input.push_str(&quoted(path));
                input.push('\n');
            }
        } else if meta.is_symlink() {
            // `hash-object` would follow the link; git stores its target.
            let full = git.top.join(path);
            let target = std::fs::read_link(&full).with_context(|| format!("reading {path}"))?;
            let target = target.into_os_string().into_encoded_bytes();
            let hash = || git.write(["hash-object", "--stdin"]).args(flag);
            ids[index] = Some(match blob_in_process(git, &target, store) {
                Some(blob) => blob,
                None => hash().stdin(target).oid()?,
            });
        }
    }
    if files.is_empty() {
        return Ok(ids);
    }
    let hash = git.write(["hash-object", "--stdin-paths"]).args(flag).stdin(input);
    let text = hash.capture()?;
    for (index, line) in files.into_iter().zip(text.lines()) {
        ids[index] = Some(line.parse()?);
    }
    Ok(ids)
}

/// Reads files that git stores unchanged.
pub struct PlainFiles<'a> {
    git: &'a Git,
    sources: Option<Sources<'a>>,
}

impl<'a> PlainFiles<'a> {
    /// Reads the rules that apply to all files.
    pub fn of(git: &'a Git) -> Self {
        Self { git, sources: plain::plain_sources(git) }
    }

    /// The blob id of a file, and its bytes. If its id is known for certain from an earlier step
    /// and `has_seen` returns true for it, the file is not read again. `None` if there is no such
    /// file, or if only git can compute the id.
    pub fn read_unless(
        &self,
        path: &str,
        has_seen: impl Fn(&Oid) -> bool,
    ) -> Option<(Oid, Option<Vec<u8>>)> {
        let git = self.git;
        let meta = git.lies_at(path);
        let meta = meta.filter(|meta| meta.is_file() && meta.len() <= LARGE)?;
        let reading = Reading::of(&meta)?;
        if let Some(known) = git.caches.get::<HashedFiles>().get(path, &reading)
            && known.was_settled
            && has_seen(&known.blob)
        {
            return Some((known.blob, None));
        }
        let bytes = plain_bytes(git, path, &meta, self.sources.as_ref()?)?;
        let blob = blob_in_process(git, &bytes, Store::No)?;
        git.caches.get::<HashedFiles>().keep(path, reading, blob.clone(), false);
        Some((blob, Some(bytes)))
    }
}

/// The blob of a file whose bytes git stores unchanged. It is not written if it equals `base`.
fn file_in_process(
    git: &Git,
    path: &str,
    meta: &Metadata,
    sources: &Sources<'_>,
    store: Store,
    base: Option<&Oid>,
) -> Option<Oid> {
    let reading = Reading::of(meta)?;
    if let Some(known) = git.caches.get::<HashedFiles>().get(path, &reading) {
        if store == Store::No || known.exists || base == Some(&known.blob) {
            return Some(known.blob);
        }
        if made::write_objects(git, |fast| loose::freshen(&fast.folders, &known.blob)).is_some() {
            git.caches.get::<HashedFiles>().note_exists(path, &known.blob);
            return Some(known.blob);
        }
    }
    let bytes = plain_bytes(git, path, meta, sources)?;
    let base_blob = base
        .filter(|base| blob_in_process(git, &bytes, Store::No).is_some_and(|blob| blob == **base));
    let blob = base_blob.cloned().or_else(|| blob_in_process(git, &bytes, store))?;
    let exists = base_blob.is_some() || store == Store::Write;
    git.caches.get::<HashedFiles>().keep(path, reading, blob.clone(), exists);
    Some(blob)
}

/// The bytes of a file; `None` if git would store other ones.
fn plain_bytes(git: &Git, path: &str, meta: &Metadata, sources: &Sources<'_>) -> Option<Vec<u8>> {
    // One byte more, so that one call reads the content and a second one finds the end.
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).ok()? + 1);
    let file = File::open(git.top.join(path)).ok()?;
    // With `take`, `read_to_end` does not ask for the size again.
    file.take(u64::MAX).read_to_end(&mut bytes).ok()?;
    sources.is_plain(path, &bytes).then_some(bytes)
}

fn blob_in_process(git: &Git, bytes: &[u8], store: Store) -> Option<Oid> {
    match store {
        Store::No => git.in_process(|git| git.blob_id(bytes)),
        Store::Write => made::write_objects(git, |git| git.put(ObjectType::Blob, bytes)),
    }
}

/// The mode git gives to a file or link.
pub(crate) fn mode(meta: &Metadata) -> u32 {
    if meta.is_symlink() {
        return 0o120_000;
    }
    #[cfg(unix)]
    let runs = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o100 != 0;
    #[cfg(not(unix))]
    let runs = false;
    if runs { 0o100_755 } else { 0o100_644 }
}

/// A path in the format of `--stdin-paths`: C-quoted if necessary.
fn quoted(path: &str) -> String {
    if !path.starts_with('"') && !path.contains(['\n', '\r']) {
        return path.to_owned();
    }
    let mut text = String::from("\"");
    for c in path.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            _ => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::snapshot;
    use crate::git::test_repo::Repo;

    #[test]
    fn a_file_that_is_rewritten_at_once_is_read_again() {
        let (repo, name) = (Repo::with_commit(), "a");
        let git = repo.git();
        for round in 0..300 {
            // Of the same size, and often with the same time.
            repo.file(name, &format!("{round:04}"));
            let (first, bytes) = PlainFiles::of(&git).read_unless(name, |_| false).unwrap();
            assert_eq!(bytes.unwrap(), format!("{round:04}").as_bytes());
            repo.file(name, &format!("{:04}", round + 5_000));
            let (now, _) = PlainFiles::of(&git).read_unless(name, |_| true).unwrap();
            assert_ne!(now, first, "{round}");
        }
    }

    #[test]
    fn a_file_whose_content_was_seen_is_not_read_again() {
        let repo = Repo::with_commit();
        let git = repo.git();
        repo.file("a", "1");
        let files = PlainFiles::of(&git);
        let (blob, _) = files.read_unless("a", |_| false).unwrap();
        assert_eq!(blob.as_str(), by_binary(&repo, "a"));
        // Other tests of this process may end the `Moment` in between.
        let again = (0..1_000).any(|_| {
            files.read_unless("a", |_| false).unwrap();
            files.read_unless("a", |seen| *seen == blob) == Some((blob.clone(), None))
        });
        assert!(again);
        assert_eq!(files.read_unless("nope", |_| true), None);
        repo.run(&["config", "core.autocrlf", "input"]);
        repo.file("a", "1\r\n");
        assert_eq!(
            PlainFiles::of(&git).read_unless("a", |_| true),
            None,
            "only git can compute the id"
        );
    }

    #[test]
    fn files_are_hashed_as_git_would() {
        let repo = Repo::with_commit();
        repo.file("\"q\"", "1");
        repo.file("a\nb\\c", "2");
        repo.file("dir/x", "3");
        #[cfg(unix)]
        std::os::unix::fs::symlink("no/where", repo.path("link")).unwrap();
        let paths = ["\"q\"", "dir", "a\nb\\c", "nope", "link", "README.md"];
        let ids = hash_files(&repo.git(), &paths, Store::Write).unwrap();
        repo.commit_all("all");
        let git = repo.git();
        for (path, id) in paths.iter().zip(ids) {
            assert_eq!(id, snapshot::blob_id(&git, &repo.head(), path).unwrap(), "{path}");
        }
    }

    /// The id that the binary computes, one file at a time.
    fn by_binary(repo: &Repo, path: &str) -> String {
        repo.run(&["hash-object", "--", path])
    }

    #[test]
    fn files_that_git_would_convert_are_hashed_by_git() {
        // Ways to give a file an attribute; the attributes follow below.
        type Put = fn(&Repo, &str);
        let puts: [Put; 5] = [
            |repo, line| repo.file("deep/.gitattributes", line),
            |repo, line| repo.file(".gitattributes", &format!("[attr]own {line}\n* own\n")),
            |repo, line| repo.file(".git/info/attributes", line),
            |repo, line| {
                repo.file("../attributes", line);
                let file = repo.root().join("attributes");
                repo.run(&["config", "core.attributesFile", file.to_str().unwrap()]);
            },
            |repo, line| {
                // Only the index contains it: git reads it from there.
                repo.file(".gitattributes", line);
                repo.run(&["add", ".gitattributes"]);
                std::fs::remove_file(repo.path(".gitattributes")).unwrap();
            },
        ];
        let kinds =
            ["filter=up", "ident", "text", "text=auto", "eol=lf", "working-tree-encoding=UTF-16"];
        for (how, put) in puts.into_iter().enumerate() {
            for kind in kinds {
                let repo = Repo::with_commit();
                repo.run(&["config", "filter.up.clean", "tr a-z A-Z"]);
                let line = if how == 1 { kind.to_owned() } else { format!("\"a *\" {kind}\n") };
                put(&repo, &line);
                let text: &[u8] =
                    if kind.contains("16") { b"\xff\xfea\0" } else { b"$Id: 1 $\r\nab\r\n" };
                std::fs::create_dir_all(repo.path("deep")).unwrap();
                std::fs::write(repo.path("deep/a b"), text).unwrap();
                std::fs::write(repo.path("deep/a"), if how == 1 { text } else { b"plain\n" })
                    .unwrap();
                let git = repo.git();
                for path in ["deep/a b", "deep/a"] {
                    let id = hash_files(&git, &[path], Store::No).unwrap();
                    assert_eq!(id[0].as_ref().unwrap().as_str(), by_binary(&repo, path), "{kind}");
                    let tree = snapshot::tree(&git, &repo.head(), &[path]).unwrap();
                    assert_eq!(
                        snapshot::blob_ids(&git, &tree, &[path]).unwrap(),
                        id,
                        "{how}: {kind}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_changed_line_ending_configuration_applies_at_once() {
        let repo = Repo::with_commit();
        repo.file("a", "1\r\n2\r\n");
        let git = repo.git();
        let hash = || hash_files(&git, &["a"], Store::No).unwrap().remove(0).unwrap().to_string();
        assert_eq!(hash(), by_binary(&repo, "a"));
        let raw = hash();
        repo.run(&["config", "core.autocrlf", "input"]);
        assert_eq!(hash(), by_binary(&repo, "a"));
        assert_ne!(hash(), raw);
    }
}
