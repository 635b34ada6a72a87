//! Who may import what: the order of the rooms, owners of foreign crates, laws of the house.

use crate::tidy::source_tree::{House, PathUse, Source, Violation};

/// A foreign crate (or a corner of `std`) and the rooms of a member that may name it.
struct Owner {
    member: &'static str,
    path: &'static str,
    rooms: &'static [&'static str],
}

const fn owner(member: &'static str, path: &'static str, rooms: &'static [&'static str]) -> Owner {
    Owner {
        member,
        path,
        rooms,
    }
}

/// Who owns what. What is not listed may be used anywhere in its member.
const OWNERS: &[Owner] = &[
    owner("engine", "redb", &["store"]),
    owner("engine", "fst", &["index"]),
    owner("engine", "roaring", &["index"]),
    owner("engine", "memmap2", &["disk"]),
    owner("engine", "libc", &["disk"]),
    owner("engine", "rustix", &["disk"]),
    owner("engine", "std::fs", &["disk"]),
    // A blob hands its open file on, for a socket to send from.
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
    owner("server", "brotli", &["api"]),
    owner("server", "clap", &["config", "command"]),
    owner("server", "crc32fast", &["auth", "web"]),
    owner("server", "csv", &["rows"]),
    owner("server", "flate2", &["api", "rows"]),
    owner("server", "hyper", &["runtime"]),
    owner("server", "hyper_util", &["runtime"]),
    owner("server", "indicatif", &["command"]),
    owner("server", "io_uring", &["runtime"]),
    owner("server", "libc", &["runtime"]),
    owner("server", "memmap2", &["runtime"]),
    owner("server", "prometheus_client", &["admin"]),
    owner("server", "reqwest", &["upstream"]),
    owner("server", "rustls", &["upstream"]),
    owner("server", "sha2", &["auth"]),
    owner("server", "slab", &["runtime"]),
    owner("server", "socket2", &["runtime"]),
    owner("server", "strsim", &["config"]),
    owner("server", "tokio", &["runtime"]),
    owner("server", "toml", &["config"]),
    owner("server", "zip", &["command"]),
    owner("server", "zstd", &["rows"]),
];

/// Rooms that must never name others, whatever the order of `lib.rs` allows.
struct Law {
    member: &'static str,
    /// The module path, or the beginning of one, that the law binds.
    modules: &'static [&'static str],
    /// Paths that it must not name.
    never: &'static [&'static str],
    because: &'static str,
}

const LAWS: &[Law] = &[
    Law {
        member: "engine",
        modules: &["index", "plan", "search"],
        never: &["crate::store", "crate::blob"],
        because: "a search never reaches the store",
    },
    Law {
        member: "engine",
        modules: &["store"],
        never: &["crate::index"],
        because: "the store is the truth and does not know what is derived from it",
    },
    Law {
        member: "engine",
        modules: &["query"],
        never: &["crate::index", "crate::plan", "crate::search"],
        because: "the oracle judges the engine and must not know the accused",
    },
    Law {
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
    Law {
        member: "server",
        modules: &["request"],
        never: &["crate::respond", "crate::service", "tokio", "hyper"],
        because: "request is pure: bytes in, typed values out",
    },
    Law {
        member: "server",
        modules: &["respond"],
        never: &["crate::request", "crate::service", "tokio"],
        because: "respond is pure: typed values in, bytes out",
    },
];

/// What `request` and `respond` may name of the engine.
const PURE_ENGINE_ROOMS: &[&str] = &["model", "query", "limits"];

/// A module imports only from modules that `lib.rs` declares above it.
pub fn order(house: &House) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in ["engine", "server"] {
        let rooms = house.rooms(member);
        let re_exports = house.re_exports(member);
        let floor = |room: &str| rooms.iter().position(|name| name == room);
        for (source, path_use) in program_paths(house, member) {
            let Some(own) = source.room() else { continue };
            let Some(other) = path_use.room(&re_exports) else {
                continue;
            };
            if floor(&own) < floor(other) {
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
pub fn owners(house: &House) -> Vec<Violation> {
    let mut violations = Vec::new();
    for member in ["engine", "server"] {
        for (source, path_use) in program_paths(house, member) {
            let matching = OWNERS
                .iter()
                .filter(|owner| owner.member == member && path_use.begins_with(owner.path));
            let Some(owner) = matching.max_by_key(|owner| owner.path.len()) else {
                continue;
            };
            if !source
                .room()
                .is_some_and(|room| owner.rooms.contains(&room.as_str()))
            {
                violations.push(Violation::new(
                    source,
                    path_use.line,
                    format!(
                        "`{}` is named here, but only {} may name it; ask that room for what is \
                         needed",
                        owner.path,
                        owner.rooms.join(" and ")
                    ),
                ));
            }
        }
    }
    violations
}

/// The laws of ARCHITECTURE.md about who never knows whom.
pub fn laws(house: &House) -> Vec<Violation> {
    let mut violations = Vec::new();
    for law in LAWS {
        for (source, path_use) in program_paths(house, law.member) {
            let module = source.module_path().join("::");
            let is_bound = law.modules.iter().any(|bound| module.starts_with(bound));
            let broken = law.never.iter().find(|never| path_use.begins_with(never));
            if let Some(never) = broken
                && is_bound
            {
                let what = format!("`{never}` is never named here: {}", law.because);
                violations.push(Violation::new(source, path_use.line, what));
            }
        }
    }
    let re_exports = house.re_exports("engine");
    for (source, path_use) in program_paths(house, "server") {
        let is_pure = source
            .room()
            .is_some_and(|room| room == "request" || room == "respond");
        let Some(room) = path_use.room_below("subcat_engine", &re_exports) else {
            continue;
        };
        if is_pure && !PURE_ENGINE_ROOMS.contains(&room) {
            let what = format!(
                "of the engine only {} may be named here, not `{room}`: hand over a value instead",
                PURE_ENGINE_ROOMS.join(", ")
            );
            violations.push(Violation::new(source, path_use.line, what));
        }
    }
    violations
}

/// Paths in the code of a member that ends up in the program.
fn program_paths<'a>(
    house: &'a House,
    member: &'a str,
) -> impl Iterator<Item = (&'a Source, PathUse)> {
    house
        .sources
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
