//! Packs the grammars: a generated `parser.c` is mostly two tables of numbers, nearly all of them
//! zero, 8 MB for all languages, which deflate to a tenth.
//!
//! The crates that bring the grammars are linked into this script alone. It reads the tables out
//! of them, and compiles each `parser.c` once more with empty room in their place.
//! `src/codebase/grammar.rs` fills the room when a language is first met.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs, slice};

use tree_sitter_language::LanguageFn;

#[path = "src/languages/grammars.rs"]
mod grammars;

macro_rules! table {
    ($($name:literal: $package:ident::$language:ident, $sources:literal;)*) => {
        [$(($name, stringify!($package), $sources, $package::$language)),*]
    };
}

/// Its name in C, its crate, where in the crate its sources are.
type Grammar = (&'static str, &'static str, &'static str, LanguageFn);

/// How a `TSLanguage` begins, in the versions of its layout that [`tables`] accepts.
#[repr(C)]
struct Head {
    version: u32,
    symbols: u32,
    aliases: u32,
    tokens: u32,
    external_tokens: u32,
    states: u32,
    large_states: u32,
    productions: u32,
    fields: u32,
    longest_alias: u16,
    large: *const u16,
    small: *const u16,
    small_at: *const u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.lock");
    let lock = fs::read_to_string("Cargo.lock")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let all: &[Grammar] = &grammars::grammars!(table);
    for &(name, package, inner, language) in all {
        let sources = sources(&package.replace('_', "-"), &lock)?.join(inner);
        let fail = |error| format!("cannot pack the grammar {name}: {error}");
        let (head, large, small) = tables(language).map_err(fail)?;

        let parser = fs::read_to_string(sources.join("parser.c"))?;
        let parser = with_room(parser, name, head, small.len()).map_err(fail)?;
        let file = out.join(format!("{name}.c"));
        fs::write(&file, parser)?;
        let mut compiler = cc::Build::new();
        let function = format!("tree_sitter_{name}");
        // As fast in every profile: the lexer is in here.
        compiler.std("c11").warnings(false).opt_level(2).include(&sources).file(&file);
        // The name is the crate's, which the unit tests link beside it.
        compiler.define(&function, format!("cowork_grammar_{name}").as_str());
        let scanner = sources.join("scanner.c");
        if scanner.exists() {
            compiler.file(scanner);
        }
        compiler.compile(&format!("cowork-grammar-{name}"));

        let big = env::var("CARGO_CFG_TARGET_ENDIAN")? == "big";
        let bytes = |n: &u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let tables: Vec<u8> = large.iter().chain(small).flat_map(bytes).collect();
        let packed = miniz_oxide::deflate::compress_to_vec(&tables, 9);
        fs::write(out.join(format!("{name}.tables")), packed)?;
    }
    Ok(())
}

/// Where cargo has laid the sources of a package: beside those of `tree-sitter`, which names its
/// own, in the registry's directory (`name-version`) as in a vendored one (also `name`).
fn sources(package: &str, lock: &str) -> Result<PathBuf, Box<dyn Error>> {
    let include = PathBuf::from(env::var("DEP_TREE_SITTER_INCLUDE")?);
    let beside = include.ancestors().nth(2).ok_or("tree-sitter has no directory")?;
    let (_, entry) = lock
        .split_once(&format!("name = \"{package}\"\nversion = \""))
        .ok_or_else(|| format!("Cargo.lock does not name {package}"))?;
    let version = entry.split('"').next().unwrap_or_default();
    let found = [format!("{package}-{version}"), package.to_owned()].map(|name| beside.join(name));
    let [with, without] = &found;
    found.iter().find(|path| path.is_dir()).cloned().ok_or_else(|| {
        let (with, without) = (with.display(), without.display());
        format!("the sources of {package} {version} are neither {with} nor {without}").into()
    })
}

/// The two tables of a grammar: a row for each state with many symbols, a list for each other one.
fn tables(language: LanguageFn) -> Result<(&'static Head, &'static [u16], &'static [u16]), String> {
    // SAFETY: such a function answers with a pointer to a `TSLanguage` that lives forever, and
    // the layout of its beginning is the same in the versions that are accepted below.
    let head = unsafe { &*language.into_raw()().cast::<Head>() };
    if !(13..=15).contains(&head.version) {
        return Err(format!("version {} of the layout is not known", head.version));
    }
    // SAFETY: `large` has a row of `symbols` numbers for each of these states, `small_at` an entry
    // for each other one, and each list in `small` says how long it is.
    unsafe {
        let large = slice::from_raw_parts(head.large, (head.large_states * head.symbols) as usize);
        let small_states = (head.states - head.large_states) as usize;
        let mut end = 0;
        for begin in slice::from_raw_parts(head.small_at, small_states) {
            let mut at = *begin as usize;
            let groups = *head.small.add(at);
            at += 1;
            for _ in 0..groups {
                at += 2 + usize::from(*head.small.add(at + 1));
            }
            end = end.max(at);
        }
        Ok((head, large, slice::from_raw_parts(head.small, end)))
    }
}

/// The parser with room for its tables, and a function that says where this is.
fn with_room(text: String, name: &str, head: &Head, small: usize) -> Result<String, String> {
    // Another version of the crate would have other states.
    for (define, value) in [
        ("LANGUAGE_VERSION", head.version),
        ("STATE_COUNT", head.states),
        ("LARGE_STATE_COUNT", head.large_states),
        ("SYMBOL_COUNT", head.symbols),
        ("TOKEN_COUNT", head.tokens),
        ("PRODUCTION_ID_COUNT", head.productions),
    ] {
        if !text.contains(&format!("\n#define {define} {value}\n")) {
            return Err(format!("its parser.c does not define {define} as {value}"));
        }
    }
    let room = format!(
        "static struct {{ uint16_t large[LARGE_STATE_COUNT][SYMBOL_COUNT]; uint16_t small[{small}]; }} room;\n\
         #define ts_parse_table room.large\n\
         #define ts_small_parse_table room.small"
    );
    let text = replace_table(text, "ts_parse_table", &room)?;
    let text = replace_table(text, "ts_small_parse_table", "")?;
    let where_it_is =
        format!("void *cowork_room_{name}(size_t *size) {{ *size = sizeof room; return &room; }}");
    Ok(text + &where_it_is + "\n")
}

fn replace_table(mut text: String, table: &str, with: &str) -> Result<String, String> {
    let missing = || format!("its parser.c has no {table}");
    let begin = text.find(&format!("static const uint16_t {table}[")).ok_or_else(missing)?;
    let end = text[begin..].find("\n};\n").ok_or_else(missing)?;
    text.replace_range(begin..begin + end + "\n};".len(), with);
    Ok(text)
}
