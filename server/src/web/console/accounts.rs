//! Accounts, for administrators: find, disable, change the role, show the keys.

use std::collections::HashMap;

use askama::Template;
use http::StatusCode;
use subcat_engine::{
    Account, AccountId, ApiKey, ApiKeyState, AuditEntry, LinkPurpose, OneTimeLink, Role, Session,
};

use crate::limits::{ACCOUNTS_SHOWN_MAX, SIGN_IN_ENTRIES_READ_MAX};
use crate::ops::link_id;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::feed_token::is_feed_key;
use crate::web::frame::key_list::KeyList;
use crate::web::frame::language::Lang;
use crate::web::frame::notice::Notice;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::session::SIGN_IN_ACTION;
use crate::web::frame::web_request::WebRequest;

struct AccountRow {
    number: u64,
    email: String,
    name: String,
    role: &'static str,
    is_admin: bool,
    is_disabled: bool,
    created: String,
    keys_count: usize,
}

impl AccountRow {
    fn new(account: &Account, keys_count: usize, lang: Lang) -> Self {
        Self {
            number: account.id.0,
            email: account.email.as_str().to_owned(),
            name: account.display_name.clone(),
            role: match account.role {
                Role::Admin => lang.t("administrator", "administrador"),
                Role::User => lang.t("user", "usuario"),
            },
            is_admin: account.role == Role::Admin,
            is_disabled: account.disabled_at.is_some(),
            created: lang.date(account.created_at),
            keys_count,
        }
    }
}

#[derive(Template)]
#[template(path = "console/admin_accounts.html")]
struct AccountsPage<'a> {
    page: Frame,
    find: &'a str,
    rows: Vec<AccountRow>,
    is_truncated: bool,
    /// True if the settings decide whether registration is open, and not the administrators.
    is_registration_set: bool,
    links: Vec<LinkRow>,
    /// One-time value of the form of an invitation.
    token: String,
}

/// A one-time link that is valid.
struct LinkRow {
    id: String,
    purpose: &'static str,
    /// Address of the account that the link sets the password of; empty for an invitation.
    email: String,
    maker: String,
    ends: String,
}

impl LinkRow {
    fn new(request: &WebRequest, link: &OneTimeLink) -> Self {
        let lang = request.lang;
        let accounts = request.accounts();
        let address = |id: Option<AccountId>| {
            let account = id.and_then(|id| accounts.get(id));
            account.map_or(String::new(), |account| account.email.as_str().to_owned())
        };
        Self {
            id: link_id(link),
            purpose: match link.purpose {
                LinkPurpose::Invitation(Role::Admin) => {
                    lang.t("Invitation: administrator", "Invitación: administrador")
                }
                LinkPurpose::Invitation(Role::User) => {
                    lang.t("Invitation: user", "Invitación: usuario")
                }
                LinkPurpose::NewPassword(_) => lang.t("New password", "Contraseña nueva"),
            },
            email: address(link.account()),
            maker: address(link.issuer),
            ends: lang.moment(link.expires_at),
        }
    }
}

/// `GET /admin/accounts`: newest first; `find` is part of an address or a name.
pub(crate) fn show_all(request: &WebRequest) -> PageResult {
    request.admin()?;
    let links = request.operations()?.links()?;
    let engine = &request.site.service.engine;
    let find = request.query.get("find");
    let wanted = find.to_lowercase();
    let is_wanted = |account: &Account| {
        account.email.as_str().contains(&wanted)
            || account.display_name.to_lowercase().contains(&wanted)
    };
    // One pass over all keys instead of a look-up for each account.
    let mut keys_counts: HashMap<AccountId, usize> = HashMap::new();
    for owner in engine
        .accounts()
        .api_keys()
        .iter()
        .filter(|key| !is_feed_key(key))
        .filter_map(|key| key.account)
    {
        *keys_counts.entry(owner).or_default() += 1;
    }
    let mut accounts = engine.accounts().all();
    accounts.retain(is_wanted);
    accounts.sort_unstable_by_key(|account| std::cmp::Reverse(account.id));
    let is_truncated = ACCOUNTS_SHOWN_MAX < accounts.len();
    let rows = accounts.iter().take(ACCOUNTS_SHOWN_MAX).map(|account| {
        let keys_count = keys_counts.get(&account.id).copied().unwrap_or(0);
        AccountRow::new(account, keys_count, request.lang)
    });
    let template = AccountsPage {
        page: request.frame("/admin"),
        find,
        rows: rows.collect(),
        is_truncated,
        is_registration_set: request.site.service.is_registration_set(),
        links: links.iter().map(|it| LinkRow::new(request, it)).collect(),
        token: request.site.form_tokens.issue(),
    };
    answer::page(StatusCode::OK, &template)
}

/// `POST /admin/registration`: `open` is `yes` or `no`. Forbidden if the settings decide it.
pub(crate) async fn set_registration(request: &WebRequest) -> PageResult {
    request.admin()?;
    if request.site.service.is_registration_set() {
        return Err(PageError::Forbidden);
    }
    let (is_open, notice) = match request.form.get("open") {
        "yes" => (true, Notice::RegistrationOpened),
        "no" => (false, Notice::RegistrationClosed),
        _ => return Err(PageError::InvalidForm),
    };
    request.operations()?.set_registration(is_open).await?;
    Ok(request.see_other_with("/admin/accounts", notice))
}

#[derive(Template)]
#[template(path = "console/admin_account.html")]
struct AccountPage {
    page: Frame,
    row: AccountRow,
    is_own: bool,
    has_second_step: bool,
    /// Time of the last sign-in; empty if the newest entries of the audit log have none.
    last_sign_in: String,
    /// Open sessions, newest first.
    sessions: Vec<SessionLine>,
    list: KeyList,
    /// One-time value of the form of a link for a new password.
    token: String,
}

/// An open session, as administrators see it.
struct SessionLine {
    device: String,
    opened: String,
    expires: String,
}

/// `GET /admin/accounts/{number}`.
pub(crate) fn show(request: &WebRequest, number: &str) -> PageResult {
    let viewer = request.admin()?;
    let account = find(request, number)?;
    let template = AccountPage {
        page: request.frame("/admin"),
        row: AccountRow::new(&account, 0, request.lang),
        is_own: account.id == viewer.account.id,
        has_second_step: request.accounts().second_step(account.id).is_some(),
        last_sign_in: last_sign_in(request, account.id)?,
        sessions: session_lines(request, account.id),
        list: KeyList::of(request, account.id)?,
        token: request.site.form_tokens.issue(),
    };
    answer::page(StatusCode::OK, &template)
}

/// Cost: reads up to [`SIGN_IN_ENTRIES_READ_MAX`] of the newest entries of the audit log.
fn last_sign_in(request: &WebRequest, account: AccountId) -> Result<String, PageError> {
    let engine = &request.site.service.engine;
    let newest = engine
        .accounts()
        .audit_log(None, SIGN_IN_ENTRIES_READ_MAX)?;
    let is_sign_in = |(_, entry): &&(u64, AuditEntry)| {
        entry.account == Some(account) && entry.action == SIGN_IN_ACTION
    };
    let last = newest.iter().find(is_sign_in);
    Ok(last.map_or(String::new(), |(_, entry)| request.lang.moment(entry.at)))
}

fn session_lines(request: &WebRequest, account: AccountId) -> Vec<SessionLine> {
    let mut sessions = request.accounts().sessions_of(account);
    sessions.retain(|session| !session.is_expired(request.effective_now));
    let line = |session: Session| SessionLine {
        device: session.device,
        opened: request.lang.moment(session.created_at),
        expires: request.lang.moment(session.expires_at),
    };
    sessions.into_iter().rev().map(line).collect()
}

/// A change of an account that the administration offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AccountChange {
    MakeAdmin,
    MakeUser,
    Disable,
    Enable,
    Delete,
    TotpOff,
}

impl AccountChange {
    /// Parses the field `action`.
    fn parse(text: &str) -> Option<Self> {
        match text {
            "make-admin" => Some(Self::MakeAdmin),
            "make-user" => Some(Self::MakeUser),
            "disable" => Some(Self::Disable),
            "enable" => Some(Self::Enable),
            "delete" => Some(Self::Delete),
            "totp-off" => Some(Self::TotpOff),
            _ => None,
        }
    }
}

#[derive(Template)]
#[template(path = "console/admin_account_change.html")]
struct ChangePage {
    page: Frame,
    number: u64,
    email: String,
    action: String,
    change: AccountChange,
    /// API keys of the account that are active.
    keys_count: usize,
    /// Sessions that are open.
    sessions_count: usize,
}

/// `GET /admin/accounts/{number}/change`: names the account, explains the change, and asks for
/// confirmation. `action` is the change.
pub(crate) fn show_change(request: &WebRequest, number: &str) -> PageResult {
    let viewer = request.admin()?;
    let account = find(request, number)?;
    if account.id == viewer.account.id {
        let location = format!("/admin/accounts/{}", account.id.0);
        return Ok(request.see_other_with(&location, Notice::OwnAccount));
    }
    let action = request.query.get("action");
    let change = AccountChange::parse(action).ok_or(PageError::NotFound)?;
    let accounts = request.accounts();
    let is_active = |key: &&ApiKey| key.state(request.effective_now) == ApiKeyState::Active;
    let is_open = |session: &&Session| !session.is_expired(request.effective_now);
    let template = ChangePage {
        page: request.frame("/admin"),
        number: account.id.0,
        email: account.email.as_str().to_owned(),
        action: action.to_owned(),
        change,
        keys_count: accounts
            .api_keys_of(account.id)
            .iter()
            .filter(is_active)
            .count(),
        sessions_count: accounts
            .sessions_of(account.id)
            .iter()
            .filter(is_open)
            .count(),
    };
    answer::page(StatusCode::OK, &template)
}

/// `POST /admin/accounts/{number}`: `action` is the change. Administrators cannot change their own
/// account, so there is always one left.
pub(crate) async fn change(request: &WebRequest, number: &str) -> PageResult {
    let viewer = request.admin()?;
    let account = find(request, number)?;
    if account.id == viewer.account.id {
        return Err(PageError::Forbidden);
    }
    let change = AccountChange::parse(request.form.get("action")).ok_or(PageError::InvalidForm)?;
    let operations = request.operations()?;
    let notice = match change {
        AccountChange::MakeAdmin => {
            operations.set_role(account.id, Role::Admin).await?;
            Notice::RoleAdmin
        }
        AccountChange::MakeUser => {
            operations.set_role(account.id, Role::User).await?;
            Notice::RoleUser
        }
        AccountChange::Disable => {
            operations.set_disabled(account.id, true).await?;
            Notice::AccountDisabled
        }
        AccountChange::Enable => {
            operations.set_disabled(account.id, false).await?;
            Notice::AccountEnabled
        }
        AccountChange::Delete => {
            operations.delete_account(account.id).await?;
            return Ok(request.see_other_with("/admin/accounts", Notice::AccountDeleted));
        }
        AccountChange::TotpOff => {
            operations.turn_off_second_step(account.id).await?;
            Notice::TotpOff
        }
    };
    let location = format!("/admin/accounts/{}", account.id.0);
    Ok(request.see_other_with(&location, notice))
}

fn find(request: &WebRequest, number: &str) -> Result<Account, PageError> {
    let id = AccountId(number.parse().map_err(|_| PageError::NotFound)?);
    request.accounts().get(id).ok_or(PageError::NotFound)
}
