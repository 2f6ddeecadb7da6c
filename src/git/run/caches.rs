//! What the files of this module remember about a repository: each keeps values of types of its
//! own, so that [`crate::git::Git`] does not need to know them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// One value of each type, shared by all clones. Any two compare equal: they do not affect whether
/// two [`crate::git::Git`]s are equal.
#[derive(Clone, Default)]
pub(crate) struct Caches(Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Caches {
    /// The value of this type, at first its default.
    pub(crate) fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::clone(value).downcast().unwrap_or_default()
    }
}

impl fmt::Debug for Caches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Caches")
    }
}

impl PartialEq for Caches {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Caches {}
