//! Imports between the files of one crate.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::tidy::paths::{UseLeaf, use_leaves};
use crate::tidy::source_tree::{Source, SourceTree, Violation};

/// Re-exports that lead on to other re-exports; more than this is a mistake.
const RE_EXPORT_STEPS_MAX: usize = 8;

/// Files of one crate and which of them names something of which other.
///
/// `mod.rs` and `lib.rs` are not files of the graph: they hold no items, and a name that they
/// re-export leads to the file that defines it. Code that only tests run is left out.
pub struct FileGraph<'a> {
    sources: Vec<&'a Source>,
    /// Module path → position in `sources`, contents files included.
    files: HashMap<Vec<String>, usize>,
    /// Module path of a contents file → name → path that it re-exports.
    re_exports: HashMap<Vec<String>, HashMap<String, Vec<String>>>,
    /// Importing file → imported file → line of the first import.
    edges: Vec<BTreeMap<usize, usize>>,
}

/// Imports that lead from a file back to itself: importing file and line, in order.
pub type Cycle<'a> = Vec<(&'a Source, usize)>;

impl<'a> FileGraph<'a> {
    /// Reads the imports of a member.
    pub fn of(tree: &'a SourceTree, member: &'a str) -> Self {
        let sources: Vec<&Source> = tree.program(member).collect();
        let paths = sources.iter().map(|source| source.module_path());
        let files = paths.zip(0..).collect();
        let mut graph = Self {
            edges: vec![BTreeMap::new(); sources.len()],
            sources,
            files,
            re_exports: HashMap::new(),
        };
        for source in graph.sources.clone() {
            graph
                .re_exports
                .insert(source.module_path(), re_exports(source));
        }
        for importing in 0..graph.sources.len() {
            let source = graph.sources[importing];
            if source.is_contents() {
                continue;
            }
            for path_use in source.paths() {
                let imported = graph.defining_file(&source.module_path(), &path_use.segments);
                if let Some(imported) = imported
                    && imported != importing
                    && !path_use.is_test
                    && !graph.sources[imported].is_contents()
                {
                    let edges = &mut graph.edges[importing];
                    edges.entry(imported).or_insert(path_use.line);
                }
            }
        }
        graph
    }

    /// File that defines what `path` names in the module `from`; `None` for another crate.
    fn defining_file(&self, from: &[String], path: &[String]) -> Option<usize> {
        let mut path = path.to_vec();
        if path[0] == "crate" {
            path.remove(0);
        } else if let Some(target) = self.re_exports[from].get(&path[0]) {
            path.splice(..1, target.iter().cloned());
        } else {
            // A path may begin with a child of the module that it stands in.
            let child: Vec<String> = from.iter().chain(&path[..1]).cloned().collect();
            self.files.get(&child)?;
            path.splice(0..0, from.iter().cloned());
        }
        for _ in 0..RE_EXPORT_STEPS_MAX {
            let depth = (0..=path.len())
                .rev()
                .find(|depth| self.files.contains_key(&path[..*depth]))?;
            let file = self.files[&path[..depth]];
            let re_exported = path
                .get(depth)
                .and_then(|name| self.re_exports[&path[..depth]].get(name));
            let Some(target) = re_exported else {
                return Some(file);
            };
            if !self.sources[file].is_contents() {
                return Some(file);
            }
            path.splice(..=depth, target.iter().cloned());
        }
        None
    }

    /// One shortest cycle for each knot of files that import each other.
    pub fn cycles(&self) -> Vec<Cycle<'a>> {
        let mut cycles = Vec::new();
        let mut is_reported = vec![false; self.sources.len()];
        for start in 0..self.sources.len() {
            if is_reported[start] {
                continue;
            }
            let Some(cycle) = self.shortest_cycle(start) else {
                continue;
            };
            for other in self.knot(start) {
                is_reported[other] = true;
            }
            let steps = cycle.iter().enumerate().map(|(idx, file)| {
                let next = cycle[(idx + 1) % cycle.len()];
                (self.sources[*file], self.edges[*file][&next])
            });
            cycles.push(steps.collect());
        }
        cycles
    }

    /// Sizes of the knots: sets of files each of which imports, by others, every other.
    pub fn knot_sizes(&self) -> Vec<usize> {
        let cycles = self.cycles();
        let starts = cycles.iter().map(|cycle| cycle[0].0.module_path());
        starts
            .map(|path| self.knot(self.files[&path]).len())
            .collect()
    }

    fn knot(&self, start: usize) -> Vec<usize> {
        let reached = self.reached(start);
        let others = reached.into_iter();
        others
            .filter(|other| *other == start || self.reached(*other).contains(&start))
            .collect()
    }

    /// Files that `start` imports, directly or by others.
    fn reached(&self, start: usize) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        let mut waiting = vec![start];
        while let Some(file) = waiting.pop() {
            for imported in self.edges[file].keys() {
                if !found.contains(imported) {
                    found.push(*imported);
                    waiting.push(*imported);
                }
            }
        }
        found
    }

    /// Breadth-first search for the shortest way from `start` back to itself.
    fn shortest_cycle(&self, start: usize) -> Option<Vec<usize>> {
        let mut came_from: HashMap<usize, usize> = HashMap::new();
        let mut waiting = VecDeque::from([start]);
        while let Some(file) = waiting.pop_front() {
            for imported in self.edges[file].keys() {
                if *imported == start {
                    let mut cycle = vec![file];
                    while let Some(before) = came_from.get(&cycle[cycle.len() - 1]) {
                        cycle.push(*before);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if !came_from.contains_key(imported) {
                    came_from.insert(*imported, file);
                    waiting.push_back(*imported);
                }
            }
        }
        None
    }
}

/// Names that a file brings in with `use` → their paths below the crate root.
fn re_exports(source: &Source) -> HashMap<String, Vec<String>> {
    let module = source.module_path();
    let mut leaves: Vec<UseLeaf> = Vec::new();
    for item in &source.ast.items {
        if let syn::Item::Use(item) = item {
            use_leaves(&item.tree, &mut Vec::new(), &mut leaves);
        }
    }
    let mut names = HashMap::new();
    for leaf in leaves {
        let mut path = leaf.path;
        let mut base = module.clone();
        match path[0].as_str() {
            "crate" => base.clear(),
            "self" | "super" => {}
            _ => path.insert(0, "self".to_owned()),
        }
        while path.first().is_some_and(|segment| segment == "super") {
            base.pop();
            path.remove(0);
        }
        if path
            .first()
            .is_some_and(|segment| segment == "crate" || segment == "self")
        {
            path.remove(0);
        }
        base.extend(path);
        names.insert(leaf.name, base);
    }
    names
}

/// No import cycle between files, inside modules either.
pub fn no_file_cycles(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in ["engine", "server"] {
        for cycle in FileGraph::of(tree, member).cycles() {
            let steps: Vec<String> = cycle
                .iter()
                .map(|(source, line)| format!("{}:{line}", source.path))
                .collect();
            let message = format!(
                "files import each other: {} -> {}; give what both need a file below them",
                steps.join(" -> "),
                cycle[0].0.path
            );
            violations.push(Violation::new(cycle[0].0, cycle[0].1, message));
        }
    }
    violations
}
