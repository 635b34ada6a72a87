//! The tables of `state.redb` and their row keys.

use crate::limits::{AUDIT_ENTRIES_MAX, SIGN_IN_ENTRIES_MAX};
use crate::log_rows::CLUSTER;
use crate::model::{AccountId, ApiKeyId, Day, NodeId};
use crate::store::Table;

/// Single numbers, by name.
pub(crate) const META: Table = Table("meta");
/// Account number → account.
pub(super) const ACCOUNTS: Table = Table("accounts");
/// E-mail address → account number.
pub(super) const EMAILS: Table = Table("emails");
/// Key number → key.
pub(super) const API_KEYS: Table = Table("api_keys");
/// Key number → total usage, and time of the last use.
pub(super) const API_KEY_TOTALS: Table = Table("api_key_totals");
/// Key number, day → usage.
pub(super) const API_KEY_USAGE: Table = Table("api_key_usage");
/// Day → usage of the whole service.
pub(super) const USAGE: Table = Table("usage");
/// Day → figures of the whole service; their meaning is defined by the caller.
pub(super) const FIGURES: Table = Table("figures");
/// Digest of a cookie → session.
pub(super) const SESSIONS: Table = Table("sessions");
/// Account number → second step of its sign-in.
pub(super) const SECOND_STEPS: Table = Table("second_steps");
/// Digest of a token → one-time link.
pub(super) const LINKS: Table = Table("links");
/// Number → entry of the audit log; the two highest bits of the number are its class.
pub(super) const AUDIT: Table = Table("audit");
/// Release id → cached file.
pub(crate) const FILES: Table = Table("files");
/// Record id → count of its downloads from this service.
pub(super) const DOWNLOADS: Table = Table("downloads");
/// Name of a counter file → byte up to which it is aggregated.
pub(crate) const OFFSETS: Table = Table("positions");

/// Imported folder, path of a file below it → state of the file at its last reading.
pub(super) const IMPORTED_PATHS: Table = Table("imported_paths");

/// Every table of `state.redb`.
pub(crate) const STATE_TABLES: &[Table] = &[
    META,
    ACCOUNTS,
    EMAILS,
    API_KEYS,
    API_KEY_TOTALS,
    API_KEY_USAGE,
    USAGE,
    FIGURES,
    SESSIONS,
    SECOND_STEPS,
    LINKS,
    AUDIT,
    FILES,
    DOWNLOADS,
    OFFSETS,
    CLUSTER,
    IMPORTED_PATHS,
];

/// Tables with the same rows on every node of a cluster, but for [`OWN_STATE_ROWS`]. The figures of
/// days are a node's own, and so are the folders that it imported.
pub(crate) const SHARED_STATE_TABLES: &[Table] = &[
    META,
    ACCOUNTS,
    EMAILS,
    API_KEYS,
    API_KEY_TOTALS,
    API_KEY_USAGE,
    USAGE,
    SESSIONS,
    SECOND_STEPS,
    LINKS,
    AUDIT,
    FILES,
    DOWNLOADS,
    OFFSETS,
];

/// A new table belongs to one of the two kinds: `figures`, `cluster` and `imported_paths` are a
/// node's own.
const _: () = assert!(STATE_TABLES.len() == SHARED_STATE_TABLES.len() + 3);

/// Rows of shared tables that are a node's own: which one it is, and how many frames shared a
/// transaction.
pub(crate) const OWN_STATE_ROWS: &[(Table, &[u8])] = &[(META, APPLIED), (META, NODE)];

/// Identity of the node that this data directory is.
pub(crate) const NODE: &[u8] = b"node";
/// Count of frames that were applied.
pub(super) const APPLIED: &[u8] = b"applied";
/// Id of the last account that was made.
pub(super) const LAST_ACCOUNT: &[u8] = b"last account";
/// Id of the last key that was made.
pub(super) const LAST_API_KEY: &[u8] = b"last api key";
/// Number of the last batch of usage that was added; the node follows.
pub(super) const LAST_USAGE: &[u8] = b"last usage";
/// The latest second ever seen.
pub(super) const LATEST_SECOND: &[u8] = b"latest second";
/// The latest second at which a key was rolled by a clock that was far ahead; absent while no such
/// clock is doubted.
pub(super) const ROLLED_AHEAD: &[u8] = b"rolled ahead";
/// Id of the last entry of the audit log.
pub(super) const LAST_AUDIT: &[u8] = b"last audit entry";
/// Number of entries kept in the audit log, without the routine ones.
const AUDIT_COUNT: &[u8] = b"audit entries";
/// Number of routine entries kept in the audit log.
const AUDIT_ROUTINE_COUNT: &[u8] = b"routine audit entries";
/// Number of entries about sign-ins kept in the audit log.
const AUDIT_SIGN_IN_COUNT: &[u8] = b"sign-in audit entries";

/// 1 if registration is open, 0 if not; absent until an administrator decides.
pub(super) const REGISTRATION: &[u8] = b"registration";

/// Bit of an audit row's key that marks a routine entry.
const AUDIT_ROUTINE: u64 = 1 << 63;
/// Bit of an audit row's key that marks an entry about a sign-in; the lower bits hold its id.
const AUDIT_SIGN_IN: u64 = 1 << 62;

/// Row of the number of the last batch of usage of a node.
pub(super) fn last_usage_row(node: NodeId) -> Vec<u8> {
    [LAST_USAGE, format!(" {node}").as_bytes()].concat()
}

/// Row of a counter file of a node.
pub(super) fn offset_row(node: NodeId, name: &str) -> String {
    format!("{node}/{name}")
}

/// Node of the row of a counter file.
pub(super) fn node_of_offset(row_key: &[u8]) -> Option<NodeId> {
    let (node, _) = std::str::from_utf8(row_key).ok()?.split_once('/')?;
    u64::from_str_radix(node, 16).ok().map(NodeId)
}

/// Class of an entry of the audit log. The oldest entries of a class are dropped when it has too
/// many, so that they cannot push out entries of another class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuditClass {
    /// Administrators, operators, links.
    Security,
    /// Sign-ins, right and wrong.
    SignIn,
    /// An account has changed only its own things.
    Routine,
}

impl AuditClass {
    /// Every class.
    pub(super) const ALL: [Self; 3] = [Self::Security, Self::SignIn, Self::Routine];

    const fn bits(self) -> u64 {
        match self {
            Self::Security => 0,
            Self::SignIn => AUDIT_SIGN_IN,
            Self::Routine => AUDIT_ROUTINE,
        }
    }

    /// Row of the number of kept entries.
    pub(super) const fn count_row(self) -> &'static [u8] {
        match self {
            Self::Security => AUDIT_COUNT,
            Self::SignIn => AUDIT_SIGN_IN_COUNT,
            Self::Routine => AUDIT_ROUTINE_COUNT,
        }
    }

    /// Maximum number of its entries that are kept.
    pub(super) const fn entries_max(self) -> u64 {
        match self {
            Self::Security | Self::Routine => AUDIT_ENTRIES_MAX,
            Self::SignIn => SIGN_IN_ENTRIES_MAX,
        }
    }
}

/// Row of an entry of the audit log.
pub(super) fn audit_row(number: u64, class: AuditClass) -> [u8; 8] {
    (number | class.bits()).to_be_bytes()
}

/// First row of a class of entries, and the end of its rows.
pub(super) fn audit_rows(class: AuditClass) -> ([u8; 8], [u8; 8]) {
    (audit_row(0, class), audit_row(AUDIT_SIGN_IN - 1, class))
}

/// Id of the entry in a row of the audit log.
pub(super) fn number_of_audit_row(row_key: &[u8]) -> Option<u64> {
    let bytes = row_key.try_into().ok()?;
    Some(u64::from_be_bytes(bytes) & !(AUDIT_ROUTINE | AUDIT_SIGN_IN))
}

pub(super) fn account_row(id: AccountId) -> [u8; 8] {
    id.0.to_be_bytes()
}

pub(super) fn api_key_row(id: ApiKeyId) -> [u8; 8] {
    id.0.to_be_bytes()
}

pub(super) fn day_row(day: Day) -> [u8; 4] {
    day.0.to_be_bytes()
}

pub(super) fn api_key_day_row(id: ApiKeyId, day: Day) -> [u8; 12] {
    let mut row_key = [0; 12];
    row_key[..8].copy_from_slice(&api_key_row(id));
    row_key[8..].copy_from_slice(&day_row(day));
    row_key
}

/// The day at the end of a row key.
pub(super) fn day_of_row(row_key: &[u8]) -> Option<Day> {
    let bytes = row_key.last_chunk()?;
    Some(Day(u32::from_be_bytes(*bytes)))
}
