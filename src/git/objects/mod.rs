//! The object database: objects read and written, in process where that gives what git would, otherwise
//! by the binary.

pub mod binary;
pub mod blobs;
pub mod bounded;
pub mod cat_file;
pub mod fallback;
pub mod files;
pub mod filter;
pub mod gained;
pub mod hashed_files;
pub mod index;
pub mod kept_objects;
pub mod libgit2;
pub mod loose;
pub mod made;
pub mod many;
pub mod object_text;
pub mod plain;
pub mod reader;
pub mod snapshot;
pub mod tree_diff;
pub mod trees;
pub mod walk;
