//! Reads an npm lock file without npm: whether it is up to date with the manifest, and whether its
//! packages are installed.

use std::path::Path;

use serde_json::Value;

use crate::languages::manager::ManifestFiles;

/// npm's own list of the packages installed in `node_modules`, in the format of the lock file (npm
/// 7 and newer).
const INSTALLED: &str = "node_modules/.package-lock.json";

fn lock(place: &Path, files: &ManifestFiles) -> Option<Value> {
    let text = ["npm-shrinkwrap.json", "package-lock.json"]
        .iter()
        .find_map(|name| files.get(&place.join(name)))?;
    serde_json::from_str(text).ok()
}

/// True if there is a lock file and it has the dependencies of the current manifest: `npm ci`
/// rejects any other lock file.
pub(super) fn is_current(place: &Path, files: &ManifestFiles) -> bool {
    let manifest = files.get(&place.join("package.json"));
    let manifest: Option<Value> = manifest.and_then(|text| serde_json::from_str(text).ok());
    let (Some(lock), Some(manifest)) = (lock(place, files), manifest) else { return false };
    let root = &lock["packages"][""];
    let dependencies = |value: &Value| value.as_object().filter(|table| !table.is_empty()).cloned();
    root.is_object()
        && ["dependencies", "devDependencies", "optionalDependencies"]
            .into_iter()
            .all(|key| dependencies(&root[key]) == dependencies(&manifest[key]))
}

/// True if all packages of an up-to-date lock file are installed. Other problems that `npm ls`
/// reports (missing peer dependencies, extraneous packages) are ignored, because fetching would not
/// fix them. False if this cannot be determined.
pub(super) fn is_installed(root: &Path, place: &Path, files: &ManifestFiles) -> bool {
    if !is_current(place, files) {
        return false;
    }
    let text = std::fs::read_to_string(root.join(place).join(INSTALLED)).ok();
    let installation: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
    let (Some(lock), Some(installed)) = (lock(place, files), installation) else { return false };
    let Some(packages) = lock["packages"].as_object() else { return false };
    packages.iter().all(|(path, package)| {
        let is = |key: &str| package[key] == true;
        // Skip members of the workspace and packages for other systems.
        let elsewhere = !path.contains("node_modules/") || is("optional") || is("devOptional");
        elsewhere
            || is("link")
            || installed["packages"][path]["version"] == package["version"]
                && root.join(place).join(path).is_dir()
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn installed_packages_are_compared_with_the_lock_file() {
        let manifest = r#"{"dependencies":{"a":"1"},"devDependencies":{}}"#;
        let lock = r#"{"packages":{"":{"dependencies":{"a":"1"}},"web":{"version":"0"},
            "node_modules/web":{"link":true},"node_modules/a":{"version":"1.0.0"},
            "node_modules/mac":{"version":"1.0.0","optional":true}}}"#;
        let files = |manifest: &str| {
            ManifestFiles::from([
                (PathBuf::from("package.json"), manifest.to_owned()),
                (PathBuf::from("package-lock.json"), lock.to_owned()),
            ])
        };
        let tree = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let is = |manifest: &str| is_installed(tree.path(), Path::new(""), &files(manifest));
        assert!(!is(manifest));
        let of = |version: &str| {
            format!(r#"{{"packages":{{"node_modules/a":{{"version":"{version}"}}}}}}"#)
        };
        put(INSTALLED, &of("1.0.0"));
        assert!(!is(manifest), "the folder is not there");
        put("node_modules/a/package.json", "{}");
        assert!(is(manifest));
        assert!(!is(r#"{"dependencies":{"a":"1","b":"1"}}"#), "the lock file is older");
        put(INSTALLED, &of("0.9.0"));
        assert!(!is(manifest));
    }
}
