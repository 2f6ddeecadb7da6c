//! Caches for the bytes of objects, and for trees that were made. libgit2 caches an object either as bytes or parsed, and does
//! not cache blobs: reading an object in the other form, or a blob again, would read the file
//! again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use git2::{ObjectType, Oid};

use crate::moment::Moment;

/// The maximum number of bytes in the cache, and of one object in it.
const MOST: usize = 1024 * 1024;
const LARGEST: usize = 64 * 1024;

/// An object with a given id never changes, so cached objects stay valid.
#[derive(Default)]
pub(crate) struct KeptObjects(RefCell<Kept>);

#[derive(Default)]
struct Kept {
    objects: HashMap<Oid, (ObjectType, Arc<[u8]>), BuildHasherDefault<FirstBytes>>,
    bytes: usize,
}

/// Takes the first bytes of an id as its hash, because an id is a hash already.
#[derive(Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        // A single byte says whether it is SHA-1 or SHA-256.
        self.0 = bytes.first_chunk().map_or(self.0, |first| u64::from_ne_bytes(*first));
    }

    // The length of the id.
    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

impl KeptObjects {
    pub(crate) fn get(&self, id: Oid) -> Option<(ObjectType, Arc<[u8]>)> {
        self.0.borrow().objects.get(&id).cloned()
    }

    /// Caches an object unless it is large. If there is no room, the others are dropped.
    pub(crate) fn keep(&self, id: Oid, kind: ObjectType, bytes: &[u8]) {
        if bytes.len() > LARGEST {
            return;
        }
        let mut cache = self.0.borrow_mut();
        if cache.bytes + bytes.len() > MOST {
            *cache = Kept::default();
        }
        cache.bytes += bytes.len();
        cache.objects.insert(id, (kind, bytes.into()));
    }
}

/// The new state of a path in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Becomes {
    /// A file or link of this mode.
    File(u32, crate::git::Oid),
    /// No file; a folder of this name stays.
    Gone,
}

/// The trees made since the last moment at which somebody else may have acted, keyed by the tree
/// that was changed and the changes.
#[derive(Default)]
pub(crate) struct KeptTrees(RefCell<Option<(Moment, Made)>>);

/// The trees that were made, keyed by tree and changes.
type Made = HashMap<Vec<u8>, Option<Oid>>;

impl KeptTrees {
    pub(crate) fn question(tree: Option<Oid>, changes: &[(&str, &Becomes)]) -> Vec<u8> {
        let mut question = tree.map(|id| id.as_bytes().to_vec()).unwrap_or_default();
        for (path, becomes) in changes {
            // Paths do not contain a NUL.
            question.extend([path.as_bytes(), b"\0"].concat());
            match becomes {
                Becomes::File(mode, blob) => question.extend(format!("{mode:o} {blob}\0").bytes()),
                Becomes::Gone => question.extend(b"gone\0"),
            }
        }
        question
    }

    pub(crate) fn get(&self, question: &[u8]) -> Option<Option<Oid>> {
        let cache = self.0.borrow();
        cache.as_ref().filter(|(at, _)| at.lasts())?.1.get(question).copied()
    }

    pub(crate) fn keep(&self, now: Moment, question: Vec<u8>, made: Option<Oid>) {
        let mut cache = self.0.borrow_mut();
        let (_, known) = match cache.take() {
            Some(found) if found.0 == now => cache.insert(found),
            _ => cache.insert((now, HashMap::new())),
        };
        known.insert(question, made);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: usize) -> Oid {
        Oid::from_str(&format!("{n:040x}")).unwrap()
    }

    #[test]
    fn different_ids_have_different_hashes() {
        use std::hash::BuildHasher as _;
        let hash = |id: &str| {
            BuildHasherDefault::<FirstBytes>::default().hash_one(Oid::from_str(id).unwrap())
        };
        let one = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(hash(one).to_ne_bytes(), [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]);
        assert_ne!(hash(one), hash("1123456789abcdef0123456789abcdef01234567"));
    }

    #[test]
    fn objects_are_cached_and_their_size_is_bounded() {
        let kept = KeptObjects::default();
        for n in 0..100 {
            kept.keep(id(n), ObjectType::Blob, &[0; LARGEST]);
            let (kind, bytes) = kept.get(id(n)).unwrap();
            assert_eq!((kind, bytes.len()), (ObjectType::Blob, LARGEST));
            let all: usize = kept.0.borrow().objects.values().map(|object| object.1.len()).sum();
            assert!(all <= MOST && all == kept.0.borrow().bytes, "{all} bytes");
        }
        kept.keep(id(100), ObjectType::Tree, &[0; LARGEST + 1]);
        assert!(kept.get(id(100)).is_none() && kept.get(id(99)).is_some());
    }
}
