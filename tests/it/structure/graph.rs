//! Which file of `src` uses which: by paths (`use`, expressions, types) and by methods that are
//! called through `self` or a parameter. Read with `syn`; tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{FnArg, ImplItem, Item, Pat, Type, UseTree};

use super::super::tidy::Source;

/// What is one point of the graph.
#[derive(Clone, Copy)]
pub(super) enum Node {
    /// Each file.
    File,
    /// What stands directly in the room: a file, or a folder with all it holds.
    Child,
}

/// A file of code.
struct File {
    /// `src/pipeline/review/mod.rs`
    path: String,
    /// `pipeline::review`
    module: Vec<String>,
    syntax: syn::File,
    /// Names that `use` brings into the module, and where they come from.
    imports: BTreeMap<String, Vec<String>>,
    /// Modules that `use path::*` brings in.
    globs: Vec<Vec<String>>,
}

/// All code.
pub(super) struct Code {
    files: Vec<File>,
    /// File by module.
    modules: BTreeMap<Vec<String>, usize>,
    /// Where an inherent method of a type is defined: `(room, type)`, then its name.
    methods: BTreeMap<(String, String), BTreeMap<String, BTreeSet<usize>>>,
}

impl Code {
    /// Parses what is no test.
    pub(super) fn read(sources: Vec<Source>) -> Self {
        let mut files = Vec::new();
        for source in sources {
            if source.code.trim().is_empty() {
                continue;
            }
            let mut syntax = syn::parse_file(&source.text).unwrap();
            syntax.items.retain(|item| !is_test(item));
            let inner = source.path.strip_prefix("src/").unwrap().trim_end_matches(".rs");
            let inner = inner.trim_end_matches("/mod");
            let module: Vec<String> = match inner {
                "lib" => Vec::new(),
                inner => inner.split('/').map(str::to_owned).collect(),
            };
            let (imports, globs) = imports(&syntax, &module);
            files.push(File { path: source.path, module, syntax, imports, globs });
        }
        let modules = files.iter().enumerate().map(|(at, f)| (f.module.clone(), at)).collect();
        let mut methods = BTreeMap::<_, BTreeMap<String, BTreeSet<usize>>>::new();
        for (at, file) in files.iter().enumerate() {
            let room = file.module.first().cloned().unwrap_or_default();
            for item in impls(&file.syntax) {
                let Some(name) = type_name(&item.self_ty) else { continue };
                let known = methods.entry((room.clone(), name)).or_default();
                for item in &item.items {
                    if let ImplItem::Fn(method) = item {
                        known.entry(method.sig.ident.to_string()).or_default().insert(at);
                    }
                }
            }
        }
        Self { files, modules, methods }
    }

    /// How many methods and associated functions each type has, as `room::Type`.
    pub(super) fn methods(&self) -> impl Iterator<Item = (String, usize)> {
        self.methods.iter().map(|((room, name), all)| (format!("{room}::{name}"), all.len()))
    }

    /// Groups of a room's nodes each of which reaches every other of the group, each node with what
    /// it uses of the group.
    pub(super) fn circles(&self, room: &str, node: Node) -> Vec<Vec<String>> {
        let mut edges = BTreeMap::<String, BTreeSet<String>>::new();
        for (at, file) in self.files.iter().enumerate() {
            if file.module.first().is_none_or(|first| first != room) {
                continue;
            }
            let Some(from) = self.point(at, node) else { continue };
            let used = self.used_by(at);
            let used = used.into_iter().filter(|to| self.files[*to].module[..1] == [room]);
            let used = used.filter_map(|to| self.point(to, node)).filter(|to| *to != from);
            edges.entry(from.clone()).or_default().extend(used);
        }
        circles(&edges)
    }

    /// The name of a file's node. A room's own `mod.rs` is no child: it holds what others call.
    fn point(&self, file: usize, node: Node) -> Option<String> {
        let file = &self.files[file];
        match node {
            Node::File => Some(file.path.clone()),
            Node::Child => file.module.get(1).cloned(),
        }
    }

    /// The files that one uses.
    fn used_by(&self, at: usize) -> BTreeSet<usize> {
        let file = &self.files[at];
        let mut uses = Uses { code: self, file, found: BTreeSet::new(), this: None, known: vec![] };
        uses.visit_file(&file.syntax);
        for path in file.imports.values() {
            uses.found.extend(self.file_of(path));
        }
        for path in &file.globs {
            uses.found.extend(self.file_of(path));
        }
        uses.found.remove(&at);
        uses.found
    }

    /// The file that defines what an absolute path names, through what other modules re-export.
    fn file_of(&self, path: &[String]) -> Option<usize> {
        self.resolve(path, 0)
    }

    fn resolve(&self, path: &[String], depth: usize) -> Option<usize> {
        let known = |path: &[String]| self.modules.get(path).copied();
        let (length, at) =
            (1..=path.len()).rev().find_map(|n| known(&path[..n]).map(|at| (n, at)))?;
        let Some(next) = path.get(length) else { return Some(at) };
        if depth < 8
            && let Some(from) = self.files[at].imports.get(next)
        {
            let whole = [&from[..], &path[length + 1..]].concat();
            if let Some(found) = self.resolve(&whole, depth + 1) {
                return Some(found);
            }
        }
        Some(at)
    }
}

/// Collects the files that one file uses.
struct Uses<'a> {
    code: &'a Code,
    file: &'a File,
    found: BTreeSet<usize>,
    /// The type whose `impl` is visited.
    this: Option<String>,
    /// Parameters and their types, of the functions around.
    known: Vec<(String, String)>,
}

impl Uses<'_> {
    fn path(&mut self, path: &syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if let [of, method] = &names[..] {
            let of = if of == "Self" { self.this.clone() } else { Some(of.clone()) };
            self.method(of, method);
        }
        let absolute = absolute(&names, &self.file.module);
        let path = absolute.or_else(|| {
            let from = self.file.imports.get(&names[0])?;
            Some([&from[..], &names[1..]].concat())
        });
        // `child::function()` in the module that declares `mod child;`.
        let path = path.unwrap_or_else(|| [&self.file.module[..], &names[..]].concat());
        self.found.extend(self.code.file_of(&path));
    }

    /// The files that define a method of a type of this room.
    fn method(&mut self, of: Option<String>, method: &str) {
        let (Some(of), Some(room)) = (of, self.file.module.first()) else { return };
        let methods = self.code.methods.get(&(room.clone(), of));
        self.found.extend(methods.and_then(|all| all.get(method)).into_iter().flatten());
    }

    fn with_parameters(&mut self, signature: &syn::Signature, visit: impl FnOnce(&mut Self)) {
        let before = self.known.len();
        for input in &signature.inputs {
            if let FnArg::Typed(typed) = input
                && let (Pat::Ident(name), Some(of)) = (&*typed.pat, type_name(&typed.ty))
            {
                self.known.push((name.ident.to_string(), of));
            }
        }
        visit(self);
        self.known.truncate(before);
    }
}

impl<'a> Visit<'a> for Uses<'_> {
    fn visit_item_use(&mut self, _: &'a syn::ItemUse) {
        // They are read by `imports`.
    }

    fn visit_visibility(&mut self, _: &'a syn::Visibility) {
        // `pub(super)` uses nothing.
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let before = std::mem::replace(&mut self.this, type_name(&item.self_ty));
        visit::visit_item_impl(self, item);
        self.this = before;
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.with_parameters(&item.sig, |this| visit::visit_item_fn(this, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.with_parameters(&item.sig, |this| visit::visit_impl_item_fn(this, item));
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        if let syn::Expr::Path(receiver) = &*call.receiver
            && let Some(name) = receiver.path.get_ident()
        {
            let known = self.known.iter().rev().find(|(known, _)| name == known);
            let of = match name == "self" {
                true => self.this.clone(),
                false => known.map(|(_, of)| of.clone()),
            };
            self.method(of, &call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.path(path);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, found: &'a syn::Macro) {
        // Arguments of `format!` and its like are expressions.
        let parse = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(arguments) = found.parse_body_with(parse) {
            for argument in &arguments {
                let mut inner = Uses {
                    code: self.code,
                    file: self.file,
                    found: BTreeSet::new(),
                    this: self.this.clone(),
                    known: self.known.clone(),
                };
                inner.visit_expr(argument);
                self.found.append(&mut inner.found);
            }
        }
    }
}

/// True for an item that `#[cfg(test)]` or its like leaves out of the program.
fn is_test(item: &Item) -> bool {
    let attributes = match item {
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return false,
    };
    let names_test = |list: &syn::MetaList| {
        let words = list.tokens.to_string();
        words.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
    };
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => names_test(list),
        _ => false,
    })
}

/// The inherent impls of a file.
fn impls(file: &syn::File) -> impl Iterator<Item = &syn::ItemImpl> {
    file.items.iter().filter_map(|item| match item {
        Item::Impl(item) if item.trait_.is_none() => Some(item),
        _ => None,
    })
}

/// `Run` for `Run<'_>`, `&Run`, `&'a mut Run<'b>`.
fn type_name(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        Type::Reference(reference) => type_name(&reference.elem),
        _ => None,
    }
}

/// What a file's `use` items bring in.
fn imports(
    file: &syn::File,
    module: &[String],
) -> (BTreeMap<String, Vec<String>>, Vec<Vec<String>>) {
    let (mut names, mut globs) = (BTreeMap::new(), Vec::new());
    for item in &file.items {
        if let Item::Use(item) = item {
            tree(&item.tree, &[], module, &mut names, &mut globs);
        }
    }
    (names, globs)
}

fn tree(
    of: &UseTree,
    before: &[String],
    module: &[String],
    names: &mut BTreeMap<String, Vec<String>>,
    globs: &mut Vec<Vec<String>>,
) {
    // `use child::Name` in the module that declares `mod child;`, or a crate from outside.
    let whole = |path: &[String]| absolute(path, module).unwrap_or_else(|| [module, path].concat());
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match of {
        UseTree::Path(path) => tree(&path.tree, &with(&path.ident), module, names, globs),
        UseTree::Group(group) => {
            group.items.iter().for_each(|item| tree(item, before, module, names, globs));
        }
        UseTree::Name(name) if name.ident == "self" => {
            let last = before.last().cloned().unwrap_or_default();
            names.insert(last, whole(before));
        }
        UseTree::Name(name) => {
            names.insert(name.ident.to_string(), whole(&with(&name.ident)));
        }
        UseTree::Rename(name) => {
            names.insert(name.rename.to_string(), whole(&with(&name.ident)));
        }
        UseTree::Glob(_) => globs.push(whole(before)),
    }
}

/// A path that begins with `crate`, `self` or `super`, from the root of the crate.
fn absolute(path: &[String], module: &[String]) -> Option<Vec<String>> {
    let first = path.first()?;
    let up = path.iter().take_while(|name| *name == "super").count();
    match first.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => Some([&module[..module.len().checked_sub(up)?], &path[up..]].concat()),
        _ => None,
    }
}

/// Groups of more than one node that reach one another.
fn circles(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = edges
        .keys()
        .map(|from| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(at) = next.pop() {
                for to in edges.get(at).into_iter().flatten() {
                    if seen.insert(to) {
                        next.push(to);
                    }
                }
            }
            (from, seen)
        })
        .collect();
    let mut found = BTreeMap::<Vec<&String>, ()>::new();
    for from in edges.keys() {
        let back = |to: &&String| reach.get(*to).is_some_and(|seen| seen.contains(from));
        let group: Vec<&String> = reach[from].iter().copied().filter(back).collect();
        if group.len() > 1 {
            found.insert(group, ());
        }
    }
    let line = |group: &[&String], from: &String| {
        let used: Vec<_> = edges[from].iter().filter(|to| group.contains(to)).cloned().collect();
        format!("{from} → {}", used.join(", "))
    };
    found.keys().map(|group| group.iter().map(|from| line(group, from)).collect()).collect()
}

#[test]
fn a_circle_through_a_method_is_found() {
    let source = |path: &str, code: &str| Source {
        path: path.to_owned(),
        text: code.to_owned(),
        code: code.to_owned(),
    };
    let code = Code::read(vec![
        source("src/room/mod.rs", "mod low; mod high; pub use low::Run;"),
        source("src/room/low.rs", "pub(super) struct Run; impl Run { fn a(&self) { self.b() } }"),
        source("src/room/high.rs", "use super::Run; impl Run { fn b(&self) {} }"),
        source("src/room/side.rs", "fn c(run: &super::Run) { run.b() }"),
    ]);
    let found = code.circles("room", Node::File);
    let expected = [["src/room/high.rs → src/room/low.rs", "src/room/low.rs → src/room/high.rs"]];
    assert_eq!(found, expected);
}
