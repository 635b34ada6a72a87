//! Imports: the order of modules, owners of foreign crates, boundaries between modules.

use crate::tidy::paths::PathUse;
use crate::tidy::source_tree::{Source, SourceTree, Violation};

/// A foreign crate (or a corner of `std`) and the modules of a member that may name it.
struct Owner {
    member: &'static str,
    path: &'static str,
    modules: &'static [&'static str],
}

const fn owner(
    member: &'static str,
    path: &'static str,
    modules: &'static [&'static str],
) -> Owner {
    Owner {
        member,
        path,
        modules,
    }
}

/// Owners of foreign crates. A crate that is not listed may be used anywhere in its member.
const OWNERS: &[Owner] = &[
    owner("engine", "redb", &["store"]),
    owner("engine", "fst", &["index"]),
    owner("engine", "roaring", &["index"]),
    owner("engine", "memmap2", &["disk"]),
    owner("engine", "libc", &["disk"]),
    owner("engine", "rustix", &["disk"]),
    owner("engine", "std::fs", &["disk"]),
    // A blob passes its open file on, for a socket to send from.
    owner("engine", "std::fs::File", &["disk", "blob"]),
    owner("engine", "sha2", &["blob"]),
    owner("engine", "serde_json", &["codec"]),
    owner("engine", "jiff", &["model"]),
    owner("engine", "icu_normalizer", &["text"]),
    owner("engine", "icu_casemap", &["text"]),
    owner("engine", "icu_properties", &["text"]),
    owner("engine", "uuid", &["model"]),
    owner("server", "argon2", &["web"]),
    owner("server", "askama", &["web"]),
    owner("server", "async_nats", &["cluster"]),
    owner("server", "brotli", &["api"]),
    owner("server", "clap", &["config", "command"]),
    owner("server", "crc32fast", &["auth", "files", "web"]),
    owner("server", "csv", &["rows"]),
    owner("server", "encoding_rs", &["files"]),
    owner("server", "flate2", &["api", "files", "rows"]),
    owner("server", "futures_util", &["upstream", "cluster"]),
    owner("server", "hyper", &["runtime"]),
    // The request body of the admin socket, which has no worker, and of the demo's upstream.
    owner(
        "server",
        "hyper::body::Incoming",
        &["runtime", "admin", "command"],
    ),
    // A response carries its reason phrase as hyper writes it.
    owner(
        "server",
        "hyper::ext::ReasonPhrase",
        &["runtime", "respond"],
    ),
    owner("server", "hyper_util", &["runtime"]),
    owner("server", "indicatif", &["command"]),
    owner("server", "io_uring", &["runtime"]),
    owner("server", "libc", &["runtime"]),
    owner("server", "listenfd", &["runtime"]),
    owner("server", "memmap2", &["runtime"]),
    owner("server", "prometheus_client", &["admin"]),
    owner("server", "object_store", &["upstream"]),
    owner("server", "opentelemetry", &["traces"]),
    owner("server", "opentelemetry_otlp", &["traces"]),
    owner("server", "opentelemetry_sdk", &["traces"]),
    owner("server", "qrcodegen", &["web"]),
    owner("server", "rars", &["files"]),
    owner("server", "reqwest", &["upstream", "traces"]),
    owner("server", "url", &["config"]),
    // By their modules: `runtime` has one of its own that is called `ring`.
    owner("server", "ring::aead", &["auth"]),
    owner("server", "ring::hmac", &["auth"]),
    owner("server", "rustls", &["upstream", "cluster", "traces"]),
    owner("server", "sd_notify", &["runtime"]),
    owner("server", "sha2", &["auth"]),
    owner("server", "slab", &["runtime"]),
    owner("server", "socket2", &["runtime"]),
    owner("server", "strsim", &["config", "rows"]),
    owner("server", "tokio", &["runtime"]),
    // Channels, locks and timers, for tasks on the control runtime.
    owner(
        "server",
        "tokio::sync",
        &[
            "runtime", "upstream", "cluster", "traces", "service", "api", "web", "admin",
        ],
    ),
    owner("server", "tokio::io", &["runtime", "cluster"]),
    owner("server", "tokio::select", &["runtime", "cluster"]),
    owner("server", "tokio::task", &["runtime", "traces"]),
    owner(
        "server",
        "tokio::time",
        &["runtime", "upstream", "cluster", "traces", "web"],
    ),
    owner("server", "tokio_postgres", &["cluster"]),
    owner("server", "tokio_postgres_rustls", &["cluster"]),
    owner("server", "toml", &["config"]),
    owner("server", "totp_rs", &["web"]),
    owner("server", "xxhash_rust", &["respond"]),
    owner("server", "zip", &["command"]),
    owner("server", "zstd", &["rows"]),
];

/// Modules that must never name others, whatever the order of `lib.rs` allows.
struct Boundary {
    member: &'static str,
    /// The module path, or the beginning of one, that the boundary binds.
    modules: &'static [&'static str],
    /// Paths that it must not name.
    never: &'static [&'static str],
    because: &'static str,
}

const BOUNDARIES: &[Boundary] = &[
    Boundary {
        member: "engine",
        modules: &["index", "plan", "search"],
        never: &["crate::store", "crate::blob"],
        because: "a search never reaches the store",
    },
    Boundary {
        member: "engine",
        modules: &["store", "state", "counters"],
        never: &["crate::index"],
        because: "the source of truth does not know what is derived from it",
    },
    Boundary {
        member: "engine",
        modules: &["query"],
        never: &["crate::index", "crate::plan", "crate::search"],
        because: "the oracle checks the engine and must not share its code",
    },
    Boundary {
        member: "engine",
        modules: &[""],
        never: &[
            "std::env::args",
            "std::env::var",
            "std::env::var_os",
            "std::env::vars",
            "env::args",
            "env::var",
            "std::net",
            "std::thread::spawn",
            "std::time::SystemTime::now",
            "std::time::Instant::now",
            "SystemTime::now",
            "Instant::now",
            "jiff::Timestamp::now",
            "jiff::Zoned::now",
            "getrandom",
            "rand",
            "tokio",
            "hyper",
            "http",
        ],
        because: "the engine knows no clock, randomness, environment, network or async: they come \
                  in as parameters",
    },
    Boundary {
        member: "server",
        modules: &["request"],
        never: &["crate::respond", "crate::service", "tokio", "hyper"],
        because: "request is pure: bytes in, typed values out",
    },
    Boundary {
        member: "server",
        modules: &["respond"],
        never: &["crate::request", "crate::service", "tokio"],
        because: "respond is pure: typed values in, bytes out",
    },
    Boundary {
        member: "server",
        modules: &["web::catalog"],
        never: &[
            "crate::web::keys",
            "crate::web::account",
            "crate::web::console",
            "crate::web::docs",
        ],
        because: FAMILIES,
    },
    Boundary {
        member: "server",
        modules: &["web::keys"],
        never: &[
            "crate::web::catalog",
            "crate::web::account",
            "crate::web::console",
            "crate::web::docs",
        ],
        because: FAMILIES,
    },
    Boundary {
        member: "server",
        modules: &["web::account"],
        never: &[
            "crate::web::catalog",
            "crate::web::keys",
            "crate::web::console",
            "crate::web::docs",
        ],
        because: FAMILIES,
    },
    Boundary {
        member: "server",
        modules: &["web::console"],
        never: &[
            "crate::web::catalog",
            "crate::web::keys",
            "crate::web::account",
            "crate::web::docs",
        ],
        because: FAMILIES,
    },
    Boundary {
        member: "server",
        modules: &["web::docs"],
        never: &[
            "crate::web::catalog",
            "crate::web::keys",
            "crate::web::account",
            "crate::web::console",
        ],
        because: FAMILIES,
    },
];

/// Reason of the boundaries between families of pages.
const FAMILIES: &str = "what two families of pages share is in `frame` or in `ops`";

/// Modules of the engine that `request` and `respond` may name.
const PURE_ENGINE_MODULES: &[&str] = &["model", "query", "limits"];

/// A module imports only from modules that `lib.rs` declares above it.
pub fn order(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in ["engine", "server"] {
        let modules = tree.modules(member);
        let re_exports = tree.re_exports(member);
        let layer = |module: &str| modules.iter().position(|name| name == module);
        for (source, path_use) in program_paths(tree, member) {
            let Some(own) = source.module() else { continue };
            let Some(other) = path_use.module(&re_exports) else {
                continue;
            };
            if layer(&own) < layer(other) {
                violations.push(Violation::new(
                    source,
                    path_use.line,
                    format!(
                        "`{own}` imports `{other}`, which {member}/src/lib.rs declares below it; \
                         move the code up, or pass a value instead"
                    ),
                ));
            }
        }
    }
    violations
}

/// Each foreign crate has one owner; of two entries that match, the longer path counts.
pub fn owners(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in ["engine", "server"] {
        for (source, path_use) in program_paths(tree, member) {
            let matching = OWNERS
                .iter()
                .filter(|owner| owner.member == member && path_use.begins_with(owner.path));
            let Some(owner) = matching.max_by_key(|owner| owner.path.len()) else {
                continue;
            };
            if !source
                .module()
                .is_some_and(|module| owner.modules.contains(&module.as_str()))
            {
                violations.push(Violation::new(
                    source,
                    path_use.line,
                    format!(
                        "`{}` is named here, but only {} may name it; ask that module for what is \
                         needed",
                        owner.path,
                        owner.modules.join(" and ")
                    ),
                ));
            }
        }
    }
    violations
}

/// An owned crate is not re-exported: others would name it without its owner's list saying so.
pub fn no_foreign_re_exports(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in tree.sources.iter().filter(|source| !source.is_test) {
        let member = source.member();
        for item in &source.ast.items {
            let syn::Item::Use(item) = item else { continue };
            let is_public = !matches!(item.vis, syn::Visibility::Inherited);
            let Some(root) = root_of(&item.tree).filter(|_| is_public) else {
                continue;
            };
            let is_owned = |owner: &&Owner| {
                let owned = owner.path.split("::").next().unwrap_or_default();
                owner.member == member && owned != "std" && root == owned
            };
            if OWNERS.iter().any(|owner| is_owned(&owner)) {
                let line = root.span().start().line;
                let message = format!("`{root}` is re-exported: list who may name it instead");
                violations.push(Violation::new(source, line, message));
            }
        }
    }
    violations
}

/// First segment of an import.
fn root_of(tree: &syn::UseTree) -> Option<&syn::Ident> {
    match tree {
        syn::UseTree::Path(path) => Some(&path.ident),
        syn::UseTree::Name(name) => Some(&name.ident),
        syn::UseTree::Rename(rename) => Some(&rename.ident),
        syn::UseTree::Glob(_) | syn::UseTree::Group(_) => None,
    }
}

/// Modules never name what a boundary of ARCHITECTURE.md forbids.
pub fn boundaries(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for boundary in BOUNDARIES {
        for (source, path_use) in program_paths(tree, boundary.member) {
            let module = source.module_path().join("::");
            let is_bound = boundary
                .modules
                .iter()
                .any(|bound| module.starts_with(bound));
            let broken = boundary
                .never
                .iter()
                .find(|never| path_use.begins_with(never));
            if let Some(never) = broken
                && is_bound
            {
                let message = format!("`{never}` is never named here: {}", boundary.because);
                violations.push(Violation::new(source, path_use.line, message));
            }
        }
    }
    let re_exports = tree.re_exports("engine");
    for (source, path_use) in program_paths(tree, "server") {
        let is_pure = source
            .module()
            .is_some_and(|module| module == "request" || module == "respond");
        let Some(module) = path_use.module_below("subcat_engine", &re_exports) else {
            continue;
        };
        if is_pure && !PURE_ENGINE_MODULES.contains(&module) {
            let message = format!(
                "of the engine only {} may be named here, not `{module}`: pass a value instead",
                PURE_ENGINE_MODULES.join(", ")
            );
            violations.push(Violation::new(source, path_use.line, message));
        }
    }
    violations
}

/// Paths in the code of a member that ends up in the program.
fn program_paths<'a>(
    tree: &'a SourceTree,
    member: &'a str,
) -> impl Iterator<Item = (&'a Source, PathUse)> {
    tree.sources
        .iter()
        .filter(move |source| source.member() == member && !source.is_test)
        .flat_map(|source| {
            source
                .paths()
                .into_iter()
                .map(move |path_use| (source, path_use))
        })
        .filter(|(_, path_use)| !path_use.is_test)
}
