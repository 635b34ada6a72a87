//! Values of accounts, keys, files and counts, as rows and as parts of events.

use super::value::{Codec, StoredValue, codec, stored_value};
use super::wire::{Decoder, Encoder};
use crate::error::Result;
use crate::limits::FIGURES_MAX;
use crate::model::{
    Account, AccountId, ApiKey, ApiKeyId, AuditEntry, CachedFile, ContentHash, Day, Email,
    FileKind, FileName, LinkPurpose, NodeId, OneTimeLink, RateLimit, RecordId, ReleaseId, Role,
    SEALED_SECRET_BYTES, Scopes, SecondStep, Session, StepSecret, Timestamp, Usage, UsedCode,
};

/// Version of numbers and figures.
const VERSION: u8 = 1;

/// Version of a cached file with a time to fetch it again: the time follows the other fields.
const REFETCH_VERSION: u8 = 2;
/// Version of a file that was brought by an import.
const BROUGHT_VERSION: u8 = 3;

/// Version of a session with a known device: its name follows the other fields.
const DEVICE_VERSION: u8 = 2;

/// Version of a rolled key: the id of its successor follows the other fields.
const REPLACED_VERSION: u8 = 2;

/// Version of a link with a known maker: the maker's id follows the other fields.
const ISSUER_VERSION: u8 = 2;

/// Version of a sign-in that waits for its code, in the form of a session with a device.
const PENDING_VERSION: u8 = 3;

/// Version of a session with a noted use: its time follows the device.
const USED_VERSION: u8 = 4;

/// Version of a second step with a sealed secret.
const SEALED_VERSION: u8 = 2;

/// Total usage of a key, and the time of its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ApiKeyTotals {
    /// Sum over all days.
    pub(crate) usage: Usage,
    /// Time of the latest request; none before the first.
    pub(crate) last_used_at: Option<Timestamp>,
}

stored_value! {
    Account, "state.redb, table accounts" {
        id, email, display_name, role, password_hash, created_at, disabled_at,
    }
}
stored_value! {
    Usage, "state.redb, table usage" { requests, downloads, client_errors, limited }
}
stored_value! {
    AuditEntry, "state.redb, table audit" { at, actor, action, account, api_key, detail }
}

codec! {
    enum UsedCode, "a code, 0 or 1" { 0 => Step(step), 1 => Recovery(digest) }
}

impl StoredValue for ApiKeyTotals {
    const PLACE: &'static str = "state.redb, table api_key_totals";

    fn put_fields(&self, out: &mut Encoder) {
        self.usage.put_fields(out);
        self.last_used_at.put(out);
    }

    fn take_fields(from: &mut Decoder<'_>, version: u8) -> Result<Self> {
        Ok(Self {
            usage: Usage::take_fields(from, version)?,
            last_used_at: Codec::take(from)?,
        })
    }
}

impl StoredValue for ApiKey {
    const PLACE: &'static str = "state.redb, table api_keys";
    const NEWEST: u8 = REPLACED_VERSION;

    fn version(&self) -> u8 {
        self.replaced_by.map_or(1, |_| REPLACED_VERSION)
    }

    fn put_fields(&self, out: &mut Encoder) {
        self.id.put(out);
        self.account.put(out);
        self.name.put(out);
        self.digest.put(out);
        self.partial.put(out);
        self.scopes.put(out);
        self.limit.put(out);
        self.created_at.put(out);
        self.expires_at.put(out);
        self.revoked_at.put(out);
        if let Some(id) = self.replaced_by {
            id.put(out);
        }
    }

    fn take_fields(from: &mut Decoder<'_>, version: u8) -> Result<Self> {
        let mut api_key = Self {
            id: Codec::take(from)?,
            account: Codec::take(from)?,
            name: Codec::take(from)?,
            digest: Codec::take(from)?,
            partial: Codec::take(from)?,
            scopes: Codec::take(from)?,
            limit: Codec::take(from)?,
            created_at: Codec::take(from)?,
            expires_at: Codec::take(from)?,
            revoked_at: Codec::take(from)?,
            replaced_by: None,
        };
        if version == REPLACED_VERSION {
            api_key.replaced_by = Some(Codec::take(from)?);
        }
        Ok(api_key)
    }
}

impl StoredValue for Session {
    const PLACE: &'static str = "state.redb, table sessions";
    const NEWEST: u8 = USED_VERSION;

    fn version(&self) -> u8 {
        match (self.is_pending, self.device.is_empty()) {
            _ if self.last_used_at.is_some() => USED_VERSION,
            (true, _) => PENDING_VERSION,
            (false, true) => 1,
            (false, false) => DEVICE_VERSION,
        }
    }

    fn put_fields(&self, out: &mut Encoder) {
        self.digest.put(out);
        self.account.put(out);
        self.created_at.put(out);
        self.expires_at.put(out);
        if DEVICE_VERSION <= self.version() {
            self.device.put(out);
        }
        if let Some(last_used_at) = self.last_used_at {
            last_used_at.put(out);
        }
    }

    fn take_fields(from: &mut Decoder<'_>, version: u8) -> Result<Self> {
        let mut session = Self {
            digest: Codec::take(from)?,
            account: Codec::take(from)?,
            created_at: Codec::take(from)?,
            expires_at: Codec::take(from)?,
            device: String::new(),
            last_used_at: None,
            is_pending: version == PENDING_VERSION,
        };
        if DEVICE_VERSION <= version {
            session.device = Codec::take(from)?;
        }
        if USED_VERSION <= version {
            session.last_used_at = Some(Codec::take(from)?);
        }
        Ok(session)
    }
}

impl StoredValue for SecondStep {
    const PLACE: &'static str = "state.redb, table second_steps";
    const NEWEST: u8 = SEALED_VERSION;

    fn version(&self) -> u8 {
        match self.secret {
            StepSecret::Plain(_) => 1,
            StepSecret::Sealed(_) => SEALED_VERSION,
        }
    }

    fn put_fields(&self, out: &mut Encoder) {
        match &self.secret {
            StepSecret::Plain(secret) => secret.put(out),
            StepSecret::Sealed(sealed) => sealed.put(out),
        }
        self.last_step.put(out);
        self.recovery_digests.put(out);
    }

    fn take_fields(from: &mut Decoder<'_>, version: u8) -> Result<Self> {
        Ok(Self {
            secret: if version == SEALED_VERSION {
                StepSecret::Sealed(from.array::<SEALED_SECRET_BYTES>()?)
            } else {
                StepSecret::Plain(from.array()?)
            },
            last_step: Codec::take(from)?,
            recovery_digests: Codec::take(from)?,
        })
    }
}

impl StoredValue for OneTimeLink {
    const PLACE: &'static str = "state.redb, table links";
    const NEWEST: u8 = ISSUER_VERSION;

    fn version(&self) -> u8 {
        self.issuer.map_or(1, |_| ISSUER_VERSION)
    }

    fn put_fields(&self, out: &mut Encoder) {
        self.digest.put(out);
        let (kind, account) = match self.purpose {
            LinkPurpose::Invitation(Role::User) => (0, 0),
            LinkPurpose::Invitation(Role::Admin) => (1, 0),
            LinkPurpose::NewPassword(id) => (2, id.0),
        };
        out.put_u8(kind);
        account.put(out);
        self.expires_at.put(out);
        if let Some(id) = self.issuer {
            id.put(out);
        }
    }

    fn take_fields(from: &mut Decoder<'_>, version: u8) -> Result<Self> {
        let digest = Codec::take(from)?;
        let (kind, account) = (from.u8()?, AccountId::take(from)?);
        let mut link = Self {
            digest,
            issuer: None,
            purpose: match kind {
                0 => LinkPurpose::Invitation(Role::User),
                1 => LinkPurpose::Invitation(Role::Admin),
                2 => LinkPurpose::NewPassword(account),
                _ => return Err(from.error("a purpose, 0 to 2")),
            },
            expires_at: Codec::take(from)?,
        };
        if version == ISSUER_VERSION {
            link.issuer = Some(Codec::take(from)?);
        }
        Ok(link)
    }
}

impl StoredValue for CachedFile {
    const PLACE: &'static str = "state.redb, table files";
    const NEWEST: u8 = BROUGHT_VERSION;

    fn version(&self) -> u8 {
        assert!(!self.is_brought || self.refetch_at.is_none());
        match self.refetch_at {
            Some(_) => REFETCH_VERSION,
            None if self.is_brought => BROUGHT_VERSION,
            None => 1,
        }
    }

    fn put_fields(&self, out: &mut Encoder) {
        self.content.put(out);
        self.size_bytes.put(out);
        out.put_raw(&self.checksum.to_le_bytes());
        self.kind.put(out);
        self.upstream_name.put(out);
        if let Some(at) = self.refetch_at {
            at.put(out);
        }
    }

    fn take_fields(from: &mut Decoder<'_>, version: u8) -> Result<Self> {
        let mut file = Self {
            content: Codec::take(from)?,
            size_bytes: Codec::take(from)?,
            checksum: u64::from_le_bytes(from.array()?),
            kind: Codec::take(from)?,
            upstream_name: Codec::take(from)?,
            refetch_at: None,
            is_brought: version == BROUGHT_VERSION,
        };
        if version == REFETCH_VERSION {
            file.refetch_at = Some(Codec::take(from)?);
        }
        Ok(file)
    }
}

/// The row of a day's figures.
pub(crate) fn encode_figures(figures: &[u64]) -> Vec<u8> {
    assert!(figures.len() <= FIGURES_MAX, "a day has too many figures");
    let mut out = Encoder::new(VERSION);
    figures.to_vec().put(&mut out);
    out.finish()
}

pub(crate) fn decode_figures(bytes: &[u8]) -> Result<Vec<u64>> {
    let mut from = Decoder::new(bytes, VERSION, "state.redb, table figures")?;
    let figures = Vec::<u64>::take(&mut from)?;
    if FIGURES_MAX < figures.len() {
        return Err(from.error("64 figures at most"));
    }
    from.finish()?;
    Ok(figures)
}

/// A plain number: a counter of the `meta` tables, a count of downloads, an offset in a counter
/// file.
pub(crate) fn encode_number(number: u64) -> Vec<u8> {
    let mut out = Encoder::new(VERSION);
    out.put_integer(number);
    out.finish()
}

pub(crate) fn decode_number(bytes: &[u8]) -> Result<u64> {
    let mut from = Decoder::new(bytes, VERSION, "a stored number")?;
    let number = from.integer()?;
    from.finish()?;
    Ok(number)
}

/// Implements [`Codec`] for an id by its number.
macro_rules! number_codec {
    ($($name:ident),+) => {
        $(impl Codec for $name {
            fn put(&self, out: &mut Encoder) {
                self.0.put(out);
            }

            fn take(from: &mut Decoder<'_>) -> Result<Self> {
                u64::take(from).map(Self)
            }
        })+
    };
}

number_codec!(AccountId, ApiKeyId, NodeId);

/// Implements [`Codec`] for a type that is the text which it was parsed from.
macro_rules! text_codec {
    ($($name:ident, $expected:literal;)+) => {
        $(impl Codec for $name {
            fn put(&self, out: &mut Encoder) {
                out.put_text(self.as_str());
            }

            fn take(from: &mut Decoder<'_>) -> Result<Self> {
                let text = from.text()?;
                from.parsed(Self::parse(text), $expected)
            }
        })+
    };
}

text_codec! {
    Email, "an e-mail address";
    ReleaseId, "a release id";
    FileName, "a file name";
}

impl Codec for RecordId {
    fn put(&self, out: &mut Encoder) {
        out.put_raw(self.as_bytes());
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        from.array().map(Self::from_bytes)
    }
}

impl Codec for ContentHash {
    fn put(&self, out: &mut Encoder) {
        self.0.put(out);
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        from.array().map(Self)
    }
}

impl Codec for Day {
    fn put(&self, out: &mut Encoder) {
        out.put_integer(self.0.into());
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        from.small("a day").map(Self)
    }
}

impl Codec for Timestamp {
    fn put(&self, out: &mut Encoder) {
        out.put_signed(self.seconds());
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        let seconds = from.signed()?;
        from.parsed(Self::from_seconds(seconds), "a time of the years 1 to 9999")
    }
}

// Stored numbers never change their meaning: a new role takes the next one.
codec! {
    enum Role, "a role, 0 or 1" { 0 => User, 1 => Admin }
}

/// The number of a kind of file is its index in [`FileKind::ALL`].
impl Codec for FileKind {
    fn put(&self, out: &mut Encoder) {
        let idx = Self::ALL.iter().position(|known| known == self);
        out.put_u8(idx.expect("every kind is in the list of all kinds") as u8);
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        let number = from.u8()?;
        let kind = Self::ALL.get(usize::from(number)).copied();
        from.parsed(kind, "a kind of file")
    }
}

impl Codec for Scopes {
    fn put(&self, out: &mut Encoder) {
        out.put_u8(self.bits());
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        let bits = from.u8()?;
        from.parsed(Self::from_bits(bits), "a set of scopes")
    }
}

impl Codec for RateLimit {
    fn put(&self, out: &mut Encoder) {
        out.put_integer(self.requests.get().into());
        out.put_integer(self.window_seconds.get().into());
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        let requests: u32 = from.small("a number of requests")?;
        let window_seconds: u32 = from.small("a number of seconds")?;
        Ok(Self {
            requests: from.parsed(requests.try_into().ok(), "at least one request")?,
            window_seconds: from.parsed(window_seconds.try_into().ok(), "at least a second")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SEALED_SECRET_BYTES;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds).unwrap()
    }

    #[test]
    fn accounts_come_back() {
        let mut account = Account {
            id: AccountId(300),
            email: Email::parse("Ana@Example.org").unwrap(),
            display_name: "Ana".into(),
            role: Role::Admin,
            password_hash: "$argon2id$".into(),
            created_at: at(1_700_000_000),
            disabled_at: Some(at(-5)),
        };
        assert_eq!(Account::decode(&account.encode()).unwrap(), account);
        account.disabled_at = None;
        account.role = Role::User;
        assert_eq!(Account::decode(&account.encode()).unwrap(), account);
    }

    #[test]
    fn api_keys_come_back() {
        let mut api_key = ApiKey {
            id: ApiKeyId(1),
            account: Some(AccountId(2)),
            name: "laptop".into(),
            digest: [9; 32],
            partial: "sct_AbCd…wXyZ".into(),
            scopes: Scopes::ALL,
            limit: RateLimit::parse("60/1"),
            created_at: at(1),
            expires_at: Some(at(2)),
            revoked_at: None,
            replaced_by: None,
        };
        assert_eq!(ApiKey::decode(&api_key.encode()).unwrap(), api_key);
        api_key.limit = None;
        api_key.account = None;
        api_key.revoked_at = Some(at(3));
        api_key.replaced_by = Some(ApiKeyId(300));
        assert_eq!(ApiKey::decode(&api_key.encode()).unwrap(), api_key);
    }

    #[test]
    fn files_of_every_kind_come_back() {
        for kind in FileKind::ALL {
            let file = CachedFile {
                content: ContentHash([3; 32]),
                size_bytes: 70_000,
                checksum: u64::MAX,
                kind,
                upstream_name: FileName::parse("película.srt"),
                refetch_at: None,
                is_brought: false,
            };
            let lasting = file.encode();
            assert_eq!(lasting[0], VERSION);
            assert_eq!(CachedFile::decode(&lasting).unwrap(), file);
            let file = CachedFile {
                refetch_at: Some(at(9)),
                ..file
            };
            let decoded = CachedFile::decode(&file.encode()).unwrap();
            assert_eq!(decoded, file);
            let brought = CachedFile {
                refetch_at: None,
                is_brought: true,
                ..file
            };
            let decoded = CachedFile::decode(&brought.encode()).unwrap();
            assert_eq!(decoded, brought);
        }
    }

    #[test]
    fn the_rest_comes_back() {
        let session = Session {
            digest: [1; 32],
            account: AccountId(u64::MAX),
            created_at: at(5),
            expires_at: at(6),
            device: String::new(),
            last_used_at: None,
            is_pending: false,
        };
        for (device, is_pending) in [("", false), ("Firefox", false), ("", true), ("Edge", true)] {
            let session = Session {
                device: device.into(),
                is_pending,
                ..session.clone()
            };
            assert_eq!(Session::decode(&session.encode()).unwrap(), session);
            if !is_pending {
                let used = Session {
                    last_used_at: Some(at(7)),
                    ..session
                };
                assert_eq!(Session::decode(&used.encode()).unwrap(), used);
            }
        }
        for issuer in [None, Some(AccountId(7))] {
            let link = OneTimeLink {
                digest: [4; 32],
                purpose: LinkPurpose::NewPassword(AccountId(9)),
                issuer,
                expires_at: at(6),
            };
            assert_eq!(OneTimeLink::decode(&link.encode()).unwrap(), link);
        }
        let sealed = StepSecret::Sealed([3; SEALED_SECRET_BYTES]);
        for secret in [StepSecret::Plain([2; 20]), sealed] {
            let second = SecondStep {
                secret,
                last_step: 8,
                recovery_digests: vec![[4; 32]],
            };
            let stored = second.encode();
            assert_eq!(SecondStep::decode(&stored).unwrap(), second);
        }
        let usage = Usage {
            requests: 1,
            downloads: 200,
            client_errors: 3,
            limited: u64::MAX,
        };
        assert_eq!(Usage::decode(&usage.encode()).unwrap(), usage);
        for figures in [vec![], vec![0, 7, u64::MAX], vec![1; FIGURES_MAX]] {
            let stored = encode_figures(&figures);
            assert_eq!(decode_figures(&stored).unwrap(), figures);
        }
        let totals = ApiKeyTotals {
            usage,
            last_used_at: Some(at(7)),
        };
        assert_eq!(ApiKeyTotals::decode(&totals.encode()).unwrap(), totals);
        let entry = AuditEntry {
            at: at(8),
            actor: "command line".into(),
            action: "key created".into(),
            account: None,
            api_key: Some(ApiKeyId(4)),
            detail: "laptop".into(),
        };
        assert_eq!(AuditEntry::decode(&entry.encode()).unwrap(), entry);
        assert_eq!(decode_number(&encode_number(77)).unwrap(), 77);
    }

    #[test]
    fn a_value_that_is_too_long_or_too_short_is_damaged() {
        let mut bytes = encode_number(77);
        bytes.push(0);
        assert!(decode_number(&bytes).is_err());
        assert!(decode_number(&bytes[..1]).is_err());
        assert!(decode_number(&[2, 77]).is_err());
    }
}
