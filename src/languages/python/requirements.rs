//! Reads requirement files; only packages that can be fetched without running foreign code are
//! used.

use std::path::Path;

use crate::languages::manager::ManifestFiles;

/// True for the name of a requirement file: `requirements.txt`, `requirements-dev.txt`,
/// `dev-requirements.txt`.
pub(super) fn is_file(name: &str) -> bool {
    name.ends_with(".txt") && name.contains("requirements")
}

/// Returns the names of the requirement files in a directory.
pub(super) fn files<'a>(place: &Path, files: &'a ManifestFiles) -> impl Iterator<Item = &'a str> {
    let paths = files.keys().filter(move |path| path.parent() == Some(place));
    paths.filter_map(|path| path.file_name()?.to_str()).filter(|name| is_file(name))
}

/// Returns the lines of the requirement files in a directory that name a package from an index, and
/// the options for indexes. Local folders and repositories are left out, because building them
/// would run code with network access; so are references to other files, which are read anyway.
pub(super) fn packages(place: &Path, files: &ManifestFiles) -> String {
    let texts = self::files(place, files).filter_map(|name| files.get(&place.join(name)));
    let mut packages = false;
    let mut lines = String::new();
    for line in texts.flat_map(|text| text.lines()) {
        let word = line.trim_start();
        let option = word.starts_with('-');
        let index = ["--index-url", "--extra-index-url", "-i ", "--no-index", "--hash", "--pre"];
        let package = word.starts_with(|c: char| c.is_ascii_alphanumeric()) && !is_elsewhere(word);
        packages |= package;
        if package || option && index.iter().any(|option_name| word.starts_with(option_name)) {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    if packages { lines } else { String::new() }
}

/// True for a path, an archive or a repository instead of a name.
fn is_elsewhere(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or(line);
    let name = line.split([';', ' ', '=', '<', '>', '~', '!']).next().unwrap_or(line);
    line.contains("://") || name.contains(['/', '\\']) || line.contains("@ file:")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn only_packages_of_an_index_are_fetched() {
        let text = "# all\nflask>=2,<3\n\nrequests==2.0 \\\n    --hash=sha256:00\n-e .\n./lib\n\
                    -r requirements-dev.txt\ngit+https://example.org/x\nx @ https://example.org/x.zip\n\
                    --index-url https://example.org/simple\nsub/dir\ncolorama; sys_platform == 'win32'\n";
        let files = ManifestFiles::from([
            (PathBuf::from("requirements.txt"), text.to_owned()),
            (
                PathBuf::from("requirements-dev.txt"),
                "pytest # see https://example.org\n".to_owned(),
            ),
            (PathBuf::from("other/requirements.txt"), "nothing\n".to_owned()),
        ]);
        assert_eq!(
            packages(Path::new(""), &files),
            "pytest # see https://example.org\nflask>=2,<3\nrequests==2.0 \\\n    --hash=sha256:00\n\
             --index-url https://example.org/simple\ncolorama; sys_platform == 'win32'\n"
        );
        let local = ManifestFiles::from([(PathBuf::from("requirements.txt"), "-e .\n".to_owned())]);
        assert_eq!(packages(Path::new(""), &local), "");
    }
}
