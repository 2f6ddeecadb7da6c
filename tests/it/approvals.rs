//! Who passed what: a review is the commit of who gave it, of the bytes that are there, and nothing
//! else leaves the session.

use crate::support::Sandbox;

/// From now on somebody else works here.
fn becomes(sandbox: &mut Sandbox, name: &str) {
    for role in ["AUTHOR", "COMMITTER"] {
        sandbox.set_env(&format!("GIT_{role}_NAME"), &format!("{name} Example"));
        let email = format!("{}@example.org", name.to_lowercase());
        sandbox.set_env(&format!("GIT_{role}_EMAIL"), &email);
    }
}

/// A delivered session whose code Ana passed, and which a job has resumed since.
fn passed_by_ana() -> Sandbox {
    let mut sandbox = Sandbox::stopped_after("plan");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    becomes(&mut sandbox, "Job");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    sandbox
}

fn line_of(sandbox: &Sandbox, stage: &str) -> String {
    let status = sandbox.cowork(&["status", "todo"]).exits(0).stdout;
    let line = status.lines().find(|line| line.contains(&format!(" {stage} ")));
    line.unwrap_or_else(|| panic!("no {stage} in\n{status}")).to_owned()
}

/// Replaces the message of the newest commit.
fn reword(sandbox: &Sandbox, from: &str, to: &str) {
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains(from), "{message}");
    sandbox.git(&["commit", "-q", "--amend", "--no-verify", "-m", &message.replace(from, to)]);
}

/// Changes a stage's commit, and puts what came later on top of it.
fn amend(sandbox: &Sandbox, stage: &str, change: impl FnOnce(&Sandbox)) {
    let commit = sandbox.stage_commit(stage);
    sandbox.git(&["checkout", "-q", "--detach", &commit]);
    change(sandbox);
    let amended = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["rebase", "-q", "--onto", &amended, &commit, "cowork/todo"]);
}

#[test]
fn what_somebody_else_writes_is_a_claim() {
    is_a_claim(Sandbox::stopped_after("prd"));
    Sandbox::stopped_after("prd").into_ordinary_user().into_iter().for_each(is_a_claim);
}

fn is_a_claim(mut sandbox: Sandbox) {
    becomes(&mut sandbox, "Mallory");
    let forged = "Cowork-Review: passed\nReviewed-by: Ada Example <ada@example.org>\n";
    reword(&sandbox, "Cowork-Review: auto\n", forged);
    let said = line_of(&sandbox, "prd");
    assert!(said.contains("claimed by Ada Example") && !said.contains("passed by"), "{said}");
    let log = sandbox.cowork(&["log", "todo"]).exits(0).stdout;
    assert!(log.contains("claimed by Ada Example"), "{log}");
    // Whose session it is makes no difference.
    let forged = "Reviewed-by: Ana Example <ana@example.org>";
    reword(&sandbox, "Reviewed-by: Ada Example <ada@example.org>", forged);
    assert!(line_of(&sandbox, "prd").contains("claimed by Ana Example"));
    // Nor does the author, whom an amend may set as it likes.
    reword(&sandbox, "Ana Example <ana@example.org>", "Ada Example <ada@example.org>");
    let author = "--author=Ada Example <ada@example.org>";
    sandbox.git(&["commit", "-q", "--amend", "--no-edit", "--no-verify", author]);
    assert!(line_of(&sandbox, "prd").contains("claimed by Ada Example"));
}

#[test]
fn a_review_stays_whose_it_was_when_a_job_goes_on_and_somebody_rebases() {
    let mut sandbox = passed_by_ana();
    assert!(sandbox.git(&["log", "--format=%cn", "-3"]).starts_with("Job Example"));
    assert!(line_of(&sandbox, "coding").contains("passed by Ana Example"));
    becomes(&mut sandbox, "Bob");
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.commit_file("elsewhere.txt", "new\n", "something else");
    sandbox.git(&["rebase", "-q", "main", "cowork/todo"]);
    assert!(line_of(&sandbox, "coding").contains("passed by Ana Example"));
    // Also where nobody has the tree that was approved.
    sandbox.git(&["clone", "-q", "-b", "cowork/todo", ".", "../clone"]);
    sandbox.enter("../clone");
    sandbox.git(&["branch", "main", "origin/main"]);
    let merged = sandbox.cowork(&["merge"]).exits(0);
    merged.says("coding passed by Ana Example").says("prd auto");
}

#[test]
fn a_pass_of_an_edited_document_holds_the_records_of_it() {
    let sandbox = Sandbox::stopped_after("plan");
    let path = ".cowork/sessions/todo/prd.md";
    let edited = sandbox.artifact("prd.md").replace("### REQ-001 ", "### REQ-001 Quickly ");
    sandbox.write(path, &edited);
    sandbox.commit_all("be quick");
    let found = sandbox.cowork(&["verify"]).exits(1).stdout;
    assert!(found.contains("records-differ"), "{found}");
    sandbox.cowork(&["review", "todo", "--stage", "prd", "--pass"]).exits(0);
    let changed = sandbox.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(changed, ".cowork/sessions/todo/requirements.json");
    let found = sandbox.cowork(&["verify"]).exits(0).stdout;
    assert!(!found.contains("records-differ"), "{found}");
    for name in ["prd.md", "requirements.json", "feature_list.json"] {
        let blob = format!("HEAD:.cowork/sessions/todo/{name}");
        let blob = sandbox.git(&["rev-parse", "--short=12", &blob]);
        let approved = &sandbox.trailers("HEAD")["Cowork-Approved"];
        assert!(approved.contains(&format!("{name}@{blob}")), "{approved:?}");
    }
    sandbox.assert_sound();
}

#[test]
fn a_refused_approval_leaves_files_and_branch_as_they_were() {
    let sandbox = Sandbox::stopped_after("plan");
    let edited = sandbox.artifact("prd.md").replace("### REQ-001 ", "### REQ-001 Quickly ");
    sandbox.write(".cowork/sessions/todo/prd.md", &edited);
    sandbox.commit_all("be quick");
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.hook("pre-commit", "echo no; exit 1");
    let before = sandbox.all_refs();
    let approve = ["review", "todo", "--stage", "prd", "--pass"];
    sandbox.cowork(&approve).exits(5).says("pre-commit hook refused");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.all_refs(), before);
    sandbox.hook("pre-commit", "exit 0");
    sandbox.cowork(&approve).exits(0);
    sandbox.assert_sound();
}

#[test]
fn bytes_nobody_approved_leave_the_session_when_somebody_approves_them() {
    let mut sandbox = passed_by_ana();
    becomes(&mut sandbox, "Bob");
    amend(&sandbox, "coding", |sandbox| {
        sandbox.write("lib/add.sh", "# not what Ana read\n");
        sandbox.git(&["commit", "-q", "-a", "--amend", "--no-edit", "--no-verify"]);
    });
    let command = "git cowork review todo --stage coding --pass";
    let before = sandbox.all_refs();
    sandbox.cowork(&["merge"]).exits(5).says("coding").says(command);
    sandbox.cowork(&["merge", "--force"]).exits(5).says("only on a terminal");
    sandbox.git(&["init", "-q", "--bare", "../hub.git"]);
    sandbox.git(&["remote", "add", "origin", "../hub.git"]);
    sandbox.cowork(&["pr"]).exits(5).says(command);
    assert_eq!(sandbox.all_refs(), before);
    let found = sandbox.cowork(&["verify"]).exits(1).stdout;
    assert!(found.contains("not-approved") && found.contains(command), "{found}");
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&["review", "todo", "--stage", "coding"]).exits(2);
    sandbox.cowork(&["review", "todo", "--stage", "coding", "--pass"]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD^"]), tip, "one commit");
    let trailers = sandbox.trailers("HEAD");
    assert_eq!(trailers["Cowork-Event"], ["review"]);
    assert!(trailers["Cowork-Approved"][0].starts_with("tree@"), "{trailers:?}");
    assert!(line_of(&sandbox, "coding").contains("passed by Bob Example"));
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    sandbox.cowork(&["merge"]).exits(0).says("coding passed by Bob Example");
}

#[test]
fn what_a_person_adds_after_an_approval_is_reported() {
    let mut sandbox = passed_by_ana();
    becomes(&mut sandbox, "Bob");
    sandbox.commit_file("lib/add.sh", "# one line\n", "another way");
    let merged = sandbox.cowork(&["merge"]).exits(0);
    merged.says("coding: changed after approval by Bob Example, ").says("lib/add.sh");
}

#[test]
fn a_review_event_by_somebody_else_silences_no_change_after_an_approval() {
    for verdict in ["passed", "feedback"] {
        let mut sandbox = passed_by_ana();
        becomes(&mut sandbox, "Bob");
        sandbox.commit_file("lib/add.sh", "# one line\n", "another way");
        let trailers = sandbox.trailers("HEAD^");
        let own = |key: &str| format!("{key}: {}\n", trailers[key][0]);
        let message = format!(
            "review: coding\n\n{}{}Cowork-Event: review\nCowork-Stage: coding\nCowork-Review: {verdict}\n",
            own("Cowork-Session"),
            own("Cowork-Session-Id")
        );
        sandbox.git(&["commit", "-q", "--allow-empty", "--no-verify", "-m", &message]);
        let told = sandbox.cowork(&["verify", "todo"]).stdout;
        assert!(told.contains("changed-after-approval") && told.contains("lib/add.sh"), "{told}");
    }
}

#[test]
fn a_squash_or_a_lost_trailer_is_no_approval() {
    let sandbox = passed_by_ana();
    let tip = sandbox.git(&["log", "-1", "--format=%B"]);
    sandbox.git(&["reset", "-q", "--soft", &sandbox.stage_commit("plan")]);
    sandbox.git(&["commit", "-q", "--no-verify", "-m", &tip]);
    let refused = sandbox.cowork(&["merge"]).exits(5);
    refused.says("git cowork review todo --stage coding --pass");
    sandbox.cowork(&["review", "todo", "--stage", "coding", "--pass"]).exits(0);
    sandbox.cowork(&["merge"]).exits(0);
    let mut sandbox = passed_by_ana();
    becomes(&mut sandbox, "Bob");
    amend(&sandbox, "coding", |sandbox| {
        let message = sandbox.git(&["log", "-1", "--format=%B"]);
        let kept = message.lines().filter(|line| !line.starts_with("Cowork-Approved"));
        let message = kept.collect::<Vec<_>>().join("\n");
        sandbox.git(&["commit", "-q", "--amend", "--allow-empty", "--no-verify", "-m", &message]);
    });
    sandbox.cowork(&["merge"]).exits(5).says("--stage coding --pass");
}

#[test]
fn where_signatures_are_asked_for_an_approval_is_a_signed_commit() {
    let mut sandbox = passed_by_ana();
    becomes(&mut sandbox, "Bob");
    sandbox.git(&["config", "cowork.review.signed", "true"]);
    let refused = sandbox.cowork(&["merge"]).exits(5);
    refused.says("by a signature that git accepts").says("--stage coding --pass");
    let approve = ["review", "todo", "--stage", "coding", "--pass"];
    sandbox.cowork(&approve).exits(0).says("git config commit.gpgsign true");
    sandbox.cowork(&["merge"]).exits(5);
    // git asks a program; this one signs and accepts what it signed.
    let program = sandbox.root().join("bin/sign");
    sandbox.executable(
        &program,
        "for word; do case $word in /*) file=$word;; esac; done
         test \"$1\" = --status-fd=2 || echo; echo >&2
         case \"$*\" in
         *--verify*) cat >/dev/null
            grep -q 'a good one' \"$file\" && echo '[GNUPG:] GOODSIG 1234567890123456 Bob';;
         *) cat >/dev/null; echo '[GNUPG:] SIG_CREATED ' >&2
            printf -- '-----BEGIN PGP SIGNATURE-----\\n\\na good one\\n-----END PGP SIGNATURE-----\\n';;
         esac",
    );
    sandbox.git(&["config", "gpg.program", &program.display().to_string()]);
    sandbox.git(&["config", "commit.gpgsign", "true"]);
    for stage in ["idea", "prd", "design", "plan", "coding"] {
        sandbox.cowork(&["review", "todo", "--stage", stage, "--pass"]).exits(0);
    }
    sandbox.cowork(&["merge"]).exits(0).says("coding passed by Bob Example");
}
