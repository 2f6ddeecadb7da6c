//! Tests of [`super`]: a decompressed grammar equals the one in its crate.

use tree_sitter::{Language as Grammar, Parser};

use super::*;

macro_rules! originals {
    ($($name:literal: $package:ident::$language:ident, $sources:literal;)*) => {
        [$(($name, $package::$language)),*]
    };
}

/// The name of a grammar, the original from its crate, and a text.
fn originals() -> Vec<(&'static str, LanguageFn, &'static str)> {
    let text = |name: &str| TEXTS.iter().find(|(of, _)| *of == name).unwrap().1;
    let all: &[(&str, LanguageFn)] = &grammars!(originals);
    all.iter().map(|(name, original)| (*name, *original, text(name))).collect()
}

const TEXTS: &[(&str, &str)] = &[
    (
        "rust",
        "use a::{b, c};\n#[derive(Clone)]\npub struct S<'a, T: X>(&'a T);\n\
             impl<T> S<'_, T> where T: Y {\n    async fn f(&self) -> Option<u8> {\n        \
             match self.0.g::<u8>()? { Some(n @ 1..=9) if n > 2 => r#\"raw\"#.len(), _ => 0x1f };\n\
             let x = |y| loop { break y + 1 };\n        m!(a, [b] => { c });\n    }\n}\n",
    ),
    (
        "python",
        "from a import b as c\n@d(1)\nclass E(F):\n    async def g(self, *h, i: int = 3, **j):\n\
             \x20       with k() as l:\n            yield f\"{m!r:>{n}} {{}}\"\n        return [o \
             for o in p if o not in q]\n\nmatch r:\n    case {\"s\": t, **u}: pass\n",
    ),
    (
        "javascript",
        "import a, {b as c} from 'd'\nexport default class E extends F {\n  #g = 1\n  static \
             async *h({i, ...j}, k = 2) { for await (const l of m) yield* l?.n ?? `o${p}q` }\n}\n\
             const r = s => /t[/]u/g.test(<v w={x}>y {z}</v>)\nlabel: while (1) break label\n",
    ),
    (
        "typescript",
        "abstract class A<B extends C = D> implements E {\n  constructor(private readonly f?: \
             G) { super() }\n  abstract h(): asserts this is I\n}\ntype J<K> = K extends (infer L)[] \
             ? `m${L}` : keyof typeof n;\nconst o = <P>q as unknown as R;\nenum S { T = 1 << 2 }\n\
             const u = <V,>(w: V) => w!;\nnamespace X { export declare const y: unique symbol }\n",
    ),
    (
        "tsx",
        "interface A { readonly [b: string]: C | undefined }\nexport const D: E<A> = ({ f, g }) \
             => (\n  <h.i j=\"k\" {...l}>\n    {f.map((m: N) => <o key={m.p} />)} text &amp; <></>\n  \
             </h.i>\n);\nfunction q<R,>(s: R): s is NonNullable<R> { return s satisfies T }\n",
    ),
    (
        "go",
        "package a\n\nimport b \"c\"\n\ntype D[E comparable] struct {\n\tF map[E][]*G `h:\"i\"`\n}\
             \n\nfunc (j *D[E]) K(l ...int) (m chan<- int, err error) {\n\tdefer func() { recover() \
             }()\n\tselect {\n\tcase n := <-o:\n\t\tgo p(n.(t))\n\tdefault:\n\t}\n\tfor q := range r \
             {\n\t\tgoto s\n\t}\n\treturn nil, `t`\n}\n",
    ),
    (
        "java",
        "package a.b;\n\nimport static c.D.*;\n\n@E(f = {1, 2})\npublic sealed class G<H extends \
             I & J> extends K permits L {\n  record M(int n) {}\n  int o = p -> switch (p) { case Q q \
             when q.r() -> 1; default -> { yield 2; } };\n  synchronized <S> void t(S... u) throws V \
             {\n    try (var w = x()) { y::new; } catch (Z | A a) { } finally { }\n  }\n}\n",
    ),
    (
        "c",
        "#include <a.h>\n#define B(c, ...) do { c(__VA_ARGS__); } while (0)\n#if defined(D) && E > \
             1\ntypedef struct f { unsigned g : 3; union { int h[2]; void (*i)(const char *, ...); }; \
             } f_t;\n#endif\nstatic inline int j(int k[static 2]) {\n  struct f l = {.g = 1, [2] = 3};\n\
             switch (k[0]) { case 'm': goto n; default: return sizeof(int) ? l.g++ : ~0x1fUL; }\nn: \
             return *&k[1];\n}\n",
    ),
    (
        "cpp",
        "#include \"a\"\nnamespace b::c {\ntemplate <typename... D> requires E<D...>\nclass F final \
             : public virtual G<D>... {\n public:\n  explicit constexpr F(H &&i) noexcept(false) : \
             j{std::move(i)} {}\n  auto operator<=>(const F &) const = default;\n  ~F() override;\n};\n}\n\
             int k() {\n  auto l = [&, m = 1]<class N>(N n) mutable -> decltype(n) { co_return n; };\n  \
             for (const auto &[o, p] : q) throw R\"x(raw)x\"_s;\n  return static_cast<int>(*new int[3]);\n}\n",
    ),
];

#[test]
fn every_state_knows_the_same_symbols() {
    for (name, original, _) in originals() {
        let (ours, theirs) = (grammar(name).unwrap(), Grammar::new(original));
        let count = theirs.parse_state_count();
        assert_eq!(ours.parse_state_count(), count);
        let mut entries = 0;
        for state in 0..u16::try_from(count).unwrap() {
            let symbols = |grammar: &Grammar| -> Vec<u16> {
                grammar.lookahead_iterator(state).into_iter().flatten().collect()
            };
            let known = symbols(&theirs);
            assert_eq!(symbols(&ours), known, "{name}, state {state}");
            for symbol in known {
                entries += 1;
                assert_eq!(ours.next_state(state, symbol), theirs.next_state(state, symbol));
            }
        }
        // Enough entries to show that the tables are not empty.
        assert!(entries > count * 5, "{name}: {entries} entries in {count} states");
    }
}

#[test]
fn every_text_has_the_same_tree() {
    for (name, original, text) in originals() {
        let parser = |grammar: &Grammar| {
            let mut parser = Parser::new();
            parser.set_language(grammar).unwrap();
            parser
        };
        let mut ours = parser(&grammar(name).unwrap());
        let mut theirs = parser(&original.into());
        let mut same = |text: &str| {
            let tree =
                |parser: &mut Parser| parser.parse(text, None).unwrap().root_node().to_sexp();
            let (tree, expected) = (tree(&mut ours), tree(&mut theirs));
            assert_eq!(tree, expected, "{name}: {text}");
            tree
        };
        assert!(!same(text).contains("ERROR"), "{name}: {}", same(text));
        // Damaged texts reach parser states that correct texts do not.
        for at in 0..text.len() {
            same(&format!("{}{}", &text[..at], &text[at + 1..]));
            same(&text[..at]);
        }
    }
}

#[test]
fn every_shape_is_a_node_of_its_grammar() {
    for syntax in crate::languages::syntaxes() {
        let grammar = grammar(syntax.name).unwrap();
        for (kind, _) in syntax.shapes {
            assert_ne!(grammar.id_for_node_kind(kind, true), 0, "{kind} in {}", syntax.name);
        }
    }
}
