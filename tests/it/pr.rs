//! `git cowork pr`: what is pushed, what is opened, and what is said when either is refused. The
//! remotes are real; ssh is a script that runs git's own servers on bare repositories here.

use std::fs;

use crate::support::Sandbox;

/// `gh` and `glab` write what they are asked here.
const LOG: &str = "asked";

struct Far {
    sandbox: Sandbox,
}

impl std::ops::Deref for Far {
    type Target = Sandbox;
    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Far {
    /// A delivered session whose `origin` is this address; `ssh` leads to bare repositories.
    fn new(url: &str) -> Self {
        let mut sandbox = Sandbox::delivered();
        let remotes = sandbox.root().join("remotes");
        let ssh = sandbox.root().join("bin/fake-ssh");
        sandbox.executable(
            &ssh,
            &format!(
                "for last; do :; done\npath=${{last#*\\'}}; path={}/${{path%\\'}}\n\
                 case \"$last\" in git-receive-pack*) exec git receive-pack \"$path\";; esac\n\
                 exec git upload-pack \"$path\"",
                remotes.display()
            ),
        );
        sandbox.set_env("GIT_SSH_COMMAND", &ssh.display().to_string());
        sandbox.set_env("GIT_SSH_VARIANT", "simple");
        let far = Self { sandbox };
        far.remote("origin", url);
        far.git(&["push", "-q", "origin", "main"]);
        far
    }

    fn remote(&self, name: &str, url: &str) {
        let path = url.rsplit(':').next().unwrap();
        let bare = self.root().join("remotes").join(path);
        self.git(&["init", "-q", "--bare", &bare.display().to_string()]);
        self.git(&["remote", "add", name, url]);
    }

    /// What a bare repository has: full names and commits.
    fn has(&self, path: &str) -> String {
        let dir = self.root().join("remotes").join(path).display().to_string();
        self.git(&["--git-dir", &dir, "for-each-ref", "--format=%(refname) %(objectname)"])
    }

    /// A scripted program: it logs its arguments and input, and then runs this.
    fn program(&self, name: &str, script: &str) {
        let log = self.root().join(LOG);
        let script = format!(
            "for a; do printf '%s\\n' \"$a\"; done >>'{0}'\nprintf 'end\\n' >>'{0}'\n\
             [ -z \"$COWORK_LLM_API_KEY\" ] || {{ echo 'the key leaked' >&2; exit 9; }}\n\
             [ \"$1 $2\" = 'auth status' ] && exit 0\n{script}",
            log.display()
        );
        self.executable(&self.root().join("bin").join(name), &script);
    }

    /// What `gh` is asked to open, its text beside it; it answers with a page.
    fn gh(&self, answer: &str) {
        let body = self.root().join("body").display().to_string();
        self.program(
            "gh",
            &format!(
                "draft=; while [ $# -gt 0 ]; do\n\
                 [ \"$1\" = --body-file ] && cp \"$2\" '{body}'\n\
                 [ \"$1\" = --draft ] && draft=1\nshift; done\n{answer}"
            ),
        );
    }

    /// The calls so far, a line each.
    fn asked(&self) -> Vec<String> {
        let log = fs::read_to_string(self.root().join(LOG)).unwrap_or_default();
        let calls = log.split("end\n").filter(|call| !call.is_empty());
        calls.map(|call| call.trim_end().replace('\n', " ")).collect()
    }
}

const GITHUB: &str = "git@github.com:ana/todo.git";
const OPENED: &str = "echo 'Creating pull request' >&2; echo https://github.com/ana/todo/pull/7";

#[test]
fn one_command_pushes_the_branch_and_opens_the_request() {
    let far = Far::new(GITHUB);
    far.gh(OPENED);
    let before = far.has("ana/todo.git");
    far.cowork(&["status"]).exits(0);
    assert_eq!(far.has("ana/todo.git"), before, "nothing is pushed by itself");
    let opened = far.cowork(&["pr"]).exits(0);
    assert_eq!(opened.stdout, "https://github.com/ana/todo/pull/7\n");
    let tip = far.git(&["rev-parse", "cowork/todo"]);
    assert_eq!(far.has("ana/todo.git"), format!("refs/heads/cowork/todo {tip}\n{before}"));
    let asked = far.asked();
    assert_eq!(asked[0], "auth status --hostname github.com");
    let (args, _) = asked[1].split_once("--body-file").unwrap();
    assert_eq!(
        args,
        "pr create --repo github.com/ana/todo --base main --head cowork/todo \
         --title Add a todo list for the terminal "
    );
    let body = fs::read_to_string(far.root().join("body")).unwrap();
    assert!(body.starts_with("## Summary\n"), "{body}");
    let id = far.cowork(&["status", "--json"]).json()["id"].as_str().unwrap().to_owned();
    let trailers = body.trim_end().rsplit("\n\n").next().unwrap();
    assert!(trailers.starts_with("Cowork-Session: todo\n"), "{trailers}");
    assert!(trailers.contains(&format!("Cowork-Session-Id: {id}\nCowork-Event: merge\n")));
    // A squash on the forge with this text is recognised as the merge.
    far.git(&["switch", "-q", "main"]);
    far.git(&["merge", "-q", "--squash", "cowork/todo"]);
    let message = format!("Add a todo list for the terminal (#7)\n\n{body}");
    far.git(&["commit", "-q", "-m", &message]);
    assert_eq!(far.trailers("main")["Cowork-Event"], ["merge"]);
    far.cowork(&["pr", "todo"]).exits(0).says("already merged");
}

#[test]
fn a_body_ends_within_what_the_forge_takes_and_says_where_the_rest_is() {
    for (url, most) in [
        (GITHUB, 65_536),
        ("git@bitbucket.org:ana/todo.git", 32_768),
        ("git@ssh.dev.azure.com:v3/ana/todo/todo", 4_000),
    ] {
        let far = Far::new(url);
        far.gh(OPENED);
        let path = ".cowork/sessions/todo/delivery_report.md";
        let long = "```\n".to_owned() + &"naïve line of a report\n".repeat(4_000);
        far.write(path, &format!("{}\n## Limits\n\n{long}", far.read(path)));
        far.git(&["commit", "-q", "-a", "-m", "say more"]);
        let before = far.git(&["rev-parse", "HEAD"]);
        let said = far.cowork(&["pr", "--dry-run"]).exits(0).stdout;
        let body = said.split("\nTitle    ").nth(1).unwrap().split_once("\n\n").unwrap().1;
        let length = body.chars().count();
        assert!(length <= most && length + 60 > most, "{length} of {most}");
        let (report, trailers) = body.trim_end().rsplit_once("\n\n").unwrap();
        let rest =
            "of a report\n```\n\n(cut here; the whole report: `git cowork show todo report`)";
        assert!(report.ends_with(rest), "{}", &report[report.len() - 300..]);
        assert!(trailers.contains("\nCowork-Event: merge\n"), "{trailers}");
        // The command shows all of it.
        let whole = far.cowork(&["show", "todo", "report"]).exits(0).stdout;
        assert_eq!(whole.matches("naïve line").count(), 4_000);
        assert_eq!(far.git(&["rev-parse", "HEAD"]), before);
        if most == 65_536 {
            far.cowork(&["pr"]).exits(0);
            let sent = fs::read_to_string(far.root().join("body")).unwrap();
            assert_eq!(sent.trim_end(), body.trim_end());
        }
    }
}

#[test]
fn a_dry_run_says_all_of_it_and_does_nothing() {
    let far = Far::new(GITHUB);
    far.gh("echo 'must not be asked' >&2; exit 1");
    let (refs, there) = (far.all_refs(), far.has("ana/todo.git"));
    let said = far.cowork(&["pr", "--dry-run", "--tags", "--draft"]).exits(0).stdout;
    for line in [
        "Push     cowork/todo to origin (git@github.com:ana/todo.git)",
        "cowork/todo/delivery",
        "Open     main <- cowork/todo on github.com/ana/todo with gh, as a draft",
        "Title    Add a todo list for the terminal",
        "Cowork-Event: merge",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
    far.cowork(&["pr", "--dry-run", "--without-artifacts"]).exits(0).says("nothing was pushed");
    assert_eq!((far.all_refs(), far.has("ana/todo.git")), (refs, there));
    assert!(far.asked().iter().all(|call| call.starts_with("auth status")));
}

#[test]
fn tags_are_pushed_on_request_and_an_open_request_is_no_error() {
    let far = Far::new(GITHUB);
    far.gh(
        "echo 'a pull request for branch \"cowork/todo\" into branch \"main\" already exists:' >&2
echo https://github.com/ana/todo/pull/3 >&2; exit 1",
    );
    let again = far.cowork(&["pr", "--tags"]).exits(0).says("already has a pull request");
    assert_eq!(again.stdout, "https://github.com/ana/todo/pull/3\n");
    assert!(far.has("ana/todo.git").contains("refs/tags/cowork/todo/delivery"));
    let json = far.cowork(&["pr", "--json"]).exits(0).json();
    assert_eq!((&json["existed"], &json["opened"]), (&true.into(), &false.into()));
}

#[test]
fn a_draft_is_opened_plain_where_there_are_none() {
    let far = Far::new(GITHUB);
    far.gh(&format!(
        "[ -n \"$draft\" ] && {{ echo 'GraphQL: Draft pull requests are not supported in this repository. (createPullRequest)' >&2; exit 1; }}\n{OPENED}"
    ));
    far.cowork(&["pr", "--draft"]).exits(0).says("accepts no draft pull requests");
    let asked = far.asked();
    assert!(asked[1].ends_with("--draft") && !asked[2].contains("--draft"), "{asked:?}");
    far.gh(OPENED);
    let plain = far.cowork(&["pr", "--draft"]).exits(0);
    assert!(!plain.stderr.contains("accepts no draft pull requests"), "{}", plain.stderr);
    far.gh("echo 'HTTP 403: Resource not accessible' >&2; exit 1");
    let refused = far.cowork(&["pr"]).exits(5).says("HTTP 403").says("cowork/todo is pushed");
    refused.says("https://github.com/ana/todo/compare/main...cowork/todo");
}

#[test]
fn without_a_program_that_is_signed_in_there_is_the_page_and_the_text() {
    let far = Far::new(GITHUB);
    far.executable(&far.root().join("bin/gh"), "exit 1");
    let done = far.cowork(&["pr"]).exits(0);
    let mut lines = done.stdout.lines();
    let page = "https://github.com/ana/todo/compare/main...cowork/todo?expand=1";
    assert_eq!(lines.next(), Some(page));
    let main = far.git(&["rev-parse", "main"]);
    assert!(done.stdout.contains(&format!("The following changes since commit {main}")));
    assert!(done.stdout.contains("git@github.com:ana/todo.git cowork/todo"), "{}", done.stdout);
    let text = far.read(".git/cowork/sessions/todo/pull-request.md");
    assert!(text.starts_with("Add a todo list for the terminal\n\n## Summary"), "{text}");
    assert!(done.stderr.contains("pull-request.md"));
}

#[test]
fn gitlab_is_asked_through_its_api_so_that_any_length_fits() {
    let far = Far::new("git@gitlab.com:group/sub/todo.git");
    let body = far.root().join("body").display().to_string();
    far.program(
        "glab",
        &format!("[ \"$GITLAB_HOST\" = gitlab.com ] || exit 8\ncat >'{body}'\necho '{{\"web_url\":\"https://gitlab.com/group/sub/todo/-/merge_requests/1\"}}'"),
    );
    let opened = far.cowork(&["pr", "--draft"]).exits(0);
    assert_eq!(opened.stdout, "https://gitlab.com/group/sub/todo/-/merge_requests/1\n");
    assert_eq!(
        far.asked()[1],
        "api --method POST projects/group%2Fsub%2Ftodo/merge_requests --header Content-Type: application/json --input -"
    );
    let sent: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(far.root().join("body")).unwrap()).unwrap();
    assert_eq!(sent["title"], "Draft: Add a todo list for the terminal");
    assert_eq!(
        (&sent["source_branch"], &sent["target_branch"]),
        (&"cowork/todo".into(), &"main".into())
    );
    assert!(sent["description"].as_str().unwrap().contains("Cowork-Event: merge"));
    far.program(
        "glab",
        "case \"$2\" in --method) echo '{\"message\":[\"Another open merge request already exists for this source branch: !4\"]}'; exit 1;; esac
echo '[{\"web_url\":\"https://gitlab.com/group/sub/todo/-/merge_requests/4\"}]'",
    );
    let there = far.cowork(&["pr"]).exits(0).says("already");
    assert_eq!(there.stdout, "https://gitlab.com/group/sub/todo/-/merge_requests/4\n");
    assert!(far.asked().last().unwrap().ends_with("?state=opened&source_branch=cowork%2Ftodo"));
}

#[test]
fn the_remote_is_chosen_as_git_would_or_asked_for() {
    let sandbox = Sandbox::delivered();
    sandbox.cowork(&["pr"]).exits(5).says("no remote").says("git remote add");
    let far = Far { sandbox };
    far.remote("far", "there:far.git");
    far.git(&[
        "remote",
        "set-url",
        "far",
        &far.root().join("remotes/far.git").display().to_string(),
    ]);
    far.git(&["remote", "add", "near", "../near.git"]);
    far.cowork(&["pr"]).exits(5).says("there are several remotes").says("--remote");
    far.cowork(&["pr", "--remote", "nowhere"]).exits(5).says("the remotes are: far, near");
    far.cowork(&["pr", "--remote", "near"]).exits(5).says("git ls-remote near");
    let plain = far.cowork(&["pr", "--remote", "far"]).exits(0);
    assert!(plain.stdout.starts_with("The following changes since"), "{}", plain.stdout);
}

#[test]
fn a_fork_is_proposed_to_the_repository_the_base_comes_from() {
    let far = Far::new("git@github.com:org/todo.git");
    far.remote("fork", GITHUB);
    far.git(&["config", "branch.main.remote", "origin"]);
    far.git(&["config", "remote.pushDefault", "fork"]);
    far.gh(OPENED);
    far.cowork(&["pr"]).exits(0);
    assert!(far.has("ana/todo.git").starts_with("refs/heads/cowork/todo"));
    assert!(!far.has("org/todo.git").contains("cowork/todo"));
    assert!(
        far.asked()[1].contains("--repo github.com/org/todo --base main --head ana:cowork/todo")
    );
}

#[test]
fn a_refused_push_is_explained() {
    let far = Far::new(GITHUB);
    far.gh("echo 'must not be asked' >&2; exit 1");
    let bare = far.root().join("remotes/ana/todo.git/hooks/update");
    far.executable(&bare, "echo 'GH006: Protected branch update failed'; exit 1");
    let refused = far.cowork(&["pr"]).exits(5);
    refused.says("hook declined").says("GH006").says("--remote NAME");
    fs::remove_file(&bare).unwrap();
    far.hook("pre-push", "echo 'tests are red' >&2; exit 1");
    far.cowork(&["pr"]).exits(5).says("pre-push hook here").says("tests are red");
    fs::remove_file(far.path(".git/hooks/pre-push")).unwrap();
    // A push that died on the other side has left its lock.
    let lock = far.root().join("remotes/ana/todo.git/refs/heads/cowork/todo.lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let refused = far.cowork(&["pr"]).exits(5);
    refused.says("holds a lock on cowork/todo").says("then run again: git cowork pr todo");
    fs::remove_file(lock).unwrap();
    // Somebody else was quicker.
    let theirs = far.git(&["commit-tree", "-p", "cowork/todo", "-m", "x", "cowork/todo^{tree}"]);
    far.git(&["push", "-q", "origin", &format!("{theirs}:refs/heads/cowork/todo")]);
    let refused = far.cowork(&["pr"]).exits(5);
    refused.says("somebody else pushed, or you went back").says("--force-with-lease");
    assert!(far.has("ana/todo.git").contains(&theirs));
    assert!(far.asked().iter().all(|call| call.starts_with("auth status")));
}

#[test]
fn without_artifacts_only_the_code_is_pushed_and_later_with_a_lease() {
    let far = Far::new(GITHUB);
    far.gh(OPENED);
    let main = far.git(&["rev-parse", "main"]);
    far.git(&["switch", "-q", "main"]);
    far.commit_file("README.md", "# Meanwhile\n", "meanwhile");
    let args = ["pr", "todo", "--without-artifacts"];
    far.cowork(&args).exits(0);
    assert!(far.asked()[1].contains("--head cowork-pr/todo"), "{:?}", far.asked());
    let there = far.has("ana/todo.git");
    assert!(!there.contains("refs/heads/cowork/todo"), "{there}");
    let first = far.git(&["rev-parse", "refs/heads/cowork-pr/todo"]);
    assert!(there.contains(&format!("refs/heads/cowork-pr/todo {first}")));
    assert_eq!(far.git(&["rev-parse", &format!("{first}^@")]), main, "one commit on the base");
    let code: Vec<String> = far
        .tree("cowork/todo")
        .lines()
        .filter(|line| !line.contains(".cowork/"))
        .map(str::to_owned)
        .collect();
    assert_eq!(far.tree(&first).lines().collect::<Vec<_>>(), code);
    assert_eq!(far.trailers(&first)["Cowork-Event"], ["merge"]);
    assert_eq!(far.cowork(&["status", "todo", "--json"]).json()["state"], "completed");
    far.cowork(&args).exits(0);
    assert_eq!(far.git(&["rev-parse", "refs/heads/cowork-pr/todo"]), first, "nothing new to push");
    far.git(&["switch", "-q", "cowork/todo"]);
    far.commit_file("todo.sh", "echo by hand\n", "by hand");
    far.cowork(&args).exits(0);
    let second = far.git(&["rev-parse", "refs/heads/cowork-pr/todo"]);
    assert_eq!(far.git(&["rev-parse", &format!("{second}^@")]), main, "still one commit");
    assert!(far.has("ana/todo.git").contains(&second));
    // A reviewer's commit on that branch is not overwritten, fetched or not.
    let theirs = far.git(&["commit-tree", "-p", &second, "-m", "suggestion", "main^{tree}"]);
    far.git(&["push", "-q", "origin", &format!("{theirs}:refs/heads/cowork-pr/todo")]);
    far.commit_file("todo.sh", "echo again\n", "by hand again");
    far.cowork(&args).exits(5).says("not what was pushed last");
    assert!(far.has("ana/todo.git").contains(&theirs));
    // Merged there and fetched, it is the session's merge.
    far.git(&["push", "-q", "origin", &format!("{second}:refs/heads/main")]);
    assert_eq!(far.cowork(&["status", "todo", "--json"]).json()["state"], "completed");
    far.git(&["reset", "-q", "--keep", "HEAD^"]);
    assert_eq!(far.cowork(&["status", "todo", "--json"]).json()["state"], "merged");
    far.sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn without_artifacts_nothing_of_any_session_comes_along() {
    let far = Far::new(GITHUB);
    far.gh(OPENED);
    far.git(&["switch", "-q", "main"]);
    far.commit_file(".cowork/sessions/old/idea.md", "# Old\n", "an older session");
    let other = ["new", "-n", "other", "something else", "--review", "auto"];
    far.cowork(&[&other[..], &["--stop-after", "idea"]].concat()).exits(0);
    // A session whose branch has taken in another one's.
    far.git(&["switch", "-q", "cowork/todo"]);
    far.git(&["merge", "-q", "--no-edit", "cowork/other"]);
    far.cowork(&["pr", "todo", "--without-artifacts"]).exits(0);
    let names = far.git(&["ls-tree", "-r", "--name-only", "cowork-pr/todo"]);
    assert!(names.contains("todo.sh") && !names.contains("sessions/other"), "{names}");

    far.cowork(&["merge", "todo", "--without-artifacts"]).exits(0);
    let sessions = ["ls-tree", "-r", "--name-only", "main", "--", ".cowork/sessions"];
    assert_eq!(far.git(&sessions), ".cowork/sessions/old/idea.md");
    assert!(far.git(&["ls-tree", "main"]).contains("todo.sh"));
    assert_eq!(far.cowork(&["status", "--json", "todo"]).exits(0).json()["state"], "merged");
    far.assert_sound();
}

#[test]
fn a_change_is_proposed_to_its_parent_while_that_is_open() {
    let far = Far::new(GITHUB);
    far.gh(OPENED);
    far.script_small_change("lib/add.sh", "at once");
    far.cowork(&["modify", "Say that adding is quick", "-n", "quick", "--review", "auto"]).exits(0);
    let refused = far.cowork(&["pr"]).exits(5);
    refused
        .says("this session is based on cowork/todo, which is not on origin")
        .says("git push origin cowork/todo");
    assert!(!far.has("ana/todo.git").contains("quick"));
    far.cowork(&["pr", "todo"]).exits(0);
    far.cowork(&["pr"]).exits(0);
    let asked = far.asked();
    let last = asked.last().unwrap();
    assert!(last.contains("--base cowork/todo --head cowork/todo--quick"), "{last}");
    far.cowork(&["merge", "todo"]).exits(0);
    let dry = far.cowork(&["pr", "todo--quick", "--dry-run"]).exits(0).stdout;
    assert!(dry.contains("main <- cowork/todo--quick"), "{dry}");
}
