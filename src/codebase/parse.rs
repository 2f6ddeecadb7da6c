//! Parses one file: what it defines, and which names it uses.
//!
//! It visits the syntax tree once, without recursion: a hostile file's depth costs memory bounded
//! by its size, but no stack. A file that takes too long is given up and counts as one without
//! symbols.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tree_sitter::{Node, ParseOptions, Parser, TreeCursor};

use super::grammar::grammar;
use super::is_odd;
use crate::in_threads;
use crate::languages::{NodeRole, Syntax};

/// Time limit to parse one file. A large one takes some 50 ms.
const PATIENCE: Duration = Duration::from_secs(1);
/// After this many files that took too long, a thread parses no further file.
const GIVEN_UP: u32 = 3;
/// Maximum bytes of a signature.
const SIGNATURE: usize = 110;
/// Maximum bytes of a name.
const NAME_MAX: usize = 60;
/// Maximum definitions and names from one file.
const DEFINITIONS: usize = 500;
const USES: usize = 3_000;
/// Maximum depth in a C declarator.
const DECLARATORS: usize = 12;

/// Something a file defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Definition {
    pub(super) name: String,
    /// The type it belongs to, possibly empty.
    pub(super) owner: String,
    /// Signature of the definition, in one line.
    pub(super) signature: String,
    /// First line of the definition, from 1.
    pub(super) line: usize,
    /// Last line of the definition.
    pub(super) end: usize,
}

/// The symbols of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Symbols {
    /// In the order of the file.
    pub(super) defines: Vec<Definition>,
    /// Distinct names that it calls, imports or uses as types, sorted; methods have a leading dot.
    /// Other names are mostly its own variables.
    pub(super) uses: BTreeSet<String>,
}

/// The parsers of a run, one per grammar.
pub(super) struct Parsers {
    by_grammar: HashMap<&'static str, (Parser, Vec<Class>)>,
    patience: Duration,
    timeouts: u32,
}

impl Default for Parsers {
    fn default() -> Self {
        Self { by_grammar: HashMap::new(), patience: PATIENCE, timeouts: 0 }
    }
}

/// Parses these texts, each parser in a thread of its own. The results are in the order of the
/// texts; `None` for one that was skipped.
pub(super) fn parse_all(
    parsers: &mut [Parsers],
    texts: &[(&'static Syntax, &str)],
) -> Vec<Option<Symbols>> {
    in_threads::each(parsers, texts, |parsers, (syntax, text)| parsers.parse(syntax, text))
}

impl Parsers {
    /// Parsers for each thread.
    pub(super) fn one_a_thread() -> Vec<Self> {
        (0..in_threads::count()).map(|_| Self::default()).collect()
    }

    /// Parses a file; `None` if it was skipped, because others took too long.
    pub(super) fn parse(&mut self, syntax: &'static Syntax, text: &str) -> Option<Symbols> {
        if text.is_empty() {
            return Some(Symbols::default());
        }
        if self.timeouts >= GIVEN_UP {
            return None;
        }
        let (parser, classes) = self.by_grammar.entry(syntax.name).or_insert_with(|| {
            let mut parser = Parser::new();
            let Some(grammar) = grammar(syntax.name) else {
                tracing::warn!("the grammar of {} cannot be unpacked", syntax.name);
                return (parser, Vec::new());
            };
            if let Err(error) = parser.set_language(&grammar) {
                tracing::warn!("the grammar of {} cannot be used: {error}", syntax.name);
            }
            (parser, classes(syntax, &grammar))
        });
        let begin = Instant::now();
        let mut in_time = |_: &tree_sitter::ParseState| match begin.elapsed() < self.patience {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let options = ParseOptions::new().progress_callback(&mut in_time);
        let mut bytes = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
        let Some(tree) = parser.parse_with_options(&mut bytes, None, Some(options)) else {
            parser.reset();
            self.timeouts += 1;
            return Some(Symbols::default());
        };
        let mut walk = SymbolWalk {
            syntax,
            classes,
            text,
            symbols: Symbols::default(),
            scopes: Vec::new(),
            above: Vec::new(),
            name_positions: BTreeSet::new(),
        };
        walk.run(tree.walk());
        Some(walk.symbols)
    }
}

/// The role of a node, by the number of its kind: comparing names at each node would take longer
/// than parsing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// A node without a role of its own; only its children matter.
    Other,
    /// A name; `of_type` if the grammar marks it as the name of a type.
    Name { of_type: bool },
    /// A node of a kind for which the language defines a [`Shape`].
    Of(NodeRole),
}

fn classes(syntax: &Syntax, grammar: &tree_sitter::Language) -> Vec<Class> {
    let class = |id: u16| {
        let name = grammar.node_kind_for_id(id).unwrap_or_default();
        let shape = syntax.shapes.iter().find(|(kind, _)| *kind == name);
        match name {
            _ if !grammar.node_kind_is_named(id) => Class::Other,
            _ if name.ends_with("identifier") => Class::Name { of_type: name == "type_identifier" },
            _ if name.starts_with("import") => Class::Of(NodeRole::Import),
            _ => shape.map_or(Class::Other, |(_, shape)| Class::Of(*shape)),
        }
    };
    (0..u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX)).map(class).collect()
}

/// A definition or implementation around the current node.
struct SymbolScope {
    /// Depth in the tree.
    depth: usize,
    /// The type that its contents belong to, possibly empty.
    owner: String,
    /// True if definitions in the scope are local.
    local: bool,
    /// True if the scope imports names that are defined elsewhere.
    imports: bool,
}

struct SymbolWalk<'a, 'tree> {
    syntax: &'static Syntax,
    classes: &'a [Class],
    text: &'a str,
    symbols: Symbols,
    scopes: Vec<SymbolScope>,
    /// The nodes above the current one: tree-sitter searches a node's parent from the root each
    /// time.
    above: Vec<Node<'tree>>,
    /// Positions of the names of definitions, which do not count as uses.
    name_positions: BTreeSet<usize>,
}

impl<'a, 'tree> SymbolWalk<'a, 'tree> {
    fn run(&mut self, mut cursor: TreeCursor<'tree>) {
        loop {
            let node = cursor.node();
            let class = usize::from(node.kind_id());
            match self.classes.get(class).copied().unwrap_or(Class::Other) {
                Class::Other => {}
                Class::Name { of_type } => self.uses(node, of_type),
                Class::Of(shape) => self.enter(node, shape),
            }
            if cursor.goto_first_child() {
                self.above.push(node);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                self.above.pop();
            }
            let depth = self.above.len();
            while self.scopes.last().is_some_and(|scope| scope.depth >= depth) {
                self.scopes.pop();
            }
        }
    }

    fn enter(&mut self, node: Node<'tree>, shape: NodeRole) {
        let (owner, local) = match self.scopes.last() {
            Some(scope) => (scope.owner.clone(), scope.local),
            None => (String::new(), false),
        };
        let depth = self.above.len();
        let mut scope = SymbolScope { depth, owner, local, imports: shape == NodeRole::Import };
        if matches!(shape, NodeRole::Anonymous | NodeRole::Import) {
            scope.local |= shape == NodeRole::Anonymous;
            self.scopes.push(scope);
            return;
        }
        if shape == NodeRole::Implementation {
            let type_name =
                node.child_by_field_name("type").map(|node| self.text_of(node)).unwrap_or_default();
            let type_name = type_name.split('<').next().unwrap_or_default();
            scope.owner = if is_name(type_name) { type_name.to_owned() } else { String::new() };
            self.scopes.push(scope);
            return;
        }
        let name = self.name_in(node, shape);
        if let Some(name) = name {
            self.name_positions.insert(name.start_byte());
        }
        if let Some(name) = name.filter(|_| !local) {
            self.define(node, name, &scope.owner);
        }
        let holds = matches!(shape, NodeRole::Type | NodeRole::TypeWithBody);
        let inner =
            name.filter(|_| holds).map(|name| self.text_of(name)).filter(|name| is_name(name));
        if let Some(inner) = inner {
            inner.clone_into(&mut scope.owner);
        }
        scope.local |= shape == NodeRole::Code;
        self.scopes.push(scope);
    }

    /// The node with the defined name, if there is one.
    fn name_in(&self, node: Node<'tree>, shape: NodeRole) -> Option<Node<'tree>> {
        match shape {
            NodeRole::TypeWithBody => {
                node.child_by_field_name("body")?;
            }
            NodeRole::Variable => {
                let value = node.child_by_field_name("value")?;
                let code = matches!(value.kind(), "arrow_function" | "function_expression");
                let above = self.above.iter().rev().nth(1)?;
                let top = matches!(above.kind(), "program" | "export_statement");
                (code && top).then_some(())?;
            }
            _ => {}
        }
        if let Some(name) = node.child_by_field_name("name") {
            return Some(name);
        }
        // C: the name is inside nested declarators.
        let mut at = node.child_by_field_name("declarator")?;
        let mut function = false;
        for _ in 0..DECLARATORS {
            function |= at.kind() == "function_declarator";
            if at.child_count() == 0 {
                return (function || shape != NodeRole::Prototype).then_some(at);
            }
            let inner = ["declarator", "name"];
            at = inner.iter().find_map(|field| at.child_by_field_name(field))?;
        }
        None
    }

    fn define(&mut self, node: Node<'tree>, name: Node<'tree>, owner: &str) {
        let text = self.text_of(name);
        if !is_name(text) || self.symbols.defines.len() >= DEFINITIONS {
            return;
        }
        // The signature includes the declaration around the node, such as `const` or `type`.
        let outer = self.above.last().filter(|outer| {
            matches!(
                outer.kind(),
                "lexical_declaration" | "variable_declaration" | "type_declaration"
            ) && outer.named_child_count() == 1
        });
        let begin = outer.unwrap_or(&node).start_byte();
        let value = node.child_by_field_name("value");
        let body = node
            .child_by_field_name("body")
            .or_else(|| value.and_then(|value| value.child_by_field_name("body")));
        let mut end = body.map_or(node.end_byte(), |body| body.start_byte());
        if self.syntax.bodies_by_brace && body.is_none() {
            // The fields of a type are its body, but the grammar does not name that node `body`.
            end = self
                .text
                .get(begin..end)
                .and_then(|text| text.find('{'))
                .map_or(end, |at| begin + at);
        }
        let (signature, owner) = (self.head(begin, end), owner.to_owned());
        let (name, line) = (text.to_owned(), node.start_position().row + 1);
        let end = node.end_position().row + 1;
        self.symbols.defines.push(Definition { name, owner, signature, line, end });
    }

    fn uses(&mut self, node: Node<'_>, of_type: bool) {
        let name = self.text_of(node);
        if name.len() <= 2 || !is_name(name) || self.symbols.uses.len() >= USES {
            return;
        }
        let rest = self.text.get(node.end_byte()..).unwrap_or_default();
        let is_call = ["(", "!(", "::<", "!["].iter().any(|sign| rest.starts_with(sign));
        let method = is_call && self.text[..node.start_byte()].ends_with('.');
        let spoken_of = of_type
            || name.starts_with(char::is_uppercase)
            || self.scopes.last().is_some_and(|scope| scope.imports);
        if (is_call || spoken_of) && !self.name_positions.contains(&node.start_byte()) {
            let name = if method { format!(".{name}") } else { name.to_owned() };
            self.symbols.uses.insert(name);
        }
    }

    fn text_of(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The text before a body, as one short line.
    fn head(&self, begin: usize, end: usize) -> String {
        let text = self.text.get(begin..end).unwrap_or_default();
        let mut out = String::new();
        for word in text.split(|c: char| c.is_whitespace() || is_odd(c)) {
            if word.is_empty() {
                continue;
            }
            if out.len() + word.len() > SIGNATURE {
                let room = SIGNATURE.saturating_sub(out.len());
                let mut cut = room.min(word.len());
                while !word.is_char_boundary(cut) {
                    cut -= 1;
                }
                out.push_str(&word[..cut]);
                return out.trim_end().to_owned() + "…";
            }
            out.push_str(word);
            out.push(' ');
        }
        let out = out.trim_end().trim_end_matches(['{', ':', ';']).trim_end();
        out.strip_suffix("=>").unwrap_or(out).trim_end().to_owned()
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= NAME_MAX
        && text.chars().all(|c| c.is_alphanumeric() || "_$#".contains(c))
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
