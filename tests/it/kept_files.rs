//! The limits of what is kept of a person's files around commands, and what is said of the rest.

use crate::meanwhile::{code, first_task_runs};
use crate::support::Sandbox;

/// A folder that git ignores as a whole is not copied. One that a command made is nobody's.
#[test]
fn a_person_is_told_once_which_ignored_folder_a_command_emptied() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".gitignore", "node_modules/\nbuilt/\nkept/\n", "ignore");
    sandbox.write("node_modules/a/index.js", "a\n");
    sandbox.write("kept/one", "1\n");
    std::fs::create_dir(sandbox.path("node_modules/.cache")).unwrap();
    first_task_runs(
        &sandbox,
        "mkdir built && echo a >built/a; rm -r node_modules/a kept/one; echo 2 >kept/two; rm -r built",
    );
    let told = sandbox.auto(&[]).exits(0).stderr;
    let emptied = "a command emptied or deleted node_modules/, which git ignores";
    assert_eq!(told.matches(emptied).count(), 1, "{told}");
    assert_eq!(told.matches("emptied or deleted").count(), 1, "{told}");
}

/// Copies of data would fill the disk. The smaller files have their copies, whatever the others weigh.
#[test]
fn uncommitted_files_that_are_too_large_are_named_before_a_command() {
    const MIB: u64 = 1024 * 1024;
    let sandbox = Sandbox::new();
    let data = |name: &str, size: u64| {
        sandbox.write(&format!("data/{name}"), name);
        let file = std::fs::File::options().write(true).open(sandbox.path(&format!("data/{name}")));
        file.unwrap().set_len(size).unwrap();
    };
    (0..25).for_each(|number| data(&format!("{number:02}"), 9 * MIB));
    data("large", 10 * MIB + 1);
    sandbox.write("notes.txt", "mine\n");
    first_task_runs(&sandbox, "echo over >notes.txt; rm data/00");
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert_eq!(sandbox.read("notes.txt"), "mine\n");
    assert_eq!(sandbox.path("data/00").metadata().unwrap().len(), 9 * MIB, "{told}");
    // 11 of the 25 and the notes fit.
    let named = "is too large to be copied (more than 10 MiB, or 100 MiB with smaller files)";
    assert_eq!(told.matches(named).count(), 10, "{told}");
    assert!(told.contains("5 more files are too large to be copied"), "{told}");
    let aside = sandbox.path(".git/cowork/sessions/todo/set-aside");
    let copies = std::fs::read_dir(aside).unwrap().map(|entry| entry.unwrap().metadata().unwrap());
    assert!(copies.map(|copy| copy.len()).sum::<u64>() < 100 * MIB);
    let sizes = ["cat-file", "--batch-all-objects", "--batch-check=%(objectsize)"];
    let objects = sandbox.git(&sizes).lines().map(|size| size.parse::<u64>().unwrap()).sum::<u64>();
    assert!(objects < 100 * MIB, "{objects}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_put_back_has_its_extended_attributes() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", "mine\n");
    let file = sandbox.path("notes.txt");
    setxattr(&file, "user.tag", b"important", XattrFlags::empty()).unwrap();
    first_task_runs(&sandbox, "rm notes.txt; echo over >notes.txt");
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert_eq!(sandbox.read("notes.txt"), "mine\n");
    let mut value = [0; 32];
    let length = getxattr(&file, "user.tag", &mut value[..]).unwrap();
    assert_eq!(&value[..length], b"important");
}

/// As on a system with Latin-1.
#[cfg(target_os = "linux")]
#[test]
fn commands_are_confined_in_a_repository_whose_path_is_not_utf8() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut sandbox = Sandbox::new();
    sandbox.write("notes.txt", "mine\n");
    let odd = sandbox.root().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::rename(sandbox.repo(), &odd).unwrap();
    std::os::unix::fs::symlink(&odd, sandbox.repo()).unwrap();
    sandbox.enter(".");
    first_task_runs(&sandbox, "echo over >notes.txt; echo made >made.txt");
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert_eq!(sandbox.read("notes.txt"), "mine\n", "{told}");
    assert!(!told.contains("unconfined"), "{told}");
    assert!(code(&sandbox).contains(&"made.txt".to_owned()), "{told}");
}
