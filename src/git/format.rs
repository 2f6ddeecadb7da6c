//! The format of a repository: the length of its ids, and where it keeps references
//! (<https://git-scm.com/docs/gitrepository-layout>, `extensions` in git-config(1)).

use std::path::Path;

use git2::ObjectFormat;

/// What a repository's own configuration says about its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Hexadecimal digits of an id.
    pub(super) digits: usize,
    /// Each reference is in a file or in `packed-refs`, and not in tables (reftable).
    pub(super) has_ref_files: bool,
    /// No other extension is set.
    #[cfg(unix)]
    pub(super) is_plain: bool,
}

impl Format {
    /// The kind of ids.
    pub(super) fn of_objects(self) -> ObjectFormat {
        match self.digits {
            64 => ObjectFormat::Sha256,
            _ => ObjectFormat::Sha1,
        }
    }

    /// The format of the repository with this shared git directory; the old one if there is none
    /// yet.
    pub(super) fn of(common_dir: &Path) -> Self {
        let config = std::fs::read(common_dir.join("config")).unwrap_or_default();
        Self::named_in(&super::output::lossy(&config))
    }

    /// The format that this configuration file names. References are taken for files only if no
    /// extension is set that this program does not know.
    pub(super) fn named_in(config: &str) -> Self {
        let (mut digits, mut has_ref_files, mut is_plain) = (40, true, true);
        let mut section = String::new();
        for line in config.lines() {
            let line: String = line.chars().filter(|c| !c.is_whitespace()).collect();
            let line = line.replace('"', "").to_lowercase();
            let setting = match line.strip_prefix('[').and_then(|line| line.split_once(']')) {
                Some((name, rest)) => {
                    name.clone_into(&mut section);
                    rest
                }
                None => &line,
            };
            if section != "extensions" || setting.is_empty() || setting.starts_with(['#', ';']) {
                continue;
            }
            match setting.split_once('=').unwrap_or((setting, "")) {
                ("objectformat", "sha1") | ("refstorage", "files") => {}
                ("objectformat", "sha256") => digits = 64,
                ("refstorage", "reftable") => has_ref_files = false,
                (
                    "noop" | "partialclone" | "preciousobjects" | "relativeworktrees"
                    | "worktreeconfig",
                    _,
                ) => is_plain = false,
                _ => (has_ref_files, is_plain) = (false, false),
            }
        }
        Self {
            digits,
            has_ref_files,
            #[cfg(unix)]
            is_plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_the_format() {
        let of = |text: &str| {
            let found = Format::named_in(text);
            (found.digits, found.has_ref_files)
        };
        assert_eq!(of("[core]\n\tbare = false\n[remote \"extensions\"]\n\tx = 1\n"), (40, true));
        for (settings, digits, has_ref_files) in [
            ("objectFormat = sha256", 64, true),
            ("refStorage = files", 40, true),
            ("refStorage = reftable", 40, false),
            ("refstorage=\"files\"\n; comment\n\tobjectformat = \"sha256\"", 64, true),
            ("worktreeConfig = true\n\tpreciousObjects", 40, true),
            ("refStorage = files:///elsewhere", 40, false),
            ("neverHeardOf = true", 40, false),
        ] {
            let config = format!("[core]\n\tx = y\n[Extensions]\n\t{settings}\n[user]\nz = 1\n");
            assert_eq!(of(&config), (digits, has_ref_files), "{settings}");
            let config = format!("[extensions] {settings}");
            assert_eq!(of(&config), (digits, has_ref_files), "{settings}");
        }
    }
}
