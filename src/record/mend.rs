//! Mending labels: tags that point elsewhere and drafts nobody can take up give way. What they
//! pointed to is kept as an attempt first, in the same transaction.

use super::{Recorder, point};
use crate::git::{RefInfo, RefTransaction};
use crate::session::RefNames;

impl Recorder<'_> {
    /// Takes these refs of the session away; answers with the attempt that keeps each.
    pub fn set_aside(&self, refs: &[RefInfo]) -> anyhow::Result<Vec<String>> {
        let mut number = self.attempt_numbers()?.into_iter().max().unwrap_or(0);
        let mut transaction = RefTransaction::new("cowork: verify --fix");
        let mut kept = Vec::new();
        for info in refs {
            number += 1;
            let attempt = RefNames::attempt(self.name, number);
            transaction = transaction.create(&attempt, &info.oid);
            transaction = transaction.delete(&info.name, &info.object);
            kept.push(format!("{} is now {attempt}", info.name));
        }
        point("set-aside.before-refs");
        transaction.commit(self.git)?;
        point("set-aside.after-refs");
        Ok(kept)
    }
}
