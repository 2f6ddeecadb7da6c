//! A session that an older program began is brought to our format before its next stage begins.

use crate::artifact::{Artifact, SCHEMA_VERSION, render_json};
use crate::error::Error;
use crate::pipeline::Pipeline;
use crate::record::Recorded;
use crate::session::{KeptDraft, artifact_path, kept_draft};
use crate::stage::Stage;

impl Pipeline<'_> {
    /// Records `session.json` in the format of this program, where it has an older one. While a
    /// draft is under way it waits: drafts and reviews are about the tip they were made on.
    ///
    /// # Errors
    /// HEAD is elsewhere, a hook refuses, git fails.
    pub(crate) fn raise_format(&mut self, stage: Stage) -> anyhow::Result<()> {
        let Some(from) = self.session.older.clone() else { return Ok(()) };
        let tip = self.session.tip.clone();
        let recorder = self.recorder();
        let draft = kept_draft(self.env.git, &self.session, stage)?;
        if self.session.waiting().is_some()
            || matches!(draft, Some(KeptDraft::Live(_)))
            || recorder.files_lie_there(&tip)?
        {
            return Ok(());
        }
        let path = artifact_path(&self.session.name, Artifact::Session);
        let text = render_json(&self.session.file)?;
        let recorded = recorder.raise_format(&tip, &path, &text, (&from, SCHEMA_VERSION))?;
        match recorded {
            Some(Recorded::Done(commit)) => {
                self.note(format!(
                    "{path} is in format {SCHEMA_VERSION} now, it was in {from}: {}",
                    commit.short()
                ));
                self.advance(&commit)
            }
            Some(Recorded::Refused(why)) => Err(Error::repository(format!(
                "{path} is not brought to format {SCHEMA_VERSION}: {why}"
            ))
            .hint("mend what it complains about, then the same command again; nothing was changed")
            .into()),
            None => {
                self.warn(format!(
                    "{path} stays in format {from}: you have uncommitted changes there"
                ));
                Ok(())
            }
        }
    }
}
