//! Reads the modules of a crate, and which paths each of them mentions, from the tokens of its files.
//!
//! Tokens are enough: a path is written the same way in an item, in a body and in the arguments of a macro. What is only
//! compiled for tests (`#[cfg(test)]`) is left out, but for modules, which are marked.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module: a file, or a block in one.
pub(crate) struct Module {
    /// Names from the root of the crate on; empty for the root itself.
    pub(crate) path: Vec<String>,
    pub(crate) file: PathBuf,
    /// It, or one around it, is `#[cfg(test)]`.
    pub(crate) is_test: bool,
    pub(crate) references: Vec<Reference>,
    /// What `use` brings in, by the name it has here.
    imports: BTreeMap<String, Vec<String>>,
}

/// A path that begins with `crate`, `self` or `super`, or stands in a `use`.
pub(crate) struct Reference {
    pub(crate) line: usize,
    pub(crate) segments: Vec<String>,
}

/// All modules of the crate, or the test, whose root is this file. The root comes first.
pub(crate) struct Modules(pub(crate) Vec<Module>);

impl Modules {
    pub(crate) fn read(root: &Path) -> Modules {
        let mut modules = Modules(Vec::new());
        modules.read_file(root, Vec::new(), root.parent().unwrap(), false);
        modules
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|module| module.file.as_path())
    }

    /// The modules that a reference from this one leads through, as far as they are known: those it names, and those
    /// that what it names was imported from.
    pub(crate) fn reached<'m>(&'m self, from: &'m Module, segments: &[String]) -> Vec<&'m Module> {
        let mut reached = Vec::new();
        self.follow(from, segments, &mut reached, 0);
        reached
    }

    fn follow<'m>(&'m self, from: &'m Module, segments: &[String], reached: &mut Vec<&'m Module>, depth: usize) {
        // Two imports may name each other.
        if depth > 8 {
            return;
        }
        let mut at = from;
        for (index, segment) in segments.iter().enumerate() {
            let next = match segment.as_str() {
                "crate" => self.0.first(),
                "self" => Some(at),
                "super" => self.find(&at.path[..at.path.len().saturating_sub(1)]),
                name => self.find(&[&at.path[..], &[name.to_owned()]].concat()),
            };
            let Some(next) = next else {
                if index == 0 && !at.imports.contains_key(segment) {
                    return;
                }
                reached.push(at);
                let rest = &segments[index + 1..];
                if let Some(import) = at.imports.get(segment).filter(|import| import[..] != segments[..]) {
                    self.follow(at, &[&import[..], rest].concat(), reached, depth + 1);
                }
                return;
            };
            at = next;
        }
        reached.push(at);
    }

    fn find(&self, path: &[String]) -> Option<&Module> {
        self.0.iter().find(|module| module.path == path)
    }

    fn read_file(&mut self, file: &Path, path: Vec<String>, children: &Path, is_test: bool) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.read_module(tokens, file, path, children, is_test);
    }

    fn read_module(&mut self, tokens: TokenStream, file: &Path, path: Vec<String>, children: &Path, is_test: bool) {
        let index = self.0.len();
        let file = file.to_owned();
        self.0.push(Module { path, file, is_test, references: Vec::new(), imports: BTreeMap::new() });
        self.scan(tokens, index, children);
    }

    fn scan(&mut self, tokens: TokenStream, module: usize, children: &Path) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        let mut path_of_file = None;
        let mut is_test = false;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    let attribute = tokens.get(at + 1).map(ToString::to_string).unwrap_or_default().replace(' ', "");
                    if attribute.starts_with("[cfg(test)") {
                        is_test = true;
                    } else if let Some(path) = attribute.strip_prefix("[path=\"") {
                        path_of_file = path.strip_suffix("\"]").map(str::to_owned);
                    }
                    at += 1;
                }
                TokenTree::Ident(word) if word == "mod" && is_ident(tokens.get(at + 1)) => {
                    let name = tokens[at + 1].to_string();
                    let path = [&self.0[module].path[..], std::slice::from_ref(&name)].concat();
                    let is_test = std::mem::take(&mut is_test) || self.0[module].is_test;
                    if let Some(TokenTree::Group(body)) = tokens.get(at + 2) {
                        let file = self.0[module].file.clone();
                        self.read_module(body.stream(), &file, path, &children.join(&name), is_test);
                    } else {
                        let file = file_of(&self.0[module].file, &name, children, path_of_file.take());
                        let of_file =
                            if file.starts_with(children) { children.join(&name) } else { file.with_file_name("") };
                        self.read_file(&file, path, &of_file, is_test);
                    }
                    at += 3;
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket && is_test => at += 1,
                _ if is_test && !matches!(&tokens[at], TokenTree::Ident(word) if word == "pub") => {
                    at = end_of_item(&tokens, at);
                    is_test = false;
                }
                TokenTree::Ident(word) if word == "use" => {
                    let end = (at..tokens.len()).find(|&at| tokens[at].to_string() == ";").unwrap_or(tokens.len());
                    self.import(module, &[], &tokens[at + 1..end]);
                    at = end + 1;
                }
                TokenTree::Ident(word) if word == "crate" || word == "self" || word == "super" => {
                    let (segments, end) = path_at(&tokens, at);
                    if segments.len() > 1 {
                        self.0[module].references.push(Reference { line: word.span().start().line, segments });
                    }
                    at = end;
                }
                TokenTree::Group(group) => {
                    self.scan(group.stream(), module, children);
                    at += 1;
                }
                TokenTree::Literal(literal) => {
                    // `#[serde(with = "crate::names")]`
                    if let Some(path) = literal.to_string().strip_prefix("\"crate::") {
                        let names = path.trim_end_matches('"').split("::").map(str::to_owned);
                        let segments = [String::from("crate")].into_iter().chain(names).collect();
                        self.0[module].references.push(Reference { line: literal.span().start().line, segments });
                    }
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// The tree of a `use`, without the word itself and the semicolon.
    fn import(&mut self, module: usize, before: &[String], tokens: &[TokenTree]) {
        let (names, end) = path_at(tokens, 0);
        let line = tokens.first().map_or(0, |token| token.span().start().line);
        let segments = [before, &names[..]].concat();
        match tokens.get(end) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in inner.split(|token| token.to_string() == ",").filter(|part| !part.is_empty()) {
                    self.import(module, &segments, part);
                }
            }
            Some(token) if token.to_string() == "*" => {
                self.0[module].references.push(Reference { line, segments });
            }
            _ => {
                let segments = match segments.split_last() {
                    Some((last, rest)) if last == "self" && !rest.is_empty() => rest.to_vec(),
                    _ => segments,
                };
                let renamed = tokens[end..].iter().any(|token| token.to_string() == "as");
                let name = if renamed { tokens.last().map(ToString::to_string) } else { segments.last().cloned() };
                self.0[module].references.push(Reference { line, segments: segments.clone() });
                self.0[module].imports.extend(name.map(|name| (name, segments)));
            }
        }
    }
}

/// The file of `mod name;` in a module whose children are in that directory.
fn file_of(declared_in: &Path, name: &str, children: &Path, path: Option<String>) -> PathBuf {
    if let Some(path) = path {
        return declared_in.with_file_name(path);
    }
    let beside = children.join(format!("{name}.rs"));
    if beside.exists() { beside } else { children.join(name).join("mod.rs") }
}

fn is_ident(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Ident(_)))
}

/// The names of the path that begins here, and where it ends; behind the last `::` a group or a `*` may follow.
fn path_at(tokens: &[TokenTree], begin: usize) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    let mut at = begin;
    while is_ident(tokens.get(at)) {
        names.push(tokens[at].to_string());
        at += 1;
        let is_separator = |at: usize| tokens.get(at).is_some_and(|token| token.to_string() == ":");
        if !(is_separator(at) && is_separator(at + 1)) {
            break;
        }
        at += 2;
    }
    (names, at)
}

/// Behind the item that begins here: its body in braces, or its semicolon.
fn end_of_item(tokens: &[TokenTree], begin: usize) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => token.to_string() == ";",
    };
    tokens[begin..].iter().position(ends).map_or(tokens.len(), |end| begin + end + 1)
}
