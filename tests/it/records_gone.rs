//! A person deletes `.cowork` by mistake: the run stops before it records that, and `resume` brings
//! it back.

use std::sync::Mutex;

use crate::support::{Sandbox, at};

#[test]
fn a_run_stops_when_they_are_deleted_and_goes_on_when_it_is_resumed() {
    for (stage, task) in [("design", None), ("coding", Some("TASK-002"))] {
        let sandbox = Sandbox::new();
        let folder = Mutex::new(Some(sandbox.path(".cowork")));
        let when = at(stage, "actor").turn(1);
        let when = match task {
            Some(task) => when.task(task),
            None => when,
        };
        sandbox.server.on_with(when, move |_| {
            if let Some(folder) = folder.lock().unwrap().take() {
                std::fs::remove_dir_all(folder).unwrap();
            }
            None
        });
        let told = sandbox.auto(&[]).exits(5).stderr;
        assert!(told.contains("the records of 'todo' were deleted"), "{told}");
        assert!(told.contains("git cowork resume todo"), "{told}");
        sandbox.cowork(&["resume", "--review", "auto"]).exits(0).says("brought back ");
        sandbox.assert_clean();
        sandbox.assert_sound();
        assert!(sandbox.exists(".cowork/.gitattributes"));
    }
}

#[test]
fn they_come_back_between_two_runs() {
    let sandbox = Sandbox::stopped_after("prd");
    std::fs::remove_dir_all(sandbox.path(".cowork")).unwrap();
    let resume = ["resume", "--review", "auto", "--stop-after", "design"];
    sandbox.cowork(&resume).exits(0).says("brought back 6 deleted files below .cowork");
    sandbox.assert_clean();
    sandbox.git(&["rm", "-rq", ".cowork"]);
    let resume = ["resume", "--review", "auto", "--stop-after", "plan"];
    sandbox.cowork(&resume).exits(0).says("brought back 8 deleted files below .cowork");
    sandbox.assert_clean();
}
