//! Output of runners about named tests, and the commands that run only these, for all languages.

use std::collections::BTreeSet;

use super::*;

/// File, groups and name of the test, whether the runner's output tells that it passed (`alone`: only
/// if nothing else ran), and the output.
const PRINTED: &str = r##"
tests/add.rs | adds | yes | test adds ... ok\ntest adds_more ... ok\n
tests/add.rs | adds | no | test adds ... FAILED\n
tests/add.rs | adds | no | test adds ... ignored\n
tests/it/sums.rs | adds | yes | test sums::adds ... ok\n
src/a/mod.rs | tests › adds | yes | test a::tests::adds - should panic ... ok
src/lib.rs | adds | alone | test adds ... ok\n\nRunning tests/x.rs\n\ntest adds ... ok\n
crates/x/src/a.rs | adds | yes | test a::adds::case_1 ... ok\n
src/a.rs | adds | yes |         PASS [   0.004s] (1/2) sums a::adds\n
t/test_a.py | TestA › test_x | yes | t/test_a.py::TestA::test_x PASSED  [ 50%]\nt/test_a.py::TestA::test_x2 PASSED\n
t/test_a.py | test_x | yes | t/test_a.py::test_x[a b] PASSED\nt/test_a.py::test_x[c] PASSED\n
t/test_a.py | test_x | yes | PASSED t/test_a.py::test_x\n
t/test_a.py | test_x | no | ..   [100%]\n2 passed in 0.01s\n
tests/test_a.py | A › test_x | yes | test_x (test_a.A.test_x) ... ok\ntest_x2 (test_a.A.test_x2) ... ok\n
tests/test_a.py | A › test_x | yes | test_x (tests.test_a.A) ... ok\n
tests/test_a.py | A › test_x | yes | test_x (test_a.A.test_x)\nIt adds. ... ok\n
tests/test_a.py | A › test_x | no | test_x (test_a.A.test_x) ... skipped 'no'\ntest_y (test_a.A.test_y) ... ok\n
a.test.js | sums › adds | yes | ▶ sums\n  ✔ adds (0.5ms)\n✔ sums (1.2ms)\n
a.test.js | adds | no | ﹣ adds (0.3ms) # test name does not match pattern\n
a.test.js | sums › adds | yes | # Subtest: sums\n    ok 1 - adds\n      ---\nok 1 - sums\n
a.test.js | adds | no | ok 3 - adds # SKIP\n
a.test.js | sums › adds | yes | PASS ./a.test.js\n  sums\n    ✓ adds (2 ms)\n    ○ skipped carries\n
a.test.ts | sums › adds | yes |  ✓ a.test.ts > sums > adds 3ms\n
a.test.js | adds | yes |   sums\n    ✔ adds\n    1) carries\n
sum/a_test.go | TestAdd | yes | === RUN   TestAdd\n--- PASS: TestAdd (0.00s)\n    --- PASS: TestAdd/one (0.00s)\n
a_test.go | TestAdd | no | --- SKIP: TestAdd (0.00s)\nPASS\n
test/sum_test.rb | SumTest › test_adds | yes | SumTest#test_adds = 0.00 s = .\nSumTest#test_more = 0.00 s = S\n
spec/sum_spec.rb | Sum › adds | yes | {"examples":[{"id":"./spec/sum_spec.rb[1:1]","description":"adds","full_description":"Sum adds","status":"passed"}]}
spec/sum_spec.rb | Sum › adds | no | {"examples":[{"id":"a","description":"adds","full_description":"Sum adds","status":"pending"}]}
T/SumTests.cs | SumTests › Adds | yes |   Passed Sums.Tests.SumTests.Adds [12 ms]\n  Passed Sums.Tests.SumTests.AddsMore [< 1 ms]\n
T/SumTests.cs | SumTests › Adds | alone |   Passed Sums.SumTests.Adds(a: 1, b: 2) [1 ms]\n  Passed Sums.SumTests.Adds(a: 2, b: 2) [1 ms]\n
T/SumTests.cs | SumTests › Adds | no |   Failed Sums.SumTests.Adds [12 ms]\n  Skipped Sums.SumTests.Adds [1 ms]\n  Passed Sums.OtherTests.Adds [1 ms]\n
T/SumTests.cs | SumTests › Adds | yes |   Passed Adds [12 ms]\n  Passed AddsMore [1 ms]\n
tests/SumTest.php | SumTest › testAdds | yes | ##teamcity[testFinished name='testAdds' duration='3' flowId='1']\n##teamcity[testFinished name='testAddsMore' duration='0' flowId='1']\n
tests/SumTest.php | SumTest › testAdds | yes | ##teamcity[testFinished name='testAdds with data set #0' duration='3' flowId='1']\n
src/test/java/a/SumTest.java | SumTest › adds | yes | [INFO] Running a.SumTest\n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.03 s -- in a.SumTest\n[INFO]\n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n
src/test/java/a/SumTest.java | SumTest › adds | yes | Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0 sec - in a.SumTest\n
src/test/java/a/SumTest.java | SumTest › adds | yes | Running a.SumTest\nTests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 sec\n
src/test/java/a/SumTest.java | SumTest › adds | no | [WARNING] Tests run: 1, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.006 s -- in a.SumTest\n
src/test/java/a/SumTest.java | SumTest › adds | no | [INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.03 s -- in a.OtherSumTest\n
src/test/java/a/SumTest.java | SumTest › Inner › deep | yes | [INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.01 s -- in a.SumTest$Inner\n
src/test/kotlin/SumTest.kt | SumTest › `adds two` | yes | SumTest > adds two() PASSED\n
src/test/java/a/SumTest.java | SumTest › adds | yes | SumTest > adds() PASSED\nSumTest > addsMore() PASSED\n
src/test/java/a/SumTest.java | SumTest › adds | no | SumTest > adds() SKIPPED\nSumTest > wrong() FAILED\n
tests/sum.cc | adds | yes | [ RUN      ] Sums.adds\n[       OK ] Sums.adds (0 ms)\n[       OK ] Sums.addsMore (0 ms)\n
tests/sum.cc | adds | yes | 1: [       OK ] Sums.adds (12 ms)\n
tests/sum.cc | adds | no | [  FAILED  ] Sums.adds (0 ms)\n[  SKIPPED ] Sums.adds (0 ms)\n
tests/sum.cc | adds | yes | 1/2 Test #1: Sums.adds ........................   Passed    0.01 sec\n
tests/test_sum.c | test_adds | yes | tests/test_sum.c:9:test_adds:PASS\ntests/test_sum.c:9:test_more:FAIL: Expected 1 Was 2\n
tests/test_sum.c | test_adds | no | 1/1 Test #1: test_sum .........................   Passed    0.00 sec\n
test/a.bats | adds two | yes | 1..2\nok 1 adds two\nok 2 adds two more # skip\n
test.sh | test_adds | yes | ok 1 - test_adds\nok 2 - test_adds_more\n1..2\n
t/t0001-add.t | adds | no | ok 1 - lists\nok 2 # skip adds (missing PERL)\n1..2\n
"##;

pub(super) fn parts_of(name: &str) -> Vec<String> {
    name.split(" › ").map(str::to_owned).collect()
}

pub(super) fn handled(path: &str) -> &'static OneTest {
    of_file(path).unwrap().one_test.as_ref().unwrap()
}

/// Whether an output tells that a test passed: if only this test ran, if several tests of these
/// files ran, if all ran.
pub(super) fn told(path: &str, name: &str, others: &[&str], output: &str) -> [Option<bool>; 3] {
    let all: Vec<(&str, Vec<String>)> = [(path, parts_of(name))]
        .into_iter()
        .chain(others.iter().map(|other| match other.split_once("::") {
            Some((path, name)) => (path, parts_of(name)),
            None => (path, parts_of(other)),
        }))
        .collect();
    let all: Vec<TestName<'_>> = all.iter().map(|(path, parts)| TestName { path, parts }).collect();
    let failing = failing_names(output);
    [Among::Alone, Among::Several(&all), Among::All(&all)]
        .map(|among| handled(path).verdict(&all[0], among, output, &failing))
}

/// The names of failed tests in the form that a runner prints in these tests.
fn failing_names(output: &str) -> BTreeSet<String> {
    let marks = [" FAILED", " FAIL"];
    let name = |line: &str| marks.iter().find_map(|mark| Some(line.strip_suffix(mark)?.to_owned()));
    output.lines().filter_map(name).collect()
}

#[test]
fn passed_tests_are_found_in_each_runners_output() {
    for row in PRINTED.trim().lines() {
        let columns: Vec<&str> = row.splitn(4, " | ").collect();
        let output = columns[3].replace("\\n", "\n");
        let passed = told(columns[0], columns[1], &[], &output);
        let of = |is_told: bool| is_told.then_some(true);
        let [alone, all] = [columns[2] != "no", columns[2] == "yes"].map(of);
        assert_eq!(passed, [alone, all, all], "{row}");
    }
}

#[test]
fn failed_tests_are_found_by_name() {
    let fails = |path: &str, parts: &[&str], failing: &str| {
        let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        let (test, failing) =
            (TestName { path, parts: &parts }, BTreeSet::from([failing.to_owned()]));
        handled(path).verdict(&test, Among::Alone, "", &failing) == Some(false)
    };
    for (path, parts, failing) in [
        ("a_test.go", &["TestAdd"][..], "example.com/a TestAdd"),
        ("src/a.rs", &["adds"], "sums a::adds"),
        ("t/test_a.py", &["test_x"], "t/test_a.py::test_x[a b]"),
        ("a.test.js", &["sums", "adds"], "sums › adds"),
        ("src/test/java/SumTest.java", &["SumTest", "adds"], "SumTest.adds"),
        ("src/test/java/SumTest.java", &["SumTest", "adds"], "SumTest > adds()"),
        ("tests/sum.cc", &["adds"], "Sums.adds"),
        ("tests/test_sum.c", &["test_adds"], "test_adds"),
    ] {
        assert!(fails(path, parts, failing), "{failing}");
    }
    assert!(!fails("src/a.rs", &["adds"], "a::adds_more"));
    assert!(!fails("tests/sum.cc", &["adds"], "Sums.adds_more"));
}

#[test]
fn each_language_runs_one_test_alone() {
    let alone = |files: &[(&str, &str)], tests: &str, path: &str, parts: &[&str]| {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let project = Project { root: tree.path(), tests };
        let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        (handled(path).command)(&[TestName { path, parts: &parts }], &project).unwrap_or_default()
    };
    let jest = [("web/package.json", r#"{"scripts":{"test":"jest"}}"#)];
    let vitest = [("package.json", r#"{"scripts":{"test":"vitest run"}}"#)];
    for (files, tests, path, parts, command) in [
        (
            &[][..],
            "cargo test",
            "tests/add.rs",
            &["adds"][..],
            "cargo test --test add -- --exact adds",
        ),
        (&[], "", "tests/it/sums.rs", &["adds"], "cargo test --test it -- --exact sums::adds"),
        (&[], "", "src/a.rs", &["tests", "adds"], "cargo test -- --exact a::tests::adds"),
        (
            &[("src/lib.rs", "")],
            "",
            "src/a.rs",
            &["tests", "adds"],
            "cargo test --lib --bins -- --exact a::tests::adds",
        ),
        (
            &[("x/Cargo.toml", ""), ("x/src/main.rs", "")],
            "",
            "x/src/a.rs",
            &["adds"],
            "cd x && cargo test --bins -- --exact a::adds",
        ),
        (
            &[("x/Cargo.toml", "")],
            "",
            "x/src/bin/t.rs",
            &["adds"],
            "cd x && cargo test --bin t -- --exact adds",
        ),
        (
            &[],
            "uv run pytest -q",
            "t/test_a.py",
            &["A", "test_x"],
            "uv run pytest -v t/test_a.py::A::test_x",
        ),
        (
            &[("pytest.ini", "")],
            "make test",
            "test_a.py",
            &["test_x"],
            "python3 -m pytest -v test_a.py::test_x",
        ),
        (
            &[],
            "",
            "t/test_a.py",
            &["A", "test_x"],
            "PYTHONPATH=t${PYTHONPATH:+:$PYTHONPATH} python3 -m unittest -v -b test_a.A.test_x",
        ),
        (
            &[("t/__init__.py", "")],
            "",
            "t/test_a.py",
            &["A", "test_x"],
            "python3 -m unittest -v -b t.test_a.A.test_x",
        ),
        (&[], "", "test_a.py", &["A", "test_x"], "python3 -m unittest -v -b test_a.A.test_x"),
        (&[], "", "test_a.py", &["test_x"], ""),
        (
            &[],
            "npm test",
            "a.test.js",
            &["s", "it's"],
            r"node --test --test-reporter=spec --test-name-pattern='it'\''s$' a.test.js",
        ),
        (
            &jest,
            "npm test",
            "web/a.test.js",
            &["s", "a.b"],
            r"cd web && npx jest --runTestsByPath a.test.js -t '^s a\.b$' --verbose",
        ),
        (
            &vitest,
            "npm test",
            "a.test.ts",
            &["s", "adds"],
            "npx vitest run a.test.ts -t 's adds$' --reporter=verbose",
        ),
        (
            &[],
            "go test ./...",
            "sum/a_test.go",
            &["TestAdd"],
            "go test -v -count=1 -run '^TestAdd$' ./sum",
        ),
        (
            &[],
            "bundle exec rspec",
            "spec/a_spec.rb",
            &["Sum", "adds"],
            "bundle exec rspec spec/a_spec.rb -e adds --format json",
        ),
        (
            &[],
            "bin/rails test",
            "test/a_test.rb",
            &["A", "test_x"],
            "bin/rails test test/a_test.rb -v -n test_x",
        ),
        (
            &[],
            "rake test",
            "test/a_test.rb",
            &["A", "test_x"],
            "ruby -Ilib -Itest test/a_test.rb -v -n test_x",
        ),
        (
            &[],
            "dotnet test",
            "T/SumTests.cs",
            &["SumTests", "Adds"],
            "dotnet test --filter 'FullyQualifiedName~SumTests.Adds' --logger 'console;verbosity=detailed'",
        ),
        (
            &[],
            "php vendor/bin/phpunit --colors",
            "tests/SumTest.php",
            &["SumTest", "testAdds"],
            "php vendor/bin/phpunit --teamcity --filter '/::testAdds( with data set .*)?$/' tests/SumTest.php",
        ),
        (&[], "vendor/bin/pest", "tests/SumTest.php", &["adds two"], ""),
        (
            &[("pom.xml", "")],
            "./mvnw -q verify",
            "src/test/java/a/SumTest.java",
            &["SumTest", "Inner", "deep"],
            "./mvnw -B -Dtest='SumTest$Inner#deep' test",
        ),
        (
            &[("pom.xml", ""), ("core/pom.xml", "")],
            "make test",
            "core/src/test/java/SumTest.java",
            &["SumTest", "adds"],
            "mvn -B -pl core -am -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dtest='SumTest#adds' test",
        ),
        (
            &[("x/pom.xml", "")],
            "",
            "x/src/test/kotlin/SumTest.kt",
            &["`adds two`"],
            "cd x && mvn -B -Dtest='SumTest#adds two' test",
        ),
        (&[], "mvn test", "src/test/java/SumTest.java", &["SumTest", "adds"], ""),
        (
            &[],
            "cmake --build build && ctest --test-dir build",
            "tests/sum.cc",
            &["adds"],
            "cmake --build build && ctest --test-dir build -V -R '(^|[./:])adds$|^sum$'",
        ),
        (&[], "make test", "tests/sum.c", &["test_adds"], ""),
        (&[], "make", "a.bats", &["adds two"], "bats --tap --filter '^adds two$' a.bats"),
        (&[("test.sh", "#!/bin/sh\n")], "make", "test.sh", &["test_adds"], "sh test.sh"),
        (
            &[("t/t0001.sh", "#!/bin/bash\ntest_expect_success 'adds' ':'\n")],
            "",
            "t/t0001.sh",
            &["adds"],
            "cd t && bash ./t0001.sh",
        ),
        (&[("t/a.t", "#!/usr/bin/perl\n")], "prove", "t/a.t", &["adds"], ""),
    ] {
        assert_eq!(alone(files, tests, path, parts), command);
    }
    let path = "web/api/src/test/java/a/SumTest.java";
    let modules = [("settings.gradle", ""), ("web/api/build.gradle", "")];
    let command = alone(&modules, "./gradlew check", path, &["SumTest", "adds"]);
    let test = r#"./gradlew -I "$TMPDIR/named.gradle" :web:api:cleanTest :web:api:test --tests '*SumTest.adds'"#;
    assert!(command.starts_with("printf 'allprojects { ") && command.ends_with(test), "{command}");
    let command = alone(&[("x/build.gradle.kts", "")], "", "x/src/test/A.kt", &["A", "adds"]);
    assert!(command.starts_with("cd x && printf ") && command.ends_with(" '*A.adds'"), "{command}");
}
