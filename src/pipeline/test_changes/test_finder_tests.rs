//! Tests of the test finder: a sample of each language, and the tests found in it.

use super::*;

/// Names, number of skip marks, number of assertions.
fn found(path: &str, text: &str) -> Vec<(String, usize, usize)> {
    let tests = tests_in(path, text).unwrap().into_iter();
    tests.map(|test| (test.name, test.skips, test.assertions)).collect()
}

#[test]
fn tests_are_found_with_their_marks_and_assertions() {
    let rust = concat!(
        "use a::b;\n/// Not a test.\npub fn f() { assert!(true) }\n\nmod tests {\n    #[test]\n",
        "    fn adds() {\n        // assert!(gone);\n        assert_eq!(1 + 1, 2);\n",
        "        insta::assert_snapshot!(x);\n        if let Err(e) = g() {\n            assert!(e);\n",
        "        }\n    }\n\n    fn helper() {\n        assert!(true);\n    }\n\n    #[tokio::test(\n",
        "        flavor = \"multi_thread\"\n    )]\n    #[ign",
        "ore = \"slow\"]\n    async fn carries(\n        x: u8,\n    ) {\n        g().unwrap_err();\n    }\n",
        "    #[test] #[should_panic] fn one() {}\n}\n/*\n#[test]\nfn gone() {}\n*/\n"
    );
    let python = "import pytest\n\ndef helper():\n    assert 1\n\n\
        def test_plain(\n    tmp_path,\n):\n    x = 1\n    assert x\n    with pytest.raises(E):\n        f()\n\n\
        @pytest.mark.skip(reason='x')\ndef test_skipped():\n    assert 1\n\n\
        class TestSum(TestCase):\n    def setUp(self):\n        pass\n\n    @unittest.skipIf(\n        a, b)\n    def test_one(self):\n        self.assertEqual(1, 1)\n        self.skipTest('x')\n\n    # def test_gone(self):\n    async def test_two(self):\n        mock.assert_called()\n\n\
        @unittest.skip('x')\nclass TestOther:\n    def test_three(self): assert 1\n";
    let javascript = "import { it } from 'x';\ndescribe('sums', () => {\n  it('adds', () => {\n    expect(1).toBe(1);\n    expect(2).toBe(2);\n  });\n  it.skip(\"carries\", () => {\n    assert.equal(1, 1);\n  });\n  xit('later', () => {});\n  test.each([1, 2])('each %d', (n) => expect(n).toBe(n));\n});\ntest(`plain`, (t) => {\n  t.skip('x');\n  if (/a/.test('b')) {}\n});\ndescribe.skip('all', () => {\n  it('inner', () => {});\n});\n";
    let go = "package a\n\nfunc TestAdd(t *testing.T) {\n\tif 1 != 2 {\n\t\tt.Errorf(\"no\")\n\t}\n\trequire.NoError(t, err)\n\t// t.Fatal(1)\n}\n\nfunc helper(t *testing.T) {\n\tt.Fatal(1)\n}\n\nfunc TestSkip(t *testing.T) {\n\tt.Skip(\"x\")\n}\n";
    let java = "class SumTest {\n  @BeforeEach\n  void setUp() {\n    assertTrue(true);\n  }\n\n  @Test\n  public void adds() throws E {\n    assertEquals(1, 1);\n    assertThat(x).isEqualTo(1);\n  }\n\n  @Disabled(\"x\")\n  @ParameterizedTest\n  void carries(int n)\n  {\n    verify(mock).call();\n  }\n  @Test void one() { fail(); }\n}\n";
    let csharp = "public class SumTest\n{\n    [Fact]\n    public void Adds()\n    {\n        Assert.Equal(1, 1);\n    }\n\n    [Fact(Skip = \"x\")]\n    public async Task Carries()\n    {\n    }\n}\n";
    let ruby = "RSpec.describe 'Sum' do\n  it 'adds' do\n    expect(1).to eq 1\n  end\n\n  xit \"carries\" do\n  end\nend\n\nclass SumTest\n  def test_one\n    assert_equal 1, 1\n    skip\n  end\nend\n";
    let php = "<?php\nfinal class SumTest extends TestCase\n{\n    public function testAdds(): void\n    {\n        $this->assertSame(1, 1);\n    }\n    public function testSkipped(): void\n    {\n        $this->markTestSkipped();\n    }\n}\n";
    let bats = "@test \"adds\" {\n  [ \"$a\" = 1 ]\n  skip\n}\n";
    for (path, text, tests) in [
        (
            "src/a.rs",
            rust,
            &[("tests › adds", 0, 3), ("tests › carries", 1, 1), ("tests › one", 0, 1)][..],
        ),
        (
            "tests/test_a.py",
            python,
            &[
                ("test_plain", 0, 2),
                ("test_skipped", 1, 1),
                ("TestSum › test_one", 2, 1),
                ("TestSum › test_two", 0, 1),
                ("TestOther › test_three", 1, 1),
            ],
        ),
        (
            "a.test.ts",
            javascript,
            &[
                ("sums › adds", 0, 2),
                ("sums › carries", 1, 1),
                ("sums › later", 1, 0),
                ("sums › each %d", 0, 1),
                ("plain", 1, 0),
                ("all › inner", 1, 0),
            ],
        ),
        ("a_test.go", go, &[("TestAdd", 0, 2), ("TestSkip", 1, 0)]),
        (
            "SumTest.java",
            java,
            &[("SumTest › adds", 0, 2), ("SumTest › carries", 1, 1), ("SumTest › one", 0, 1)],
        ),
        ("SumTest.cs", csharp, &[("SumTest › Adds", 0, 1), ("SumTest › Carries", 1, 0)]),
        (
            "sum_spec.rb",
            ruby,
            &[("Sum › adds", 0, 1), ("Sum › carries", 1, 0), ("SumTest › test_one", 1, 1)],
        ),
        ("SumTest.php", php, &[("SumTest › testAdds", 0, 1), ("SumTest › testSkipped", 1, 0)]),
        ("a.bats", bats, &[("adds", 1, 1)]),
        ("tests/run.sh", "set -e\ntest -f x\n# test -f y\n[ 1 = 1 ] || exit 1\n", &[("", 0, 2)]),
        (
            "test.sh",
            "run() {\n    :\n}\n\ntest_adds() {\n    assert_is 1 1\n}\n\nfunction testLists () {\n    skip\n}\n",
            &[("test_adds", 0, 1), ("testLists", 1, 0)],
        ),
        (
            "t/t0001-add.t",
            "test_expect_success 'adds' '\n\ttest_cmp a b\n'\ntest_expect_success PERL,TTY \"lists\" '\n\tgrep -q a b\n'\n",
            &[("adds", 0, 1), ("lists", 0, 2)],
        ),
        ("lib/run.sh", "test -f x\n", &[]),
        ("lib/net.sh", "test_connection() {\n    [ -n x ]\n}\n", &[]),
    ] {
        let tests: Vec<_> = tests.iter().map(|(name, s, a)| ((*name).to_owned(), *s, *a)).collect();
        assert_eq!(found(path, text), tests, "{path}");
    }
    assert_eq!(tests_in("README.md", "test"), None);
    assert_eq!(tests_in("Makefile", "test:"), None);
}

#[test]
fn a_skip_mark_for_the_file_counts_for_each_test() {
    for (path, text, skips) in [
        ("a.py", "pytestmark = pytest.mark.skip\ndef test_a():\n    pass\n", 1),
        ("a.js", "it.only('a', f);\nit('b', f);\n", 1),
        ("a_test.go", "//go:build ignore\n\npackage a\nfunc TestA(t *testing.T) {\n}\n", 1),
        ("a_test.go", "//go:build linux\n\npackage a\nfunc TestA(t *testing.T) {\n}\n", 0),
    ] {
        assert!(found(path, text).iter().all(|test| test.1 == skips), "{path}");
    }
}

#[test]
fn test_paths_are_recognized() {
    for (path, is) in [
        ("tests/a.sh", true),
        ("src/__tests__/a.ts", true),
        ("a_test.go", true),
        ("test_a.py", true),
        ("a.spec.ts", true),
        ("SumTest.java", true),
        ("src/latest.rs", false),
        ("contest/a.py", false),
        ("inspect.py", false),
    ] {
        assert_eq!(is_test_path(path), is, "{path}");
    }
}
