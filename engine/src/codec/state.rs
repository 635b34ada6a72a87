//! Values of the state file: one version byte, then the fields in order.

use super::wire::{Decoder, Encoder};
use crate::error::Result;
use crate::limits::FIGURES_MAX;
use crate::model::{
    Account, AccountId, ApiKey, ApiKeyId, AuditEntry, CachedFile, ContentHash, Email, FileKind,
    FileName, LinkPurpose, OneTimeLink, RateLimit, Role, Scopes, SecondStep, Session, StepSecret,
    Timestamp, Usage,
};

/// Version of every value below; a value of another version is refused.
const VERSION: u8 = 1;

/// Version of a cached file that is to be fetched again: the time of that follows the other fields.
const REFETCH_VERSION: u8 = 2;
/// Of a file that was brought by an import.
const BROUGHT_VERSION: u8 = 3;

/// Version of a session whose device is known: its name follows the other fields.
const DEVICE_VERSION: u8 = 2;

/// Version of a key that was rolled: the number of the one in its place follows the other fields.
const REPLACED_VERSION: u8 = 2;

/// Version of a link whose maker is known: its number follows the other fields.
const ISSUER_VERSION: u8 = 2;

/// Version of a sign-in that waits for its code, in the form of a session with a device.
const PENDING_VERSION: u8 = 3;

/// Version of a second step whose secret is sealed.
const SEALED_VERSION: u8 = 2;

/// Usage of a key in all, and the time of its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ApiKeyTotals {
    /// Sum over all days.
    pub(crate) usage: Usage,
    /// Time of the latest request; none before the first.
    pub(crate) last_used_at: Option<Timestamp>,
}

pub(crate) fn encode_account(account: &Account) -> Vec<u8> {
    let mut out = Encoder::new(VERSION);
    out.put_integer(account.id.0);
    out.put_text(account.email.as_str());
    out.put_text(&account.display_name);
    out.put_u8(match account.role {
        // Stored numbers never change their meaning: a new role takes the next one.
        Role::User => 0,
        Role::Admin => 1,
    });
    out.put_text(&account.password_hash);
    put_time(&mut out, account.created_at);
    out.put_option(account.disabled_at, put_time);
    out.finish()
}

pub(crate) fn decode_account(bytes: &[u8]) -> Result<Account> {
    let mut from = Decoder::new(bytes, VERSION, "state.redb, table accounts")?;
    let account = Account {
        id: AccountId(from.integer()?),
        email: {
            let text = from.text()?;
            from.parsed(Email::parse(text), "an e-mail address")?
        },
        display_name: from.text()?.to_owned(),
        role: match from.u8()? {
            0 => Role::User,
            1 => Role::Admin,
            _ => return Err(from.error("a role, 0 or 1")),
        },
        password_hash: from.text()?.to_owned(),
        created_at: take_time(&mut from)?,
        disabled_at: from.option(take_time)?,
    };
    from.finish()?;
    Ok(account)
}

pub(crate) fn encode_api_key(api_key: &ApiKey) -> Vec<u8> {
    let mut out = Encoder::new(match api_key.replaced_by {
        Some(_) => REPLACED_VERSION,
        None => VERSION,
    });
    out.put_integer(api_key.id.0);
    out.put_option(api_key.account, |out, account| out.put_integer(account.0));
    out.put_text(&api_key.name);
    out.put_raw(&api_key.digest);
    out.put_text(&api_key.partial);
    out.put_u8(api_key.scopes.bits());
    out.put_option(api_key.limit, put_limit);
    put_time(&mut out, api_key.created_at);
    out.put_option(api_key.expires_at, put_time);
    out.put_option(api_key.revoked_at, put_time);
    if let Some(id) = api_key.replaced_by {
        out.put_integer(id.0);
    }
    out.finish()
}

pub(crate) fn decode_api_key(bytes: &[u8]) -> Result<ApiKey> {
    let is_replaced = bytes.first() == Some(&REPLACED_VERSION);
    let version = if is_replaced {
        REPLACED_VERSION
    } else {
        VERSION
    };
    let mut from = Decoder::new(bytes, version, "state.redb, table api_keys")?;
    let mut api_key = ApiKey {
        id: ApiKeyId(from.integer()?),
        account: from.option(|from| Ok(AccountId(from.integer()?)))?,
        name: from.text()?.to_owned(),
        digest: from.array()?,
        partial: from.text()?.to_owned(),
        scopes: {
            let bits = from.u8()?;
            from.parsed(Scopes::from_bits(bits), "a set of scopes")?
        },
        limit: from.option(take_limit)?,
        created_at: take_time(&mut from)?,
        expires_at: from.option(take_time)?,
        revoked_at: from.option(take_time)?,
        replaced_by: None,
    };
    if is_replaced {
        api_key.replaced_by = Some(ApiKeyId(from.integer()?));
    }
    from.finish()?;
    Ok(api_key)
}

pub(crate) fn encode_session(session: &Session) -> Vec<u8> {
    let version = match (session.is_pending, session.device.is_empty()) {
        (true, _) => PENDING_VERSION,
        (false, true) => VERSION,
        (false, false) => DEVICE_VERSION,
    };
    let mut out = Encoder::new(version);
    out.put_raw(&session.digest);
    out.put_integer(session.account.0);
    put_time(&mut out, session.created_at);
    put_time(&mut out, session.expires_at);
    if version != VERSION {
        out.put_text(&session.device);
    }
    out.finish()
}

pub(crate) fn decode_session(bytes: &[u8]) -> Result<Session> {
    let version = match bytes.first() {
        Some(&version @ (DEVICE_VERSION | PENDING_VERSION)) => version,
        _ => VERSION,
    };
    let mut from = Decoder::new(bytes, version, "state.redb, table sessions")?;
    let mut session = Session {
        digest: from.array()?,
        account: AccountId(from.integer()?),
        created_at: take_time(&mut from)?,
        expires_at: take_time(&mut from)?,
        device: String::new(),
        is_pending: version == PENDING_VERSION,
    };
    if version != VERSION {
        from.text()?.clone_into(&mut session.device);
    }
    from.finish()?;
    Ok(session)
}

pub(crate) fn encode_second_step(second: &SecondStep) -> Vec<u8> {
    let mut out = match &second.secret {
        StepSecret::Plain(secret) => {
            let mut out = Encoder::new(VERSION);
            out.put_raw(secret);
            out
        }
        StepSecret::Sealed(sealed) => {
            let mut out = Encoder::new(SEALED_VERSION);
            out.put_raw(sealed);
            out
        }
    };
    out.put_integer(second.last_step);
    out.put_integer(second.recovery_digests.len() as u64);
    for digest in &second.recovery_digests {
        out.put_raw(digest);
    }
    out.finish()
}

pub(crate) fn decode_second_step(bytes: &[u8]) -> Result<SecondStep> {
    let is_sealed = bytes.first() == Some(&SEALED_VERSION);
    let version = if is_sealed { SEALED_VERSION } else { VERSION };
    let mut from = Decoder::new(bytes, version, "state.redb, table second_steps")?;
    let mut second = SecondStep {
        secret: if is_sealed {
            StepSecret::Sealed(from.array()?)
        } else {
            StepSecret::Plain(from.array()?)
        },
        last_step: from.integer()?,
        recovery_digests: Vec::new(),
    };
    // Read one by one: a damaged count meets the end of the bytes before it costs memory.
    let count: u8 = from.small("a number of recovery codes")?;
    for _ in 0..count {
        second.recovery_digests.push(from.array()?);
    }
    from.finish()?;
    Ok(second)
}

pub(crate) fn encode_link(link: &OneTimeLink) -> Vec<u8> {
    let mut out = Encoder::new(match link.issuer {
        Some(_) => ISSUER_VERSION,
        None => VERSION,
    });
    out.put_raw(&link.digest);
    let (kind, account) = match link.purpose {
        LinkPurpose::Invitation(Role::User) => (0, 0),
        LinkPurpose::Invitation(Role::Admin) => (1, 0),
        LinkPurpose::NewPassword(id) => (2, id.0),
    };
    out.put_u8(kind);
    out.put_integer(account);
    put_time(&mut out, link.expires_at);
    if let Some(id) = link.issuer {
        out.put_integer(id.0);
    }
    out.finish()
}

pub(crate) fn decode_link(bytes: &[u8]) -> Result<OneTimeLink> {
    let has_issuer = bytes.first() == Some(&ISSUER_VERSION);
    let version = if has_issuer { ISSUER_VERSION } else { VERSION };
    let mut from = Decoder::new(bytes, version, "state.redb, table links")?;
    let digest = from.array()?;
    let (kind, account) = (from.u8()?, AccountId(from.integer()?));
    let mut link = OneTimeLink {
        digest,
        issuer: None,
        purpose: match kind {
            0 => LinkPurpose::Invitation(Role::User),
            1 => LinkPurpose::Invitation(Role::Admin),
            2 => LinkPurpose::NewPassword(account),
            _ => return Err(from.error("a purpose, 0 to 2")),
        },
        expires_at: take_time(&mut from)?,
    };
    if has_issuer {
        link.issuer = Some(AccountId(from.integer()?));
    }
    from.finish()?;
    Ok(link)
}

pub(crate) fn encode_usage(usage: &Usage) -> Vec<u8> {
    let mut out = Encoder::new(VERSION);
    put_usage(&mut out, usage);
    out.finish()
}

pub(crate) fn decode_usage(bytes: &[u8]) -> Result<Usage> {
    let mut from = Decoder::new(bytes, VERSION, "state.redb, table usage")?;
    let usage = take_usage(&mut from)?;
    from.finish()?;
    Ok(usage)
}

pub(crate) fn encode_figures(figures: &[u64]) -> Vec<u8> {
    assert!(figures.len() <= FIGURES_MAX, "a day has too many figures");
    let mut out = Encoder::new(VERSION);
    out.put_integer(figures.len() as u64);
    for figure in figures {
        out.put_integer(*figure);
    }
    out.finish()
}

pub(crate) fn decode_figures(bytes: &[u8]) -> Result<Vec<u64>> {
    let mut from = Decoder::new(bytes, VERSION, "state.redb, table figures")?;
    let count = from.integer()?;
    if (FIGURES_MAX as u64) < count {
        return Err(from.error("64 figures at most"));
    }
    let figures = (0..count).map(|_| from.integer());
    let figures = figures.collect::<Result<_>>()?;
    from.finish()?;
    Ok(figures)
}

pub(crate) fn encode_totals(totals: &ApiKeyTotals) -> Vec<u8> {
    let mut out = Encoder::new(VERSION);
    put_usage(&mut out, &totals.usage);
    out.put_option(totals.last_used_at, put_time);
    out.finish()
}

pub(crate) fn decode_totals(bytes: &[u8]) -> Result<ApiKeyTotals> {
    let mut from = Decoder::new(bytes, VERSION, "state.redb, table api_key_totals")?;
    let totals = ApiKeyTotals {
        usage: take_usage(&mut from)?,
        last_used_at: from.option(take_time)?,
    };
    from.finish()?;
    Ok(totals)
}

pub(crate) fn encode_cached_file(file: &CachedFile) -> Vec<u8> {
    assert!(!file.is_brought || file.refetch_at.is_none());
    let mut out = Encoder::new(match file.refetch_at {
        Some(_) => REFETCH_VERSION,
        None if file.is_brought => BROUGHT_VERSION,
        None => VERSION,
    });
    out.put_raw(&file.content.0);
    out.put_integer(file.size_bytes);
    out.put_raw(&file.checksum.to_le_bytes());
    out.put_u8(kind_number(file.kind));
    out.put_option(file.upstream_name.as_ref(), |out, name| {
        out.put_text(name.as_str());
    });
    if let Some(at) = file.refetch_at {
        put_time(&mut out, at);
    }
    out.finish()
}

pub(crate) fn decode_cached_file(bytes: &[u8]) -> Result<CachedFile> {
    let version = match bytes.first() {
        Some(&version @ (REFETCH_VERSION | BROUGHT_VERSION)) => version,
        _ => VERSION,
    };
    let mut from = Decoder::new(bytes, version, "state.redb, table files")?;
    let mut file = CachedFile {
        content: ContentHash(from.array()?),
        size_bytes: from.integer()?,
        checksum: u64::from_le_bytes(from.array()?),
        kind: {
            let number = from.u8()?;
            let kind = FileKind::ALL.get(usize::from(number)).copied();
            from.parsed(kind, "a kind of file")?
        },
        upstream_name: from.option(|from| {
            let name = from.text()?;
            from.parsed(FileName::parse(name), "a file name")
        })?,
        refetch_at: None,
        is_brought: version == BROUGHT_VERSION,
    };
    if version == REFETCH_VERSION {
        file.refetch_at = Some(take_time(&mut from)?);
    }
    from.finish()?;
    Ok(file)
}

pub(crate) fn encode_audit_entry(entry: &AuditEntry) -> Vec<u8> {
    let mut out = Encoder::new(VERSION);
    put_time(&mut out, entry.at);
    out.put_text(&entry.actor);
    out.put_text(&entry.action);
    out.put_option(entry.account, |out, id| out.put_integer(id.0));
    out.put_option(entry.api_key, |out, id| out.put_integer(id.0));
    out.put_text(&entry.detail);
    out.finish()
}

pub(crate) fn decode_audit_entry(bytes: &[u8]) -> Result<AuditEntry> {
    let mut from = Decoder::new(bytes, VERSION, "state.redb, table audit")?;
    let entry = AuditEntry {
        at: take_time(&mut from)?,
        actor: from.text()?.to_owned(),
        action: from.text()?.to_owned(),
        account: from.option(|from| Ok(AccountId(from.integer()?)))?,
        api_key: from.option(|from| Ok(ApiKeyId(from.integer()?)))?,
        detail: from.text()?.to_owned(),
    };
    from.finish()?;
    Ok(entry)
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

/// The number that stands for a kind of file: its index in [`FileKind::ALL`].
fn kind_number(kind: FileKind) -> u8 {
    let idx = FileKind::ALL.iter().position(|known| *known == kind);
    idx.expect("every kind is in the list of all kinds") as u8
}

pub(crate) fn put_time(out: &mut Encoder, time: Timestamp) {
    out.put_signed(time.seconds());
}

pub(crate) fn take_time(from: &mut Decoder<'_>) -> Result<Timestamp> {
    let seconds = from.signed()?;
    from.parsed(
        Timestamp::from_seconds(seconds),
        "a time of the years 1 to 9999",
    )
}

pub(crate) fn put_limit(out: &mut Encoder, limit: RateLimit) {
    out.put_integer(limit.requests.get().into());
    out.put_integer(limit.window_seconds.get().into());
}

pub(crate) fn take_limit(from: &mut Decoder<'_>) -> Result<RateLimit> {
    let requests: u32 = from.small("a number of requests")?;
    let window_seconds: u32 = from.small("a number of seconds")?;
    Ok(RateLimit {
        requests: from.parsed(requests.try_into().ok(), "at least one request")?,
        window_seconds: from.parsed(window_seconds.try_into().ok(), "at least a second")?,
    })
}

fn put_usage(out: &mut Encoder, usage: &Usage) {
    out.put_integer(usage.requests);
    out.put_integer(usage.downloads);
    out.put_integer(usage.client_errors);
    out.put_integer(usage.limited);
}

fn take_usage(from: &mut Decoder<'_>) -> Result<Usage> {
    Ok(Usage {
        requests: from.integer()?,
        downloads: from.integer()?,
        client_errors: from.integer()?,
        limited: from.integer()?,
    })
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
        assert_eq!(decode_account(&encode_account(&account)).unwrap(), account);
        account.disabled_at = None;
        account.role = Role::User;
        assert_eq!(decode_account(&encode_account(&account)).unwrap(), account);
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
        assert_eq!(decode_api_key(&encode_api_key(&api_key)).unwrap(), api_key);
        api_key.limit = None;
        api_key.account = None;
        api_key.revoked_at = Some(at(3));
        api_key.replaced_by = Some(ApiKeyId(300));
        assert_eq!(decode_api_key(&encode_api_key(&api_key)).unwrap(), api_key);
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
            let lasting = encode_cached_file(&file);
            assert_eq!(lasting[0], VERSION);
            assert_eq!(decode_cached_file(&lasting).unwrap(), file);
            let file = CachedFile {
                refetch_at: Some(at(9)),
                ..file
            };
            let decoded = decode_cached_file(&encode_cached_file(&file)).unwrap();
            assert_eq!(decoded, file);
            let brought = CachedFile {
                refetch_at: None,
                is_brought: true,
                ..file
            };
            let decoded = decode_cached_file(&encode_cached_file(&brought)).unwrap();
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
            is_pending: false,
        };
        for (device, is_pending) in [("", false), ("Firefox", false), ("", true), ("Edge", true)] {
            let session = Session {
                device: device.into(),
                is_pending,
                ..session.clone()
            };
            assert_eq!(decode_session(&encode_session(&session)).unwrap(), session);
        }
        for issuer in [None, Some(AccountId(7))] {
            let link = OneTimeLink {
                digest: [4; 32],
                purpose: LinkPurpose::NewPassword(AccountId(9)),
                issuer,
                expires_at: at(6),
            };
            assert_eq!(decode_link(&encode_link(&link)).unwrap(), link);
        }
        let sealed = StepSecret::Sealed([3; SEALED_SECRET_BYTES]);
        for secret in [StepSecret::Plain([2; 20]), sealed] {
            let second = SecondStep {
                secret,
                last_step: 8,
                recovery_digests: vec![[4; 32]],
            };
            let stored = encode_second_step(&second);
            assert_eq!(decode_second_step(&stored).unwrap(), second);
        }
        let usage = Usage {
            requests: 1,
            downloads: 200,
            client_errors: 3,
            limited: u64::MAX,
        };
        assert_eq!(decode_usage(&encode_usage(&usage)).unwrap(), usage);
        for figures in [vec![], vec![0, 7, u64::MAX], vec![1; FIGURES_MAX]] {
            let stored = encode_figures(&figures);
            assert_eq!(decode_figures(&stored).unwrap(), figures);
        }
        let totals = ApiKeyTotals {
            usage,
            last_used_at: Some(at(7)),
        };
        assert_eq!(decode_totals(&encode_totals(&totals)).unwrap(), totals);
        let entry = AuditEntry {
            at: at(8),
            actor: "command line".into(),
            action: "key created".into(),
            account: None,
            api_key: Some(ApiKeyId(4)),
            detail: "laptop".into(),
        };
        assert_eq!(
            decode_audit_entry(&encode_audit_entry(&entry)).unwrap(),
            entry
        );
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
