//! Notes that keep blobs: the note of a blob is the blob itself, so it stays as long as the notes
//! ref does, can be read by `git notes show`, and two histories of such notes merge without a
//! conflict.

use anyhow::Result;

use super::{Git, Oid};

impl Git {
    /// The objects that have a note in `refs/notes/NAME`; none where the ref does not exist.
    ///
    /// # Errors
    /// Git fails.
    pub fn noted(&self, name: &str) -> Result<Vec<Oid>> {
        let list = self.read(["notes", "--ref", name, "list"]).capture()?;
        // `NOTE OBJECT`
        let objects = list.lines().filter_map(|line| line.split_once(' '));
        objects.map(|(_, object)| Ok(object.parse()?)).collect()
    }

    /// Makes a blob its own note in `refs/notes/NAME`. `blob` may be abbreviated.
    ///
    /// # Errors
    /// There is no such blob, or the ref cannot be written.
    pub fn note_blob(&self, name: &str, blob: &str) -> Result<()> {
        let add = self.write(["notes", "--ref", name, "add", "-C", blob, blob]);
        let output = add.output()?;
        // It also fails where the object has its note, which costs less than asking each time.
        let noted = || self.read(["notes", "--ref", name, "list", blob]).output();
        if output.success() || noted()?.success() {
            Ok(())
        } else {
            Err(add.failure(&output).into())
        }
    }

    /// Brings a remote's `refs/notes/NAME` into `refs/notes/INTO`, whatever that was before. False
    /// where the remote has no such notes: then `INTO` does not exist either.
    ///
    /// # Errors
    /// The remote does not answer.
    pub fn fetch_notes(
        &self,
        remote: &str,
        name: &str,
        into: &str,
        attended: bool,
    ) -> Result<bool> {
        let into = format!("refs/notes/{into}");
        self.write(["update-ref", "-d", &into]).checked()?;
        let prompt = if attended { "1" } else { "0" };
        let full = format!("refs/notes/{name}");
        let ask = self.read(["ls-remote", "--", remote, &full]).env("GIT_TERMINAL_PROMPT", prompt);
        if ask.checked()?.stdout.is_empty() {
            return Ok(false);
        }
        let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", remote];
        let fetch = self.write(fetch).arg(format!("+{full}:{into}"));
        fetch.env("GIT_TERMINAL_PROMPT", prompt).checked()?;
        Ok(true)
    }

    /// Takes the notes of `refs/notes/FROM` into `refs/notes/NAME`.
    ///
    /// # Errors
    /// Git fails.
    pub fn merge_notes(&self, name: &str, from: &str) -> Result<()> {
        self.write(["notes", "--ref", name, "merge", "--quiet", "--strategy=union", from])
            .checked()?;
        Ok(())
    }

    /// Deletes `refs/notes/NAME`; nothing where it does not exist.
    ///
    /// # Errors
    /// Git fails.
    pub fn delete_notes(&self, name: &str) -> Result<()> {
        self.write(["update-ref", "-d", &format!("refs/notes/{name}")]).checked()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;

    #[test]
    fn notes_keep_blobs_and_two_histories_merge() {
        let repo = Repo::with_commit();
        let git = repo.git();
        assert!(git.noted("logs").unwrap().is_empty());
        let blobs = ["a", "b", "c"].map(|text| git.store_blob(text).unwrap());
        for _ in 0..2 {
            git.note_blob("logs", blobs[0].abbreviated()).unwrap();
        }
        git.note_blob("other", blobs[1].as_str()).unwrap();
        git.merge_notes("new", "other").unwrap();
        assert_eq!(git.noted("new").unwrap(), [blobs[1].clone()]);
        git.merge_notes("logs", "other").unwrap();
        let mut both = blobs[..2].to_vec();
        both.sort();
        assert_eq!(git.noted("logs").unwrap(), both);
        git.delete_notes("other").unwrap();
        repo.run(&["gc", "--quiet", "--prune=now"]);
        assert_eq!(repo.run(&["notes", "--ref", "logs", "show", blobs[1].as_str()]), "b");
        assert!(git.note_blob("logs", "1234567890").is_err());
    }

    #[test]
    fn a_remote_may_have_no_notes() {
        let repo = Repo::with_commit();
        let git = repo.git();
        repo.run(&["init", "-q", "--bare", "../far.git"]);
        repo.run(&["remote", "add", "far", "../far.git"]);
        let blob = git.store_blob("a").unwrap();
        git.note_blob("logs", blob.as_str()).unwrap();
        assert!(!git.fetch_notes("far", "logs", "theirs", false).unwrap());
        repo.run(&["push", "-q", "far", "refs/notes/logs"]);
        assert!(git.fetch_notes("far", "logs", "theirs", false).unwrap());
        assert_eq!(git.noted("theirs").unwrap(), [blob]);
        assert!(git.fetch_notes("nowhere", "logs", "theirs", false).is_err());
    }
}
