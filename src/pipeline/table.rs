//! The stage table, as the pipeline's steps name it.

pub use crate::stages::{Approves, RoleSpec, Side, StageSpec, TABLE, Work, row, row_of};
