//! What runners print of one test, and what runs it alone: as each prints it, for all languages.

use super::*;

fn passed(path: &str, parts: &[&str], output: &str) -> usize {
    let one_test = of_file(path).unwrap().one_test.as_ref().unwrap();
    one_test.times_passed(&Named { path, parts }, output)
}

#[test]
fn each_runner_names_what_passed() {
    for (runner, path, parts, output, times) in [
        ("cargo", "tests/add.rs", &["adds"][..], "test adds ... ok\ntest adds_more ... ok\n", 1),
        ("cargo", "tests/add.rs", &["adds"], "test adds ... FAILED\n", 0),
        ("cargo", "tests/add.rs", &["adds"], "test adds ... ignored\n", 0),
        ("cargo", "tests/it/sums.rs", &["adds"], "test sums::adds ... ok\n", 1),
        (
            "cargo",
            "src/a/mod.rs",
            &["tests", "adds"],
            "test a::tests::adds - should panic ... ok",
            1,
        ),
        (
            "cargo",
            "src/lib.rs",
            &["adds"],
            "test adds ... ok\n\nRunning tests/x.rs\n\ntest adds ... ok\n",
            2,
        ),
        ("rstest", "crates/x/src/a.rs", &["adds"], "test a::adds::case_1 ... ok\n", 1),
        ("nextest", "src/a.rs", &["adds"], "        PASS [   0.004s] (1/2) sums a::adds\n", 1),
        (
            "pytest -v",
            "t/test_a.py",
            &["TestA", "test_x"],
            "t/test_a.py::TestA::test_x PASSED  [ 50%]\nt/test_a.py::TestA::test_x2 PASSED\n",
            1,
        ),
        (
            "pytest -v",
            "t/test_a.py",
            &["test_x"],
            "t/test_a.py::test_x[a b] PASSED\nt/test_a.py::test_x[c] PASSED\n",
            2,
        ),
        ("pytest -rA", "t/test_a.py", &["test_x"], "PASSED t/test_a.py::test_x\n", 1),
        ("pytest -q", "t/test_a.py", &["test_x"], "..   [100%]\n2 passed in 0.01s\n", 0),
        (
            "unittest -v",
            "tests/test_a.py",
            &["A", "test_x"],
            "test_x (test_a.A.test_x) ... ok\ntest_x2 (test_a.A.test_x2) ... ok\n",
            1,
        ),
        (
            "unittest 3.8",
            "tests/test_a.py",
            &["A", "test_x"],
            "test_x (tests.test_a.A) ... ok\n",
            1,
        ),
        (
            "unittest -v",
            "tests/test_a.py",
            &["A", "test_x"],
            "test_x (test_a.A.test_x)\nIt adds. ... ok\n",
            1,
        ),
        (
            "unittest -v",
            "tests/test_a.py",
            &["A", "test_x"],
            "test_x (test_a.A.test_x) ... skipped 'no'\ntest_y (test_a.A.test_y) ... ok\n",
            0,
        ),
        (
            "node spec",
            "a.test.js",
            &["sums", "adds"],
            "▶ sums\n  ✔ adds (0.5ms)\n✔ sums (1.2ms)\n",
            1,
        ),
        (
            "node spec",
            "a.test.js",
            &["adds"],
            "﹣ adds (0.3ms) # test name does not match pattern\n",
            0,
        ),
        (
            "node tap",
            "a.test.js",
            &["sums", "adds"],
            "# Subtest: sums\n    ok 1 - adds\n      ---\nok 1 - sums\n",
            1,
        ),
        ("node tap", "a.test.js", &["adds"], "ok 3 - adds # SKIP\n", 0),
        (
            "jest",
            "a.test.js",
            &["sums", "adds"],
            "PASS ./a.test.js\n  sums\n    ✓ adds (2 ms)\n    ○ skipped carries\n",
            1,
        ),
        ("vitest", "a.test.ts", &["sums", "adds"], " ✓ a.test.ts > sums > adds 3ms\n", 1),
        ("mocha", "a.test.js", &["adds"], "  sums\n    ✔ adds\n    1) carries\n", 1),
        (
            "go -v",
            "sum/a_test.go",
            &["TestAdd"],
            "=== RUN   TestAdd\n--- PASS: TestAdd (0.00s)\n    --- PASS: TestAdd/one (0.00s)\n",
            1,
        ),
        ("go -v", "a_test.go", &["TestAdd"], "--- SKIP: TestAdd (0.00s)\nPASS\n", 0),
        (
            "minitest -v",
            "test/sum_test.rb",
            &["SumTest", "test_adds"],
            "SumTest#test_adds = 0.00 s = .\nSumTest#test_more = 0.00 s = S\n",
            1,
        ),
        (
            "rspec",
            "spec/sum_spec.rb",
            &["Sum", "adds"],
            r##"{"examples":[{"id":"./spec/sum_spec.rb[1:1]","description":"adds","full_description":"Sum adds","status":"passed"}]}"##,
            1,
        ),
        (
            "rspec",
            "spec/sum_spec.rb",
            &["Sum", "adds"],
            r##"{"examples":[{"id":"a","description":"adds","full_description":"Sum adds","status":"pending"}]}"##,
            0,
        ),
        (
            "bats",
            "test/a.bats",
            &["adds two"],
            "1..2\nok 1 adds two\nok 2 adds two more # skip\n",
            1,
        ),
    ] {
        assert_eq!(passed(path, parts, output), times, "{runner}: {output}");
    }
}

#[test]
fn a_failure_of_the_same_name_is_seen() {
    let is_among = |path: &str, parts: &[&str], failing: &str| {
        let one_test = of_file(path).unwrap().one_test.as_ref().unwrap();
        one_test.is_among(&Named { path, parts }, [failing.to_owned()])
    };
    for (path, parts, failing) in [
        ("a_test.go", &["TestAdd"][..], "example.com/a TestAdd"),
        ("src/a.rs", &["adds"], "sums a::adds"),
        ("t/test_a.py", &["test_x"], "t/test_a.py::test_x[a b]"),
        ("a.test.js", &["sums", "adds"], "sums › adds"),
    ] {
        assert!(is_among(path, parts, failing), "{failing}");
    }
    assert!(!is_among("src/a.rs", &["adds"], "a::adds_more"));
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
        let one_test = of_file(path).unwrap().one_test.as_ref().unwrap();
        let project = Project { root: tree.path(), tests };
        (one_test.alone)(&Named { path, parts }, &project).unwrap_or_default()
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
            "python3 -m unittest discover -v -b -s t -p test_a.py -k A.test_x",
        ),
        (
            &[("t/__init__.py", "")],
            "",
            "t/test_a.py",
            &["A", "test_x"],
            "python3 -m unittest discover -v -b -s t -t . -p test_a.py -k A.test_x",
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
        (&[], "make", "a.bats", &["adds two"], "bats --tap --filter '^adds two$' a.bats"),
    ] {
        assert_eq!(alone(files, tests, path, parts), command);
    }
}
