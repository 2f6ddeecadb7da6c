//! Packs the grammars: a generated `parser.c` is mostly tables of numbers, nearly all of them zero,
//! 9 MB for all languages, which deflate to a tenth.
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
    actions: *const [u8; ACTION],
    _names_and_aliases: [*const (); 8],
    modes: *const u16,
    _functions: [*const (); 2],
    _keyword: u16,
    _scanner: [*const (); 7],
    primary: *const u16,
}

/// The size of a `TSParseActionEntry` in bytes.
const ACTION: usize = 8;

/// The tables of a grammar.
struct Tables {
    /// Where the list of each state with few symbols begins.
    small_at: &'static [u32],
    /// A row for each state with many symbols.
    large: &'static [u16],
    /// A list for each other state.
    small: &'static [u16],
    /// The actions, in groups: a head with their number, then each of them.
    actions: Vec<[u8; ACTION]>,
    /// How to lex in each state.
    modes: &'static [u16],
    /// The state that each state was split from.
    primary: &'static [u16],
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
        let parser = fs::read_to_string(sources.join("parser.c"))?;
        let big = env::var("CARGO_CFG_TARGET_ENDIAN")? == "big";
        let (head, tables) = tables(language, &parser, big).map_err(fail)?;
        let parser = with_room(parser, name, head, &tables).map_err(fail)?;
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

        let packed = miniz_oxide::deflate::compress_to_vec(&tables.bytes(big), 9);
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

/// The tables of a grammar, whose `parser.c` this is.
fn tables(
    language: LanguageFn,
    parser: &str,
    big: bool,
) -> Result<(&'static Head, Tables), String> {
    // SAFETY: such a function answers with a pointer to a `TSLanguage` that lives forever, and
    // the layout of its beginning is the same in the versions that are accepted below.
    let head = unsafe { &*language.into_raw()().cast::<Head>() };
    if !(14..=15).contains(&head.version) {
        return Err(format!("version {} of the layout is not known", head.version));
    }
    let (states, large_states) = (head.states as usize, head.large_states as usize);
    let last = last_group(parser).ok_or("its parser.c has no actions")?;
    let mode = if head.version < 15 { 2 } else { 3 };
    // SAFETY: `large` has a row of `symbols` numbers for each of these states, `small_at` an entry
    // for each other one, and each list in `small` says how long it is; `modes` and `primary` have
    // an entry for each state, and `actions` a group at `last`.
    let tables = unsafe {
        let small_at = slice::from_raw_parts(head.small_at, states - large_states);
        let mut end = 0;
        for begin in small_at {
            let mut at = *begin as usize;
            let groups = *head.small.add(at);
            at += 1;
            for _ in 0..groups {
                at += 2 + usize::from(*head.small.add(at + 1));
            }
            end = end.max(at);
        }
        Tables {
            small_at,
            large: slice::from_raw_parts(head.large, large_states * head.symbols as usize),
            small: slice::from_raw_parts(head.small, end),
            actions: actions(head.actions, last, big != cfg!(target_endian = "big")),
            modes: slice::from_raw_parts(head.modes, states * mode),
            primary: slice::from_raw_parts(head.primary, states),
        }
    };
    Ok((head, tables))
}

/// The index of the last group of actions in a `parser.c`.
fn last_group(parser: &str) -> Option<usize> {
    let begin = parser.find("static const TSParseActionEntry ts_parse_actions[")?;
    let table = &parser[begin..begin + parser[begin..].find("\n};\n")?];
    let (index, _) = table.rsplit_once("\n  [")?.1.split_once(']')?;
    index.parse().ok()
}

/// All actions up to the group at `last`, with the bytes of their numbers swapped or not.
///
/// # Safety
/// There are groups from the beginning to `last`.
unsafe fn actions(from: *const [u8; ACTION], last: usize, swap: bool) -> Vec<[u8; ACTION]> {
    const REDUCE: u8 = 1;
    let mut found = Vec::new();
    while found.len() <= last {
        // SAFETY: the caller's.
        let head = unsafe { *from.add(found.len()) };
        found.push(head);
        for _ in 0..head[0] {
            // SAFETY: the head counts the actions after it.
            let mut action = unsafe { *from.add(found.len()) };
            // All have a number at 2; a reduction has two more.
            let numbers = if action[0] == REDUCE { 3 } else { 1 };
            for at in (0..numbers).map(|n| 2 + 2 * n).filter(|_| swap) {
                action.swap(at, at + 1);
            }
            found.push(action);
        }
    }
    found
}

impl Tables {
    /// Their bytes, as they lie in the room.
    fn bytes(&self, big: bool) -> Vec<u8> {
        let short = |n: &u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let long = |n: &u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut bytes: Vec<u8> = self.small_at.iter().flat_map(long).collect();
        bytes.extend(self.large.iter().chain(self.small).flat_map(short));
        bytes.extend(self.actions.iter().flatten());
        bytes.extend(self.modes.iter().chain(self.primary).flat_map(short));
        // The room ends at a multiple of its alignment.
        bytes.resize(bytes.len().next_multiple_of(size_of::<u32>()), 0);
        bytes
    }
}

/// The parser with room for its tables, and a function that says where this is.
fn with_room(text: String, name: &str, head: &Head, tables: &Tables) -> Result<String, String> {
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
    let mode = if head.version < 15 { "TSLexMode" } else { "TSLexerMode" };
    let (few, small) = (tables.small_at.len(), tables.small.len());
    let actions = tables.actions.len();
    let room = format!(
        "static struct {{ uint32_t small_at[{few}]; uint16_t large[LARGE_STATE_COUNT][SYMBOL_COUNT]; \
         uint16_t small[{small}]; TSParseActionEntry actions[{actions}]; {mode} modes[STATE_COUNT]; \
         TSStateId primary[STATE_COUNT]; }} room;\n"
    );
    let mut text = text;
    for (kind, table, field, instead) in [
        ("TSStateId", "ts_primary_state_ids", "primary", ""),
        (mode, "ts_lex_modes", "modes", ""),
        ("uint16_t", "ts_parse_table", "large", room.as_str()),
        ("uint16_t", "ts_small_parse_table", "small", ""),
        ("uint32_t", "ts_small_parse_table_map", "small_at", ""),
        ("TSParseActionEntry", "ts_parse_actions", "actions", ""),
    ] {
        let define = format!("#define {table} room.{field}");
        text = replace_table(text, kind, table, &format!("{instead}{define}"))?;
    }
    let where_it_is =
        format!("void *cowork_room_{name}(size_t *size) {{ *size = sizeof room; return &room; }}");
    Ok(text + &where_it_is + "\n")
}

fn replace_table(mut text: String, kind: &str, table: &str, with: &str) -> Result<String, String> {
    let missing = || format!("its parser.c has no {table}");
    let begin = text.find(&format!("static const {kind} {table}[")).ok_or_else(missing)?;
    let end = text[begin..].find("\n};\n").ok_or_else(missing)?;
    text.replace_range(begin..begin + end + "\n};".len(), with);
    Ok(text)
}
