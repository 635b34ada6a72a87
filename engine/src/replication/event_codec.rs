//! Events as bytes. A number that was given to an event or a field never changes its meaning.

use crate::catalog::CatalogEvent;
use crate::codec::{
    Decoder, Encoder, decode_audit_entry, decode_cached_file, decode_link, decode_second_step,
    decode_session, decode_usage, encode_audit_entry, encode_cached_file, encode_link,
    encode_second_step, encode_session, encode_usage, put_limit, put_time, take_limit, take_time,
};
use crate::error::Result;
use crate::limits::FIGURES_MAX;
use crate::model::{
    AccountId, ApiKeyId, ContentHash, Day, Email, RecordId, ReleaseId, Role, Scopes, UsedCode,
};
use crate::state::{
    AggregatedPart, By, Change, DownloadAggregate, KeyBound, KeyRenewal, KeyRoll, NewAccount,
    NewApiKey, RememberedFile, StateEvent, UsageBatch, UsageDelta,
};

pub(super) fn put_catalog_event(out: &mut Encoder, event: &CatalogEvent) {
    match event {
        CatalogEvent::PutRecord(id, stored) => {
            out.put_u8(0);
            out.put_raw(id.as_bytes());
            put_bytes(out, stored);
        }
        CatalogEvent::SetActive(id, is_active) => {
            out.put_u8(1);
            out.put_raw(id.as_bytes());
            out.put_u8(u8::from(*is_active));
        }
        CatalogEvent::DeleteRecord(id) => {
            out.put_u8(2);
            out.put_raw(id.as_bytes());
        }
    }
}

pub(super) fn catalog_event(from: &mut Decoder<'_>) -> Result<CatalogEvent> {
    let number = from.u8()?;
    let id = RecordId::from_bytes(from.array()?);
    Ok(match number {
        0 => CatalogEvent::PutRecord(id, bytes(from)?.to_vec()),
        1 => CatalogEvent::SetActive(id, flag(from)?),
        2 => CatalogEvent::DeleteRecord(id),
        _ => return Err(from.error("a change of records, 0 to 2")),
    })
}

#[expect(clippy::too_many_lines, reason = "an arm for each kind")]
pub(super) fn put_state_event(out: &mut Encoder, event: &StateEvent) {
    match event {
        StateEvent::Change(change, by) => {
            out.put_u8(0);
            out.put_text(&by.actor);
            put_time(out, by.at);
            put_change(out, change);
        }
        StateEvent::OpenSession(session, hash) => {
            out.put_u8(1);
            put_bytes(out, &encode_session(session));
            out.put_text(hash);
        }
        StateEvent::CloseSession(digest) => {
            out.put_u8(2);
            out.put_raw(digest);
        }
        StateEvent::UseCode(id, used) => {
            out.put_u8(3);
            out.put_integer(id.0);
            put_used_code(out, used);
        }
        StateEvent::IssueLink(link) => {
            out.put_u8(4);
            put_bytes(out, &encode_link(link));
        }
        StateEvent::TakeLink(digest) => {
            out.put_u8(5);
            out.put_raw(digest);
        }
        StateEvent::DropExpiredSessions(now) => {
            out.put_u8(6);
            put_time(out, *now);
        }
        StateEvent::AddUsage(batch) => {
            out.put_u8(7);
            put_usage_batch(out, batch);
        }
        StateEvent::KeepFigures(day, figures) => {
            out.put_u8(8);
            out.put_integer(day.0.into());
            put_all(out, figures, |out, figure| out.put_integer(*figure));
        }
        StateEvent::Audit(entry) => {
            out.put_u8(9);
            put_bytes(out, &encode_audit_entry(entry));
        }
        StateEvent::RememberFile(remembered) => {
            out.put_u8(10);
            out.put_text(remembered.release.as_str());
            put_bytes(out, &encode_cached_file(&remembered.file));
            out.put_option(remembered.replaces, |out, content| out.put_raw(&content.0));
        }
        StateEvent::ForgetFile(release) => {
            out.put_u8(11);
            out.put_text(release.as_str());
        }
        StateEvent::ForgetContent(content) => {
            out.put_u8(12);
            out.put_raw(&content.0);
        }
        StateEvent::AggregateDownloads(aggregate) => {
            out.put_u8(13);
            put_aggregate(out, aggregate);
        }
        StateEvent::AuditSignIn(entry) => {
            out.put_u8(15);
            put_bytes(out, &encode_audit_entry(entry));
        }
        StateEvent::SealSecret(id, sealed) => {
            put_numbered(out, 14, id.0);
            out.put_raw(sealed);
        }
    }
}

pub(super) fn state_event(from: &mut Decoder<'_>) -> Result<StateEvent> {
    Ok(match from.u8()? {
        0 => {
            let actor = from.text()?.to_owned();
            let at = take_time(from)?;
            StateEvent::Change(change(from)?, By { actor, at })
        }
        1 => StateEvent::OpenSession(decode_session(bytes(from)?)?, from.text()?.to_owned()),
        2 => StateEvent::CloseSession(from.array()?),
        3 => StateEvent::UseCode(account(from)?, used_code(from)?),
        4 => StateEvent::IssueLink(decode_link(bytes(from)?)?),
        5 => StateEvent::TakeLink(from.array()?),
        6 => StateEvent::DropExpiredSessions(take_time(from)?),
        7 => StateEvent::AddUsage(usage_batch(from)?),
        8 => {
            let day = day(from)?;
            let figures = all(from, Decoder::integer)?;
            if FIGURES_MAX < figures.len() {
                return Err(from.error("64 figures at most"));
            }
            StateEvent::KeepFigures(day, figures)
        }
        9 => StateEvent::Audit(decode_audit_entry(bytes(from)?)?),
        10 => StateEvent::RememberFile(RememberedFile {
            release: release(from)?,
            file: decode_cached_file(bytes(from)?)?,
            replaces: from.option(|from| Ok(ContentHash(from.array()?)))?,
        }),
        11 => StateEvent::ForgetFile(release(from)?),
        12 => StateEvent::ForgetContent(ContentHash(from.array()?)),
        13 => StateEvent::AggregateDownloads(aggregate(from)?),
        14 => StateEvent::SealSecret(account(from)?, from.array()?),
        15 => StateEvent::AuditSignIn(decode_audit_entry(bytes(from)?)?),
        _ => return Err(from.error("a change of the state, 0 to 15")),
    })
}

#[expect(clippy::too_many_lines, reason = "an arm for each kind")]
fn put_change(out: &mut Encoder, change: &Change) {
    match change {
        Change::CreateAccount(new) => {
            out.put_u8(0);
            put_new_account(out, new);
        }
        Change::SetPassword(id, hash) => put_account_text(out, 1, *id, hash),
        Change::ReplacePassword { account, old, new } => {
            put_account_text(out, 2, *account, old);
            out.put_text(new);
        }
        Change::SetDisplayName(id, name) => put_account_text(out, 3, *id, name),
        Change::SetEmail(id, email) => put_account_text(out, 4, *id, email.as_str()),
        Change::DeleteAccount(id) => put_numbered(out, 5, id.0),
        Change::SetSecondStep(id, second) => {
            put_numbered(out, 6, id.0);
            out.put_option(second.as_ref(), |out, second| {
                put_bytes(out, &encode_second_step(second));
            });
        }
        Change::SetRole(id, role) => {
            put_numbered(out, 7, id.0);
            put_role(out, *role);
        }
        Change::SetDisabled(id, is_disabled) => {
            put_numbered(out, 8, id.0);
            out.put_u8(u8::from(*is_disabled));
        }
        Change::CloseSessions(id) => put_numbered(out, 9, id.0),
        Change::CreateApiKey(new) => {
            out.put_u8(10);
            put_new_api_key(out, new);
        }
        Change::RenameApiKey(id, name) => {
            put_numbered(out, 11, id.0);
            out.put_text(name);
        }
        Change::SetApiKeyLimit(id, limit) => {
            put_numbered(out, 12, id.0);
            out.put_option(*limit, put_limit);
        }
        Change::RevokeApiKey(id) => put_numbered(out, 13, id.0),
        Change::RollApiKey(roll) => {
            out.put_u8(14);
            put_roll(out, roll);
        }
        Change::SetRegistration(is_open) => {
            out.put_u8(15);
            out.put_u8(u8::from(*is_open));
        }
        Change::IssueLink(_)
        | Change::WithdrawLink(_)
        | Change::AcceptInvitation(..)
        | Change::SetPasswordByLink { .. } => put_link_change(out, change),
        Change::CreateApiKeyWithin(new, bound) => {
            out.put_u8(20);
            put_new_api_key(out, new);
            put_bound(out, *bound);
        }
        Change::RenewApiKey(renewal) => {
            out.put_u8(21);
            put_roll(out, &renewal.roll);
            out.put_option(renewal.expires_at, put_time);
            out.put_option(renewal.bound, put_bound);
        }
        Change::ReplaceFeedKey(new) => {
            out.put_u8(22);
            put_new_api_key(out, new);
        }
        Change::ReplaceRecoveryCodes(id, digests) => {
            put_numbered(out, 23, id.0);
            put_all(out, digests, |out, digest| out.put_raw(digest));
        }
    }
}

/// Changes by one-time links, numbers 16 to 19.
fn put_link_change(out: &mut Encoder, change: &Change) {
    match change {
        Change::IssueLink(link) => {
            out.put_u8(16);
            put_bytes(out, &encode_link(link));
        }
        Change::WithdrawLink(digest) => {
            out.put_u8(17);
            out.put_raw(digest);
        }
        Change::AcceptInvitation(link, new) => {
            out.put_u8(18);
            out.put_raw(link);
            put_new_account(out, new);
        }
        Change::SetPasswordByLink {
            link,
            account,
            hash,
        } => {
            put_account_text(out, 19, *account, hash);
            out.put_raw(link);
        }
        _ => {}
    }
}

fn change(from: &mut Decoder<'_>) -> Result<Change> {
    let number = from.u8()?;
    Ok(match number {
        0 => Change::CreateAccount(new_account(from)?),
        1 => Change::SetPassword(account(from)?, from.text()?.to_owned()),
        2 => Change::ReplacePassword {
            account: account(from)?,
            old: from.text()?.to_owned(),
            new: from.text()?.to_owned(),
        },
        3 => Change::SetDisplayName(account(from)?, from.text()?.to_owned()),
        4 => Change::SetEmail(account(from)?, email(from)?),
        5 => Change::DeleteAccount(account(from)?),
        6 => {
            let id = account(from)?;
            let second = from.option(|from| decode_second_step(bytes(from)?))?;
            Change::SetSecondStep(id, second)
        }
        7 => Change::SetRole(account(from)?, role(from)?),
        8 => Change::SetDisabled(account(from)?, flag(from)?),
        9 => Change::CloseSessions(account(from)?),
        10 => Change::CreateApiKey(new_api_key(from)?),
        11 => Change::RenameApiKey(api_key(from)?, from.text()?.to_owned()),
        12 => Change::SetApiKeyLimit(api_key(from)?, from.option(take_limit)?),
        13 => Change::RevokeApiKey(api_key(from)?),
        14 => Change::RollApiKey(roll(from)?),
        15 => Change::SetRegistration(flag(from)?),
        16..=19 => link_change(from, number)?,
        20 => Change::CreateApiKeyWithin(new_api_key(from)?, bound(from)?),
        21 => Change::RenewApiKey(KeyRenewal {
            roll: roll(from)?,
            expires_at: from.option(take_time)?,
            bound: from.option(bound)?,
        }),
        22 => Change::ReplaceFeedKey(new_api_key(from)?),
        23 => Change::ReplaceRecoveryCodes(account(from)?, all(from, Decoder::array)?),
        _ => return Err(from.error("a change of accounts or keys, 0 to 23")),
    })
}

fn link_change(from: &mut Decoder<'_>, number: u8) -> Result<Change> {
    Ok(match number {
        16 => Change::IssueLink(decode_link(bytes(from)?)?),
        17 => Change::WithdrawLink(from.array()?),
        18 => Change::AcceptInvitation(from.array()?, new_account(from)?),
        19 => {
            let (account, hash) = (account(from)?, from.text()?.to_owned());
            Change::SetPasswordByLink {
                account,
                hash,
                link: from.array()?,
            }
        }
        _ => return Err(from.error("a change by a link, 16 to 19")),
    })
}

fn put_new_account(out: &mut Encoder, new: &NewAccount) {
    out.put_text(new.email.as_str());
    out.put_text(&new.display_name);
    put_role(out, new.role);
    out.put_text(&new.password_hash);
}

fn new_account(from: &mut Decoder<'_>) -> Result<NewAccount> {
    Ok(NewAccount {
        email: email(from)?,
        display_name: from.text()?.to_owned(),
        role: role(from)?,
        password_hash: from.text()?.to_owned(),
    })
}

fn put_roll(out: &mut Encoder, roll: &KeyRoll) {
    out.put_integer(roll.old.0);
    out.put_raw(&roll.digest);
    out.put_text(&roll.partial);
    put_time(out, roll.old_ends_at);
}

fn roll(from: &mut Decoder<'_>) -> Result<KeyRoll> {
    Ok(KeyRoll {
        old: api_key(from)?,
        digest: from.array()?,
        partial: from.text()?.to_owned(),
        old_ends_at: take_time(from)?,
    })
}

fn put_bound(out: &mut Encoder, bound: KeyBound) {
    out.put_integer(bound.keys_max);
    out.put_integer(bound.active_max);
}

fn bound(from: &mut Decoder<'_>) -> Result<KeyBound> {
    Ok(KeyBound {
        keys_max: from.integer()?,
        active_max: from.integer()?,
    })
}

fn put_new_api_key(out: &mut Encoder, new: &NewApiKey) {
    out.put_option(new.account, |out, id| out.put_integer(id.0));
    out.put_text(&new.name);
    out.put_raw(&new.digest);
    out.put_text(&new.partial);
    out.put_u8(new.scopes.bits());
    out.put_option(new.limit, put_limit);
    out.put_option(new.expires_at, put_time);
}

fn new_api_key(from: &mut Decoder<'_>) -> Result<NewApiKey> {
    Ok(NewApiKey {
        account: from.option(account)?,
        name: from.text()?.to_owned(),
        digest: from.array()?,
        partial: from.text()?.to_owned(),
        scopes: {
            let bits = from.u8()?;
            from.parsed(Scopes::from_bits(bits), "a set of scopes")?
        },
        limit: from.option(take_limit)?,
        expires_at: from.option(take_time)?,
    })
}

fn put_usage_batch(out: &mut Encoder, batch: &UsageBatch) {
    out.put_integer(batch.number);
    put_all(out, &batch.deltas, |out, delta| {
        out.put_option(delta.api_key, |out, id| out.put_integer(id.0));
        out.put_integer(delta.day.0.into());
        put_bytes(out, &encode_usage(&delta.usage));
        out.put_option(delta.last_used_at, put_time);
    });
}

fn usage_batch(from: &mut Decoder<'_>) -> Result<UsageBatch> {
    Ok(UsageBatch {
        number: from.integer()?,
        deltas: all(from, |from| {
            Ok(UsageDelta {
                api_key: from.option(api_key)?,
                day: day(from)?,
                usage: decode_usage(bytes(from)?)?,
                last_used_at: from.option(take_time)?,
            })
        })?,
    })
}

fn put_aggregate(out: &mut Encoder, aggregate: &DownloadAggregate) {
    put_all(out, &aggregate.records, |out, (record, downloads)| {
        out.put_raw(record.as_bytes());
        out.put_integer(*downloads);
    });
    put_all(out, &aggregate.usage, |out, (api_key, day, downloads)| {
        out.put_option(*api_key, |out, id| out.put_integer(id.0));
        out.put_integer(day.0.into());
        out.put_integer(*downloads);
    });
    put_all(out, &aggregate.parts, |out, part| {
        out.put_text(&part.name);
        out.put_integer(part.from);
        out.put_integer(part.to);
    });
    put_all(out, &aggregate.forgotten, |out, name| out.put_text(name));
}

fn aggregate(from: &mut Decoder<'_>) -> Result<DownloadAggregate> {
    Ok(DownloadAggregate {
        records: all(from, |from| {
            Ok((RecordId::from_bytes(from.array()?), from.integer()?))
        })?,
        usage: all(from, |from| {
            Ok((from.option(api_key)?, day(from)?, from.integer()?))
        })?,
        parts: all(from, |from| {
            Ok(AggregatedPart {
                name: from.text()?.to_owned(),
                from: from.integer()?,
                to: from.integer()?,
            })
        })?,
        forgotten: all(from, |from| Ok(from.text()?.to_owned()))?,
    })
}

fn put_used_code(out: &mut Encoder, used: &UsedCode) {
    match used {
        UsedCode::Step(step) => put_numbered(out, 0, *step),
        UsedCode::Recovery(digest) => {
            out.put_u8(1);
            out.put_raw(digest);
        }
    }
}

fn used_code(from: &mut Decoder<'_>) -> Result<UsedCode> {
    Ok(match from.u8()? {
        0 => UsedCode::Step(from.integer()?),
        1 => UsedCode::Recovery(from.array()?),
        _ => return Err(from.error("a code, 0 or 1")),
    })
}

fn put_account_text(out: &mut Encoder, number: u8, id: AccountId, text: &str) {
    put_numbered(out, number, id.0);
    out.put_text(text);
}

fn put_numbered(out: &mut Encoder, number: u8, id: u64) {
    out.put_u8(number);
    out.put_integer(id);
}

fn put_role(out: &mut Encoder, role: Role) {
    out.put_u8(match role {
        Role::User => 0,
        Role::Admin => 1,
    });
}

fn role(from: &mut Decoder<'_>) -> Result<Role> {
    Ok(if flag(from)? { Role::Admin } else { Role::User })
}

pub(super) fn put_bytes(out: &mut Encoder, bytes: &[u8]) {
    out.put_integer(bytes.len() as u64);
    out.put_raw(bytes);
}

pub(super) fn bytes<'b>(from: &mut Decoder<'b>) -> Result<&'b [u8]> {
    let bytes_count = from.small("a length that fits the value")?;
    from.raw(bytes_count)
}

pub(super) fn put_all<T>(out: &mut Encoder, values: &[T], put: impl Fn(&mut Encoder, &T)) {
    out.put_integer(values.len() as u64);
    for value in values {
        put(out, value);
    }
}

pub(super) fn all<'b, T>(
    from: &mut Decoder<'b>,
    take: impl Fn(&mut Decoder<'b>) -> Result<T>,
) -> Result<Vec<T>> {
    let count = from.integer()?;
    // Read one by one: a damaged count meets the end of the bytes before it costs memory.
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(take(from)?);
    }
    Ok(values)
}

fn flag(from: &mut Decoder<'_>) -> Result<bool> {
    match from.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(from.error("0 or 1")),
    }
}

fn account(from: &mut Decoder<'_>) -> Result<AccountId> {
    Ok(AccountId(from.integer()?))
}

fn api_key(from: &mut Decoder<'_>) -> Result<ApiKeyId> {
    Ok(ApiKeyId(from.integer()?))
}

fn email(from: &mut Decoder<'_>) -> Result<Email> {
    let text = from.text()?;
    from.parsed(Email::parse(text), "an e-mail address")
}

fn release(from: &mut Decoder<'_>) -> Result<ReleaseId> {
    let text = from.text()?;
    from.parsed(ReleaseId::parse(text), "a release id")
}

fn day(from: &mut Decoder<'_>) -> Result<Day> {
    Ok(Day(from.small("a day")?))
}
