//! Git saw no conflict, and yet two things have one id: two clones of one branch met.

use super::{AFTER_REQUIREMENTS, DIR, WAYS, assert_whole, ids, meet};
use crate::support::{Sandbox, todo};

#[test]
fn ids_that_collide_in_a_clean_merge_are_renumbered_with_what_means_them() {
    let begun = Sandbox::stopped_after("plan");
    let second = "### REQ-002 List todos";
    let export = todo::requirement_section("REQ-004", "Export");
    let export = format!("{}\n{second}", export.trim_start());
    let import = todo::requirement_section("REQ-004", "Import");
    let import = format!("{import}{AFTER_REQUIREMENTS}");
    let (adding, ticking) = ("FEAT-001 Adding\n\n`REQ-001`", "`REQ-002` `REQ-003`");
    let (adding_more, ticking_more) =
        (format!("{adding} `REQ-004`"), format!("{ticking} `REQ-004`"));
    let before = [("prd.md", second, &*export), ("prd.md", adding, &*adding_more)];
    let behind = [("prd.md", AFTER_REQUIREMENTS, &*import), ("prd.md", ticking, &*ticking_more)];
    for way in WAYS {
        // What was there keeps its id, wherever in the document it is.
        for (ours, theirs, export_id, import_id, of_feature) in [
            (&before, &behind, "REQ-004", "REQ-005", ["REQ-004", "REQ-005"]),
            (&behind, &before, "REQ-005", "REQ-004", ["REQ-005", "REQ-004"]),
        ] {
            let sandbox = begun.fork();
            assert!(meet(&sandbox, way, ours, theirs), "{way}: git saw a conflict");
            let told = sandbox.cowork(&["verify", "--json"]).exits(1).json_lines();
            let found = told.iter().find(|one| one["code"] == "duplicate-id").unwrap();
            assert_eq!((&found["about"], &found["fixable"]), (&"REQ-004".into(), &true.into()));
            let stopped = sandbox.cowork(&["resume", "--review", "auto"]).exits(5).stderr;
            assert!(stopped.contains("git cowork verify todo --fix"), "{way}: {stopped}");
            let tip = sandbox.git(&["rev-parse", "HEAD"]);
            let fixed = sandbox.cowork(&["verify", "--fix"]).stderr;
            assert!(fixed.contains("REQ-004 of todo is REQ-005 now"), "{way}: {fixed}");
            assert_eq!(sandbox.git(&["rev-parse", "HEAD~1"]), tip, "{way}");
            let trailer = "--format=%(trailers:key=Cowork-Renumbered,valueonly)";
            assert_eq!(sandbox.git(&["log", "-1", trailer]), "todo REQ-004 REQ-005", "{way}");
            let prd = sandbox.blob("HEAD", &format!("{DIR}/prd.md"));
            let [of_adding, of_ticking] = of_feature;
            for text in [
                format!("### {export_id} Export\n"),
                format!("### {import_id} Import\n"),
                format!("{adding} `{of_adding}`\n"),
                format!("{ticking} `{of_ticking}`\n"),
            ] {
                assert_eq!(prd.matches(&text).count(), 1, "{way}: no {text:?} in {prd}");
            }
            let mut all = ids(&sandbox, "requirements.json", "requirements");
            all.sort();
            assert_eq!(all, ["REQ-001", "REQ-002", "REQ-003", "REQ-004", "REQ-005"], "{way}");
            assert_whole(&sandbox);
            // Once is enough.
            sandbox.cowork(&["verify", "--fix"]);
            assert_eq!(sandbox.git(&["rev-parse", "HEAD~1"]), tip, "{way}");
        }
    }
}
